/* Fault plans as they are written, read into numbers. */
#ifndef STRATA_BACKEND_FAULT_PLAN_H
#define STRATA_BACKEND_FAULT_PLAN_H

#include "core/host.h"

/* The kinds of calls that are counted, in the order of their names in plan.c. */
enum strata_fault_kind {
    STRATA_FAULT_OPEN,
    STRATA_FAULT_CREATE,
    STRATA_FAULT_PART,
    STRATA_FAULT_COMMIT,
    STRATA_FAULT_WRITE,
    STRATA_FAULT_READ,
    STRATA_FAULT_COPY,
    STRATA_FAULT_FILL,
    STRATA_FAULT_BOX,
    STRATA_FAULT_MAP,
    STRATA_FAULT_UNMAP,
    STRATA_FAULT_QUEUE,
    STRATA_FAULT_FLUSH,
    STRATA_FAULT_FINISH,
    STRATA_FAULT_MARK,
    STRATA_FAULT_WAIT,
    STRATA_FAULT_EVENT,
    STRATA_FAULT_BUILD,
    STRATA_FAULT_LOAD,
    STRATA_FAULT_BINARY,
    STRATA_FAULT_KERNEL,
    STRATA_FAULT_LAUNCH,
    STRATA_FAULT_HOST,
    STRATA_FAULT_ANY, /* all before but HOST */
    STRATA_FAULT_KINDS
};

/* Calls `first` to `last` of a kind fail. */
struct strata_fault_rule {
    enum strata_fault_kind kind;
    uint64_t first, last;
};

/* Words `fail=` of one plan. */
#define STRATA_FAULT_RULES 16

/* The rate is a share of so many calls. */
#define STRATA_FAULT_RATE_WHOLE UINT64_C(1000000000)

enum strata_fault_lazy { STRATA_FAULT_PROMPT, STRATA_FAULT_LAZY_CREATE, STRATA_FAULT_LAZY };

struct strata_fault_rules {
    struct strata_fault_rule fail[STRATA_FAULT_RULES];
    unsigned fail_count;
    enum strata_status status;
    uint64_t thread; /* 0: every one */
    uint64_t above;  /* bytes */
    uint64_t rate;   /* of STRATA_FAULT_RATE_WHOLE */
    enum strata_fault_kind rate_kind;
    uint64_t seed;
    enum strata_fault_lazy lazy;
    uint64_t memory, largest; /* bytes; UINT64_MAX: no limit but the device's */
    uint64_t slow_ns;
    bool hold;
};

/* INVALID_ARGUMENT, with a sentence that names the wrong word and what would be right. `rules` is then undefined. */
enum strata_status strata_fault_parse(const char *plan, struct strata_fault_rules *rules);

/* A kind by its name; false: there is none, and the sentence says which there are. */
bool strata_fault_kind_of(const char *name, size_t length, enum strata_fault_kind *kind);
const char *strata_fault_kind_name(enum strata_fault_kind kind);

#endif
