/* Fences: by slot, a list of events in the order of their positions. */
#include "core/fence.h"

#include <sched.h>

/* Under the device's lock: takes out what is known to be done. */
static strata_event *take_done(strata_device *device, unsigned slot) {
    uint64_t completed = atomic_load(&device->completed[slot]);
    strata_event *done = device->fences[slot], **end = &device->fences[slot];
    while (*end && (*end)->position <= completed)
        end = &(*end)->next_fence;
    strata_event *left = *end;
    if (done == left)
        return NULL;
    *end = NULL;
    device->fences[slot] = left;
    return done;
}

static void destroy_all(strata_event *list) {
    while (list) {
        strata_event *event = list;
        list = event->next_fence;
        strata_event_destroy(&event);
    }
}

/* Under the device's lock. */
static strata_event *retain(strata_event *event) {
    if (event)
        atomic_fetch_add(&event->references, 1);
    return event;
}

void strata_fence_add(strata_device *device, strata_event *event) {
    pthread_mutex_lock(&device->lock);
    strata_event **place = &device->fences[event->queue->slot];
    while (*place && (*place)->position < event->position)
        place = &(*place)->next_fence;
    event->next_fence = *place;
    *place = retain(event);
    pthread_mutex_unlock(&device->lock);
}

void strata_fence_drop(strata_device *device, unsigned slot) {
    pthread_mutex_lock(&device->lock);
    strata_event *all = device->fences[slot];
    device->fences[slot] = NULL;
    pthread_mutex_unlock(&device->lock);
    destroy_all(all);
}

/* A queue that is being destroyed takes no mark, but waits for its work itself. */
static bool ends(strata_queue *queue, uint64_t position) {
    pthread_mutex_lock(&queue->lock);
    bool ended = queue->ended;
    pthread_mutex_unlock(&queue->lock);
    while (ended && position > atomic_load(&queue->device->completed[queue->slot]))
        sched_yield();
    return ended;
}

enum strata_status strata_fence_get(strata_device *device, unsigned slot, uint64_t position, strata_event **result) {
    *result = NULL;
    strata_queue *queue = NULL;
    pthread_mutex_lock(&device->lock);
    strata_event *done = take_done(device, slot), *found = device->fences[slot];
    while (found && found->position < position)
        found = found->next_fence;
    retain(found);
    if (!found && position > atomic_load(&device->completed[slot]))
        queue = device->queues[slot];
    if (queue)
        strata_queue_retain(queue);
    pthread_mutex_unlock(&device->lock);
    destroy_all(done);
    *result = found;
    if (!queue)
        return STRATA_OK;
    enum strata_status status = strata_queue_mark(queue, result);
    if (status == STRATA_OK) {
        strata_fence_add(device, *result);
        strata_queue_flush(queue); /* a failure shows at whoever waits */
    } else if (ends(queue, position)) {
        status = STRATA_OK;
    }
    strata_queue_release(queue);
    return status;
}

void strata_fence_poll(strata_device *device, unsigned slot) {
    bool done = true;
    while (done) {
        pthread_mutex_lock(&device->lock);
        strata_event *finished = take_done(device, slot), *first = retain(device->fences[slot]);
        pthread_mutex_unlock(&device->lock);
        destroy_all(finished);
        if (!first)
            return;
        if (strata_event_is_done(first, &done) != STRATA_OK)
            done = false;
        strata_event_destroy(&first);
    }
}
