/* Queues and events: the order of work.
 *
 *     strata_queue *upload = NULL;
 *     strata_queue_create(dev, NULL, &upload);
 *     strata_event *ready = NULL;
 *     strata_write_async(upload, strata_all(x), samples, &ready);
 *     strata_queue_wait(compute, ready);            // work put into `compute` from here on comes after the write
 *     strata_event_destroy(&ready);
 *
 * A queue is in order: its commands, device work and host work alike, run one after the other as they were put in.
 * Between queues, events make order. Queues and events may be used from several threads at once. */
#ifndef STRATA_QUEUE_H
#define STRATA_QUEUE_H

#include "strata/device.h"

#ifdef __cplusplus
extern "C" {
#endif

struct strata_queue_desc {
    size_t size;
    const char *name; /* for messages */
    bool profiling;   /* events carry times */
};
#define STRATA_QUEUE(...) (&(const struct strata_queue_desc){.size = sizeof(struct strata_queue_desc), __VA_ARGS__})
STRATA_API void strata_queue_desc_init(struct strata_queue_desc *desc);

/* On success *queue is the caller's. `desc` may be NULL. Does not block. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY,
 * FORKED. Source: OpenCL 3.0, 5.1 (clCreateCommandQueue, in order). */
STRATA_API enum strata_status strata_queue_create(strata_device *device, const struct strata_queue_desc *desc,
                                                  strata_queue **queue);

/* Waits for the queue's work, then gives it back. Takes NULL and a pointer to NULL; clears *queue. A device's default
 * queue stays alive. Not from the queue's own host work, which would wait for itself: then *queue is left as it is. */
STRATA_API void strata_queue_destroy(strata_queue **queue);

STRATA_API strata_device *strata_queue_device(strata_queue *queue);

/* Sees to it that the work put in so far is begun without anyone waiting for it. Does not block. */
STRATA_API enum strata_status strata_queue_flush(strata_queue *queue);

/* Blocks until all work put in so far is done. Answers the first error of work that failed after its call had returned
 * and that no event reported; a second call answers OK. */
STRATA_API enum strata_status strata_queue_finish(strata_queue *queue);

/* Work put in from here on begins after `event`, on the device where it can, so this does not block. The event's own
 * queue is flushed. Events of other devices are waited for by strata's thread. */
STRATA_API enum strata_status strata_queue_wait(strata_queue *queue, strata_event *event);

/* An event that is done when all work put in so far is. *event is the caller's. */
STRATA_API enum strata_status strata_queue_mark(strata_queue *queue, strata_event **event);

/* Host work: runs on strata's own thread, without a lock held, after everything put into the queue before and before
 * everything put in after. It may call strata, but not wait for work that is behind it in its own queue. A status
 * other than OK fails its event; the queue goes on. */
typedef enum strata_status (*strata_host_function)(void *user);

/* Puts host work into the queue; does not block. `user` must live until it ran. `event` may be NULL, else *event is the
 * caller's. */
STRATA_API enum strata_status strata_queue_host(strata_queue *queue, strata_host_function function, void *user,
                                                strata_event **event);

/* When a command was put in, handed to the device, begun and ended, in nanoseconds of the device's clock; they compare
 * with each other only. */
struct strata_event_times {
    uint64_t queued_ns, submitted_ns, started_ns, ended_ns;
};

/* Blocks until the event is done. Answers the error of the work if it failed. */
STRATA_API enum strata_status strata_event_wait(strata_event *event);

/* *done tells whether it is done (also when it failed). Does not block; flushes nothing. */
STRATA_API enum strata_status strata_event_is_done(strata_event *event, bool *done);

/* The times of a done event. Errors: BUSY when it is not done; UNSUPPORTED when its queue does not profile, or when the
 * runtime's timer is known to say nothing (rusticl: start and end are the same); host work has times too.
 * Source: OpenCL 3.0, 5.14. */
STRATA_API enum strata_status strata_event_times(strata_event *event, struct strata_event_times *times);

/* `function` is called once when the event is done, on strata's own thread, never under a lock, never on a thread of
 * the runtime; also when the event was done already. `status` is the outcome of the work. It may call strata. The event
 * may be destroyed before. Callbacks of one queue run in the order in which they were asked for. */
typedef void (*strata_event_function)(enum strata_status status, void *user);
STRATA_API enum strata_status strata_event_on_done(strata_event *event, strata_event_function function, void *user);

/* Takes NULL and a pointer to NULL; clears *event. Legal before the event is done; does not block. */
STRATA_API void strata_event_destroy(strata_event **event);

#ifdef __cplusplus
}
#endif
#endif
