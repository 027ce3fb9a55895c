/* Global memory: read, write and copy, and what it costs to take only one word of several. */
#include "cli/bench.h"

/* The data that copies and reads go over, and another for writes. */
#define READ_DATA STRATA_BENCH_WORDS(1)
#define WRITE_DATA STRATA_BENCH_WORDS(2)

/* Words that a work-item of the form for GPUs reads in the stride sweep, at the most. */
#define STRIDE_WORDS 16

/* Words that a block of the form for CPU devices spans in the stride sweep. Mesa's llvmpipe leaves any loop of a kernel
 * after 65535 turns, without a word. */
#define STRIDE_BLOCK_WORDS 32768

static enum strata_status put_read(void *user, strata_event **first, strata_event **last) {
    struct strata_bench *bench = user;
    return strata_bench_put_read(bench, strata_all(bench->input), last != NULL ? last : first);
}

static enum strata_status put_write(void *user, strata_event **first, strata_event **last) {
    struct strata_bench *bench = user;
    return strata_bench_put_write(bench, strata_all(bench->output), WRITE_DATA, last != NULL ? last : first);
}

static enum strata_status put_copy(void *user, strata_event **first, strata_event **last) {
    struct strata_bench *bench = user;
    uint32_t steps;
    strata_grid grid = strata_bench_grid(bench, bench->bytes, &steps);
    return strata_launch_event(bench->queue, bench->kernels.copy, grid,
                               STRATA_ARGS(strata_arg_slice(strata_all(bench->output)),
                                           strata_arg_slice(strata_all(bench->input)), strata_arg_u32(steps)),
                               last != NULL ? last : first);
}

static enum strata_status measure_read(struct strata_bench *bench, const struct strata_bench_case *what,
                                       struct strata_bench_figure *figure) {
    (void)what;
    struct strata_bench_pass pass = {.put = put_read, .user = bench, .work = bench->bytes, .has_events = true};
    struct strata_bench_sums sums = strata_bench_read_sums(bench, bench->bytes, READ_DATA);
    enum strata_status status = strata_bench_hold(bench, READ_DATA);
    if (status == STRATA_OK)
        status = strata_bench_clear_sums(bench);
    if (status == STRATA_OK)
        status = strata_bench_measure(bench, &pass, figure);
    if (status == STRATA_OK)
        status = strata_bench_check_sums(bench, figure, &sums);
    return status;
}

static enum strata_status measure_write(struct strata_bench *bench, const struct strata_bench_case *what,
                                        struct strata_bench_figure *figure) {
    (void)what;
    struct strata_bench_pass pass = {.put = put_write, .user = bench, .work = bench->bytes, .has_events = true};
    enum strata_status status = strata_fill(bench->queue, strata_all(bench->output), "never", 5);
    if (status == STRATA_OK)
        status = strata_bench_measure(bench, &pass, figure);
    if (status == STRATA_OK)
        status = strata_bench_check_slice(bench, figure, strata_all(bench->output), WRITE_DATA);
    return status;
}

static enum strata_status measure_copy(struct strata_bench *bench, const struct strata_bench_case *what,
                                       struct strata_bench_figure *figure) {
    (void)what;
    struct strata_bench_pass pass = {.put = put_copy, .user = bench, .work = 2 * bench->bytes, .has_events = true};
    enum strata_status status = strata_bench_hold(bench, READ_DATA);
    if (status == STRATA_OK)
        status = strata_fill(bench->queue, strata_all(bench->output), "never", 5);
    if (status == STRATA_OK)
        status = strata_bench_measure(bench, &pass, figure);
    if (status == STRATA_OK)
        status = strata_bench_check_slice(bench, figure, strata_all(bench->output), READ_DATA);
    return status;
}

static const struct strata_bench_case global_cases[] = {
    {"global.read", "global", "read", "bytes read, by a kernel", 0, STRATA_BENCH_GBPS, false, measure_read},
    {"global.write", "global", "write", "bytes written, by a kernel", 0, STRATA_BENCH_GBPS, false, measure_write},
    {"global.copy", "global", "copy", "bytes read and bytes written, by a kernel", 0, STRATA_BENCH_GBPS, false,
     measure_copy},
    {"global.triad", "global", "triad", "bytes read and bytes written: a = b + 0.4 c of f32",
     STRATA_BENCH_ACCESS(STRATA_BENCH_ACCESS_TRIAD, 0), STRATA_BENCH_GBPS, false, strata_bench_measure_access},
    {"global.gather", "global", "random words", "bytes used: each word of 4 bytes once, in random order",
     STRATA_BENCH_ACCESS(STRATA_BENCH_ACCESS_GATHER, 0), STRATA_BENCH_GBPS, false, strata_bench_measure_access},
};

const struct strata_bench_topic strata_bench_global = {
    .name = "global",
    .title = "global memory",
    .cases = global_cases,
    .count = sizeof global_cases / sizeof global_cases[0],
};

struct sweep {
    struct strata_bench *bench;
    uint32_t stride;
    uint32_t count; /* words for each work-item */
    uint64_t groups;
};

static struct sweep plan_sweep(struct strata_bench *bench, uint32_t stride) {
    struct sweep sweep = {.bench = bench, .stride = stride};
    uint64_t words = bench->bytes / 4 / stride, items;
    if (bench->kernels.form == STRATA_BENCH_COALESCED) {
        items = bench->kernels.items;
        sweep.count = STRIDE_WORDS;
    } else {
        items = 1;
        sweep.count = STRIDE_BLOCK_WORDS / stride;
    }
    while (sweep.count > 1 && words / (items * sweep.count) < 8 * bench->info->compute_units)
        sweep.count /= 2;
    sweep.groups = words / (items * sweep.count);
    return sweep;
}

static enum strata_status put_sweep(void *user, strata_event **first, strata_event **last) {
    const struct sweep *sweep = user;
    struct strata_bench *bench = sweep->bench;
    uint64_t items = bench->kernels.items;
    return strata_launch_event(bench->queue, bench->kernels.stride,
                               strata_grid_local(strata_grid_1d(sweep->groups * items), items, 1, 1),
                               STRATA_ARGS(strata_arg_slice(strata_all(bench->input)), strata_arg_u32(sweep->count),
                                           strata_arg_u32(sweep->stride), strata_arg_slice(strata_all(bench->sums))),
                               last != NULL ? last : first);
}

static enum strata_status measure_stride(struct strata_bench *bench, const struct strata_bench_case *what,
                                         struct strata_bench_figure *figure) {
    struct sweep sweep = plan_sweep(bench, what->parameter);
    struct strata_bench_sums sums = {.data = READ_DATA,
                                     .groups = sweep.groups,
                                     .parts = 1,
                                     .count = (uint64_t)sweep.count * bench->kernels.items,
                                     .stride = sweep.stride};
    struct strata_bench_pass pass = {
        .put = put_sweep, .user = &sweep, .work = sums.groups * sums.count * 4, .has_events = true};
    enum strata_status status = strata_bench_hold(bench, READ_DATA);
    if (status == STRATA_OK)
        status = strata_bench_clear_sums(bench);
    if (status == STRATA_OK)
        status = strata_bench_measure(bench, &pass, figure);
    if (status == STRATA_OK)
        status = strata_bench_check_sums(bench, figure, &sums);
    return status;
}

#define STRIDE_CASE(stride)                                                                                            \
    {                                                                                                                  \
        "stride." #stride, "stride", #stride, "bytes used: one word of 4 bytes in every " #stride, stride,             \
            STRATA_BENCH_GBPS, false, measure_stride                                                                   \
    }

static const struct strata_bench_case stride_cases[] = {
    STRIDE_CASE(1), STRIDE_CASE(2), STRIDE_CASE(4), STRIDE_CASE(8), STRIDE_CASE(16), STRIDE_CASE(32), STRIDE_CASE(64)};

const struct strata_bench_topic strata_bench_stride = {
    .name = "stride",
    .title = "strided reads",
    .axis = "one word of every",
    .row = "useful GB/s",
    .ratio = "x stride 1",
    .cases = stride_cases,
    .count = sizeof stride_cases / sizeof stride_cases[0],
};
