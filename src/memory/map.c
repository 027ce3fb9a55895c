/* Maps and host brackets: when the host may touch a buffer, and the table of what is open. */
#include "core/fork.h"
#include "memory/buffer.h"

#include <inttypes.h>
#include <string.h>

static bool writes(enum strata_map_access access) {
    return (access & STRATA_MAP_WRITE) != 0;
}

static enum strata_status check_request(strata_queue *queue, strata_slice slice, enum strata_map_access access) {
    enum strata_status status = strata_queue_check(queue);
    if (status == STRATA_OK)
        status = strata_slice_check(queue->device, slice, "host access");
    if (status != STRATA_OK)
        return status;
    if (!slice.buffer || slice.bytes == 0)
        return strata_fail(STRATA_INVALID_ARGUMENT, "An empty slice cannot be mapped or bracketed.");
    if (access != STRATA_MAP_READ && access != STRATA_MAP_WRITE && access != STRATA_MAP_READ_WRITE &&
        access != STRATA_MAP_OVERWRITE)
        return strata_fail(STRATA_INVALID_ARGUMENT, "%d is not an access of enum strata_map_access.", (int)access);
    return STRATA_OK;
}

/* Under the buffer's lock. */
static enum strata_status check_free(const strata_buffer *buffer, strata_slice slice, enum strata_map_access access) {
    for (const struct strata_map_entry *map = buffer->maps; map; map = map->next) {
        if (!(writes(access) || writes(map->access)) || map->offset >= slice.offset + slice.bytes ||
            slice.offset >= map->offset + map->bytes)
            continue;
        char label[96];
        return strata_fail(STRATA_BUSY,
                           "Bytes %" PRIu64 " to %" PRIu64
                           " of the %s are %s already, and one of the two accesses writes; end that one first.",
                           map->offset, map->offset + map->bytes, strata_buffer_label(buffer, label, sizeof label),
                           map->bracket ? "bracketed" : "mapped");
    }
    return STRATA_OK;
}

/* Enters the range into the table, if the table allows it. */
static enum strata_status open_entry(strata_slice slice, enum strata_map_access access, bool bracket, bool native,
                                     struct strata_map_entry **result) {
    strata_buffer *buffer = slice.buffer;
    struct strata_map_entry *entry = strata_host_allocate(&buffer->device->hooks, sizeof *entry);
    if (!entry)
        return strata_fail_host_memory(sizeof *entry, "a map");
    *entry = (struct strata_map_entry){
        .offset = slice.offset, .bytes = slice.bytes, .access = access, .bracket = bracket, .native = native};
    pthread_mutex_lock(&buffer->lock);
    enum strata_status status = check_free(buffer, slice, access);
    if (status == STRATA_OK) {
        entry->next = buffer->maps;
        buffer->maps = entry;
    }
    pthread_mutex_unlock(&buffer->lock);
    if (status != STRATA_OK)
        strata_host_release(&buffer->device->hooks, entry);
    else
        *result = entry;
    return status;
}

/* Under the buffer's lock: takes an entry out of the table. */
static void take_out(strata_buffer *buffer, struct strata_map_entry *entry) {
    for (struct strata_map_entry **at = &buffer->maps; *at; at = &(*at)->next)
        if (*at == entry) {
            *at = entry->next;
            return;
        }
}

static void close_entry(strata_buffer *buffer, struct strata_map_entry *entry) {
    pthread_mutex_lock(&buffer->lock);
    take_out(buffer, entry);
    pthread_mutex_unlock(&buffer->lock);
    strata_host_release(&buffer->device->hooks, entry);
}

struct map_payload {
    struct strata_native_buffer *buffer;
    uint64_t offset, bytes;
    enum strata_map_access access;
    void **pointer; /* of the caller, who waits */
};

static enum strata_status run_map(strata_queue *queue, void *payload, struct strata_native_event **done) {
    struct map_payload *map = payload;
    return queue->device->backend->buffer->map(queue->native, map->buffer, map->offset, map->bytes, map->access,
                                               map->pointer, done);
}

struct unmap_payload {
    struct strata_native_buffer *buffer;
    void *pointer;
};

static enum strata_status run_unmap(strata_queue *queue, void *payload, struct strata_native_event **done) {
    struct unmap_payload *unmap = payload;
    return queue->device->backend->buffer->unmap(queue->native, unmap->buffer, unmap->pointer, done);
}

static enum strata_status native_map(strata_queue *queue, strata_slice slice, enum strata_map_access access,
                                     void **pointer) {
    struct map_payload payload = {slice.buffer->native, slice.offset, slice.bytes, access, pointer};
    struct strata_command_use use = {slice.buffer, slice.offset, slice.bytes, writes(access), true};
    struct strata_command command = {
        .run = run_map, .payload = &payload, .payload_bytes = sizeof payload, .uses = &use, .use_count = 1};
    return strata_queue_put_and_wait(queue, &command);
}

static enum strata_status native_unmap(strata_queue *queue, strata_buffer *buffer, const struct strata_map_entry *map) {
    struct unmap_payload payload = {buffer->native, map->pointer};
    struct strata_command_use use = {buffer, map->offset, map->bytes, writes(map->access), true};
    struct strata_command command = {
        .run = run_unmap, .payload = &payload, .payload_bytes = sizeof payload, .uses = &use, .use_count = 1};
    return strata_queue_put(queue, &command, NULL);
}

enum strata_status strata_map(strata_queue *queue, strata_slice slice, enum strata_map_access access, void **pointer) {
    STRATA_REFUSE_IN_CHILD();
    if (!pointer)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_map needs a place for the pointer.");
    *pointer = NULL;
    enum strata_status status = check_request(queue, slice, access);
    if (status != STRATA_OK)
        return status;
    if (slice.buffer->info.kind != STRATA_DEVICE)
        return strata_fail(STRATA_UNSUPPORTED, "Only DEVICE memory is mapped; use the buffer's host pointer%s.",
                           slice.buffer->info.host_brackets ? " between strata_host_begin and strata_host_end" : "");
    struct strata_map_entry *entry = NULL;
    status = open_entry(slice, access, false, true, &entry);
    if (status != STRATA_OK)
        return status;
    status = native_map(queue, slice, access, &entry->pointer);
    if (status != STRATA_OK)
        close_entry(slice.buffer, entry);
    else
        *pointer = entry->pointer;
    return status;
}

/* Takes the open map or bracket out of the table that `pointer` (a map), or the slice (a bracket), names. */
static struct strata_map_entry *find_and_take(strata_buffer *buffer, bool bracket, const void *pointer,
                                              strata_slice slice) {
    struct strata_map_entry *found = NULL;
    pthread_mutex_lock(&buffer->lock);
    for (struct strata_map_entry *map = buffer->maps; map && !found; map = map->next)
        if (map->bracket == bracket &&
            (bracket ? map->offset == slice.offset && map->bytes == slice.bytes : map->pointer == pointer))
            found = map;
    if (found)
        take_out(buffer, found);
    pthread_mutex_unlock(&buffer->lock);
    return found;
}

/* Puts an entry back whose end could not be carried out. */
static void put_back(strata_buffer *buffer, struct strata_map_entry *entry) {
    pthread_mutex_lock(&buffer->lock);
    entry->next = buffer->maps;
    buffer->maps = entry;
    pthread_mutex_unlock(&buffer->lock);
}

enum strata_status strata_unmap(strata_queue *queue, strata_buffer *buffer, void *pointer) {
    STRATA_REFUSE_IN_CHILD();
    enum strata_status status = strata_queue_check(queue);
    if (status == STRATA_OK)
        status = strata_slice_check(queue->device, strata_all(buffer), "mapped");
    if (status != STRATA_OK)
        return status;
    char label[96];
    struct strata_map_entry *entry = buffer && pointer ? find_and_take(buffer, false, pointer, strata_all(NULL)) : NULL;
    if (!entry)
        return strata_fail(STRATA_INVALID_ARGUMENT, "The pointer is not an open map of the %s; was it unmapped before?",
                           buffer ? strata_buffer_label(buffer, label, sizeof label) : "buffer, which is NULL");
    status = native_unmap(queue, buffer, entry);
    if (status != STRATA_OK)
        put_back(buffer, entry);
    else
        strata_host_release(&buffer->device->hooks, entry);
    return status;
}

struct mirror_payload {
    struct strata_native_buffer *buffer;
    uint64_t offset, bytes;
    void *memory;
    bool to_device;
};

static enum strata_status run_mirror(strata_queue *queue, void *payload, struct strata_native_event **done) {
    const struct mirror_payload *mirror = payload;
    const struct strata_backend_buffer *table = queue->device->backend->buffer;
    if (mirror->to_device)
        return table->write(queue->native, mirror->buffer, mirror->offset, mirror->bytes, mirror->memory, done);
    return table->read(queue->native, mirror->buffer, mirror->offset, mirror->bytes, mirror->memory, done);
}

/* Copies a mirrored slice between the device and its host memory, within its own bracket. */
static enum strata_status mirror_copy(strata_queue *queue, strata_slice slice, void *memory, bool to_device) {
    struct mirror_payload payload = {slice.buffer->native, slice.offset, slice.bytes, memory, to_device};
    struct strata_command_use use = {slice.buffer, slice.offset, slice.bytes, to_device, true};
    struct strata_command command = {
        .run = run_mirror, .payload = &payload, .payload_bytes = sizeof payload, .uses = &use, .use_count = 1};
    return strata_queue_put_and_wait(queue, &command);
}

/* Whether brackets of this buffer do nothing but wait. */
static bool is_transparent(const strata_buffer *buffer) {
    return !buffer->info.host_brackets;
}

static enum strata_status begin_bracket(strata_queue *queue, strata_slice slice, enum strata_map_access access,
                                        struct strata_map_entry *entry) {
    strata_buffer *buffer = slice.buffer;
    if (!buffer->mirror)
        return native_map(queue, slice, access, &entry->pointer);
    entry->pointer = (char *)buffer->mirror + slice.offset;
    if (access == STRATA_MAP_OVERWRITE)
        return STRATA_OK;
    return mirror_copy(queue, slice, entry->pointer, false);
}

enum strata_status strata_host_begin(strata_queue *queue, strata_slice slice, enum strata_map_access access,
                                     void **pointer) {
    STRATA_REFUSE_IN_CHILD();
    if (pointer)
        *pointer = NULL;
    enum strata_status status = check_request(queue, slice, access);
    if (status != STRATA_OK)
        return status;
    strata_buffer *buffer = slice.buffer;
    if (buffer->info.kind == STRATA_DEVICE)
        return strata_fail(STRATA_UNSUPPORTED, "DEVICE memory has no host pointer; map it, or read and write it.");
    struct strata_map_entry *entry = NULL;
    if (!is_transparent(buffer))
        status = open_entry(slice, access, true, !buffer->mirror, &entry);
    if (status == STRATA_OK)
        status = strata_buffer_settle(buffer);
    if (status == STRATA_OK && entry)
        status = begin_bracket(queue, slice, access, entry);
    if (status != STRATA_OK) {
        if (entry)
            close_entry(buffer, entry);
        return status;
    }
    if (pointer)
        *pointer = entry ? entry->pointer : (char *)buffer->info.host_pointer + slice.offset;
    return STRATA_OK;
}

enum strata_status strata_host_end(strata_queue *queue, strata_slice slice) {
    STRATA_REFUSE_IN_CHILD();
    enum strata_status status = check_request(queue, slice, STRATA_MAP_READ);
    if (status != STRATA_OK || is_transparent(slice.buffer))
        return status;
    strata_buffer *buffer = slice.buffer;
    char label[96];
    struct strata_map_entry *entry = find_and_take(buffer, true, NULL, slice);
    if (!entry)
        return strata_fail(
            STRATA_INVALID_ARGUMENT,
            "No host access to these bytes of the %s has begun; give the slice that strata_host_begin got.",
            strata_buffer_label(buffer, label, sizeof label));
    if (!buffer->mirror)
        status = native_unmap(queue, buffer, entry);
    else if (writes(entry->access))
        status = mirror_copy(queue, slice, entry->pointer, true);
    if (status != STRATA_OK)
        put_back(buffer, entry);
    else
        strata_host_release(&buffer->device->hooks, entry);
    return status;
}
