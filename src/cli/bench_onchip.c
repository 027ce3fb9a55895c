/* Local and constant memory. Their kernels repeat on the device until a pass takes long enough. */
#include "cli/bench.h"

#include <inttypes.h>

/* How long a pass is to take at least, in seconds, and how often it repeats at the most: Mesa's llvmpipe leaves any
 * loop of a kernel after 65535 turns. */
#define PASS_SECONDS 0.002
#define ROUNDS_MOST 16384

/* As many as the largest compute units hold at once. */
#define GROUPS_PER_UNIT 8

#define GROUP_ITEMS 256

/* 4 KiB: every device has that much, and it is small enough for every cache of constants. */
#define TABLE_ENTRIES 1024

#define LOCAL_DATA STRATA_BENCH_WORDS(3)
#define TABLE_DATA STRATA_BENCH_WORDS(4)

struct onchip {
    struct strata_bench *bench;
    strata_kernel *kernel;
    strata_buffer *table; /* NULL for local memory */
    uint64_t groups, items;
    uint64_t access_bytes; /* of the local kernel's accesses */
    uint32_t rounds;
};

static enum strata_status put_onchip(void *user, strata_event **first, strata_event **last) {
    const struct onchip *onchip = user;
    struct strata_bench *bench = onchip->bench;
    strata_grid grid = strata_grid_local(strata_grid_1d(onchip->groups * onchip->items), onchip->items, 1, 1);
    strata_arg sums = strata_arg_slice(strata_all(bench->sums)), rounds = strata_arg_u32(onchip->rounds);
    strata_event **event = last != NULL ? last : first;
    if (onchip->table != NULL)
        return strata_launch_event(
            bench->queue, onchip->kernel, grid,
            STRATA_ARGS(strata_arg_slice(strata_all(onchip->table)), strata_arg_u32(TABLE_ENTRIES), rounds, sums),
            event);
    return strata_launch_event(
        bench->queue, onchip->kernel, grid,
        STRATA_ARGS(strata_arg_u32(bench->kernels.slots), rounds, strata_arg_u32(LOCAL_DATA.seed), sums), event);
}

/* Repeats more and more often until a pass takes long enough. */
static enum strata_status choose_rounds(struct onchip *onchip, const struct strata_bench_pass *pass) {
    double seconds = 0;
    for (onchip->rounds = 1;; onchip->rounds *= 4) {
        enum strata_status status = strata_bench_probe(onchip->bench, pass, &seconds);
        if (status != STRATA_OK || seconds >= PASS_SECONDS || onchip->rounds >= ROUNDS_MOST)
            return status;
    }
}

/* What each work-item of the local kernel adds up: the slots of its neighbour, and what the rounds added to them. */
static uint32_t local_answer(const struct onchip *onchip, uint64_t item) {
    const struct strata_bench_kernels *kernels = &onchip->bench->kernels;
    uint64_t width = onchip->access_bytes / 4, neighbour = (item + 1) % onchip->items;
    uint32_t added = 0, sum = 0;
    for (uint32_t round = 0; round < onchip->rounds; round++)
        added += round * STRATA_BENCH_WEYL;
    for (uint64_t slot = 0; slot < kernels->slots; slot++)
        sum += strata_bench_sum(LOCAL_DATA, (slot * onchip->items + neighbour) * width, width, 1);
    return sum + added * (uint32_t)(kernels->slots * width);
}

static uint32_t table_answer(const struct onchip *onchip) {
    return onchip->rounds * strata_bench_sum(TABLE_DATA, 0, TABLE_ENTRIES, 1);
}

/* All groups have the same answers. */
static enum strata_status check_answers(const struct onchip *onchip, struct strata_bench_figure *figure) {
    uint64_t count = onchip->groups * onchip->items, parts = onchip->table != NULL ? 1 : onchip->bench->kernels.parts;
    uint32_t *answers = strata_host_allocate(NULL, (size_t)(count * parts * 4));
    if (answers == NULL)
        return strata_fail_host_memory(count * parts * 4, "the answers");
    strata_slice slice = strata_sub(strata_all(onchip->bench->sums), 0, count * parts * 4);
    enum strata_status status = strata_read(onchip->bench->queue, slice, answers);
    for (uint64_t item = 0; status == STRATA_OK && item < onchip->items; item++) {
        uint32_t right = onchip->table != NULL ? table_answer(onchip) : local_answer(onchip, item);
        for (uint64_t i = item; status == STRATA_OK && i < count; i += onchip->items) {
            uint32_t answer = 0;
            for (uint64_t part = 0; part < parts; part++)
                answer += answers[i * parts + part];
            if (answer != right)
                status = strata_bench_wrong(figure, "work-item %" PRIu64 " answers %" PRIu32 " and not %" PRIu32, i,
                                            answer, right);
        }
    }
    strata_host_release(NULL, answers);
    return status;
}

static enum strata_status measure(struct onchip *onchip, uint64_t bytes_each, struct strata_bench_figure *figure) {
    struct strata_bench_pass pass = {.put = put_onchip, .user = onchip, .has_events = true};
    onchip->groups = (uint64_t)onchip->bench->info->compute_units * GROUPS_PER_UNIT;
    enum strata_status status = strata_bench_clear_sums(onchip->bench);
    if (status == STRATA_OK)
        status = choose_rounds(onchip, &pass);
    pass.work = onchip->groups * onchip->items * onchip->rounds * bytes_each;
    if (status == STRATA_OK)
        status = strata_bench_measure(onchip->bench, &pass, figure);
    return status == STRATA_OK ? check_answers(onchip, figure) : status;
}

static enum strata_status measure_local(struct strata_bench *bench, const struct strata_bench_case *what,
                                        struct strata_bench_figure *figure) {
    (void)what;
    bool coalesced = bench->kernels.form == STRATA_BENCH_COALESCED;
    struct onchip onchip = {.bench = bench,
                            .kernel = bench->kernels.local,
                            .items = bench->kernels.items,
                            .access_bytes = coalesced ? 4 : 64};
    return measure(&onchip, 2 * onchip.access_bytes * bench->kernels.slots, figure);
}

static enum strata_status make_table(struct onchip *onchip) {
    uint32_t words[TABLE_ENTRIES];
    strata_bench_fill(words, TABLE_ENTRIES, TABLE_DATA);
    enum strata_status status = strata_buffer_create(
        onchip->bench->device,
        STRATA_BUFFER(.bytes = sizeof words, .access = STRATA_READ_ONLY, .name = "bench constants"), &onchip->table);
    return status == STRATA_OK ? strata_write(onchip->bench->queue, strata_all(onchip->table), words) : status;
}

static enum strata_status measure_constant(struct strata_bench *bench, const struct strata_bench_case *what,
                                           struct strata_bench_figure *figure) {
    static const char *const names[] = {"bench_constant_same", "bench_constant_different"};
    struct onchip onchip = {.bench = bench, .items = GROUP_ITEMS};
    strata_program *program = NULL;
    enum strata_status status =
        strata_program_build(bench->device, STRATA_PROGRAM(.embedded = "bench_constant.cl"), &program);
    if (status == STRATA_OK)
        status = strata_program_kernel(program, names[what->parameter], &onchip.kernel);
    if (status == STRATA_OK)
        status = make_table(&onchip);
    if (status == STRATA_OK) {
        uint64_t most = strata_kernel_get_info(onchip.kernel)->max_group_items;
        onchip.items = most < GROUP_ITEMS ? most : GROUP_ITEMS;
        status = measure(&onchip, TABLE_ENTRIES * 4, figure);
    }
    strata_buffer_destroy(&onchip.table);
    strata_program_destroy(&program);
    return status;
}

static const struct strata_bench_case cases[] = {
    {"local.read-write", "local", "read, write", "bytes read and bytes written, of local memory", 0, STRATA_BENCH_GBPS,
     false, measure_local},
    {"constant.same", "constant", "same word", "bytes read: all work-items of a work-group read one word at a time", 0,
     STRATA_BENCH_GBPS, false, measure_constant},
    {"constant.different", "constant", "own words", "bytes read: each work-item of a work-group reads another word", 1,
     STRATA_BENCH_GBPS, false, measure_constant},
    {"private.registers", "private", "registers", "updates of an array of 16 words, whose indices the compiler knows",
     STRATA_BENCH_REGISTERS, STRATA_BENCH_GOPS, false, strata_bench_measure_latency},
    {"private.indexed", "private", "indexed", "updates of an array of 16 words, indexed at run time",
     STRATA_BENCH_INDEXED, STRATA_BENCH_GOPS, false, strata_bench_measure_latency},
};

const struct strata_bench_topic strata_bench_onchip = {
    .name = "onchip",
    .title = "memory on the chip",
    .cases = cases,
    .count = sizeof cases / sizeof cases[0],
};
