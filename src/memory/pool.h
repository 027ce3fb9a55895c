/* Pools inside: blocks of the runtime's memory, the pieces cut from them, and what is kept for the next request.
 *
 * A piece goes through three places. Alive, it is a strata_buffer of the caller's. Destroyed, it is kept as it is, with
 * its sub-buffer, in a magazine of the thread's shard, where the next request of the same size finds it. When the
 * magazine is full or memory is short, it leaves: pieces that no work uses go back to their block's offset allocator,
 * where they merge; the others wait in `pending` until they can. */
#ifndef STRATA_MEMORY_POOL_H
#define STRATA_MEMORY_POOL_H

#include "memory/buffer.h"
#include "memory/offsets.h"
#include "strata/pool.h"

/* Bins of a magazine, by a hash of size and access, and pieces in each: a program has few sizes in its inner loop. */
#define STRATA_MAGAZINE_BINS 32
#define STRATA_MAGAZINE_DEPTH 8

/* What pieces of one shard keep at most; larger pieces than a quarter of it are not kept. */
#define STRATA_MAGAZINE_BYTES (UINT64_C(64) << 20)

/* Under the lock of the device's shard with the same number. */
struct strata_magazine {
    strata_buffer *bin[STRATA_MAGAZINE_BINS]; /* the last given back first */
    unsigned depth[STRATA_MAGAZINE_BINS];
    uint64_t kept_bytes;
    struct strata_count count; /* live buffers of the pool that this shard counts */
    uint64_t given_bytes, reused;
    char apart[128];
};

/* Memory of the runtime's. */
struct strata_block {
    struct strata_native_buffer *native;
    struct strata_native_buffer_facts facts;
    strata_offsets *offsets; /* NULL: dedicated, all of it is one piece */
    uint64_t bytes, number;
    uint64_t fits_below; /* larger requests, and such, have failed since a piece was last given back */
    bool plain;          /* host memory that is not page-locked, in a pool for PINNED */
    uint64_t traced;     /* the trace that knows of it */
    struct strata_block *next;
};

struct strata_pool {
    atomic_uint references; /* its own, and one for whoever goes through the device's pools */
    strata_device *device;
    struct strata_pool_desc desc; /* sizes chosen */
    char *name;
    uint64_t granularity;
    bool is_default;
    bool closing; /* under all shards' locks: nothing is kept any more, and `left` counts */

    struct strata_magazine magazines[STRATA_SHARDS];

    pthread_mutex_t lock;       /* for all below */
    struct strata_block *first; /* the oldest first: the younger ones run empty and can be given back */
    strata_buffer *pending;     /* not alive, still used by work; the oldest first */
    strata_buffer **pending_end;
    strata_buffer *spares; /* dedicated ones that are not alive, not used by work; the last given back first */
    uint64_t left;         /* closing: live buffers, and the handle */
    uint64_t numbers;
    uint64_t pending_bytes, reserved, peak_reserved, dedicated, empty_bytes;
    uint64_t blocks, dedicated_blocks, grown, trimmed, waited, failed, fell_back;
    enum strata_answer commit_effective;
    uint64_t traced, trace_number; /* the trace that knows of it, under the trace's lock */
    struct strata_pool *next;      /* of the device, under its lock */
};

/* A request, checked. */
struct strata_request {
    const struct strata_buffer_desc *desc;
    uint64_t rounded;
    uint64_t hint; /* a bit for the slot whose pending work does not matter */
    char *name;    /* host memory, for names that are not short; taken over by whoever serves the request */
};

/* Serves a request for a buffer that is alive and counted. Blocks when memory is short. */
enum strata_status strata_pool_take(strata_pool *pool, const struct strata_buffer_desc *desc, strata_buffer **buffer);

/* Takes a destroyed buffer back; its maps have been ended. */
void strata_pool_give(strata_buffer *buffer);

/* The pool that serves a desc, made when first needed; NULL: none does, and *status tells whether that is a failure. */
strata_pool *strata_pool_for(strata_device *device, const struct strata_buffer_desc *desc, enum strata_status *status);

/* Does something with each of the device's pools, under no lock. One that ends meanwhile is kept until then. */
void strata_pools_for_each(strata_device *device, void (*function)(strata_pool *pool, void *user), void *user);

/* Gives everything unused back to the runtime, in all pools of the device. Waits for nothing. */
void strata_pools_trim(strata_device *device);

/* Waits for the pools' pending memory, in all pools of the device. */
void strata_pools_settle(strata_device *device);

uint64_t strata_pools_pending(strata_device *device);

/* The device closes: its own pools go, or with their last live buffer. */
void strata_pools_close(strata_device *device);

/* pool_kept.c: pieces that are not alive and not back in their block.
 *
 * A kept piece of the size and access asked for, revived and counted; with `crossing` also one that another queue's
 * work still uses. NULL when there is none. */
strata_buffer *strata_pool_take_kept(strata_pool *pool, struct strata_request *request, bool crossing);
/* Takes a list, linked by `next`, from the magazines. */
void strata_pool_give_list(strata_pool *pool, strata_buffer *list);
void strata_pool_flush(strata_pool *pool);
/* Gives back what is pending and done; with `wait`, all that is pending is waited for. */
void strata_pool_reap(strata_pool *pool, bool wait);
/* Makes a piece the caller's buffer, under the lock of the shard that counts it; `kept` as it was, or newly cut. */
void strata_pool_revive(strata_pool *pool, strata_buffer *buffer, struct strata_request *request, unsigned shard,
                        bool kept);

/* A piece given back to a pool that closes. */
void strata_pool_give_last(strata_pool *pool, strata_buffer *buffer);

/* pool_blocks.c: blocks. All under the pool's lock.
 *
 * A piece that is cut from a block's hole; NULL when no hole is large enough, or with *status for host memory. */
strata_buffer *strata_pool_cut(strata_pool *pool, const struct strata_request *request, enum strata_status *status);
/* Takes memory from the runtime that suits the request, and cuts it. */
enum strata_status strata_pool_grow(strata_pool *pool, const struct strata_request *request, strata_buffer **buffer);
enum strata_status strata_pool_add_block(strata_pool *pool, uint64_t bytes);
/* A piece that nothing uses goes back to its block, or to the spares. */
void strata_pool_return(strata_pool *pool, strata_buffer *buffer);
/* Gives unused blocks back until at most `keep` bytes of them are left; how many bytes went. */
uint64_t strata_pool_release_unused(strata_pool *pool, uint64_t keep);
/* Frees what describes a piece that is gone. */
void strata_pool_free_shell(strata_pool *pool, strata_buffer *buffer);

/* limits.c: memory of the runtime within the device's limits. PINNED memory that cannot be had becomes plain host
 * memory, unless `pinned_only`: facts->pinned is then NO and *plain true. */
enum strata_status strata_memory_take(strata_device *device, const struct strata_native_buffer_desc *desc,
                                      bool pinned_only, struct strata_native_buffer_facts *facts, bool *plain,
                                      struct strata_native_buffer **native);
void strata_memory_give(strata_device *device, enum strata_kind kind, uint64_t bytes, bool plain,
                        struct strata_native_buffer *native);

/* Says in the log that there is plain memory in the place of pinned memory, the first time. Under no lock. */
void strata_memory_tell_of_plain(strata_device *device);

/* "pool 'textures'", for sentences. */
const char *strata_pool_label(const strata_pool *pool, char *place, size_t size);

#endif
