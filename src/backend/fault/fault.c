/* What strata/fault.h offers: plans of open devices, counts, and letting go. */
#include "strata/fault.h"
#include "backend/fault/native.h"
#include "core/device.h"
#include "core/fork.h"

#include <string.h>

static enum strata_status find(strata_device *device, struct strata_fault **fault) {
    enum strata_status status = strata_device_check(device);
    if (status != STRATA_OK)
        return status;
    *fault = strata_fault_of(device->backend, device->native);
    if (*fault)
        return STRATA_OK;
    return strata_fail(STRATA_UNSUPPORTED,
                       "Device '%s' was opened without a fault plan; give it one in strata_device_desc.fault, or in "
                       "STRATA_FAULT (\"\" in the desc counts only).",
                       device->name);
}

enum strata_status strata_fault_plan(strata_device *device, const char *plan) {
    STRATA_REFUSE_IN_CHILD();
    struct strata_fault *fault = NULL;
    struct strata_fault_rules rules;
    enum strata_status status = find(device, &fault);
    if (status == STRATA_OK && !plan)
        status = strata_fail(STRATA_INVALID_ARGUMENT, "The fault plan is NULL; an empty one counts only.");
    if (status == STRATA_OK)
        status = strata_fault_parse(plan, &rules);
    if (status != STRATA_OK)
        return status;
    strata_fault_let_go(fault, true); /* a failure shows at the next wait */
    pthread_mutex_lock(&fault->lock);
    fault->rules = rules;
    memset(fault->seen, 0, sizeof fault->seen);
    memset(fault->failed, 0, sizeof fault->failed);
    fault->thread_count = 0;
    pthread_mutex_unlock(&fault->lock);
    atomic_store(&fault->keeps, rules.hold || rules.slow_ns > 0);
    device->info.max_buffer_bytes = strata_fault_largest(fault, device->info.max_buffer_bytes);
    return STRATA_OK;
}

enum strata_status strata_fault_calls(strata_device *device, const char *kind, uint64_t *calls, uint64_t *failed) {
    STRATA_REFUSE_IN_CHILD();
    struct strata_fault *fault = NULL;
    enum strata_fault_kind which = STRATA_FAULT_ANY;
    enum strata_status status = find(device, &fault);
    if (status != STRATA_OK)
        return status;
    if (kind && !strata_fault_kind_of(kind, strlen(kind), &which))
        return STRATA_INVALID_ARGUMENT;
    pthread_mutex_lock(&fault->lock);
    if (calls)
        *calls = fault->seen[which];
    if (failed)
        *failed = fault->failed[which];
    pthread_mutex_unlock(&fault->lock);
    return STRATA_OK;
}

enum strata_status strata_fault_release(strata_device *device) {
    STRATA_REFUSE_IN_CHILD();
    struct strata_fault *fault = NULL;
    enum strata_status status = find(device, &fault);
    return status == STRATA_OK ? strata_fault_let_go(fault, false) : status;
}

enum strata_status strata_fault_live(strata_device *device, uint64_t *objects) {
    STRATA_REFUSE_IN_CHILD();
    struct strata_fault *fault = NULL;
    enum strata_status status = find(device, &fault);
    if (status == STRATA_OK && !objects)
        status = strata_fail(STRATA_INVALID_ARGUMENT, "strata_fault_live needs a place for the number.");
    if (status == STRATA_OK)
        *objects = atomic_load(&fault->live);
    return status;
}
