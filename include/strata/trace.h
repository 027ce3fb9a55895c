/* Traces: every create, free, reuse, growth, trim and wait of a device's memory, written to a compact file.
 *
 *     strata_trace_start(dev, STRATA_TRACE(.path = "app.trace"));
 *     ...                                                    // what the application allocates
 *     strata_trace_stop(dev);
 *
 * `strata replay app.trace` then runs the same creates and frees against pools of any size, buffers with memory of
 * their own and the raw driver, and `strata replay app.trace --chrome app.json` makes a timeline of it. Without a
 * change to the program, the environment's STRATA_TRACE=app.trace traces each device from its opening to its end, and
 * so does the `trace` of struct strata_device_desc.
 *
 * A trace begins with what is alive at its start. Events stand in it in an order that can be replayed, from whichever
 * thread they come: a buffer's end behind its creation, and the creation that got memory again behind the end that gave
 * it back. While no trace runs, creating and destroying buffers costs one load more; while one runs, each costs some 70
 * ns more. */
#ifndef STRATA_TRACE_H
#define STRATA_TRACE_H

#include "strata/pool.h"

#ifdef __cplusplus
extern "C" {
#endif

struct strata_trace_desc {
    size_t size;
    const char *path; /* the file, which replaces an old one of this name; copied. While another trace is being written
                         to it, that of another device say, it is FILE.2, and so on */
    strata_write_function
        write;  /* instead of `path`: gets the file's bytes piece by piece, and answers false to stop */
    void *user; /* of `write` */
};
#define STRATA_TRACE(...) (&(const struct strata_trace_desc){.size = sizeof(struct strata_trace_desc), __VA_ARGS__})
STRATA_API void strata_trace_desc_init(struct strata_trace_desc *desc);

/* Starts the device's trace. `write` is called here, later from any thread that creates or destroys a buffer of the
 * device, and from strata_trace_stop and strata_device_close; one call at a time, under no lock; it must not call
 * strata. Blocks while the first bytes are written. Errors: BUSY when a trace of the device runs already,
 * INVALID_ARGUMENT (neither or both of `path` and `write`), IO, OUT_OF_MEMORY (a megabyte of host memory, and more
 * where much is alive), FORKED. Any thread. */
STRATA_API enum strata_status strata_trace_start(strata_device *device, const struct strata_trace_desc *desc);

/* Ends it, and writes what is not written yet; closing the device does the same. Blocks for that. Errors: IO when
 * something could not be written: the trace then ends before it, and nothing else was disturbed; OUT_OF_MEMORY when
 * writing could not keep up at some time, and the trace ends there; INVALID_ARGUMENT when no trace runs; FORKED. */
STRATA_API enum strata_status strata_trace_stop(strata_device *device);

#ifdef __cplusplus
}
#endif
#endif
