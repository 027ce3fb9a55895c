/* A pool's blocks: taking them from the runtime, cutting pieces, and giving back what is unused. */
#include "memory/trace.h"

#include <inttypes.h>

/* A new block is as large as this share of what the pool has, so that there are few blocks, and little of one is
 * unused. */
#define GROWTH_SHARE 16

/* What a pool may have whatever its peak was, and as a share of the device's memory: below it, blocks are not given
 * back and taken again each time the sizes change. */
#define SLACK_BYTES (UINT64_C(128) << 20)
#define SLACK_SHARE 16

/* A hole that is larger than asked for by no more than this share is as good as the best. */
#define GOOD_FIT 16

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* The pool's own way of describing memory to the backend. */
static struct strata_native_buffer_desc describe(const strata_pool *pool, uint64_t bytes, enum strata_access access) {
    return (struct strata_native_buffer_desc){
        .bytes = bytes, .kind = pool->desc.kind, .access = access, .mode = pool->desc.mode};
}

static void give_block(strata_pool *pool, struct strata_block *block) {
    strata_memory_give(pool->device, pool->desc.kind, block->bytes, block->plain, block->native);
    strata_offsets_destroy(&block->offsets);
    strata_host_release(&pool->device->hooks, block);
}

/* A block without pieces, not in the pool yet. */
static enum strata_status take_block(strata_pool *pool, uint64_t bytes, enum strata_access access, bool dedicated,
                                     bool pinned_only, struct strata_block **result) {
    strata_device *device = pool->device;
    if (pool->desc.limit_bytes && bytes > pool->desc.limit_bytes - pool->reserved)
        return strata_fail(STRATA_OUT_OF_MEMORY, "The pool's limit of %" PRIu64 " bytes is reached.",
                           pool->desc.limit_bytes);
    struct strata_block *block = strata_host_allocate(&device->hooks, sizeof *block);
    if (!block)
        return strata_fail_host_memory(sizeof *block, "a pool's block");
    enum strata_status status = STRATA_OK;
    if (!dedicated)
        status = strata_offsets_create(
            STRATA_OFFSETS(.bytes = bytes, .granularity = pool->granularity, .allocator = &device->hooks),
            &block->offsets);
    struct strata_native_buffer_desc desc = describe(pool, bytes, access);
    if (status == STRATA_OK)
        status = strata_memory_take(device, &desc, pinned_only, &block->facts, &block->plain, &block->native);
    if (status != STRATA_OK) {
        strata_offsets_destroy(&block->offsets);
        strata_host_release(&device->hooks, block);
        return status;
    }
    block->bytes = bytes;
    block->fits_below = UINT64_MAX;
    if (pool->desc.kind == STRATA_DEVICE && !pool->desc.no_commit && device->backend->buffer->commit)
        status = device->backend->buffer->commit(block->native, &pool->commit_effective);
    if (status != STRATA_OK)
        give_block(pool, block);
    else
        *result = block;
    return status;
}

static void add(strata_pool *pool, struct strata_block *block) {
    block->number = ++pool->numbers;
    pool->grown++;
    pool->reserved += block->bytes;
    if (pool->peak_reserved < pool->reserved)
        pool->peak_reserved = pool->reserved;
    strata_trace_grow(pool, block);
    if (!block->offsets) {
        pool->dedicated_blocks++;
        return;
    }
    pool->blocks++;
    pool->empty_bytes += block->bytes;
    struct strata_block **end = &pool->first;
    while (*end)
        end = &(*end)->next;
    *end = block;
}

static void release(strata_pool *pool, struct strata_block *block) {
    strata_trace_trim(pool, block);
    pool->reserved -= block->bytes;
    pool->trimmed++;
    if (block->offsets)
        pool->blocks--;
    else
        pool->dedicated_blocks--;
    give_block(pool, block);
}

/* What describes a piece of a block. */
static enum strata_status make_shell(strata_pool *pool, struct strata_block *block, const struct strata_range *range,
                                     enum strata_access access, strata_buffer **result) {
    strata_device *device = pool->device;
    strata_buffer *buffer = strata_host_allocate(&device->hooks, sizeof *buffer);
    if (!buffer)
        return strata_fail_host_memory(sizeof *buffer, "a buffer object");
    enum strata_status status = STRATA_OK;
    if (block->offsets)
        status = device->backend->buffer->part(block->native, range->offset, range->bytes, access, &buffer->native);
    else
        buffer->native = block->native;
    if (status != STRATA_OK) {
        strata_host_release(&device->hooks, buffer);
        return status;
    }
    pthread_mutex_init(&buffer->lock, NULL);
    buffer->device = device;
    buffer->pool = pool;
    buffer->block = block;
    buffer->piece = range->piece;
    buffer->given_bytes = range->bytes;
    buffer->root = buffer;
    buffer->name = buffer->short_name;
    const struct strata_native_buffer_facts *facts = &block->facts;
    buffer->info = (struct strata_buffer_info){
        .size = sizeof buffer->info,
        .device = device,
        .kind = pool->desc.kind,
        .access = access,
        .host_pointer = facts->host_pointer ? (char *)facts->host_pointer + range->offset : NULL,
        .alignment = range->offset ? smaller(facts->alignment, range->offset & (~range->offset + 1)) : facts->alignment,
        .mode = pool->desc.mode,
        .same_pointer = facts->same_pointer,
        .zero_copy = facts->zero_copy,
        .pinned = facts->pinned,
        .host_brackets = pool->desc.kind == STRATA_SHARED && pool->desc.mode != STRATA_SHARED_COHERENT,
        .kernel_argument = pool->desc.kind != STRATA_PINNED || device->info.pinned_kernel_access == STRATA_YES};
    if (block->offsets)
        strata_offsets_set_user(block->offsets, range->piece, buffer);
    *result = buffer;
    return STRATA_OK;
}

void strata_pool_free_shell(strata_pool *pool, strata_buffer *buffer) {
    pthread_mutex_destroy(&buffer->lock);
    strata_host_release(&pool->device->hooks, buffer->uses);
    strata_host_release(&pool->device->hooks, buffer);
}

static strata_buffer *cut_block(strata_pool *pool, struct strata_block *block, const struct strata_request *request,
                                enum strata_status *status) {
    struct strata_range range;
    strata_buffer *buffer = NULL;
    bool was_empty = strata_offsets_is_empty(block->offsets);
    if (!strata_offsets_try(block->offsets, request->rounded, 0, &range)) {
        *status = strata_fail_host_memory(request->rounded, "a pool's pieces");
        return NULL;
    }
    *status = make_shell(pool, block, &range, request->desc->access, &buffer);
    if (*status != STRATA_OK)
        strata_offsets_free(block->offsets, range.piece);
    else if (was_empty)
        pool->empty_bytes -= block->bytes;
    return buffer;
}

/* The block with the least hole that is large enough: holes of other blocks stay whole. Page-locked blocks come before
 * plain ones. NULL: no block has room. */
static struct strata_block *find_block(strata_pool *pool, const struct strata_request *request) {
    uint64_t wanted = request->rounded, enough = wanted + wanted / GOOD_FIT, least = UINT64_MAX;
    struct strata_block *best = NULL;
    for (struct strata_block *block = pool->first; block && (least > enough || best->plain); block = block->next) {
        if (wanted >= block->fits_below ||
            (block->plain && (request->desc->pinned_or_nothing || (best && !best->plain))))
            continue;
        uint64_t size = strata_offsets_best(block->offsets, wanted);
        if (size == UINT64_MAX)
            block->fits_below = wanted;
        if (size < least || (size != UINT64_MAX && best->plain && !block->plain)) {
            least = size;
            best = block;
        }
    }
    return best;
}

strata_buffer *strata_pool_cut(strata_pool *pool, const struct strata_request *request, enum strata_status *status) {
    *status = STRATA_OK;
    if (request->rounded >= pool->desc.dedicated_bytes)
        return NULL;
    struct strata_block *block = find_block(pool, request);
    return block ? cut_block(pool, block, request, status) : NULL;
}

uint64_t strata_pool_release_unused(strata_pool *pool, uint64_t keep) {
    uint64_t before = pool->reserved;
    while (pool->spares && pool->empty_bytes > keep) {
        strata_buffer *buffer = pool->spares;
        struct strata_block *block = buffer->block;
        pool->spares = buffer->next;
        pool->empty_bytes -= block->bytes;
        strata_pool_free_shell(pool, buffer);
        release(pool, block);
    }
    /* The youngest that can go goes first. */
    while (pool->empty_bytes > keep) {
        struct strata_block **last = NULL;
        for (struct strata_block **place = &pool->first; *place; place = &(*place)->next)
            if (strata_offsets_is_empty((*place)->offsets))
                last = place;
        if (!last)
            break;
        struct strata_block *block = *last;
        *last = block->next;
        pool->empty_bytes -= block->bytes;
        release(pool, block);
    }
    return before - pool->reserved;
}

void strata_pool_return(strata_pool *pool, strata_buffer *buffer) {
    struct strata_block *block = buffer->block;
    if (!block->offsets) {
        buffer->next = pool->spares;
        pool->spares = buffer;
        pool->empty_bytes += block->bytes;
        return;
    }
    pool->device->backend->buffer->destroy(buffer->native);
    strata_offsets_free(block->offsets, buffer->piece);
    block->fits_below = UINT64_MAX;
    if (strata_offsets_is_empty(block->offsets))
        pool->empty_bytes += block->bytes;
    strata_pool_free_shell(pool, buffer);
}

/* Unused blocks go before others are taken, as long as the pool has more than it ever needed: what is reserved then
 * follows the peak of what is alive. */
static void make_room(strata_pool *pool, uint64_t bytes) {
    uint64_t needed = bytes, peak = 0;
    for (unsigned i = 0; i < STRATA_SHARDS; i++) {
        strata_spin_lock(&pool->device->shards[i].lock);
        needed += pool->magazines[i].given_bytes;
        peak += pool->magazines[i].count.peak_bytes;
        strata_spin_unlock(&pool->device->shards[i].lock);
    }
    if (needed < peak)
        needed = peak;
    uint64_t slack = pool->device->info.global_bytes / SLACK_SHARE;
    if (slack > SLACK_BYTES)
        slack = SLACK_BYTES;
    if (needed < slack + bytes)
        needed = slack + bytes;
    if (pool->reserved + bytes > needed) {
        uint64_t over = pool->reserved + bytes - needed;
        strata_pool_release_unused(pool, pool->empty_bytes > over ? pool->empty_bytes - over : 0);
    }
}

static enum strata_status grow_dedicated(strata_pool *pool, const struct strata_request *request,
                                         strata_buffer **buffer) {
    struct strata_block *block = NULL;
    struct strata_range whole = {.bytes = request->rounded};
    make_room(pool, request->rounded);
    enum strata_status status =
        take_block(pool, request->rounded, request->desc->access, true, request->desc->pinned_or_nothing, &block);
    if (status != STRATA_OK)
        return status;
    status = make_shell(pool, block, &whole, request->desc->access, buffer);
    if (status != STRATA_OK) {
        give_block(pool, block);
        return status;
    }
    add(pool, block);
    return STRATA_OK;
}

static uint64_t next_block(const strata_pool *pool, uint64_t least) {
    uint64_t share = pool->reserved / GROWTH_SHARE, bytes = pool->desc.block_bytes;
    while (bytes < share && bytes < pool->desc.max_block_bytes)
        bytes *= 2;
    if (bytes > pool->desc.max_block_bytes)
        bytes = pool->desc.max_block_bytes;
    if (pool->desc.limit_bytes && bytes > pool->desc.limit_bytes - pool->reserved)
        bytes = (pool->desc.limit_bytes - pool->reserved) & ~(pool->granularity - 1);
    return bytes > least ? bytes : least;
}

enum strata_status strata_pool_add_block(strata_pool *pool, uint64_t bytes) {
    struct strata_block *block = NULL;
    enum strata_status status = take_block(pool, bytes, STRATA_READ_WRITE, false, false, &block);
    if (status == STRATA_OK)
        add(pool, block);
    return status;
}

enum strata_status strata_pool_grow(strata_pool *pool, const struct strata_request *request, strata_buffer **buffer) {
    if (request->rounded >= pool->desc.dedicated_bytes)
        return grow_dedicated(pool, request, buffer);
    /* Where the device has not got as much as a block, it may have what was asked for. */
    enum strata_status status = STRATA_OK;
    struct strata_block *block = NULL;
    for (uint64_t bytes = next_block(pool, request->rounded);;
         bytes = bytes / 2 > request->rounded ? bytes / 2 : request->rounded) {
        make_room(pool, bytes);
        status = take_block(pool, bytes & ~(pool->granularity - 1), STRATA_READ_WRITE, false,
                            request->desc->pinned_or_nothing, &block);
        if (status != STRATA_OUT_OF_MEMORY || bytes == request->rounded)
            break;
    }
    if (status != STRATA_OK)
        return status;
    add(pool, block);
    *buffer = cut_block(pool, block, request, &status);
    return status;
}
