/* Buffers: creating each kind, describing it, giving it back; and slices. */
#include "core/fork.h"
#include "memory/trace.h"
#include "strata/transfer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What strata promises for memory that it allocates, whatever the device asks for. */
#define LEAST_ALIGNMENT UINT64_C(256)

void strata_buffer_desc_init(struct strata_buffer_desc *desc) {
    *desc = (struct strata_buffer_desc){.size = sizeof *desc};
}

const char *strata_buffer_label(const strata_buffer *buffer, char *place, size_t size) {
    if (buffer->name[0])
        snprintf(place, size, "buffer '%.64s'", buffer->name);
    else
        snprintf(place, size, "unnamed buffer");
    return place;
}

static uint64_t alignment_of(const strata_device *device) {
    return device->info.base_alignment > LEAST_ALIGNMENT ? device->info.base_alignment : LEAST_ALIGNMENT;
}

static bool is_aligned(const strata_device *device, const void *pointer) {
    return ((uintptr_t)pointer & (alignment_of(device) - 1)) == 0;
}

static enum strata_status check_desc(const strata_device *device, const struct strata_buffer_desc *desc) {
    char asked[32], limit[32];
    if ((unsigned)desc->kind > STRATA_SHARED)
        return strata_fail(STRATA_INVALID_ARGUMENT, "%d is not a kind of memory.", (int)desc->kind);
    if ((unsigned)desc->access > STRATA_WRITE_ONLY)
        return strata_fail(STRATA_INVALID_ARGUMENT, "%d is not an access of strata_buffer_desc.", (int)desc->access);
    if (desc->kind == STRATA_WRAPPED && desc->bytes && !desc->host_pointer)
        return strata_fail(STRATA_INVALID_ARGUMENT, "WRAPPED memory needs the host_pointer to wrap.");
    if (desc->kind != STRATA_WRAPPED && desc->host_pointer)
        return strata_fail(STRATA_INVALID_ARGUMENT, "host_pointer is for WRAPPED memory only.");
    if (desc->kind != STRATA_SHARED && desc->mode != STRATA_SHARED_NONE)
        return strata_fail(STRATA_INVALID_ARGUMENT, "mode is for SHARED memory only.");
    if (desc->kind != STRATA_PINNED && desc->kernel_access)
        return strata_fail(STRATA_INVALID_ARGUMENT, "kernel_access is for PINNED memory only.");
    if (desc->bytes > device->info.max_buffer_bytes && !desc->over_limit)
        return strata_fail(
            STRATA_TOO_LARGE,
            "A buffer of %" PRIu64 " bytes (%s) is over the %" PRIu64 " (%s) that device '%s' allows for "
            "one buffer, of %" PRIu64 " in all; split it, or try with .over_limit.",
            desc->bytes, strata_format_bytes(desc->bytes, asked, sizeof asked), device->info.max_buffer_bytes,
            strata_format_bytes(device->info.max_buffer_bytes, limit, sizeof limit), device->name,
            device->info.global_bytes);
    if (desc->bytes > SIZE_MAX / 2)
        return strata_fail(STRATA_TOO_LARGE, "A buffer of %" PRIu64 " bytes is beyond any address space.", desc->bytes);
    return STRATA_OK;
}

enum strata_status strata_shared_mode_choose(const strata_device *device, enum strata_shared_mode asked,
                                             enum strata_shared_mode *mode) {
    static const char *const names[] = {"none", "MIRRORED", "MAPPED", "COHERENT"};
    if ((unsigned)asked > STRATA_SHARED_COHERENT)
        return strata_fail(STRATA_INVALID_ARGUMENT, "%d is not a mode of shared memory.", (int)asked);
    if (asked != STRATA_SHARED_NONE) {
        if (!(device->info.shared_modes & (1u << asked)))
            return strata_fail(STRATA_UNSUPPORTED,
                               "Device '%s' has no %s shared memory; leave .mode out to get the best it has.",
                               device->name, names[asked]);
        *mode = asked;
        return STRATA_OK;
    }
    *mode = STRATA_SHARED_COHERENT;
    while (*mode > STRATA_SHARED_MIRRORED && !(device->info.shared_modes & (1u << *mode)))
        *mode = (enum strata_shared_mode)(*mode - 1);
    return STRATA_OK;
}

/* The caller's memory may be wrapped once per device: two buffers over it would lose each other's writes. */
static enum strata_status check_wrapped_once(strata_device *device, const struct strata_buffer_desc *desc) {
    uintptr_t begin = (uintptr_t)desc->host_pointer, end = begin + (uintptr_t)desc->bytes;
    enum strata_status status = STRATA_OK;
    for (unsigned i = 0; i < STRATA_SHARDS && status == STRATA_OK; i++) {
        strata_spin_lock(&device->shards[i].lock);
        for (const strata_buffer *other = device->shards[i].buffers; other && status == STRATA_OK;
             other = other->next) {
            if (other->info.kind != STRATA_WRAPPED || other->info.bytes == 0)
                continue;
            uintptr_t other_begin = (uintptr_t)other->info.host_pointer;
            char label[96];
            if (begin < other_begin + (uintptr_t)other->info.bytes && other_begin < end)
                status = strata_fail(STRATA_INVALID_ARGUMENT,
                                     "This host memory is wrapped already, by the %s; use that one.",
                                     strata_buffer_label(other, label, sizeof label));
        }
        strata_spin_unlock(&device->shards[i].lock);
    }
    return status;
}

enum strata_status strata_buffer_adopt(strata_device *device, const struct strata_buffer_desc *desc,
                                       struct strata_native_buffer *native,
                                       const struct strata_native_buffer_facts *facts, strata_buffer **result) {
    strata_buffer *buffer = strata_host_allocate(&device->hooks, sizeof *buffer);
    if (!buffer)
        return strata_fail_host_memory(sizeof *buffer, "a buffer object");
    const char *name = desc->name ? desc->name : "";
    buffer->name = buffer->short_name;
    if (strlen(name) < sizeof buffer->short_name)
        memcpy(buffer->short_name, name, strlen(name) + 1);
    else
        buffer->name = strata_host_copy_string(&device->hooks, name, strlen(name));
    if (!buffer->name) {
        strata_host_release(&device->hooks, buffer);
        return strata_fail_host_memory(strlen(name), "a buffer's name");
    }
    buffer->device = device;
    buffer->native = native;
    buffer->root = buffer;
    buffer->site = desc->site;
    buffer->info = (struct strata_buffer_info){.size = sizeof buffer->info,
                                               .device = device,
                                               .name = buffer->name,
                                               .kind = desc->kind,
                                               .access = desc->access,
                                               .bytes = desc->bytes,
                                               .host_pointer = facts->host_pointer,
                                               .alignment = facts->alignment,
                                               .mode = desc->mode,
                                               .same_pointer = facts->same_pointer,
                                               .zero_copy = facts->zero_copy,
                                               .pinned = facts->pinned,
                                               .kernel_argument = true};
    pthread_mutex_init(&buffer->lock, NULL);
    strata_device_retain(device);
    *result = buffer;
    return STRATA_OK;
}

static void free_buffer(strata_buffer *buffer) {
    strata_device *device = buffer->device;
    pthread_mutex_destroy(&buffer->lock);
    strata_host_release(&device->hooks, buffer->uses);
    if (buffer->name != buffer->short_name)
        strata_host_release(&device->hooks, buffer->name);
    strata_host_release(&device->hooks, buffer);
    strata_device_release(device);
}

/* A DEVICE buffer that brackets copy to and from host memory: the caller's, or a block of strata's own. */
static enum strata_status create_mirrored(strata_device *device, const struct strata_buffer_desc *desc, void *memory,
                                          strata_buffer **result) {
    void *block = NULL;
    if (!memory) {
        memory = strata_host_allocate_pages(&device->hooks, desc->bytes, &block);
        if (!memory)
            return strata_fail_host_memory(desc->bytes, "mirrored shared memory");
    }
    struct strata_native_buffer_desc native_desc = {
        .bytes = desc->bytes, .kind = STRATA_DEVICE, .access = desc->access};
    struct strata_native_buffer_facts facts = {0};
    struct strata_native_buffer *native = NULL;
    bool plain = false;
    enum strata_status status = strata_memory_take(device, &native_desc, false, &facts, &plain, &native);
    if (status == STRATA_OK) {
        facts.host_pointer = memory;
        facts.zero_copy = STRATA_NO;
        facts.pinned = STRATA_NO;
        status = strata_buffer_adopt(device, desc, native, &facts, result);
        if (status != STRATA_OK)
            strata_memory_give(device, STRATA_DEVICE, desc->bytes, plain, native);
    }
    if (status != STRATA_OK) {
        strata_host_release(&device->hooks, block);
        return status;
    }
    (*result)->own_kind = STRATA_DEVICE;
    (*result)->taken_bytes = desc->bytes;
    (*result)->mirror = memory;
    (*result)->mirror_block = block;
    (*result)->info.host_brackets = true;
    return STRATA_OK;
}

static enum strata_status create_native(strata_device *device, const struct strata_buffer_desc *desc,
                                        strata_buffer **result) {
    struct strata_native_buffer_desc native_desc = {.bytes = desc->bytes,
                                                    .kind = desc->kind,
                                                    .access = desc->access,
                                                    .host_pointer = desc->host_pointer,
                                                    .mode = desc->mode,
                                                    .kernel_access = desc->kernel_access};
    struct strata_native_buffer_facts facts = {0};
    struct strata_native_buffer *native = NULL;
    bool plain = false;
    enum strata_status status =
        strata_memory_take(device, &native_desc, desc->pinned_or_nothing, &facts, &plain, &native);
    if (status != STRATA_OK)
        return status;
    status = strata_buffer_adopt(device, desc, native, &facts, result);
    if (status != STRATA_OK) {
        strata_memory_give(device, desc->kind, desc->bytes, plain, native);
        return status;
    }
    (*result)->own_kind = desc->kind;
    (*result)->taken_bytes = plain ? 0 : desc->bytes;
    struct strata_buffer_info *info = &(*result)->info;
    info->host_brackets = desc->kind == STRATA_WRAPPED || desc->kernel_access ||
                          (desc->kind == STRATA_SHARED && desc->mode != STRATA_SHARED_COHERENT);
    if (desc->kind == STRATA_PINNED)
        info->kernel_argument = desc->kernel_access || device->info.pinned_kernel_access == STRATA_YES;
    return STRATA_OK;
}

static enum strata_status create_kind(strata_device *device, struct strata_buffer_desc *desc, strata_buffer **result) {
    if (desc->kind == STRATA_SHARED) {
        enum strata_status status = strata_shared_mode_choose(device, desc->mode, &desc->mode);
        if (status != STRATA_OK)
            return status;
    }
    if (desc->bytes == 0) {
        struct strata_native_buffer_facts facts = {.alignment = alignment_of(device)};
        return strata_buffer_adopt(device, desc, NULL, &facts, result);
    }
    if (desc->kind == STRATA_SHARED && desc->mode == STRATA_SHARED_MIRRORED)
        return create_mirrored(device, desc, NULL, result);
    if (desc->kind != STRATA_WRAPPED)
        return create_native(device, desc, result);
    enum strata_status status = check_wrapped_once(device, desc);
    if (status != STRATA_OK)
        return status;
    if (is_aligned(device, desc->host_pointer))
        return create_native(device, desc, result);
    char label[96];
    status = create_mirrored(device, desc, desc->host_pointer, result);
    if (status == STRATA_OK)
        strata_device_log(device, STRATA_LOG_WARNING,
                          "The %s wraps host memory that is not aligned to %" PRIu64
                          " bytes, so it is copied at each bracket instead of being used in place.",
                          strata_buffer_label(*result, label, sizeof label), alignment_of(device));
    return status;
}

/* Whether the memory is really there: its first and its last word keep what is written. */
static enum strata_status prove(strata_buffer *buffer) {
    uint64_t bytes = buffer->info.bytes, word = bytes < sizeof(uint32_t) ? bytes : sizeof(uint32_t);
    strata_queue *queue = buffer->device->queue;
    for (int end = 0; end < 2; end++) {
        uint32_t written = end ? UINT32_C(0x5ca1ab1e) : UINT32_C(0x0ddba11), found = 0;
        strata_slice slice = strata_sub(strata_all(buffer), end ? bytes - word : 0, word);
        enum strata_status status = strata_write(queue, slice, &written);
        if (status == STRATA_OK)
            status = strata_read(queue, slice, &found);
        if (status != STRATA_OK)
            return status;
        if (memcmp(&written, &found, (size_t)word) != 0)
            return strata_fail(STRATA_TOO_LARGE,
                               "Device '%s' accepted a buffer of %" PRIu64 " bytes, over its limit of %" PRIu64
                               ", but does not keep what is written to it.",
                               buffer->device->name, bytes, buffer->device->info.max_buffer_bytes);
    }
    return STRATA_OK;
}

/* A buffer with memory of its own. */
static enum strata_status create_own(strata_device *device, struct strata_buffer_desc *desc, strata_buffer **result) {
    strata_retired_reap(device, false);
    strata_buffer *buffer = NULL;
    enum strata_status status = create_kind(device, desc, &buffer);
    if (status == STRATA_OUT_OF_MEMORY) {
        /* What was given back, is still in use or lies in pools may be all that is missing. */
        strata_retired_reap(device, true);
        strata_pools_settle(device);
        strata_pools_trim(device);
        status = create_kind(device, desc, &buffer);
    }
    if (status != STRATA_OK)
        return status;
    strata_buffer_enlist(buffer);
    if (desc->kind == STRATA_PINNED && buffer->native && buffer->taken_bytes == 0)
        strata_memory_tell_of_plain(device);
    if (buffer->mirror && desc->kind == STRATA_WRAPPED)
        status = strata_write(device->queue, strata_all(buffer), desc->host_pointer);
    if (status == STRATA_OK && desc->bytes > device->info.max_buffer_bytes)
        status = prove(buffer);
    if (status != STRATA_OK) {
        strata_buffer_destroy(&buffer);
        return status;
    }
    *result = buffer;
    return STRATA_OK;
}

enum strata_status strata_buffer_create(strata_device *device, const struct strata_buffer_desc *given,
                                        strata_buffer **result) {
    STRATA_REFUSE_IN_CHILD();
    if (!result)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_buffer_create needs a place for the buffer.");
    *result = NULL;
    struct strata_buffer_desc desc = {.size = sizeof desc};
    enum strata_status status = strata_device_check(device);
    if (status == STRATA_OK)
        status = strata_desc_read(given, &desc, sizeof desc, "strata_buffer_desc");
    if (status != STRATA_OK)
        return status;
    status = check_desc(device, &desc);
    if (status != STRATA_OK) {
        strata_trace_fail(device, &desc, NULL, status);
        return status;
    }
    if (atomic_load_explicit(&device->trace_due, memory_order_relaxed))
        strata_trace_write(device);
    strata_pool *pool = strata_pool_for(device, &desc, &status);
    if (pool)
        status = strata_pool_take(pool, &desc, result);
    else if (status == STRATA_OK)
        status = create_own(device, &desc, result);
    if (status != STRATA_OK)
        strata_trace_fail(device, &desc, pool, status);
    return status;
}

/* Ends the maps of a buffer that goes, so that the runtime is not left with them. */
static void end_maps(strata_buffer *buffer) {
    strata_queue *queue = buffer->device->queue;
    while (buffer->maps) {
        struct strata_map_entry *map = buffer->maps;
        buffer->maps = map->next;
        if (map->native && queue) {
            pthread_mutex_lock(&queue->lock);
            if (!queue->ended)
                buffer->device->backend->buffer->unmap(queue->native, buffer->native, map->pointer, NULL);
            uint64_t position = ++queue->position;
            pthread_mutex_unlock(&queue->lock);
            if (buffer->uses) {
                buffer->uses->last[queue->slot] = position;
                buffer->uses->slots |= UINT64_C(1) << queue->slot;
            }
        }
        strata_host_release(&buffer->device->hooks, map);
    }
}

/* In a forked child: host memory only. */
static void free_host_parts(strata_buffer *buffer) {
    const struct strata_allocator *hooks = &buffer->device->hooks;
    strata_host_release(hooks, buffer->mirror_block);
    strata_host_release(hooks, buffer->uses);
    if (buffer->name != buffer->short_name)
        strata_host_release(hooks, buffer->name);
    strata_host_release(hooks, buffer);
}

/* Memory of the buffer's own goes now, or when the work is done that uses it. */
static void give_own(strata_buffer *buffer) {
    strata_device *device = buffer->device;
    strata_event *events[STRATA_QUEUE_SLOTS] = {0};
    if (buffer->info.kind == STRATA_WRAPPED)
        strata_buffer_settle(buffer);
    struct strata_owned owned = {buffer->native, buffer->mirror_block, buffer->own_kind, buffer->taken_bytes};
    unsigned count = strata_buffer_pending(buffer, events);
    if (count)
        strata_retire(device, &owned, buffer->info.bytes, events, count);
    else
        strata_owned_free(device, &owned);
}

void strata_buffer_destroy(strata_buffer **place) {
    if (!place || !*place)
        return;
    strata_buffer *buffer = *place;
    *place = NULL;
    if (strata_fork_happened()) {
        free_host_parts(buffer);
        return;
    }
    if (atomic_load_explicit(&buffer->device->trace_due, memory_order_relaxed))
        strata_trace_write(buffer->device);
    if (buffer->maps)
        end_maps(buffer);
    if (buffer->pool) {
        strata_pool_give(buffer);
        return;
    }
    strata_buffer_delist(buffer);
    if (buffer->native)
        give_own(buffer);
    free_buffer(buffer);
}

const struct strata_buffer_info *strata_buffer_get_info(const strata_buffer *buffer) {
    return buffer ? &buffer->info : NULL;
}

strata_slice strata_all(strata_buffer *buffer) {
    return (strata_slice){buffer, 0, buffer ? buffer->info.bytes : 0};
}

strata_slice strata_sub(strata_slice slice, uint64_t offset, uint64_t bytes) {
    uint64_t end;
    strata_slice part = {slice.buffer, 0, bytes};
    /* A part that leaves its slice becomes one that no buffer can hold. */
    if (!strata_add(offset, bytes, &end) || end > slice.bytes || !strata_add(slice.offset, offset, &part.offset))
        return (strata_slice){slice.buffer, UINT64_MAX, bytes};
    return part;
}

enum strata_status strata_slice_check(const strata_device *device, strata_slice slice, const char *what) {
    uint64_t end;
    char label[96];
    if (!slice.buffer) {
        if (slice.bytes == 0 && slice.offset == 0)
            return STRATA_OK;
        return strata_fail(STRATA_INVALID_ARGUMENT, "The %s slice has no buffer.", what);
    }
    if (slice.offset == UINT64_MAX)
        return strata_fail(STRATA_INVALID_ARGUMENT,
                           "The %s slice was cut from the %s beyond the slice it is a part of.", what,
                           strata_buffer_label(slice.buffer, label, sizeof label));
    if (!strata_add(slice.offset, slice.bytes, &end) || end > slice.buffer->info.bytes)
        return strata_fail(STRATA_INVALID_ARGUMENT,
                           "The %s slice (%" PRIu64 " bytes from offset %" PRIu64 ") leaves the %s of %" PRIu64
                           " bytes.",
                           what, slice.bytes, slice.offset, strata_buffer_label(slice.buffer, label, sizeof label),
                           slice.buffer->info.bytes);
    if (slice.buffer->device != device)
        return strata_fail(
            STRATA_INVALID_ARGUMENT, "The %s slice is of the %s on device '%s', but the queue is of '%s'.", what,
            strata_buffer_label(slice.buffer, label, sizeof label), slice.buffer->device->name, device->name);
    return STRATA_OK;
}

bool strata_slices_overlap(strata_slice a, strata_slice b) {
    if (!a.buffer || !b.buffer || a.buffer->root != b.buffer->root || !a.bytes || !b.bytes)
        return false;
    uint64_t a_begin = a.buffer->root_offset + a.offset, b_begin = b.buffer->root_offset + b.offset;
    return a_begin < b_begin + b.bytes && b_begin < a_begin + a.bytes;
}

void *strata_slice_host(strata_slice slice) {
    if (!slice.buffer || slice.buffer->info.kind != STRATA_PINNED || slice.buffer->info.host_brackets)
        return NULL;
    return (char *)slice.buffer->info.host_pointer + slice.offset;
}

enum strata_status strata_check_alignment(strata_device *device, const void *pointer, uint64_t bytes) {
    STRATA_REFUSE_IN_CHILD();
    enum strata_status status = strata_device_check(device);
    if (status != STRATA_OK)
        return status;
    uint64_t wanted = alignment_of(device), address = (uintptr_t)pointer;
    uint64_t off = address & (wanted - 1), short_by = bytes & (wanted - 1);
    if (!pointer)
        return strata_fail(STRATA_INVALID_ARGUMENT, "The pointer is NULL.");
    if (off == 0 && short_by == 0)
        return STRATA_OK;
    uint64_t is = off ? off & (~off + 1) : wanted;
    if (off)
        return strata_fail(STRATA_INVALID_ARGUMENT,
                           "The pointer is aligned to %" PRIu64 " bytes, but device '%s' needs %" PRIu64
                           ": allocate with aligned_alloc or pad the struct.",
                           is, device->name, wanted);
    return strata_fail(STRATA_INVALID_ARGUMENT,
                       "The size of %" PRIu64 " bytes is not a multiple of the %" PRIu64
                       " that device '%s' aligns to: round it up to %" PRIu64 ".",
                       bytes, wanted, device->name, bytes + (wanted - short_by));
}
