/* Commands that are kept for later: a queue's own list of them, and when they go to the runtime.
 *
 * A kept command goes when it is neither held nor early. A wait for another queue's event that is kept itself goes
 * after that: events that are waited for were there before, so that this has an end. */
#include "backend/fault/native.h"

#include <time.h>

/* step: it is held. */
#define NEVER UINT64_MAX

static uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static void sleep_ns(uint64_t duration) {
    struct timespec time = {(time_t)(duration / UINT64_C(1000000000)), (long)(duration % UINT64_C(1000000000))};
    nanosleep(&time, NULL); /* a signal that ends it early does no harm: whoever waits looks again */
}

void strata_fault_event_drop(struct strata_fault_event *event) {
    if (!event || atomic_fetch_sub(&event->references, 1) != 1)
        return;
    struct strata_fault *fault = event->fault;
    if (event->inner) {
        fault->inner->queue->event_release(event->inner);
        atomic_fetch_sub(&fault->live, 1);
    }
    strata_host_release(&fault->base, event);
}

void strata_fault_kernel_drop(struct strata_fault_kernel *kernel) {
    if (!kernel || atomic_fetch_sub(&kernel->references, 1) != 1)
        return;
    struct strata_fault *fault = kernel->fault;
    fault->inner->program->kernel_destroy(kernel->inner);
    atomic_fetch_sub(&fault->live, 1);
    strata_host_release(&fault->base, kernel);
}

/* What a command owns; its own memory stays. */
static void discard(struct strata_fault *fault, struct strata_fault_command *command) {
    strata_host_release(&fault->base, command->arguments);
    strata_fault_kernel_drop(command->kernel);
    strata_fault_event_drop(command->event);
    strata_fault_event_drop(command->done);
}

static struct strata_fault_event *new_event(struct strata_fault_queue *queue) {
    struct strata_fault_event *event = strata_host_allocate(&queue->fault->base, sizeof *event);
    if (!event)
        return NULL;
    atomic_init(&event->references, 1);
    event->fault = queue->fault;
    event->queue = queue;
    return event;
}

static void take_inner(struct strata_fault_event *event, struct strata_native_event *inner) {
    event->inner = inner;
    event->state = STRATA_FAULT_HANDED;
    atomic_fetch_add(&event->fault->live, 1);
}

static enum strata_status run_now(struct strata_fault_queue *queue, struct strata_fault_command *command,
                                  struct strata_native_event **done) {
    struct strata_native_event *inner = NULL;
    enum strata_status status = command->run(queue, command, done ? &inner : NULL);
    if (inner) {
        take_inner(command->done, inner);
        *done = (struct strata_native_event *)command->done;
        command->done = NULL;
    }
    discard(queue->fault, command);
    return status;
}

/* Under `order`. */
static void hand_over(struct strata_fault_queue *queue, struct strata_fault_command *command,
                      enum strata_status *failure) {
    const struct strata_backend_queue *table = queue->fault->inner->queue;
    struct strata_native_event *inner = NULL;
    struct strata_fault_event *done = command->done;
    enum strata_status status = command->run(queue, command, done ? &inner : NULL);
    if (status == STRATA_OK && done && !inner)
        status = table->mark(queue->inner, &inner);
    if (inner)
        take_inner(done, inner);
    if (status != STRATA_OK && done) {
        done->state = STRATA_FAULT_BROKEN;
        strata_error_save(&done->failure);
    } else if (status != STRATA_OK && !queue->failed) {
        queue->failed = true;
        strata_error_save(&queue->failure);
    }
    if (status != STRATA_OK)
        *failure = status;
    table->flush(queue->inner); /* nobody may be there to do it; a failure shows at the next wait */
    discard(queue->fault, command);
    strata_host_release(&queue->fault->base, command);
}

/* Under `order`: hands over the oldest command, or what it waits for. 0: one went; else how long that has to wait. */
static uint64_t step(struct strata_fault_queue *queue, bool demanded, enum strata_status *failure) {
    struct strata_fault_command *command = queue->first;
    uint64_t now = now_ns();
    if (command->held && !demanded)
        return NEVER;
    if (command->due_ns > now)
        return command->due_ns - now;
    if (command->event && command->event->state == STRATA_FAULT_KEPT)
        return step(command->event->queue, demanded, failure);
    queue->first = command->next;
    if (!queue->first)
        queue->end = &queue->first;
    hand_over(queue, command, failure);
    return 0;
}

/* Under `order`. */
static enum strata_status pump(struct strata_fault_queue *queue) {
    enum strata_status failure = STRATA_OK;
    while (queue->first && step(queue, false, &failure) == 0)
        ;
    return failure;
}

static enum strata_status keep(struct strata_fault_queue *queue, struct strata_fault_command *command,
                               struct strata_native_event **done) {
    struct strata_fault *fault = queue->fault;
    struct strata_fault_command *kept = strata_host_allocate(&fault->base, sizeof *kept);
    if (!kept) {
        discard(fault, command);
        return strata_fail_host_memory(sizeof *kept, "a command that the fault plan keeps");
    }
    *kept = *command;
    if (done) {
        atomic_fetch_add(&kept->done->references, 1);
        *done = (struct strata_native_event *)kept->done;
    }
    pthread_mutex_lock(&fault->lock);
    kept->held = fault->rules.hold;
    uint64_t slow = fault->rules.slow_ns;
    pthread_mutex_unlock(&fault->lock);
    pthread_mutex_lock(&fault->order);
    uint64_t now = now_ns();
    queue->due_ns = (queue->due_ns > now ? queue->due_ns : now) + slow;
    kept->due_ns = queue->due_ns;
    *queue->end = kept;
    queue->end = &kept->next;
    pump(queue);
    pthread_mutex_unlock(&fault->order);
    return STRATA_OK;
}

/* Gives a command the event that it is to fill. */
static enum strata_status prepare(struct strata_fault_queue *queue, struct strata_fault_command *command,
                                  struct strata_native_event **done) {
    if (!done)
        return STRATA_OK;
    *done = NULL;
    command->done = new_event(queue);
    if (command->done)
        return STRATA_OK;
    discard(queue->fault, command);
    return strata_fail_host_memory(sizeof *command->done, "an event");
}

enum strata_status strata_fault_run(struct strata_fault_queue *queue, struct strata_fault_command *command,
                                    struct strata_native_event **done) {
    enum strata_status status = prepare(queue, command, done);
    return status == STRATA_OK ? run_now(queue, command, done) : status;
}

enum strata_status strata_fault_put(struct strata_fault_queue *queue, struct strata_fault_command *command,
                                    struct strata_native_event **done) {
    if (!atomic_load(&queue->fault->keeps))
        return strata_fault_run(queue, command, done);
    enum strata_status status = prepare(queue, command, done);
    return status == STRATA_OK ? keep(queue, command, done) : status;
}

void strata_fault_pump(struct strata_fault_queue *queue) {
    pthread_mutex_lock(&queue->fault->order);
    pump(queue);
    pthread_mutex_unlock(&queue->fault->order);
}

enum strata_fault_event_state strata_fault_look(struct strata_fault_event *event) {
    pthread_mutex_lock(&event->fault->order);
    if (event->state == STRATA_FAULT_KEPT)
        pump(event->queue);
    enum strata_fault_event_state state = event->state;
    pthread_mutex_unlock(&event->fault->order);
    return state;
}

/* Hands over until the event, or with NULL the queue, has nothing left that is kept. */
static void hand_over_up_to(struct strata_fault *fault, struct strata_fault_queue *queue,
                            const struct strata_fault_event *event) {
    uint64_t wait;
    do {
        enum strata_status failure = STRATA_OK;
        wait = 0;
        pthread_mutex_lock(&fault->order);
        while (wait == 0 && (event ? event->state == STRATA_FAULT_KEPT : queue->first != NULL))
            wait = step(queue, true, &failure);
        pthread_mutex_unlock(&fault->order);
        if (wait)
            sleep_ns(wait);
    } while (wait);
}

void strata_fault_drain(struct strata_fault_queue *queue) {
    hand_over_up_to(queue->fault, queue, NULL);
}

void strata_fault_demand(struct strata_fault_event *event) {
    hand_over_up_to(event->fault, event->queue, event);
}

enum strata_status strata_fault_let_go(struct strata_fault *fault, bool all) {
    enum strata_status status = STRATA_OK;
    pthread_mutex_lock(&fault->order);
    for (struct strata_fault_queue *queue = fault->queues; queue; queue = queue->next)
        for (struct strata_fault_command *command = queue->first; command; command = command->next) {
            command->held = false;
            if (all)
                command->due_ns = 0;
        }
    for (struct strata_fault_queue *queue = fault->queues; queue; queue = queue->next) {
        enum strata_status one = pump(queue);
        if (one != STRATA_OK)
            status = one;
    }
    pthread_mutex_unlock(&fault->order);
    return status;
}
