/* Latency: a chain of loads through memory of growing size, which shows each cache as a step; the same in local memory;
 * bank conflicts; and what it costs when an array of private memory is indexed at run time. */
#include "cli/bench.h"

#include <inttypes.h>
#include <stdio.h>

/* Apart from each other by a line of every cache there is. */
#define NODE_WORDS 32

/* How long a pass is to take at least, in seconds, and the turns of 16 hops that it takes at the most: llvmpipe leaves
 * a loop after 65535 turns, and counts more than the source has. */
#define PASS_SECONDS 0.003
#define TURNS_MOST 16384
#define HOPS_PER_TURN 16

/* As cl/bench_latency.cl has them. */
#define TILE_WORDS 4096
#define LOCAL_CHAIN_WORDS 2048
#define ARRAY_WORDS 16

#define GROUP_ITEMS 256
#define GROUPS_PER_UNIT 8
#define CONFLICT_DATA STRATA_BENCH_WORDS(10)

#define CHASE STRATA_BENCH_CHASE
#define LOCAL_CHASE STRATA_BENCH_LOCAL_CHASE
#define CONFLICTS STRATA_BENCH_CONFLICTS

struct trial {
    struct strata_bench *bench;
    enum strata_bench_latency_kind what;
    uint32_t stride; /* of conflicts */
    strata_program *program;
    strata_kernel *kernel;
    strata_buffer *chain;
    uint32_t *hops; /* the chain on the host */
    uint64_t words; /* of the chain */
    uint64_t nodes;
    uint64_t hopped; /* by all launches so far, which follow one another in the chain of global memory */
    uint64_t groups, items;
    uint32_t turns;
};

static enum strata_status put_trial(void *user, strata_event **first, strata_event **last) {
    struct trial *trial = user;
    strata_queue *queue = trial->bench->queue;
    strata_event **event = last != NULL ? last : first;
    strata_grid grid = strata_grid_local(strata_grid_1d(trial->groups * trial->items), trial->items, 1, 1);
    strata_arg out = strata_arg_slice(strata_all(trial->bench->sums)), turns = strata_arg_u32(trial->turns);
    switch (trial->what) {
    case CHASE:
        trial->hopped += (uint64_t)trial->turns * HOPS_PER_TURN;
        return strata_launch_event(queue, trial->kernel, grid,
                                   STRATA_ARGS(strata_arg_slice(strata_all(trial->chain)), turns, out), event);
    case LOCAL_CHASE:
        return strata_launch_event(
            queue, trial->kernel, grid,
            STRATA_ARGS(strata_arg_slice(strata_all(trial->chain)), strata_arg_u32((uint32_t)trial->words), turns, out),
            event);
    case CONFLICTS:
        return strata_launch_event(
            queue, trial->kernel, grid,
            STRATA_ARGS(strata_arg_u32(trial->stride), turns, strata_arg_u32(CONFLICT_DATA.seed), out), event);
    default: return strata_launch_event(queue, trial->kernel, grid, STRATA_ARGS(turns, strata_arg_u32(1), out), event);
    }
}

static uint64_t random_below(uint64_t *state, uint64_t limit) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (*state >> 11) % limit;
}

/* One cycle through all nodes in random order (Sattolo 1986), which no prefetcher can follow. */
static enum strata_status make_chain(struct trial *trial, uint64_t words, uint64_t node_words) {
    uint64_t nodes = words / node_words, state = UINT64_C(88172645463325252);
    trial->words = words;
    trial->nodes = nodes;
    trial->hops = strata_host_allocate(NULL, (size_t)words * 4);
    if (trial->hops == NULL)
        return strata_fail_host_memory(words * 4, "the chain");
    for (uint64_t i = 0; i < nodes; i++)
        trial->hops[i * node_words] = (uint32_t)(i * node_words);
    for (uint64_t i = nodes - 1; i > 0; i--) {
        uint64_t other = random_below(&state, i);
        uint32_t hop = trial->hops[i * node_words];
        trial->hops[i * node_words] = trial->hops[other * node_words];
        trial->hops[other * node_words] = hop;
    }
    enum strata_status status = strata_buffer_create(
        trial->bench->device, STRATA_BUFFER(.bytes = words * 4, .name = "bench chain"), &trial->chain);
    return status == STRATA_OK ? strata_write(trial->bench->queue, strata_all(trial->chain), trial->hops) : status;
}

static uint32_t right_answer(const struct trial *trial, uint64_t item) {
    uint32_t answer = 0;
    if (trial->what <= LOCAL_CHASE) {
        uint64_t hops = trial->what == CHASE ? trial->hopped : (uint64_t)trial->turns * HOPS_PER_TURN;
        for (uint64_t i = 0; i < hops % trial->nodes; i++)
            answer = trial->hops[answer];
    } else if (trial->what == CONFLICTS) {
        uint64_t place = item % trial->items * trial->stride;
        for (uint32_t i = 0; i < trial->turns; i++)
            answer += strata_bench_sum(CONFLICT_DATA, (place + i) % TILE_WORDS, 1, 1);
    } else {
        uint32_t words[ARRAY_WORDS];
        for (uint32_t i = 0; i < ARRAY_WORDS; i++)
            words[i] = (uint32_t)item * ARRAY_WORDS + i;
        for (uint32_t turn = 0; turn < trial->turns; turn++)
            for (uint32_t i = 0; i < ARRAY_WORDS; i++)
                words[i] = words[i] * 5 + words[(i + 1) % ARRAY_WORDS];
        for (uint32_t i = 0; i < ARRAY_WORDS; i++)
            answer += words[i] * (i + 1);
    }
    return answer;
}

/* The first group and the last work-item of all. */
static enum strata_status check(const struct trial *trial, struct strata_bench_figure *figure) {
    uint64_t count = trial->groups * trial->items;
    enum strata_status status = STRATA_OK;
    for (uint64_t i = 0; status == STRATA_OK && i <= trial->items; i++) {
        uint64_t item = i < trial->items ? i : count - 1;
        uint32_t answer = 0, right = right_answer(trial, item);
        status = strata_read(trial->bench->queue, strata_sub(strata_all(trial->bench->sums), item * 4, 4), &answer);
        if (status == STRATA_OK && answer != right)
            status = strata_bench_wrong(figure, "work-item %" PRIu64 " answers %" PRIu32 " and not %" PRIu32, item,
                                        answer, right);
    }
    return status;
}

static enum strata_status choose_turns(struct trial *trial, const struct strata_bench_pass *pass) {
    double seconds = 0;
    for (trial->turns = 16;; trial->turns *= 4) {
        enum strata_status status = strata_bench_probe(trial->bench, pass, &seconds);
        if (status != STRATA_OK || seconds >= PASS_SECONDS || trial->turns >= TURNS_MOST)
            return status;
    }
}

static enum strata_status build(struct trial *trial) {
    static const char *const names[] = {"bench_chase", "bench_chase_local", "bench_conflicts",
                                        "bench_private_registers", "bench_private_indexed"};
    enum strata_status status =
        strata_program_build(trial->bench->device, STRATA_PROGRAM(.embedded = "bench_latency.cl"), &trial->program);
    if (status == STRATA_OK)
        status = strata_program_kernel(trial->program, names[trial->what], &trial->kernel);
    trial->groups = trial->items = 1;
    if (status == STRATA_OK && trial->what > LOCAL_CHASE) {
        uint64_t most = strata_kernel_get_info(trial->kernel)->max_group_items;
        trial->items = most < GROUP_ITEMS ? most : GROUP_ITEMS;
        trial->groups = (uint64_t)trial->bench->info->compute_units * GROUPS_PER_UNIT;
    }
    return status;
}

static enum strata_status measure_built(struct trial *trial, struct strata_bench_figure *figure) {
    struct strata_bench_pass pass = {.put = put_trial, .user = trial, .has_events = true};
    enum strata_status status = strata_bench_clear_sums(trial->bench);
    if (status == STRATA_OK) /* the chain's first node */
        status = strata_fill(trial->bench->queue, strata_sub(strata_all(trial->bench->sums), 0, 4), "", 1);
    if (status == STRATA_OK)
        status = choose_turns(trial, &pass);
    uint64_t all = trial->groups * trial->items * trial->turns;
    pass.work = trial->what <= LOCAL_CHASE ? all * HOPS_PER_TURN
                : trial->what == CONFLICTS ? all * 4
                                           : all * ARRAY_WORDS;
    if (status == STRATA_OK)
        status = strata_bench_measure(trial->bench, &pass, figure);
    /* All launches so far may have ended where they began, as if nothing had run; 16 hops more never do. */
    if (status == STRATA_OK && trial->what == CHASE) {
        trial->turns = 1;
        status = put_trial(trial, NULL, NULL);
    }
    return status == STRATA_OK ? check(trial, figure) : status;
}

static void clean_up(struct trial *trial) {
    strata_buffer_destroy(&trial->chain);
    strata_host_release(NULL, trial->hops);
    strata_program_destroy(&trial->program);
}

/* From 4 KiB to a quarter of the memory; the parameter is the logarithm. */
static enum strata_status measure_chase(struct strata_bench *bench, const struct strata_bench_case *what,
                                        struct strata_bench_figure *figure) {
    struct trial trial = {.bench = bench, .what = CHASE};
    uint64_t bytes = UINT64_C(1) << what->parameter;
    if (bytes > bench->info->global_bytes / 4 || bytes > bench->info->max_buffer_bytes || bytes > 4 * bench->bytes)
        return strata_fail(STRATA_UNSUPPORTED,
                           "more than a quarter of the memory, or than the device is fast enough for");
    enum strata_status status = build(&trial);
    if (status == STRATA_OK)
        status = make_chain(&trial, bytes / 4, NODE_WORDS);
    if (status == STRATA_OK)
        status = measure_built(&trial, figure);
    clean_up(&trial);
    return status;
}

enum strata_status strata_bench_measure_latency(struct strata_bench *bench, const struct strata_bench_case *what,
                                                struct strata_bench_figure *figure) {
    struct trial trial = {.bench = bench,
                          .what = (enum strata_bench_latency_kind)(what->parameter & 0xff),
                          .stride = what->parameter >> 8};
    enum strata_status status = build(&trial);
    if (status == STRATA_OK && trial.what == LOCAL_CHASE)
        status = make_chain(&trial, LOCAL_CHAIN_WORDS, 1);
    if (status == STRATA_OK)
        status = measure_built(&trial, figure);
    clean_up(&trial);
    return status;
}

#define SIZE_CASE(words, bits, full)                                                                                   \
    {                                                                                                                  \
        "latency." words, "latency", words, "one load after the other in random order, within " words, bits,           \
            STRATA_BENCH_NS, full, measure_chase                                                                       \
    }
static const struct strata_bench_case latency_cases[] = {
    SIZE_CASE("4KiB", 12, false),  SIZE_CASE("8KiB", 13, true),   SIZE_CASE("16KiB", 14, true),
    SIZE_CASE("32KiB", 15, true),  SIZE_CASE("64KiB", 16, false), SIZE_CASE("128KiB", 17, true),
    SIZE_CASE("256KiB", 18, true), SIZE_CASE("512KiB", 19, true), SIZE_CASE("1MiB", 20, false),
    SIZE_CASE("2MiB", 21, true),   SIZE_CASE("4MiB", 22, true),   SIZE_CASE("8MiB", 23, true),
    SIZE_CASE("16MiB", 24, false), SIZE_CASE("32MiB", 25, true),  SIZE_CASE("64MiB", 26, true),
    SIZE_CASE("128MiB", 27, true), SIZE_CASE("256MiB", 28, true), SIZE_CASE("512MiB", 29, true),
    SIZE_CASE("1GiB", 30, true)};
const struct strata_bench_topic strata_bench_latency = {.name = "latency",
                                                        .title = "latency",
                                                        .axis = "a chain of loads within",
                                                        .row = "ns per load",
                                                        .cases = latency_cases,
                                                        .count = sizeof latency_cases / sizeof latency_cases[0]};

#define CONFLICT_CASE(stride)                                                                                          \
    {                                                                                                                  \
        "conflicts." #stride, "conflicts", #stride,                                                                    \
            "bytes read of local memory, by work-items " #stride " words apart", CONFLICTS | stride << 8,              \
            STRATA_BENCH_GBPS, true, strata_bench_measure_latency                                                      \
    }
static const struct strata_bench_case conflict_cases[] = {
    CONFLICT_CASE(1),  CONFLICT_CASE(2),  CONFLICT_CASE(3),  CONFLICT_CASE(4),  CONFLICT_CASE(5),  CONFLICT_CASE(6),
    CONFLICT_CASE(7),  CONFLICT_CASE(8),  CONFLICT_CASE(9),  CONFLICT_CASE(10), CONFLICT_CASE(11), CONFLICT_CASE(12),
    CONFLICT_CASE(13), CONFLICT_CASE(14), CONFLICT_CASE(15), CONFLICT_CASE(16), CONFLICT_CASE(17), CONFLICT_CASE(18),
    CONFLICT_CASE(19), CONFLICT_CASE(20), CONFLICT_CASE(21), CONFLICT_CASE(22), CONFLICT_CASE(23), CONFLICT_CASE(24),
    CONFLICT_CASE(25), CONFLICT_CASE(26), CONFLICT_CASE(27), CONFLICT_CASE(28), CONFLICT_CASE(29), CONFLICT_CASE(30),
    CONFLICT_CASE(31), CONFLICT_CASE(32), CONFLICT_CASE(33)};
const struct strata_bench_topic strata_bench_conflicts = {.name = "conflicts",
                                                          .title = "bank conflicts",
                                                          .axis = "words apart, local memory",
                                                          .row = "GB/s",
                                                          .ratio = "x stride 1",
                                                          .cases = conflict_cases,
                                                          .count = sizeof conflict_cases / sizeof conflict_cases[0]};
