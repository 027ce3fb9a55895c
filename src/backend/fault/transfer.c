/* Transfers, fills, boxes and maps that count, place memory at its first use, and may be kept for later. */
#include "backend/fault/native.h"

#include <string.h>

static struct strata_fault_queue *queue_of(struct strata_native_queue *queue) {
    return (struct strata_fault_queue *)queue;
}

static struct strata_fault_buffer *buffer_of(struct strata_native_buffer *buffer) {
    return (struct strata_fault_buffer *)buffer;
}

static const struct strata_backend_buffer *table_of(const struct strata_fault_queue *queue) {
    return queue->fault->inner->buffer;
}

/* Counts a command over one or two buffers, of which `b` may be NULL, and sees to their memory. */
static enum strata_status begin(struct strata_native_queue *queue, enum strata_fault_kind kind, uint64_t bytes,
                                struct strata_native_buffer *a, struct strata_native_buffer *b) {
    enum strata_status status = strata_fault_count(queue_of(queue)->fault, kind, bytes);
    if (status == STRATA_OK)
        status = strata_fault_place(buffer_of(a), kind);
    if (status == STRATA_OK && b)
        status = strata_fault_place(buffer_of(b), kind);
    return status;
}

static enum strata_status run_write(const struct strata_fault_queue *queue, const struct strata_fault_command *command,
                                    struct strata_native_event **done) {
    return table_of(queue)->write(queue->inner, command->to, command->to_offset, command->bytes, command->source, done);
}

enum strata_status strata_fault_write(struct strata_native_queue *queue, struct strata_native_buffer *buffer,
                                      uint64_t offset, uint64_t bytes, const void *source,
                                      struct strata_native_event **done) {
    struct strata_fault_command command = {
        .run = run_write, .to = buffer_of(buffer)->inner, .to_offset = offset, .bytes = bytes, .source = source};
    enum strata_status status = begin(queue, STRATA_FAULT_WRITE, bytes, buffer, NULL);
    return status == STRATA_OK ? strata_fault_put(queue_of(queue), &command, done) : status;
}

static enum strata_status run_read(const struct strata_fault_queue *queue, const struct strata_fault_command *command,
                                   struct strata_native_event **done) {
    return table_of(queue)->read(queue->inner, command->from, command->from_offset, command->bytes,
                                 command->destination, done);
}

enum strata_status strata_fault_read(struct strata_native_queue *queue, struct strata_native_buffer *buffer,
                                     uint64_t offset, uint64_t bytes, void *destination,
                                     struct strata_native_event **done) {
    struct strata_fault_command command = {.run = run_read,
                                           .from = buffer_of(buffer)->inner,
                                           .from_offset = offset,
                                           .bytes = bytes,
                                           .destination = destination};
    enum strata_status status = begin(queue, STRATA_FAULT_READ, bytes, buffer, NULL);
    return status == STRATA_OK ? strata_fault_put(queue_of(queue), &command, done) : status;
}

static enum strata_status run_copy(const struct strata_fault_queue *queue, const struct strata_fault_command *command,
                                   struct strata_native_event **done) {
    return table_of(queue)->copy(queue->inner, command->to, command->to_offset, command->from, command->from_offset,
                                 command->bytes, done);
}

enum strata_status strata_fault_copy(struct strata_native_queue *queue, struct strata_native_buffer *destination,
                                     uint64_t destination_offset, struct strata_native_buffer *source,
                                     uint64_t source_offset, uint64_t bytes, struct strata_native_event **done) {
    struct strata_fault_command command = {.run = run_copy,
                                           .to = buffer_of(destination)->inner,
                                           .from = buffer_of(source)->inner,
                                           .to_offset = destination_offset,
                                           .from_offset = source_offset,
                                           .bytes = bytes};
    enum strata_status status = begin(queue, STRATA_FAULT_COPY, bytes, destination, source);
    return status == STRATA_OK ? strata_fault_put(queue_of(queue), &command, done) : status;
}

static enum strata_status run_fill(const struct strata_fault_queue *queue, const struct strata_fault_command *command,
                                   struct strata_native_event **done) {
    return table_of(queue)->fill(queue->inner, command->to, command->to_offset, command->bytes, command->pattern,
                                 command->pattern_bytes, done);
}

enum strata_status strata_fault_fill(struct strata_native_queue *queue, struct strata_native_buffer *buffer,
                                     uint64_t offset, uint64_t bytes, const void *pattern, size_t pattern_bytes,
                                     struct strata_native_event **done) {
    struct strata_fault_command command = {.run = run_fill,
                                           .to = buffer_of(buffer)->inner,
                                           .to_offset = offset,
                                           .bytes = bytes,
                                           .pattern_bytes = pattern_bytes};
    memcpy(command.pattern, pattern, pattern_bytes);
    enum strata_status status = begin(queue, STRATA_FAULT_FILL, bytes, buffer, NULL);
    return status == STRATA_OK ? strata_fault_put(queue_of(queue), &command, done) : status;
}

static uint64_t bytes_of(const uint64_t region[3]) {
    return region[0] * region[1] * region[2];
}

static void set_boxes(struct strata_fault_command *command, const struct strata_native_box *to,
                      const struct strata_native_box *from, const uint64_t region[3]) {
    command->to_box = *to;
    command->from_box = *from;
    memcpy(command->region, region, sizeof command->region);
}

static enum strata_status run_write_box(const struct strata_fault_queue *queue,
                                        const struct strata_fault_command *command, struct strata_native_event **done) {
    return table_of(queue)->write_box(queue->inner, command->to, &command->to_box, command->source, &command->from_box,
                                      command->region, done);
}

enum strata_status strata_fault_write_box(struct strata_native_queue *queue, struct strata_native_buffer *buffer,
                                          const struct strata_native_box *destination, const void *source,
                                          const struct strata_native_box *source_box, const uint64_t region[3],
                                          struct strata_native_event **done) {
    struct strata_fault_command command = {.run = run_write_box, .to = buffer_of(buffer)->inner, .source = source};
    set_boxes(&command, destination, source_box, region);
    enum strata_status status = begin(queue, STRATA_FAULT_BOX, bytes_of(region), buffer, NULL);
    return status == STRATA_OK ? strata_fault_put(queue_of(queue), &command, done) : status;
}

static enum strata_status run_read_box(const struct strata_fault_queue *queue,
                                       const struct strata_fault_command *command, struct strata_native_event **done) {
    return table_of(queue)->read_box(queue->inner, command->from, &command->from_box, command->destination,
                                     &command->to_box, command->region, done);
}

enum strata_status strata_fault_read_box(struct strata_native_queue *queue, struct strata_native_buffer *buffer,
                                         const struct strata_native_box *source, void *destination,
                                         const struct strata_native_box *destination_box, const uint64_t region[3],
                                         struct strata_native_event **done) {
    struct strata_fault_command command = {
        .run = run_read_box, .from = buffer_of(buffer)->inner, .destination = destination};
    set_boxes(&command, destination_box, source, region);
    enum strata_status status = begin(queue, STRATA_FAULT_BOX, bytes_of(region), buffer, NULL);
    return status == STRATA_OK ? strata_fault_put(queue_of(queue), &command, done) : status;
}

static enum strata_status run_copy_box(const struct strata_fault_queue *queue,
                                       const struct strata_fault_command *command, struct strata_native_event **done) {
    return table_of(queue)->copy_box(queue->inner, command->to, &command->to_box, command->from, &command->from_box,
                                     command->region, done);
}

enum strata_status strata_fault_copy_box(struct strata_native_queue *queue, struct strata_native_buffer *destination,
                                         const struct strata_native_box *destination_box,
                                         struct strata_native_buffer *source,
                                         const struct strata_native_box *source_box, const uint64_t region[3],
                                         struct strata_native_event **done) {
    struct strata_fault_command command = {
        .run = run_copy_box, .to = buffer_of(destination)->inner, .from = buffer_of(source)->inner};
    set_boxes(&command, destination_box, source_box, region);
    enum strata_status status = begin(queue, STRATA_FAULT_BOX, bytes_of(region), destination, source);
    return status == STRATA_OK ? strata_fault_put(queue_of(queue), &command, done) : status;
}

static enum strata_status run_map(const struct strata_fault_queue *queue, const struct strata_fault_command *command,
                                  struct strata_native_event **done) {
    return table_of(queue)->map(queue->inner, command->from, command->from_offset, command->bytes, command->access,
                                command->destination, done);
}

/* The pointer is wanted at once, so that nothing of the queue can be kept any longer. */
enum strata_status strata_fault_map(struct strata_native_queue *native, struct strata_native_buffer *buffer,
                                    uint64_t offset, uint64_t bytes, enum strata_map_access access, void **pointer,
                                    struct strata_native_event **done) {
    struct strata_fault_queue *queue = queue_of(native);
    struct strata_fault_command command = {.run = run_map,
                                           .from = buffer_of(buffer)->inner,
                                           .from_offset = offset,
                                           .bytes = bytes,
                                           .access = access,
                                           .destination = pointer};
    enum strata_status status = begin(native, STRATA_FAULT_MAP, bytes, buffer, NULL);
    if (status != STRATA_OK)
        return status;
    strata_fault_drain(queue);
    return strata_fault_run(queue, &command, done);
}

static enum strata_status run_unmap(const struct strata_fault_queue *queue, const struct strata_fault_command *command,
                                    struct strata_native_event **done) {
    return table_of(queue)->unmap(queue->inner, command->to, command->destination, done);
}

enum strata_status strata_fault_unmap(struct strata_native_queue *queue, struct strata_native_buffer *buffer,
                                      void *pointer, struct strata_native_event **done) {
    struct strata_fault_command command = {.run = run_unmap, .to = buffer_of(buffer)->inner, .destination = pointer};
    enum strata_status status = begin(queue, STRATA_FAULT_UNMAP, 0, buffer, NULL);
    return status == STRATA_OK ? strata_fault_put(queue_of(queue), &command, done) : status;
}
