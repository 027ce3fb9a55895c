/* Copying and releasing what is known of a device. */
#include "core/device.h"

#include <string.h>

/* The members that are strings of their own; `backend` and `timer_note` are static. */
static const char **string_member(struct strata_device_info *info, unsigned index) {
    const char **members[] = {
        &info->name,           &info->vendor,         &info->platform,         &info->platform_version,
        &info->device_version, &info->driver_version, &info->language_version, &info->extensions};
    return index < sizeof members / sizeof members[0] ? members[index] : NULL;
}

enum strata_status strata_info_copy(const struct strata_allocator *hooks, const struct strata_device_info *from,
                                    struct strata_device_info *to) {
    *to = *from;
    enum strata_status status = STRATA_OK;
    const char **member;
    for (unsigned i = 0; (member = string_member(to, i)) != NULL; i++) {
        const char *string = *member ? *member : "";
        *member = strata_host_copy_string(hooks, string, strlen(string));
        if (!*member)
            status = strata_fail_host_memory(strlen(string) + 1, "a device's description");
    }
    if (status != STRATA_OK)
        strata_info_release(hooks, to);
    return status;
}

void strata_info_release(const struct strata_allocator *hooks, struct strata_device_info *info) {
    const char **member;
    for (unsigned i = 0; (member = string_member(info, i)) != NULL; i++) {
        strata_host_release(hooks, (void *)(uintptr_t)*member);
        *member = NULL;
    }
}
