/* OpenCL copies of boxes: rectangles where a driver has them, rows where it has not. */
#include "backend/opencl/native.h"

#include <string.h>

static struct strata_cl_buffer *buffer_of(struct strata_native_buffer *buffer) {
    return (struct strata_cl_buffer *)buffer;
}

/* One side of a box copy: a buffer, or host memory. */
struct side {
    struct strata_cl_buffer *buffer;
    char *host;
    const struct strata_native_box *box;
};

static uint64_t row_start(const struct strata_native_box *box, uint64_t row, uint64_t layer) {
    return box->base + box->origin[0] + (box->origin[1] + row) * box->row_pitch +
           (box->origin[2] + layer) * box->layer_pitch;
}

static enum strata_status copy_range(struct strata_native_queue *queue, const struct side *to, uint64_t to_offset,
                                     const struct side *from, uint64_t from_offset, uint64_t bytes,
                                     struct strata_native_event **done) {
    struct strata_native_buffer *destination = (struct strata_native_buffer *)to->buffer;
    struct strata_native_buffer *source = (struct strata_native_buffer *)from->buffer;
    if (from->host)
        return strata_cl_write(queue, destination, to_offset, bytes, from->host + from_offset, done);
    if (to->host)
        return strata_cl_read(queue, source, from_offset, bytes, to->host + to_offset, done);
    return strata_cl_copy(queue, destination, to_offset, source, from_offset, bytes, done);
}

/* Row by row: for SVM and USM, which have no rectangles, and for rows too long for one rectangle. */
static enum strata_status copy_rows(struct strata_native_queue *queue, const struct side *to, const struct side *from,
                                    const uint64_t region[3], struct strata_native_event **done) {
    enum strata_status status = STRATA_OK;
    for (uint64_t layer = 0; layer < region[2]; layer++)
        for (uint64_t row = 0; row < region[1] && status == STRATA_OK; row++) {
            uint64_t to_start = row_start(to->box, row, layer), from_start = row_start(from->box, row, layer);
            for (uint64_t at = 0; at < region[0] && status == STRATA_OK; at += STRATA_CHUNK_BYTES) {
                uint64_t bytes = region[0] - at < STRATA_CHUNK_BYTES ? region[0] - at : STRATA_CHUNK_BYTES;
                bool last = layer + 1 == region[2] && row + 1 == region[1] && at + bytes == region[0];
                status = copy_range(queue, to, to_start + at, from, from_start + at, bytes, last ? done : NULL);
            }
        }
    return status;
}

/* A rectangle's arguments: `base` goes into the buffer's origin, or onto the host pointer. */
struct rectangle {
    size_t to[3], from[3], region[3];
};

static cl_int enqueue(struct strata_cl_queue *queue, const struct side *to, const struct side *from,
                      const struct rectangle *r, cl_event *event) {
    const struct strata_cl_calls *cl = queue->device->cl;
    size_t to_row = (size_t)to->box->row_pitch, to_layer = (size_t)to->box->layer_pitch;
    size_t from_row = (size_t)from->box->row_pitch, from_layer = (size_t)from->box->layer_pitch;
    if (from->host)
        return cl->EnqueueWriteBufferRect(queue->id, to->buffer->id, CL_FALSE, r->to, r->from, r->region, to_row,
                                          to_layer, from_row, from_layer, from->host + from->box->base, 0, NULL, event);
    if (to->host)
        return cl->EnqueueReadBufferRect(queue->id, from->buffer->id, CL_FALSE, r->from, r->to, r->region, from_row,
                                         from_layer, to_row, to_layer, to->host + to->box->base, 0, NULL, event);
    return cl->EnqueueCopyBufferRect(queue->id, from->buffer->id, to->buffer->id, r->from, r->to, r->region, from_row,
                                     from_layer, to_row, to_layer, 0, NULL, event);
}

/* The linear start of a box as an origin with rows and layers of 0: what any offset of a slice can be written as. */
static void set_origin(size_t origin[3], const struct side *side, uint64_t row, uint64_t layer) {
    uint64_t start = row_start(side->box, row, layer) - (side->host ? side->box->base : 0);
    origin[0] = (size_t)start;
    origin[1] = origin[2] = 0;
}

/* origin[0] + region[0] must not exceed the row pitch for some drivers, so the start is split into its parts again. */
static void split_origin(size_t origin[3], const struct side *side) {
    uint64_t start = origin[0], layer = start / side->box->layer_pitch, rest = start % side->box->layer_pitch;
    origin[2] = (size_t)layer;
    origin[1] = (size_t)(rest / side->box->row_pitch);
    origin[0] = (size_t)(rest % side->box->row_pitch);
}

/* Whether the rectangle starts so that its rows lie within the pitch, and its layers within theirs. */
static bool fits(const size_t origin[3], const struct side *side, const uint64_t region[3]) {
    return origin[0] + region[0] <= side->box->row_pitch &&
           (origin[1] + region[1]) * side->box->row_pitch <= side->box->layer_pitch;
}

static enum strata_status copy_box(struct strata_native_queue *native, const struct side *to, const struct side *from,
                                   const uint64_t region[3], struct strata_native_event **done) {
    struct strata_cl_queue *queue = (struct strata_cl_queue *)native;
    enum strata_status status = to->buffer ? strata_cl_ready(to->buffer) : STRATA_OK;
    if (status == STRATA_OK && from->buffer)
        status = strata_cl_ready(from->buffer);
    if (status != STRATA_OK)
        return status;
    bool plain =
        (to->host || to->buffer->storage == STRATA_CL_MEM) && (from->host || from->buffer->storage == STRATA_CL_MEM);
    struct rectangle r = {.region = {(size_t)region[0], (size_t)region[1], (size_t)region[2]}};
    set_origin(r.to, to, 0, 0);
    set_origin(r.from, from, 0, 0);
    split_origin(r.to, to);
    split_origin(r.from, from);
    /* Within one buffer the pitches must be equal (OpenCL 3.0, 5.2.2, clEnqueueCopyBufferRect). */
    if (to->buffer && from->buffer && to->buffer->id == from->buffer->id &&
        (to->box->row_pitch != from->box->row_pitch || to->box->layer_pitch != from->box->layer_pitch))
        plain = false;
    if (queue->device->quirks->box_copies_need_whole && to->buffer && from->buffer &&
        (to->buffer->parent || from->buffer->parent))
        plain = false;
    uint64_t total = region[0] * region[1] * region[2];
    if (!plain || total > STRATA_CHUNK_BYTES || !fits(r.to, to, region) || !fits(r.from, from, region))
        return copy_rows(native, to, from, region, done);
    cl_event event = NULL;
    cl_int code = enqueue(queue, to, from, &r, done ? &event : NULL);
    return strata_cl_enqueued(queue, code, "copy a box", event, done);
}

enum strata_status strata_cl_write_box(struct strata_native_queue *queue, struct strata_native_buffer *buffer,
                                       const struct strata_native_box *destination, const void *source,
                                       const struct strata_native_box *source_box, const uint64_t region[3],
                                       struct strata_native_event **done) {
    struct side to = {.buffer = buffer_of(buffer), .box = destination};
    struct side from = {.host = (char *)(uintptr_t)source, .box = source_box};
    return copy_box(queue, &to, &from, region, done);
}

enum strata_status strata_cl_read_box(struct strata_native_queue *queue, struct strata_native_buffer *buffer,
                                      const struct strata_native_box *source, void *destination,
                                      const struct strata_native_box *destination_box, const uint64_t region[3],
                                      struct strata_native_event **done) {
    struct side to = {.host = destination, .box = destination_box};
    struct side from = {.buffer = buffer_of(buffer), .box = source};
    return copy_box(queue, &to, &from, region, done);
}

enum strata_status strata_cl_copy_box(struct strata_native_queue *queue, struct strata_native_buffer *destination,
                                      const struct strata_native_box *destination_box,
                                      struct strata_native_buffer *source, const struct strata_native_box *source_box,
                                      const uint64_t region[3], struct strata_native_event **done) {
    struct side to = {.buffer = buffer_of(destination), .box = destination_box};
    struct side from = {.buffer = buffer_of(source), .box = source_box};
    return copy_box(queue, &to, &from, region, done);
}
