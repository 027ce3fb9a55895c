/* Events: waiting for work, in the caller's thread, in another queue, and by callback. */
#include "core/fork.h"
#include "core/queue.h"
#include "memory/buffer.h"

void strata_event_destroy(strata_event **place) {
    if (!place || !*place)
        return;
    strata_event *event = *place;
    *place = NULL;
    if (atomic_fetch_sub(&event->references, 1) != 1)
        return;
    strata_queue *queue = event->queue;
    bool child = strata_fork_happened();
    if (event->native && !child)
        queue->table->event_release(event->native);
    strata_host_release(&queue->device->hooks, event);
    if (!child)
        strata_queue_release(queue);
}

static enum strata_status check(const strata_event *event) {
    return event ? STRATA_OK : strata_fail(STRATA_INVALID_ARGUMENT, "The event is NULL.");
}

/* Takes what the runtime said of a submitted event into its state. Under no lock. */
static void record(strata_event *event, enum strata_status status) {
    strata_queue *queue = event->queue;
    pthread_mutex_lock(&queue->lock);
    if (event->state == STRATA_EVENT_SUBMITTED) {
        event->state = status == STRATA_OK ? STRATA_EVENT_DONE : STRATA_EVENT_FAILED;
        if (status != STRATA_OK)
            strata_error_save(&event->failure);
    }
    pthread_mutex_unlock(&queue->lock);
    strata_completed_raise(queue->device, queue->slot, event->position);
}

/* The state, after any wait for the worker to hand the command over. */
static enum strata_event_state await_submission(strata_event *event, bool block) {
    strata_queue *queue = event->queue;
    pthread_mutex_lock(&queue->lock);
    while (block && event->state == STRATA_EVENT_WAITING)
        pthread_cond_wait(&queue->changed, &queue->lock);
    enum strata_event_state state = event->state;
    pthread_mutex_unlock(&queue->lock);
    return state;
}

static enum strata_status outcome(strata_event *event, enum strata_event_state state) {
    return state == STRATA_EVENT_FAILED ? strata_error_restore(&event->failure) : STRATA_OK;
}

enum strata_status strata_event_wait(strata_event *event) {
    STRATA_REFUSE_IN_CHILD();
    enum strata_status status = check(event);
    if (status != STRATA_OK)
        return status;
    strata_queue *queue = event->queue;
    enum strata_event_state state = await_submission(event, false);
    if (state == STRATA_EVENT_WAITING) {
        if (strata_worker_is_current(queue->worker))
            return strata_fail(STRATA_BUSY, "Host work cannot wait for an event that is behind it in its own queue.");
        state = await_submission(event, true);
    }
    if (state == STRATA_EVENT_SUBMITTED) {
        record(event, queue->table->event_wait(event->native));
        state = await_submission(event, false);
    }
    if (!atomic_load(&queue->device->closed))
        strata_retired_reap(queue->device, false);
    return outcome(event, state);
}

enum strata_status strata_event_is_done(strata_event *event, bool *done) {
    STRATA_REFUSE_IN_CHILD();
    enum strata_status status = check(event);
    if (status != STRATA_OK)
        return status;
    if (!done)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_event_is_done needs a place for the answer.");
    enum strata_event_state state = await_submission(event, false);
    *done = state == STRATA_EVENT_DONE || state == STRATA_EVENT_FAILED;
    if (state == STRATA_EVENT_SUBMITTED) {
        status = event->queue->table->event_is_done(event->native, done);
        if (*done || status != STRATA_OK) {
            *done = true;
            record(event, status);
        }
    }
    return STRATA_OK;
}

enum strata_status strata_event_times(strata_event *event, struct strata_event_times *times) {
    STRATA_REFUSE_IN_CHILD();
    enum strata_status status = check(event);
    if (status != STRATA_OK)
        return status;
    if (!times)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_event_times needs a place for the times.");
    *times = (struct strata_event_times){0};
    bool done = false;
    status = strata_event_is_done(event, &done);
    if (status != STRATA_OK)
        return status;
    if (!done)
        return strata_fail(STRATA_BUSY, "The event is not done, so it has no times yet; wait for it first.");
    enum strata_event_state state = await_submission(event, false);
    if (state == STRATA_EVENT_FAILED)
        return outcome(event, state);
    if (!event->native) {
        *times = event->times;
        return STRATA_OK;
    }
    const struct strata_device_info *info = &event->queue->device->info;
    if (!event->queue->profiling)
        return strata_fail(STRATA_UNSUPPORTED, "The event's queue does not record times; create it with .profiling.");
    if (!info->timer_is_reliable)
        return strata_fail(STRATA_UNSUPPORTED, "Event times of %s are not to be believed: %s.", info->name,
                           info->timer_note);
    return event->queue->table->event_times(event->native, times);
}

struct notice {
    strata_event *event;
    strata_event_function function;
    void *user;
};

static void notify(void *argument) {
    struct notice *notice = argument;
    struct strata_allocator hooks = notice->event->queue->device->hooks;
    enum strata_status status = strata_event_wait(notice->event);
    notice->function(status, notice->user);
    strata_event_destroy(&notice->event);
    strata_host_release(&hooks, notice);
}

enum strata_status strata_event_on_done(strata_event *event, strata_event_function function, void *user) {
    STRATA_REFUSE_IN_CHILD();
    enum strata_status status = check(event);
    if (status != STRATA_OK)
        return status;
    if (!function)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_event_on_done needs a function to call.");
    strata_queue *queue = event->queue;
    const struct strata_allocator *hooks = &queue->device->hooks;
    struct notice *notice = strata_host_allocate(hooks, sizeof *notice);
    if (!notice)
        return strata_fail_host_memory(sizeof *notice, "a callback");
    *notice = (struct notice){event, function, user};
    atomic_fetch_add(&event->references, 1);
    pthread_mutex_lock(&queue->lock);
    if (queue->ended)
        status = strata_fail(STRATA_INVALID_ARGUMENT, "The event's queue was already destroyed.");
    struct strata_worker *notifier = queue->notifier;
    if (status == STRATA_OK && !notifier)
        status = strata_worker_create(hooks, &notifier);
    queue->notifier = notifier;
    if (status == STRATA_OK)
        status = queue->table->flush(queue->native);
    if (status == STRATA_OK)
        status = strata_worker_submit(notifier, notify, notice);
    pthread_mutex_unlock(&queue->lock);
    if (status != STRATA_OK) {
        strata_event_destroy(&notice->event);
        strata_host_release(hooks, notice);
    }
    return status;
}

/* Makes the queue wait on the device. The event is submitted and of the same device. */
static enum strata_status run_native_wait(strata_queue *queue, void *payload, struct strata_native_event **done) {
    (void)done;
    strata_event *event = *(strata_event **)payload;
    return queue->table->wait(queue->native, event->native);
}

/* On the worker: waits until the event is with its runtime, or, for another device's, until it is done. */
static enum strata_status run_blocking_wait(strata_queue *queue, void *payload, struct strata_native_event **done) {
    strata_event *event = *(strata_event **)payload;
    enum strata_event_state state = await_submission(event, true);
    if (state == STRATA_EVENT_SUBMITTED && event->queue->device == queue->device)
        return run_native_wait(queue, payload, done);
    if (state == STRATA_EVENT_SUBMITTED)
        strata_event_wait(event); /* its failure is its own: this queue just comes after it */
    return STRATA_OK;
}

static void retain_event(void *payload) {
    atomic_fetch_add(&(*(strata_event **)payload)->references, 1);
}

static void release_event(void *payload) {
    strata_event_destroy(payload);
}

/* What the event knew to be before it, the queue now knows too. */
static void learn(strata_queue *queue, const strata_event *event) {
    pthread_mutex_lock(&queue->lock);
    for (unsigned slot = 0; slot < STRATA_QUEUE_SLOTS; slot++)
        if (queue->seen.position[slot] < event->clock.position[slot])
            queue->seen.position[slot] = event->clock.position[slot];
    if (queue->seen.position[event->queue->slot] < event->position)
        queue->seen.position[event->queue->slot] = event->position;
    pthread_mutex_unlock(&queue->lock);
}

enum strata_status strata_queue_wait(strata_queue *queue, strata_event *event) {
    STRATA_REFUSE_IN_CHILD();
    enum strata_status status = strata_queue_check(queue);
    if (status == STRATA_OK)
        status = check(event);
    if (status != STRATA_OK || event->queue == queue)
        return status;
    bool same_device = event->queue->device == queue->device;
    enum strata_event_state state = await_submission(event, false);
    bool pending = state == STRATA_EVENT_WAITING || state == STRATA_EVENT_SUBMITTED;
    if (pending) {
        pthread_mutex_lock(&event->queue->lock);
        if (!event->queue->ended)
            status = event->queue->table->flush(event->queue->native);
        pthread_mutex_unlock(&event->queue->lock);
        bool direct = same_device && state == STRATA_EVENT_SUBMITTED;
        struct strata_command command = {.run = direct ? run_native_wait : run_blocking_wait,
                                         .payload = &event,
                                         .payload_bytes = sizeof event,
                                         .prepare = retain_event,
                                         .dispose = release_event,
                                         .blocks = !direct};
        if (status == STRATA_OK)
            status = strata_queue_put(queue, &command, NULL);
    }
    if (status == STRATA_OK && same_device)
        learn(queue, event);
    return status;
}
