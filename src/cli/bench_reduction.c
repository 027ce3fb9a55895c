/* Reduction: strata's own against the classic tree and against the access pattern that no memory likes. */
#include "cli/bench.h"

#include <math.h>

/* Floats from 1 up to 2: their sum is exact in double precision. */
#define DATA STRATA_BENCH_FLOATS(8)

static double exact_sum(uint64_t count) {
    struct strata_bench_data bits = DATA;
    uint64_t sum = 0;
    bits.set = 0;
    for (uint64_t i = 0; i < count; i++)
        sum += strata_bench_sum(bits, i, 1, 1);
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
    return strata_reduce_async(
        bench->queue, STRATA_REDUCE(.op = STRATA_SUM, .type = STRATA_F32, .input = strata_all(bench->input)),
        strata_sub(strata_all(bench->sums), 0, sizeof(float)), NULL);
}

static enum strata_status measure_strata(struct strata_bench *bench, const struct strata_bench_case *what,
                                         struct strata_bench_figure *figure) {
    (void)what;
    struct strata_bench_pass pass = {.put = put_strata, .user = bench, .bytes = bench->bytes};
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

static const struct strata_bench_case cases[] = {
    {"reduction.strata", "reduce", "strata", "bytes read: strata_reduce, the sum of 4-byte floats", 0, measure_strata},
};

const struct strata_bench_topic strata_bench_reduction = {
    .name = "reduction",
    .title = "reduction, the sum of f32",
    .cases = cases,
    .count = sizeof cases / sizeof cases[0],
};
