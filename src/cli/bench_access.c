/* More ways through global memory: vectors of each width, reads that begin off an aligned place, and random ones. */
#include "cli/bench.h"
#include "cli/interrupt.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define READ_DATA STRATA_BENCH_WORDS(1)
#define WRITE_DATA STRATA_BENCH_WORDS(8)
#define TRIAD_DATA STRATA_BENCH_FLOATS(9)

/* BabelStream's. */
#define TRIAD_SCALAR 0.4f

/* What is read back at a time. */
#define CHUNK_WORDS ((uint64_t)4 << 20)

/* As cl/bench_device.c has it: what a group takes, where there is enough for all units. */
#define GROUP_BYTES ((uint64_t)64 << 10)
#define BLOCK_BYTES ((uint64_t)128 << 10) /* llvmpipe leaves a loop after 65535 turns */
#define GROUPS_PER_UNIT 8
#define GROUPS_MOST 65536

#define READ STRATA_BENCH_ACCESS_READ
#define WRITE STRATA_BENCH_ACCESS_WRITE
#define COPY STRATA_BENCH_ACCESS_COPY
#define TRIAD STRATA_BENCH_ACCESS_TRIAD
#define OFFSET STRATA_BENCH_ACCESS_OFFSET
#define GATHER STRATA_BENCH_ACCESS_GATHER

struct walk {
    struct strata_bench *bench;
    enum strata_bench_access access;
    uint32_t parameter; /* width in words, or offset in words */
    strata_program *program;
    strata_kernel *kernel;
    uint64_t words;  /* that the groups go through together */
    uint64_t groups; /* of work-items */
    uint32_t items, count;
    uint32_t mask, shift; /* of gather */
};

static void plan(struct walk *walk) {
    const struct strata_bench *bench = walk->bench;
    uint64_t width = walk->access < OFFSET ? walk->parameter : 1;
    bool coalesced = bench->kernels.form == STRATA_BENCH_COALESCED;
    uint64_t most = strata_kernel_get_info(walk->kernel)->max_group_items;
    walk->items = bench->kernels.items;
    while (walk->items > most)
        walk->items /= 2;
    walk->words = bench->bytes / 4;
    if (walk->access == TRIAD || walk->access == OFFSET)
        walk->words /= 2;
    uint64_t vectors = walk->words / width;
    uint64_t count = (coalesced ? GROUP_BYTES : BLOCK_BYTES) / (4 * width * walk->items);
    while (count > 1 && vectors / (walk->items * count) < (uint64_t)bench->info->compute_units * GROUPS_PER_UNIT)
        count /= 2;
    while (vectors / (walk->items * count) > GROUPS_MOST)
        count *= 2;
    walk->count = (uint32_t)(count > 0 ? count : 1);
    walk->groups = vectors / (walk->items * walk->count);
    walk->mask = (uint32_t)(walk->words - 1);
    for (walk->shift = 1; (UINT64_C(1) << (2 * walk->shift - 2)) < walk->words;)
        walk->shift++;
}

static strata_slice words_of(strata_buffer *buffer, uint64_t first, uint64_t count) {
    return strata_sub(strata_all(buffer), first * 4, count * 4);
}

static enum strata_status put_walk(void *user, strata_event **first, strata_event **last) {
    const struct walk *walk = user;
    struct strata_bench *bench = walk->bench;
    strata_event **event = last != NULL ? last : first;
    strata_grid grid = strata_grid_local(strata_grid_1d(walk->groups * walk->items), walk->items, 1, 1);
    strata_arg input = strata_arg_slice(strata_all(bench->input)), output = strata_arg_slice(strata_all(bench->output));
    strata_arg sums = strata_arg_slice(strata_all(bench->sums)), count = strata_arg_u32(walk->count);
    switch (walk->access) {
    case READ: return strata_launch_event(bench->queue, walk->kernel, grid, STRATA_ARGS(input, count, sums), event);
    case WRITE:
        return strata_launch_event(bench->queue, walk->kernel, grid,
                                   STRATA_ARGS(output, count, strata_arg_u32(WRITE_DATA.seed)), event);
    case COPY: return strata_launch_event(bench->queue, walk->kernel, grid, STRATA_ARGS(output, input, count), event);
    case TRIAD:
        return strata_launch_event(bench->queue, walk->kernel, grid,
                                   STRATA_ARGS(output, input, strata_arg_u64(walk->words / walk->parameter), count),
                                   event);
    case OFFSET:
        return strata_launch_event(bench->queue, walk->kernel, grid,
                                   STRATA_ARGS(input, strata_arg_u32(walk->parameter), count, sums), event);
    default:
        return strata_launch_event(
            bench->queue, walk->kernel, grid,
            STRATA_ARGS(input, strata_arg_u32(walk->mask), strata_arg_u32(walk->shift), count, sums), event);
    }
}

static enum strata_status check_sums(const struct walk *walk, struct strata_bench_figure *figure) {
    uint64_t width = walk->access == READ ? walk->parameter : 1;
    struct strata_bench_sums sums = {.data = READ_DATA,
                                     .first = walk->access == OFFSET ? walk->parameter : 0,
                                     .groups = walk->groups,
                                     .parts = 1,
                                     .count = (uint64_t)walk->items * walk->count * width,
                                     .stride = 1};
    return strata_bench_check_sums(walk->bench, figure, &sums);
}

/* cl/bench_access.cl has the same. */
static uint32_t scattered(uint32_t index, uint32_t mask, uint32_t shift) {
    index = index * 0x9e3779b1u & mask;
    index ^= index >> shift;
    index = index * 0x85ebca6bu & mask;
    return index ^ index >> shift;
}

static enum strata_status check_gather(const struct walk *walk, struct strata_bench_figure *figure) {
    size_t bytes = (size_t)walk->groups * sizeof(uint32_t);
    uint32_t *sums = strata_host_allocate(NULL, bytes);
    if (sums == NULL)
        return strata_fail_host_memory(bytes, "the sums");
    enum strata_status status = strata_read(walk->bench->queue, words_of(walk->bench->sums, 0, walk->groups), sums);
    uint64_t span = (uint64_t)walk->items * walk->count;
    for (uint64_t group = 0; status == STRATA_OK && group < walk->groups && strata_interrupted() == 0; group++) {
        uint32_t right = 0;
        for (uint64_t i = group * span; i < (group + 1) * span; i++)
            right += strata_bench_sum(READ_DATA, scattered((uint32_t)i, walk->mask, walk->shift), 1, 1);
        if (sums[group] != right)
            status = strata_bench_wrong(figure, "the sum of work-group %" PRIu64 " is %" PRIu32 " and not %" PRIu32,
                                        group, sums[group], right);
    }
    strata_host_release(NULL, sums);
    return status;
}

/* The product is rounded before it is added, here and there. */
static float triad(uint64_t index, uint64_t words) {
    uint32_t bits[2] = {strata_bench_sum(TRIAD_DATA, index, 1, 1), strata_bench_sum(TRIAD_DATA, index + words, 1, 1)};
    float values[2];
    memcpy(values, bits, sizeof values);
    volatile float product = TRIAD_SCALAR * values[1];
    return values[0] + product;
}

static enum strata_status check_triad(const struct walk *walk, struct strata_bench_figure *figure) {
    uint64_t chunk = walk->words < CHUNK_WORDS ? walk->words : CHUNK_WORDS;
    float *found = strata_host_allocate(NULL, (size_t)chunk * 4);
    if (found == NULL)
        return strata_fail_host_memory(chunk * 4, "the comparison");
    enum strata_status status = STRATA_OK;
    for (uint64_t at = 0; status == STRATA_OK && at < walk->words && strata_interrupted() == 0; at += chunk) {
        status = strata_read(walk->bench->queue, words_of(walk->bench->output, at, chunk), found);
        for (uint64_t i = 0; status == STRATA_OK && i < chunk; i++)
            if (!(found[i] == triad(at + i, walk->words)))
                status = strata_bench_wrong(figure, "element %" PRIu64 " is %.9g and not %.9g", at + i,
                                            (double)found[i], (double)triad(at + i, walk->words));
    }
    strata_host_release(NULL, found);
    return status;
}

static enum strata_status check(const struct walk *walk, struct strata_bench_figure *figure) {
    switch (walk->access) {
    case READ:
    case OFFSET: return check_sums(walk, figure);
    case WRITE: return strata_bench_check_slice(walk->bench, figure, strata_all(walk->bench->output), WRITE_DATA);
    case COPY: return strata_bench_check_slice(walk->bench, figure, strata_all(walk->bench->output), READ_DATA);
    case TRIAD: return check_triad(walk, figure);
    default: return check_gather(walk, figure);
    }
}

static enum strata_status build(struct walk *walk) {
    static const char *const names[] = {"read", "write", "copy", "triad", "offset", "gather"};
    char name[40];
    if (walk->access < OFFSET)
        snprintf(name, sizeof name, "bench_%s_%" PRIu32, names[walk->access], walk->parameter);
    else
        snprintf(name, sizeof name, "bench_%s", names[walk->access]);
    enum strata_status status =
        strata_program_build(walk->bench->device, STRATA_PROGRAM(.embedded = "bench_access.cl"), &walk->program);
    return status == STRATA_OK ? strata_program_kernel(walk->program, name, &walk->kernel) : status;
}

enum strata_status strata_bench_measure_access(struct strata_bench *bench, const struct strata_bench_case *what,
                                               struct strata_bench_figure *figure) {
    static const uint64_t streams[] = {[READ] = 1, [WRITE] = 1, [COPY] = 2, [TRIAD] = 3, [OFFSET] = 1, [GATHER] = 1};
    struct walk walk = {.bench = bench,
                        .access = (enum strata_bench_access)(what->parameter >> 16),
                        .parameter = what->parameter & 0xffff};
    if (walk.access == TRIAD && walk.parameter == 0)
        walk.parameter = bench->kernels.form == STRATA_BENCH_COALESCED ? 4 : 16;
    enum strata_status status = build(&walk);
    if (status == STRATA_OK) {
        plan(&walk);
        status = strata_bench_hold(bench, walk.access == TRIAD ? TRIAD_DATA : READ_DATA);
    }
    if (status == STRATA_OK)
        status = strata_bench_clear_sums(bench);
    if (status == STRATA_OK && (walk.access == WRITE || walk.access == COPY || walk.access == TRIAD))
        status = strata_fill(bench->queue, strata_all(bench->output), "never", 5);
    struct strata_bench_pass pass = {
        .put = put_walk, .user = &walk, .work = streams[walk.access] * walk.words * 4, .has_events = true};
    if (status == STRATA_OK)
        status = strata_bench_measure(bench, &pass, figure);
    if (status == STRATA_OK)
        status = check(&walk, figure);
    strata_program_destroy(&walk.program);
    return status;
}

#define READ_BYTES "bytes read, in vectors"
#define WRITE_BYTES "bytes written, in vectors"
#define COPY_BYTES "bytes read and bytes written, in vectors"
#define TRIAD_BYTES "bytes read and bytes written: a = b + 0.4 c, in vectors"

#define WIDTH_CASE(id, access, width, convention)                                                                      \
    {                                                                                                                  \
        "width." id "." #width, "width", #width, convention, STRATA_BENCH_ACCESS(access, width), STRATA_BENCH_GBPS,    \
            true, strata_bench_measure_access                                                                          \
    }
#define WIDTH_TOPIC(variable, array, id, access, convention)                                                           \
    static const struct strata_bench_case array[] = {                                                                  \
        WIDTH_CASE(id, access, 1, convention), WIDTH_CASE(id, access, 2, convention),                                  \
        WIDTH_CASE(id, access, 4, convention), WIDTH_CASE(id, access, 8, convention),                                  \
        WIDTH_CASE(id, access, 16, convention)};                                                                       \
    const struct strata_bench_topic variable = {.name = "width-" id,                                                   \
                                                .title = "vector widths",                                              \
                                                .axis = "words of a vector, " id,                                      \
                                                .row = "GB/s",                                                         \
                                                .cases = array,                                                        \
                                                .count = sizeof array / sizeof array[0]}
WIDTH_TOPIC(strata_bench_read_width, read_widths, "read", READ, READ_BYTES);
WIDTH_TOPIC(strata_bench_write_width, write_widths, "write", WRITE, WRITE_BYTES);
WIDTH_TOPIC(strata_bench_copy_width, copy_widths, "copy", COPY, COPY_BYTES);
WIDTH_TOPIC(strata_bench_triad_width, triad_widths, "triad", TRIAD, TRIAD_BYTES);

#define OFFSET_CASE(offset)                                                                                            \
    {                                                                                                                  \
        "offset." #offset, "offset", #offset, "bytes read, from " #offset " words after an aligned place on",          \
            STRATA_BENCH_ACCESS(OFFSET, offset), STRATA_BENCH_GBPS, true, strata_bench_measure_access                  \
    }
static const struct strata_bench_case offset_cases[] = {
    OFFSET_CASE(0),  OFFSET_CASE(1),  OFFSET_CASE(2),  OFFSET_CASE(3),  OFFSET_CASE(4),  OFFSET_CASE(5),
    OFFSET_CASE(6),  OFFSET_CASE(7),  OFFSET_CASE(8),  OFFSET_CASE(9),  OFFSET_CASE(10), OFFSET_CASE(11),
    OFFSET_CASE(12), OFFSET_CASE(13), OFFSET_CASE(14), OFFSET_CASE(15), OFFSET_CASE(16), OFFSET_CASE(17),
    OFFSET_CASE(18), OFFSET_CASE(19), OFFSET_CASE(20), OFFSET_CASE(21), OFFSET_CASE(22), OFFSET_CASE(23),
    OFFSET_CASE(24), OFFSET_CASE(25), OFFSET_CASE(26), OFFSET_CASE(27), OFFSET_CASE(28), OFFSET_CASE(29),
    OFFSET_CASE(30), OFFSET_CASE(31)};
const struct strata_bench_topic strata_bench_offset = {.name = "offset",
                                                       .title = "unaligned reads",
                                                       .axis = "words off alignment",
                                                       .row = "GB/s",
                                                       .ratio = "x offset 0",
                                                       .cases = offset_cases,
                                                       .count = sizeof offset_cases / sizeof offset_cases[0]};
