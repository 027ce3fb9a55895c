/* The device object: opening, closing, and what it lends to the other rooms. */
#include "core/device.h"
#include "backend/fault/fault.h"
#include "core/fork.h"
#include "core/queue.h"
#include "core/quirks.h"
#include "memory/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void strata_device_desc_init(struct strata_device_desc *desc) {
    *desc = (struct strata_device_desc){.size = sizeof *desc};
}

enum strata_status strata_desc_read(const void *given, void *desc, size_t known, const char *what) {
    if (!given)
        return STRATA_OK;
    size_t size;
    memcpy(&size, given, sizeof size);
    if (size < sizeof size)
        return strata_fail(STRATA_INVALID_ARGUMENT,
                           "The size member of struct %s is %zu; set it with the macro or the _init function.", what,
                           size);
    for (size_t i = known; i < size; i++)
        if (((const unsigned char *)given)[i] != 0)
            return strata_fail(STRATA_INVALID_ARGUMENT,
                               "The struct %s asks for something that this version of strata (%s) does not know.", what,
                               strata_version());
    memcpy(desc, given, size < known ? size : known);
    memcpy(desc, &known, sizeof known);
    return STRATA_OK;
}

void strata_device_log(strata_device *device, enum strata_log_level level, const char *format, ...) {
    if (!device->log || level > device->log_level)
        return;
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    device->log(level, message, device->log_user);
}

enum strata_status strata_device_check(const strata_device *device) {
    if (!device)
        return strata_fail(STRATA_INVALID_ARGUMENT, "The device is NULL.");
    if (atomic_load(&((strata_device *)(uintptr_t)device)->closed))
        return strata_fail(STRATA_INVALID_ARGUMENT, "Device '%s' was closed.", device->name);
    return STRATA_OK;
}

void strata_device_retain(strata_device *device) {
    atomic_fetch_add(&device->references, 1);
}

static void free_host_parts(strata_device *device) {
    struct strata_allocator hooks = device->hooks;
    strata_trace_forget(device);
    strata_info_release(&hooks, &device->info);
    strata_host_release(&hooks, device->cache_directory);
    strata_host_release(&hooks, device->name);
    strata_host_release(&hooks, device);
}

void strata_device_release(strata_device *device) {
    if (atomic_fetch_sub(&device->references, 1) != 1)
        return;
    if (device->native)
        device->backend->device->close(device->native);
    strata_scopes_free(device);
    pthread_cond_destroy(&device->trace_changed);
    pthread_mutex_destroy(&device->trace_lock);
    pthread_mutex_destroy(&device->pools_lock);
    pthread_mutex_destroy(&device->primitives_lock);
    pthread_mutex_destroy(&device->lock);
    free_host_parts(device);
}

static enum strata_status copy_texts(strata_device *device, const struct strata_device_desc *desc) {
    const char *name = desc->name ? desc->name : device->info.name;
    device->name = strata_host_copy_string(&device->hooks, name, strlen(name));
    if (desc->cache_directory)
        device->cache_directory =
            strata_host_copy_string(&device->hooks, desc->cache_directory, strlen(desc->cache_directory));
    if (!device->name || (desc->cache_directory && !device->cache_directory))
        return strata_fail_host_memory(strlen(name), "a device's name");
    return STRATA_OK;
}

static enum strata_status make_default_queue(strata_device *device, bool profiling, struct strata_native_queue *given) {
    struct strata_native_queue *native = given;
    enum strata_status status = STRATA_OK;
    if (!native)
        status = device->backend->queue->create(device->native, profiling, &native);
    if (status != STRATA_OK)
        return status;
    status = strata_queue_wrap(device, native, "default", profiling, &device->queue);
    if (status != STRATA_OK) {
        if (!given)
            device->backend->queue->destroy(native);
        return status;
    }
    device->queue->is_default = true;
    return STRATA_OK;
}

enum strata_status strata_device_create(const struct strata_backend *backend, struct strata_native_device *native,
                                        const struct strata_device_info *info, const struct strata_device_desc *desc,
                                        struct strata_native_queue *queue, strata_device **result) {
    strata_device *device = strata_host_allocate(desc->allocator, sizeof *device);
    if (!device)
        return strata_fail_host_memory(sizeof *device, "a device");
    if (desc->allocator)
        device->hooks = *desc->allocator;
    device->backend = backend;
    device->native = native;
    device->log = desc->log;
    device->log_user = desc->log_user;
    device->log_level = desc->log_level == STRATA_LOG_NONE ? STRATA_LOG_WARNING : desc->log_level;
    device->no_cache = desc->no_cache;
    device->no_pools = strata_quirks_of(info->platform)->own_bounds;
    device->memory_limit = desc->memory_limit;
    device->pinned_limit = desc->pinned_limit;
    atomic_init(&device->references, 1);
    atomic_init(&device->closed, false);
    pthread_mutex_init(&device->lock, NULL);
    pthread_mutex_init(&device->primitives_lock, NULL);
    pthread_mutex_init(&device->pools_lock, NULL);
    pthread_mutex_init(&device->trace_lock, NULL);
    pthread_cond_init(&device->trace_changed, NULL);
    enum strata_status status = strata_info_copy(&device->hooks, info, &device->info);
    if (status == STRATA_OK)
        status = copy_texts(device, desc);
    if (status == STRATA_OK)
        status = make_default_queue(device, desc->profiling, queue);
    if (status != STRATA_OK) {
        device->native = NULL; /* still the caller's */
        strata_device_release(device);
        return status;
    }
    strata_trace_begin(device, desc->trace);
    *result = device;
    return STRATA_OK;
}

/* Opens a candidate, behind a fault plan if there is one. */
static enum strata_status open_candidate(const struct strata_candidate *candidate, struct strata_device_desc *desc,
                                         strata_device **result) {
    const struct strata_backend *backend = candidate->backend;
    struct strata_device_info info = candidate->info;
    struct strata_native_device *native = NULL;
    struct strata_fault *fault = NULL;
    enum strata_status status = strata_fault_begin(desc, &fault);
    if (status != STRATA_OK)
        return status;
    if (!fault) {
        status = backend->device->open(candidate, desc->allocator, &native);
    } else {
        status = strata_fault_open(fault, candidate, desc, &native);
        backend = strata_fault_backend(fault);
        info.max_buffer_bytes = strata_fault_largest(fault, info.max_buffer_bytes);
    }
    if (status != STRATA_OK) {
        strata_fault_drop(fault);
        return status;
    }
    status = strata_device_create(backend, native, &info, desc, NULL, result);
    if (status != STRATA_OK)
        backend->device->close(native);
    return status;
}

/* Opens the candidate that the selector names. */
static enum strata_status open_selected(const char *selector, struct strata_device_desc *desc, strata_device **result) {
    struct strata_candidate *list = NULL;
    size_t count = 0, index = 0;
    enum strata_status status = strata_candidates_find(&list, &count);
    if (status == STRATA_OK)
        status = strata_candidates_select(list, count, selector, &index);
    if (status == STRATA_OK)
        status = open_candidate(&list[index], desc, result);
    strata_candidates_release(list, count);
    return status;
}

enum strata_status strata_device_open(const char *selector, const struct strata_device_desc *given,
                                      strata_device **result) {
    STRATA_REFUSE_IN_CHILD();
    if (!result)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_device_open needs a place for the device.");
    *result = NULL;
    struct strata_device_desc desc = {.size = sizeof desc};
    enum strata_status status = strata_desc_read(given, &desc, sizeof desc, "strata_device_desc");
    if (status != STRATA_OK)
        return status;
    if (!selector || !selector[0])
        selector = getenv("STRATA_DEVICE");
    return open_selected(selector, &desc, result);
}

/* Queues that the caller did not destroy: their work must be over before anything is freed. */
static void finish_queues(strata_device *device) {
    for (unsigned slot = 0; slot < STRATA_QUEUE_SLOTS; slot++) {
        pthread_mutex_lock(&device->lock);
        strata_queue *queue = device->queues[slot];
        if (queue)
            strata_queue_retain(queue);
        pthread_mutex_unlock(&device->lock);
        if (!queue)
            continue;
        strata_queue_finish(queue);
        strata_queue_release(queue);
    }
}

void strata_device_close(strata_device **place) {
    if (!place || !*place)
        return;
    strata_device *device = *place;
    *place = NULL;
    if (strata_fork_happened()) {
        free_host_parts(device);
        return;
    }
    finish_queues(device);
    if (device->primitives_destroy)
        device->primitives_destroy(device->primitives);
    device->primitives = NULL;
    device->primitives_destroy = NULL;
    strata_retired_reap(device, true);
    strata_leak_report(device);
    strata_pools_close(device);
    strata_trace_close(device);
    strata_queue *queue = device->queue;
    atomic_store(&device->closed, true);
    strata_queue_end(queue);
    device->queue = NULL;
    strata_queue_release(queue);
    strata_retired_reap(device, true); /* a callback's wait, over only now, may have been looking through the list */
    strata_device_release(device);
}

const struct strata_device_info *strata_device_get_info(const strata_device *device) {
    return device ? &device->info : NULL;
}

strata_queue *strata_device_queue(strata_device *device) {
    return device ? device->queue : NULL;
}

enum strata_status strata_device_free_memory(strata_device *device, uint64_t *bytes) {
    STRATA_REFUSE_IN_CHILD();
    enum strata_status status = strata_device_check(device);
    if (status != STRATA_OK)
        return status;
    if (!bytes)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_device_free_memory needs a place for the answer.");
    *bytes = STRATA_UNKNOWN;
    return device->backend->device->free_memory(device->native, bytes);
}
