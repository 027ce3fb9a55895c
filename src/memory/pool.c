/* Pools: making and ending them, and serving requests, down the ladder when memory is short. */
#include "memory/pool.h"
#include "core/fork.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Blocks begin small, for programs that need little, and end where the part of a block that is no use to a large piece
 * is small beside it. */
#define FIRST_BLOCK_BYTES (UINT64_C(2) << 20)
#define MAX_BLOCK_BYTES (UINT64_C(256) << 20)

/* A block is no larger than this share of the device, and memory that is kept unused no more than that one. */
#define BLOCK_SHARE 16
#define KEEP_SHARE 4

/* Pieces that are more than this share of the largest block have memory of their own: cut from blocks they would leave
 * holes that nothing fits in. */
#define DEDICATED_SHARE 8

/* What strata promises of its own memory. */
#define LEAST_ALIGNMENT UINT64_C(256)

/* Pools that are gone through without a lock in between. */
#define POOLS_AT_ONCE 16

/* Holders that the sentence of an OUT_OF_MEMORY names. */
#define HOLDERS 3

void strata_pool_desc_init(struct strata_pool_desc *desc) {
    *desc = (struct strata_pool_desc){.size = sizeof *desc};
}

const char *strata_pool_label(const strata_pool *pool, char *place, size_t size) {
    static const char *const kinds[] = {"DEVICE", "PINNED", "WRAPPED", "SHARED"};
    if (pool->name[0])
        snprintf(place, size, "pool '%.64s'", pool->name);
    else
        snprintf(place, size, "pool for %s memory", kinds[pool->desc.kind]);
    return place;
}

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* Whole granules; or the bytes themselves where that is over a limit. */
static uint64_t round_up(const strata_pool *pool, uint64_t bytes) {
    uint64_t rounded = (bytes + pool->granularity - 1) & ~(pool->granularity - 1);
    return rounded < bytes || rounded > pool->device->info.max_buffer_bytes ? bytes : rounded;
}

static enum strata_status check_desc(const strata_device *device, struct strata_pool_desc *desc) {
    if ((unsigned)desc->kind > STRATA_SHARED || desc->kind == STRATA_WRAPPED)
        return strata_fail(STRATA_INVALID_ARGUMENT, "A pool is for DEVICE, PINNED or SHARED memory.");
    if (desc->kind != STRATA_SHARED && desc->mode != STRATA_SHARED_NONE)
        return strata_fail(STRATA_INVALID_ARGUMENT, "mode is for SHARED memory only.");
    if (desc->kind == STRATA_SHARED) {
        enum strata_status status = strata_shared_mode_choose(device, desc->mode, &desc->mode);
        if (status != STRATA_OK)
            return status;
        if (desc->mode == STRATA_SHARED_MIRRORED)
            return strata_fail(STRATA_UNSUPPORTED,
                               "MIRRORED shared memory has no pools, and device '%s' has no better; create its buffers "
                               "without one.",
                               device->name);
    }
    uint64_t largest = device->info.max_buffer_bytes;
    if (desc->limit_bytes && (desc->initial_bytes > desc->limit_bytes || desc->block_bytes > desc->limit_bytes))
        return strata_fail(STRATA_INVALID_ARGUMENT,
                           "The pool is to begin with %" PRIu64 " bytes, but has a limit of %" PRIu64 ".",
                           larger(desc->initial_bytes, desc->block_bytes), desc->limit_bytes);
    if (desc->initial_bytes > largest || desc->block_bytes > largest || desc->max_block_bytes > largest)
        return strata_fail(STRATA_TOO_LARGE,
                           "A block of a pool is one buffer, which on device '%s' has at most %" PRIu64 " bytes.",
                           device->name, largest);
    return STRATA_OK;
}

/* The sizes that the caller left to strata; all whole granules. */
static void choose_sizes(strata_pool *pool) {
    struct strata_pool_desc *desc = &pool->desc;
    const struct strata_device_info *info = &pool->device->info;
    uint64_t bound = smaller(info->max_buffer_bytes, info->global_bytes / BLOCK_SHARE);
    if (desc->limit_bytes)
        bound = smaller(bound, desc->limit_bytes);
    if (desc->max_block_bytes == 0)
        desc->max_block_bytes = larger(smaller(MAX_BLOCK_BYTES, bound), desc->block_bytes);
    if (desc->block_bytes == 0)
        desc->block_bytes = smaller(FIRST_BLOCK_BYTES, desc->max_block_bytes);
    desc->max_block_bytes = larger(desc->max_block_bytes & ~(pool->granularity - 1), pool->granularity);
    desc->block_bytes = larger(desc->block_bytes & ~(pool->granularity - 1), pool->granularity);
    if (desc->dedicated_bytes == 0)
        desc->dedicated_bytes = larger(desc->max_block_bytes / DEDICATED_SHARE, pool->granularity);
    if (desc->keep_bytes == 0)
        desc->keep_bytes = info->global_bytes / KEEP_SHARE;
    if (desc->keep_bytes == 1)
        desc->keep_bytes = 0;
}

static void release_pool(strata_pool *pool) {
    strata_device *device = pool->device;
    if (atomic_fetch_sub(&pool->references, 1) != 1)
        return;
    pthread_mutex_destroy(&pool->lock);
    strata_host_release(&device->hooks, pool->name);
    strata_host_release(&device->hooks, pool);
    strata_device_release(device);
}

static enum strata_status create(strata_device *device, const struct strata_pool_desc *desc, strata_pool **result) {
    strata_pool *pool = strata_host_allocate(&device->hooks, sizeof *pool);
    if (!pool)
        return strata_fail_host_memory(sizeof *pool, "a pool");
    pool->name =
        strata_host_copy_string(&device->hooks, desc->name ? desc->name : "", desc->name ? strlen(desc->name) : 0);
    if (!pool->name) {
        strata_host_release(&device->hooks, pool);
        return strata_fail_host_memory(1, "a pool's name");
    }
    atomic_init(&pool->references, 1);
    pool->device = device;
    pool->desc = *desc;
    pool->granularity = larger(LEAST_ALIGNMENT, device->backend->device->part_alignment(device->native));
    pool->pending_end = &pool->pending;
    pthread_mutex_init(&pool->lock, NULL);
    strata_device_retain(device);
    choose_sizes(pool);
    enum strata_status status = STRATA_OK;
    if (desc->initial_bytes) {
        pthread_mutex_lock(&pool->lock);
        status = strata_pool_add_block(pool, larger(round_up(pool, desc->initial_bytes), pool->granularity));
        pthread_mutex_unlock(&pool->lock);
    }
    if (status != STRATA_OK) {
        release_pool(pool);
        return status;
    }
    pthread_mutex_lock(&device->lock);
    pool->next = device->pools;
    device->pools = pool;
    pthread_mutex_unlock(&device->lock);
    *result = pool;
    return STRATA_OK;
}

enum strata_status strata_pool_create(strata_device *device, const struct strata_pool_desc *given,
                                      strata_pool **result) {
    STRATA_REFUSE_IN_CHILD();
    if (!result)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_pool_create needs a place for the pool.");
    *result = NULL;
    struct strata_pool_desc desc = {.size = sizeof desc};
    enum strata_status status = strata_device_check(device);
    if (status == STRATA_OK)
        status = strata_desc_read(given, &desc, sizeof desc, "strata_pool_desc");
    if (status == STRATA_OK)
        status = check_desc(device, &desc);
    return status == STRATA_OK ? create(device, &desc, result) : status;
}

/* Nothing of the pool is alive, and the handle is gone. */
static void finish(strata_pool *pool) {
    strata_device *device = pool->device;
    pthread_mutex_lock(&device->lock);
    strata_pool **place = &device->pools;
    while (*place && *place != pool)
        place = &(*place)->next;
    if (*place)
        *place = pool->next;
    pthread_mutex_unlock(&device->lock);
    strata_pool_flush(pool);
    strata_pool_reap(pool, true);
    pthread_mutex_lock(&pool->lock);
    strata_pool_release_unused(pool, 0);
    pthread_mutex_unlock(&pool->lock);
    release_pool(pool);
}

/* From here on nothing is kept; `handles` are still to be given back beside the live buffers. True: nothing is left. */
static bool begin_closing(strata_pool *pool, uint64_t handles) {
    uint64_t live = handles;
    pthread_mutex_lock(&pool->lock);
    for (unsigned i = 0; i < STRATA_SHARDS; i++)
        strata_spin_lock(&pool->device->shards[i].lock);
    for (unsigned i = 0; i < STRATA_SHARDS; i++)
        live += pool->magazines[i].count.live_buffers;
    bool was = pool->closing;
    pool->closing = true;
    for (unsigned i = 0; i < STRATA_SHARDS; i++)
        strata_spin_unlock(&pool->device->shards[i].lock);
    if (!was)
        pool->left = live;
    pthread_mutex_unlock(&pool->lock);
    return live == 0;
}

void strata_pool_give_last(strata_pool *pool, strata_buffer *buffer) {
    if (buffer) {
        buffer->next = NULL;
        strata_pool_give_list(pool, buffer);
    }
    pthread_mutex_lock(&pool->lock);
    bool last = --pool->left == 0;
    pthread_mutex_unlock(&pool->lock);
    if (last)
        finish(pool);
}

void strata_pool_destroy(strata_pool **place) {
    if (!place || !*place || (*place)->is_default)
        return;
    strata_pool *pool = *place;
    *place = NULL;
    if (strata_fork_happened())
        return; /* its locks may be held by threads that no longer exist */
    if (pool->closing)
        strata_pool_give_last(pool, NULL);
    else if (begin_closing(pool, 0))
        finish(pool);
}

void strata_pools_close(strata_device *device) {
    for (;;) {
        pthread_mutex_lock(&device->lock);
        strata_pool *pool = device->pools;
        while (pool && pool->closing)
            pool = pool->next;
        pthread_mutex_unlock(&device->lock);
        if (!pool)
            return;
        bool is_default = pool->is_default;
        if (begin_closing(pool, is_default ? 0 : 1)) {
            finish(pool);
            continue;
        }
        strata_pool_flush(pool);
        strata_pool_reap(pool, true);
        pthread_mutex_lock(&pool->lock);
        strata_pool_release_unused(pool, 0);
        pthread_mutex_unlock(&pool->lock);
    }
}

void strata_pools_for_each(strata_device *device, void (*function)(strata_pool *pool, void *user), void *user) {
    strata_pool *pools[POOLS_AT_ONCE];
    size_t count = POOLS_AT_ONCE;
    for (size_t from = 0; count == POOLS_AT_ONCE; from += count) {
        size_t at = 0;
        count = 0;
        pthread_mutex_lock(&device->lock);
        for (strata_pool *pool = device->pools; pool && count < POOLS_AT_ONCE; pool = pool->next)
            if (at++ >= from) {
                atomic_fetch_add(&pool->references, 1);
                pools[count++] = pool;
            }
        pthread_mutex_unlock(&device->lock);
        for (size_t i = 0; i < count; i++) {
            function(pools[i], user);
            release_pool(pools[i]);
        }
    }
}

static void trim(strata_pool *pool, void *user) {
    (void)user;
    strata_pool_trim(pool, 0, NULL);
}

void strata_pools_trim(strata_device *device) {
    strata_pools_for_each(device, trim, NULL);
}

static void settle(strata_pool *pool, void *user) {
    (void)user;
    strata_pool_flush(pool);
    strata_pool_reap(pool, true);
}

void strata_pools_settle(strata_device *device) {
    strata_pools_for_each(device, settle, NULL);
}

static void add_pending(strata_pool *pool, void *user) {
    struct strata_pool_stats stats = {.size = sizeof stats};
    if (strata_pool_get_stats(pool, &stats) == STRATA_OK)
        *(uint64_t *)user += stats.pending_bytes;
}

uint64_t strata_pools_pending(strata_device *device) {
    uint64_t bytes = 0;
    strata_pools_for_each(device, add_pending, &bytes);
    return bytes;
}

enum strata_status strata_pool_trim(strata_pool *pool, uint64_t keep_bytes, uint64_t *freed) {
    STRATA_REFUSE_IN_CHILD();
    if (freed)
        *freed = 0;
    if (!pool)
        return strata_fail(STRATA_INVALID_ARGUMENT, "The pool is NULL.");
    strata_pool_flush(pool);
    strata_pool_reap(pool, false);
    pthread_mutex_lock(&pool->lock);
    uint64_t bytes = strata_pool_release_unused(pool, keep_bytes);
    pthread_mutex_unlock(&pool->lock);
    if (freed)
        *freed = bytes;
    return STRATA_OK;
}

/* The device's own pool of a kind. */
static strata_pool *default_pool(strata_device *device, enum strata_kind kind, enum strata_status *status) {
    *status = STRATA_OK;
    if (device->no_pools || (kind != STRATA_DEVICE && kind != STRATA_PINNED))
        return NULL;
    strata_pool *pool = atomic_load_explicit(&device->default_pools[kind], memory_order_acquire);
    if (pool)
        return pool;
    pthread_mutex_lock(&device->pools_lock);
    pool = atomic_load(&device->default_pools[kind]);
    if (!pool) {
        struct strata_pool_desc desc = {.size = sizeof desc, .kind = kind};
        *status = create(device, &desc, &pool);
        if (*status == STRATA_OK) {
            pool->is_default = true;
            atomic_store_explicit(&device->default_pools[kind], pool, memory_order_release);
        }
    }
    pthread_mutex_unlock(&device->pools_lock);
    return pool;
}

strata_pool *strata_device_pool(strata_device *device, enum strata_kind kind) {
    enum strata_status status;
    if (strata_fork_happened() || strata_device_check(device) != STRATA_OK)
        return NULL;
    return default_pool(device, kind, &status);
}

/* Why a pool that was named does not serve a desc. */
static enum strata_status fail_unsuitable(const strata_device *device, const struct strata_buffer_desc *desc) {
    const strata_pool *pool = desc->pool;
    char label[96];
    strata_pool_label(pool, label, sizeof label);
    if (pool->device != device)
        return strata_fail(STRATA_INVALID_ARGUMENT, "The %s is of device '%s', not of '%s'.", label, pool->device->name,
                           device->name);
    if (desc->dedicated || desc->kernel_access || desc->over_limit)
        return strata_fail(
            STRATA_INVALID_ARGUMENT,
            "A buffer of a pool cannot be dedicated, over_limit or kernel_access; it was to be of the %s.", label);
    return strata_fail(STRATA_INVALID_ARGUMENT, "The %s is for another kind of memory than the buffer's.", label);
}

strata_pool *strata_pool_for(strata_device *device, const struct strata_buffer_desc *desc, enum strata_status *status) {
    *status = STRATA_OK;
    if (!desc->pool) {
        bool own =
            desc->dedicated || desc->bytes == 0 || desc->kernel_access || desc->bytes > device->info.max_buffer_bytes;
        return own ? NULL : default_pool(device, desc->kind, status);
    }
    if (desc->pool->device != device || desc->pool->desc.kind != desc->kind || desc->dedicated || desc->kernel_access ||
        desc->over_limit || (desc->mode != STRATA_SHARED_NONE && desc->mode != desc->pool->desc.mode)) {
        *status = fail_unsuitable(device, desc);
        return NULL;
    }
    return desc->bytes ? desc->pool : NULL;
}

/* The largest live buffers of the pool, largest first; how many. */
static unsigned find_holders(strata_pool *pool, char text[HOLDERS][128], uint64_t bytes[HOLDERS]) {
    unsigned count = 0;
    for (unsigned i = 0; i < STRATA_SHARDS; i++) {
        strata_spin_lock(&pool->device->shards[i].lock);
        for (const strata_buffer *buffer = pool->device->shards[i].buffers; buffer; buffer = buffer->next) {
            if (buffer->pool != pool || (count == HOLDERS && buffer->info.bytes <= bytes[HOLDERS - 1]))
                continue;
            unsigned at = count < HOLDERS ? count++ : HOLDERS - 1;
            for (; at > 0 && bytes[at - 1] < buffer->info.bytes; at--) {
                bytes[at] = bytes[at - 1];
                memcpy(text[at], text[at - 1], sizeof text[at]);
            }
            char label[96], size[32];
            bytes[at] = buffer->info.bytes;
            snprintf(text[at], sizeof text[at], "%s (%s)", strata_buffer_label(buffer, label, sizeof label),
                     strata_format_bytes(buffer->info.bytes, size, sizeof size));
        }
        strata_spin_unlock(&pool->device->shards[i].lock);
    }
    return count;
}

static enum strata_status fail_exhausted(strata_pool *pool, uint64_t asked) {
    char text[HOLDERS][128], label[96], holders[512] = "", reason[512];
    uint64_t bytes[HOLDERS] = {0}, live = 0;
    const struct strata_error *error = strata_last_error();
    snprintf(reason, sizeof reason, "%.500s", error->message);
    int32_t code = error->native_code;
    const char *name = error->native_name;
    unsigned count = find_holders(pool, text, bytes);
    size_t at = 0;
    for (unsigned i = 0; i < count; i++)
        at += (size_t)snprintf(holders + at, sizeof holders - at, "%s%s", i ? ", " : " Its largest holders: ", text[i]);
    pthread_mutex_lock(&pool->lock);
    pool->failed++;
    uint64_t reserved = pool->reserved;
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < STRATA_SHARDS; i++) {
        strata_spin_lock(&pool->device->shards[i].lock);
        live += pool->magazines[i].count.live_bytes;
        strata_spin_unlock(&pool->device->shards[i].lock);
    }
    return strata_fail_native(STRATA_OUT_OF_MEMORY, code, name,
                              "The %s of device '%s' has no %" PRIu64 " bytes left: %" PRIu64 " of its %" PRIu64
                              " are in use, and no more can be had. %s%s%s",
                              strata_pool_label(pool, label, sizeof label), pool->device->name, asked, live, reserved,
                              reason, holders, count ? "." : "");
}

/* A piece of what the pool has, or of what it can take from the runtime. NULL: neither, or with *status a failure that
 * is not for want of memory. */
static strata_buffer *cut_or_grow(strata_pool *pool, struct strata_request *request, bool grow,
                                  enum strata_status *status) {
    strata_buffer *buffer = NULL;
    pthread_mutex_lock(&pool->lock);
    buffer = strata_pool_cut(pool, request, status);
    if (!buffer && *status == STRATA_OK && grow)
        *status = strata_pool_grow(pool, request, &buffer);
    pthread_mutex_unlock(&pool->lock);
    if (!buffer)
        return NULL;
    unsigned index = strata_shard_of_thread();
    struct strata_shard *shard = &pool->device->shards[index];
    strata_spin_lock(&shard->lock);
    strata_pool_revive(pool, buffer, request, index, false);
    strata_spin_unlock(&shard->lock);
    return buffer;
}

/* The ladder: each step is dearer than the one before, and after each that may have found memory all is tried again. */
static strata_buffer *climb(strata_pool *pool, struct strata_request *request, enum strata_status *status) {
    strata_buffer *buffer = cut_or_grow(pool, request, false, status);
    if (!buffer && *status == STRATA_OK)
        buffer = strata_pool_take_kept(pool, request, true);
    for (int step = 0; step < 3 && !buffer && (*status == STRATA_OK || *status == STRATA_OUT_OF_MEMORY); step++) {
        if (step == 2) {
            strata_pools_settle(pool->device);
            strata_pools_trim(pool->device);
            strata_retired_reap(pool->device, true);
        } else {
            strata_pool_flush(pool);
            strata_pool_reap(pool, step == 1);
        }
        buffer = strata_pool_take_kept(pool, request, true);
        if (!buffer)
            buffer = cut_or_grow(pool, request, true, status);
    }
    return buffer;
}

static enum strata_status serve(strata_pool *pool, struct strata_request *request, strata_buffer **result) {
    enum strata_status status = STRATA_OK;
    strata_buffer *buffer = strata_pool_take_kept(pool, request, false);
    while (!buffer) {
        buffer = climb(pool, request, &status);
        if (buffer)
            break;
        if (status != STRATA_OUT_OF_MEMORY)
            return status;
        if (!pool->desc.exhausted || !pool->desc.exhausted(pool, request->desc->bytes, pool->desc.exhausted_user))
            return fail_exhausted(pool, request->desc->bytes);
    }
    if (buffer->block->plain) {
        pthread_mutex_lock(&pool->lock);
        pool->fell_back++;
        pthread_mutex_unlock(&pool->lock);
        strata_memory_tell_of_plain(pool->device);
    }
    *result = buffer;
    return STRATA_OK;
}

enum strata_status strata_pool_take(strata_pool *pool, const struct strata_buffer_desc *desc, strata_buffer **result) {
    strata_device *device = pool->device;
    const strata_queue *queue = desc->queue ? desc->queue : device->queue;
    struct strata_request request = {
        .desc = desc, .rounded = round_up(pool, desc->bytes), .hint = UINT64_C(1) << queue->slot};
    if (desc->name && strlen(desc->name) >= STRATA_SHORT_NAME) {
        request.name = strata_host_copy_string(&device->hooks, desc->name, strlen(desc->name));
        if (!request.name)
            return strata_fail_host_memory(strlen(desc->name), "a buffer's name");
    }
    enum strata_status status = serve(pool, &request, result);
    strata_host_release(&device->hooks, request.name);
    return status;
}
