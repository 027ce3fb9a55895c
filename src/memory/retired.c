/* Memory that the caller gave back while queued work still used it: it goes when that work is done.
 *
 * A driver that holds no reference to the arguments of a queued kernel would free them under it, so strata waits for
 * the work itself. Given-back memory is looked through at create, destroy, wait and finish; when it outgrows a quarter
 * of the device, giving back waits for the oldest. */
#include "memory/pool.h"

#define PENDING_SHARE 4

struct strata_retired {
    struct strata_owned owned;
    uint64_t bytes;
    unsigned event_count;
    struct strata_retired *next;
    strata_event *events[];
};

static bool is_done(struct strata_retired *entry, bool wait) {
    for (unsigned i = 0; i < entry->event_count; i++) {
        bool done = false;
        if (wait) {
            strata_event_wait(entry->events[i]); /* failed work is over, too */
        } else if (strata_event_is_done(entry->events[i], &done) != STRATA_OK || !done) {
            return false;
        }
    }
    return true;
}

static void free_entry(strata_device *device, struct strata_retired *entry) {
    strata_owned_free(device, &entry->owned);
    for (unsigned i = 0; i < entry->event_count; i++)
        strata_event_destroy(&entry->events[i]);
    pthread_mutex_lock(&device->lock);
    device->retired_bytes -= entry->bytes;
    pthread_mutex_unlock(&device->lock);
    strata_host_release(&device->hooks, entry);
}

static struct strata_retired *take_all(strata_device *device) {
    pthread_mutex_lock(&device->lock);
    struct strata_retired *list = device->retired;
    device->retired = NULL;
    pthread_mutex_unlock(&device->lock);
    return list;
}

/* Puts what is left in front of what came meanwhile. */
static void put_back(strata_device *device, struct strata_retired *list) {
    if (!list)
        return;
    struct strata_retired *last = list;
    while (last->next)
        last = last->next;
    pthread_mutex_lock(&device->lock);
    last->next = device->retired;
    device->retired = list;
    pthread_mutex_unlock(&device->lock);
}

static uint64_t pending_bytes(strata_device *device) {
    pthread_mutex_lock(&device->lock);
    uint64_t bytes = device->retired_bytes;
    pthread_mutex_unlock(&device->lock);
    return bytes;
}

/* Waiting for an event reaps, too: the list has been taken, so that ends at once. */
void strata_retired_reap(strata_device *device, bool all) {
    uint64_t limit = device->info.global_bytes / PENDING_SHARE;
    struct strata_retired *list = take_all(device), *kept = NULL, **end = &kept;
    while (list) {
        struct strata_retired *entry = list;
        list = entry->next;
        entry->next = NULL;
        if (is_done(entry, all || pending_bytes(device) > limit)) {
            free_entry(device, entry);
        } else {
            *end = entry;
            end = &entry->next;
        }
    }
    put_back(device, kept);
}

void strata_owned_free(strata_device *device, const struct strata_owned *owned) {
    strata_memory_give(device, owned->kind, owned->taken_bytes, owned->taken_bytes == 0, owned->native);
    strata_host_release(&device->hooks, owned->host_block);
}

void strata_retire(strata_device *device, const struct strata_owned *owned, uint64_t bytes, strata_event **events,
                   unsigned event_count) {
    struct strata_retired *entry =
        strata_host_allocate(&device->hooks, sizeof *entry + event_count * sizeof entry->events[0]);
    if (!entry) {
        for (unsigned i = 0; i < event_count; i++) {
            strata_event_wait(events[i]);
            strata_event_destroy(&events[i]);
        }
        strata_owned_free(device, owned);
        return;
    }
    entry->owned = *owned;
    entry->bytes = bytes;
    entry->event_count = event_count;
    for (unsigned i = 0; i < event_count; i++)
        entry->events[i] = events[i];
    pthread_mutex_lock(&device->lock);
    struct strata_retired **end = &device->retired;
    while (*end)
        end = &(*end)->next;
    *end = entry;
    device->retired_bytes += bytes;
    pthread_mutex_unlock(&device->lock);
    strata_retired_reap(device, false);
}
