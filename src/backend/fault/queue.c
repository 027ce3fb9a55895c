/* Queues and events that count their calls, and keep commands where the plan says so. */
#include "backend/fault/native.h"

static struct strata_fault_queue *queue_of(struct strata_native_queue *queue) {
    return (struct strata_fault_queue *)queue;
}

static struct strata_fault_event *event_of(struct strata_native_event *event) {
    return (struct strata_fault_event *)event;
}

static const struct strata_backend_queue *table_of(const struct strata_fault *fault) {
    return fault->inner->queue;
}

struct strata_native_queue *strata_fault_cover_queue(struct strata_fault *fault, struct strata_native_queue *native) {
    if (!fault)
        return native;
    struct strata_fault_queue *queue = strata_host_allocate(&fault->base, sizeof *queue);
    if (!queue)
        return NULL;
    queue->fault = fault;
    queue->inner = native;
    queue->end = &queue->first;
    pthread_mutex_lock(&fault->order);
    queue->next = fault->queues;
    fault->queues = queue;
    pthread_mutex_unlock(&fault->order);
    atomic_fetch_add(&fault->live, 1);
    return (struct strata_native_queue *)queue;
}

struct strata_native_queue *strata_fault_inner_queue(const struct strata_fault *fault,
                                                     struct strata_native_queue *queue) {
    if (!fault)
        return queue;
    strata_fault_drain(queue_of(queue));
    return queue_of(queue)->inner;
}

static enum strata_status create(struct strata_native_device *device, bool profiling,
                                 struct strata_native_queue **result) {
    struct strata_fault *fault = (struct strata_fault *)device;
    struct strata_native_queue *inner = NULL;
    enum strata_status status = strata_fault_count(fault, STRATA_FAULT_QUEUE, 0);
    if (status == STRATA_OK)
        status = table_of(fault)->create(fault->device, profiling, &inner);
    if (status != STRATA_OK)
        return status;
    *result = strata_fault_cover_queue(fault, inner);
    if (*result)
        return STRATA_OK;
    table_of(fault)->destroy(inner);
    return strata_fail_host_memory(sizeof(struct strata_fault_queue), "a queue");
}

static void destroy(struct strata_native_queue *native) {
    struct strata_fault_queue *queue = queue_of(native);
    struct strata_fault *fault = queue->fault;
    strata_fault_drain(queue);
    pthread_mutex_lock(&fault->order);
    struct strata_fault_queue **place = &fault->queues;
    while (*place != queue)
        place = &(*place)->next;
    *place = queue->next;
    pthread_mutex_unlock(&fault->order);
    table_of(fault)->destroy(queue->inner);
    atomic_fetch_sub(&fault->live, 1);
    strata_host_release(&fault->base, queue);
}

static enum strata_status flush(struct strata_native_queue *native) {
    struct strata_fault_queue *queue = queue_of(native);
    enum strata_status status = strata_fault_count(queue->fault, STRATA_FAULT_FLUSH, 0);
    if (status != STRATA_OK)
        return status;
    strata_fault_pump(queue);
    return table_of(queue->fault)->flush(queue->inner);
}

/* What a kept command failed with that no event reports. */
static enum strata_status take_failure(struct strata_fault_queue *queue) {
    pthread_mutex_lock(&queue->fault->order);
    bool failed = queue->failed;
    queue->failed = false;
    pthread_mutex_unlock(&queue->fault->order);
    return failed ? strata_error_restore(&queue->failure) : STRATA_OK;
}

/* Waits before it fails: who is told of a failure takes the work for over, and gives its memory back. */
static enum strata_status finish(struct strata_native_queue *native) {
    struct strata_fault_queue *queue = queue_of(native);
    strata_fault_drain(queue);
    enum strata_status status = table_of(queue->fault)->finish(queue->inner);
    if (status == STRATA_OK)
        status = take_failure(queue);
    enum strata_status planned = strata_fault_count(queue->fault, STRATA_FAULT_FINISH, 0);
    return planned != STRATA_OK ? planned : status;
}

static enum strata_status run_mark(const struct strata_fault_queue *queue, const struct strata_fault_command *command,
                                   struct strata_native_event **done) {
    (void)command;
    return table_of(queue->fault)->mark(queue->inner, done);
}

static enum strata_status mark(struct strata_native_queue *native, struct strata_native_event **done) {
    struct strata_fault_queue *queue = queue_of(native);
    struct strata_fault_command command = {.run = run_mark};
    enum strata_status status = strata_fault_count(queue->fault, STRATA_FAULT_MARK, 0);
    return status == STRATA_OK ? strata_fault_put(queue, &command, done) : status;
}

/* An event whose command failed is over. */
static enum strata_status run_wait(const struct strata_fault_queue *queue, const struct strata_fault_command *command,
                                   struct strata_native_event **done) {
    (void)done;
    struct strata_native_event *inner = command->event->inner;
    return inner ? table_of(queue->fault)->wait(queue->inner, inner) : STRATA_OK;
}

static enum strata_status wait(struct strata_native_queue *native, struct strata_native_event *event) {
    struct strata_fault_queue *queue = queue_of(native);
    enum strata_status status = strata_fault_count(queue->fault, STRATA_FAULT_WAIT, 0);
    if (status != STRATA_OK)
        return status;
    struct strata_fault_command command = {.run = run_wait, .event = event_of(event)};
    atomic_fetch_add(&command.event->references, 1);
    return strata_fault_put(queue, &command, NULL);
}

static enum strata_status event_wait(struct strata_native_event *native) {
    struct strata_fault_event *event = event_of(native);
    strata_fault_demand(event);
    enum strata_status status = event->state == STRATA_FAULT_BROKEN ? strata_error_restore(&event->failure)
                                                                    : table_of(event->fault)->event_wait(event->inner);
    enum strata_status planned = strata_fault_count(event->fault, STRATA_FAULT_EVENT, 0);
    return planned != STRATA_OK ? planned : status;
}

/* Not counted: how often one looks depends on how long the work takes. */
static enum strata_status event_is_done(struct strata_native_event *native, bool *done) {
    struct strata_fault_event *event = event_of(native);
    enum strata_fault_event_state state = strata_fault_look(event);
    *done = state == STRATA_FAULT_BROKEN;
    if (state == STRATA_FAULT_BROKEN)
        return strata_error_restore(&event->failure);
    return state == STRATA_FAULT_KEPT ? STRATA_OK : table_of(event->fault)->event_is_done(event->inner, done);
}

static enum strata_status event_times(struct strata_native_event *native, struct strata_event_times *times) {
    struct strata_fault_event *event = event_of(native);
    enum strata_status status = strata_fault_count(event->fault, STRATA_FAULT_EVENT, 0);
    return status == STRATA_OK ? table_of(event->fault)->event_times(event->inner, times) : status;
}

static void event_release(struct strata_native_event *native) {
    strata_fault_event_drop(event_of(native));
}

const struct strata_backend_queue strata_fault_queue_table = {.create = create,
                                                              .destroy = destroy,
                                                              .flush = flush,
                                                              .finish = finish,
                                                              .mark = mark,
                                                              .wait = wait,
                                                              .event_wait = event_wait,
                                                              .event_is_done = event_is_done,
                                                              .event_times = event_times,
                                                              .event_release = event_release};
