/* The device on the stand: which form of the kernels suits it, how much memory to go through, the buffers. */
#include "cli/bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)

/* Many times any cache that counts, and long enough to hide a launch. */
#define CPU_BYTES (256 * MIB)
#define GPU_BYTES (1024 * MIB)
#define EXCHANGE_BYTES (256 * MIB)

/* The least to begin with; what an interpreter is left with. */
#define LEAST_BYTES ((uint64_t)64 << 10)

/* A pass over global memory takes less than this, in seconds; an interpreter needs that for some KiB. */
#define PASS_SECONDS 0.12

/* All buffers at once, with those between host and device, stay below half of the memory. */
#define MEMORY_SHARE 8

/* At the most 256 work-items, as cl/bench.cl says. */
#define GROUP_MOST 256

/* Groups for each compute unit, at least, where the memory is large enough. */
#define GROUPS_PER_UNIT 8

/* Beyond that many work-groups their blocks become larger. */
#define GROUPS_MOST 65536

/* 64 KiB for a group on GPUs keeps the answers rare; 256 KiB hide PoCL's scheduling. Both in steps of the kernels. */
#define COALESCED_STEPS 4
#define BLOCKED_STEPS 1024

#define LOCAL_TILE_BYTES 16384

/* How the two forms are compared on CPU devices. */
#define RACE_TURNS 4
#define SLOW_SECONDS 0.05
#define CLEARLY_LESS 0.8

static uint64_t floor_to_power(uint64_t value) {
    uint64_t power = 1;
    while (power <= value / 2)
        power *= 2;
    return power;
}

static uint64_t most_of(uint64_t value, uint64_t limit) {
    return value < limit ? value : limit;
}

static enum strata_status get_kernels(struct strata_bench_kernels *kernels) {
    strata_kernel **const places[] = {&kernels->read, &kernels->write, &kernels->copy, &kernels->stride,
                                      &kernels->local};
    static const char *const names[] = {"bench_read", "bench_write", "bench_copy", "bench_stride", "bench_local"};
    kernels->items = kernels->form == STRATA_BENCH_COALESCED ? GROUP_MOST : 1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        enum strata_status status = strata_program_kernel(kernels->program, names[i], places[i]);
        if (status != STRATA_OK)
            return status;
        uint64_t most = strata_kernel_get_info(*places[i])->max_group_items;
        kernels->items = (uint32_t)floor_to_power(most_of(kernels->items, most));
    }
    return STRATA_OK;
}

static enum strata_status build(struct strata_bench *bench, enum strata_bench_form form,
                                struct strata_bench_kernels *kernels) {
    char options[64];
    bool coalesced = form == STRATA_BENCH_COALESCED;
    uint64_t tile = most_of(LOCAL_TILE_BYTES, bench->info->local_bytes);
    uint64_t slots = tile / (coalesced ? GROUP_MOST * 4 : 64);
    *kernels = (struct strata_bench_kernels){
        .form = form, .slots = (uint32_t)(slots > 0 ? slots : 1), .parts = coalesced ? 1 : 16};
    snprintf(options, sizeof options, "-DLOCAL_SLOTS=%u", (unsigned)kernels->slots);
    enum strata_status status = strata_program_build(
        bench->device, STRATA_PROGRAM(.embedded = coalesced ? "bench.cl" : "bench_blocked.cl", .options = options),
        &kernels->program);
    return status == STRATA_OK ? get_kernels(kernels) : status;
}

strata_grid strata_bench_grid(const struct strata_bench *bench, uint64_t bytes, uint32_t *steps) {
    const struct strata_bench_kernels *kernels = &bench->kernels;
    bool coalesced = kernels->form == STRATA_BENCH_COALESCED;
    uint64_t step_bytes = coalesced ? (uint64_t)kernels->items * 64 : 256;
    uint64_t count = coalesced ? COALESCED_STEPS : BLOCKED_STEPS;
    while (count > 1 && bytes / (step_bytes * count) < (uint64_t)bench->info->compute_units * GROUPS_PER_UNIT)
        count /= 2;
    while (bytes / (step_bytes * count) > GROUPS_MOST)
        count *= 2;
    *steps = (uint32_t)count;
    return strata_grid_local(strata_grid_1d(bytes / (step_bytes * count) * kernels->items), kernels->items, 1, 1);
}

enum strata_status strata_bench_put_read(struct strata_bench *bench, strata_slice slice, strata_event **event) {
    uint32_t steps;
    strata_grid grid = strata_bench_grid(bench, slice.bytes, &steps);
    return strata_launch_event(
        bench->queue, bench->kernels.read, grid,
        STRATA_ARGS(strata_arg_slice(slice), strata_arg_u32(steps), strata_arg_slice(strata_all(bench->sums))), event);
}

enum strata_status strata_bench_put_write(struct strata_bench *bench, strata_slice slice, struct strata_bench_data data,
                                          strata_event **event) {
    uint32_t steps;
    strata_grid grid = strata_bench_grid(bench, slice.bytes, &steps);
    return strata_launch_event(bench->queue, bench->kernels.write, grid,
                               STRATA_ARGS(strata_arg_slice(slice), strata_arg_u32(steps), strata_arg_u32(data.seed),
                                           strata_arg_u32(data.keep), strata_arg_u32(data.set)),
                               event);
}

enum strata_status strata_bench_hold(struct strata_bench *bench, struct strata_bench_data data) {
    if (bench->held.seed == data.seed && bench->held.keep == data.keep && bench->held.set == data.set)
        return STRATA_OK;
    enum strata_status status = strata_bench_put_write(bench, strata_all(bench->input), data, NULL);
    if (status == STRATA_OK)
        status = strata_queue_finish(bench->queue);
    bench->held = status == STRATA_OK ? data : (struct strata_bench_data){0};
    return status;
}

enum strata_status strata_bench_clear_sums(struct strata_bench *bench) {
    return strata_fill(bench->queue, strata_all(bench->sums), "never", 5);
}

static enum strata_status put_probe(void *user, strata_event **first, strata_event **last) {
    struct strata_bench *bench = user;
    (void)first;
    (void)last;
    return strata_bench_put_read(bench, strata_all(bench->input), NULL);
}

static enum strata_status probe(struct strata_bench *bench, double *seconds) {
    return strata_bench_probe(bench, &(struct strata_bench_pass){.put = put_probe, .user = bench}, seconds);
}

static uint64_t most_bytes(const struct strata_bench *bench) {
    const struct strata_device_info *info = bench->info;
    uint64_t most = info->type == STRATA_DEVICE_GPU && info->unified != STRATA_YES ? GPU_BYTES : CPU_BYTES;
    most = most_of(most, info->max_buffer_bytes);
    most = most_of(most, info->global_bytes / MEMORY_SHARE);
    most = most_of(most, info->free_bytes / MEMORY_SHARE); /* not known is the largest number */
    most = floor_to_power(most);
    return most > LEAST_BYTES ? most : LEAST_BYTES;
}

static enum strata_status set_input(struct strata_bench *bench, uint64_t bytes) {
    strata_buffer_destroy(&bench->input);
    bench->held = (struct strata_bench_data){0};
    bench->bytes = bytes;
    enum strata_status status =
        strata_buffer_create(bench->device, STRATA_BUFFER(.bytes = bytes, .name = "bench input"), &bench->input);
    return status == STRATA_OK ? strata_bench_hold(bench, STRATA_BENCH_WORDS(1)) : status;
}

/* The memory grows until a pass over it takes long enough or the device has no more: so an interpreter gets by. */
static enum strata_status choose_bytes(struct strata_bench *bench) {
    uint64_t most = most_bytes(bench), bytes = LEAST_BYTES;
    double seconds;
    for (;;) {
        enum strata_status status = set_input(bench, bytes);
        if (status == STRATA_OK)
            status = probe(bench, &seconds);
        if (status != STRATA_OK)
            return status;
        uint64_t growth = floor_to_power((uint64_t)(PASS_SECONDS / (seconds + 1e-9)));
        if (bytes == most || growth < 2)
            return STRATA_OK;
        bytes = most_of(bytes * most_of(growth, 64), most);
    }
}

/* The best seconds of both forms, in turns, since a processor that was idle takes its time to be fast. */
static enum strata_status race(struct strata_bench *bench, const struct strata_bench_kernels *forms, double *best) {
    enum strata_status status = STRATA_OK;
    best[0] = best[1] = INFINITY;
    for (int turn = 0; turn < RACE_TURNS && status == STRATA_OK; turn++) {
        double seconds = 0;
        for (int i = 0; i < 2 && status == STRATA_OK; i++) {
            bench->kernels = forms[i];
            status = probe(bench, &seconds);
            best[i] = seconds < best[i] ? seconds : best[i];
        }
        if (seconds > SLOW_SECONDS)
            break;
    }
    return status;
}

/* A CPU device may run work-groups one work-item after the other or as the lanes of a vector, so both forms are
 * tried. */
static enum strata_status choose_form(struct strata_bench *bench) {
    double best[2];
    struct strata_bench_kernels forms[2] = {bench->kernels, {0}};
    enum strata_status status = build(bench, STRATA_BENCH_COALESCED, &forms[1]);
    if (status == STRATA_OK)
        status = race(bench, forms, best);
    bool other = status == STRATA_OK && best[1] < best[0] * CLEARLY_LESS;
    bench->kernels = forms[other];
    strata_program_destroy(&forms[!other].program);
    return status;
}

enum strata_status strata_bench_open(struct strata_bench *bench, const char *selector) {
    enum strata_status status = strata_device_open(selector, NULL, &bench->device);
    if (status != STRATA_OK)
        return status;
    bench->info = strata_device_get_info(bench->device);
    bool can_block = bench->info->type != STRATA_DEVICE_GPU;
    uint64_t answers = most_of((uint64_t)bench->info->compute_units, 1 << 20) * GROUPS_PER_UNIT * GROUP_MOST;
    uint64_t parts = (uint64_t)GROUPS_MOST * 16;
    answers = answers > parts ? answers : parts;
    status =
        strata_queue_create(bench->device, STRATA_QUEUE(.profiling = bench->info->timer_is_reliable), &bench->queue);
    if (status == STRATA_OK)
        status = build(bench, can_block ? STRATA_BENCH_BLOCKED : STRATA_BENCH_COALESCED, &bench->kernels);
    if (status == STRATA_OK)
        status = strata_buffer_create(bench->device, STRATA_BUFFER(.bytes = answers * 4, .name = "bench sums"),
                                      &bench->sums);
    if (status == STRATA_OK)
        status = choose_bytes(bench);
    if (status == STRATA_OK && can_block)
        status = choose_form(bench);
    if (status == STRATA_OK)
        status = strata_buffer_create(bench->device, STRATA_BUFFER(.bytes = bench->bytes, .name = "bench output"),
                                      &bench->output);
    uint64_t host = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 16;
    bench->exchange_bytes = most_of(bench->bytes, floor_to_power(most_of(EXCHANGE_BYTES, host)));
    return status;
}

void strata_bench_close(struct strata_bench *bench) {
    strata_buffer_destroy(&bench->input);
    strata_buffer_destroy(&bench->output);
    strata_buffer_destroy(&bench->sums);
    strata_program_destroy(&bench->kernels.program);
    strata_queue_destroy(&bench->queue);
    strata_device_close(&bench->device);
}
