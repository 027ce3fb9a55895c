/* What strata holds on a device: counts by kind, and the list of what is alive. */
#include "core/fork.h"
#include "memory/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void raise(uint64_t *peak, uint64_t value) {
    if (*peak < value)
        *peak = value;
}

void strata_count_in(struct strata_count *count, uint64_t bytes) {
    count->live_bytes += bytes;
    count->live_buffers++;
    count->total_buffers++;
    raise(&count->peak_bytes, count->live_bytes);
}

void strata_count_out(struct strata_count *count, uint64_t bytes) {
    count->live_bytes -= bytes;
    count->live_buffers--;
}

unsigned strata_thread_number(void) {
    static atomic_uint threads;
    static _Thread_local unsigned number; /* 0: none yet */
    if (number == 0)
        number = atomic_fetch_add(&threads, 1) + 1;
    return number;
}

unsigned strata_shard_of_thread(void) {
    return (strata_thread_number() - 1) % STRATA_SHARDS;
}

void strata_shard_enter(struct strata_shard *shard, strata_buffer *buffer) {
    buffer->alive = true;
    buffer->previous = NULL;
    buffer->next = shard->buffers;
    if (shard->buffers)
        shard->buffers->previous = buffer;
    shard->buffers = buffer;
    strata_count_in(&shard->kind[buffer->info.kind], buffer->info.bytes);
    strata_count_in(&shard->total, buffer->info.bytes);
}

void strata_shard_leave(struct strata_shard *shard, strata_buffer *buffer) {
    buffer->alive = false;
    if (buffer->previous)
        buffer->previous->next = buffer->next;
    else
        shard->buffers = buffer->next;
    if (buffer->next)
        buffer->next->previous = buffer->previous;
    strata_count_out(&shard->kind[buffer->info.kind], buffer->info.bytes);
    strata_count_out(&shard->total, buffer->info.bytes);
}

void strata_buffer_enlist(strata_buffer *buffer) {
    buffer->shard = strata_shard_of_thread();
    struct strata_shard *shard = &buffer->device->shards[buffer->shard];
    strata_spin_lock(&shard->lock);
    strata_shard_enter(shard, buffer);
    if (shard->trace)
        strata_trace_create(shard->trace, buffer, NULL, 0);
    strata_spin_unlock(&shard->lock);
}

void strata_buffer_delist(strata_buffer *buffer) {
    struct strata_shard *shard = &buffer->device->shards[buffer->shard];
    strata_spin_lock(&shard->lock);
    strata_shard_leave(shard, buffer);
    if (shard->trace)
        strata_trace_destroy(shard->trace, buffer);
    strata_spin_unlock(&shard->lock);
}

static void lock_all(strata_device *device) {
    for (unsigned i = 0; i < STRATA_SHARDS; i++)
        strata_spin_lock(&device->shards[i].lock);
}

static void unlock_all(strata_device *device) {
    for (unsigned i = 0; i < STRATA_SHARDS; i++)
        strata_spin_unlock(&device->shards[i].lock);
}

/* Under all locks. */
static struct strata_memory_stats sum_up(const strata_device *device) {
    struct strata_memory_stats stats = {.size = sizeof stats};
    for (unsigned i = 0; i < STRATA_SHARDS; i++) {
        const struct strata_shard *shard = &device->shards[i];
        for (unsigned kind = 0; kind < 4; kind++) {
            stats.kind[kind].live_bytes += shard->kind[kind].live_bytes;
            stats.kind[kind].peak_bytes += shard->kind[kind].peak_bytes;
            stats.kind[kind].live_buffers += shard->kind[kind].live_buffers;
            stats.kind[kind].total_buffers += shard->kind[kind].total_buffers;
        }
        stats.live_bytes += shard->total.live_bytes;
        stats.peak_bytes += shard->total.peak_bytes;
    }
    return stats;
}

enum strata_status strata_device_stats(strata_device *device, struct strata_memory_stats *result) {
    STRATA_REFUSE_IN_CHILD();
    enum strata_status status = strata_device_check(device);
    if (status == STRATA_OK)
        status = strata_stats_check_size(result, sizeof *result, "strata_device_stats");
    if (status != STRATA_OK)
        return status;
    lock_all(device);
    struct strata_memory_stats stats = sum_up(device);
    unlock_all(device);
    pthread_mutex_lock(&device->lock);
    stats.pending_bytes = device->retired_bytes;
    pthread_mutex_unlock(&device->lock);
    stats.pending_bytes += strata_pools_pending(device);
    stats.size = result->size;
    memcpy(result, &stats, stats.size);
    return STRATA_OK;
}

enum strata_status strata_stats_check_size(const void *stats, size_t known, const char *what) {
    size_t size = 0;
    if (stats)
        memcpy(&size, stats, sizeof size);
    if (size < sizeof size || size > known)
        return strata_fail(STRATA_INVALID_ARGUMENT,
                           "%s needs a struct whose size member says at most %zu, this library's size.", what, known);
    return STRATA_OK;
}

/* How the counts stood when a scope began. */
struct strata_scope {
    struct strata_scope *outer;
    struct strata_count before[STRATA_SHARDS];
};

enum strata_status strata_device_stats_push(strata_device *device) {
    STRATA_REFUSE_IN_CHILD();
    enum strata_status status = strata_device_check(device);
    if (status != STRATA_OK)
        return status;
    struct strata_scope *scope = strata_host_allocate(&device->hooks, sizeof *scope);
    if (!scope)
        return strata_fail_host_memory(sizeof *scope, "a scope of statistics");
    pthread_mutex_lock(&device->lock);
    lock_all(device);
    for (unsigned i = 0; i < STRATA_SHARDS; i++) {
        struct strata_count *total = &device->shards[i].total;
        scope->before[i] = *total;
        total->peak_bytes = total->live_bytes;
    }
    scope->outer = device->scopes;
    device->scopes = scope;
    unlock_all(device);
    pthread_mutex_unlock(&device->lock);
    return STRATA_OK;
}

/* Under all locks: what the scope saw; and its peak becomes the outer one's, if that is higher. */
static struct strata_scope_stats end_scope(strata_device *device, const struct strata_scope *scope) {
    struct strata_scope_stats stats = {.size = sizeof stats};
    for (unsigned i = 0; i < STRATA_SHARDS; i++) {
        struct strata_count *now = &device->shards[i].total;
        const struct strata_count *before = &scope->before[i];
        stats.net_bytes += (int64_t)(now->live_bytes - before->live_bytes);
        stats.net_buffers += (int64_t)(now->live_buffers - before->live_buffers);
        stats.peak_bytes += now->peak_bytes - before->live_bytes;
        stats.created += now->total_buffers - before->total_buffers;
        raise(&now->peak_bytes, before->peak_bytes);
    }
    stats.destroyed = stats.created - (uint64_t)stats.net_buffers;
    return stats;
}

enum strata_status strata_device_stats_pop(strata_device *device, struct strata_scope_stats *result) {
    STRATA_REFUSE_IN_CHILD();
    enum strata_status status = strata_device_check(device);
    if (status == STRATA_OK && result)
        status = strata_stats_check_size(result, sizeof *result, "strata_device_stats_pop");
    if (status != STRATA_OK)
        return status;
    pthread_mutex_lock(&device->lock);
    struct strata_scope *scope = device->scopes;
    struct strata_scope_stats stats = {0};
    if (scope) {
        device->scopes = scope->outer;
        lock_all(device);
        stats = end_scope(device, scope);
        unlock_all(device);
    }
    pthread_mutex_unlock(&device->lock);
    if (!scope)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_device_stats_pop has no strata_device_stats_push to end.");
    strata_host_release(&device->hooks, scope);
    if (result) {
        stats.size = result->size;
        memcpy(result, &stats, stats.size);
    }
    return STRATA_OK;
}

void strata_scopes_free(strata_device *device) {
    while (device->scopes) {
        struct strata_scope *scope = device->scopes;
        device->scopes = scope->outer;
        strata_host_release(&device->hooks, scope);
    }
}

/* One line of the report, made under the lock and logged outside of it. */
static bool describe(strata_device *device, uint64_t index, char *line, size_t size) {
    static const char *const kinds[] = {"device", "pinned", "wrapped", "shared"};
    const strata_buffer *buffer = NULL;
    for (unsigned i = 0; i < STRATA_SHARDS && !buffer; i++) {
        strata_spin_lock(&device->shards[i].lock);
        buffer = device->shards[i].buffers;
        for (; buffer && index > 0; index--)
            buffer = buffer->next;
        if (buffer) {
            char label[96];
            bool has_site = buffer->site && buffer->site[0];
            snprintf(line, size,
                     "Leak: %s of %" PRIu64 " bytes (%s memory)%s%.200s is still alive as device '%s' closes.",
                     strata_buffer_label(buffer, label, sizeof label), buffer->info.bytes, kinds[buffer->info.kind],
                     has_site ? ", created at " : "", has_site ? buffer->site : "", device->name);
        }
        strata_spin_unlock(&device->shards[i].lock);
    }
    return buffer != NULL;
}

uint64_t strata_leak_report(strata_device *device) {
    char line[512];
    uint64_t count = 0;
    while (describe(device, count, line, sizeof line)) {
        strata_device_log(device, STRATA_LOG_WARNING, "%s", line);
        count++;
    }
    return count;
}
