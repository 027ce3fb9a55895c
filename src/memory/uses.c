/* Who uses a buffer: refusing work that no event orders, and waiting for work that is in flight.
 *
 * Each use is a range, a queue slot and a position in that queue. Another queue's use is ordered before a command when
 * the command's queue has waited for an event at or behind that position, or when it is known to be done. A queue that
 * has done its work may not have been looked at since, so before a refusal strata_queue_settle looks, for up to 2 ms.
 */
#include "memory/buffer.h"

#include <inttypes.h>
#include <string.h>

static bool overlaps(uint64_t a_begin, uint64_t a_end, uint64_t b_begin, uint64_t b_end) {
    return a_begin < b_end && b_begin < a_end;
}

/* Under the buffer's lock: forgets what is done. */
static void prune(strata_buffer *buffer) {
    struct strata_uses *uses = buffer->uses;
    unsigned kept = 0;
    for (unsigned i = 0; i < uses->count; i++) {
        const struct strata_use *use = &uses->list[i];
        if (use->position > atomic_load(&buffer->device->completed[use->slot]))
            uses->list[kept++] = *use;
    }
    uses->count = kept;
}

uint64_t strata_buffer_pending_slots(const strata_buffer *buffer) {
    uint64_t pending = 0;
    for (uint64_t left = buffer->uses ? buffer->uses->slots : 0; left; left &= left - 1) {
        unsigned slot = (unsigned)__builtin_ctzll(left);
        if (buffer->uses->last[slot] > atomic_load(&buffer->device->completed[slot]))
            pending |= UINT64_C(1) << slot;
    }
    return pending;
}

/* Under the buffer's lock. What used the place before, when it was another buffer's, comes first. */
static bool follows_inherited(const strata_queue *queue, strata_buffer *buffer, struct strata_conflict *conflict) {
    for (uint64_t left = buffer->inherited; left; left &= left - 1) {
        unsigned slot = (unsigned)__builtin_ctzll(left);
        uint64_t position = buffer->uses->last[slot];
        if (position <= atomic_load(&buffer->device->completed[slot])) {
            buffer->inherited &= ~(UINT64_C(1) << slot);
        } else if (slot != queue->slot && position > queue->seen.position[slot]) {
            *conflict = (struct strata_conflict){true, true, slot, position};
            return false;
        }
    }
    return true;
}

static enum strata_status refuse_mapped(const struct strata_command_use *use, const struct strata_map_entry *map) {
    char label[96];
    return strata_fail(
        STRATA_BUSY,
        "The %s is %s for the host (bytes %" PRIu64 " to %" PRIu64 "), so a command cannot %s it now; %s first.",
        strata_buffer_label(use->buffer, label, sizeof label), map->bracket ? "bracketed" : "mapped", map->offset,
        map->offset + map->bytes, use->write ? "write to" : "read", map->bracket ? "call strata_host_end" : "unmap it");
}

/* Under the buffer's lock. What commands do to a range that is mapped for writing is undefined, and what they write to
 * one that is mapped for reading (OpenCL 3.0, 5.2.4). */
static enum strata_status check_maps(const struct strata_command_use *use) {
    if (use->mapping)
        return STRATA_OK;
    for (const struct strata_map_entry *map = use->buffer->maps; map; map = map->next)
        if ((use->write || (map->access & STRATA_MAP_WRITE)) &&
            overlaps(map->offset, map->offset + map->bytes, use->offset, use->offset + use->bytes))
            return refuse_mapped(use, map);
    return STRATA_OK;
}

/* Under the buffer's lock. */
static enum strata_status check_order(const strata_queue *queue, const struct strata_command_use *use,
                                      struct strata_conflict *conflict) {
    strata_buffer *buffer = use->buffer;
    if (!buffer->uses && !(buffer->uses = strata_host_allocate(&buffer->device->hooks, sizeof *buffer->uses)))
        return strata_fail_host_memory(sizeof *buffer->uses, "what is known of a buffer's use");
    if (!follows_inherited(queue, buffer, conflict))
        return STRATA_BUSY;
    prune(buffer);
    for (unsigned i = 0; i < buffer->uses->count; i++) {
        const struct strata_use *other = &buffer->uses->list[i];
        if (other->slot == queue->slot || !(other->write || use->write) ||
            !overlaps(other->begin, other->end, use->offset, use->offset + use->bytes) ||
            other->position <= queue->seen.position[other->slot])
            continue;
        *conflict = (struct strata_conflict){true, false, other->slot, other->position};
        char label[96];
        return strata_fail(
            STRATA_BUSY,
            "The %s is %s by unfinished work of another queue (bytes %" PRIu64 " to %" PRIu64
            ") that nothing orders before this command; call strata_queue_wait with an event of that work.",
            strata_buffer_label(buffer, label, sizeof label), other->write ? "written" : "read", other->begin,
            other->end);
    }
    return STRATA_OK;
}

static void record(const strata_queue *queue, const struct strata_command_use *use) {
    struct strata_uses *uses = use->buffer->uses;
    struct strata_use entry = {use->offset, use->offset + use->bytes, queue->position + 1, queue->slot, use->write};
    uses->last[queue->slot] = entry.position;
    uses->slots |= UINT64_C(1) << queue->slot;
    use->buffer->inherited &= ~(UINT64_C(1) << queue->slot);
    /* A later use of the same range by the same queue stands for the earlier one when it is at least as strong. */
    for (unsigned i = 0; i < uses->count; i++) {
        struct strata_use *other = &uses->list[i];
        if (other->slot == entry.slot && other->begin >= entry.begin && other->end <= entry.end &&
            (entry.write || !other->write)) {
            *other = entry;
            return;
        }
    }
    if (uses->count == STRATA_USES_KEPT) {
        memmove(&uses->list[0], &uses->list[1], sizeof uses->list[0] * (STRATA_USES_KEPT - 1));
        uses->count--;
    }
    uses->list[uses->count++] = entry;
}

enum strata_status strata_uses_admit(strata_queue *queue, const struct strata_command_use *uses, size_t count,
                                     struct strata_conflict *conflict) {
    for (size_t i = 0; i < count; i++) {
        pthread_mutex_lock(&uses[i].buffer->lock);
        enum strata_status status = check_maps(&uses[i]);
        if (status == STRATA_OK)
            status = check_order(queue, &uses[i], conflict);
        pthread_mutex_unlock(&uses[i].buffer->lock);
        if (status != STRATA_OK)
            return status;
    }
    for (size_t i = 0; i < count; i++) {
        pthread_mutex_lock(&uses[i].buffer->lock);
        record(queue, &uses[i]);
        pthread_mutex_unlock(&uses[i].buffer->lock);
    }
    return STRATA_OK;
}

/* The queue in a slot, retained, if it has work on the buffer that is not known to be done. */
static strata_queue *pending_queue(strata_buffer *buffer, unsigned slot) {
    strata_device *device = buffer->device;
    pthread_mutex_lock(&buffer->lock);
    bool pending = strata_buffer_pending_slots(buffer) >> slot & 1;
    pthread_mutex_unlock(&buffer->lock);
    if (!pending)
        return NULL;
    pthread_mutex_lock(&device->lock);
    strata_queue *queue = device->queues[slot];
    if (queue)
        strata_queue_retain(queue);
    pthread_mutex_unlock(&device->lock);
    return queue;
}

unsigned strata_buffer_pending(strata_buffer *buffer, strata_event **events) {
    unsigned count = 0;
    for (unsigned slot = 0; slot < STRATA_QUEUE_SLOTS; slot++) {
        strata_queue *queue = pending_queue(buffer, slot);
        if (!queue)
            continue;
        if (strata_queue_mark(queue, &events[count]) == STRATA_OK) {
            strata_queue_flush(queue);
            count++;
        } else {
            strata_queue_finish(queue); /* no event to be had: better to wait now than to free too early */
        }
        strata_queue_release(queue);
    }
    return count;
}

enum strata_status strata_buffer_settle(strata_buffer *buffer) {
    enum strata_status status = STRATA_OK;
    for (unsigned slot = 0; slot < STRATA_QUEUE_SLOTS && status == STRATA_OK; slot++) {
        strata_queue *queue = pending_queue(buffer, slot);
        if (!queue)
            continue;
        strata_event *event = NULL;
        status = strata_queue_mark(queue, &event);
        if (status == STRATA_OK)
            status = strata_event_wait(event);
        strata_event_destroy(&event);
        strata_queue_release(queue);
    }
    return status;
}
