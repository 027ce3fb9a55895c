/* How a figure is made: warm-up, rounds that are long enough to hide the launch, and blocks of rounds that are repeated
 * when other processes had the CPU. */
#include "cli/bench.h"
#include "cli/interrupt.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

/* How long to look at the machine before the next attempt. */
#define WAIT_NS 200000000u

#define PASSES_MOST 10000
#define BLOCK_ROUNDS_MOST 1000

struct rounds {
    struct strata_bench_round *list;
    size_t count, capacity;
};

static enum strata_status add_round(struct rounds *rounds, const struct strata_bench_round *round) {
    if (rounds->count == rounds->capacity) {
        size_t capacity = rounds->capacity == 0 ? 64 : rounds->capacity * 2;
        struct strata_bench_round *list = realloc(rounds->list, capacity * sizeof *list);
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

/* How many passes fill a round. The passes that find out are the warm-up, which goes on for as long as the pace says:
 * a processor that was idle takes its time to be fast. */
static enum strata_status warm_up(struct strata_bench *bench, const struct strata_bench_pass *pass, uint32_t *passes) {
    double seconds, wanted = (double)bench->pace.round / 1e9;
    uint64_t begun = strata_bench_now();
    enum strata_status status = run_passes(bench, pass, 1, &seconds, NULL);
    *passes = 1;
    for (int i = 0; status == STRATA_OK && pass->before == NULL && i < 3; i++) {
        status = run_passes(bench, pass, *passes, &seconds, NULL);
        if (seconds >= wanted * 0.7)
            break;
        double more = seconds > 0 ? ceil(wanted / seconds * *passes) : PASSES_MOST;
        *passes = more < PASSES_MOST ? (uint32_t)more : PASSES_MOST;
    }
    while (status == STRATA_OK && strata_bench_now() - begun < bench->pace.warm) {
        status = stop_if_interrupted();
        if (status == STRATA_OK)
            status = run_passes(bench, pass, *passes, &seconds, NULL);
    }
    return status;
}

static void show_progress(struct strata_bench *bench, double share) {
    strata_progress_update(&bench->progress, bench->progress_done + (uint64_t)(fmin(share, 1) * 1000));
}

/* `work` took so many seconds. */
static double value_of(enum strata_bench_unit unit, double work, double seconds) {
    if (strata_bench_unit_is_time(unit))
        return seconds / work * (unit == STRATA_BENCH_NS ? 1e9 : 1e6);
    return seconds > 0 ? work / 1e9 / seconds : INFINITY;
}

/* Rounds until the block is long enough. */
static enum strata_status run_block(struct strata_bench *bench, const struct strata_bench_pass *pass,
                                    const struct strata_bench_figure *figure, struct rounds *rounds) {
    bool judged = bench->info->type == STRATA_DEVICE_CPU;
    size_t first = rounds->count;
    struct strata_bench_load before = strata_bench_load_now();
    uint64_t begun = strata_bench_now();
    enum strata_status status = STRATA_OK;
    do {
        double seconds, by_events;
        struct strata_bench_round round = {.others = -1};
        status = run_passes(bench, pass, figure->passes, &seconds, &by_events);
        double work = (double)pass->work * figure->passes;
        round.value = value_of(figure->unit, work, seconds);
        round.event_value = by_events > 0 ? value_of(figure->unit, work, by_events) : 0;
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

/* Blocks until there are enough quiet ones, or the time for repetitions is spent. */
static enum strata_status collect(struct strata_bench *bench, const struct strata_bench_pass *pass,
                                  const struct strata_bench_figure *figure, struct rounds *rounds) {
    const struct strata_bench_pace *pace = &bench->pace;
    uint64_t kept = 0, thrown = 0;
    size_t kept_count = 0;
    enum strata_status status = STRATA_OK;
    while (status == STRATA_OK && (kept < pace->target || kept_count < pace->least)) {
        if (kept >= pace->limit && kept_count >= 3)
            break;
        size_t first = rounds->count;
        uint64_t begun = strata_bench_now();
        status = run_block(bench, pass, figure, rounds);
        uint64_t took = strata_bench_now() - begun;
        /* Most of the time for repetitions is kept until all figures were tried: others may have left by then. */
        bool can_repeat = bench->retry_spent < pace->retry / 2 && thrown < pace->retry / 8;
        if (status == STRATA_OK && !strata_bench_is_quiet(rounds->list[first].others, strata_bench_core_count()) &&
            can_repeat) {
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

bool strata_bench_wait_for_quiet(struct strata_bench *bench) {
    while (bench->retry_spent < bench->pace.retry && strata_interrupted() == 0) {
        struct strata_bench_load before = strata_bench_load_now();
        struct timespec time = {.tv_nsec = (long)WAIT_NS};
        nanosleep(&time, NULL);
        bench->retry_spent += WAIT_NS;
        if (strata_bench_is_quiet(strata_bench_other_cores(&before), strata_bench_core_count()))
            return true;
    }
    return false;
}

enum strata_status strata_bench_measure(struct strata_bench *bench, const struct strata_bench_pass *pass,
                                        struct strata_bench_figure *figure) {
    struct rounds rounds = {0};
    figure->work = pass->work;
    enum strata_status status = stop_if_interrupted();
    if (status == STRATA_OK)
        status = warm_up(bench, pass, &figure->passes);
    if (status == STRATA_OK)
        status = collect(bench, pass, figure, &rounds);
    if (status == STRATA_OK)
        status =
            strata_bench_summarise(rounds.list, rounds.count, bench->pace.least, strata_bench_core_count(), figure);
    free(rounds.list);
    return status;
}
