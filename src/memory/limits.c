/* Memory of the runtime, within the limits that the device was opened with; and plain memory where none can be pinned.
 */
#include "memory/pool.h"

#include <inttypes.h>
#include <unistd.h>

/* Page-locked memory is taken from everybody on the machine, so this share of it is all that is taken unasked. */
#define PINNED_SHARE 4

static uint64_t limit_of(const strata_device *device, enum strata_kind kind) {
    if (kind == STRATA_DEVICE)
        return device->memory_limit ? device->memory_limit : UINT64_MAX;
    if (kind != STRATA_PINNED)
        return UINT64_MAX;
    if (device->pinned_limit)
        return device->pinned_limit;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / PINNED_SHARE : UINT64_MAX;
}

/* Counts bytes in, unless that goes over the limit. */
static enum strata_status count_in(strata_device *device, enum strata_kind kind, uint64_t bytes) {
    _Atomic uint64_t *taken = &device->taken[kind];
    uint64_t limit = limit_of(device, kind), now = atomic_load(taken);
    do {
        if (bytes > limit || now > limit - bytes)
            return strata_fail(STRATA_OUT_OF_MEMORY,
                               "%" PRIu64 " bytes of %s memory more would go over the limit of %" PRIu64
                               " that device '%s' was opened with; %" PRIu64 " are taken.",
                               bytes, kind == STRATA_DEVICE ? "DEVICE" : "PINNED", limit, device->name, now);
    } while (!atomic_compare_exchange_weak(taken, &now, now + bytes));
    return STRATA_OK;
}

static enum strata_status take_plain(strata_device *device, const struct strata_native_buffer_desc *desc,
                                     struct strata_native_buffer_facts *facts, struct strata_native_buffer **native) {
    struct strata_native_buffer_desc plain = *desc;
    plain.plain = true;
    return device->backend->buffer->create(device->native, &plain, facts, native);
}

void strata_memory_tell_of_plain(strata_device *device) {
    if (!atomic_exchange(&device->told_of_plain, true))
        strata_device_log(device, STRATA_LOG_WARNING,
                          "Memory that was to be pinned is plain host memory, since no more can be pinned on device "
                          "'%s' (its limit is %" PRIu64
                          " bytes). It is used the same way, and copies of it are slower.",
                          device->name, limit_of(device, STRATA_PINNED));
}

enum strata_status strata_memory_take(strata_device *device, const struct strata_native_buffer_desc *desc,
                                      bool pinned_only, struct strata_native_buffer_facts *facts, bool *plain,
                                      struct strata_native_buffer **native) {
    *plain = false;
    enum strata_status status = count_in(device, desc->kind, desc->bytes);
    if (status == STRATA_OK) {
        status = device->backend->buffer->create(device->native, desc, facts, native);
        if (status != STRATA_OK)
            atomic_fetch_sub(&device->taken[desc->kind], desc->bytes);
    }
    if (status != STRATA_OUT_OF_MEMORY || desc->kind != STRATA_PINNED || desc->kernel_access || pinned_only)
        return status;
    *plain = true;
    return take_plain(device, desc, facts, native);
}

void strata_memory_give(strata_device *device, enum strata_kind kind, uint64_t bytes, bool plain,
                        struct strata_native_buffer *native) {
    device->backend->buffer->destroy(native);
    if (!plain)
        atomic_fetch_sub(&device->taken[kind], bytes);
}
