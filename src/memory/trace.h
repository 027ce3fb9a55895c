/* Tracing inside: the records of what happens to a device's memory, and the ring of chunks that they wait in.
 *
 * Order. A record of a buffer is made under the lock of the shard that counts it, in the very section that lists or
 * unlists it. A piece is in no list of the pool's before that section ends, so whoever gets the memory next records
 * that later; records of one device are in the order in which they took the ring's lock. A block's growth is recorded
 * under the pool's lock before a piece is cut from it, and its trim before the runtime gets it back.
 *
 * The trace is found in the shards, under their locks: with none running nothing else is looked at, and once it has
 * been taken out of all of them, nobody records any more.
 *
 * Writing. Full chunks are written by a thread that creates or destroys a buffer, before it takes any lock: `trace_due`
 * of the device tells it. One writes, the others go on, until half of the ring is full: then they wait for it. */
#ifndef STRATA_MEMORY_TRACE_H
#define STRATA_MEMORY_TRACE_H

#include "memory/pool.h"
#include "memory/trace_format.h"
#include "strata/trace.h"

/* Chunks of the ring: what threads may record between two looks at `trace_due`, with room for a trim of thousands of
 * blocks. */
#define STRATA_TRACE_CHUNKS 64

struct strata_trace_chunk {
    unsigned char bytes[STRATA_TRACE_CHUNK_HEAD + STRATA_TRACE_CHUNK_BYTES];
    size_t used; /* of `bytes`, with the head */
    uint32_t records;
};

struct strata_trace {
    struct strata_spin lock; /* the innermost; for the next */
    struct strata_trace_chunk *chunks;
    uint64_t count, head, tail; /* chunks; the one that is filled, and the oldest not written: counted for ever */
    uint64_t time;              /* of the last record */
    unsigned thread;            /* of the last record in the chunk; 0: there is none */
    uint64_t serial;            /* of the device's traces: marks what this one knows of */
    uint64_t buffers, pools;    /* so far */
    bool ended, overrun;        /* nothing is recorded any more; because the ring was full */
    char names[STRATA_TRACE_NAMES][STRATA_SHORT_NAME];

    /* Under the device's trace_lock. */
    bool writing, stopping;
    pthread_t writer; /* while `writing` */

    /* The writer's. */
    strata_write_function write;
    void *user;
    int file, error; /* -1: there is a function; errno of what failed */
    char *path;
    bool failed;
};

/* Each under the lock of the buffer's shard, with its trace, which is not NULL. */
void strata_trace_create(struct strata_trace *trace, strata_buffer *buffer, const strata_queue *queue, unsigned flags);
void strata_trace_destroy(struct strata_trace *trace, const strata_buffer *buffer);

/* Of a pool, under its lock or alone. These look for a trace themselves. */
void strata_trace_grow(strata_pool *pool, struct strata_block *block);
void strata_trace_trim(strata_pool *pool, const struct strata_block *block);
void strata_trace_wait(strata_pool *pool, bool end);
void strata_trace_fail(strata_device *device, const struct strata_buffer_desc *desc, strata_pool *pool,
                       enum strata_status status);

/* The first record, and a block that was there before. By who starts the trace. */
void strata_trace_device(struct strata_trace *trace, const strata_device *device);
void strata_trace_existing(struct strata_trace *trace, strata_pool *pool, struct strata_block *block);

/* Writes what is full, or waits for who does. Under no lock. */
void strata_trace_write(strata_device *device);

/* Starts a device's trace to a file; a failure is logged only. */
void strata_trace_begin(strata_device *device, const char *path);

/* The device closes. In a forked child, host memory only. */
void strata_trace_close(strata_device *device);
void strata_trace_forget(strata_device *device);

#endif
