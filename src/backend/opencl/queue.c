/* OpenCL command queues and events. */
#include "backend/opencl/native.h"

static struct strata_cl_queue *queue_of(struct strata_native_queue *queue) {
    return (struct strata_cl_queue *)queue;
}

static struct strata_cl_event *event_of(struct strata_native_event *event) {
    return (struct strata_cl_event *)event;
}

enum strata_status strata_cl_queue_create(struct strata_cl_device *device, cl_command_queue id,
                                          struct strata_cl_queue **result) {
    struct strata_cl_queue *queue = strata_host_allocate(&device->hooks, sizeof *queue);
    if (!queue)
        return strata_fail_host_memory(sizeof *queue, "a queue");
    cl_command_queue_properties properties = 0;
    device->cl->GetCommandQueueInfo(id, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
    queue->device = device;
    queue->id = id;
    queue->out_of_order = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
    if (queue->out_of_order)
        device->cl->EnqueueBarrierWithWaitList(id, 0, NULL, NULL); /* behind what the caller put in before */
    pthread_mutex_lock(&device->lock);
    queue->next = device->queues;
    device->queues = queue;
    pthread_mutex_unlock(&device->lock);
    *result = queue;
    return STRATA_OK;
}

static void unlink_queue(struct strata_cl_queue *queue) {
    pthread_mutex_lock(&queue->device->lock);
    struct strata_cl_queue **place = &queue->device->queues;
    while (*place != queue)
        place = &(*place)->next;
    *place = queue->next;
    pthread_mutex_unlock(&queue->device->lock);
}

static enum strata_status create(struct strata_native_device *native, bool profiling,
                                 struct strata_native_queue **result) {
    struct strata_cl_device *device = (struct strata_cl_device *)native;
    cl_int code = CL_SUCCESS;
    cl_command_queue id =
        device->cl->CreateCommandQueue(device->context, device->id, profiling ? CL_QUEUE_PROFILING_ENABLE : 0, &code);
    if (code != CL_SUCCESS)
        return strata_cl_fail(device, code, "create a queue");
    struct strata_cl_queue *queue = NULL;
    enum strata_status status = strata_cl_queue_create(device, id, &queue);
    if (status != STRATA_OK)
        device->cl->ReleaseCommandQueue(id);
    else
        *result = (struct strata_native_queue *)queue;
    return status;
}

static void destroy(struct strata_native_queue *native) {
    struct strata_cl_queue *queue = queue_of(native);
    unlink_queue(queue);
    queue->device->cl->ReleaseCommandQueue(queue->id);
    strata_host_release(&queue->device->hooks, queue);
}

static enum strata_status flush(struct strata_native_queue *native) {
    struct strata_cl_queue *queue = queue_of(native);
    cl_int code = queue->device->cl->Flush(queue->id);
    return code == CL_SUCCESS ? STRATA_OK : strata_cl_fail(queue->device, code, "begin the queued work");
}

/* Waits for a marker behind everything. */
static cl_int wait_for_marker(const struct strata_cl_queue *queue) {
    const struct strata_cl_calls *cl = queue->device->cl;
    cl_event event = NULL;
    cl_int code = cl->EnqueueMarkerWithWaitList(queue->id, 0, NULL, &event);
    if (code != CL_SUCCESS)
        return code;
    code = cl->WaitForEvents(1, &event);
    cl->ReleaseEvent(event);
    return code;
}

static enum strata_status finish(struct strata_native_queue *native) {
    struct strata_cl_queue *queue = queue_of(native);
    cl_int code = queue->device->quirks->finish_forgets ? wait_for_marker(queue) : queue->device->cl->Finish(queue->id);
    return code == CL_SUCCESS ? STRATA_OK : strata_cl_fail(queue->device, code, "finish the queued work");
}

static enum strata_status wrap_event(struct strata_cl_device *device, cl_event id, struct strata_native_event **done) {
    struct strata_cl_event *event = strata_host_allocate(&device->hooks, sizeof *event);
    if (!event) {
        device->cl->ReleaseEvent(id);
        return strata_fail_host_memory(sizeof *event, "an event");
    }
    event->device = device;
    event->id = id;
    *done = (struct strata_native_event *)event;
    return STRATA_OK;
}

enum strata_status strata_cl_enqueued(struct strata_cl_queue *queue, cl_int code, const char *what, cl_event event,
                                      struct strata_native_event **done) {
    if (code != CL_SUCCESS)
        return strata_cl_fail(queue->device, code, what);
    if (queue->out_of_order)
        queue->device->cl->EnqueueBarrierWithWaitList(queue->id, 0, NULL, NULL);
    return done ? wrap_event(queue->device, event, done) : STRATA_OK;
}

static enum strata_status mark(struct strata_native_queue *native, struct strata_native_event **done) {
    struct strata_cl_queue *queue = queue_of(native);
    cl_event event = NULL;
    cl_int code = queue->device->cl->EnqueueMarkerWithWaitList(queue->id, 0, NULL, &event);
    return strata_cl_enqueued(queue, code, "mark a place in the queue", event, done);
}

static enum strata_status wait(struct strata_native_queue *native, struct strata_native_event *other) {
    struct strata_cl_queue *queue = queue_of(native);
    cl_int code = queue->device->cl->EnqueueBarrierWithWaitList(queue->id, 1, &event_of(other)->id, NULL);
    return code == CL_SUCCESS ? STRATA_OK : strata_cl_fail(queue->device, code, "wait for another queue's event");
}

/* The code of a finished command; negative when it failed on the device. */
static cl_int execution_status(const struct strata_cl_event *event, cl_int *status) {
    return event->device->cl->GetEventInfo(event->id, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof *status, status, NULL);
}

static enum strata_status event_wait(struct strata_native_event *native) {
    struct strata_cl_event *event = event_of(native);
    cl_int code = event->device->cl->WaitForEvents(1, &event->id);
    if (code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) {
        cl_int status = CL_COMPLETE;
        if (execution_status(event, &status) == CL_SUCCESS && status < 0)
            code = status; /* the reason, where the wait itself only says that there is one */
    }
    return code == CL_SUCCESS ? STRATA_OK : strata_cl_fail(event->device, code, "complete a command");
}

static enum strata_status event_is_done(struct strata_native_event *native, bool *done) {
    struct strata_cl_event *event = event_of(native);
    cl_int status = CL_QUEUED;
    cl_int code = execution_status(event, &status);
    *done = code != CL_SUCCESS || status <= CL_COMPLETE;
    if (code == CL_SUCCESS && status < 0)
        code = status;
    return code == CL_SUCCESS ? STRATA_OK : strata_cl_fail(event->device, code, "complete a command");
}

static enum strata_status event_times(struct strata_native_event *native, struct strata_event_times *times) {
    struct strata_cl_event *event = event_of(native);
    const cl_profiling_info what[] = {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                      CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
    cl_ulong values[4];
    for (int i = 0; i < 4; i++) {
        cl_int code = event->device->cl->GetEventProfilingInfo(event->id, what[i], sizeof values[i], &values[i], NULL);
        if (code == CL_PROFILING_INFO_NOT_AVAILABLE)
            return strata_fail_native(STRATA_UNSUPPORTED, code, strata_cl_error_name(code),
                                      "Device '%s' recorded no times for this event.", event->device->name);
        if (code != CL_SUCCESS)
            return strata_cl_fail(event->device, code, "tell an event's times");
    }
    *times = (struct strata_event_times){values[0], values[1], values[2], values[3]};
    return STRATA_OK;
}

static void event_release(struct strata_native_event *native) {
    struct strata_cl_event *event = event_of(native);
    event->device->cl->ReleaseEvent(event->id);
    strata_host_release(&event->device->hooks, event);
}

const struct strata_backend_queue strata_cl_queue_table = {.create = create,
                                                           .destroy = destroy,
                                                           .flush = flush,
                                                           .finish = finish,
                                                           .mark = mark,
                                                           .wait = wait,
                                                           .event_wait = event_wait,
                                                           .event_is_done = event_is_done,
                                                           .event_times = event_times,
                                                           .event_release = event_release};
