/* Copies of 2-D and 3-D boxes with pitches. */
#include "core/fork.h"
#include "transfer/transfer.h"

#include <inttypes.h>
#include <string.h>

/* One side: its memory, the box in it with the pitches made explicit, and the byte span that the box covers. */
struct side {
    struct strata_place place;
    struct strata_native_box box;
    uint64_t first, end;
};

struct box_payload {
    struct side to, from;
    uint64_t region[3];
};

static enum strata_status too_far(const char *what) {
    return strata_fail(STRATA_INVALID_ARGUMENT, "The %s box reaches beyond 2^64 bytes.", what);
}

/* Makes pitches explicit and computes the span; checks pitches as OpenCL asks (3.0, 5.2.2). */
static enum strata_status measure(struct strata_box box, const uint64_t region[3], const char *what,
                                  struct side *side) {
    uint64_t width = region[0], rows = region[1], layers = region[2];
    uint64_t row_pitch = box.row_pitch ? box.row_pitch : width, packed_layer;
    if (row_pitch < width)
        return strata_fail(STRATA_INVALID_ARGUMENT,
                           "The %s row pitch of %" PRIu64 " bytes is less than the region's width of %" PRIu64 ".",
                           what, row_pitch, width);
    if (!strata_multiply(rows, row_pitch, &packed_layer))
        return too_far(what);
    uint64_t layer_pitch = box.layer_pitch ? box.layer_pitch : packed_layer;
    if (layer_pitch < packed_layer)
        return strata_fail(STRATA_INVALID_ARGUMENT,
                           "The %s layer pitch of %" PRIu64 " bytes is less than its %" PRIu64 " rows of %" PRIu64
                           " bytes.",
                           what, layer_pitch, rows, row_pitch);
    if (layer_pitch % row_pitch != 0)
        return strata_fail(STRATA_INVALID_ARGUMENT,
                           "The %s layer pitch of %" PRIu64 " bytes is not a multiple of its row pitch of %" PRIu64 ".",
                           what, layer_pitch, row_pitch);
    uint64_t row, layer, last_row, last_layer, first, end;
    if (!strata_multiply(box.origin[1], row_pitch, &row) || !strata_multiply(box.origin[2], layer_pitch, &layer) ||
        !strata_multiply(rows - 1, row_pitch, &last_row) || !strata_multiply(layers - 1, layer_pitch, &last_layer) ||
        !strata_add(row, layer, &first) || !strata_add(first, box.origin[0], &first) ||
        !strata_add(first, last_row, &end) || !strata_add(end, last_layer, &end) || !strata_add(end, width, &end))
        return too_far(what);
    side->box = (struct strata_native_box){
        .origin = {box.origin[0], box.origin[1], box.origin[2]}, .row_pitch = row_pitch, .layer_pitch = layer_pitch};
    side->first = first;
    side->end = end;
    return STRATA_OK;
}

static enum strata_status measure_slice(const strata_device *device, strata_slice slice, struct strata_box box,
                                        const uint64_t region[3], const char *what, struct side *side) {
    enum strata_status status = strata_slice_check(device, slice, what);
    if (status == STRATA_OK)
        status = measure(box, region, what, side);
    if (status != STRATA_OK)
        return status;
    if (side->end > slice.bytes)
        return strata_fail(STRATA_INVALID_ARGUMENT,
                           "The %s box ends at byte %" PRIu64 ", beyond its slice of %" PRIu64 " bytes.", what,
                           side->end, slice.bytes);
    side->place = strata_place_of(slice);
    side->box.base = side->place.offset;
    return STRATA_OK;
}

static uint64_t row_start(const struct side *side, uint64_t row, uint64_t layer) {
    return side->box.origin[0] + (side->box.origin[1] + row) * side->box.row_pitch +
           (side->box.origin[2] + layer) * side->box.layer_pitch;
}

/* Both sides in host memory. The order of rows keeps overlapping boxes of one pitch right; others are copied aside. */
static void copy_on_host(const struct box_payload *payload) {
    char *to = payload->to.place.host;
    const char *from = payload->from.place.host;
    uint64_t rows = payload->region[1], total = rows * payload->region[2];
    bool backward = to + payload->to.first > from + payload->from.first;
    for (uint64_t i = 0; i < total; i++) {
        uint64_t index = backward ? total - 1 - i : i;
        uint64_t row = index % rows, layer = index / rows;
        memmove(to + row_start(&payload->to, row, layer), from + row_start(&payload->from, row, layer),
                (size_t)payload->region[0]);
    }
}

static enum strata_status run_box(strata_queue *queue, void *argument, struct strata_native_event **done) {
    const struct box_payload *payload = argument;
    const struct strata_backend_buffer *table = queue->device->backend->buffer;
    const struct side *to = &payload->to, *from = &payload->from;
    if (to->place.host && from->place.host) {
        copy_on_host(payload);
        return STRATA_OK;
    }
    if (from->place.host)
        return table->write_box(queue->native, to->place.native, &to->box, from->place.host, &from->box,
                                payload->region, done);
    if (to->place.host)
        return table->read_box(queue->native, from->place.native, &from->box, to->place.host, &to->box, payload->region,
                               done);
    return table->copy_box(queue->native, to->place.native, &to->box, from->place.native, &from->box, payload->region,
                           done);
}

/* The part of a slice that a box spans. */
static struct strata_command_use use_of_span(strata_slice slice, const struct side *side, bool write) {
    struct strata_command_use use = strata_use_of(slice, write);
    use.offset += side->first;
    use.bytes = side->end - side->first;
    return use;
}

static enum strata_status put_box(strata_queue *queue, struct box_payload *payload,
                                  const struct strata_command_use *uses, size_t use_count, bool wait,
                                  strata_event **event) {
    struct strata_command command = {.run = run_box,
                                     .payload = payload,
                                     .payload_bytes = sizeof *payload,
                                     .host = payload->to.place.host && payload->from.place.host,
                                     .uses = uses,
                                     .use_count = use_count};
    return strata_transfer_put(queue, &command, wait, event);
}

static bool is_empty(struct strata_region region) {
    return region.width == 0 || region.rows == 0 || region.layers == 0;
}

static enum strata_status host_box(strata_queue *queue, strata_slice slice, struct strata_box slice_box, void *host,
                                   struct strata_box host_box, struct strata_region region, bool to_device, bool wait,
                                   strata_event **event) {
    STRATA_REFUSE_IN_CHILD();
    if (event)
        *event = NULL;
    enum strata_status status = strata_queue_check(queue);
    if (status != STRATA_OK)
        return status;
    if (is_empty(region))
        return strata_transfer_nothing(queue, event);
    if (!host)
        return strata_fail(STRATA_INVALID_ARGUMENT, "The host memory of the box is NULL.");
    struct box_payload payload = {.region = {region.width, region.rows, region.layers}};
    struct side *device_side = to_device ? &payload.to : &payload.from;
    struct side *host_side = to_device ? &payload.from : &payload.to;
    status = measure_slice(queue->device, slice, slice_box, payload.region, to_device ? "destination" : "source",
                           device_side);
    if (status == STRATA_OK)
        status = measure(host_box, payload.region, "host", host_side);
    if (status != STRATA_OK)
        return status;
    host_side->place.host = host;
    struct strata_command_use use = use_of_span(slice, device_side, to_device);
    return put_box(queue, &payload, &use, 1, wait, event);
}

enum strata_status strata_write_box(strata_queue *queue, strata_slice destination, struct strata_box destination_box,
                                    const void *source, struct strata_box source_box, struct strata_region region) {
    return host_box(queue, destination, destination_box, (void *)(uintptr_t)source, source_box, region, true, true,
                    NULL);
}

enum strata_status strata_write_box_async(strata_queue *queue, strata_slice destination,
                                          struct strata_box destination_box, const void *source,
                                          struct strata_box source_box, struct strata_region region,
                                          strata_event **event) {
    return host_box(queue, destination, destination_box, (void *)(uintptr_t)source, source_box, region, true, false,
                    event);
}

enum strata_status strata_read_box(strata_queue *queue, strata_slice source, struct strata_box source_box,
                                   void *destination, struct strata_box destination_box, struct strata_region region) {
    return host_box(queue, source, source_box, destination, destination_box, region, false, true, NULL);
}

enum strata_status strata_read_box_async(strata_queue *queue, strata_slice source, struct strata_box source_box,
                                         void *destination, struct strata_box destination_box,
                                         struct strata_region region, strata_event **event) {
    return host_box(queue, source, source_box, destination, destination_box, region, false, false, event);
}

static enum strata_status put_between(strata_queue *queue, strata_slice destination, struct strata_box destination_box,
                                      strata_slice source, struct strata_box source_box, struct strata_region region,
                                      bool wait, strata_event **event);

/* Boxes that overlap: through a packed buffer aside, which their pitches, equal or not, cannot disturb. */
static enum strata_status copy_aside(strata_queue *queue, strata_slice destination, struct strata_box destination_box,
                                     strata_slice source, struct strata_box source_box, struct strata_region region,
                                     bool wait, strata_event **event) {
    strata_buffer *aside = NULL;
    struct strata_box packed = {.row_pitch = 0};
    uint64_t bytes = region.width * region.rows * region.layers; /* no more than the slice, which was checked */
    enum strata_status status =
        strata_buffer_create(queue->device, STRATA_BUFFER(.bytes = bytes, .name = "strata: overlapping boxes"), &aside);
    if (status == STRATA_OK)
        status = put_between(queue, strata_all(aside), packed, source, source_box, region, false, NULL);
    if (status == STRATA_OK)
        status = put_between(queue, destination, destination_box, strata_all(aside), packed, region, wait, event);
    strata_buffer_destroy(&aside);
    return status;
}

static enum strata_status put_between(strata_queue *queue, strata_slice destination, struct strata_box destination_box,
                                      strata_slice source, struct strata_box source_box, struct strata_region region,
                                      bool wait, strata_event **event) {
    struct box_payload payload = {.region = {region.width, region.rows, region.layers}};
    enum strata_status status =
        measure_slice(queue->device, destination, destination_box, payload.region, "destination", &payload.to);
    if (status == STRATA_OK)
        status = measure_slice(queue->device, source, source_box, payload.region, "source", &payload.from);
    if (status != STRATA_OK)
        return status;
    strata_slice to = strata_sub(destination, payload.to.first, payload.to.end - payload.to.first);
    strata_slice from = strata_sub(source, payload.from.first, payload.from.end - payload.from.first);
    if (strata_slices_overlap(to, from))
        return copy_aside(queue, destination, destination_box, source, source_box, region, wait, event);
    struct strata_command_use uses[] = {use_of_span(destination, &payload.to, true),
                                        use_of_span(source, &payload.from, false)};
    return put_box(queue, &payload, uses, 2, wait, event);
}

static enum strata_status device_box(strata_queue *queue, strata_slice destination, struct strata_box destination_box,
                                     strata_slice source, struct strata_box source_box, struct strata_region region,
                                     bool wait, strata_event **event) {
    STRATA_REFUSE_IN_CHILD();
    if (event)
        *event = NULL;
    enum strata_status status = strata_queue_check(queue);
    if (status != STRATA_OK)
        return status;
    if (is_empty(region))
        return strata_transfer_nothing(queue, event);
    return put_between(queue, destination, destination_box, source, source_box, region, wait, event);
}

enum strata_status strata_copy_box(strata_queue *queue, strata_slice destination, struct strata_box destination_box,
                                   strata_slice source, struct strata_box source_box, struct strata_region region) {
    return device_box(queue, destination, destination_box, source, source_box, region, true, NULL);
}

enum strata_status strata_copy_box_async(strata_queue *queue, strata_slice destination,
                                         struct strata_box destination_box, strata_slice source,
                                         struct strata_box source_box, struct strata_region region,
                                         strata_event **event) {
    return device_box(queue, destination, destination_box, source, source_box, region, false, event);
}
