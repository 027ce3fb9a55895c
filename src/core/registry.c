/* All devices of all backends of this build, listed once each. */
#include "core/device.h"
#include "core/fork.h"
#include "strata/version.h"

#include <stdlib.h>
#include <string.h>

const struct strata_backend *const strata_backends[] = {&strata_backend_opencl};
const size_t strata_backend_count = sizeof strata_backends / sizeof strata_backends[0];

struct strata_device_list {
    struct strata_candidate *candidates;
    size_t count;
};

const char *strata_version(void) {
    return STRATA_VERSION;
}

uint32_t strata_version_number(void) {
    return STRATA_VERSION_NUMBER;
}

const char *strata_features(void) {
    return STRATA_FEATURES;
}

static bool same_hardware(const struct strata_device_info *a, const struct strata_device_info *b) {
    if (a->has_uuid && b->has_uuid)
        return memcmp(a->uuid, b->uuid, sizeof a->uuid) == 0;
    return a->has_pci && b->has_pci && a->pci_domain == b->pci_domain && a->pci_bus == b->pci_bus &&
           a->pci_device == b->pci_device && a->pci_function == b->pci_function;
}

/* The same device twice: an .icd listed twice, say. Another driver for the same hardware is a choice of its own, and a
 * name proves nothing: two cards of one model have the same (hashcat/hashcat#2460). */
static bool is_duplicate(const struct strata_candidate *a, const struct strata_candidate *b) {
    return a->backend == b->backend &&
           (a->device == b->device ||
            (same_hardware(&a->info, &b->info) && strcmp(a->info.driver_version, b->info.driver_version) == 0 &&
             strcmp(a->info.platform, b->info.platform) == 0));
}

static size_t remove_duplicates(struct strata_candidate *list, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool duplicate = false;
        for (size_t j = 0; j < kept && !duplicate; j++)
            duplicate = is_duplicate(&list[j], &list[i]);
        if (duplicate)
            strata_info_release(NULL, &list[i].info);
        else
            list[kept++] = list[i];
    }
    for (size_t i = 0; i < kept; i++)
        list[i].info.index = (uint32_t)i;
    return kept;
}

enum strata_status strata_candidates_find(struct strata_candidate **list, size_t *count) {
    *list = NULL;
    *count = 0;
    strata_fork_watch();
    enum strata_status status = STRATA_OK;
    for (size_t i = 0; i < strata_backend_count && status == STRATA_OK; i++)
        status = strata_backends[i]->device->enumerate(list, count);
    if (status == STRATA_OK) {
        *count = remove_duplicates(*list, *count);
        if (*count > 0)
            return STRATA_OK;
        struct strata_text hint = {0};
        strata_no_device_hint(&hint, NULL);
        status =
            strata_fail(STRATA_NO_DEVICE, "There is no OpenCL device on this machine. %s", hint.data ? hint.data : "");
        strata_text_release(&hint);
    }
    strata_candidates_release(*list, *count);
    *list = NULL;
    *count = 0;
    return status;
}

void strata_candidates_release(struct strata_candidate *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        strata_info_release(NULL, &list[i].info);
    free(list);
}

enum strata_status strata_device_list_create(strata_device_list **result) {
    STRATA_REFUSE_IN_CHILD();
    if (!result)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_device_list_create needs a place for the list.");
    *result = NULL;
    strata_device_list *list = calloc(1, sizeof *list);
    if (!list)
        return strata_fail_host_memory(sizeof *list, "a list of devices");
    enum strata_status status = strata_candidates_find(&list->candidates, &list->count);
    if (status != STRATA_OK)
        free(list);
    else
        *result = list;
    return status;
}

size_t strata_device_list_count(const strata_device_list *list) {
    return list ? list->count : 0;
}

const struct strata_device_info *strata_device_list_info(const strata_device_list *list, size_t index) {
    return list && index < list->count ? &list->candidates[index].info : NULL;
}

enum strata_status strata_device_list_select(const strata_device_list *list, const char *selector, size_t *index) {
    STRATA_REFUSE_IN_CHILD();
    if (!list || !index)
        return strata_fail(STRATA_INVALID_ARGUMENT,
                           "strata_device_list_select needs a list and a place for the index.");
    if (!selector || !selector[0])
        selector = getenv("STRATA_DEVICE");
    return strata_candidates_select(list->candidates, list->count, selector, index);
}

void strata_device_list_destroy(strata_device_list **place) {
    if (!place || !*place)
        return;
    strata_candidates_release((*place)->candidates, (*place)->count);
    free(*place);
    *place = NULL;
}
