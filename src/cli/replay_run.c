/* Running a trace's creates and frees, in the order of the trace and by one thread, against pools or the driver. */
#include "cli/replay.h"

#include "cli/interrupt.h"
#include "core/error.h"
#include "strata/opencl.h"
#include "strata/transfer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

/* Creates between two looks whether Ctrl-C was pressed. */
#define LOOK_EVERY 256

/* One round. */
struct replay {
    strata_device *device;
    const struct strata_trace_file *file;
    const struct strata_replay_request *request;
    enum strata_replay_with with;
    strata_pool *pools[4]; /* by enum strata_kind */
    cl_context context;
    cl_command_queue queue;
    void **live; /* by buffer: a strata_buffer, or a cl_mem */
    uint64_t live_bytes;
    struct strata_replay_result *result;
};

bool strata_replay_wants(const struct strata_trace_event *event) {
    return event->bytes != 0 && event->given != 0 && (event->flags & 3) != STRATA_WRAPPED;
}

static double now_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A pool for each kind that the trace has. MIRRORED shared memory has none. */
static enum strata_status make_pools(struct replay *replay) {
    const struct strata_replay_request *request = replay->request;
    bool wanted[4] = {false};
    for (size_t i = 0; i < replay->file->count; i++) {
        const struct strata_trace_event *event = &replay->file->events[i];
        if (event->type == STRATA_TRACE_CREATE && strata_replay_wants(event))
            wanted[event->flags & 3] = true;
    }
    for (unsigned kind = 0; kind < 4; kind++) {
        if (!wanted[kind])
            continue;
        enum strata_status status =
            strata_pool_create(replay->device,
                               STRATA_POOL(.kind = (enum strata_kind)kind, .limit_bytes = request->limit,
                                           .block_bytes = request->block, .max_block_bytes = request->max_block,
                                           .dedicated_bytes = request->dedicated_from, .no_commit = request->lazy),
                               &replay->pools[kind]);
        if (status != STRATA_OK && !(status == STRATA_UNSUPPORTED && kind == STRATA_SHARED))
            return status;
    }
    return STRATA_OK;
}

/* Drivers place memory when it is first used. */
static enum strata_status touch(struct replay *replay, strata_buffer *buffer) {
    static const uint32_t word = 0;
    uint64_t bytes = strata_buffer_get_info(buffer)->bytes;
    if (replay->request->lazy || strata_buffer_get_info(buffer)->kind != STRATA_DEVICE)
        return STRATA_OK;
    return strata_write(strata_device_queue(replay->device),
                        strata_sub(strata_all(buffer), 0, bytes < sizeof word ? bytes : sizeof word), &word);
}

static enum strata_status create_buffer(struct replay *replay, const struct strata_trace_event *event, void **place) {
    strata_buffer *buffer = NULL;
    unsigned kind = event->flags & 3;
    bool dedicated = replay->with == STRATA_REPLAY_DEDICATED;
    enum strata_status status = strata_buffer_create(
        replay->device,
        STRATA_BUFFER(.bytes = event->bytes, .kind = (enum strata_kind)kind,
                      .access = (enum strata_access)(event->flags >> STRATA_TRACE_ACCESS_SHIFT & 3),
                      .pool = dedicated ? NULL : replay->pools[kind], .dedicated = dedicated),
        &buffer);
    if (status == STRATA_OK && dedicated && touch(replay, buffer) != STRATA_OK) {
        strata_buffer_destroy(&buffer);
        return STRATA_OUT_OF_MEMORY;
    }
    *place = buffer;
    return status;
}

/* PINNED and SHARED memory are asked for as the host's. */
static enum strata_status create_native(struct replay *replay, const struct strata_trace_event *event, void **place) {
    static const cl_mem_flags access[] = {CL_MEM_READ_WRITE, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY, 0};
    static const uint32_t word = 0;
    cl_int code = CL_SUCCESS;
    bool host = (event->flags & 3) != STRATA_DEVICE;
    cl_mem memory = clCreateBuffer(
        replay->context, access[event->flags >> STRATA_TRACE_ACCESS_SHIFT & 3] | (host ? CL_MEM_ALLOC_HOST_PTR : 0),
        (size_t)event->bytes, NULL, &code);
    if (code == CL_SUCCESS && !replay->request->lazy && !host)
        code =
            clEnqueueWriteBuffer(replay->queue, memory, CL_TRUE, 0,
                                 event->bytes < sizeof word ? (size_t)event->bytes : sizeof word, &word, 0, NULL, NULL);
    if (code == CL_SUCCESS) {
        *place = memory;
        return STRATA_OK;
    }
    if (memory)
        clReleaseMemObject(memory);
    return STRATA_OUT_OF_MEMORY;
}

/* A create that fails for want of memory is counted and has no buffer. */
static enum strata_status create(struct replay *replay, const struct strata_trace_event *event) {
    struct strata_replay_result *result = replay->result;
    void **place = &replay->live[event->number];
    enum strata_status status = STRATA_OUT_OF_MEMORY;
    uint64_t limit = replay->request->limit;
    result->creates++;
    if (replay->with == STRATA_REPLAY_POOL || limit == 0 ||
        (event->bytes <= limit && replay->live_bytes <= limit - event->bytes))
        status = replay->with == STRATA_REPLAY_DRIVER ? create_native(replay, event, place)
                                                      : create_buffer(replay, event, place);
    if (status == STRATA_OUT_OF_MEMORY || status == STRATA_TOO_LARGE) {
        result->failures++;
        return STRATA_OK;
    }
    if (status != STRATA_OK)
        return status;
    replay->live_bytes += event->bytes;
    if (result->peak_live < replay->live_bytes)
        result->peak_live = replay->live_bytes;
    return STRATA_OK;
}

static void destroy(struct replay *replay, uint64_t number, uint64_t bytes) {
    void *memory = replay->live[number];
    if (!memory)
        return;
    replay->live[number] = NULL;
    replay->live_bytes -= bytes;
    if (replay->with == STRATA_REPLAY_DRIVER) {
        clReleaseMemObject((cl_mem)memory);
        return;
    }
    strata_buffer *buffer = memory;
    strata_buffer_destroy(&buffer);
}

static enum strata_status run_events(struct replay *replay, const uint64_t *bytes) {
    for (size_t i = 0; i < replay->file->count; i++) {
        const struct strata_trace_event *event = &replay->file->events[i];
        enum strata_status status = STRATA_OK;
        if (event->type == STRATA_TRACE_CREATE && strata_replay_wants(event))
            status = create(replay, event);
        else if (event->type == STRATA_TRACE_DESTROY)
            destroy(replay, event->number, bytes[event->number]);
        if (status == STRATA_OK && i % LOOK_EVERY == 0 && strata_interrupted() != 0)
            status = strata_fail(STRATA_CANCELLED, "interrupted");
        if (status != STRATA_OK)
            return status;
    }
    return STRATA_OK;
}

/* What the pools say of the round; of other memory, what is taken is what is alive. */
static enum strata_status take_figures(struct replay *replay) {
    struct strata_replay_result *result = replay->result;
    if (replay->with != STRATA_REPLAY_POOL) {
        result->peak_reserved = result->peak_live;
        result->blocks = result->creates - result->failures;
        return STRATA_OK;
    }
    for (unsigned kind = 0; kind < 4; kind++) {
        struct strata_pool_stats stats = {.size = sizeof stats};
        if (!replay->pools[kind])
            continue;
        enum strata_status status = strata_pool_get_stats(replay->pools[kind], &stats);
        if (status != STRATA_OK)
            return status;
        result->peak_reserved += stats.peak_reserved_bytes;
        result->blocks += stats.grown;
        result->waits += stats.waited;
        result->reused += stats.reused_buffers;
    }
    return STRATA_OK;
}

/* One round with fresh pools: its time is that of creates and frees alone. */
static enum strata_status run_round(struct replay *replay, const uint64_t *bytes, double *seconds) {
    struct strata_replay_result *result = replay->result;
    *result = (struct strata_replay_result){.with = replay->with};
    enum strata_status status = replay->with == STRATA_REPLAY_POOL ? make_pools(replay) : STRATA_OK;
    double begin = now_seconds();
    if (status == STRATA_OK)
        status = run_events(replay, bytes);
    *seconds = now_seconds() - begin;
    if (status == STRATA_OK)
        status = take_figures(replay);
    for (uint64_t i = 0; i < replay->file->buffers; i++)
        destroy(replay, i, bytes[i]);
    for (unsigned kind = 0; kind < 4; kind++)
        strata_pool_destroy(&replay->pools[kind]);
    return status;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* All rounds, with room for what they note. */
static enum strata_status run_rounds(struct replay *replay, uint64_t *bytes, double *seconds) {
    uint64_t rounds = replay->request->rounds;
    enum strata_status status = STRATA_OK;
    for (size_t i = 0; i < replay->file->count; i++)
        if (replay->file->events[i].type == STRATA_TRACE_CREATE)
            bytes[replay->file->events[i].number] = replay->file->events[i].bytes;
    for (uint64_t i = 0; i < rounds && status == STRATA_OK; i++)
        status = run_round(replay, bytes, &seconds[i]);
    qsort(seconds, (size_t)rounds, sizeof *seconds, compare);
    replay->result->seconds = seconds[rounds / 2];
    return status;
}

enum strata_status strata_replay_run(strata_device *device, const struct strata_trace_file *file,
                                     const struct strata_replay_request *request, enum strata_replay_with with,
                                     struct strata_replay_result *result) {
    struct replay replay = {.device = device, .file = file, .request = request, .with = with, .result = result};
    if (with == STRATA_REPLAY_DRIVER) {
        replay.context = strata_opencl_context(device);
        replay.queue = strata_opencl_queue(strata_device_queue(device));
        if (!replay.context || !replay.queue)
            return strata_fail(STRATA_UNSUPPORTED, "the driver can be replayed against through OpenCL alone");
    }
    size_t buffers = (size_t)file->buffers + 1;
    uint64_t *bytes = calloc(buffers, sizeof *bytes);
    double *seconds = calloc((size_t)request->rounds, sizeof *seconds);
    replay.live = calloc(buffers, sizeof *replay.live);
    enum strata_status status = bytes && seconds && replay.live
                                    ? run_rounds(&replay, bytes, seconds)
                                    : strata_fail_host_memory(buffers * sizeof *bytes, "the replay");
    free(bytes);
    free(seconds);
    free(replay.live);
    return status;
}
