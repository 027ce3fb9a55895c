/* An array that grows. */
#ifndef STRATA_PROGRAM_LIST_H
#define STRATA_PROGRAM_LIST_H

#include "core/host.h"

#include <string.h>

/* Makes room in `items` (the address of a pointer to `bytes`-sized items, NULL at first) for one more behind `count`.
 * False when memory is out; nothing has changed then. */
static inline bool strata_list_grow(const struct strata_allocator *hooks, void *items, size_t *capacity, size_t count,
                                    size_t bytes) {
    void *old = NULL;
    if (count < *capacity)
        return true;
    if (count > SIZE_MAX / 2 / bytes)
        return false;
    size_t wanted = count < 8 ? 8 : count * 2;
    void *grown = strata_host_allocate(hooks, wanted * bytes);
    if (grown == NULL)
        return false;
    memcpy(&old, items, sizeof old);
    if (count != 0)
        memcpy(grown, old, count * bytes);
    strata_host_release(hooks, old);
    memcpy(items, &grown, sizeof grown);
    *capacity = wanted;
    return true;
}

#endif
