/* Pieces that are not alive and not back in their block: the magazines, and what work still uses. */
#include "core/fence.h"
#include "memory/trace.h"

#include <string.h>

/* Pending pieces looked at for one of the size asked for. */
#define PENDING_LOOKED_AT 32

/* Pending memory over this share of the device's is waited for when more is given back, so that a program that frees
 * faster than the device works does not pile it up. */
#define PENDING_SHARE 4

static unsigned bin_of(uint64_t rounded, enum strata_access access) {
    uint64_t mixed = (rounded >> 8 | (uint64_t)access << 60) * UINT64_C(0x9e3779b97f4a7c15);
    return (unsigned)(mixed >> 59);
}

/* Whether a kept piece serves a request, as far as the work that still uses it allows. Work that is not with the
 * runtime yet waits for host work, and that perhaps for the caller: only who names the queue takes a place behind it.
 */
static bool suits(const strata_pool *pool, const strata_buffer *kept, const struct strata_request *request,
                  bool crossing) {
    if (kept->given_bytes != request->rounded || kept->info.access != request->desc->access ||
        (kept->block->plain && request->desc->pinned_or_nothing))
        return false;
    uint64_t pending = strata_buffer_pending_slots(kept);
    uint64_t other = pending & ~request->hint;
    if (pending == 0 || pool->desc.kind != STRATA_DEVICE)
        return pending == 0;
    if ((request->desc->queue ? other : pending) & atomic_load(&pool->device->deferring))
        return false;
    return crossing || other == 0;
}

void strata_pool_revive(strata_pool *pool, strata_buffer *buffer, struct strata_request *request, unsigned shard,
                        bool kept) {
    struct strata_magazine *magazine = &pool->magazines[shard];
    struct strata_trace *trace = pool->device->shards[shard].trace;
    const struct strata_buffer_desc *desc = request->desc;
    if (request->name) {
        buffer->name = request->name;
        request->name = NULL;
    } else {
        buffer->name = buffer->short_name;
        const char *name = desc->name ? desc->name : "";
        memcpy(buffer->short_name, name, strlen(name) + 1);
    }
    buffer->info.name = buffer->name;
    buffer->info.bytes = desc->bytes;
    buffer->site = desc->site;
    buffer->shard = shard;
    buffer->inherited = strata_buffer_pending_slots(buffer);
    if (buffer->uses) {
        buffer->uses->count = 0;
        buffer->uses->slots = buffer->inherited;
    }
    strata_shard_enter(&pool->device->shards[shard], buffer);
    strata_count_in(&magazine->count, desc->bytes);
    magazine->given_bytes += buffer->given_bytes;
    magazine->reused += kept;
    if (trace)
        strata_trace_create(trace, buffer, desc->queue, kept ? STRATA_TRACE_REUSED : 0);
}

/* Under the shard's lock. */
static strata_buffer *take_from_bin(strata_pool *pool, struct strata_magazine *magazine,
                                    const struct strata_request *request, bool crossing) {
    unsigned bin = bin_of(request->rounded, request->desc->access);
    for (strata_buffer **place = &magazine->bin[bin]; *place; place = &(*place)->next) {
        strata_buffer *buffer = *place;
        if (!suits(pool, buffer, request, crossing))
            continue;
        *place = buffer->next;
        magazine->depth[bin]--;
        magazine->kept_bytes -= buffer->given_bytes;
        return buffer;
    }
    return NULL;
}

/* Under the pool's lock: from the spares, and from what work still uses. */
static strata_buffer *take_from_lists(strata_pool *pool, const struct strata_request *request, bool crossing) {
    for (strata_buffer **place = &pool->spares; *place; place = &(*place)->next) {
        strata_buffer *buffer = *place;
        if (!suits(pool, buffer, request, crossing))
            continue;
        *place = buffer->next;
        pool->empty_bytes -= buffer->given_bytes;
        return buffer;
    }
    strata_buffer **place = &pool->pending;
    for (int i = 0; *place && i < PENDING_LOOKED_AT; i++, place = &(*place)->next) {
        strata_buffer *buffer = *place;
        if (!suits(pool, buffer, request, crossing))
            continue;
        *place = buffer->next;
        if (!*place)
            pool->pending_end = place;
        pool->pending_bytes -= buffer->given_bytes;
        return buffer;
    }
    return NULL;
}

strata_buffer *strata_pool_take_kept(strata_pool *pool, struct strata_request *request, bool crossing) {
    unsigned index = strata_shard_of_thread();
    struct strata_shard *shard = &pool->device->shards[index];
    struct strata_magazine *magazine = &pool->magazines[index];
    strata_spin_lock(&shard->lock);
    strata_buffer *buffer = take_from_bin(pool, magazine, request, crossing);
    if (buffer) {
        strata_pool_revive(pool, buffer, request, index, true);
    }
    strata_spin_unlock(&shard->lock);
    if (buffer)
        return buffer;
    pthread_mutex_lock(&pool->lock);
    buffer = take_from_lists(pool, request, crossing);
    pthread_mutex_unlock(&pool->lock);
    if (!buffer)
        return NULL;
    strata_spin_lock(&shard->lock);
    strata_pool_revive(pool, buffer, request, index, true);
    strata_spin_unlock(&shard->lock);
    return buffer;
}

/* Under the pool's lock. */
static void add_pending(strata_pool *pool, strata_buffer *buffer) {
    buffer->next = NULL;
    *pool->pending_end = buffer;
    pool->pending_end = &buffer->next;
    pool->pending_bytes += buffer->given_bytes;
}

/* Under the pool's lock. */
static void settle(strata_pool *pool, strata_buffer *buffer) {
    if (strata_buffer_pending_slots(buffer))
        add_pending(pool, buffer);
    else
        strata_pool_return(pool, buffer);
}

void strata_pool_give_list(strata_pool *pool, strata_buffer *list) {
    uint64_t limit = pool->device->info.global_bytes / PENDING_SHARE;
    pthread_mutex_lock(&pool->lock);
    while (list) {
        strata_buffer *buffer = list;
        list = buffer->next;
        settle(pool, buffer);
    }
    strata_pool_release_unused(pool, pool->desc.keep_bytes);
    bool outrun = pool->pending_bytes > limit;
    pthread_mutex_unlock(&pool->lock);
    if (outrun)
        strata_pool_reap(pool, true);
}

/* Under the shard's lock: empties a bin, the oldest first in the list. */
static strata_buffer *empty_bin(struct strata_magazine *magazine, unsigned bin, strata_buffer *list) {
    while (magazine->bin[bin]) {
        strata_buffer *buffer = magazine->bin[bin];
        magazine->bin[bin] = buffer->next;
        magazine->kept_bytes -= buffer->given_bytes;
        buffer->next = list;
        list = buffer;
    }
    magazine->depth[bin] = 0;
    return list;
}

static strata_buffer *empty_magazine(struct strata_magazine *magazine) {
    strata_buffer *list = NULL;
    for (unsigned bin = 0; bin < STRATA_MAGAZINE_BINS; bin++)
        list = empty_bin(magazine, bin, list);
    return list;
}

void strata_pool_flush(strata_pool *pool) {
    for (unsigned i = 0; i < STRATA_SHARDS; i++) {
        strata_spin_lock(&pool->device->shards[i].lock);
        strata_buffer *list = empty_magazine(&pool->magazines[i]);
        strata_spin_unlock(&pool->device->shards[i].lock);
        pthread_mutex_lock(&pool->lock);
        while (list) {
            strata_buffer *buffer = list;
            list = buffer->next;
            settle(pool, buffer);
        }
        pthread_mutex_unlock(&pool->lock);
    }
}

/* Looks how far the queues have come that the list waits for; with `wait`, until they are there. One fence behind the
 * last of a queue's work tells of all of it. */
static void look(strata_device *device, const strata_buffer *list, bool wait) {
    uint64_t slots = 0, last[STRATA_QUEUE_SLOTS] = {0};
    for (const strata_buffer *buffer = list; buffer; buffer = buffer->next)
        for (uint64_t left = strata_buffer_pending_slots(buffer); left; left &= left - 1) {
            unsigned slot = (unsigned)__builtin_ctzll(left);
            slots |= UINT64_C(1) << slot;
            if (last[slot] < buffer->uses->last[slot])
                last[slot] = buffer->uses->last[slot];
        }
    for (; slots; slots &= slots - 1) {
        unsigned slot = (unsigned)__builtin_ctzll(slots);
        strata_event *event = NULL;
        strata_fence_poll(device, slot);
        if (last[slot] <= atomic_load(&device->completed[slot]) ||
            strata_fence_get(device, slot, last[slot], &event) != STRATA_OK || !event)
            continue;
        if (wait)
            strata_event_wait(event); /* failed work is over, too */
        strata_event_destroy(&event);
    }
}

void strata_pool_reap(strata_pool *pool, bool wait) {
    pthread_mutex_lock(&pool->lock);
    strata_buffer *list = pool->pending;
    pool->pending = NULL;
    pool->pending_end = &pool->pending;
    pool->pending_bytes = 0;
    bool waits = wait && list;
    pool->waited += waits;
    pthread_mutex_unlock(&pool->lock);
    if (waits)
        strata_trace_wait(pool, false);
    look(pool->device, list, wait);
    if (waits)
        strata_trace_wait(pool, true);
    pthread_mutex_lock(&pool->lock);
    while (list) {
        strata_buffer *buffer = list;
        list = buffer->next;
        settle(pool, buffer);
    }
    pthread_mutex_unlock(&pool->lock);
}

/* Pieces that work still uses when host work is ahead of it: who waits for them is not to wait for host work that comes
 * later, so the fence is made now. */
static void fence(strata_buffer *buffer, uint64_t pending) {
    strata_device *device = buffer->device;
    for (uint64_t left = pending & atomic_load(&device->deferring); left; left &= left - 1) {
        unsigned slot = (unsigned)__builtin_ctzll(left);
        strata_event *event = NULL;
        strata_fence_get(device, slot, buffer->uses->last[slot], &event);
        strata_event_destroy(&event);
    }
}

/* Under the shard's lock: keeps the piece; what has to leave instead. */
static strata_buffer *keep(struct strata_magazine *magazine, strata_buffer *buffer) {
    strata_buffer *leaving = NULL;
    buffer->next = NULL;
    if (buffer->given_bytes > STRATA_MAGAZINE_BYTES / 4)
        return buffer;
    unsigned bin = bin_of(buffer->given_bytes, buffer->info.access);
    if (magazine->kept_bytes + buffer->given_bytes > STRATA_MAGAZINE_BYTES)
        leaving = empty_magazine(magazine);
    else if (magazine->depth[bin] == STRATA_MAGAZINE_DEPTH)
        leaving = empty_bin(magazine, bin, NULL);
    buffer->next = magazine->bin[bin];
    magazine->bin[bin] = buffer;
    magazine->depth[bin]++;
    magazine->kept_bytes += buffer->given_bytes;
    return leaving;
}

void strata_pool_give(strata_buffer *buffer) {
    strata_pool *pool = buffer->pool;
    struct strata_shard *shard = &pool->device->shards[buffer->shard];
    struct strata_magazine *magazine = &pool->magazines[buffer->shard];
    strata_buffer *leaving = NULL;
    uint64_t pending = strata_buffer_pending_slots(buffer);
    char *name = buffer->name == buffer->short_name ? NULL : buffer->name;
    if (pending)
        fence(buffer, pending);
    strata_spin_lock(&shard->lock);
    if (shard->trace)
        strata_trace_destroy(shard->trace, buffer);
    strata_shard_leave(shard, buffer);
    strata_count_out(&magazine->count, buffer->info.bytes);
    magazine->given_bytes -= buffer->given_bytes;
    buffer->name = buffer->short_name;
    bool closing = pool->closing;
    if (!closing)
        leaving = keep(magazine, buffer);
    strata_spin_unlock(&shard->lock);
    if (name)
        strata_host_release(&pool->device->hooks, name);
    if (leaving)
        strata_pool_give_list(pool, leaving);
    if (closing)
        strata_pool_give_last(pool, buffer);
}
