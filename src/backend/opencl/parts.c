/* Parts of buffers as kernels take them: sub-buffers, made when first needed and kept as long as a buffer is there.
 *
 * NVIDIA's runtime crashes when a part is released before another that was made later and overlaps it, once kernels
 * have used both (tests/device/probe.c). With the quirk parts_end_in_reverse, parts go from the newest to the oldest,
 * all of one cl_mem at once, when no command needs them any more. */
#include "backend/opencl/native.h"

static struct strata_cl_buffer *buffer_of(struct strata_native_buffer *buffer) {
    return (struct strata_cl_buffer *)buffer;
}

static cl_mem root_of(const struct strata_cl_buffer *buffer) {
    return buffer->parent ? buffer->parent : buffer->id;
}

/* Under the device's lock: the parts of the caller's cl_mem, which another buffer may be over, too. */
static struct strata_cl_parts *find_shared(const struct strata_cl_buffer *buffer) {
    struct strata_cl_parts *parts = buffer->wrapped ? buffer->device->shared_parts : NULL;
    while (parts && parts->root != root_of(buffer))
        parts = parts->next_shared;
    return parts;
}

static struct strata_cl_parts *create_parts(const struct strata_cl_buffer *buffer) {
    struct strata_cl_device *device = buffer->device;
    struct strata_cl_parts *parts = strata_host_allocate(&device->hooks, sizeof *parts);
    if (!parts)
        return NULL;
    parts->root = root_of(buffer);
    pthread_mutex_init(&parts->lock, NULL);
    if (buffer->wrapped) {
        parts->next_shared = device->shared_parts;
        device->shared_parts = parts;
    }
    return parts;
}

/* NULL: no host memory. */
static struct strata_cl_parts *parts_of(struct strata_cl_buffer *buffer) {
    pthread_mutex_lock(&buffer->device->lock);
    if (!buffer->parts) {
        buffer->parts = find_shared(buffer);
        if (!buffer->parts)
            buffer->parts = create_parts(buffer);
        if (buffer->parts)
            buffer->parts->users++;
    }
    struct strata_cl_parts *parts = buffer->parts;
    pthread_mutex_unlock(&buffer->device->lock);
    return parts;
}

static void release_all(struct strata_cl_device *device, struct strata_cl_parts *parts) {
    while (parts->count)
        device->cl->ReleaseMemObject(parts->part[--parts->count].id);
}

void strata_cl_parts_leave_buffer(struct strata_cl_buffer *buffer) {
    struct strata_cl_device *device = buffer->device;
    struct strata_cl_parts *parts = buffer->parts;
    if (!parts)
        return;
    pthread_mutex_lock(&device->lock);
    bool last = --parts->users == 0;
    struct strata_cl_parts **place = &device->shared_parts;
    while (last && *place && *place != parts)
        place = &(*place)->next_shared;
    if (last && *place)
        *place = parts->next_shared;
    pthread_mutex_unlock(&device->lock);
    buffer->parts = NULL;
    if (!last)
        return;
    release_all(device, parts);
    pthread_mutex_destroy(&parts->lock);
    strata_host_release(&device->hooks, parts);
}

/* Waits for everything that was put in any queue, so that no command holds a part. */
static void drain(struct strata_cl_device *device) {
    pthread_mutex_lock(&device->lock);
    for (struct strata_cl_queue *queue = device->queues; queue; queue = queue->next)
        strata_cl_queue_table.finish((struct strata_native_queue *)queue);
    pthread_mutex_unlock(&device->lock);
}

bool strata_cl_is_part(const struct strata_native_argument *argument) {
    const struct strata_cl_buffer *buffer = (const struct strata_cl_buffer *)argument->buffer;
    return argument->type == STRATA_ARG_SLICE && buffer && buffer->storage == STRATA_CL_MEM &&
           (argument->offset != 0 || argument->bytes != buffer->bytes);
}

bool strata_cl_parts_enter(struct strata_cl_device *device, const struct strata_native_argument *arguments,
                           size_t count) {
    bool any = false;
    for (size_t i = 0; i < count && device->quirks->parts_end_in_reverse; i++)
        any = any || strata_cl_is_part(&arguments[i]);
    if (!any)
        return false;
    pthread_mutex_lock(&device->parts_lock);
    for (size_t i = 0; i < count; i++) {
        struct strata_cl_parts *parts =
            strata_cl_is_part(&arguments[i]) ? parts_of(buffer_of(arguments[i].buffer)) : NULL;
        if (parts && parts->count + count > STRATA_CL_PARTS && parts->count) {
            drain(device);
            release_all(device, parts);
        }
    }
    return true;
}

void strata_cl_parts_leave(struct strata_cl_device *device) {
    pthread_mutex_unlock(&device->parts_lock);
}

/* Under the set's lock. A replaced part may be an argument of queued work, which the runtime holds on to until it is
 * done (OpenCL 3.0, 5.2.1). */
static void keep(struct strata_cl_device *device, struct strata_cl_parts *parts, struct strata_cl_part part) {
    unsigned place = parts->count;
    if (place == STRATA_CL_PARTS) {
        place = parts->next++ % STRATA_CL_PARTS;
        device->cl->ReleaseMemObject(parts->part[place].id);
    } else {
        parts->count++;
    }
    parts->part[place] = part;
}

/* Under the set's lock; `part` has no id yet. */
static enum strata_status make(struct strata_cl_device *device, struct strata_cl_parts *parts,
                               struct strata_cl_part *part) {
    if (device->quirks->parts_end_in_reverse && parts->count == STRATA_CL_PARTS)
        return strata_fail(STRATA_UNSUPPORTED, "Device '%s' takes at most %d slices of one buffer in a launch.",
                           device->name, STRATA_CL_PARTS);
    cl_buffer_region region = {(size_t)part->offset, (size_t)part->bytes};
    cl_int code = CL_SUCCESS;
    part->id = device->cl->CreateSubBuffer(parts->root, part->access, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    if (code != CL_SUCCESS)
        return strata_cl_fail(device, code, "make a part of a buffer a kernel argument");
    keep(device, parts, *part);
    return STRATA_OK;
}

/* Under the set's lock. */
static cl_mem find(const struct strata_cl_parts *parts, const struct strata_cl_part *part) {
    for (unsigned i = 0; i < parts->count; i++)
        if (parts->part[i].offset == part->offset && parts->part[i].bytes == part->bytes &&
            parts->part[i].access == part->access)
            return parts->part[i].id;
    return NULL;
}

enum strata_status strata_cl_part_take(const struct strata_native_argument *argument, cl_mem *result) {
    struct strata_cl_buffer *buffer = buffer_of(argument->buffer);
    struct strata_cl_device *device = buffer->device;
    struct strata_cl_parts *parts = parts_of(buffer);
    if (!parts)
        return strata_fail_host_memory(sizeof *parts, "the parts of a buffer");
    struct strata_cl_part part = {.offset = buffer->parent_offset + argument->offset,
                                  .bytes = argument->bytes,
                                  .access = buffer->flags & (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY)};
    enum strata_status status = STRATA_OK;
    pthread_mutex_lock(&parts->lock);
    part.id = find(parts, &part);
    if (!part.id)
        status = make(device, parts, &part);
    if (status == STRATA_OK) {
        device->cl->RetainMemObject(part.id); /* another thread may replace the part at once */
        *result = part.id;
    }
    pthread_mutex_unlock(&parts->lock);
    return status;
}
