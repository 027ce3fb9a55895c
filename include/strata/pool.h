/* Pools: memory taken from the runtime in large blocks and handed out in pieces; and arenas, for scratch memory.
 *
 * Every device has a pool for DEVICE and one for PINNED memory that strata_buffer_create uses by itself, so most
 * programs need this header for its figures only:
 *
 *     struct strata_pool_stats stats = {.size = sizeof stats};
 *     strata_pool_get_stats(strata_device_pool(dev, STRATA_DEVICE), &stats);
 *
 * A pool of one's own has its own limit, and its own figures:
 *
 *     strata_pool *pool = NULL;
 *     strata_pool_create(dev, STRATA_POOL(.name = "textures", .limit_bytes = 512u << 20), &pool);
 *     strata_buffer_create(dev, STRATA_BUFFER(.bytes = bytes, .pool = pool), &texture);
 *     strata_buffer_destroy(&texture);                   // back to the pool, without a call into the runtime
 *     strata_pool_destroy(&pool);
 *
 * A piece that is destroyed while work uses it can be handed out again at once: commands of the same queue come behind
 * that work anyway, and commands of another queue are put behind it, on the device, when they first use the new buffer.
 * What the host can touch (PINNED, SHARED) is handed out when that work is done. Pools may be used from several threads
 * at once, and from one at a time without a system call. */
#ifndef STRATA_POOL_H
#define STRATA_POOL_H

#include "strata/memory.h"
#include "strata/offsets.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called when memory of a pool has run out, after strata has given back what it could: `bytes` were asked for. The
 * caller may destroy buffers, and answers whether to try again. It runs in the thread that asked, under no lock. */
typedef bool (*strata_pool_exhausted_function)(strata_pool *pool, uint64_t bytes, void *user);

struct strata_pool_desc {
    size_t size;
    enum strata_kind kind;        /* DEVICE, PINNED or SHARED */
    enum strata_shared_mode mode; /* SHARED: COHERENT or MAPPED, or NONE for the best of them */
    const char *name;             /* copied; for messages */
    uint64_t limit_bytes;         /* never more than this is taken from the runtime; 0: no limit but the device's */
    uint64_t initial_bytes;       /* taken at once, as one block */
    uint64_t block_bytes;         /* of the first block; later ones are larger. 0: strata chooses */
    uint64_t max_block_bytes;     /* 0: strata chooses */
    uint64_t dedicated_bytes;     /* buffers from this size on have memory of their own. 0: strata chooses */
    uint64_t keep_bytes;          /* unused memory that is not given back by itself. 0: strata chooses; 1: none */
    bool no_commit;               /* DEVICE: blocks are placed lazily, as the driver likes */
    strata_pool_exhausted_function exhausted;
    void *exhausted_user;
};
#define STRATA_POOL(...) (&(const struct strata_pool_desc){.size = sizeof(struct strata_pool_desc), __VA_ARGS__})
STRATA_API void strata_pool_desc_init(struct strata_pool_desc *desc);

/* On success *pool is the caller's. Blocks when there are `initial_bytes`. Errors: INVALID_ARGUMENT (an initial size or
 * block over the limit, a kind that has no pools), TOO_LARGE, OUT_OF_MEMORY, UNSUPPORTED (mode), FORKED. */
STRATA_API enum strata_status strata_pool_create(strata_device *device, const struct strata_pool_desc *desc,
                                                 strata_pool **pool);

/* Gives a pool back. Buffers of it that are alive stay valid, and its memory goes with the last of them. Takes NULL and
 * a pointer to NULL; clears *pool. A device's own pool stays alive. */
STRATA_API void strata_pool_destroy(strata_pool **pool);

/* The pool that strata_buffer_create uses for this kind; the device's own. NULL for kinds without one, and on runtimes
 * where each buffer has memory of its own (Oclgrind, which then sees accesses beyond a buffer). */
STRATA_API strata_pool *strata_device_pool(strata_device *device, enum strata_kind kind);

/* Gives unused memory back to the runtime until at most `keep_bytes` of it are left. Does not wait for work. *freed,
 * when not NULL, is how many bytes went. */
STRATA_API enum strata_status strata_pool_trim(strata_pool *pool, uint64_t keep_bytes, uint64_t *freed);

/* The figures of a pool. Bytes; a peak is the most there ever was: exact when one thread creates the buffers, and with
 * several the sum of what each of up to 8 groups of threads had at its own time, which is never too low. */
struct strata_pool_stats {
    size_t size;
    uint64_t live_bytes;     /* of live buffers, as asked for */
    uint64_t given_bytes;    /* the same, as rounded up */
    uint64_t peak_bytes;     /* of live_bytes */
    uint64_t reserved_bytes; /* taken from the runtime */
    uint64_t peak_reserved_bytes;
    uint64_t pending_bytes; /* destroyed, and still used by queued work */
    uint64_t cached_bytes;  /* destroyed, and kept as they are for the next of the same size; the pending ones, too */
    uint64_t free_bytes;    /* the rest of reserved_bytes */
    uint64_t largest_free;  /* of the rest, in one piece */
    double fragmentation;   /* 1 - largest_free / free_bytes */
    uint64_t live_buffers, total_buffers;
    uint64_t reused_buffers; /* of total_buffers: those that took a kept piece as it was */
    uint64_t blocks, dedicated_blocks;
    uint64_t grown, trimmed;             /* blocks taken from the runtime, and given back to it, ever */
    uint64_t waited;                     /* how often the pool waited for work to get memory back */
    uint64_t failed;                     /* how often it had none in the end */
    uint64_t fell_back;                  /* PINNED: buffers that got plain host memory */
    enum strata_answer commit_effective; /* memory that is not there is told of when a block is taken */
};

/* The caller sets stats->size. Takes the pool's lock for a moment; cheap enough for every frame. Any thread. */
STRATA_API enum strata_status strata_pool_get_stats(strata_pool *pool, struct strata_pool_stats *stats);

/* Looks through a pool's blocks, pieces and counts: INTERNAL with a sentence that names the first fault. For tests, and
 * while no other thread uses the pool; O(pieces). */
STRATA_API enum strata_status strata_pool_validate(strata_pool *pool);

/* Writes what a device's memory is used for as JSON (schemas/strata-memory.schema.json of the installation): kinds,
 * pools, blocks, pieces and holes in the order of their offsets, buffers by name. `strata report` draws it. `write`
 * gets pieces of text, one after the other, under no lock, and answers false to stop. Each pool is as it was at one
 * moment; with other threads at work the pools are of different moments, and a buffer that is just being moved may be
 * missing. Names are cut to 63 bytes. Errors: IO when `write` stopped, OUT_OF_MEMORY (host memory for the largest
 * pool's ranges), FORKED. Any thread. */
STRATA_API enum strata_status strata_device_dump(strata_device *device, strata_write_function write, void *user);

/* Scratch memory that is taken by advancing a mark, and given back all at once. An arena belongs to a queue: its memory
 * is for work of that queue, or work that is ordered with it. */
typedef struct strata_arena strata_arena;

struct strata_arena_desc {
    size_t size;
    uint64_t bytes;        /* that may be in use at a time */
    enum strata_kind kind; /* DEVICE or PINNED */
    const char *name;      /* copied */
};
#define STRATA_ARENA(...) (&(const struct strata_arena_desc){.size = sizeof(struct strata_arena_desc), __VA_ARGS__})
STRATA_API void strata_arena_desc_init(struct strata_arena_desc *desc);

/* On success *arena is the caller's. Errors: as strata_buffer_create. */
STRATA_API enum strata_status strata_arena_create(strata_queue *queue, const struct strata_arena_desc *desc,
                                                  strata_arena **arena);

/* Takes NULL and a pointer to NULL; clears *arena. Legal while work uses it. */
STRATA_API void strata_arena_destroy(strata_arena **arena);

/* Takes `bytes` whose start is aligned for kernel arguments and to `alignment`, a power of two or 0. *slice may be
 * given to the queue until strata_arena_reset. DEVICE memory never waits. PINNED memory, which the host writes to,
 * waits for work of earlier frames when it comes to what they used. Errors: OUT_OF_MEMORY when this frame has taken
 * all, and then nothing has changed; INVALID_ARGUMENT; what that work failed with. One thread at a time. */
STRATA_API enum strata_status strata_arena_allocate(strata_arena *arena, uint64_t bytes, uint64_t alignment,
                                                    strata_slice *slice);

/* Ends a frame: all slices are given back. Work put into the queue so far goes on using them. Blocks only when PINNED
 * memory has 16 frames of unfinished work. */
STRATA_API enum strata_status strata_arena_reset(strata_arena *arena);

/* Bytes taken in this frame, and the most that any frame took. NULL for what is not wanted. */
STRATA_API void strata_arena_usage(const strata_arena *arena, uint64_t *used, uint64_t *peak);

#ifdef __cplusplus
}
#endif
#endif
