/* The records of a trace: what happened to a device's memory, put into the ring under the locks that it happened under.
 */
#include "memory/trace.h"

#include <string.h>
#include <time.h>

/* Texts of a device's record; a pool's and a buffer's name have STRATA_TRACE_TEXT_MOST. */
#define DEVICE_TEXT_MOST 200

/* More than any record has: the device's has four texts, and all have few numbers. */
#define RECORD_MOST 1024
_Static_assert(RECORD_MOST >= 4 * (DEVICE_TEXT_MOST + 2) + 16 * 10, "a record fits where RECORD_MOST is left");

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static struct strata_trace_chunk *current(struct strata_trace *trace) {
    return &trace->chunks[trace->head % trace->count];
}

static void put(struct strata_trace *trace, uint64_t value) {
    struct strata_trace_chunk *chunk = current(trace);
    while (value >= 0x80) {
        chunk->bytes[chunk->used++] = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    chunk->bytes[chunk->used++] = (unsigned char)value;
}

static void put_text(struct strata_trace *trace, const char *text, size_t most) {
    struct strata_trace_chunk *chunk = current(trace);
    size_t length = strnlen(text, most);
    put(trace, length);
    memcpy(chunk->bytes + chunk->used, text, length);
    chunk->used += length;
}

static void begin_chunk(struct strata_trace *trace, uint64_t time) {
    struct strata_trace_chunk *chunk = current(trace);
    chunk->used = STRATA_TRACE_CHUNK_HEAD;
    chunk->records = 0;
    for (unsigned i = 0; i < 8; i++)
        chunk->bytes[16 + i] = (unsigned char)(time >> 8 * i);
    trace->thread = 0;
    trace->time = time;
}

/* Under the ring's lock: begins a record. False when the trace takes no more. */
static bool begin(strata_device *device, struct strata_trace *trace, enum strata_trace_type type) {
    if (trace->ended)
        return false;
    uint64_t time = now_ns();
    struct strata_trace_chunk *chunk = current(trace);
    if (chunk->used + RECORD_MOST > sizeof chunk->bytes) {
        if (trace->head + 1 - trace->tail == trace->count) {
            trace->ended = trace->overrun = true;
            return false;
        }
        trace->head++;
        begin_chunk(trace, time);
        chunk = current(trace);
        atomic_store_explicit(&device->trace_due, true, memory_order_relaxed);
    } else if (chunk->used == 0) {
        begin_chunk(trace, time);
    }
    unsigned thread = strata_thread_number();
    bool same = thread == trace->thread;
    chunk->records++;
    chunk->bytes[chunk->used++] = (unsigned char)(type | (same ? STRATA_TRACE_SAME_THREAD : 0));
    if (!same)
        put(trace, thread);
    put(trace, time - trace->time);
    trace->thread = thread;
    trace->time = time;
    return true;
}

/* The pool's number, for a record that is to follow. */
static uint64_t number_of(struct strata_trace *trace, strata_pool *pool) {
    if (!pool)
        return 0;
    if (pool->traced == trace->serial)
        return pool->trace_number;
    const struct strata_pool_desc *desc = &pool->desc;
    if (!begin(pool->device, trace, STRATA_TRACE_POOL))
        return 0;
    pool->traced = trace->serial;
    pool->trace_number = ++trace->pools;
    put(trace, pool->trace_number);
    put(trace, desc->kind);
    put(trace, (pool->is_default ? STRATA_TRACE_DEFAULT_POOL : 0u) | (desc->no_commit ? STRATA_TRACE_NO_COMMIT : 0u));
    put_text(trace, pool->name, STRATA_TRACE_TEXT_MOST);
    put(trace, pool->granularity);
    put(trace, desc->limit_bytes);
    put(trace, desc->block_bytes);
    put(trace, desc->max_block_bytes);
    put(trace, desc->dedicated_bytes);
    put(trace, desc->keep_bytes);
    return pool->trace_number;
}

/* Records a block that the trace does not know of. */
static void know_block(struct strata_trace *trace, strata_pool *pool, struct strata_block *block, unsigned flags) {
    if (block->traced == trace->serial)
        return;
    uint64_t number = number_of(trace, pool);
    if (!begin(pool->device, trace, STRATA_TRACE_GROW))
        return;
    block->traced = trace->serial;
    put(trace, flags | (block->offsets ? 0 : STRATA_TRACE_DEDICATED) | (block->plain ? STRATA_TRACE_PLAIN : 0));
    put(trace, number);
    put(trace, block->number);
    put(trace, block->bytes);
}

/* A name of the length that most have is written once, as long as no other one takes its place. */
static void put_name(struct strata_trace *trace, const char *name) {
    uint32_t hash = 2166136261u;
    size_t length = 0;
    for (; name[length] && length < STRATA_SHORT_NAME; length++)
        hash = (hash ^ (unsigned char)name[length]) * 16777619u;
    unsigned place = (hash ^ hash >> 16) % STRATA_TRACE_NAMES;
    if (length == STRATA_SHORT_NAME) {
        put(trace, 0);
    } else if (strcmp(trace->names[place], name) == 0) {
        put(trace, 2 * (uint64_t)place + 1);
        return;
    } else {
        memcpy(trace->names[place], name, length + 1);
        put(trace, 2 * (uint64_t)place + 2);
    }
    put_text(trace, name, STRATA_TRACE_TEXT_MOST);
}

static uint64_t zigzag(uint64_t difference) {
    return difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0);
}

/* What a buffer has of memory that strata took. */
static uint64_t given_bytes(const strata_buffer *buffer) {
    if (buffer->pool)
        return buffer->given_bytes;
    bool taken = buffer->taken_bytes || buffer->info.kind == STRATA_PINNED;
    return buffer->native && taken ? buffer->info.bytes : 0;
}

static void record_create(struct strata_trace *trace, strata_buffer *buffer, const strata_queue *queue,
                          unsigned flags) {
    const struct strata_buffer_info *info = &buffer->info;
    strata_device *device = buffer->device;
    uint64_t pool = number_of(trace, buffer->pool);
    if (buffer->pool)
        know_block(trace, buffer->pool, buffer->block, STRATA_TRACE_THERE);
    if (!begin(device, trace, STRATA_TRACE_CREATE))
        return;
    buffer->trace_number = trace->buffers++;
    flags |= (unsigned)info->kind | (unsigned)info->access << STRATA_TRACE_ACCESS_SHIFT;
    flags |= (queue ? STRATA_TRACE_HAS_QUEUE : 0u) | (buffer->name[0] ? STRATA_TRACE_HAS_NAME : 0u);
    struct strata_trace_chunk *chunk = current(trace);
    chunk->bytes[chunk->used++] = (unsigned char)flags;
    put(trace, pool);
    put(trace, info->bytes);
    put(trace, zigzag(given_bytes(buffer) - info->bytes));
    if (queue)
        put(trace, queue->slot);
    if (buffer->name[0])
        put_name(trace, buffer->name);
}

void strata_trace_create(struct strata_trace *trace, strata_buffer *buffer, const strata_queue *queue, unsigned flags) {
    strata_spin_lock(&trace->lock);
    record_create(trace, buffer, queue, flags);
    strata_spin_unlock(&trace->lock);
}

void strata_trace_destroy(struct strata_trace *trace, const strata_buffer *buffer) {
    strata_spin_lock(&trace->lock);
    if (begin(buffer->device, trace, STRATA_TRACE_DESTROY))
        put(trace, trace->buffers - buffer->trace_number);
    strata_spin_unlock(&trace->lock);
}

/* The trace, with the lock of this thread's shard held as long as it is used; or NULL. */
static struct strata_trace *enter(strata_device *device) {
    struct strata_shard *shard = &device->shards[strata_shard_of_thread()];
    strata_spin_lock(&shard->lock);
    if (!shard->trace) {
        strata_spin_unlock(&shard->lock);
        return NULL;
    }
    strata_spin_lock(&shard->trace->lock);
    return shard->trace;
}

static void leave(strata_device *device, struct strata_trace *trace) {
    strata_spin_unlock(&trace->lock);
    strata_spin_unlock(&device->shards[strata_shard_of_thread()].lock);
}

void strata_trace_grow(strata_pool *pool, struct strata_block *block) {
    struct strata_trace *trace = enter(pool->device);
    if (!trace)
        return;
    know_block(trace, pool, block, 0);
    leave(pool->device, trace);
}

void strata_trace_trim(strata_pool *pool, const struct strata_block *block) {
    struct strata_trace *trace = enter(pool->device);
    if (!trace)
        return;
    if (block->traced == trace->serial && begin(pool->device, trace, STRATA_TRACE_TRIM)) {
        put(trace, pool->trace_number);
        put(trace, block->number);
        put(trace, block->bytes);
    }
    leave(pool->device, trace);
}

void strata_trace_wait(strata_pool *pool, bool end) {
    struct strata_trace *trace = enter(pool->device);
    if (!trace)
        return;
    uint64_t number = number_of(trace, pool);
    if (begin(pool->device, trace, end ? STRATA_TRACE_WAIT_END : STRATA_TRACE_WAIT_BEGIN))
        put(trace, number);
    leave(pool->device, trace);
}

void strata_trace_fail(strata_device *device, const struct strata_buffer_desc *desc, strata_pool *pool,
                       enum strata_status status) {
    struct strata_trace *trace = enter(device);
    if (!trace)
        return;
    uint64_t number = number_of(trace, pool);
    if (begin(device, trace, STRATA_TRACE_FAIL)) {
        put(trace, ((unsigned)desc->kind & 3) | ((unsigned)desc->access & 3) << STRATA_TRACE_ACCESS_SHIFT);
        put(trace, number);
        put(trace, desc->bytes);
        put(trace, status);
    }
    leave(device, trace);
}

void strata_trace_device(struct strata_trace *trace, const strata_device *device) {
    strata_spin_lock(&trace->lock);
    if (begin((strata_device *)(uintptr_t)device, trace, STRATA_TRACE_DEVICE)) {
        put_text(trace, device->name, DEVICE_TEXT_MOST);
        put_text(trace, device->info.platform, DEVICE_TEXT_MOST);
        put_text(trace, device->info.driver_version, DEVICE_TEXT_MOST);
        put(trace, device->info.global_bytes);
        put(trace, device->info.max_buffer_bytes);
        put(trace, device->memory_limit);
        put(trace, device->pinned_limit);
        put_text(trace, strata_version(), DEVICE_TEXT_MOST);
    }
    strata_spin_unlock(&trace->lock);
}

void strata_trace_existing(struct strata_trace *trace, strata_pool *pool, struct strata_block *block) {
    strata_spin_lock(&trace->lock);
    know_block(trace, pool, block, STRATA_TRACE_THERE);
    strata_spin_unlock(&trace->lock);
}
