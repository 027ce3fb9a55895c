/* Reductions of one slice, and of data that comes piece by piece. */
#include "primitives/reduce.h"
#include "core/fork.h"
#include "core/queue.h"
#include "memory/buffer.h"
#include "primitives/state.h"
#include "strata/transfer.h"

#include <string.h>

void strata_reduce_desc_init(struct strata_reduce_desc *desc) {
    *desc = (struct strata_reduce_desc){.size = sizeof *desc};
}

static enum strata_status check_piece(const strata_device *device, enum strata_type type, strata_slice slice) {
    enum strata_status status = strata_slice_check(device, slice, "input");
    size_t bytes = strata_type_size(type);
    if (status == STRATA_OK && slice.bytes % bytes != 0)
        status =
            strata_fail(STRATA_INVALID_ARGUMENT, "The input of %llu bytes is not whole elements of %zu bytes (%s).",
                        (unsigned long long)slice.bytes, bytes, strata_type_name(type));
    return status;
}

static enum strata_status read_desc(strata_queue *queue, const struct strata_reduce_desc *given,
                                    struct strata_reduce_desc *desc) {
    *desc = (struct strata_reduce_desc){.size = sizeof *desc};
    enum strata_status status = strata_queue_check(queue);
    if (status == STRATA_OK && !given)
        status = strata_fail(STRATA_INVALID_ARGUMENT, "A reduction needs a desc.");
    if (status == STRATA_OK)
        status = strata_desc_read(given, desc, sizeof *desc, "strata_reduce_desc");
    if (status == STRATA_OK)
        status = strata_reduce_check(queue->device, desc->op, desc->type);
    if (status == STRATA_OK)
        status = check_piece(queue->device, desc->type, desc->input);
    return status;
}

/* Puts the whole reduction into the queue. Between enter and leave. */
static enum strata_status put(strata_queue *queue, const struct strata_reduce_desc *desc, strata_slice result) {
    size_t bytes = strata_type_size(desc->type);
    struct strata_reduction reduction = {.op = desc->op,
                                         .type = desc->type,
                                         .plan = strata_reduce_plan_make(desc->input.bytes / bytes, bytes),
                                         .result = result};
    return strata_reduce_put(queue, &reduction, desc->input);
}

/* Reads a result that the commands so far leave in the queue's own place; the event is behind the read. */
static enum strata_status read_result(strata_queue *queue, strata_buffer *place, size_t bytes, void *result,
                                      strata_event **event) {
    return strata_read_async(queue, strata_sub(strata_all(place), 0, bytes), result, event);
}

static enum strata_status wait_for(enum strata_status status, strata_event *event) {
    if (status == STRATA_OK)
        status = strata_event_wait(event);
    strata_event_destroy(&event);
    return status;
}

enum strata_status strata_reduce(strata_queue *queue, const struct strata_reduce_desc *given, void *result) {
    STRATA_REFUSE_IN_CHILD();
    struct strata_reduce_desc desc;
    enum strata_status status = read_desc(queue, given, &desc);
    if (status == STRATA_OK && !result)
        status = strata_fail(STRATA_INVALID_ARGUMENT, "strata_reduce needs a place for the result.");
    if (status != STRATA_OK)
        return status;
    if (desc.input.bytes == 0)
        return strata_reduce_of_nothing(desc.op, desc.type, result);
    strata_buffer *place = NULL;
    strata_event *event = NULL;
    size_t bytes = strata_reduce_result_bytes(desc.op, desc.type);
    status = strata_primitives_enter(queue->device);
    if (status != STRATA_OK)
        return status;
    void *landing = strata_primitives_landing(queue->device);
    status = strata_primitives_result(queue, &place);
    if (status == STRATA_OK)
        status = put(queue, &desc, strata_sub(strata_all(place), 0, bytes));
    if (status == STRATA_OK)
        status = read_result(queue, place, bytes, landing ? landing : result, &event);
    strata_primitives_leave(queue->device);
    status = wait_for(status, event);
    if (landing && status == STRATA_OK)
        memcpy(result, landing, bytes);
    if (landing)
        strata_primitives_landed(queue->device, landing);
    return status;
}

static enum strata_status put_nothing(strata_queue *queue, const struct strata_reduce_desc *desc, strata_slice result,
                                      strata_event **event) {
    uint64_t value = 0;
    enum strata_status status = strata_reduce_of_nothing(desc->op, desc->type, &value);
    if (status != STRATA_OK)
        return status;
    return strata_fill_async(queue, result, &value, (size_t)result.bytes, event);
}

enum strata_status strata_reduce_async(strata_queue *queue, const struct strata_reduce_desc *given, strata_slice result,
                                       strata_event **event) {
    STRATA_REFUSE_IN_CHILD();
    if (event)
        *event = NULL;
    struct strata_reduce_desc desc;
    enum strata_status status = read_desc(queue, given, &desc);
    if (status == STRATA_OK)
        status = strata_slice_check(queue->device, result, "result");
    if (status != STRATA_OK)
        return status;
    size_t bytes = strata_reduce_result_bytes(desc.op, desc.type);
    if (result.bytes < bytes)
        return strata_fail(STRATA_INVALID_ARGUMENT, "The result needs %zu bytes, but its slice has %llu.", bytes,
                           (unsigned long long)result.bytes);
    result.bytes = bytes;
    if (strata_slices_overlap(result, desc.input))
        return strata_fail(STRATA_INVALID_ARGUMENT, "The result's slice overlaps the input.");
    if (desc.input.bytes == 0)
        return put_nothing(queue, &desc, result, event);
    status = strata_primitives_enter(queue->device);
    if (status != STRATA_OK)
        return status;
    status = put(queue, &desc, result);
    if (status == STRATA_OK && event)
        status = strata_queue_mark(queue, event);
    strata_primitives_leave(queue->device);
    return status;
}

struct strata_reducer {
    strata_device *device;
    struct strata_reduction reduction;
    strata_buffer *result;
    uint64_t fed; /* elements */
};

enum strata_status strata_reducer_create(strata_device *device, enum strata_reduce_op op, enum strata_type type,
                                         uint64_t count, strata_reducer **place) {
    STRATA_REFUSE_IN_CHILD();
    if (!place)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_reducer_create needs a place for the reducer.");
    *place = NULL;
    enum strata_status status = strata_device_check(device);
    if (status == STRATA_OK)
        status = strata_reduce_check(device, op, type);
    if (status != STRATA_OK)
        return status;
    strata_reducer *reducer = strata_host_allocate(&device->hooks, sizeof *reducer);
    if (!reducer)
        return strata_fail_host_memory(sizeof *reducer, "a reducer");
    reducer->device = device;
    reducer->reduction.op = op;
    reducer->reduction.type = type;
    strata_device_retain(device);
    if (count)
        reducer->reduction.plan = strata_reduce_plan_make(count, strata_type_size(type));
    uint64_t scratch = reducer->reduction.plan.scratch_bytes;
    status = strata_buffer_create(device, STRATA_BUFFER(.bytes = STRATA_REDUCE_RECORD_BYTES, .name = "strata: result"),
                                  &reducer->result);
    if (status == STRATA_OK && scratch)
        status = strata_buffer_create(device, STRATA_BUFFER(.bytes = scratch, .name = "strata: records"),
                                      &reducer->reduction.scratch);
    if (status != STRATA_OK) {
        strata_reducer_destroy(&reducer);
        return status;
    }
    reducer->reduction.result = strata_sub(strata_all(reducer->result), 0, strata_reduce_result_bytes(op, type));
    *place = reducer;
    return STRATA_OK;
}

static enum strata_status check_feed(strata_reducer *reducer, strata_queue *queue, strata_slice piece) {
    enum strata_status status = strata_queue_check(queue);
    if (status == STRATA_OK && !reducer)
        status = strata_fail(STRATA_INVALID_ARGUMENT, "The reducer is NULL.");
    if (status == STRATA_OK)
        status = check_piece(queue->device, reducer->reduction.type, piece);
    if (status == STRATA_OK && queue->device != reducer->device)
        status = strata_fail(STRATA_INVALID_ARGUMENT, "The queue is of another device than the reducer.");
    if (status != STRATA_OK)
        return status;
    uint64_t count = piece.bytes / strata_type_size(reducer->reduction.type);
    uint64_t left = reducer->reduction.plan.count - reducer->fed;
    if (count > left)
        return strata_fail(STRATA_INVALID_ARGUMENT, "A piece of %llu elements came, but only %llu were still to come.",
                           (unsigned long long)count, (unsigned long long)left);
    if (count < left && piece.bytes % STRATA_REDUCER_TILE_BYTES != 0)
        return strata_fail(STRATA_INVALID_ARGUMENT,
                           "A piece of %llu bytes is not whole tiles of %d bytes, which all but the last must be.",
                           (unsigned long long)piece.bytes, STRATA_REDUCER_TILE_BYTES);
    return STRATA_OK;
}

enum strata_status strata_reducer_feed(strata_reducer *reducer, strata_queue *queue, strata_slice piece) {
    STRATA_REFUSE_IN_CHILD();
    enum strata_status status = check_feed(reducer, queue, piece);
    if (status != STRATA_OK || piece.bytes == 0)
        return status;
    status = strata_primitives_enter(queue->device);
    if (status != STRATA_OK)
        return status;
    uint64_t base = reducer->fed / reducer->reduction.plan.elements_per_tile;
    status = strata_reduce_put_tiles(queue, &reducer->reduction, piece, base);
    strata_primitives_leave(queue->device);
    if (status == STRATA_OK)
        reducer->fed += piece.bytes / strata_type_size(reducer->reduction.type);
    return status;
}

enum strata_status strata_reducer_finish(strata_reducer *reducer, strata_queue *queue, void *result) {
    STRATA_REFUSE_IN_CHILD();
    enum strata_status status = check_feed(reducer, queue, strata_all(NULL));
    if (status != STRATA_OK)
        return status;
    struct strata_reduction *reduction = &reducer->reduction;
    if (!result)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_reducer_finish needs a place for the result.");
    if (reducer->fed < reduction->plan.count)
        return strata_fail(STRATA_INVALID_ARGUMENT, "Only %llu of %llu elements have come.",
                           (unsigned long long)reducer->fed, (unsigned long long)reduction->plan.count);
    if (reduction->plan.count == 0)
        return strata_reduce_of_nothing(reduction->op, reduction->type, result);
    strata_event *event = NULL;
    status = strata_primitives_enter(queue->device);
    if (status != STRATA_OK)
        return status;
    status = strata_reduce_put_levels(queue, reduction);
    if (status == STRATA_OK)
        status = read_result(queue, reducer->result, (size_t)reduction->result.bytes, result, &event);
    strata_primitives_leave(queue->device);
    status = wait_for(status, event);
    if (status == STRATA_OK)
        reducer->fed = 0;
    return status;
}

void strata_reducer_destroy(strata_reducer **place) {
    if (!place || !*place)
        return;
    strata_reducer *reducer = *place;
    strata_device *device = reducer->device;
    *place = NULL;
    strata_buffer_destroy(&reducer->result);
    strata_buffer_destroy(&reducer->reduction.scratch);
    strata_host_release(&device->hooks, reducer);
    if (!strata_fork_happened())
        strata_device_release(device);
}
