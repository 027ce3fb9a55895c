/* The fault backend's own objects, behind the opaque handles of backend.h: each holds the inner backend's. */
#ifndef STRATA_BACKEND_FAULT_NATIVE_H
#define STRATA_BACKEND_FAULT_NATIVE_H

#include "backend/fault/fault.h"
#include "backend/fault/plan.h"

#include <pthread.h>
#include <stdatomic.h>

/* Threads that are told apart; later ones have no number. */
#define STRATA_FAULT_THREADS 256

/* A device, and what is counted of it. Lives until the device is closed and the last host memory is given back that it
 * counted: strata's own device object is such memory, and goes after the native device.
 *
 * Two locks, each the innermost but for the runtime's: `order` is held while commands are handed over. */
struct strata_fault {
    atomic_size_t references;
    struct strata_allocator base;  /* the caller's; for what is the decorator's own */
    struct strata_allocator hooks; /* what strata gets: counts, then asks `base` */
    strata_log_function log;
    void *log_user;

    /* The inner backend, and the tables that stand before its own: a slot is NULL where the inner one is. */
    const struct strata_backend *inner;
    struct strata_native_device *device;
    struct strata_backend backend;
    struct strata_backend_device device_table;
    struct strata_backend_queue queue_table;
    struct strata_backend_buffer buffer_table;
    struct strata_backend_program program_table;

    pthread_mutex_t lock; /* for what follows, up to `order` */
    struct strata_fault_rules rules;
    uint64_t seen[STRATA_FAULT_KINDS], failed[STRATA_FAULT_KINDS];
    uint64_t threads[STRATA_FAULT_THREADS];
    unsigned thread_count;
    uint64_t taken; /* bytes of the memory that `memory` limits */

    pthread_mutex_t order; /* for the commands that queues keep, and the states of events */
    struct strata_fault_queue *queues;
    atomic_bool keeps; /* commands are kept: the plan holds or slows them */

    _Atomic uint64_t live; /* objects of the runtime */
    uint64_t own_largest;  /* of the device, whatever plan it has */
};

struct strata_fault_queue {
    struct strata_fault *fault;
    struct strata_native_queue *inner;
    struct strata_fault_queue *next;
    struct strata_fault_command *first, **end; /* kept, the oldest first */
    uint64_t due_ns;                           /* of the last one */
    bool failed;
    struct strata_error_copy failure; /* of a kept command that no event reports */
};

enum strata_fault_event_state { STRATA_FAULT_KEPT, STRATA_FAULT_HANDED, STRATA_FAULT_BROKEN };

struct strata_fault_event {
    struct strata_fault *fault;
    atomic_uint references; /* strata's, and one for each kept command that fills it or waits for it */
    struct strata_fault_queue *queue;
    struct strata_native_event *inner; /* when handed over */
    enum strata_fault_event_state state;
    struct strata_error_copy failure; /* when broken */
};

struct strata_fault_buffer {
    struct strata_fault *fault;
    struct strata_native_buffer *inner;
    struct strata_fault_buffer *whole; /* itself, unless it is a part */
    uint64_t bytes;
    bool limited; /* of the memory that `memory` limits */
    bool placed;  /* counted in `taken`; under the fault's lock */
};

struct strata_fault_program {
    struct strata_fault *fault;
    struct strata_native_program *inner;
};

struct strata_fault_kernel {
    struct strata_fault *fault;
    atomic_uint references; /* strata's, and one for each kept launch */
    struct strata_native_kernel *inner;
};

/* A command, to be run now or kept. What it points to is copied when it is kept, but for host memory that the command
 * itself reads or writes. Handles are the inner backend's, but for `event`. */
struct strata_fault_command {
    enum strata_status (*run)(const struct strata_fault_queue *queue, const struct strata_fault_command *command,
                              struct strata_native_event **done);
    struct strata_native_buffer *to, *from;
    uint64_t to_offset, from_offset, bytes;
    const void *source;
    void *destination;
    unsigned char pattern[128];
    size_t pattern_bytes;
    struct strata_native_box to_box, from_box;
    uint64_t region[3];
    enum strata_map_access access;
    struct strata_fault_kernel *kernel;
    struct strata_native_grid grid;
    struct strata_native_argument *arguments; /* the command's own, with its values in the same memory */
    size_t count;
    struct strata_fault_event *event; /* to wait for */

    struct strata_fault_event *done; /* to fill, or NULL */
    uint64_t due_ns;
    bool held;
    struct strata_fault_command *next;
};

/* calls.c: counts a call for so many bytes; a failure, with its sentence, when the plan wants one. Any thread. */
enum strata_status strata_fault_count(struct strata_fault *fault, enum strata_fault_kind kind, uint64_t bytes);

/* Whether there is memory for a buffer that is being created, committed or used by a command; counts it in and out. */
enum strata_status strata_fault_place(struct strata_fault_buffer *buffer, enum strata_fault_kind by);
void strata_fault_unplace(struct strata_fault_buffer *buffer);

/* The hooks that count. */
void *strata_fault_allocate(size_t bytes, void *fault);
void strata_fault_release_memory(void *pointer, void *fault);

/* order.c: runs a command, or keeps it; then it has taken over its arguments, kernel and event. *done is the
 * decorator's. */
enum strata_status strata_fault_put(struct strata_fault_queue *queue, struct strata_fault_command *command,
                                    struct strata_native_event **done);
/* Runs a command at once, whatever is kept. */
enum strata_status strata_fault_run(struct strata_fault_queue *queue, struct strata_fault_command *command,
                                    struct strata_native_event **done);
/* Hands over all that a queue keeps; blocks as long as it is slow. */
void strata_fault_drain(struct strata_fault_queue *queue);
/* Hands over what comes before an event and itself; blocks as long as that is slow. */
void strata_fault_demand(struct strata_fault_event *event);
/* Hands over what is due and not held. */
void strata_fault_pump(struct strata_fault_queue *queue);
/* The same for an event's queue; the event's state then. */
enum strata_fault_event_state strata_fault_look(struct strata_fault_event *event);
/* Lets go what all queues hold, and hands over what is due; the last failure. With `all`, what is slow, too. */
enum strata_status strata_fault_let_go(struct strata_fault *fault, bool all);
void strata_fault_event_drop(struct strata_fault_event *event);
void strata_fault_kernel_drop(struct strata_fault_kernel *kernel);

/* device.c, queue.c, transfer.c, buffer.c, program.c: the decorator's slots. */
extern const struct strata_backend_device strata_fault_device_table;
extern const struct strata_backend_queue strata_fault_queue_table;
extern const struct strata_backend_buffer strata_fault_buffer_table;
extern const struct strata_backend_program strata_fault_program_table;

/* The slots of the buffer table that transfer data, in transfer.c. */
enum strata_status strata_fault_write(struct strata_native_queue *queue, struct strata_native_buffer *buffer,
                                      uint64_t offset, uint64_t bytes, const void *source,
                                      struct strata_native_event **done);
enum strata_status strata_fault_read(struct strata_native_queue *queue, struct strata_native_buffer *buffer,
                                     uint64_t offset, uint64_t bytes, void *destination,
                                     struct strata_native_event **done);
enum strata_status strata_fault_copy(struct strata_native_queue *queue, struct strata_native_buffer *destination,
                                     uint64_t destination_offset, struct strata_native_buffer *source,
                                     uint64_t source_offset, uint64_t bytes, struct strata_native_event **done);
enum strata_status strata_fault_fill(struct strata_native_queue *queue, struct strata_native_buffer *buffer,
                                     uint64_t offset, uint64_t bytes, const void *pattern, size_t pattern_bytes,
                                     struct strata_native_event **done);
enum strata_status strata_fault_map(struct strata_native_queue *queue, struct strata_native_buffer *buffer,
                                    uint64_t offset, uint64_t bytes, enum strata_map_access access, void **pointer,
                                    struct strata_native_event **done);
enum strata_status strata_fault_unmap(struct strata_native_queue *queue, struct strata_native_buffer *buffer,
                                      void *pointer, struct strata_native_event **done);
enum strata_status strata_fault_write_box(struct strata_native_queue *queue, struct strata_native_buffer *buffer,
                                          const struct strata_native_box *destination, const void *source,
                                          const struct strata_native_box *source_box, const uint64_t region[3],
                                          struct strata_native_event **done);
enum strata_status strata_fault_read_box(struct strata_native_queue *queue, struct strata_native_buffer *buffer,
                                         const struct strata_native_box *source, void *destination,
                                         const struct strata_native_box *destination_box, const uint64_t region[3],
                                         struct strata_native_event **done);
enum strata_status strata_fault_copy_box(struct strata_native_queue *queue, struct strata_native_buffer *destination,
                                         const struct strata_native_box *destination_box,
                                         struct strata_native_buffer *source,
                                         const struct strata_native_box *source_box, const uint64_t region[3],
                                         struct strata_native_event **done);

#endif
