/* Arenas: scratch memory that is taken by advancing a mark.
 *
 * Places are counted from the arena's beginning on for ever, and lie in the buffer modulo its size. Between `tail` and
 * `begin` is what work of earlier frames may still use, between `begin` and `head` is this frame. The host must not
 * write to the former before that work is done; commands of the same queue come behind it anyway, so an arena of DEVICE
 * memory begins each frame at the start of the buffer. */
#include "core/fork.h"
#include "memory/buffer.h"
#include "strata/pool.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Frames whose work may be unfinished; one more waits for the oldest. */
#define FRAMES 16

struct frame {
    uint64_t end;
    strata_event *done;
};

struct strata_arena {
    strata_queue *queue;
    strata_buffer *buffer;
    uint64_t bytes, alignment;
    uint64_t tail, begin, head, peak;
    struct frame frames[FRAMES]; /* the oldest first */
    unsigned count;
};

void strata_arena_desc_init(struct strata_arena_desc *desc) {
    *desc = (struct strata_arena_desc){.size = sizeof *desc};
}

enum strata_status strata_arena_create(strata_queue *queue, const struct strata_arena_desc *given,
                                       strata_arena **result) {
    STRATA_REFUSE_IN_CHILD();
    if (!result)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_arena_create needs a place for the arena.");
    *result = NULL;
    struct strata_arena_desc desc = {.size = sizeof desc};
    enum strata_status status = strata_queue_check(queue);
    if (status == STRATA_OK)
        status = strata_desc_read(given, &desc, sizeof desc, "strata_arena_desc");
    if (status == STRATA_OK && desc.kind != STRATA_DEVICE && desc.kind != STRATA_PINNED)
        status = strata_fail(STRATA_INVALID_ARGUMENT, "An arena is of DEVICE or of PINNED memory.");
    if (status == STRATA_OK && desc.bytes == 0)
        status = strata_fail(STRATA_INVALID_ARGUMENT, "An arena of 0 bytes is of no use.");
    if (status != STRATA_OK)
        return status;
    const struct strata_allocator *hooks = &queue->device->hooks;
    strata_arena *arena = strata_host_allocate(hooks, sizeof *arena);
    if (!arena)
        return strata_fail_host_memory(sizeof *arena, "an arena");
    status = strata_buffer_create(
        queue->device,
        STRATA_BUFFER(.bytes = desc.bytes, .kind = desc.kind, .name = desc.name ? desc.name : "arena", .queue = queue),
        &arena->buffer);
    if (status != STRATA_OK) {
        strata_host_release(hooks, arena);
        return status;
    }
    arena->bytes = desc.bytes;
    arena->alignment = queue->device->info.base_alignment;
    arena->queue = queue;
    strata_queue_retain(queue);
    *result = arena;
    return STRATA_OK;
}

/* Forgets the oldest frame, when its work is done or need not be waited for. */
static enum strata_status drop_frame(strata_arena *arena, bool wait) {
    struct frame oldest = arena->frames[0];
    enum strata_status status = wait && oldest.done ? strata_event_wait(oldest.done) : STRATA_OK;
    strata_event_destroy(&oldest.done);
    arena->tail = oldest.end;
    memmove(&arena->frames[0], &arena->frames[1], sizeof arena->frames[0] * --arena->count);
    return status;
}

void strata_arena_destroy(strata_arena **place) {
    if (!place || !*place)
        return;
    strata_arena *arena = *place;
    strata_queue *queue = arena->queue;
    *place = NULL;
    while (arena->count)
        drop_frame(arena, false);
    strata_buffer_destroy(&arena->buffer);
    struct strata_allocator hooks = queue->device->hooks;
    strata_host_release(&hooks, arena);
    if (!strata_fork_happened())
        strata_queue_release(queue);
}

static uint64_t round_up(uint64_t value, uint64_t alignment) {
    return (value + alignment - 1) & ~(alignment - 1);
}

enum strata_status strata_arena_allocate(strata_arena *arena, uint64_t bytes, uint64_t alignment, strata_slice *slice) {
    STRATA_REFUSE_IN_CHILD();
    if (!arena || !slice)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_arena_allocate needs an arena and a place for the slice.");
    *slice = (strata_slice){0};
    uint64_t granted = arena->buffer->info.alignment;
    if (alignment & (alignment - 1) || alignment > granted)
        return strata_fail(STRATA_INVALID_ARGUMENT,
                           "An arena's memory can be aligned to powers of two up to %" PRIu64 ", not to %" PRIu64 ".",
                           granted, alignment);
    uint64_t at = arena->head % arena->bytes,
             start = round_up(at, alignment > arena->alignment ? alignment : arena->alignment);
    uint64_t skip = start - at;
    if (bytes > arena->bytes || start > arena->bytes - bytes) /* begins anew at the start of the buffer */
        skip = arena->bytes - at;
    uint64_t first = arena->head + (skip == arena->bytes ? 0 : skip), end = first + bytes;
    if (bytes > arena->bytes || end - arena->begin > arena->bytes)
        return strata_fail(STRATA_OUT_OF_MEMORY,
                           "The arena of %" PRIu64 " bytes has used %" PRIu64 " in this frame, and %" PRIu64
                           " more do not fit; reset it first, or make it larger.",
                           arena->bytes, arena->head - arena->begin, bytes);
    while (arena->count && end - arena->tail > arena->bytes) {
        enum strata_status status = drop_frame(arena, true);
        if (status != STRATA_OK)
            return status;
    }
    arena->head = end;
    if (arena->peak < end - arena->begin)
        arena->peak = end - arena->begin;
    *slice = (strata_slice){arena->buffer, first % arena->bytes, bytes};
    return STRATA_OK;
}

enum strata_status strata_arena_reset(strata_arena *arena) {
    STRATA_REFUSE_IN_CHILD();
    if (!arena)
        return strata_fail(STRATA_INVALID_ARGUMENT, "The arena is NULL.");
    if (arena->buffer->info.kind == STRATA_DEVICE) {
        arena->tail = arena->begin = arena->head = 0;
        return STRATA_OK;
    }
    strata_event *done = NULL;
    enum strata_status status = strata_queue_mark(arena->queue, &done);
    if (status == STRATA_OK && arena->count == FRAMES)
        status = drop_frame(arena, true);
    if (status != STRATA_OK) {
        strata_event_destroy(&done);
        return status;
    }
    arena->frames[arena->count++] = (struct frame){arena->head, done};
    arena->begin = arena->head;
    return STRATA_OK;
}

void strata_arena_usage(const strata_arena *arena, uint64_t *used, uint64_t *peak) {
    if (used)
        *used = arena ? arena->head - arena->begin : 0;
    if (peak)
        *peak = arena ? arena->peak : 0;
}
