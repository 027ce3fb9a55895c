/* Putting the decorator around a device, and taking it off: tables, host memory, and the check that nothing is left. */
#include "backend/fault/native.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void free_fault(struct strata_fault *fault) {
    struct strata_allocator base = fault->base;
    pthread_mutex_destroy(&fault->lock);
    pthread_mutex_destroy(&fault->order);
    strata_host_release(&base, fault);
}

void strata_fault_drop(struct strata_fault *fault) {
    if (fault && atomic_fetch_sub(&fault->references, 1) == 1)
        free_fault(fault);
}

enum strata_status strata_fault_begin(struct strata_device_desc *desc, struct strata_fault **result) {
    const char *plan = desc->fault, *environment = getenv("STRATA_FAULT");
    *result = NULL;
    if (!plan && environment && environment[0])
        plan = environment;
    if (!plan)
        return STRATA_OK;
    struct strata_fault_rules rules;
    enum strata_status status = strata_fault_parse(plan, &rules);
    if (status != STRATA_OK)
        return status;
    struct strata_fault *fault = strata_host_allocate(desc->allocator, sizeof *fault);
    if (!fault)
        return strata_fail_host_memory(sizeof *fault, "a device with a fault plan");
    if (desc->allocator)
        fault->base = *desc->allocator;
    fault->hooks = (struct strata_allocator){strata_fault_allocate, strata_fault_release_memory, fault};
    fault->log = desc->log;
    fault->log_user = desc->log_user;
    fault->rules = rules;
    atomic_init(&fault->references, 1);
    atomic_init(&fault->keeps, rules.hold || rules.slow_ns > 0);
    pthread_mutex_init(&fault->lock, NULL);
    pthread_mutex_init(&fault->order, NULL);
    desc->allocator = &fault->hooks;
    *result = fault;
    return STRATA_OK;
}

/* The decorator's tables, with NULL where the inner backend has none of a slot that may be missing. */
static void set_tables(struct strata_fault *fault) {
    const struct strata_backend *inner = fault->inner;
    fault->device_table = strata_fault_device_table;
    fault->queue_table = strata_fault_queue_table;
    fault->buffer_table = strata_fault_buffer_table;
    fault->program_table = strata_fault_program_table;
    struct strata_backend_buffer *buffer = &fault->buffer_table;
    if (!inner->buffer->commit)
        buffer->commit = NULL;
    if (!inner->buffer->write_box)
        buffer->write_box = NULL;
    if (!inner->buffer->read_box)
        buffer->read_box = NULL;
    if (!inner->buffer->copy_box)
        buffer->copy_box = NULL;
    fault->backend = (struct strata_backend){inner->name, &fault->device_table, &fault->queue_table,
                                             &fault->buffer_table, &fault->program_table};
}

struct strata_native_device *strata_fault_cover(struct strata_fault *fault, const struct strata_backend *inner,
                                                struct strata_native_device *native) {
    fault->inner = inner;
    fault->device = native;
    set_tables(fault);
    return (struct strata_native_device *)fault;
}

enum strata_status strata_fault_open(struct strata_fault *fault, const struct strata_candidate *candidate,
                                     const struct strata_device_desc *desc, struct strata_native_device **native) {
    struct strata_native_device *inner = NULL;
    enum strata_status status = strata_fault_count(fault, STRATA_FAULT_OPEN, 0);
    if (status == STRATA_OK)
        status = candidate->backend->device->open(candidate, desc->allocator, &inner);
    if (status == STRATA_OK)
        *native = strata_fault_cover(fault, candidate->backend, inner);
    return status;
}

const struct strata_backend *strata_fault_backend(const struct strata_fault *fault) {
    return &fault->backend;
}

uint64_t strata_fault_largest(struct strata_fault *fault, uint64_t bytes) {
    if (fault->own_largest == 0)
        fault->own_largest = bytes;
    return fault->rules.largest < fault->own_largest ? fault->rules.largest : fault->own_largest;
}

static void close_device(struct strata_native_device *native) {
    struct strata_fault *fault = (struct strata_fault *)native;
    uint64_t live = atomic_load(&fault->live);
    fault->inner->device->close(fault->device);
    if (live && fault->log) {
        char message[128];
        snprintf(message, sizeof message, "The device was closed with %" PRIu64 " objects of its runtime alive.", live);
        fault->log(STRATA_LOG_ERROR, message, fault->log_user);
    }
    strata_fault_drop(fault);
}

struct strata_fault *strata_fault_of(const struct strata_backend *backend, struct strata_native_device *native) {
    return backend->device->close == close_device ? (struct strata_fault *)native : NULL;
}

const struct strata_backend *strata_fault_inner_backend(const struct strata_fault *fault) {
    return fault->inner;
}

struct strata_native_device *strata_fault_inner_device(const struct strata_fault *fault) {
    return fault->device;
}

/* The least of what the runtime says, and of what the plan leaves. */
static enum strata_status free_memory(struct strata_native_device *native, uint64_t *bytes) {
    struct strata_fault *fault = (struct strata_fault *)native;
    enum strata_status status = fault->inner->device->free_memory(fault->device, bytes);
    pthread_mutex_lock(&fault->lock);
    uint64_t memory = fault->rules.memory, left = memory > fault->taken ? memory - fault->taken : 0;
    pthread_mutex_unlock(&fault->lock);
    if (memory == UINT64_MAX || (status == STRATA_OK && *bytes <= left))
        return status;
    *bytes = left;
    return STRATA_OK;
}

static uint64_t part_alignment(struct strata_native_device *native) {
    const struct strata_fault *fault = (const struct strata_fault *)native;
    return fault->inner->device->part_alignment(fault->device);
}

const struct strata_backend_device strata_fault_device_table = {
    .close = close_device, .free_memory = free_memory, .part_alignment = part_alignment};
