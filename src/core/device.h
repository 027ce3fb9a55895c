/* The device object, and what the other rooms need of it. */
#ifndef STRATA_CORE_DEVICE_H
#define STRATA_CORE_DEVICE_H

#include "backend/backend.h"
#include "core/spin.h"

#include <pthread.h>
#include <stdatomic.h>

/* Queues of one device that may be alive at a time; the clocks of events have one entry for each. */
#define STRATA_QUEUE_SLOTS 64

/* What is counted of one kind of memory. */
struct strata_count {
    uint64_t live_bytes, peak_bytes, live_buffers, total_buffers;
};

/* A part of the device's statistics. Threads share it with few others, so that they do not wait for each other. */
#define STRATA_SHARDS 8
struct strata_shard {
    struct strata_spin lock;
    struct strata_trace *trace;         /* the device's, while it runs */
    struct strata_buffer *buffers;      /* alive */
    struct strata_count kind[4], total; /* by enum strata_kind, and of all kinds */
    char apart[128];                    /* the next one is in another cache line */
};

/* Lock order, outermost first: a reduction's or program's own lock, a pool's, queue, buffer, device, shard, a trace's
 * ring, worker, the runtime's. trace_lock is taken under none of them, and only a trace's ring under it. The start of a
 * trace alone takes the locks of several shards after the device's, as statistics do. No lock of this list is held
 * while a callback or the log hook runs. */
struct strata_device {
    atomic_uint references; /* the caller's, and one for each queue, buffer and program */
    atomic_bool closed;
    const struct strata_backend *backend;
    struct strata_native_device *native;
    struct strata_device_info info; /* owned; see strata_info_release */
    char *name;
    struct strata_allocator hooks;
    strata_log_function log;
    void *log_user;
    enum strata_log_level log_level;
    bool no_cache;
    bool no_pools; /* each buffer has memory of its own, unless its desc names a pool */
    uint64_t memory_limit, pinned_limit;
    char *cache_directory;
    strata_queue *queue;

    pthread_mutex_t lock; /* for all below */
    strata_queue *queues[STRATA_QUEUE_SLOTS];
    struct strata_event *fences[STRATA_QUEUE_SLOTS]; /* see fence.h */
    uint64_t slot_position[STRATA_QUEUE_SLOTS];      /* where the next queue of the slot begins to count */
    struct strata_retired *retired; /* given back by the caller, still used by queued work; oldest first */
    uint64_t retired_bytes;

    struct strata_shard shards[STRATA_SHARDS];
    struct strata_scope *scopes; /* of strata_device_stats_push, the innermost first; under `lock` */

    struct strata_pool *pools;                    /* all of the device; under `lock` */
    pthread_mutex_t pools_lock;                   /* for making the default ones */
    struct strata_pool *_Atomic default_pools[4]; /* by enum strata_kind; made when first needed */

    _Atomic uint64_t taken[4];  /* bytes of the runtime's memory, by enum strata_kind */
    atomic_bool told_of_plain;  /* plain memory is in the place of pinned memory: that was logged */
    _Atomic uint64_t deferring; /* a bit for each queue slot whose queue has commands that are not with the runtime */

    /* Positions known to be done, by queue slot. */
    _Atomic uint64_t completed[STRATA_QUEUE_SLOTS];

    pthread_mutex_t trace_lock; /* for the next three; see memory/trace.h */
    pthread_cond_t trace_changed;
    struct strata_trace *trace; /* of strata_trace_start */
    uint64_t trace_serial;      /* of the last one */
    atomic_bool trace_due;      /* it has chunks to write */

    /* What the primitives keep per device (built programs, scratch): made by the first that needs it. */
    pthread_mutex_t primitives_lock;
    void *primitives;
    void (*primitives_destroy)(void *primitives);
};

/* Makes a device over an opened native one. Takes over `native` and `info` on success only. `queue` is the native
 * default queue, or NULL: one is made. */
enum strata_status strata_device_create(const struct strata_backend *backend, struct strata_native_device *native,
                                        const struct strata_device_info *info, const struct strata_device_desc *desc,
                                        struct strata_native_queue *queue, strata_device **device);

void strata_device_retain(strata_device *device);
void strata_device_release(strata_device *device);

/* Never under a lock. */
void strata_device_log(strata_device *device, enum strata_log_level level, const char *format, ...) STRATA_PRINTF(3, 4);

/* INVALID_ARGUMENT for NULL and for a closed device. */
enum strata_status strata_device_check(const strata_device *device);

/* Copies info and its strings; frees the strings of one. */
enum strata_status strata_info_copy(const struct strata_allocator *hooks, const struct strata_device_info *from,
                                    struct strata_device_info *to);
void strata_info_release(const struct strata_allocator *hooks, struct strata_device_info *info);

/* A desc's known part copied over defaults; refuses a tail that is not zero. `known` is this library's size of it. */
enum strata_status strata_desc_read(const void *given, void *desc, size_t known, const char *what);

/* The backends of this build. */
extern const struct strata_backend *const strata_backends[];
extern const size_t strata_backend_count;

/* Finds all devices of all backends; the caller releases with strata_candidates_release. */
enum strata_status strata_candidates_find(struct strata_candidate **list, size_t *count);
void strata_candidates_release(struct strata_candidate *list, size_t count);

/* The place that `selector` names; no environment is read. */
enum strata_status strata_candidates_select(const struct strata_candidate *list, size_t count, const char *selector,
                                            size_t *index);

/* Why there is no device, as far as the machine shows it: appended to text. `vendors_directory` NULL means the
 * environment's or the standard one. */
void strata_no_device_hint(struct strata_text *text, const char *vendors_directory);

#endif
