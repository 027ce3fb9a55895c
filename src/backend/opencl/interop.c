/* strata over the caller's OpenCL objects, and strata's own as native handles; both may be behind the fault backend. */
#include "backend/fault/fault.h"
#include "backend/opencl/native.h"
#include "core/fork.h"
#include "core/queue.h"
#include "memory/buffer.h"
#include "program/program.h"
#include "strata/opencl.h"

#include <string.h>

static enum strata_status context_holds(cl_context context, cl_device_id id) {
    size_t size = 0;
    cl_device_id devices[64];
    cl_int code = clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, &size);
    if (code != CL_SUCCESS)
        return strata_fail_native(STRATA_INVALID_ARGUMENT, code, strata_cl_error_name(code),
                                  "The cl_context cannot be asked for its devices.");
    for (size_t i = 0; i < size / sizeof devices[0]; i++)
        if (devices[i] == id)
            return STRATA_OK;
    return strata_fail(STRATA_INVALID_ARGUMENT, "The cl_context does not hold the cl_device_id.");
}

static enum strata_status queue_fits(cl_command_queue queue, cl_context context, cl_device_id id) {
    cl_context its_context = NULL;
    cl_device_id its_device = NULL;
    clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof its_context, &its_context, NULL);
    clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof its_device, &its_device, NULL);
    if (its_context == context && its_device == id)
        return STRATA_OK;
    return strata_fail(STRATA_INVALID_ARGUMENT, "The cl_command_queue is of another context or device.");
}

static bool has_profiling(const struct strata_cl_device *device, cl_command_queue queue) {
    cl_command_queue_properties properties = 0;
    device->cl->GetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
    return (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
}

/* Retains the caller's queue in a native one. */
static enum strata_status take_queue(struct strata_cl_device *device, struct strata_fault *fault, cl_command_queue id,
                                     struct strata_native_queue **result) {
    struct strata_cl_queue *queue = NULL;
    cl_int code = device->cl->RetainCommandQueue(id);
    if (code != CL_SUCCESS)
        return strata_cl_fail(device, code, "use the cl_command_queue");
    enum strata_status status = strata_cl_queue_create(device, id, &queue);
    if (status != STRATA_OK) {
        device->cl->ReleaseCommandQueue(id);
        return status;
    }
    *result = strata_fault_cover_queue(fault, (struct strata_native_queue *)queue);
    if (*result)
        return STRATA_OK;
    strata_cl_queue_table.destroy((struct strata_native_queue *)queue);
    return strata_fail_host_memory(sizeof *queue, "a queue");
}

/* Takes the caller's queue, if there is one, and makes the device with it. Takes `native` over. */
static enum strata_status make_device(const struct strata_backend *backend, struct strata_native_device *native,
                                      struct strata_cl_device *device, cl_command_queue id,
                                      const struct strata_device_info *info, const struct strata_device_desc *desc,
                                      strata_device **opened) {
    struct strata_device_desc changed = *desc;
    struct strata_native_queue *queue = NULL;
    enum strata_status status = STRATA_OK;
    if (id) {
        status = take_queue(device, strata_fault_of(backend, native), id, &queue);
        changed.profiling = has_profiling(device, id);
    }
    if (status == STRATA_OK)
        status = strata_device_create(backend, native, info, &changed, queue, opened);
    if (status != STRATA_OK) {
        if (queue)
            backend->queue->destroy(queue);
        backend->device->close(native);
    }
    return status;
}

/* The device over the caller's context. */
static enum strata_status open_described(cl_context context, cl_device_id id, cl_command_queue queue,
                                         const struct strata_device_info *given, struct strata_device_desc *desc,
                                         strata_device **opened) {
    const struct strata_cl_calls *cl = strata_cl_calls_for(given->serialised);
    const struct strata_backend *backend = &strata_backend_opencl;
    struct strata_device_info info = *given;
    struct strata_cl_device *device = NULL;
    struct strata_fault *fault = NULL;
    enum strata_status status = strata_fault_begin(desc, &fault);
    if (status != STRATA_OK)
        return status;
    cl->RetainContext(context);
    status = strata_cl_device_create(context, id, &info, desc->allocator, &device);
    if (status != STRATA_OK) {
        cl->ReleaseContext(context);
        strata_fault_drop(fault);
        return status;
    }
    struct strata_native_device *native = (struct strata_native_device *)device;
    if (fault) {
        native = strata_fault_cover(fault, backend, native);
        backend = strata_fault_backend(fault);
        info.max_buffer_bytes = strata_fault_largest(fault, info.max_buffer_bytes);
    }
    return make_device(backend, native, device, queue, &info, desc, opened);
}

enum strata_status strata_opencl_device_open(cl_context context, cl_device_id id, cl_command_queue queue,
                                             const struct strata_device_desc *given, strata_device **opened) {
    STRATA_REFUSE_IN_CHILD();
    if (!opened)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_opencl_device_open needs a place for the device.");
    *opened = NULL;
    struct strata_device_desc desc = {.size = sizeof desc};
    enum strata_status status = strata_desc_read(given, &desc, sizeof desc, "strata_device_desc");
    if (status == STRATA_OK && (!context || !id))
        status =
            strata_fail(STRATA_INVALID_ARGUMENT, "strata_opencl_device_open needs a cl_context and a cl_device_id.");
    if (status != STRATA_OK)
        return status;
    strata_fork_watch();
    status = context_holds(context, id);
    if (status == STRATA_OK && queue)
        status = queue_fits(queue, context, id);
    cl_platform_id platform = NULL;
    if (status == STRATA_OK && clGetDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) != CL_SUCCESS)
        status = strata_fail(STRATA_INVALID_ARGUMENT, "The cl_device_id cannot be asked for its platform.");
    struct strata_device_info info;
    if (status == STRATA_OK)
        status = strata_cl_describe(strata_cl_calls_for(false), platform, id, &info);
    if (status != STRATA_OK)
        return status;
    status = open_described(context, id, queue, &info, &desc, opened);
    strata_info_release(NULL, &info);
    return status;
}

/* The decorator that a device is behind, or NULL. */
static struct strata_fault *fault_of(const strata_device *device) {
    return strata_fault_of(device->backend, device->native);
}

static struct strata_cl_device *cl_device_of(const strata_device *device) {
    if (!device)
        return NULL;
    const struct strata_fault *fault = fault_of(device);
    const struct strata_backend *backend = fault ? strata_fault_inner_backend(fault) : device->backend;
    struct strata_native_device *native = fault ? strata_fault_inner_device(fault) : device->native;
    return backend == &strata_backend_opencl ? (struct strata_cl_device *)native : NULL;
}

static enum strata_status check_opencl(const strata_device *device) {
    enum strata_status status = strata_device_check(device);
    if (status == STRATA_OK && !cl_device_of(device))
        status = strata_fail(STRATA_INVALID_ARGUMENT, "Device '%s' is not an OpenCL device.", device->name);
    return status;
}

enum strata_status strata_opencl_queue_wrap(strata_device *device, cl_command_queue native, strata_queue **result) {
    STRATA_REFUSE_IN_CHILD();
    if (!result)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_opencl_queue_wrap needs a place for the queue.");
    *result = NULL;
    enum strata_status status = check_opencl(device);
    if (status == STRATA_OK && !native)
        status = strata_fail(STRATA_INVALID_ARGUMENT, "The cl_command_queue is NULL.");
    if (status != STRATA_OK)
        return status;
    struct strata_cl_device *cl_device = cl_device_of(device);
    struct strata_native_queue *queue = NULL;
    status = queue_fits(native, cl_device->context, cl_device->id);
    if (status == STRATA_OK)
        status = take_queue(cl_device, fault_of(device), native, &queue);
    if (status != STRATA_OK)
        return status;
    status = strata_queue_wrap(device, queue, "wrapped", has_profiling(cl_device, native), result);
    if (status != STRATA_OK)
        device->backend->queue->destroy(queue);
    return status;
}

/* What the cl_mem says of itself. */
struct mem_facts {
    size_t bytes, offset;
    cl_mem_flags flags;
    cl_mem parent;
    cl_context context;
    cl_mem_object_type type;
};

static enum strata_status ask_mem(struct strata_cl_device *device, cl_mem mem, struct mem_facts *facts) {
    const struct strata_cl_calls *cl = device->cl;
    cl_int code = cl->GetMemObjectInfo(mem, CL_MEM_SIZE, sizeof facts->bytes, &facts->bytes, NULL);
    if (code == CL_SUCCESS)
        code = cl->GetMemObjectInfo(mem, CL_MEM_FLAGS, sizeof facts->flags, &facts->flags, NULL);
    if (code == CL_SUCCESS)
        code = cl->GetMemObjectInfo(mem, CL_MEM_CONTEXT, sizeof facts->context, &facts->context, NULL);
    if (code == CL_SUCCESS)
        code = cl->GetMemObjectInfo(mem, CL_MEM_TYPE, sizeof facts->type, &facts->type, NULL);
    if (code == CL_SUCCESS)
        code = cl->GetMemObjectInfo(mem, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof facts->parent, &facts->parent, NULL);
    if (code == CL_SUCCESS)
        code = cl->GetMemObjectInfo(mem, CL_MEM_OFFSET, sizeof facts->offset, &facts->offset, NULL);
    if (code != CL_SUCCESS)
        return strata_fail_native(STRATA_INVALID_ARGUMENT, code, strata_cl_error_name(code),
                                  "The cl_mem cannot be asked for what it is.");
    if (facts->type != CL_MEM_OBJECT_BUFFER)
        return strata_fail(STRATA_INVALID_ARGUMENT, "The cl_mem is an image or a pipe, not a buffer.");
    if (facts->context != device->context)
        return strata_fail(STRATA_INVALID_ARGUMENT, "The cl_mem is of another context than the device.");
    return STRATA_OK;
}

static enum strata_status adopt_mem(strata_device *device, cl_mem mem, const struct mem_facts *facts, const char *name,
                                    strata_buffer **result) {
    struct strata_cl_device *cl_device = cl_device_of(device);
    struct strata_cl_buffer *buffer = strata_cl_buffer_new(cl_device, facts->bytes);
    if (!buffer)
        return strata_fail_host_memory(sizeof *buffer, "a buffer");
    buffer->id = mem;
    buffer->flags = facts->flags;
    buffer->parent = facts->parent;
    buffer->parent_offset = facts->offset;
    buffer->wrapped = true;
    cl_device->cl->RetainMemObject(mem);
    struct strata_buffer_desc desc = {.size = sizeof desc,
                                      .bytes = facts->bytes,
                                      .name = name,
                                      .access = facts->flags & CL_MEM_READ_ONLY    ? STRATA_READ_ONLY
                                                : facts->flags & CL_MEM_WRITE_ONLY ? STRATA_WRITE_ONLY
                                                                                   : STRATA_READ_WRITE};
    struct strata_native_buffer_facts native_facts = {.alignment = cl_device->info.base_alignment};
    struct strata_native_buffer *covered =
        strata_fault_cover_buffer(fault_of(device), (struct strata_native_buffer *)buffer, facts->bytes);
    if (!covered) {
        strata_cl_buffer_table.destroy((struct strata_native_buffer *)buffer);
        return STRATA_OUT_OF_MEMORY;
    }
    enum strata_status status = strata_buffer_adopt(device, &desc, covered, &native_facts, result);
    if (status != STRATA_OK) {
        device->backend->buffer->destroy(covered);
        return status;
    }
    (*result)->root = facts->parent ? (const void *)facts->parent : (const void *)mem;
    (*result)->root_offset = facts->offset;
    strata_buffer_enlist(*result);
    return STRATA_OK;
}

enum strata_status strata_opencl_buffer_wrap(strata_device *device, cl_mem native, const char *name,
                                             strata_buffer **result) {
    STRATA_REFUSE_IN_CHILD();
    if (!result)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_opencl_buffer_wrap needs a place for the buffer.");
    *result = NULL;
    struct mem_facts facts = {0};
    enum strata_status status = check_opencl(device);
    if (status == STRATA_OK && !native)
        status = strata_fail(STRATA_INVALID_ARGUMENT, "The cl_mem is NULL.");
    if (status == STRATA_OK)
        status = ask_mem(cl_device_of(device), native, &facts);
    return status == STRATA_OK ? adopt_mem(device, native, &facts, name, result) : status;
}

cl_context strata_opencl_context(strata_device *device) {
    struct strata_cl_device *native = cl_device_of(device);
    return native ? native->context : NULL;
}

cl_device_id strata_opencl_device(strata_device *device) {
    struct strata_cl_device *native = cl_device_of(device);
    return native ? native->id : NULL;
}

cl_command_queue strata_opencl_queue(strata_queue *queue) {
    if (!queue || !cl_device_of(queue->device) || strata_fork_happened())
        return NULL;
    strata_queue_drain(queue);
    if (!queue->native)
        return NULL;
    return ((struct strata_cl_queue *)strata_fault_inner_queue(fault_of(queue->device), queue->native))->id;
}

cl_mem strata_opencl_mem(strata_buffer *buffer) {
    if (!buffer || !buffer->native || !cl_device_of(buffer->device))
        return NULL;
    struct strata_cl_buffer *native =
        (struct strata_cl_buffer *)strata_fault_inner_buffer(fault_of(buffer->device), buffer->native);
    return strata_cl_ready(native) == STRATA_OK ? native->id : NULL;
}

cl_program strata_opencl_program(strata_program *program) {
    if (!program || !program->native || !cl_device_of(program->device))
        return NULL;
    struct strata_native_program *native = strata_fault_inner_program(fault_of(program->device), program->native);
    return ((struct strata_cl_program *)native)->id;
}
