/* Buffers inside: what they are, who uses them, and what becomes of them when they are given back. */
#ifndef STRATA_MEMORY_BUFFER_H
#define STRATA_MEMORY_BUFFER_H

#include "core/device.h"
#include "core/queue.h"

/* An open map or host bracket. */
struct strata_map_entry {
    uint64_t offset, bytes;
    enum strata_map_access access;
    bool bracket; /* ended by strata_host_end, else by strata_unmap */
    bool native;  /* the backend has a map of it to end */
    void *pointer;
    struct strata_map_entry *next;
};

/* A use that may not be done: one command of the queue in `slot`. */
struct strata_use {
    uint64_t begin, end;
    uint64_t position;
    unsigned slot;
    bool write;
};

/* Uses remembered per buffer. With more in flight the oldest are forgotten: a missed refusal, never a false one. */
#define STRATA_USES_KEPT 32

/* The commands that used a buffer; made with the first of them. */
struct strata_uses {
    unsigned count;
    struct strata_use list[STRATA_USES_KEPT];
    uint64_t slots;                    /* a bit for each queue slot that `last` is set for */
    uint64_t last[STRATA_QUEUE_SLOTS]; /* position of the last command that used it */
};
_Static_assert(STRATA_QUEUE_SLOTS <= 64, "a word has a bit for each queue slot");

#define STRATA_SHORT_NAME 40

struct strata_buffer {
    struct strata_buffer_info info;
    strata_device *device;
    char *name; /* `short_name`, or host memory of its own */
    char short_name[STRATA_SHORT_NAME];
    struct strata_native_buffer *native; /* NULL for an empty buffer */
    const char *site;
    struct strata_pool *pool; /* NULL: memory of its own; then the next three say nothing */
    struct strata_block *block;
    uint64_t piece;            /* of the block's offset allocator */
    uint64_t given_bytes;      /* at least as many as were asked for */
    enum strata_kind own_kind; /* memory of its own: what it is to the runtime */
    uint64_t taken_bytes;      /* of it, counted in the device's limits; 0: not counted */
    void *mirror;       /* host memory that brackets copy from and to: MIRRORED, and WRAPPED that had to be staged */
    void *mirror_block; /* what to release of it, if strata allocated it */
    const void *root;   /* the memory object that it is a part of, for overlaps; itself unless wrapped from a part */
    uint64_t root_offset;

    pthread_mutex_t lock; /* for all below */
    struct strata_map_entry *maps;
    struct strata_uses *uses;
    /* The queue slots whose last use was of an earlier buffer in this place: a command of another queue is put behind
     * that use instead of being refused. */
    uint64_t inherited;

    uint64_t trace_number;                 /* in a trace that runs */
    bool alive;                            /* listed in the shard */
    unsigned shard;                        /* of the device, that counts it; for what follows */
    struct strata_buffer *next, *previous; /* alive; of a pool's, when it is not: `next` in its list */
};

/* Why a command may not run yet: the other queue's place. */
struct strata_conflict {
    bool found;
    bool inherited; /* an earlier buffer's: the command is to be put behind it, and no error was made */
    unsigned slot;
    uint64_t position;
};

/* Whether the queue's next command may use these ranges: BUSY when a range is mapped, or used by unfinished work of a
 * queue that this one has not waited for. Records the uses when all may be. Under the queue's lock. */
enum strata_status strata_uses_admit(strata_queue *queue, const struct strata_command_use *uses, size_t count,
                                     struct strata_conflict *conflict);

/* The queue slots with work on the buffer that is not known to be done. Under the buffer's lock, or alone. */
uint64_t strata_buffer_pending_slots(const strata_buffer *buffer);

/* Events behind all unfinished work on the buffer, one per queue, at most STRATA_QUEUE_SLOTS; how many. */
unsigned strata_buffer_pending(strata_buffer *buffer, strata_event **events);

/* Blocks until no queue has unfinished work on the buffer. */
enum strata_status strata_buffer_settle(strata_buffer *buffer);

/* Whether a slice lies in its buffer and the buffer is of this device; the sentence names `what`. */
enum strata_status strata_slice_check(const strata_device *device, strata_slice slice, const char *what);

/* Whether two slices share a byte, also through parts of one memory object. */
bool strata_slices_overlap(strata_slice a, strata_slice b);

/* PINNED memory is an end point of copies by its pointer: the host address of the slice, else NULL. */
void *strata_slice_host(strata_slice slice);

/* "buffer 'samples'", for sentences. */
const char *strata_buffer_label(const strata_buffer *buffer, char *place, size_t size);

/* A strata buffer over a native one, which it takes over on success. */
enum strata_status strata_buffer_adopt(strata_device *device, const struct strata_buffer_desc *desc,
                                       struct strata_native_buffer *native,
                                       const struct strata_native_buffer_facts *facts, strata_buffer **buffer);

/* Memory that is no pool's. */
struct strata_owned {
    struct strata_native_buffer *native;
    void *host_block;
    enum strata_kind kind;
    uint64_t taken_bytes;
};
void strata_owned_free(strata_device *device, const struct strata_owned *owned);

/* Memory of `bytes` that goes when these events are done. Takes all over. */
void strata_retire(strata_device *device, const struct strata_owned *owned, uint64_t bytes, strata_event **events,
                   unsigned event_count);

/* Gives back what is no longer used; with `all`, waits for it. Under no lock. */
void strata_retired_reap(strata_device *device, bool all);

/* The number of this thread, from 1 on, and the shard that counts what it creates. */
unsigned strata_thread_number(void);
unsigned strata_shard_of_thread(void);

/* Under the shard's lock. */
void strata_shard_enter(struct strata_shard *shard, strata_buffer *buffer);
void strata_shard_leave(struct strata_shard *shard, strata_buffer *buffer);
void strata_count_in(struct strata_count *count, uint64_t bytes);
void strata_count_out(struct strata_count *count, uint64_t bytes);

/* Refuses a struct of statistics whose size this library does not know. */
enum strata_status strata_stats_check_size(const void *stats, size_t known, const char *what);

/* Scopes that were never ended. */
void strata_scopes_free(strata_device *device);

/* The mode of shared memory asked for, or the best there is. */
enum strata_status strata_shared_mode_choose(const strata_device *device, enum strata_shared_mode asked,
                                             enum strata_shared_mode *mode);

/* Counts a buffer in and out of the device's statistics, and lists it. */
void strata_buffer_enlist(strata_buffer *buffer);
void strata_buffer_delist(strata_buffer *buffer);

/* Logs what is still alive, by name; the number of buffers. */
uint64_t strata_leak_report(strata_device *device);

#endif
