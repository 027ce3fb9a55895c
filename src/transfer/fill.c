/* Fills with any pattern of 1 to 128 bytes at any offset and length, out of what OpenCL's own fill can do: patterns of
 * a power of two, at offsets and lengths that the pattern divides. */
#include "core/fork.h"
#include "transfer/transfer.h"

#include <string.h>

#define MOST_PATTERN_BYTES 128

/* Runtimes write one pattern per work-item or step, so that narrow ones are slow. */
#define WIDE_BYTES 16

struct fill_payload {
    struct strata_place to;
    uint64_t bytes;
    size_t period;
    unsigned char pattern[MOST_PATTERN_BYTES];
};

static bool is_power_of_two(size_t value) {
    return (value & (value - 1)) == 0;
}

/* The shortest period of the pattern that divides its length: all-equal bytes become one byte, and fit any offset. */
static size_t shortest_period(const unsigned char *pattern, size_t bytes) {
    for (size_t period = 1; period < bytes; period++)
        if (bytes % period == 0 && memcmp(pattern, pattern + period, bytes - period) == 0)
            return period;
    return bytes;
}

/* Fills bytes [begin, end) of the destination with what the repeated pattern has there, byte by byte: at most a
 * pattern's length. */
static enum strata_status fill_bytes(strata_queue *queue, const struct fill_payload *fill, uint64_t begin,
                                     uint64_t end) {
    enum strata_status status = STRATA_OK;
    for (uint64_t at = begin; at < end && status == STRATA_OK; at++)
        status = queue->device->backend->buffer->fill(queue->native, fill->to.native, fill->to.offset + at, 1,
                                                      &fill->pattern[at % fill->period], 1, NULL);
    return status;
}

/* Whole patterns from an offset that the pattern divides. */
static enum strata_status fill_patterns(strata_queue *queue, const struct fill_payload *fill, uint64_t begin,
                                        uint64_t end, const unsigned char *pattern, size_t pattern_bytes) {
    enum strata_status status = STRATA_OK;
    for (uint64_t at = begin; at < end && status == STRATA_OK; at += STRATA_CHUNK_BYTES) {
        uint64_t bytes = end - at < STRATA_CHUNK_BYTES ? end - at : STRATA_CHUNK_BYTES;
        status = queue->device->backend->buffer->fill(queue->native, fill->to.native, fill->to.offset + at, bytes,
                                                      pattern, pattern_bytes, NULL);
    }
    return status;
}

/* A power of two: loose bytes up to the first aligned place, the pattern turned to fit there and as wide as suits the
 * runtime's fill, what is left of that width, and loose bytes at the end. */
static enum strata_status fill_aligned(strata_queue *queue, const struct fill_payload *fill) {
    uint64_t period = fill->period, head = (period - fill->to.offset % period) % period;
    if (head > fill->bytes)
        head = fill->bytes;
    uint64_t whole = head + (fill->bytes - head) / period * period;
    uint64_t wide = period < WIDE_BYTES && (fill->to.offset + head) % WIDE_BYTES == 0 ? WIDE_BYTES : period;
    uint64_t middle = head + (whole - head) / wide * wide;
    unsigned char turned[MOST_PATTERN_BYTES];
    for (uint64_t i = 0; i < wide; i++)
        turned[i] = fill->pattern[(head + i) % period];
    enum strata_status status = fill_bytes(queue, fill, 0, head);
    if (status == STRATA_OK)
        status = fill_patterns(queue, fill, head, middle, turned, (size_t)wide);
    if (status == STRATA_OK)
        status = fill_patterns(queue, fill, middle, whole, turned, (size_t)period);
    if (status == STRATA_OK)
        status = fill_bytes(queue, fill, whole, fill->bytes);
    return status;
}

/* Any other length: the pattern once, then copies of what is there behind it, each as long as all before. */
static enum strata_status fill_doubling(strata_queue *queue, const struct fill_payload *fill) {
    uint64_t filled = fill->period < fill->bytes ? fill->period : fill->bytes;
    enum strata_status status = fill_bytes(queue, fill, 0, filled);
    while (filled < fill->bytes && status == STRATA_OK) {
        uint64_t bytes = fill->bytes - filled < filled ? fill->bytes - filled : filled;
        if (bytes > STRATA_CHUNK_BYTES)
            bytes = STRATA_CHUNK_BYTES / fill->period * fill->period;
        status = queue->device->backend->buffer->copy(queue->native, fill->to.native, fill->to.offset + filled,
                                                      fill->to.native, fill->to.offset, bytes, NULL);
        filled += bytes;
    }
    return status;
}

static enum strata_status run_fill(strata_queue *queue, void *payload, struct strata_native_event **done) {
    const struct fill_payload *fill = payload;
    (void)done; /* the queue marks the end of the several native commands */
    if (fill->to.host) {
        unsigned char *memory = fill->to.host;
        for (uint64_t at = 0; at < fill->bytes; at += fill->period)
            memcpy(memory + at, fill->pattern,
                   (size_t)(fill->bytes - at < fill->period ? fill->bytes - at : fill->period));
        return STRATA_OK;
    }
    return is_power_of_two(fill->period) ? fill_aligned(queue, fill) : fill_doubling(queue, fill);
}

static enum strata_status fill(strata_queue *queue, strata_slice destination, const void *pattern, size_t pattern_bytes,
                               bool wait, strata_event **event) {
    STRATA_REFUSE_IN_CHILD();
    if (event)
        *event = NULL;
    enum strata_status status = strata_queue_check(queue);
    if (status == STRATA_OK)
        status = strata_slice_check(queue->device, destination, "destination");
    if (status != STRATA_OK)
        return status;
    if (!pattern || pattern_bytes == 0 || pattern_bytes > MOST_PATTERN_BYTES)
        return strata_fail(STRATA_INVALID_ARGUMENT, "A fill needs a pattern of 1 to %d bytes, not of %zu.",
                           MOST_PATTERN_BYTES, pattern ? pattern_bytes : 0);
    if (destination.bytes == 0)
        return strata_transfer_nothing(queue, event);
    struct fill_payload payload = {.to = strata_place_of(destination), .bytes = destination.bytes};
    memcpy(payload.pattern, pattern, pattern_bytes);
    payload.period = shortest_period(payload.pattern, pattern_bytes);
    struct strata_command_use use = strata_use_of(destination, true);
    struct strata_command command = {.run = run_fill,
                                     .payload = &payload,
                                     .payload_bytes = sizeof payload,
                                     .host = payload.to.host != NULL,
                                     .uses = &use,
                                     .use_count = 1};
    return strata_transfer_put(queue, &command, wait, event);
}

enum strata_status strata_fill(strata_queue *queue, strata_slice destination, const void *pattern,
                               size_t pattern_bytes) {
    return fill(queue, destination, pattern, pattern_bytes, true, NULL);
}

enum strata_status strata_fill_async(strata_queue *queue, strata_slice destination, const void *pattern,
                                     size_t pattern_bytes, strata_event **event) {
    return fill(queue, destination, pattern, pattern_bytes, false, event);
}
