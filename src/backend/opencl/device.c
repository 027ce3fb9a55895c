/* OpenCL devices: finding them through the ICD loader, opening a context on one. */
#include "core/device.h"
#include "backend/opencl/native.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* strata calls nothing older. */
#define LEAST_VERSION 120

const struct strata_backend strata_backend_opencl = {.name = "opencl",
                                                     .device = &strata_cl_device_table,
                                                     .queue = &strata_cl_queue_table,
                                                     .buffer = &strata_cl_buffer_table,
                                                     .program = &strata_cl_program_table};

static bool platform_is_serial(cl_platform_id platform) {
    char name[256] = "";
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
    return strata_quirks_of(name)->serialise;
}

static enum strata_status add_device(cl_platform_id platform, cl_device_id id, struct strata_candidate **list,
                                     size_t *count) {
    struct strata_device_info info;
    const struct strata_cl_calls *cl = strata_cl_calls_for(platform_is_serial(platform));
    cl_bool available = CL_FALSE;
    /* A device that is there but cannot be used is as good as none. */
    if (cl->GetDeviceInfo(id, CL_DEVICE_AVAILABLE, sizeof available, &available, NULL) != CL_SUCCESS || !available)
        return STRATA_OK;
    enum strata_status status = strata_cl_describe(cl, platform, id, &info);
    if (status != STRATA_OK)
        return status;
    if (info.version < LEAST_VERSION || info.global_bytes == STRATA_UNKNOWN ||
        info.max_buffer_bytes == STRATA_UNKNOWN) {
        strata_info_release(NULL, &info);
        return STRATA_OK;
    }
    struct strata_candidate *grown = realloc(*list, (*count + 1) * sizeof **list);
    if (!grown) {
        strata_info_release(NULL, &info);
        return strata_fail_host_memory((*count + 1) * sizeof **list, "the list of devices");
    }
    *list = grown;
    grown[(*count)++] =
        (struct strata_candidate){.info = info, .backend = &strata_backend_opencl, .platform = platform, .device = id};
    return STRATA_OK;
}

static enum strata_status add_platform(cl_platform_id platform, struct strata_candidate **list, size_t *count) {
    cl_uint found = 0;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &found) != CL_SUCCESS || found == 0)
        return STRATA_OK;
    cl_device_id *ids = calloc(found, sizeof *ids);
    if (!ids)
        return strata_fail_host_memory(found * sizeof *ids, "the list of devices");
    enum strata_status status = STRATA_OK;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, found, ids, NULL) == CL_SUCCESS)
        for (cl_uint i = 0; i < found && status == STRATA_OK; i++)
            status = add_device(platform, ids[i], list, count);
    free(ids);
    return status;
}

static enum strata_status enumerate(struct strata_candidate **list, size_t *count) {
    cl_uint found = 0;
    if (clGetPlatformIDs(0, NULL, &found) != CL_SUCCESS || found == 0)
        return STRATA_OK;
    cl_platform_id *platforms = calloc(found, sizeof *platforms);
    if (!platforms)
        return strata_fail_host_memory(found * sizeof *platforms, "the list of platforms");
    enum strata_status status = STRATA_OK;
    if (clGetPlatformIDs(found, platforms, NULL) == CL_SUCCESS)
        for (cl_uint i = 0; i < found && status == STRATA_OK; i++)
            status = add_platform(platforms[i], list, count);
    free(platforms);
    return status;
}

/* A function of an extension, or NULL. The cast from an object pointer is what the OpenCL specification asks for. */
static void *extension_function(cl_platform_id platform, const char *name) {
    return clGetExtensionFunctionAddressForPlatform(platform, name);
}

static void load_usm(struct strata_cl_device *device) {
    struct strata_cl_usm *usm = &device->usm;
    if (!(device->info.usm & STRATA_USM_SHARED))
        return;
    void *functions[] = {extension_function(device->platform, "clSharedMemAllocINTEL"),
                         extension_function(device->platform, "clMemBlockingFreeINTEL"),
                         extension_function(device->platform, "clSetKernelArgMemPointerINTEL"),
                         extension_function(device->platform, "clEnqueueMemcpyINTEL"),
                         extension_function(device->platform, "clEnqueueMemFillINTEL")};
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (!functions[i])
            return;
    /* Copied as bytes: ISO C has no conversion between object and function pointers. */
    memcpy(&usm->shared_alloc, &functions[0], sizeof functions[0]);
    memcpy(&usm->blocking_free, &functions[1], sizeof functions[1]);
    memcpy(&usm->set_argument, &functions[2], sizeof functions[2]);
    memcpy(&usm->copy, &functions[3], sizeof functions[3]);
    memcpy(&usm->fill, &functions[4], sizeof functions[4]);
}

/* A sub-buffer must suit each device of the context that is to use it, and a caller's context may have several. */
static uint64_t part_alignment(const struct strata_cl_device *device) {
    cl_device_id ids[64];
    size_t size = 0;
    uint64_t alignment = device->info.base_alignment;
    if (device->cl->GetContextInfo(device->context, CL_CONTEXT_DEVICES, sizeof ids, ids, &size) != CL_SUCCESS)
        return alignment;
    for (size_t i = 0; i < size / sizeof ids[0]; i++) {
        cl_uint bits = 0;
        if (device->cl->GetDeviceInfo(ids[i], CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL) == CL_SUCCESS &&
            bits / 8 > alignment)
            alignment = bits / 8;
    }
    return alignment;
}

static uint64_t get_part_alignment(struct strata_native_device *device) {
    return ((struct strata_cl_device *)device)->part_alignment;
}

enum strata_status strata_cl_device_create(cl_context context, cl_device_id id, const struct strata_device_info *info,
                                           const struct strata_allocator *hooks, struct strata_cl_device **result) {
    struct strata_cl_device *device = strata_host_allocate(hooks, sizeof *device);
    if (!device)
        return strata_fail_host_memory(sizeof *device, "a device");
    if (hooks)
        device->hooks = *hooks;
    device->quirks = strata_quirks_of(info->platform);
    device->cl = strata_cl_calls_for(device->quirks->serialise);
    device->context = context;
    device->id = id;
    device->info = *info;
    const char *doubling = device->quirks->local_counts_double;
    device->local_counts_double = doubling && strncmp(info->driver_version, doubling, strlen(doubling)) == 0;
    device->amd_queries = strata_cl_has_word(info->extensions, "cl_amd_device_attribute_query");
    device->info.name = device->info.vendor = device->info.platform = device->info.platform_version = "";
    device->info.device_version = device->info.driver_version = device->info.language_version = "";
    device->info.extensions = "";
    snprintf(device->name, sizeof device->name, "%s", info->name);
    device->cl->GetDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof device->platform, &device->platform, NULL);
    pthread_mutex_init(&device->lock, NULL);
    pthread_mutex_init(&device->parts_lock, NULL);
    load_usm(device);
    device->part_alignment = part_alignment(device);
    *result = device;
    return STRATA_OK;
}

static enum strata_status open_device(const struct strata_candidate *candidate, const struct strata_allocator *hooks,
                                      struct strata_native_device **result) {
    cl_device_id id = candidate->device;
    cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)candidate->platform, 0};
    const struct strata_cl_calls *cl = strata_cl_calls_for(candidate->info.serialised);
    cl_int code = CL_SUCCESS;
    cl_context context = cl->CreateContext(properties, 1, &id, NULL, NULL, &code);
    if (code != CL_SUCCESS)
        return strata_fail_native(strata_cl_status(code), code, strata_cl_error_name(code),
                                  "Device '%s' could not be opened.", candidate->info.name);
    struct strata_cl_device *device = NULL;
    enum strata_status status = strata_cl_device_create(context, id, &candidate->info, hooks, &device);
    if (status != STRATA_OK)
        cl->ReleaseContext(context);
    else
        *result = (struct strata_native_device *)device;
    return status;
}

static void close_device(struct strata_native_device *native) {
    struct strata_cl_device *device = (struct strata_cl_device *)native;
    if (device->service)
        device->cl->ReleaseCommandQueue(device->service);
    device->cl->ReleaseContext(device->context);
    pthread_mutex_destroy(&device->lock);
    pthread_mutex_destroy(&device->parts_lock);
    struct strata_allocator hooks = device->hooks;
    strata_host_release(&hooks, device);
}

static enum strata_status free_memory(struct strata_native_device *native, uint64_t *bytes) {
    struct strata_cl_device *device = (struct strata_cl_device *)native;
    *bytes = strata_cl_free_bytes(device->cl, device->id, &device->info, device->amd_queries);
    if (*bytes != STRATA_UNKNOWN)
        return STRATA_OK;
    return strata_fail(
        STRATA_UNSUPPORTED,
        "The runtime of device '%s' has no query for free memory, so it is not known; strata_device_stats "
        "tells what strata itself holds.",
        device->name);
}

const struct strata_backend_device strata_cl_device_table = {.enumerate = enumerate,
                                                             .open = open_device,
                                                             .close = close_device,
                                                             .free_memory = free_memory,
                                                             .part_alignment = get_part_alignment};
