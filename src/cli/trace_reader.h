/* Trace files: reading all of one into memory, whatever it holds. */
#ifndef STRATA_CLI_TRACE_READER_H
#define STRATA_CLI_TRACE_READER_H

#include "core/host.h"
#include "memory/trace_format.h"

/* One record. Which members it has is said in memory/trace_format.h; the others are 0. */
struct strata_trace_event {
    enum strata_trace_type type;
    uint32_t thread;
    uint64_t time_ns; /* since the trace's first event */
    uint64_t pool;    /* its number, of strata_trace_file.pools from 1 on; 0: memory of its own */
    uint64_t number;  /* of a buffer, from 0 on, or of a pool's block */
    uint64_t bytes, given;
    uint32_t flags;
    int32_t status; /* enum strata_status, or another number of a later version */
    size_t name;    /* see strata_trace_text */
};

struct strata_trace_pool {
    uint32_t kind, flags;
    size_t name;
    uint64_t granularity, limit_bytes, block_bytes, max_block_bytes, dedicated_bytes, keep_bytes;
};

/* A trace in which each destroy has its create before it, and pools are known before they are named. */
struct strata_trace_file {
    struct strata_trace_event *events;
    size_t count;
    struct strata_trace_pool *pools;
    size_t pool_count;
    uint64_t buffers; /* creates */
    size_t device, platform, driver, version;
    uint64_t device_bytes, max_buffer_bytes, memory_limit, pinned_limit;
    bool cut; /* the file goes on behind the last event, with what is no whole chunk, or damaged */
    struct strata_text texts;
};

/* Takes a file's bytes apart. Errors: IO with a sentence that begins with `label` (no trace, of a newer version,
 * without an event), OUT_OF_MEMORY. On failure there is nothing to release. */
enum strata_status strata_trace_parse(const void *bytes, size_t length, const char *label,
                                      struct strata_trace_file *file);

/* The same for a file; "-" is standard input. CANCELLED on an interrupt. */
enum strata_status strata_trace_read(const char *path, struct strata_trace_file *file);

void strata_trace_file_release(struct strata_trace_file *file);

/* A name of the file; "" for 0. */
const char *strata_trace_text(const struct strata_trace_file *file, size_t name);

#endif
