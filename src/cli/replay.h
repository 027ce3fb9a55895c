/* The parts of the command replay: running a trace's creates and frees against something, and drawing its timeline. */
#ifndef STRATA_CLI_REPLAY_H
#define STRATA_CLI_REPLAY_H

#include "cli/trace_reader.h"
#include "strata/pool.h"

/* What serves the buffers of a trace. */
enum strata_replay_with {
    STRATA_REPLAY_POOL,      /* fresh pools of strata's, one for each kind of memory */
    STRATA_REPLAY_DEDICATED, /* strata, each buffer with memory of its own */
    STRATA_REPLAY_DRIVER,    /* clCreateBuffer and clReleaseMemObject */
    STRATA_REPLAY_ALL
};

struct strata_replay_request {
    uint64_t limit, block, max_block, dedicated_from; /* 0: strata chooses, and no limit */
    uint64_t rounds;
    bool lazy; /* memory is not touched as it is taken */
};

struct strata_replay_result {
    enum strata_replay_with with;
    double seconds;         /* median of the rounds */
    uint64_t creates;       /* that were tried */
    uint64_t peak_live;     /* bytes, as asked for */
    uint64_t peak_reserved; /* bytes taken from the runtime */
    uint64_t failures, reused, blocks, waits;
};

/* Runs all rounds. What a create fails with for want of memory is counted; other failures end it. CANCELLED on an
 * interrupt. */
enum strata_status strata_replay_run(strata_device *device, const struct strata_trace_file *file,
                                     const struct strata_replay_request *request, enum strata_replay_with with,
                                     struct strata_replay_result *result);

/* Whether a create of the trace is replayed: memory of the caller's own, and empty buffers, are not. */
bool strata_replay_wants(const struct strata_trace_event *event);

/* Adds the trace as JSON in the form of Chrome's trace events, which Perfetto and chrome://tracing draw. */
void strata_replay_chrome(const struct strata_trace_file *file, struct strata_text *text);

#endif
