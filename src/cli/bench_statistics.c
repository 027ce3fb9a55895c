/* From rounds to a figure: which rounds count, their median and percentiles, and whether the device's clock agrees. */
#include "cli/bench.h"

#include <math.h>
#include <stdlib.h>

/* The share of the machine's cores that others may use in a block of rounds; less cannot be told apart from the
 * system's own work and the ticks in which it counts. */
#define OTHERS_SHARE 0.05

/* With fewer quiet rounds than this, disturbed ones are taken, too. */
#define QUIET_ROUNDS_LEAST 3

/* With fewer rounds than this, the 5th and 95th percentile are the extremes. */
#define PERCENTILE_ROUNDS 20

/* No memory is that fast, in GB/s: the runtime did not do the work. */
#define IMPOSSIBLE_RATE 1e6

/* The device's own clock and the wall clock look at the same work; beyond this the figure says that they differ. */
#define EVENT_DIFFERENCE 0.10

const char *strata_bench_unit_name(enum strata_bench_unit unit) {
    static const char *const names[] = {"GB/s", "Gop/s", "ns", "us"};
    return names[unit];
}

bool strata_bench_unit_is_time(enum strata_bench_unit unit) {
    return unit == STRATA_BENCH_NS || unit == STRATA_BENCH_US;
}

bool strata_bench_is_quiet(double others, double cores) {
    return others <= OTHERS_SHARE * cores;
}

static int compare_numbers(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int compare_rounds(const void *a, const void *b) {
    double x = ((const struct strata_bench_round *)a)->others, y = ((const struct strata_bench_round *)b)->others;
    return compare_numbers(&x, &y);
}

/* Between neighbours, a share of the way. `numbers` is sorted. */
static double percentile(const double *numbers, size_t count, double share) {
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= count)
        return numbers[count - 1];
    return numbers[below] + (numbers[below + 1] - numbers[below]) * (place - (double)below);
}

/* Sorts the rounds and answers how many of the first count: all quiet ones if there are some, or else as many as are
 * asked for, the least disturbed first. */
static size_t choose(struct strata_bench_round *rounds, size_t total, size_t least, double cores,
                     struct strata_bench_figure *figure) {
    size_t quiet = 0;
    qsort(rounds, total, sizeof *rounds, compare_rounds);
    while (quiet < total && strata_bench_is_quiet(rounds[quiet].others, cores))
        quiet++;
    size_t count = quiet >= QUIET_ROUNDS_LEAST ? quiet : least < total ? least : total;
    /* A block of rounds is judged as a whole. */
    while (count < total && count > quiet && rounds[count].others <= rounds[count - 1].others)
        count++;
    figure->is_judged = rounds[count - 1].others >= 0;
    figure->is_quiet = count <= quiet;
    figure->other_cores = figure->is_judged ? rounds[count - 1].others : 0;
    return count;
}

/* `numbers` has room for all rounds. Without an event in each of them there is no figure. */
static void summarise_events(const struct strata_bench_round *rounds, size_t count, double *numbers,
                             struct strata_bench_figure *figure) {
    for (size_t i = 0; i < count; i++) {
        if (rounds[i].event_value <= 0)
            return;
        numbers[i] = rounds[i].event_value;
    }
    qsort(numbers, count, sizeof *numbers, compare_numbers);
    figure->event_median = percentile(numbers, count, 0.5);
    figure->events_agree = fabs(figure->event_median / figure->median - 1) <= EVENT_DIFFERENCE;
}

enum strata_status strata_bench_summarise(struct strata_bench_round *rounds, size_t total, size_t least, double cores,
                                          struct strata_bench_figure *figure) {
    size_t count = choose(rounds, total, least, cores, figure);
    double *numbers = malloc(count * sizeof *numbers);
    if (numbers == NULL)
        return strata_fail_host_memory(count * sizeof *numbers, "the rounds");
    for (size_t i = 0; i < count; i++)
        numbers[i] = rounds[i].value;
    qsort(numbers, count, sizeof *numbers, compare_numbers);
    figure->count = (uint32_t)count;
    figure->median = percentile(numbers, count, 0.5);
    figure->is_range = count < PERCENTILE_ROUNDS;
    figure->low = percentile(numbers, count, figure->is_range ? 0 : 0.05);
    figure->high = percentile(numbers, count, figure->is_range ? 1 : 0.95);
    summarise_events(rounds, count, numbers, figure);
    free(numbers);
    bool is_time = strata_bench_unit_is_time(figure->unit);
    if (!(figure->median > 0 && (is_time || figure->median < IMPOSSIBLE_RATE)))
        return strata_fail(STRATA_UNSUPPORTED, "the time is not credible: the runtime seems to skip the work");
    figure->measured = true;
    return STRATA_OK;
}
