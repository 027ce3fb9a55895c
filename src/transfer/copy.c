/* Copies of contiguous memory: between host and device, within a device, and overlapping ones. */
#include "core/fork.h"
#include "transfer/transfer.h"

#include <string.h>

/* Overlapping copies go in pieces no longer than the distance of the two ranges, which then do not overlap; below this
 * the pieces would be too many, and the data goes through a buffer aside. */
#define LEAST_DIRECT_PIECE (UINT64_C(1) << 20)
#define ASIDE_BYTES (UINT64_C(16) << 20)

struct copy_payload {
    struct strata_place to, from;
    uint64_t bytes;
    uint64_t piece; /* no single native copy is longer */
    bool backward;  /* pieces from the end on */
};

static enum strata_status copy_piece(strata_queue *queue, const struct copy_payload *copy, uint64_t at, uint64_t bytes,
                                     struct strata_native_event **done) {
    const struct strata_backend_buffer *table = queue->device->backend->buffer;
    const struct strata_place *to = &copy->to, *from = &copy->from;
    if (from->host)
        return table->write(queue->native, to->native, to->offset + at, bytes, (const char *)from->host + at, done);
    if (to->host)
        return table->read(queue->native, from->native, from->offset + at, bytes, (char *)to->host + at, done);
    return table->copy(queue->native, to->native, to->offset + at, from->native, from->offset + at, bytes, done);
}

static enum strata_status run_copy(strata_queue *queue, void *payload, struct strata_native_event **done) {
    const struct copy_payload *copy = payload;
    if (copy->to.host && copy->from.host) {
        memmove(copy->to.host, copy->from.host, (size_t)copy->bytes);
        return STRATA_OK;
    }
    for (uint64_t finished = 0; finished < copy->bytes;) {
        uint64_t left = copy->bytes - finished, bytes = left < copy->piece ? left : copy->piece;
        uint64_t at = copy->backward ? left - bytes : finished;
        finished += bytes;
        enum strata_status status = copy_piece(queue, copy, at, bytes, finished == copy->bytes ? done : NULL);
        if (status != STRATA_OK)
            return status;
    }
    return STRATA_OK;
}

static enum strata_status put_copy(strata_queue *queue, struct copy_payload *copy,
                                   const struct strata_command_use *uses, size_t use_count, bool wait,
                                   strata_event **event) {
    if (copy->piece == 0 || copy->piece > STRATA_CHUNK_BYTES)
        copy->piece = STRATA_CHUNK_BYTES;
    struct strata_command command = {.run = run_copy,
                                     .payload = copy,
                                     .payload_bytes = sizeof *copy,
                                     .host = copy->to.host && copy->from.host,
                                     .uses = uses,
                                     .use_count = use_count};
    return strata_transfer_put(queue, &command, wait, event);
}

static enum strata_status host_copy(strata_queue *queue, strata_slice slice, void *host, bool to_device, bool wait,
                                    strata_event **event) {
    STRATA_REFUSE_IN_CHILD();
    if (event)
        *event = NULL;
    enum strata_status status = strata_queue_check(queue);
    if (status == STRATA_OK)
        status = strata_slice_check(queue->device, slice, to_device ? "destination" : "source");
    if (status != STRATA_OK)
        return status;
    if (slice.bytes == 0)
        return strata_transfer_nothing(queue, event);
    if (!host)
        return strata_fail(STRATA_INVALID_ARGUMENT, "The host memory to %s is NULL.",
                           to_device ? "read from" : "write to");
    struct strata_place memory = {.host = host}, place = strata_place_of(slice);
    struct copy_payload copy = {
        .to = to_device ? place : memory, .from = to_device ? memory : place, .bytes = slice.bytes};
    struct strata_command_use use = strata_use_of(slice, to_device);
    return put_copy(queue, &copy, &use, 1, wait, event);
}

enum strata_status strata_write(strata_queue *queue, strata_slice destination, const void *source) {
    return host_copy(queue, destination, (void *)(uintptr_t)source, true, true, NULL);
}

enum strata_status strata_write_async(strata_queue *queue, strata_slice destination, const void *source,
                                      strata_event **event) {
    return host_copy(queue, destination, (void *)(uintptr_t)source, true, false, event);
}

enum strata_status strata_read(strata_queue *queue, strata_slice source, void *destination) {
    return host_copy(queue, source, destination, false, true, NULL);
}

enum strata_status strata_read_async(strata_queue *queue, strata_slice source, void *destination,
                                     strata_event **event) {
    return host_copy(queue, source, destination, false, false, event);
}

static uint64_t start_of(strata_slice slice) {
    return slice.buffer->root_offset + slice.offset;
}

static enum strata_status put_between(strata_queue *queue, strata_slice destination, strata_slice source,
                                      uint64_t piece, bool wait, strata_event **event) {
    struct copy_payload copy = {.to = strata_place_of(destination),
                                .from = strata_place_of(source),
                                .bytes = source.bytes,
                                .piece = piece,
                                .backward = piece && start_of(destination) > start_of(source)};
    struct strata_command_use uses[] = {strata_use_of(destination, true), strata_use_of(source, false)};
    return put_copy(queue, &copy, uses, 2, wait, event);
}

/* Ranges that overlap and are close: piece by piece through a buffer aside, in the order that keeps what is to come. */
static enum strata_status copy_aside(strata_queue *queue, strata_slice destination, strata_slice source, bool wait,
                                     strata_event **event) {
    uint64_t total = source.bytes, size = total < ASIDE_BYTES ? total : ASIDE_BYTES;
    bool backward = start_of(destination) > start_of(source);
    strata_buffer *aside = NULL;
    enum strata_status status =
        strata_buffer_create(queue->device, STRATA_BUFFER(.bytes = size, .name = "strata: overlapping copy"), &aside);
    for (uint64_t finished = 0; finished < total && status == STRATA_OK;) {
        uint64_t left = total - finished, bytes = left < size ? left : size, at = backward ? left - bytes : finished;
        finished += bytes;
        strata_slice middle = strata_sub(strata_all(aside), 0, bytes);
        bool last = finished == total;
        status = put_between(queue, middle, strata_sub(source, at, bytes), 0, false, NULL);
        if (status == STRATA_OK)
            status =
                put_between(queue, strata_sub(destination, at, bytes), middle, 0, last && wait, last ? event : NULL);
    }
    strata_buffer_destroy(&aside);
    return status;
}

static enum strata_status device_copy(strata_queue *queue, strata_slice destination, strata_slice source, bool wait,
                                      strata_event **event) {
    STRATA_REFUSE_IN_CHILD();
    if (event)
        *event = NULL;
    enum strata_status status = strata_queue_check(queue);
    if (status == STRATA_OK)
        status = strata_slice_check(queue->device, destination, "destination");
    if (status == STRATA_OK)
        status = strata_slice_check(queue->device, source, "source");
    if (status != STRATA_OK)
        return status;
    if (destination.bytes != source.bytes)
        return strata_fail(STRATA_INVALID_ARGUMENT, "A copy needs slices of one length, not of %llu and %llu bytes.",
                           (unsigned long long)destination.bytes, (unsigned long long)source.bytes);
    bool overlap = strata_slices_overlap(destination, source);
    if (source.bytes == 0 || (overlap && start_of(destination) == start_of(source)))
        return strata_transfer_nothing(queue, event);
    if (!overlap || strata_slice_host(source))
        return put_between(queue, destination, source, 0, wait, event);
    uint64_t to = start_of(destination), from = start_of(source), distance = to > from ? to - from : from - to;
    if (distance >= LEAST_DIRECT_PIECE)
        return put_between(queue, destination, source, distance, wait, event);
    return copy_aside(queue, destination, source, wait, event);
}

enum strata_status strata_copy(strata_queue *queue, strata_slice destination, strata_slice source) {
    return device_copy(queue, destination, source, true, NULL);
}

enum strata_status strata_copy_async(strata_queue *queue, strata_slice destination, strata_slice source,
                                     strata_event **event) {
    return device_copy(queue, destination, source, false, event);
}
