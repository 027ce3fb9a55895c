/* What a pool tells of itself: figures, a check of everything, and its part of the device's dump. */
#include "core/fork.h"
#include "memory/pool.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Under the shards' locks, one after the other. */
static void add_shards(strata_pool *pool, struct strata_pool_stats *stats) {
    for (unsigned i = 0; i < STRATA_SHARDS; i++) {
        struct strata_magazine *magazine = &pool->magazines[i];
        strata_spin_lock(&pool->device->shards[i].lock);
        stats->live_bytes += magazine->count.live_bytes;
        stats->peak_bytes += magazine->count.peak_bytes;
        stats->live_buffers += magazine->count.live_buffers;
        stats->total_buffers += magazine->count.total_buffers;
        stats->given_bytes += magazine->given_bytes;
        stats->reused_buffers += magazine->reused;
        stats->cached_bytes += magazine->kept_bytes;
        for (unsigned bin = 0; bin < STRATA_MAGAZINE_BINS; bin++)
            for (const strata_buffer *buffer = magazine->bin[bin]; buffer; buffer = buffer->next)
                if (strata_buffer_pending_slots(buffer))
                    stats->pending_bytes += buffer->given_bytes;
        strata_spin_unlock(&pool->device->shards[i].lock);
    }
}

/* Under the pool's lock. */
static void add_blocks(const strata_pool *pool, struct strata_pool_stats *stats) {
    stats->reserved_bytes = pool->reserved;
    stats->peak_reserved_bytes = pool->peak_reserved;
    stats->pending_bytes += pool->pending_bytes;
    stats->cached_bytes += pool->pending_bytes;
    stats->blocks = pool->blocks;
    stats->dedicated_blocks = pool->dedicated_blocks;
    stats->grown = pool->grown;
    stats->trimmed = pool->trimmed;
    stats->waited = pool->waited;
    stats->failed = pool->failed;
    stats->fell_back = pool->fell_back;
    stats->commit_effective = pool->commit_effective;
    for (const struct strata_block *block = pool->first; block; block = block->next) {
        struct strata_offsets_stats offsets = {.size = sizeof offsets};
        strata_offsets_stats(block->offsets, &offsets);
        stats->free_bytes += offsets.free_bytes;
        if (stats->largest_free < offsets.largest_free)
            stats->largest_free = offsets.largest_free;
    }
    for (const strata_buffer *buffer = pool->spares; buffer; buffer = buffer->next) {
        stats->free_bytes += buffer->given_bytes;
        if (stats->largest_free < buffer->given_bytes)
            stats->largest_free = buffer->given_bytes;
    }
    if (stats->free_bytes)
        stats->fragmentation = 1 - (double)stats->largest_free / (double)stats->free_bytes;
}

enum strata_status strata_pool_get_stats(strata_pool *pool, struct strata_pool_stats *result) {
    STRATA_REFUSE_IN_CHILD();
    if (!pool)
        return strata_fail(STRATA_INVALID_ARGUMENT, "The pool is NULL.");
    enum strata_status status = strata_stats_check_size(result, sizeof *result, "strata_pool_get_stats");
    if (status != STRATA_OK)
        return status;
    struct strata_pool_stats stats = {.size = result->size};
    add_shards(pool, &stats);
    pthread_mutex_lock(&pool->lock);
    add_blocks(pool, &stats);
    pthread_mutex_unlock(&pool->lock);
    memcpy(result, &stats, stats.size);
    return STRATA_OK;
}

/* What is found in going through a pool. */
struct finding {
    const strata_pool *pool;
    const struct strata_block *block;
    uint64_t pieces, bytes;
    const char *fault;
};

static bool check_span(const struct strata_offsets_span *span, void *user) {
    struct finding *finding = user;
    const strata_buffer *buffer = span->user;
    if (span->piece == 0)
        return true;
    finding->pieces++;
    finding->bytes += span->bytes;
    if (!buffer || buffer->pool != finding->pool || buffer->block != finding->block || buffer->piece != span->piece)
        finding->fault = "a piece and its buffer do not know each other";
    else if (buffer->given_bytes != span->bytes)
        finding->fault = "a piece and its buffer are not of one size";
    else if (span->offset % finding->pool->granularity != 0)
        finding->fault = "a piece is not aligned";
    return !finding->fault;
}

static void count_list(struct finding *finding, const strata_buffer *list, const char *where) {
    for (; list; list = list->next) {
        finding->pieces++;
        finding->bytes += list->given_bytes;
        if (list->pool != finding->pool)
            finding->fault = where;
    }
}

/* Under all locks: what is in magazines, in lists and alive, against what blocks say they have handed out. */
static enum strata_status check_all(const strata_pool *pool) {
    struct finding held = {.pool = pool}, handed = {.pool = pool};
    uint64_t reserved = 0, dedicated = 0, empty = 0;
    for (unsigned i = 0; i < STRATA_SHARDS; i++) {
        const struct strata_magazine *magazine = &pool->magazines[i];
        uint64_t kept = held.bytes;
        for (unsigned bin = 0; bin < STRATA_MAGAZINE_BINS; bin++)
            count_list(&held, magazine->bin[bin], "a magazine holds a piece of another pool");
        if (held.bytes - kept != magazine->kept_bytes)
            held.fault = "a magazine's bytes are counted wrong";
        uint64_t live = 0, given = 0;
        for (const strata_buffer *buffer = pool->device->shards[i].buffers; buffer; buffer = buffer->next) {
            if (buffer->pool != pool)
                continue;
            live++;
            given += buffer->given_bytes;
        }
        held.pieces += live;
        held.bytes += given;
        if (live != magazine->count.live_buffers || given != magazine->given_bytes)
            held.fault = "live buffers are counted wrong";
    }
    uint64_t pending = held.bytes;
    count_list(&held, pool->pending, "a piece of another pool is pending");
    if (held.bytes - pending != pool->pending_bytes)
        held.fault = "pending bytes are counted wrong";
    for (const strata_buffer *buffer = pool->spares; buffer; buffer = buffer->next)
        empty += buffer->given_bytes;
    count_list(&held, pool->spares, "a spare is of another pool");
    for (const struct strata_block *block = pool->first; block && !handed.fault; block = block->next) {
        enum strata_status status = strata_offsets_validate(block->offsets);
        if (status != STRATA_OK)
            return status;
        handed.block = block;
        strata_offsets_walk(block->offsets, check_span, &handed);
        reserved += block->bytes;
        empty += strata_offsets_is_empty(block->offsets) ? block->bytes : 0;
    }
    dedicated = pool->reserved - reserved;
    const char *fault = held.fault ? held.fault : handed.fault;
    if (!fault && held.bytes != handed.bytes + dedicated)
        fault = "pieces were lost";
    if (!fault && held.pieces != handed.pieces + pool->dedicated_blocks)
        fault = "the number of pieces is wrong";
    if (!fault && empty != pool->empty_bytes)
        fault = "unused bytes are counted wrong";
    char label[96];
    return fault ? strata_fail(STRATA_INTERNAL, "The %s is damaged: %s.", strata_pool_label(pool, label, sizeof label),
                               fault)
                 : STRATA_OK;
}

enum strata_status strata_pool_validate(strata_pool *pool) {
    STRATA_REFUSE_IN_CHILD();
    if (!pool)
        return strata_fail(STRATA_INVALID_ARGUMENT, "The pool is NULL.");
    pthread_mutex_lock(&pool->lock);
    for (unsigned i = 0; i < STRATA_SHARDS; i++)
        strata_spin_lock(&pool->device->shards[i].lock);
    enum strata_status status = check_all(pool);
    for (unsigned i = 0; i < STRATA_SHARDS; i++)
        strata_spin_unlock(&pool->device->shards[i].lock);
    pthread_mutex_unlock(&pool->lock);
    return status;
}
