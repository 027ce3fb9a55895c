/* Reduction: strata's own against the classic tree and against the access pattern that no memory likes. */
#include "cli/bench.h"

#include <math.h>

/* Floats from 1 up to 2: their sum is exact in double precision. */
#define DATA STRATA_BENCH_FLOATS(8)

#define GROUP_ITEMS 256

/* Where partial sums may begin, so that they are an argument of the next launch; no device asks for more. */
#define PARTIALS_ALIGNMENT 4096

/* Of a sum in single precision: that of many elements by few work-items. */
#define TEXTBOOK_TOLERANCE 2e-5

static double exact_sum(uint64_t count) {
    struct strata_bench_data bits = DATA;
    uint64_t sum = 0;
    bits.set = 0;
    /* So few that 32 bits hold their sum. */
    for (uint64_t i = 0, some = 256; i < count; i += some)
        sum += strata_bench_sum(bits, i, count - i < some ? count - i : some, 1);
    return (double)count + (double)sum / 8388608;
}

static enum strata_status compare(struct strata_bench_figure *figure, double result, double exact, double tolerance) {
    if (fabs(result - exact) <= tolerance * exact)
        return STRATA_OK;
    return strata_bench_wrong(figure, "the sum is %.9g and not %.9g", result, exact);
}

static enum strata_status put_strata(void *user, strata_event **first, strata_event **last) {
    struct strata_bench *bench = user;
    (void)first;
    (void)last;
    return strata_reduce_async(bench->queue,
                               STRATA_REDUCE(.op = STRATA_SUM, .type = STRATA_F32, .input = strata_all(bench->input)),
                               strata_sub(strata_all(bench->sums), 0, sizeof(float)), NULL);
}

static enum strata_status measure_strata(struct strata_bench *bench, const struct strata_bench_case *what,
                                         struct strata_bench_figure *figure) {
    (void)what;
    struct strata_bench_pass pass = {.put = put_strata, .user = bench, .work = bench->bytes};
    float sum = 0;
    enum strata_status status = strata_bench_hold(bench, DATA);
    if (status == STRATA_OK)
        status = strata_bench_clear_sums(bench);
    if (status == STRATA_OK)
        status = strata_bench_measure(bench, &pass, figure);
    if (status == STRATA_OK)
        status = strata_read(bench->queue, strata_sub(strata_all(bench->sums), 0, sizeof sum), &sum);
    if (status == STRATA_OK)
        status = compare(figure, (double)sum, exact_sum(bench->bytes / 4), 0x1p-23);
    return status;
}

/* A textbook reduction: launched over its own partial sums until one is left. */
struct textbook {
    struct strata_bench *bench;
    strata_kernel *kernel;
    uint64_t items;
    uint32_t per_item; /* 0 for the tree, which has no such argument */
    strata_slice result;
};

static enum strata_status put_level(const struct textbook *textbook, strata_slice input, uint64_t count,
                                    strata_slice partials, strata_event **event) {
    uint64_t groups = partials.bytes / sizeof(float);
    strata_grid grid = strata_grid_local(strata_grid_1d(groups * textbook->items), textbook->items, 1, 1);
    if (textbook->per_item == 0)
        return strata_launch_event(
            textbook->bench->queue, textbook->kernel, grid,
            STRATA_ARGS(strata_arg_slice(input), strata_arg_u64(count), strata_arg_slice(partials)), event);
    return strata_launch_event(textbook->bench->queue, textbook->kernel, grid,
                               STRATA_ARGS(strata_arg_slice(input), strata_arg_u64(count),
                                           strata_arg_u32(textbook->per_item), strata_arg_slice(partials)),
                               event);
}

static enum strata_status put_textbook(void *user, strata_event **first, strata_event **last) {
    struct textbook *textbook = user;
    struct strata_bench *bench = textbook->bench;
    uint64_t share = textbook->items * (textbook->per_item != 0 ? textbook->per_item : 1);
    uint64_t count = bench->bytes / sizeof(float), place = 0;
    strata_slice input = strata_all(bench->input);
    enum strata_status status = STRATA_OK;
    while (status == STRATA_OK && count > 1) {
        uint64_t groups = (count + share - 1) / share;
        strata_slice partials = strata_sub(strata_all(bench->output), place, groups * sizeof(float));
        strata_event **event = groups == 1 && last != NULL ? last : place == 0 ? first : NULL;
        status = put_level(textbook, input, count, partials, event);
        input = partials;
        count = groups;
        place += (groups * sizeof(float) + PARTIALS_ALIGNMENT - 1) / PARTIALS_ALIGNMENT * PARTIALS_ALIGNMENT;
    }
    textbook->result = input;
    return status;
}

static enum strata_status measure_built(struct textbook *textbook, struct strata_bench_figure *figure) {
    struct strata_bench *bench = textbook->bench;
    struct strata_bench_pass pass = {.put = put_textbook, .user = textbook, .work = bench->bytes, .has_events = true};
    uint64_t most = strata_kernel_get_info(textbook->kernel)->max_group_items;
    float sum = 0;
    for (textbook->items = GROUP_ITEMS; textbook->items > most;)
        textbook->items /= 2;
    if (textbook->items < 2)
        return strata_fail(STRATA_UNSUPPORTED, "the device's work-groups have one work-item only");
    enum strata_status status = strata_bench_hold(bench, DATA);
    if (status == STRATA_OK)
        status = strata_fill(bench->queue, strata_all(bench->output), "never", 5);
    if (status == STRATA_OK)
        status = strata_bench_measure(bench, &pass, figure);
    if (status == STRATA_OK)
        status = strata_read(bench->queue, textbook->result, &sum);
    if (status == STRATA_OK)
        status = compare(figure, (double)sum, exact_sum(bench->bytes / 4), TEXTBOOK_TOLERANCE);
    return status;
}

static enum strata_status measure_textbook(struct strata_bench *bench, const struct strata_bench_case *what,
                                           struct strata_bench_figure *figure) {
    struct textbook textbook = {.bench = bench, .per_item = what->parameter};
    strata_program *program = NULL;
    enum strata_status status =
        strata_program_build(bench->device, STRATA_PROGRAM(.embedded = "bench_reduce.cl"), &program);
    if (status == STRATA_OK)
        status = strata_program_kernel(program, what->parameter != 0 ? "bench_reduce_strided" : "bench_reduce_tree",
                                       &textbook.kernel);
    if (status == STRATA_OK)
        status = measure_built(&textbook, figure);
    strata_program_destroy(&program);
    return status;
}

static const struct strata_bench_case cases[] = {
    {"reduction.naive", "reduce", "naive tree",
     "bytes read: a tree of 256 in local memory, an element for each work-item", 0, STRATA_BENCH_GBPS, false,
     measure_textbook},
    {"reduction.strided", "reduce", "strided",
     "bytes read: 64 neighbouring elements for each work-item, so uncoalesced", 64, STRATA_BENCH_GBPS, false,
     measure_textbook},
    {"reduction.strata", "reduce", "strata", "bytes read: strata_reduce, which leaves its result on the device", 0,
     STRATA_BENCH_GBPS, false, measure_strata},
};

const struct strata_bench_topic strata_bench_reduction = {
    .name = "reduction",
    .title = "reduction, the sum of f32",
    .cases = cases,
    .count = sizeof cases / sizeof cases[0],
};
