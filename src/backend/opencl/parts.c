/* Parts of buffers as kernels take them: sub-buffers, made when first needed and kept with the buffer. */
#include "backend/opencl/native.h"

static struct strata_cl_buffer *buffer_of(struct strata_native_buffer *buffer) {
    return (struct strata_cl_buffer *)buffer;
}

void strata_cl_parts_enter(struct strata_cl_device *device) {
    if (device->quirks->parts_clash)
        pthread_mutex_lock(&device->parts_lock);
}

void strata_cl_parts_leave(struct strata_cl_device *device) {
    if (device->quirks->parts_clash)
        pthread_mutex_unlock(&device->parts_lock);
}

void strata_cl_parts_release(struct strata_cl_buffer *buffer) {
    for (unsigned i = 0; i < buffer->part_count; i++)
        buffer->device->cl->ReleaseMemObject(buffer->parts[i].id);
    buffer->part_count = 0;
}

/* Waits for everything that was put in any queue, so that no command holds a part. */
static void drain(struct strata_cl_device *device) {
    pthread_mutex_lock(&device->lock);
    for (struct strata_cl_queue *queue = device->queues; queue; queue = queue->next)
        strata_cl_queue_table.finish((struct strata_native_queue *)queue);
    pthread_mutex_unlock(&device->lock);
}

static bool clashes(uint64_t offset, uint64_t bytes, uint64_t other_offset, uint64_t other_bytes) {
    return offset != other_offset && offset < other_offset + other_bytes && other_offset < offset + bytes;
}

static bool clashes_with_kept(const struct strata_cl_buffer *buffer, uint64_t offset, uint64_t bytes) {
    for (unsigned i = 0; i < buffer->part_count; i++)
        if (clashes(offset, bytes, buffer->parts[i].offset, buffer->parts[i].bytes))
            return true;
    return false;
}

static bool is_whole(const struct strata_cl_buffer *buffer, const struct strata_native_argument *argument) {
    return argument->offset == 0 && argument->bytes == buffer->bytes;
}

static bool clashes_with_taken(const struct strata_native_argument *arguments, size_t index) {
    const struct strata_native_argument *mine = &arguments[index];
    for (size_t i = 0; i < index; i++)
        if (arguments[i].type == STRATA_ARG_SLICE && arguments[i].buffer == mine->buffer &&
            !is_whole(buffer_of(mine->buffer), &arguments[i]) &&
            clashes(mine->offset, mine->bytes, arguments[i].offset, arguments[i].bytes))
            return true;
    return false;
}

/* Under the buffer's lock. A replaced part may be an argument of queued work, which the runtime holds on to until it is
 * done (OpenCL 3.0, 5.2.1). */
static void keep(struct strata_cl_buffer *buffer, struct strata_cl_part part) {
    unsigned place = buffer->part_count;
    if (place == STRATA_CL_PARTS) {
        place = buffer->next_part++ % STRATA_CL_PARTS;
        buffer->device->cl->ReleaseMemObject(buffer->parts[place].id);
    } else {
        buffer->part_count++;
    }
    buffer->parts[place] = part;
}

/* Under the buffer's lock. */
static enum strata_status make(struct strata_cl_buffer *buffer, uint64_t offset, uint64_t bytes, cl_mem *result) {
    struct strata_cl_device *device = buffer->device;
    cl_mem_flags access = buffer->flags & (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY);
    cl_buffer_region region = {(size_t)(buffer->parent_offset + offset), (size_t)bytes};
    cl_int code = CL_SUCCESS;
    if (device->quirks->parts_clash && buffer->parent && offset > 0)
        return strata_fail(
            STRATA_UNSUPPORTED,
            "The runtime of device '%s' cannot have a part of a cl_mem that is itself a part, unless both "
            "start together; wrap the whole cl_mem and take the slice of that.",
            device->name);
    if (device->quirks->parts_clash &&
        (buffer->part_count == STRATA_CL_PARTS || clashes_with_kept(buffer, offset, bytes))) {
        drain(device);
        strata_cl_parts_release(buffer);
    }
    *result = device->cl->CreateSubBuffer(buffer->parent ? buffer->parent : buffer->id, access,
                                          CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    if (code != CL_SUCCESS)
        return strata_cl_fail(device, code, "make a part of a buffer a kernel argument");
    keep(buffer, (struct strata_cl_part){offset, bytes, *result});
    return STRATA_OK;
}

/* Under the buffer's lock. */
static cl_mem find(const struct strata_cl_buffer *buffer, uint64_t offset, uint64_t bytes) {
    for (unsigned i = 0; i < buffer->part_count; i++)
        if (buffer->parts[i].offset == offset && buffer->parts[i].bytes == bytes)
            return buffer->parts[i].id;
    return NULL;
}

/* Memory with the bytes that the part has when the launch begins. */
static enum strata_status copy(struct strata_cl_queue *queue, struct strata_cl_buffer *buffer, uint64_t offset,
                               uint64_t bytes, cl_mem *result) {
    struct strata_cl_device *device = queue->device;
    cl_int code = CL_SUCCESS;
    cl_mem made = device->cl->CreateBuffer(device->context, CL_MEM_READ_WRITE, (size_t)bytes, NULL, &code);
    if (code != CL_SUCCESS)
        return strata_cl_fail(device, code, "create a copy of a slice that overlaps another argument's");
    code = device->cl->EnqueueCopyBuffer(queue->id, buffer->id, made, (size_t)offset, 0, (size_t)bytes, 0, NULL, NULL);
    enum strata_status status = strata_cl_enqueued(queue, code, "copy a slice", NULL, NULL);
    if (status != STRATA_OK)
        device->cl->ReleaseMemObject(made);
    else
        *result = made;
    return status;
}

enum strata_status strata_cl_part_take(struct strata_cl_queue *queue, const struct strata_native_argument *arguments,
                                       size_t index, cl_mem *part) {
    const struct strata_native_argument *argument = &arguments[index];
    struct strata_cl_buffer *buffer = buffer_of(argument->buffer);
    const struct strata_cl_calls *cl = buffer->device->cl;
    if (is_whole(buffer, argument)) {
        *part = buffer->id;
        cl->RetainMemObject(*part);
        return STRATA_OK;
    }
    if (buffer->device->quirks->parts_clash && clashes_with_taken(arguments, index))
        return copy(queue, buffer, argument->offset, argument->bytes, part);
    enum strata_status status = STRATA_OK;
    pthread_mutex_lock(&buffer->lock);
    cl_mem found = find(buffer, argument->offset, argument->bytes);
    if (!found)
        status = make(buffer, argument->offset, argument->bytes, &found);
    if (status == STRATA_OK) {
        cl->RetainMemObject(found); /* another thread may replace the part at once */
        *part = found;
    }
    pthread_mutex_unlock(&buffer->lock);
    return status;
}
