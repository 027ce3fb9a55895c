/* OpenCL buffers of each kind: cl_mem, SVM and USM memory. */
#include "backend/opencl/native.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

/* What strata promises of its own memory; runtimes may promise less. */
#define LEAST_ALIGNMENT UINT64_C(256)

/* How long to wait for a runtime to say that it no longer uses host memory, before it is trusted that it does not. */
#define DESTRUCTOR_WAIT_S 5

static struct strata_cl_buffer *buffer_of(struct strata_native_buffer *buffer) {
    return (struct strata_cl_buffer *)buffer;
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static cl_mem_flags access_flags(enum strata_access access) {
    return access == STRATA_READ_ONLY    ? CL_MEM_READ_ONLY
           : access == STRATA_WRITE_ONLY ? CL_MEM_WRITE_ONLY
                                         : CL_MEM_READ_WRITE;
}

static enum strata_status create_mem(struct strata_cl_buffer *buffer, cl_mem_flags flags, uint64_t bytes, void *pointer,
                                     const char *what) {
    struct strata_cl_device *device = buffer->device;
    cl_int code = CL_SUCCESS;
    buffer->flags = flags;
    buffer->id = device->cl->CreateBuffer(device->context, flags, (size_t)bytes, pointer, &code);
    return code == CL_SUCCESS ? STRATA_OK : strata_cl_fail(device, code, what);
}

static enum strata_status create_device_memory(struct strata_cl_buffer *buffer,
                                               const struct strata_native_buffer_desc *desc,
                                               struct strata_native_buffer_facts *facts) {
    struct strata_cl_device *device = buffer->device;
    facts->alignment = device->info.base_alignment;
    if (!device->quirks->host_memory_is_device)
        return create_mem(buffer, access_flags(desc->access), desc->bytes, NULL, "create a buffer");
    void *memory = strata_host_allocate_pages(&device->hooks, desc->bytes, &buffer->host_block);
    if (!memory)
        return strata_fail_host_memory(desc->bytes, "a buffer, and the device shares the host's");
    facts->alignment = STRATA_PAGE_BYTES;
    buffer->wait_destructor = true;
    return create_mem(buffer, access_flags(desc->access) | CL_MEM_USE_HOST_PTR, desc->bytes, memory, "create a buffer");
}

/* The queue that maps pinned memory for life and places memory. */
static enum strata_status service_queue(struct strata_cl_device *device, cl_command_queue *queue) {
    cl_int code = CL_SUCCESS;
    pthread_mutex_lock(&device->lock);
    if (!device->service)
        device->service = device->cl->CreateCommandQueue(device->context, device->id, 0, &code);
    *queue = device->service;
    pthread_mutex_unlock(&device->lock);
    return code == CL_SUCCESS ? STRATA_OK : strata_cl_fail(device, code, "create a queue");
}

static enum strata_answer is_pinned(const struct strata_cl_device *device) {
    if (device->quirks->pinned_is_pinned)
        return STRATA_YES;
    return device->info.type == STRATA_DEVICE_CPU ? STRATA_NO : STRATA_NOT_KNOWN;
}

/* Memory to transfer from and to: mapped once, and never given to a kernel. It is a little larger than asked for, so
 * that the pointer can start where strata promises, whatever the runtime's own alignment. */
static enum strata_status create_pinned(struct strata_cl_buffer *buffer, const struct strata_native_buffer_desc *desc,
                                        struct strata_native_buffer_facts *facts) {
    struct strata_cl_device *device = buffer->device;
    cl_command_queue queue = NULL;
    uint64_t alignment = larger(LEAST_ALIGNMENT, device->info.base_alignment);
    uint64_t padded = desc->bytes + alignment;
    if (padded > device->info.max_buffer_bytes && desc->bytes <= device->info.max_buffer_bytes)
        padded = device->info.max_buffer_bytes; /* the pointer of memory this large is aligned by itself, see below */
    enum strata_status status = service_queue(device, &queue);
    if (status == STRATA_OK)
        status = create_mem(buffer, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, padded, NULL, "create pinned memory");
    if (status != STRATA_OK)
        return status;
    cl_int code = CL_SUCCESS;
    char *map = device->cl->EnqueueMapBuffer(queue, buffer->id, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, (size_t)padded,
                                             0, NULL, NULL, &code);
    if (code != CL_SUCCESS)
        return strata_cl_fail(device, code, "map pinned memory");
    buffer->lifelong_map = map;
    uint64_t skip = (alignment - ((uintptr_t)map & (alignment - 1))) & (alignment - 1);
    if (skip + desc->bytes > padded) { /* the runtime does not align what nearly fills its limit */
        skip = 0;
        alignment = (uintptr_t)map & (~(uintptr_t)map + 1);
    }
    buffer->pointer = map + skip;
    facts->host_pointer = buffer->pointer;
    facts->alignment = alignment;
    facts->pinned = is_pinned(device);
    return STRATA_OK;
}

static enum strata_status create_plain(struct strata_cl_buffer *buffer, const struct strata_native_buffer_desc *desc,
                                       struct strata_native_buffer_facts *facts) {
    buffer->pointer = strata_host_allocate_pages(&buffer->device->hooks, desc->bytes, &buffer->host_block);
    if (!buffer->pointer)
        return strata_fail_host_memory(desc->bytes, "host memory in the place of pinned memory");
    facts->host_pointer = buffer->pointer;
    facts->alignment = STRATA_PAGE_BYTES;
    facts->pinned = STRATA_NO;
    return STRATA_OK;
}

static enum strata_status create_kernel_pinned(struct strata_cl_buffer *buffer,
                                               const struct strata_native_buffer_desc *desc,
                                               struct strata_native_buffer_facts *facts) {
    facts->alignment = buffer->device->info.base_alignment;
    facts->pinned = is_pinned(buffer->device);
    facts->zero_copy = buffer->device->info.unified == STRATA_YES ? STRATA_YES : STRATA_NOT_KNOWN;
    return create_mem(buffer, access_flags(desc->access) | CL_MEM_ALLOC_HOST_PTR, desc->bytes, NULL,
                      "create pinned memory that kernels can use");
}

/* An equal mapped pointer proves nothing, so zero copy is claimed only for memory that is shared and aligned as Intel's
 * integrated devices want it: pointer and size whole pages. */
static enum strata_status create_wrapped(struct strata_cl_buffer *buffer, const struct strata_native_buffer_desc *desc,
                                         struct strata_native_buffer_facts *facts) {
    struct strata_cl_device *device = buffer->device;
    uint64_t address = (uintptr_t)desc->host_pointer;
    bool whole_pages = address % STRATA_PAGE_BYTES == 0 && desc->bytes % STRATA_PAGE_BYTES == 0;
    if (device->info.unified == STRATA_NO)
        facts->zero_copy = STRATA_NO;
    else if (device->quirks->host_memory_is_device || (device->info.unified == STRATA_YES && whole_pages))
        facts->zero_copy = STRATA_YES;
    facts->host_pointer = desc->host_pointer;
    facts->alignment = larger(address & (~address + 1), device->info.base_alignment);
    buffer->wait_destructor = true;
    return create_mem(buffer, access_flags(desc->access) | CL_MEM_USE_HOST_PTR, desc->bytes, desc->host_pointer,
                      "wrap host memory");
}

static enum strata_status create_usm(struct strata_cl_buffer *buffer, uint64_t padded) {
    struct strata_cl_device *device = buffer->device;
    cl_int code = CL_SUCCESS;
    buffer->storage = STRATA_CL_USM;
    strata_cl_serial_enter(device->quirks->serialise);
    buffer->allocation = device->usm.shared_alloc(device->context, device->id, NULL, (size_t)padded, 0, &code);
    strata_cl_serial_leave(device->quirks->serialise);
    if (code != CL_SUCCESS || !buffer->allocation)
        return strata_cl_fail(device, code != CL_SUCCESS ? code : CL_MEM_OBJECT_ALLOCATION_FAILURE,
                              "allocate shared memory (USM)");
    return STRATA_OK;
}

static enum strata_status create_svm(struct strata_cl_buffer *buffer, cl_svm_mem_flags flags, uint64_t padded) {
    struct strata_cl_device *device = buffer->device;
    buffer->storage = STRATA_CL_SVM;
    buffer->allocation = device->cl->SVMAlloc(device->context, flags, (size_t)padded, 0);
    if (!buffer->allocation) /* clSVMAlloc has no code of its own (OpenCL 3.0, 5.6.1) */
        return strata_cl_fail(device, CL_MEM_OBJECT_ALLOCATION_FAILURE, "allocate shared memory (SVM)");
    return STRATA_OK;
}

/* Runtimes need not grant an alignment above the largest type's, so strata aligns the start itself. */
static enum strata_status create_shared(struct strata_cl_buffer *buffer, const struct strata_native_buffer_desc *desc,
                                        struct strata_native_buffer_facts *facts) {
    struct strata_cl_device *device = buffer->device;
    uint64_t alignment = larger(LEAST_ALIGNMENT, device->info.base_alignment), padded = desc->bytes + alignment;
    bool coherent = desc->mode == STRATA_SHARED_COHERENT;
    enum strata_status status;
    if (coherent && device->usm.shared_alloc)
        status = create_usm(buffer, padded);
    else
        status = create_svm(buffer, access_flags(desc->access) | (coherent ? CL_MEM_SVM_FINE_GRAIN_BUFFER : 0), padded);
    if (status != STRATA_OK)
        return status;
    char *memory = buffer->allocation;
    buffer->pointer = memory + ((alignment - ((uintptr_t)memory & (alignment - 1))) & (alignment - 1));
    facts->host_pointer = buffer->pointer;
    facts->alignment = alignment;
    facts->same_pointer = true;
    facts->zero_copy = device->info.unified;
    facts->pinned = STRATA_NOT_KNOWN;
    return STRATA_OK;
}

static void free_allocation(struct strata_cl_buffer *buffer) {
    struct strata_cl_device *device = buffer->device;
    if (!buffer->allocation)
        return;
    if (buffer->storage == STRATA_CL_SVM) {
        device->cl->SVMFree(device->context, buffer->allocation);
        return;
    }
    strata_cl_serial_enter(device->quirks->serialise);
    device->usm.blocking_free(device->context, buffer->allocation);
    strata_cl_serial_leave(device->quirks->serialise);
}

/* Shared with the destructor callback, which a runtime calls from any thread, late perhaps: whoever is last frees it.
 */
struct farewell {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool gone;
    bool abandoned;
};

static void free_farewell(struct farewell *farewell) {
    pthread_cond_destroy(&farewell->changed);
    pthread_mutex_destroy(&farewell->lock);
    strata_host_release(NULL, farewell);
}

static void CL_CALLBACK say_farewell(cl_mem memory, void *user) {
    (void)memory;
    struct farewell *farewell = user;
    pthread_mutex_lock(&farewell->lock);
    farewell->gone = true;
    bool abandoned = farewell->abandoned;
    pthread_cond_signal(&farewell->changed);
    pthread_mutex_unlock(&farewell->lock);
    if (abandoned)
        free_farewell(farewell);
}

static struct farewell *expect_farewell(const struct strata_cl_buffer *buffer) {
    struct farewell *farewell = strata_host_allocate(NULL, sizeof *farewell);
    if (!farewell)
        return NULL;
    pthread_mutex_init(&farewell->lock, NULL);
    pthread_cond_init(&farewell->changed, NULL);
    if (buffer->device->cl->SetMemObjectDestructorCallback(buffer->id, say_farewell, farewell) == CL_SUCCESS)
        return farewell;
    free_farewell(farewell);
    return NULL;
}

/* A caller may hold a reference of its own to the cl_mem, so the wait has an end. */
static void await_farewell(struct farewell *farewell) {
    if (!farewell)
        return;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += DESTRUCTOR_WAIT_S;
    pthread_mutex_lock(&farewell->lock);
    int code = 0;
    while (!farewell->gone && code == 0)
        code = pthread_cond_timedwait(&farewell->changed, &farewell->lock, &end);
    bool gone = farewell->gone;
    farewell->abandoned = true;
    pthread_mutex_unlock(&farewell->lock);
    if (gone)
        free_farewell(farewell);
}

static void release_mem(struct strata_cl_buffer *buffer) {
    const struct strata_cl_calls *cl = buffer->device->cl;
    strata_cl_parts_leave_buffer(buffer);
    if (!buffer->id)
        return;
    if (buffer->lifelong_map) {
        cl->EnqueueUnmapMemObject(buffer->device->service, buffer->id, buffer->lifelong_map, 0, NULL, NULL);
        cl->Finish(buffer->device->service);
    }
    struct farewell *farewell = buffer->wait_destructor ? expect_farewell(buffer) : NULL;
    cl->ReleaseMemObject(buffer->id);
    await_farewell(farewell);
}

static void destroy(struct strata_native_buffer *native) {
    struct strata_cl_buffer *buffer = buffer_of(native);
    release_mem(buffer);
    free_allocation(buffer);
    strata_host_release(&buffer->device->hooks, buffer->host_block);
    strata_host_release(&buffer->device->hooks, buffer);
}

struct strata_cl_buffer *strata_cl_buffer_new(struct strata_cl_device *device, uint64_t bytes) {
    static atomic_ullong serials;
    struct strata_cl_buffer *buffer = strata_host_allocate(&device->hooks, sizeof *buffer);
    if (!buffer)
        return NULL;
    buffer->device = device;
    buffer->serial = atomic_fetch_add(&serials, 1) + 1;
    buffer->bytes = bytes;
    return buffer;
}

static enum strata_status create(struct strata_native_device *native, const struct strata_native_buffer_desc *desc,
                                 struct strata_native_buffer_facts *facts, struct strata_native_buffer **result) {
    struct strata_cl_device *device = (struct strata_cl_device *)native;
    struct strata_cl_buffer *buffer = strata_cl_buffer_new(device, desc->bytes);
    if (!buffer)
        return strata_fail_host_memory(sizeof *buffer, "a buffer");
    enum strata_status status;
    if (desc->plain)
        status = create_plain(buffer, desc, facts);
    else if (desc->kind == STRATA_DEVICE)
        status = create_device_memory(buffer, desc, facts);
    else if (desc->kind == STRATA_PINNED)
        status = desc->kernel_access ? create_kernel_pinned(buffer, desc, facts) : create_pinned(buffer, desc, facts);
    else if (desc->kind == STRATA_WRAPPED)
        status = create_wrapped(buffer, desc, facts);
    else
        status = create_shared(buffer, desc, facts);
    if (status != STRATA_OK)
        destroy((struct strata_native_buffer *)buffer);
    else
        *result = (struct strata_native_buffer *)buffer;
    return status;
}

static enum strata_status part(struct strata_native_buffer *native, uint64_t offset, uint64_t bytes,
                               enum strata_access access, struct strata_native_buffer **result) {
    struct strata_cl_buffer *whole = buffer_of(native);
    struct strata_cl_buffer *buffer = strata_cl_buffer_new(whole->device, bytes);
    if (!buffer)
        return strata_fail_host_memory(sizeof *buffer, "a part of a buffer");
    buffer->storage = whole->storage;
    buffer->flags = access_flags(access);
    if (whole->pointer) {
        buffer->pointer = whole->pointer + offset;
    } else {
        buffer->parent = whole->id;
        buffer->parent_offset = offset;
        atomic_store(&buffer->unmade, true);
    }
    *result = (struct strata_native_buffer *)buffer;
    return STRATA_OK;
}

enum strata_status strata_cl_ready(struct strata_cl_buffer *buffer) {
    if (!atomic_load_explicit(&buffer->unmade, memory_order_acquire))
        return STRATA_OK;
    struct strata_cl_device *device = buffer->device;
    cl_buffer_region region = {(size_t)buffer->parent_offset, (size_t)buffer->bytes};
    cl_int code = CL_SUCCESS;
    pthread_mutex_lock(&device->lock);
    if (atomic_load(&buffer->unmade)) {
        buffer->id =
            device->cl->CreateSubBuffer(buffer->parent, buffer->flags, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
        if (code == CL_SUCCESS)
            atomic_store_explicit(&buffer->unmade, false, memory_order_release);
    }
    pthread_mutex_unlock(&device->lock);
    return code == CL_SUCCESS ? STRATA_OK : strata_cl_fail(device, code, "make a sub-buffer of a pool's block");
}

/* Overcommitted host memory is accepted and kills the process when it is touched, so what is free is asked first. */
static enum strata_status check_host_memory(const struct strata_cl_device *device, uint64_t bytes) {
    uint64_t available = strata_cl_free_bytes(device->cl, device->id, &device->info, false);
    if (available == STRATA_UNKNOWN || bytes <= available)
        return STRATA_OK;
    return strata_fail(STRATA_OUT_OF_MEMORY, "Device '%s' has %" PRIu64 " bytes available, and %" PRIu64 " were asked.",
                       device->name, available, bytes);
}

/* Drivers place memory at its first use; so this is one. A migration alone is no use for some of them. */
static enum strata_status commit(struct strata_native_buffer *native, enum strata_answer *effective) {
    struct strata_cl_buffer *buffer = buffer_of(native);
    struct strata_cl_device *device = buffer->device;
    const struct strata_cl_calls *cl = device->cl;
    const uint32_t zero = 0;
    *effective = device->quirks->commit_tells ? STRATA_YES : STRATA_NOT_KNOWN;
    if (device->info.type == STRATA_DEVICE_CPU) {
        *effective = STRATA_YES;
        return check_host_memory(device, buffer->bytes);
    }
    cl_command_queue queue = NULL;
    enum strata_status status = service_queue(device, &queue);
    if (status != STRATA_OK)
        return status;
    cl_int code =
        cl->EnqueueMigrateMemObjects(queue, 1, &buffer->id, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, NULL, NULL);
    if (code == CL_SUCCESS && buffer->bytes >= sizeof zero)
        code = cl->EnqueueWriteBuffer(queue, buffer->id, CL_FALSE, 0, sizeof zero, &zero, 0, NULL, NULL);
    if (code == CL_SUCCESS)
        code = cl->Finish(queue);
    return code == CL_SUCCESS ? STRATA_OK : strata_cl_fail(device, code, "place a buffer in its memory");
}

const struct strata_backend_buffer strata_cl_buffer_table = {.create = create,
                                                             .destroy = destroy,
                                                             .part = part,
                                                             .commit = commit,
                                                             .write = strata_cl_write,
                                                             .read = strata_cl_read,
                                                             .copy = strata_cl_copy,
                                                             .fill = strata_cl_fill,
                                                             .write_box = strata_cl_write_box,
                                                             .read_box = strata_cl_read_box,
                                                             .copy_box = strata_cl_copy_box,
                                                             .map = strata_cl_map,
                                                             .unmap = strata_cl_unmap};
