/* Queues: putting commands in order, host work and device work alike.
 *
 * A command goes to the runtime in the caller's thread as long as no host work is ahead of it. Host work, and
 * everything put in behind it, is run by the queue's worker one after the other; when that is done, callers go straight
 * to the runtime again. No user events are needed, which runtimes treat very differently. */
#include "core/queue.h"
#include "core/fence.h"
#include "core/fork.h"
#include "memory/buffer.h"

#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

/* How long a command waits for another queue's work to be seen as done before it is refused as unordered. */
#define SETTLE_NS UINT64_C(2000000)

struct deferred {
    strata_queue *queue;
    struct strata_command command;
    strata_event *event; /* a reference, or NULL */
    uint64_t position;
    _Alignas(max_align_t) unsigned char payload[];
};

static uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

void strata_completed_raise(strata_device *device, unsigned slot, uint64_t position) {
    uint64_t known = atomic_load(&device->completed[slot]);
    while (known < position && !atomic_compare_exchange_weak(&device->completed[slot], &known, position))
        ;
}

enum strata_status strata_queue_check(strata_queue *queue) {
    if (!queue)
        return strata_fail(STRATA_INVALID_ARGUMENT, "The queue is NULL.");
    return strata_device_check(queue->device);
}

/* An event for the next command, not yet in order. */
static enum strata_status event_create(strata_queue *queue, strata_event **result) {
    strata_event *event = strata_host_allocate(&queue->device->hooks, sizeof *event);
    if (!event)
        return strata_fail_host_memory(sizeof *event, "an event");
    atomic_init(&event->references, 1);
    event->queue = queue;
    event->times.queued_ns = now_ns();
    strata_queue_retain(queue);
    *result = event;
    return STRATA_OK;
}

/* Hands a command to the runtime. Under the queue's lock, or from its worker while commands are deferred. */
static enum strata_status run(strata_queue *queue, const struct strata_command *command, void *payload,
                              struct strata_native_event **done) {
    enum strata_status status = command->run(queue, payload, done);
    if (status == STRATA_OK && done && !*done)
        status = queue->table->mark(queue->native, done);
    return status;
}

/* Under the queue's lock. */
static void settle_event(strata_event *event, enum strata_status status, struct strata_native_event *native) {
    if (!event)
        return;
    event->native = native;
    event->state = status != STRATA_OK ? STRATA_EVENT_FAILED : native ? STRATA_EVENT_SUBMITTED : STRATA_EVENT_DONE;
    if (status != STRATA_OK)
        strata_error_save(&event->failure);
}

/* Under the queue's lock. */
static void count_deferred(strata_queue *queue, int change) {
    uint64_t bit = UINT64_C(1) << queue->slot;
    queue->deferred += (uint64_t)(int64_t)change;
    if (queue->deferred)
        atomic_fetch_or(&queue->device->deferring, bit);
    else
        atomic_fetch_and(&queue->device->deferring, ~bit);
}

static void run_deferred(void *argument) {
    struct deferred *deferred = argument;
    strata_queue *queue = deferred->queue;
    strata_event *event = deferred->event;
    struct strata_native_event *native = NULL;
    enum strata_status status = STRATA_OK;
    void *payload = deferred->command.payload;
    if (deferred->command.host)
        status = queue->table->finish(queue->native);
    uint64_t started = now_ns();
    if (status == STRATA_OK) {
        bool wants_native = event && !deferred->command.host;
        status = deferred->command.host ? deferred->command.run(queue, payload, NULL)
                                        : run(queue, &deferred->command, payload, wants_native ? &native : NULL);
    }
    if (deferred->command.dispose)
        deferred->command.dispose(payload);
    pthread_mutex_lock(&queue->lock);
    if (event) {
        event->times.submitted_ns = event->times.started_ns = started;
        event->times.ended_ns = now_ns();
    } else if (status != STRATA_OK && !queue->failed) {
        queue->failed = true;
        strata_error_save(&queue->failure);
    }
    settle_event(event, status, native);
    if (deferred->command.host)
        strata_completed_raise(queue->device, queue->slot, deferred->position);
    count_deferred(queue, -1);
    bool last = queue->deferred == 0;
    if (last && !deferred->command.host)
        queue->table->flush(queue->native); /* nobody may be there to do it; a failure shows at the next wait */
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    struct strata_allocator hooks = queue->device->hooks;
    strata_host_release(&hooks, deferred);
    strata_event_destroy(&event);
}

/* Under the queue's lock: lets the command wait for its turn on the worker. */
static enum strata_status defer(strata_queue *queue, const struct strata_command *command, uint64_t position,
                                strata_event *event) {
    enum strata_status status = STRATA_OK;
    struct strata_worker *worker = queue->worker;
    if (!worker)
        status = strata_worker_create(&queue->device->hooks, &worker);
    if (status != STRATA_OK)
        return status;
    queue->worker = worker;
    struct deferred *deferred = strata_host_allocate(&queue->device->hooks, sizeof *deferred + command->payload_bytes);
    if (!deferred)
        return strata_fail_host_memory(sizeof *deferred + command->payload_bytes, "a queued command");
    deferred->queue = queue;
    deferred->command = *command;
    deferred->position = position;
    if (command->payload_bytes) {
        memcpy(deferred->payload, command->payload, command->payload_bytes);
        deferred->command.payload = deferred->payload;
    }
    if (command->prepare)
        command->prepare(deferred->command.payload);
    if (event) {
        atomic_fetch_add(&event->references, 1);
        deferred->event = event;
    }
    count_deferred(queue, 1);
    status = strata_worker_submit(worker, run_deferred, deferred);
    if (status != STRATA_OK) {
        count_deferred(queue, -1);
        if (command->dispose)
            command->dispose(deferred->command.payload);
        if (event)
            atomic_fetch_sub(&event->references, 1);
        strata_host_release(&queue->device->hooks, deferred);
    }
    return status;
}

/* Under the queue's lock. Whoever has to wait for what is in the queue now is not to wait for host work behind it,
 * which may itself be waiting for that one. */
static enum strata_status plant_fence(strata_queue *queue) {
    uint64_t position = queue->position - 1;
    if (position <= atomic_load(&queue->device->completed[queue->slot]))
        return STRATA_OK;
    strata_event *event = NULL;
    enum strata_status status = event_create(queue, &event);
    if (status != STRATA_OK)
        return status;
    event->position = position;
    event->clock = queue->seen;
    struct strata_native_event *native = NULL;
    status = queue->table->mark(queue->native, &native);
    if (status == STRATA_OK) {
        settle_event(event, status, native);
        strata_fence_add(queue->device, event);
    }
    strata_event_destroy(&event);
    return status;
}

/* Under the queue's lock. */
static enum strata_status put_locked(strata_queue *queue, const struct strata_command *command, strata_event *event) {
    uint64_t position = ++queue->position;
    if (event) {
        event->position = position;
        event->clock = queue->seen;
    }
    if (queue->deferred || command->host || command->blocks) {
        enum strata_status status = queue->deferred ? STRATA_OK : plant_fence(queue);
        return status == STRATA_OK ? defer(queue, command, position, event) : status;
    }
    struct strata_native_event *native = NULL;
    enum strata_status status = run(queue, command, command->payload, event ? &native : NULL);
    if (status == STRATA_OK)
        settle_event(event, status, native);
    return status;
}

/* Puts the queue behind a place of another one. */
static enum strata_status follow(strata_queue *queue, const struct strata_conflict *conflict) {
    strata_event *event = NULL;
    enum strata_status status = strata_fence_get(queue->device, conflict->slot, conflict->position, &event);
    if (status == STRATA_OK && event)
        status = strata_queue_wait(queue, event);
    strata_event_destroy(&event);
    return status;
}

enum strata_status strata_queue_put(strata_queue *queue, const struct strata_command *command, strata_event **result) {
    strata_event *event = NULL;
    if (result)
        *result = NULL;
    enum strata_status status = result ? event_create(queue, &event) : STRATA_OK;
    if (status != STRATA_OK)
        return status;
    for (int attempt = 0;;) {
        struct strata_conflict conflict = {0};
        pthread_mutex_lock(&queue->lock);
        if (queue->ended)
            status = strata_fail(STRATA_INVALID_ARGUMENT, "The queue was already destroyed.");
        else
            status = strata_uses_admit(queue, command->uses, command->use_count, &conflict);
        if (status == STRATA_OK)
            status = put_locked(queue, command, event);
        pthread_mutex_unlock(&queue->lock);
        if (conflict.inherited) {
            status = follow(queue, &conflict);
            if (status != STRATA_OK)
                break;
        } else if (!conflict.found || attempt++ > 0 ||
                   !strata_queue_settle(queue->device, conflict.slot, conflict.position)) {
            break;
        }
    }
    if (status == STRATA_OK && result)
        *result = event;
    else
        strata_event_destroy(&event);
    return status;
}

enum strata_status strata_queue_put_and_wait(strata_queue *queue, const struct strata_command *command) {
    strata_event *event = NULL;
    enum strata_status status = strata_queue_put(queue, command, &event);
    if (status == STRATA_OK)
        status = strata_event_wait(event);
    strata_event_destroy(&event);
    return status;
}

bool strata_queue_settle(strata_device *device, unsigned slot, uint64_t position) {
    pthread_mutex_lock(&device->lock);
    strata_queue *queue = device->queues[slot];
    if (queue)
        strata_queue_retain(queue);
    pthread_mutex_unlock(&device->lock);
    if (!queue)
        return true; /* it has ended, and a queue waits for its work when it ends */
    struct strata_native_event *native = NULL;
    enum strata_status status = STRATA_OK;
    pthread_mutex_lock(&queue->lock);
    uint64_t reached = queue->position;
    bool possible = queue->deferred == 0 && !queue->ended;
    if (possible)
        status = queue->table->mark(queue->native, &native);
    pthread_mutex_unlock(&queue->lock);
    bool done = false;
    if (possible && status == STRATA_OK && queue->table->flush(queue->native) == STRATA_OK) {
        uint64_t begin = now_ns();
        do {
            if (queue->table->event_is_done(native, &done) != STRATA_OK)
                done = true;
            if (!done)
                sched_yield();
        } while (!done && now_ns() - begin < SETTLE_NS);
    }
    if (native)
        queue->table->event_release(native);
    if (done)
        strata_completed_raise(device, slot, reached);
    strata_queue_release(queue);
    return done && reached >= position;
}

static enum strata_status take_slot(strata_queue *queue) {
    strata_device *device = queue->device;
    enum strata_status status = STRATA_OK;
    pthread_mutex_lock(&device->lock);
    unsigned slot = 0;
    while (slot < STRATA_QUEUE_SLOTS && device->queues[slot])
        slot++;
    if (slot == STRATA_QUEUE_SLOTS) {
        status =
            strata_fail(STRATA_UNSUPPORTED, "A device has %d queues at most; destroy one that is no longer needed.",
                        STRATA_QUEUE_SLOTS);
    } else {
        device->queues[slot] = queue;
        queue->slot = slot;
        queue->position = device->slot_position[slot];
    }
    pthread_mutex_unlock(&device->lock);
    return status;
}

static void leave_slot(strata_queue *queue) {
    strata_device *device = queue->device;
    strata_completed_raise(device, queue->slot, queue->position);
    strata_fence_drop(device, queue->slot);
    pthread_mutex_lock(&device->lock);
    device->queues[queue->slot] = NULL;
    device->slot_position[queue->slot] = queue->position;
    pthread_mutex_unlock(&device->lock);
}

static void free_queue(strata_queue *queue) {
    strata_device *device = queue->device;
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
    strata_host_release(&device->hooks, queue->name);
    strata_host_release(&device->hooks, queue);
    strata_device_release(device);
}

enum strata_status strata_queue_wrap(strata_device *device, struct strata_native_queue *native, const char *name,
                                     bool profiling, strata_queue **result) {
    strata_queue *queue = strata_host_allocate(&device->hooks, sizeof *queue);
    if (!queue)
        return strata_fail_host_memory(sizeof *queue, "a queue");
    queue->device = device;
    queue->native = native;
    queue->table = device->backend->queue;
    queue->profiling = profiling;
    queue->name = strata_host_copy_string(&device->hooks, name ? name : "", name ? strlen(name) : 0);
    atomic_init(&queue->references, 1);
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->changed, NULL);
    strata_device_retain(device);
    enum strata_status status = queue->name ? take_slot(queue) : strata_fail_host_memory(1, "a queue's name");
    if (status != STRATA_OK) {
        free_queue(queue);
        return status;
    }
    *result = queue;
    return STRATA_OK;
}

void strata_queue_retain(strata_queue *queue) {
    atomic_fetch_add(&queue->references, 1);
}

void strata_queue_release(strata_queue *queue) {
    if (atomic_fetch_sub(&queue->references, 1) == 1)
        free_queue(queue);
}

void strata_queue_drain(strata_queue *queue) {
    if (strata_worker_is_current(queue->worker))
        return;
    pthread_mutex_lock(&queue->lock);
    while (queue->deferred)
        pthread_cond_wait(&queue->changed, &queue->lock);
    pthread_mutex_unlock(&queue->lock);
}

void strata_queue_end(strata_queue *queue) {
    strata_queue_drain(queue);
    pthread_mutex_lock(&queue->lock);
    bool ended = queue->ended;
    queue->ended = true;
    struct strata_worker *worker = queue->worker, *notifier = queue->notifier;
    queue->worker = queue->notifier = NULL;
    pthread_mutex_unlock(&queue->lock);
    if (ended)
        return;
    queue->table->finish(queue->native); /* an error was reported by whoever waited for the work, or by nobody */
    strata_worker_destroy(worker);
    strata_worker_destroy(notifier);
    leave_slot(queue);
    queue->table->destroy(queue->native);
    queue->native = NULL;
}

void strata_queue_desc_init(struct strata_queue_desc *desc) {
    *desc = (struct strata_queue_desc){.size = sizeof *desc};
}

enum strata_status strata_queue_create(strata_device *device, const struct strata_queue_desc *given,
                                       strata_queue **queue) {
    STRATA_REFUSE_IN_CHILD();
    if (!queue)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_queue_create needs a place for the queue.");
    *queue = NULL;
    enum strata_status status = strata_device_check(device);
    struct strata_queue_desc desc = {.size = sizeof desc};
    if (status == STRATA_OK)
        status = strata_desc_read(given, &desc, sizeof desc, "strata_queue_desc");
    struct strata_native_queue *native = NULL;
    if (status == STRATA_OK)
        status = device->backend->queue->create(device->native, desc.profiling, &native);
    if (status != STRATA_OK)
        return status;
    status = strata_queue_wrap(device, native, desc.name, desc.profiling, queue);
    if (status != STRATA_OK)
        device->backend->queue->destroy(native);
    return status;
}

void strata_queue_destroy(strata_queue **place) {
    if (!place || !*place)
        return;
    strata_queue *queue = *place;
    if (!strata_fork_happened() && strata_worker_is_current(queue->worker)) {
        strata_fail(STRATA_BUSY, "Host work cannot destroy the queue that it runs in.");
        return;
    }
    *place = NULL;
    if (strata_fork_happened())
        return; /* its threads and its lock belong to the parent */
    if (queue->is_default && !atomic_load(&queue->device->closed))
        return;
    strata_queue_end(queue);
    strata_queue_release(queue);
}

strata_device *strata_queue_device(strata_queue *queue) {
    return queue ? queue->device : NULL;
}

enum strata_status strata_queue_flush(strata_queue *queue) {
    STRATA_REFUSE_IN_CHILD();
    enum strata_status status = strata_queue_check(queue);
    if (status != STRATA_OK)
        return status;
    pthread_mutex_lock(&queue->lock);
    status = queue->ended ? strata_fail(STRATA_INVALID_ARGUMENT, "The queue was already destroyed.")
                          : queue->table->flush(queue->native);
    pthread_mutex_unlock(&queue->lock);
    return status;
}

static enum strata_status wait_for_all(strata_queue *queue) {
    pthread_mutex_lock(&queue->lock);
    uint64_t position = queue->position;
    bool direct = queue->deferred == 0;
    pthread_mutex_unlock(&queue->lock);
    if (direct) {
        enum strata_status status = queue->table->finish(queue->native);
        if (status == STRATA_OK)
            strata_completed_raise(queue->device, queue->slot, position);
        return status;
    }
    strata_event *event = NULL;
    enum strata_status status = strata_queue_mark(queue, &event);
    if (status == STRATA_OK)
        status = strata_event_wait(event);
    strata_event_destroy(&event);
    return status;
}

enum strata_status strata_queue_finish(strata_queue *queue) {
    STRATA_REFUSE_IN_CHILD();
    enum strata_status status = strata_queue_check(queue);
    if (status != STRATA_OK)
        return status;
    if (strata_worker_is_current(queue->worker))
        return strata_fail(STRATA_BUSY, "Host work of a queue cannot wait for that queue: it would wait for itself.");
    status = wait_for_all(queue);
    pthread_mutex_lock(&queue->lock);
    if (queue->failed) {
        queue->failed = false;
        if (status == STRATA_OK)
            status = strata_error_restore(&queue->failure);
    }
    pthread_mutex_unlock(&queue->lock);
    strata_retired_reap(queue->device, false);
    return status;
}

static enum strata_status run_mark(strata_queue *queue, void *payload, struct strata_native_event **done) {
    (void)payload;
    return done ? queue->table->mark(queue->native, done) : STRATA_OK;
}

enum strata_status strata_queue_mark(strata_queue *queue, strata_event **event) {
    STRATA_REFUSE_IN_CHILD();
    enum strata_status status = strata_queue_check(queue);
    if (status != STRATA_OK)
        return status;
    if (!event)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_queue_mark needs a place for the event.");
    struct strata_command command = {.run = run_mark};
    return strata_queue_put(queue, &command, event);
}

struct host_work {
    strata_host_function function;
    void *user;
};

static enum strata_status run_host(strata_queue *queue, void *payload, struct strata_native_event **done) {
    (void)queue;
    (void)done;
    struct host_work *work = payload;
    enum strata_status status = work->function(work->user);
    if (status != STRATA_OK && strata_last_error()->status != status)
        strata_fail(status, "Host work in the queue answered %s.", strata_status_name(status));
    return status;
}

enum strata_status strata_queue_host(strata_queue *queue, strata_host_function function, void *user,
                                     strata_event **event) {
    STRATA_REFUSE_IN_CHILD();
    enum strata_status status = strata_queue_check(queue);
    if (status != STRATA_OK)
        return status;
    if (!function)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_queue_host needs a function to run.");
    struct host_work work = {function, user};
    struct strata_command command = {.run = run_host, .payload = &work, .payload_bytes = sizeof work, .host = true};
    return strata_queue_put(queue, &command, event);
}
