/* How a figure is made: warm-up, rounds that are long enough to hide the launch, blocks of rounds that are thrown away
 * when other processes had the CPU, median and percentiles. */
#include "cli/bench.h"
#include "cli/interrupt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The share of the machine's cores that others may use in a block of rounds; less cannot be told apart from the
 * system's own work and the ticks in which it counts. */
#define OTHERS_SHARE 0.05

/* With fewer quiet rounds than this, disturbed ones are taken, too. */
#define QUIET_ROUNDS_LEAST 3

/* With fewer rounds than this, the 5th and 95th percentile are the extremes. */
#define PERCENTILE_ROUNDS 20

/* No memory is that fast, in GB/s: the runtime did not do the work. */
#define IMPOSSIBLE_RATE 1e6

#define PASSES_MOST 10000
#define BLOCK_ROUNDS_MOST 1000

/* The device's own clock and the wall clock look at the same work; beyond this the figure says that they differ. */
#define EVENT_DIFFERENCE 0.10

struct round {
    double rate;
    double event_rate; /* 0 without one */
    double others;     /* cores, during the block it was in; negative where not known */
};

struct rounds {
    struct round *list;
    size_t count, capacity;
};

static enum strata_status add_round(struct rounds *rounds, const struct round *round) {
    if (rounds->count == rounds->capacity) {
        size_t capacity = rounds->capacity == 0 ? 64 : rounds->capacity * 2;
        struct round *list = realloc(rounds->list, capacity * sizeof *list);
        if (list == NULL)
            return strata_fail_host_memory(capacity * sizeof *list, "the rounds");
        rounds->list = list;
        rounds->capacity = capacity;
    }
    rounds->list[rounds->count++] = *round;
    return STRATA_OK;
}

/* Seconds from the first event's start to the last one's end; 0 when the runtime does not tell. */
static double event_seconds(strata_event *const *events) {
    struct strata_event_times first, last;
    strata_event *end = events[1], *begin = events[0] != NULL ? events[0] : end;
    if (end == NULL || strata_event_times(end, &last) != STRATA_OK || strata_event_times(begin, &first) != STRATA_OK)
        return 0;
    return last.ended_ns > first.started_ns ? (double)(last.ended_ns - first.started_ns) / 1e9 : 0;
}

/* `passes` passes and the seconds that they took; *by_events may be NULL. */
static enum strata_status run_passes(struct strata_bench *bench, const struct strata_bench_pass *pass, uint32_t passes,
                                     double *seconds, double *by_events) {
    strata_event *events[2] = {NULL, NULL};
    enum strata_status status = pass->before != NULL ? pass->before(pass->user) : STRATA_OK;
    if (status == STRATA_OK)
        status = strata_queue_finish(bench->queue);
    bool ask = by_events != NULL && pass->has_events && bench->info->timer_is_reliable;
    uint64_t begun = strata_bench_now();
    for (uint32_t i = 0; status == STRATA_OK && i < passes; i++)
        status = pass->put(pass->user, ask && i == 0 ? &events[0] : NULL, ask && i + 1 == passes ? &events[1] : NULL);
    if (status == STRATA_OK)
        status = strata_queue_finish(bench->queue);
    *seconds = (double)(strata_bench_now() - begun) / 1e9;
    if (by_events != NULL)
        *by_events = status == STRATA_OK ? event_seconds(events) : 0;
    strata_event_destroy(&events[0]);
    strata_event_destroy(&events[1]);
    return status;
}

static enum strata_status stop_if_interrupted(void) {
    return strata_interrupted() != 0 ? strata_fail(STRATA_CANCELLED, "interrupted") : STRATA_OK;
}

enum strata_status strata_bench_probe(struct strata_bench *bench, const struct strata_bench_pass *pass,
                                      double *seconds) {
    double once;
    enum strata_status status = run_passes(bench, pass, 1, &once, NULL);
    *seconds = INFINITY;
    for (int i = 0; status == STRATA_OK && i < 3; i++) {
        status = stop_if_interrupted();
        if (status == STRATA_OK)
            status = run_passes(bench, pass, 1, &once, NULL);
        *seconds = once < *seconds ? once : *seconds;
        /* What takes that long need not be asked for often. */
        if (once > 0.05 && i > 0)
            break;
    }
    return status;
}

/* How many passes fill a round. The passes that find out are the warm-up. */
static enum strata_status calibrate(struct strata_bench *bench, const struct strata_bench_pass *pass,
                                    uint32_t *passes) {
    double seconds, wanted = (double)bench->pace.round / 1e9;
    enum strata_status status = run_passes(bench, pass, 1, &seconds, NULL);
    *passes = 1;
    if (pass->before != NULL)
        return status;
    for (int i = 0; status == STRATA_OK && i < 3; i++) {
        status = run_passes(bench, pass, *passes, &seconds, NULL);
        if (seconds >= wanted * 0.7)
            break;
        double more = seconds > 0 ? ceil(wanted / seconds * *passes) : PASSES_MOST;
        *passes = more < PASSES_MOST ? (uint32_t)more : PASSES_MOST;
    }
    return status;
}

static void show_progress(struct strata_bench *bench, double share) {
    strata_progress_update(&bench->progress, bench->progress_done + (uint64_t)(fmin(share, 1) * 1000));
}

/* Rounds until the block is long enough. */
static enum strata_status run_block(struct strata_bench *bench, const struct strata_bench_pass *pass, uint32_t passes,
                                    struct rounds *rounds) {
    bool judged = bench->info->type == STRATA_DEVICE_CPU;
    size_t first = rounds->count;
    struct strata_bench_load before = strata_bench_load_now();
    uint64_t begun = strata_bench_now();
    enum strata_status status = STRATA_OK;
    do {
        double seconds, by_events;
        struct round round = {.others = -1};
        status = run_passes(bench, pass, passes, &seconds, &by_events);
        double bytes = (double)pass->bytes * passes / 1e9;
        round.rate = seconds > 0 ? bytes / seconds : INFINITY;
        round.event_rate = by_events > 0 ? bytes / by_events : 0;
        if (status == STRATA_OK)
            status = add_round(rounds, &round);
        if (status == STRATA_OK)
            status = stop_if_interrupted();
    } while (status == STRATA_OK && strata_bench_now() - begun < bench->pace.block &&
             rounds->count - first < BLOCK_ROUNDS_MOST);
    double others = judged ? strata_bench_other_cores(&before) : -1;
    for (size_t i = first; i < rounds->count; i++)
        rounds->list[i].others = others;
    return status;
}

static bool is_quiet(double others) {
    return others <= OTHERS_SHARE * strata_bench_core_count();
}

/* Blocks until there are enough quiet ones, or the time for repetitions is spent. */
static enum strata_status collect(struct strata_bench *bench, const struct strata_bench_pass *pass, uint32_t passes,
                                  struct rounds *rounds) {
    const struct strata_bench_pace *pace = &bench->pace;
    uint64_t kept = 0, thrown = 0;
    size_t kept_count = 0;
    enum strata_status status = STRATA_OK;
    while (status == STRATA_OK && (kept < pace->target || kept_count < pace->least)) {
        if (kept >= pace->limit && kept_count >= 3)
            break;
        size_t first = rounds->count;
        uint64_t begun = strata_bench_now();
        status = run_block(bench, pass, passes, rounds);
        uint64_t took = strata_bench_now() - begun;
        /* No single figure takes all the time that there is for repetitions. */
        bool can_repeat = bench->retry_spent < pace->retry && thrown < pace->retry / 4;
        if (status == STRATA_OK && !is_quiet(rounds->list[first].others) && can_repeat) {
            thrown += took;
            bench->retry_spent += took;
        } else {
            kept += took;
            kept_count += rounds->count - first;
        }
        show_progress(bench, (double)kept / (double)pace->target);
    }
    return status;
}

static int compare_numbers(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int compare_rounds(const void *a, const void *b) {
    return compare_numbers(&((const struct round *)a)->others, &((const struct round *)b)->others);
}

/* Between neighbours, a share of the way. `numbers` is sorted. */
static double percentile(const double *numbers, size_t count, double share) {
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= count)
        return numbers[count - 1];
    return numbers[below] + (numbers[below + 1] - numbers[below]) * (place - (double)below);
}

/* The rounds that count: all quiet ones if there are some, or else as many as are asked for, the least disturbed first. */
static size_t choose_rounds(struct rounds *rounds, size_t least, struct strata_bench_figure *figure) {
    qsort(rounds->list, rounds->count, sizeof *rounds->list, compare_rounds);
    size_t quiet = 0;
    while (quiet < rounds->count && is_quiet(rounds->list[quiet].others))
        quiet++;
    size_t count = quiet >= QUIET_ROUNDS_LEAST ? quiet : least < rounds->count ? least : rounds->count;
    /* A block is judged as a whole. */
    while (count < rounds->count && rounds->list[count].others <= rounds->list[count - 1].others)
        count++;
    figure->is_judged = rounds->list[count - 1].others >= 0;
    figure->is_quiet = count <= quiet;
    figure->other_cores = figure->is_judged ? rounds->list[count - 1].others : 0;
    return count;
}

static void summarise_events(const struct rounds *rounds, size_t count, double *numbers,
                             struct strata_bench_figure *figure) {
    size_t events = 0;
    for (size_t i = 0; i < count; i++)
        if (rounds->list[i].event_rate > 0)
            numbers[events++] = rounds->list[i].event_rate;
    if (events < count)
        return;
    qsort(numbers, events, sizeof *numbers, compare_numbers);
    figure->event_median = percentile(numbers, events, 0.5);
    figure->events_agree = fabs(figure->event_median / figure->median - 1) <= EVENT_DIFFERENCE;
}

static enum strata_status summarise(struct rounds *rounds, size_t least, struct strata_bench_figure *figure) {
    size_t count = choose_rounds(rounds, least, figure);
    double *numbers = malloc(count * sizeof *numbers);
    if (numbers == NULL)
        return strata_fail_host_memory(count * sizeof *numbers, "the rounds");
    for (size_t i = 0; i < count; i++)
        numbers[i] = rounds->list[i].rate;
    qsort(numbers, count, sizeof *numbers, compare_numbers);
    figure->count = (uint32_t)count;
    figure->median = percentile(numbers, count, 0.5);
    figure->is_range = count < PERCENTILE_ROUNDS;
    figure->low = percentile(numbers, count, figure->is_range ? 0 : 0.05);
    figure->high = percentile(numbers, count, figure->is_range ? 1 : 0.95);
    summarise_events(rounds, count, numbers, figure);
    free(numbers);
    if (!(figure->median > 0 && figure->median < IMPOSSIBLE_RATE))
        return strata_fail(STRATA_UNSUPPORTED, "the time is not credible: the runtime seems to skip the work");
    figure->measured = true;
    return STRATA_OK;
}

enum strata_status strata_bench_measure(struct strata_bench *bench, const struct strata_bench_pass *pass,
                                        struct strata_bench_figure *figure) {
    struct rounds rounds = {0};
    figure->bytes = pass->bytes;
    enum strata_status status = stop_if_interrupted();
    if (status == STRATA_OK)
        status = calibrate(bench, pass, &figure->passes);
    if (status == STRATA_OK)
        status = collect(bench, pass, figure->passes, &rounds);
    if (status == STRATA_OK)
        status = summarise(&rounds, bench->pace.least, figure);
    free(rounds.list);
    return status;
}
