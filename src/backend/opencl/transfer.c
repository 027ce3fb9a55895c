/* OpenCL transfers of contiguous memory, maps, and the SVM and USM forms of both. */
#include "backend/opencl/native.h"

#include <string.h>

static struct strata_cl_queue *queue_of(struct strata_native_queue *queue) {
    return (struct strata_cl_queue *)queue;
}

static struct strata_cl_buffer *buffer_of(struct strata_native_buffer *buffer) {
    return (struct strata_cl_buffer *)buffer;
}

/* A copy by host addresses, at least one of them SVM or USM. */
static enum strata_status copy_addresses(struct strata_cl_queue *queue, enum strata_cl_storage storage, void *to,
                                         const void *from, uint64_t bytes, struct strata_native_event **done) {
    struct strata_cl_device *device = queue->device;
    cl_event event = NULL;
    cl_int code;
    if (storage == STRATA_CL_SVM) {
        code =
            device->cl->EnqueueSVMMemcpy(queue->id, CL_FALSE, to, from, (size_t)bytes, 0, NULL, done ? &event : NULL);
    } else {
        strata_cl_serial_enter(device->quirks->serialise);
        code = device->usm.copy(queue->id, CL_FALSE, to, from, (size_t)bytes, 0, NULL, done ? &event : NULL);
        strata_cl_serial_leave(device->quirks->serialise);
    }
    return strata_cl_enqueued(queue, code, "copy shared memory", event, done);
}

static enum strata_status write_piece(struct strata_cl_queue *queue, struct strata_cl_buffer *buffer, uint64_t offset,
                                      uint64_t bytes, const void *source, struct strata_native_event **done) {
    if (buffer->storage != STRATA_CL_MEM)
        return copy_addresses(queue, buffer->storage, buffer->pointer + offset, source, bytes, done);
    cl_event event = NULL;
    cl_int code = queue->device->cl->EnqueueWriteBuffer(queue->id, buffer->id, CL_FALSE, (size_t)offset, (size_t)bytes,
                                                        source, 0, NULL, done ? &event : NULL);
    return strata_cl_enqueued(queue, code, "write a buffer", event, done);
}

static enum strata_status read_piece(struct strata_cl_queue *queue, struct strata_cl_buffer *buffer, uint64_t offset,
                                     uint64_t bytes, void *destination, struct strata_native_event **done) {
    if (buffer->storage != STRATA_CL_MEM)
        return copy_addresses(queue, buffer->storage, destination, buffer->pointer + offset, bytes, done);
    cl_event event = NULL;
    cl_int code = queue->device->cl->EnqueueReadBuffer(queue->id, buffer->id, CL_FALSE, (size_t)offset, (size_t)bytes,
                                                       destination, 0, NULL, done ? &event : NULL);
    return strata_cl_enqueued(queue, code, "read a buffer", event, done);
}

/* The mirrors of SHARED memory come here whole; everything else is in pieces already. */
enum strata_status strata_cl_write(struct strata_native_queue *queue, struct strata_native_buffer *buffer,
                                   uint64_t offset, uint64_t bytes, const void *source,
                                   struct strata_native_event **done) {
    enum strata_status status = strata_cl_ready(buffer_of(buffer));
    for (uint64_t at = 0; at < bytes && status == STRATA_OK; at += STRATA_CHUNK_BYTES) {
        bool last = bytes - at <= STRATA_CHUNK_BYTES;
        status = write_piece(queue_of(queue), buffer_of(buffer), offset + at, last ? bytes - at : STRATA_CHUNK_BYTES,
                             (const char *)source + at, last ? done : NULL);
    }
    return status;
}

enum strata_status strata_cl_read(struct strata_native_queue *queue, struct strata_native_buffer *buffer,
                                  uint64_t offset, uint64_t bytes, void *destination,
                                  struct strata_native_event **done) {
    enum strata_status status = strata_cl_ready(buffer_of(buffer));
    for (uint64_t at = 0; at < bytes && status == STRATA_OK; at += STRATA_CHUNK_BYTES) {
        bool last = bytes - at <= STRATA_CHUNK_BYTES;
        status = read_piece(queue_of(queue), buffer_of(buffer), offset + at, last ? bytes - at : STRATA_CHUNK_BYTES,
                            (char *)destination + at, last ? done : NULL);
    }
    return status;
}

/* Enqueues a copy between two cl_mem. */
static enum strata_status copy_mem(struct strata_cl_queue *queue, cl_mem destination, uint64_t destination_offset,
                                   cl_mem source, uint64_t source_offset, uint64_t bytes,
                                   struct strata_native_event **done) {
    cl_event event = NULL;
    cl_int code =
        queue->device->cl->EnqueueCopyBuffer(queue->id, source, destination, (size_t)source_offset,
                                             (size_t)destination_offset, (size_t)bytes, 0, NULL, done ? &event : NULL);
    return strata_cl_enqueued(queue, code, "copy a buffer", event, done);
}

/* One side is a cl_mem, and the other's address is where that is read to or written from. Coarse-grained SVM is the
 * host's only while it is mapped (OpenCL 3.0, 5.6.1), so the range is mapped around the command. */
static enum strata_status copy_mixed(struct strata_cl_queue *queue, struct strata_cl_buffer *destination,
                                     uint64_t destination_offset, struct strata_cl_buffer *source,
                                     uint64_t source_offset, uint64_t bytes, struct strata_native_event **done) {
    const struct strata_cl_calls *cl = queue->device->cl;
    bool is_read = destination->storage != STRATA_CL_MEM;
    struct strata_cl_buffer *shared = is_read ? destination : source;
    char *address = shared->pointer + (is_read ? destination_offset : source_offset);
    bool mapped = shared->storage == STRATA_CL_SVM;
    enum strata_status status = STRATA_OK;
    if (mapped)
        status = strata_cl_enqueued(queue,
                                    cl->EnqueueSVMMap(queue->id, CL_FALSE, is_read ? CL_MAP_WRITE : CL_MAP_READ,
                                                      address, (size_t)bytes, 0, NULL, NULL),
                                    "map shared memory", NULL, NULL);
    if (status == STRATA_OK)
        status = is_read ? read_piece(queue, source, source_offset, bytes, address, mapped ? NULL : done)
                         : write_piece(queue, destination, destination_offset, bytes, address, mapped ? NULL : done);
    if (status != STRATA_OK || !mapped)
        return status;
    cl_event event = NULL;
    cl_int code = cl->EnqueueSVMUnmap(queue->id, address, 0, NULL, done ? &event : NULL);
    return strata_cl_enqueued(queue, code, "unmap shared memory", event, done);
}

enum strata_status strata_cl_copy(struct strata_native_queue *native, struct strata_native_buffer *native_destination,
                                  uint64_t destination_offset, struct strata_native_buffer *native_source,
                                  uint64_t source_offset, uint64_t bytes, struct strata_native_event **done) {
    struct strata_cl_queue *queue = queue_of(native);
    struct strata_cl_buffer *destination = buffer_of(native_destination), *source = buffer_of(native_source);
    enum strata_status status = strata_cl_ready(destination);
    if (status == STRATA_OK)
        status = strata_cl_ready(source);
    if (status != STRATA_OK)
        return status;
    if (destination->storage != STRATA_CL_MEM && source->storage != STRATA_CL_MEM)
        return copy_addresses(queue, destination->storage, destination->pointer + destination_offset,
                              source->pointer + source_offset, bytes, done);
    if (destination->storage != STRATA_CL_MEM || source->storage != STRATA_CL_MEM)
        return copy_mixed(queue, destination, destination_offset, source, source_offset, bytes, done);
    return copy_mem(queue, destination->id, destination_offset, source->id, source_offset, bytes, done);
}

/* What the copies begin with. */
#define SEED_BYTES 65536

/* Memory with the pattern over and over. */
static enum strata_status make_seed(struct strata_cl_device *device, const void *pattern, size_t pattern_bytes,
                                    uint64_t bytes, cl_mem *seed) {
    unsigned char *image = strata_host_allocate(&device->hooks, bytes);
    if (!image)
        return strata_fail_host_memory(bytes, "a fill's pattern");
    for (uint64_t at = 0; at < bytes; at += pattern_bytes)
        memcpy(image + at, pattern, pattern_bytes);
    cl_int code = CL_SUCCESS;
    *seed =
        device->cl->CreateBuffer(device->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, (size_t)bytes, image, &code);
    strata_host_release(&device->hooks, image);
    return code == CL_SUCCESS ? STRATA_OK : strata_cl_fail(device, code, "create a fill's pattern");
}

/* Where the runtime's own fill cannot be trusted: the pattern in a small buffer, copied to the start, and then copies
 * of what is there behind it, each as long as all before. */
static enum strata_status fill_by_copies(struct strata_cl_queue *queue, struct strata_cl_buffer *buffer,
                                         uint64_t offset, uint64_t bytes, const void *pattern, size_t pattern_bytes,
                                         struct strata_native_event **done) {
    uint64_t filled = SEED_BYTES / pattern_bytes * pattern_bytes;
    cl_mem seed = NULL;
    if (filled > bytes)
        filled = bytes;
    enum strata_status status = make_seed(queue->device, pattern, pattern_bytes, filled, &seed);
    if (status != STRATA_OK)
        return status;
    status = copy_mem(queue, buffer->id, offset, seed, 0, filled, filled == bytes ? done : NULL);
    queue->device->cl->ReleaseMemObject(seed);
    while (filled < bytes && status == STRATA_OK) {
        uint64_t piece = bytes - filled < filled ? bytes - filled : filled;
        status = copy_mem(queue, buffer->id, offset + filled, buffer->id, offset, piece,
                          filled + piece == bytes ? done : NULL);
        filled += piece;
    }
    return status;
}

static bool fill_is_wrong(const struct strata_cl_device *device, uint64_t end, size_t pattern_bytes) {
    return device->quirks->fill_patterns > 0 && end / pattern_bytes > device->quirks->fill_patterns;
}

enum strata_status strata_cl_fill(struct strata_native_queue *native, struct strata_native_buffer *native_buffer,
                                  uint64_t offset, uint64_t bytes, const void *pattern, size_t pattern_bytes,
                                  struct strata_native_event **done) {
    struct strata_cl_queue *queue = queue_of(native);
    struct strata_cl_buffer *buffer = buffer_of(native_buffer);
    struct strata_cl_device *device = queue->device;
    enum strata_status status = strata_cl_ready(buffer);
    if (status != STRATA_OK)
        return status;
    if (buffer->storage == STRATA_CL_MEM && fill_is_wrong(device, offset + bytes, pattern_bytes))
        return fill_by_copies(queue, buffer, offset, bytes, pattern, pattern_bytes, done);
    cl_event event = NULL, *place = done ? &event : NULL;
    cl_int code;
    if (buffer->storage == STRATA_CL_SVM) {
        code = device->cl->EnqueueSVMMemFill(queue->id, buffer->pointer + offset, pattern, pattern_bytes, (size_t)bytes,
                                             0, NULL, place);
    } else if (buffer->storage == STRATA_CL_USM) {
        strata_cl_serial_enter(device->quirks->serialise);
        code = device->usm.fill(queue->id, buffer->pointer + offset, pattern, pattern_bytes, (size_t)bytes, 0, NULL,
                                place);
        strata_cl_serial_leave(device->quirks->serialise);
    } else {
        code = device->cl->EnqueueFillBuffer(queue->id, buffer->id, pattern, pattern_bytes, (size_t)offset,
                                             (size_t)bytes, 0, NULL, place);
    }
    return strata_cl_enqueued(queue, code, "fill a buffer", event, done);
}

static cl_map_flags map_flags(enum strata_map_access access) {
    if (access == STRATA_MAP_OVERWRITE)
        return CL_MAP_WRITE_INVALIDATE_REGION;
    return (access & STRATA_MAP_READ ? CL_MAP_READ : 0u) | (access & STRATA_MAP_WRITE ? CL_MAP_WRITE : 0u);
}

enum strata_status strata_cl_map(struct strata_native_queue *native, struct strata_native_buffer *native_buffer,
                                 uint64_t offset, uint64_t bytes, enum strata_map_access access, void **pointer,
                                 struct strata_native_event **done) {
    struct strata_cl_queue *queue = queue_of(native);
    struct strata_cl_buffer *buffer = buffer_of(native_buffer);
    cl_event event = NULL, *place = done ? &event : NULL;
    cl_int code = CL_SUCCESS;
    enum strata_status status = strata_cl_ready(buffer);
    if (status != STRATA_OK)
        return status;
    if (buffer->storage == STRATA_CL_MEM) {
        *pointer = queue->device->cl->EnqueueMapBuffer(queue->id, buffer->id, CL_FALSE, map_flags(access),
                                                       (size_t)offset, (size_t)bytes, 0, NULL, place, &code);
        return strata_cl_enqueued(queue, code, "map a buffer", event, done);
    }
    *pointer = buffer->pointer + offset;
    code = queue->device->cl->EnqueueSVMMap(queue->id, CL_FALSE, map_flags(access), *pointer, (size_t)bytes, 0, NULL,
                                            place);
    return strata_cl_enqueued(queue, code, "map shared memory", event, done);
}

enum strata_status strata_cl_unmap(struct strata_native_queue *native, struct strata_native_buffer *native_buffer,
                                   void *pointer, struct strata_native_event **done) {
    struct strata_cl_queue *queue = queue_of(native);
    struct strata_cl_buffer *buffer = buffer_of(native_buffer);
    cl_event event = NULL, *place = done ? &event : NULL;
    cl_int code;
    if (buffer->storage == STRATA_CL_MEM)
        code = queue->device->cl->EnqueueUnmapMemObject(queue->id, buffer->id, pointer, 0, NULL, place);
    else
        code = queue->device->cl->EnqueueSVMUnmap(queue->id, pointer, 0, NULL, place);
    return strata_cl_enqueued(queue, code, "unmap a buffer", event, done);
}
