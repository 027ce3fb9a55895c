/* The state of one inlining, and how it fails. */
#ifndef STRATA_PROGRAM_INLINER_H
#define STRATA_PROGRAM_INLINER_H

#include "program/files.h"

enum strata_reading { STRATA_READ_NEVER, STRATA_READ_PERHAPS, STRATA_READ_SURELY };

/* An open conditional. */
struct strata_level {
    enum strata_reading own;   /* of the present group, by its own condition and those of the groups before it */
    enum strata_reading whole; /* the same, with all conditionals around it */
    enum strata_reading taken; /* whether one of the groups so far is read */
    size_t mark;               /* known files when it began */
    bool holds_file;           /* a file was inlined in it */
};

/* An open file. */
struct strata_frame {
    size_t file;
    bool again;          /* an earlier inclusion of the same file is still open */
    size_t base;         /* levels that were open when the file began */
    uint32_t line;       /* of the include that is being followed */
    int64_t shift;       /* what the source's own #line adds to line numbers */
    const char *literal; /* the file name of the source's own #line; NULL: it has none */
    size_t literal_length;
    bool guard_defined;     /* what is left of the file is read with its guard defined, */
    uint64_t guard_removed; /* unless the guard was undefined more often than this */
};

struct strata_inliner {
    struct strata_files files;
    struct strata_text *out;
    struct strata_level *levels;
    size_t level_count, level_capacity;
    size_t *known; /* identities whose `known` is set, in the order in which that came about */
    size_t known_count, known_capacity;
    struct strata_frame stack[STRATA_INCLUDE_DEPTH + 1];
    size_t depth;
};

/* The file of a frame. */
struct strata_file *strata_inliner_file(struct strata_inliner *inliner, size_t frame);

enum strata_status strata_inliner_fail_memory(const struct strata_inliner *inliner);

/* BUILD_FAILED at a line of the innermost file, with a log line as a compiler would write it; releases `what`. */
enum strata_status strata_inliner_fail_at(struct strata_inliner *inliner, uint32_t line, struct strata_text *what);

enum strata_status strata_inliner_fail_missing(struct strata_inliner *inliner, const struct strata_directive *include);
enum strata_status strata_inliner_fail_depth(struct strata_inliner *inliner, const struct strata_directive *include);
enum strata_status strata_inliner_fail_size(struct strata_inliner *inliner);

/* Says at the end of the thread's last error who asked for the file, and gives its status. */
enum strata_status strata_inliner_fail_included(struct strata_inliner *inliner, uint32_t line);

#endif
