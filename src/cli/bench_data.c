/* The bench's random data on the host, and the comparison of what a device made with it. */
#include "cli/bench.h"
#include "cli/interrupt.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What is read back at a time to be compared. */
#define CHUNK_BYTES ((uint64_t)16 << 20)

static inline uint32_t word_at(uint64_t index, struct strata_bench_data data) {
    uint32_t word = (uint32_t)index * STRATA_BENCH_WEYL + data.seed;
    word ^= word << 13;
    word ^= word >> 17;
    word ^= word << 5;
    return (word & data.keep) | data.set;
}

uint32_t strata_bench_sum(struct strata_bench_data data, uint64_t first, uint64_t count, uint64_t stride) {
    uint32_t sum = 0;
    for (uint64_t i = 0; i < count; i++)
        sum += word_at(first + i * stride, data);
    return sum;
}

void strata_bench_fill(uint32_t *memory, uint64_t count, struct strata_bench_data data) {
    for (uint64_t i = 0; i < count; i++)
        memory[i] = word_at(i, data);
}

uint64_t strata_bench_differs(const uint32_t *memory, uint64_t first, uint64_t count, struct strata_bench_data data) {
    uint64_t i = 0;
    while (i < count && memory[i] == word_at(first + i, data))
        i++;
    return i;
}

enum strata_status strata_bench_wrong(struct strata_bench_figure *figure, const char *format, ...) {
    char sentence[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    figure->wrong = true;
    return strata_fail(STRATA_INTERNAL, "wrong result: %s", sentence);
}

struct strata_bench_sums strata_bench_read_sums(const struct strata_bench *bench, uint64_t bytes,
                                                struct strata_bench_data data) {
    uint32_t steps;
    strata_grid grid = strata_bench_grid(bench, bytes, &steps);
    uint64_t groups = grid.global[0] / grid.local[0];
    return (struct strata_bench_sums){
        .data = data, .groups = groups, .parts = bench->kernels.parts, .count = bytes / groups / 4, .stride = 1};
}

enum strata_status strata_bench_check_sums(struct strata_bench *bench, struct strata_bench_figure *figure,
                                           const struct strata_bench_sums *expected) {
    size_t bytes = (size_t)(expected->groups * expected->parts) * sizeof(uint32_t);
    uint32_t *sums = strata_host_allocate(NULL, bytes);
    if (sums == NULL)
        return strata_fail_host_memory(bytes, "the sums");
    enum strata_status status = strata_read(bench->queue, strata_sub(strata_all(bench->sums), 0, bytes), sums);
    uint64_t group = 0, span = expected->count * expected->stride;
    for (; status == STRATA_OK && group < expected->groups && strata_interrupted() == 0; group++) {
        uint32_t right = strata_bench_sum(expected->data, expected->first + group * span, expected->count,
                                          expected->stride),
                 sum = 0;
        for (uint64_t part = 0; part < expected->parts; part++)
            sum += sums[group * expected->parts + part];
        if (sum != right)
            status = strata_bench_wrong(figure, "the sum of work-group %" PRIu64 " is %" PRIu32 " and not %" PRIu32,
                                        group, sum, right);
    }
    strata_host_release(NULL, sums);
    return status;
}

static enum strata_status compare(struct strata_bench_figure *figure, const uint32_t *memory, uint64_t first,
                                  uint64_t count, struct strata_bench_data data) {
    uint64_t place = strata_bench_differs(memory, first, count, data);
    if (place == count)
        return STRATA_OK;
    return strata_bench_wrong(figure, "the word at byte %" PRIu64 " is 0x%08" PRIx32 " and not 0x%08" PRIx32,
                              (first + place) * 4, memory[place], word_at(first + place, data));
}

enum strata_status strata_bench_check_slice(struct strata_bench *bench, struct strata_bench_figure *figure,
                                            strata_slice slice, struct strata_bench_data data) {
    uint64_t chunk = slice.bytes < CHUNK_BYTES ? slice.bytes : CHUNK_BYTES;
    void *block = NULL;
    uint32_t *memory = strata_host_allocate_pages(NULL, chunk, &block);
    if (memory == NULL)
        return strata_fail_host_memory(chunk, "the comparison");
    enum strata_status status = STRATA_OK;
    for (uint64_t at = 0; status == STRATA_OK && at < slice.bytes && strata_interrupted() == 0; at += chunk) {
        status = strata_read(bench->queue, strata_sub(slice, at, chunk), memory);
        if (status == STRATA_OK)
            status = compare(figure, memory, at / 4, chunk / 4, data);
    }
    strata_host_release(NULL, block);
    return status;
}

enum strata_status strata_bench_check_host(struct strata_bench_figure *figure, const void *memory, uint64_t bytes,
                                           struct strata_bench_data data) {
    return compare(figure, memory, 0, bytes / 4, data);
}
