/* Buffers that count their calls, and the memory that the plan leaves the device. */
#include "backend/fault/native.h"

#include <string.h>

static struct strata_fault_buffer *buffer_of(struct strata_native_buffer *buffer) {
    return (struct strata_fault_buffer *)buffer;
}

static const struct strata_backend_buffer *table_of(const struct strata_fault *fault) {
    return fault->inner->buffer;
}

static struct strata_fault_buffer *new_buffer(struct strata_fault *fault, uint64_t bytes) {
    struct strata_fault_buffer *buffer = strata_host_allocate(&fault->base, sizeof *buffer);
    if (!buffer) {
        strata_fail_host_memory(sizeof *buffer, "a buffer");
        return NULL;
    }
    buffer->fault = fault;
    buffer->bytes = bytes;
    buffer->whole = buffer;
    return buffer;
}

struct strata_native_buffer *strata_fault_cover_buffer(struct strata_fault *fault, struct strata_native_buffer *native,
                                                       uint64_t bytes) {
    struct strata_fault_buffer *buffer = fault ? new_buffer(fault, bytes) : NULL;
    if (!buffer)
        return fault ? NULL : native;
    buffer->inner = native;
    atomic_fetch_add(&fault->live, 1);
    return (struct strata_native_buffer *)buffer;
}

struct strata_native_buffer *strata_fault_inner_buffer(const struct strata_fault *fault,
                                                       struct strata_native_buffer *buffer) {
    return fault ? buffer_of(buffer)->inner : buffer;
}

static enum strata_status create(struct strata_native_device *device, const struct strata_native_buffer_desc *desc,
                                 struct strata_native_buffer_facts *facts, struct strata_native_buffer **result) {
    struct strata_fault *fault = (struct strata_fault *)device;
    enum strata_status status = strata_fault_count(fault, STRATA_FAULT_CREATE, desc->bytes);
    if (status != STRATA_OK)
        return status;
    struct strata_fault_buffer *buffer = new_buffer(fault, desc->bytes);
    if (!buffer)
        return STRATA_OUT_OF_MEMORY;
    buffer->limited = desc->kind == STRATA_DEVICE || desc->kind == STRATA_SHARED;
    status = strata_fault_place(buffer, STRATA_FAULT_CREATE);
    if (status == STRATA_OK)
        status = table_of(fault)->create(fault->device, desc, facts, &buffer->inner);
    if (status != STRATA_OK) {
        strata_fault_unplace(buffer);
        strata_host_release(&fault->base, buffer);
        return status;
    }
    atomic_fetch_add(&fault->live, 1);
    *result = (struct strata_native_buffer *)buffer;
    return STRATA_OK;
}

static void destroy(struct strata_native_buffer *native) {
    struct strata_fault_buffer *buffer = buffer_of(native);
    struct strata_fault *fault = buffer->fault;
    table_of(fault)->destroy(buffer->inner);
    strata_fault_unplace(buffer);
    atomic_fetch_sub(&fault->live, 1);
    strata_host_release(&fault->base, buffer);
}

static enum strata_status part(struct strata_native_buffer *native, uint64_t offset, uint64_t bytes,
                               enum strata_access access, struct strata_native_buffer **result) {
    struct strata_fault_buffer *whole = buffer_of(native);
    struct strata_fault *fault = whole->fault;
    enum strata_status status = strata_fault_count(fault, STRATA_FAULT_PART, bytes);
    if (status != STRATA_OK)
        return status;
    struct strata_fault_buffer *buffer = new_buffer(fault, bytes);
    if (!buffer)
        return STRATA_OUT_OF_MEMORY;
    buffer->whole = whole->whole;
    status = table_of(fault)->part(whole->inner, offset, bytes, access, &buffer->inner);
    if (status != STRATA_OK) {
        strata_host_release(&fault->base, buffer);
        return status;
    }
    atomic_fetch_add(&fault->live, 1);
    *result = (struct strata_native_buffer *)buffer;
    return STRATA_OK;
}

static enum strata_status commit(struct strata_native_buffer *native, enum strata_answer *effective) {
    struct strata_fault_buffer *buffer = buffer_of(native);
    struct strata_fault *fault = buffer->fault;
    enum strata_status status = strata_fault_count(fault, STRATA_FAULT_COMMIT, buffer->bytes);
    if (status == STRATA_OK)
        status = strata_fault_place(buffer, STRATA_FAULT_COMMIT);
    if (status == STRATA_OK)
        status = table_of(fault)->commit(buffer->inner, effective);
    if (fault->rules.lazy == STRATA_FAULT_LAZY)
        *effective = STRATA_NO;
    return status;
}

const struct strata_backend_buffer strata_fault_buffer_table = {.create = create,
                                                                .destroy = destroy,
                                                                .part = part,
                                                                .commit = commit,
                                                                .write = strata_fault_write,
                                                                .read = strata_fault_read,
                                                                .copy = strata_fault_copy,
                                                                .fill = strata_fault_fill,
                                                                .write_box = strata_fault_write_box,
                                                                .read_box = strata_fault_read_box,
                                                                .copy_box = strata_fault_copy_box,
                                                                .map = strata_fault_map,
                                                                .unmap = strata_fault_unmap};
