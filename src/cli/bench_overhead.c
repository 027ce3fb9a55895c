/* What it costs to do anything at all: a launch, a map, memory of each kind, its first touch; and atomics, for which
 * work-items wait for each other. */
#include "cli/bench.h"

#include <inttypes.h>
#include <string.h>

#define BYTES ((uint64_t)1 << 20)
#define TOUCH_BYTES ((uint64_t)64 << 20)
#define ATOMIC_WORDS 65536u
#define ATOMIC_TURNS 32
#define GROUP_ITEMS 256
#define GROUPS_PER_UNIT 8

struct overhead {
    struct strata_bench *bench;
    strata_program *program;
    strata_kernel *kernel;
    strata_buffer *buffer;
    void *host, *block; /* for wrapped memory */
    enum strata_kind kind;
    uint64_t bytes;
    uint64_t items, all;
    uint32_t mask;
    bool touch;
};

static enum strata_status put_launch(void *user, strata_event **first, strata_event **last) {
    const struct overhead *overhead = user;
    (void)first;
    (void)last;
    enum strata_status status =
        strata_launch(overhead->bench->queue, overhead->kernel, strata_grid_local(strata_grid_1d(1), 1, 1, 1),
                      STRATA_ARGS(strata_arg_slice(strata_all(overhead->bench->sums))));
    return status == STRATA_OK ? strata_queue_finish(overhead->bench->queue) : status;
}

static enum strata_status put_map(void *user, strata_event **first, strata_event **last) {
    const struct overhead *overhead = user;
    void *pointer = NULL;
    (void)first;
    (void)last;
    enum strata_status status =
        strata_map(overhead->bench->queue, strata_all(overhead->buffer), STRATA_MAP_READ_WRITE, &pointer);
    if (status == STRATA_OK)
        status = strata_unmap(overhead->bench->queue, overhead->buffer, pointer);
    return status == STRATA_OK ? strata_queue_finish(overhead->bench->queue) : status;
}

static enum strata_status put_create(void *user, strata_event **first, strata_event **last) {
    struct overhead *overhead = user;
    (void)first;
    (void)last;
    enum strata_status status =
        strata_buffer_create(overhead->bench->device,
                             STRATA_BUFFER(.bytes = overhead->bytes, .kind = overhead->kind, .name = "bench overhead",
                                           .host_pointer = overhead->host),
                             &overhead->buffer);
    if (status == STRATA_OK && overhead->touch)
        status = strata_fill(overhead->bench->queue, strata_all(overhead->buffer), "x", 1);
    strata_buffer_destroy(&overhead->buffer);
    return status;
}

static enum strata_status put_atomics(void *user, strata_event **first, strata_event **last) {
    const struct overhead *overhead = user;
    strata_grid grid = strata_grid_local(strata_grid_1d(overhead->all), overhead->items, 1, 1);
    return strata_launch_event(overhead->bench->queue, overhead->kernel, grid,
                               STRATA_ARGS(strata_arg_slice(strata_all(overhead->bench->sums)),
                                           strata_arg_u32(overhead->mask), strata_arg_u32(ATOMIC_TURNS)),
                               last != NULL ? last : first);
}

static enum strata_status build(struct overhead *overhead, const char *name) {
    enum strata_status status = strata_program_build(
        overhead->bench->device, STRATA_PROGRAM(.embedded = "bench_latency.cl"), &overhead->program);
    return status == STRATA_OK ? strata_program_kernel(overhead->program, name, &overhead->kernel) : status;
}

static enum strata_status measure_launch(struct strata_bench *bench, const struct strata_bench_case *what,
                                         struct strata_bench_figure *figure) {
    struct overhead overhead = {.bench = bench};
    struct strata_bench_pass pass = {.put = put_launch, .user = &overhead, .work = 1};
    (void)what;
    enum strata_status status = build(&overhead, "bench_nothing");
    if (status == STRATA_OK)
        status = strata_bench_measure(bench, &pass, figure);
    strata_program_destroy(&overhead.program);
    return status;
}

static enum strata_status measure_map(struct strata_bench *bench, const struct strata_bench_case *what,
                                      struct strata_bench_figure *figure) {
    struct overhead overhead = {.bench = bench};
    struct strata_bench_pass pass = {.put = put_map, .user = &overhead, .work = 1};
    (void)what;
    enum strata_status status =
        strata_buffer_create(bench->device, STRATA_BUFFER(.bytes = BYTES, .name = "bench map"), &overhead.buffer);
    if (status == STRATA_OK)
        status = strata_bench_measure(bench, &pass, figure);
    strata_buffer_destroy(&overhead.buffer);
    return status;
}

static enum strata_status measure_create(struct strata_bench *bench, const struct strata_bench_case *what,
                                         struct strata_bench_figure *figure) {
    bool touch = what->unit == STRATA_BENCH_GBPS;
    struct overhead overhead = {.bench = bench,
                                .kind = (enum strata_kind)what->parameter,
                                .touch = touch,
                                .bytes = touch ? (TOUCH_BYTES < bench->bytes ? TOUCH_BYTES : bench->bytes) : BYTES};
    struct strata_bench_pass pass = {.put = put_create, .user = &overhead, .work = touch ? overhead.bytes : 1};
    if (overhead.kind == STRATA_WRAPPED) {
        overhead.host = strata_host_allocate_pages(NULL, BYTES, &overhead.block);
        if (overhead.host == NULL)
            return strata_fail_host_memory(BYTES, "what is to be wrapped");
        memset(overhead.host, 0x55, BYTES);
    }
    enum strata_status status = strata_bench_measure(bench, &pass, figure);
    strata_host_release(NULL, overhead.block);
    return status;
}

/* One launch more, whose counts are looked at. */
static enum strata_status check_atomics(struct overhead *overhead, struct strata_bench_figure *figure) {
    struct strata_bench *bench = overhead->bench;
    uint64_t words = (uint64_t)overhead->mask + 1, total = 0;
    uint32_t *counts = strata_host_allocate(NULL, (size_t)words * 4);
    if (counts == NULL)
        return strata_fail_host_memory(words * 4, "the counts");
    enum strata_status status = strata_fill(bench->queue, strata_sub(strata_all(bench->sums), 0, words * 4), "", 1);
    if (status == STRATA_OK)
        status = put_atomics(overhead, NULL, NULL);
    if (status == STRATA_OK)
        status = strata_read(bench->queue, strata_sub(strata_all(bench->sums), 0, words * 4), counts);
    for (uint64_t i = 0; status == STRATA_OK && i < words; i++)
        total += counts[i];
    if (status == STRATA_OK && total != overhead->all * ATOMIC_TURNS)
        status = strata_bench_wrong(figure, "%" PRIu64 " were counted and not %" PRIu64, total,
                                    overhead->all * ATOMIC_TURNS);
    strata_host_release(NULL, counts);
    return status;
}

static enum strata_status measure_atomics(struct strata_bench *bench, const struct strata_bench_case *what,
                                          struct strata_bench_figure *figure) {
    struct overhead overhead = {.bench = bench, .mask = what->parameter - 1};
    struct strata_bench_pass pass = {.put = put_atomics, .user = &overhead, .has_events = true};
    enum strata_status status = build(&overhead, "bench_atomics");
    if (status == STRATA_OK) {
        uint64_t most = strata_kernel_get_info(overhead.kernel)->max_group_items;
        overhead.items = most < GROUP_ITEMS ? most : GROUP_ITEMS;
        overhead.all = overhead.items * bench->info->compute_units * GROUPS_PER_UNIT;
        pass.work = overhead.all * ATOMIC_TURNS;
        status = strata_bench_measure(bench, &pass, figure);
    }
    if (status == STRATA_OK)
        status = check_atomics(&overhead, figure);
    strata_program_destroy(&overhead.program);
    return status;
}

#define CREATE_CASE(name, kind)                                                                                        \
    {                                                                                                                  \
        "create." name, "create", name, "a buffer of 1 MiB made and given back", kind, STRATA_BENCH_US, false,         \
            measure_create                                                                                             \
    }

static const struct strata_bench_case cases[] = {
    {"local.latency", "local", "latency", "one load of local memory after the other, by one work-item",
     STRATA_BENCH_LOCAL_CHASE, STRATA_BENCH_NS, false, strata_bench_measure_latency},
    {"launch", "kernel", "launch and wait", "a kernel that does nothing, from the call to the end of the wait", 0,
     STRATA_BENCH_US, false, measure_launch},
    {"map", "device", "map, unmap", "1 MiB mapped for reading and writing, and unmapped", 0, STRATA_BENCH_US, false,
     measure_map},
    CREATE_CASE("device", STRATA_DEVICE),
    CREATE_CASE("pinned", STRATA_PINNED),
    CREATE_CASE("wrapped", STRATA_WRAPPED),
    CREATE_CASE("shared", STRATA_SHARED),
    {"create.touched", "create", "first fill", "bytes of a new buffer that is filled once and given back",
     STRATA_DEVICE, STRATA_BENCH_GBPS, false, measure_create},
    {"atomics.one", "atomics", "one word", "counts, all in one word", 1, STRATA_BENCH_GOPS, false, measure_atomics},
    {"atomics.many", "atomics", "many words", "counts, in 65536 words", ATOMIC_WORDS, STRATA_BENCH_GOPS, false,
     measure_atomics},
};

const struct strata_bench_topic strata_bench_overhead = {
    .name = "overhead",
    .title = "what it costs",
    .cases = cases,
    .count = sizeof cases / sizeof cases[0],
};
