/* What the parts of the bench share: the figures, the device on the stand with its buffers and kernels, and how a
 * figure is measured. */
#ifndef STRATA_CLI_BENCH_H
#define STRATA_CLI_BENCH_H

#include "cli/progress.h"

#include "strata/strata.h"

struct strata_bench;
struct strata_bench_case;

/* What a figure counts. Of times less is better, and of rates more. */
enum strata_bench_unit {
    STRATA_BENCH_GBPS, /* 10^9 bytes a second */
    STRATA_BENCH_GOPS, /* 10^9 operations a second */
    STRATA_BENCH_NS,   /* nanoseconds for one */
    STRATA_BENCH_US    /* microseconds for one */
};
const char *strata_bench_unit_name(enum strata_bench_unit unit);
bool strata_bench_unit_is_time(enum strata_bench_unit unit);

/* A figure, measured or not. */
struct strata_bench_figure {
    bool selected; /* it is to be measured */
    bool measured;
    enum strata_bench_unit unit;
    bool wrong;             /* the device's result was wrong, so there is no figure */
    char reason[320];       /* why there is none */
    char detail[32];        /* what the device made of it, such as the mode of shared memory, or "" */
    bool in_place;          /* a kernel used the host's memory, and nothing was moved */
    const char *convention; /* which bytes are counted and what is timed, where it is not as the case says; or NULL */

    uint32_t count; /* rounds */
    double median, low, high;
    bool is_range;   /* low and high are the least and the most, for there were too few rounds for percentiles */
    uint64_t work;   /* that one pass counts: bytes, operations, or how often what is timed is done */
    uint32_t passes; /* in one round */

    bool is_judged;     /* whether other processes used the CPU was looked at */
    bool is_quiet;      /* they did not */
    double other_cores; /* how many cores they had on average, at the least disturbed time */

    double event_median; /* the same rate by the device's own clock; 0 without one */
    bool events_agree;
};

/* One line of the bench. `run` measures it; a status other than OK is the reason why there is no figure. */
struct strata_bench_case {
    const char *id;   /* stable: for JSON */
    const char *kind; /* of memory */
    const char *what;
    const char *convention;
    uint32_t parameter; /* for `run`, and the place of a point in a sweep */
    enum strata_bench_unit unit;
    bool full_only; /* not for --quick */
    enum strata_status (*run)(struct strata_bench *bench, const struct strata_bench_case *what,
                              struct strata_bench_figure *figure);
};

struct strata_bench_topic {
    const char *name;
    const char *title; /* heads the table, and the progress bar */
    const char *axis;  /* of a sweep: what its points are; NULL for a list of kinds */
    const char *row;   /* of a sweep: what is measured at each point */
    const char *ratio; /* of a sweep: the row of ratios to the first point; NULL for none */
    bool has_half;     /* of a sweep: the point where half of the best rate is reached says something */
    const struct strata_bench_case *cases;
    size_t count;
};

extern const struct strata_bench_topic strata_bench_global, strata_bench_onchip, strata_bench_exchange,
    strata_bench_reduction, strata_bench_overhead;
extern const struct strata_bench_topic strata_bench_stride, strata_bench_offset, strata_bench_latency,
    strata_bench_conflicts, strata_bench_read_width, strata_bench_write_width, strata_bench_copy_width,
    strata_bench_triad_width, strata_bench_pinned_to_device, strata_bench_pinned_from_device,
    strata_bench_pageable_to_device, strata_bench_pageable_from_device;

/* All of them, lists of kinds first. A NULL ends them. */
extern const struct strata_bench_topic *const strata_bench_topics[];

/* How the kernels go through memory. */
enum strata_bench_form {
    STRATA_BENCH_COALESCED, /* cl/bench.cl: neighbouring work-items read neighbouring memory */
    STRATA_BENCH_BLOCKED    /* cl/bench_blocked.cl: a work-group of one work-item goes through a block of its own */
};

/* How long to measure, in nanoseconds. */
struct strata_bench_pace {
    uint64_t warm;   /* of the warm-up, at least */
    uint64_t round;  /* a round has as many passes as fill this */
    uint64_t block;  /* so many rounds together are long enough to tell whether other processes had the CPU */
    uint64_t target; /* of all rounds of a figure */
    uint64_t limit;  /* no further round is begun after it once there are three */
    uint64_t retry;  /* what all figures together may spend on blocks that others disturbed, and on waiting for them */
    uint32_t least;  /* rounds of a figure */
};

/* Random words; cl/bench_words.h has the same. */
#define STRATA_BENCH_WEYL 0x9e3779b9u
struct strata_bench_data {
    uint32_t seed, keep, set;
};
#define STRATA_BENCH_WORDS(number) ((struct strata_bench_data){.seed = (number)*0x85ebca6bu, .keep = UINT32_MAX})
#define STRATA_BENCH_FLOATS(number) /* from 1 up to 2 */                                                               \
    ((struct strata_bench_data){.seed = (number)*0x85ebca6bu, .keep = 0x007fffff, .set = 0x3f800000})

struct strata_bench_kernels {
    strata_program *program;
    strata_kernel *read, *write, *copy, *stride, *local;
    enum strata_bench_form form;
    uint32_t items; /* of a work-group */
    uint32_t slots; /* of local memory for each work-item */
    uint32_t parts; /* in which `read` and `local` leave a sum */
};

struct strata_bench {
    bool quick;
    const char *filter;            /* or NULL: all */
    struct strata_bench_pace pace; /* of the topic that is measured */
    uint64_t retry_spent;

    bool is_open;
    strata_device *device;
    const struct strata_device_info *info;
    strata_queue *queue; /* with event times where they can be believed */
    struct strata_bench_kernels kernels;
    uint64_t bytes;          /* of global memory that a pass goes through; a power of two */
    uint64_t exchange_bytes; /* between host and device */
    strata_buffer *input, *output;
    strata_buffer *sums;           /* what kernels answer: a word for each work-group or work-item */
    struct strata_bench_data held; /* in `input`; all zero: not known */

    struct strata_progress progress;
    uint64_t progress_done;
    struct strata_bench_figure *figures; /* by topic and case */
};

/* The work that one pass puts into the queue. */
struct strata_bench_pass {
    /* Not timed, before each pass, which then is a round of its own. May be NULL. */
    enum strata_status (*before)(void *user);
    /* Timed. Where `first` is not NULL it takes the event of the first command, `last` that of the last. A pass of one
     * command leaves *first as it is when it is asked for both. NULL pointers ask for nothing. */
    enum strata_status (*put)(void *user, strata_event **first, strata_event **last);
    void *user;
    uint64_t work;   /* see the figure */
    bool has_events; /* whether `put` can answer events at all */
};

/* Measures passes into `figure`: one to warm up, then as many rounds as the pace asks for. Fails as the passes do, with
 * CANCELLED on an interrupt, and with UNSUPPORTED for a time that cannot be true. */
enum strata_status strata_bench_measure(struct strata_bench *bench, const struct strata_bench_pass *pass,
                                        struct strata_bench_figure *figure);

/* A round as it was timed: rates or times, in the figure's unit. */
struct strata_bench_round {
    double value;
    double event_value; /* by the device's clock; 0 without it */
    double others;      /* cores that other processes had in its block of rounds; negative where that is not known */
};

/* Makes the figure of `total` rounds, at least one; `least` is how many are asked for, `cores` what the machine has.
 * Sorts the rounds. Fails with UNSUPPORTED for a rate that cannot be true. */
enum strata_status strata_bench_summarise(struct strata_bench_round *rounds, size_t total, size_t least, double cores,
                                          struct strata_bench_figure *figure);
bool strata_bench_is_quiet(double others, double cores);

/* Waits until other processes leave the CPU alone. False when the time for repetitions is spent, or on an interrupt. */
bool strata_bench_wait_for_quiet(struct strata_bench *bench);

/* Nanoseconds of a clock that only goes forward. */
uint64_t strata_bench_now(void);

/* Seconds of one pass after one to warm up, the best of some: for choosing sizes. */
enum strata_status strata_bench_probe(struct strata_bench *bench, const struct strata_bench_pass *pass,
                                      double *seconds);

/* How busy the machine was, in seconds of processor time. */
struct strata_bench_load {
    bool known;
    double machine, own, wall;
};
struct strata_bench_load strata_bench_load_now(void);

/* Cores that other processes had since `before`; negative where that is not known. */
double strata_bench_other_cores(const struct strata_bench_load *before);
double strata_bench_core_count(void);

/* Opens the device and makes everything ready: kernels, sizes, buffers. `bench` is all zero but for `quick` and `pace`.
 * What was taken before a failure is taken back by close, too. */
enum strata_status strata_bench_open(struct strata_bench *bench, const char *selector);
void strata_bench_close(struct strata_bench *bench);

/* The grid in which the kernels go through `bytes` of memory, and their argument `steps`. */
strata_grid strata_bench_grid(const struct strata_bench *bench, uint64_t bytes, uint32_t *steps);

/* Launches of the kernels over a whole slice. */
enum strata_status strata_bench_put_read(struct strata_bench *bench, strata_slice slice, strata_event **event);
enum strata_status strata_bench_put_write(struct strata_bench *bench, strata_slice slice, struct strata_bench_data data,
                                          strata_event **event);

/* Sees to it that `input` holds this data. */
enum strata_status strata_bench_hold(struct strata_bench *bench, struct strata_bench_data data);

/* Overwrites `sums` with something that no kernel answers. */
enum strata_status strata_bench_clear_sums(struct strata_bench *bench);

/* Fails with INTERNAL and marks the figure as wrong, with a sentence. */
enum strata_status strata_bench_wrong(struct strata_bench_figure *figure, const char *format, ...) STRATA_PRINTF(2, 3);

/* On the host. The sum of `count` words, `stride` apart, from `first` on; filling; and the first word that differs, or
 * `count`. */
uint32_t strata_bench_sum(struct strata_bench_data data, uint64_t first, uint64_t count, uint64_t stride);
void strata_bench_fill(uint32_t *memory, uint64_t count, struct strata_bench_data data);
uint64_t strata_bench_differs(const uint32_t *memory, uint64_t first, uint64_t count, struct strata_bench_data data);

/* The sums of `count` words each, `stride` apart, that work-groups have left one behind the other in some parts. */
struct strata_bench_sums {
    struct strata_bench_data data;
    uint64_t first; /* word */
    uint64_t groups, parts, count, stride;
};

/* What the kernel `read` leaves after `bytes` of this data. */
struct strata_bench_sums strata_bench_read_sums(const struct strata_bench *bench, uint64_t bytes,
                                                struct strata_bench_data data);

/* Compares what kernels left with what the host computes: sums, the whole of a slice, host memory. */
enum strata_status strata_bench_check_sums(struct strata_bench *bench, struct strata_bench_figure *figure,
                                           const struct strata_bench_sums *expected);
enum strata_status strata_bench_check_slice(struct strata_bench *bench, struct strata_bench_figure *figure,
                                            strata_slice slice, struct strata_bench_data data);
enum strata_status strata_bench_check_host(struct strata_bench_figure *figure, const void *memory, uint64_t bytes,
                                           struct strata_bench_data data);

/* Whether a case is asked for. The filter is a list of parts of ids, or patterns with * and ?, with commas between. */
bool strata_bench_is_selected(const struct strata_bench *bench, const struct strata_bench_case *what);

/* The figures of a topic, one for each of its cases. */
struct strata_bench_figure *strata_bench_topic_figures(const struct strata_bench *bench, size_t topic);

/* The figure of a case by its id; NULL when there is none or it was not measured. */
const struct strata_bench_figure *strata_bench_find(const struct strata_bench *bench, const char *id);

/* Kernels that other topics measure, too; the parameter says which. */
enum strata_bench_access {
    STRATA_BENCH_ACCESS_READ,
    STRATA_BENCH_ACCESS_WRITE,
    STRATA_BENCH_ACCESS_COPY,
    STRATA_BENCH_ACCESS_TRIAD, /* these with a width in words; 0 is what suits the device */
    STRATA_BENCH_ACCESS_OFFSET,
    STRATA_BENCH_ACCESS_GATHER
};
#define STRATA_BENCH_ACCESS(access, parameter) ((uint32_t)(access) << 16 | (uint32_t)(parameter))
enum strata_status strata_bench_measure_access(struct strata_bench *bench, const struct strata_bench_case *what,
                                               struct strata_bench_figure *figure);
enum strata_bench_latency_kind {
    STRATA_BENCH_CHASE,
    STRATA_BENCH_LOCAL_CHASE,
    STRATA_BENCH_CONFLICTS, /* with a stride from bit 8 on */
    STRATA_BENCH_REGISTERS,
    STRATA_BENCH_INDEXED
};
enum strata_status strata_bench_measure_latency(struct strata_bench *bench, const struct strata_bench_case *what,
                                                struct strata_bench_figure *figure);

/* What is printed. `bench` may have been stopped half way. */
void strata_bench_table_add(const struct strata_bench *bench, struct strata_text *text);
struct json_t;
struct json_t *strata_bench_json(const struct strata_bench *benches, size_t count, int argc, char **argv,
                                 bool interrupted);

#endif
