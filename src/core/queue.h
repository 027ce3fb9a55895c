/* Queues and events inside: how commands are put in order, and what they do to buffers. */
#ifndef STRATA_CORE_QUEUE_H
#define STRATA_CORE_QUEUE_H

#include "core/device.h"
#include "core/worker.h"

/* What a queue knows to be before its next command: for each queue slot, the last position. */
struct strata_clock {
    uint64_t position[STRATA_QUEUE_SLOTS];
};

struct strata_queue {
    atomic_uint references; /* the owner's, and one for each event */
    strata_device *device;
    struct strata_native_queue *native;
    const struct strata_backend_queue *table;
    char *name;
    bool profiling;
    bool is_default;
    unsigned slot;

    pthread_mutex_t lock; /* for all below, and for the events of this queue */
    pthread_cond_t changed;
    bool ended;
    uint64_t position; /* of the last command put in */
    struct strata_clock seen;
    uint64_t deferred;                      /* commands that strata's worker has yet to run */
    struct strata_worker *_Atomic worker;   /* host work, and device work behind it; made when first needed */
    struct strata_worker *_Atomic notifier; /* callbacks; made when first needed */
    bool failed;
    struct strata_error_copy failure; /* of a deferred command that no event reports */
};

enum strata_event_state {
    STRATA_EVENT_WAITING,   /* behind host work, not yet with the runtime */
    STRATA_EVENT_SUBMITTED, /* `native` is set */
    STRATA_EVENT_DONE,
    STRATA_EVENT_FAILED
};

struct strata_event {
    atomic_uint references;
    strata_queue *queue; /* retained */
    uint64_t position;
    struct strata_clock clock;     /* what was before it */
    enum strata_event_state state; /* under the queue's lock */
    struct strata_native_event *native;
    struct strata_event *next_fence; /* under the device's lock, see fence.h */
    struct strata_event_times times; /* of host work */
    struct strata_error_copy failure;
};

/* One use of a buffer by a command. */
struct strata_command_use {
    strata_buffer *buffer;
    uint64_t offset, bytes;
    bool write;
    bool mapping; /* a map, an unmap or a bracket itself: open maps do not refuse it */
};

/* A command. `run` hands it to the backend (or, for host work, does it); it may be called from the caller's thread or
 * from the queue's worker, once. `*done` is NULL or a place for the native event; a host command leaves it alone. */
struct strata_command {
    enum strata_status (*run)(strata_queue *queue, void *payload, struct strata_native_event **done);
    void *payload;
    size_t payload_bytes;           /* copied when the command has to wait */
    void (*prepare)(void *payload); /* on a payload that was copied and will run later: retains; may be NULL */
    void (*dispose)(void *payload); /* after a copied payload ran; may be NULL */
    bool host;                      /* begins when all before it is done, and is done when `run` returns */
    bool blocks;                    /* may block, so it runs on the worker; needs nothing before it to be done */
    const struct strata_command_use *uses;
    size_t use_count;
};

/* Checks and records the uses, then runs the command or lets it wait behind host work. `event` may be NULL. */
enum strata_status strata_queue_put(strata_queue *queue, const struct strata_command *command, strata_event **event);

/* The same, then waits for it. */
enum strata_status strata_queue_put_and_wait(strata_queue *queue, const struct strata_command *command);

/* NULL, a closed device or an ended queue: INVALID_ARGUMENT. */
enum strata_status strata_queue_check(strata_queue *queue);

/* A queue over a native one, which it takes over on success. */
enum strata_status strata_queue_wrap(strata_device *device, struct strata_native_queue *native, const char *name,
                                     bool profiling, strata_queue **queue);

void strata_queue_retain(strata_queue *queue);
void strata_queue_release(strata_queue *queue);

/* Gives a place's work up to 2 ms to be seen as done; see uses.c for why. False: it is not, as far as is known. */
bool strata_queue_settle(strata_device *device, unsigned slot, uint64_t position);

/* Blocks until no command is deferred: all is with the runtime. */
void strata_queue_drain(strata_queue *queue);

/* Ends the queue: waits for its work, stops its threads, gives its slot back. */
void strata_queue_end(strata_queue *queue);

/* Raises device->completed of a slot. */
void strata_completed_raise(strata_device *device, unsigned slot, uint64_t position);

#endif
