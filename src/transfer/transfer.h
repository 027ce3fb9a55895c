/* What the files of this room share: where a slice lies, and commands over one or two slices. */
#ifndef STRATA_TRANSFER_TRANSFER_H
#define STRATA_TRANSFER_TRANSFER_H

#include "memory/buffer.h"
#include "strata/transfer.h"

/* Where one side of a copy lies: host memory (the caller's, or a PINNED buffer's), or a native buffer. */
struct strata_place {
    void *host;
    struct strata_native_buffer *native;
    uint64_t offset; /* in `native` */
};

static inline struct strata_place strata_place_of(strata_slice slice) {
    void *host = strata_slice_host(slice);
    if (host)
        return (struct strata_place){.host = host};
    return (struct strata_place){.native = slice.buffer->native, .offset = slice.offset};
}

/* The use that a command makes of a slice. */
static inline struct strata_command_use strata_use_of(strata_slice slice, bool write) {
    return (struct strata_command_use){slice.buffer, slice.offset, slice.bytes, write, false};
}

/* Puts the command into the queue; with `wait`, waits for it and gives no event. */
static inline enum strata_status strata_transfer_put(strata_queue *queue, const struct strata_command *command,
                                                     bool wait, strata_event **event) {
    return wait ? strata_queue_put_and_wait(queue, command) : strata_queue_put(queue, command, event);
}

/* A transfer of nothing: an event behind what is in the queue, if one is wanted. */
static inline enum strata_status strata_transfer_nothing(strata_queue *queue, strata_event **event) {
    return event ? strata_queue_mark(queue, event) : STRATA_OK;
}

#endif
