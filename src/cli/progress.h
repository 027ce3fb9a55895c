/* A progress bar on standard error, only where that is a terminal. */
#ifndef STRATA_CLI_PROGRESS_H
#define STRATA_CLI_PROGRESS_H

#include "core/host.h"

enum strata_progress_unit {
    STRATA_PROGRESS_STEPS, /* no rate is shown */
    STRATA_PROGRESS_BYTES
};

/* A plain struct of the command. Its fields are for this module. */
struct strata_progress {
    bool shown; /* there is a terminal to draw on */
    bool drawn; /* something stands there now */
    bool utf8;
    enum strata_progress_unit unit;
    const char *label;
    uint64_t total;
    uint64_t begun_ns;
    uint64_t drawn_ns;
};

/* Begins; `total` is STRATA_UNKNOWN where it is not known. Nothing is drawn for work that is done at once. `label` must
 * live until the end, or until another one replaces it (assign it). */
void strata_progress_begin(struct strata_progress *progress, const char *label, uint64_t total,
                           enum strata_progress_unit unit);

/* `done` of the total is done. Draws ten times a second at most, so it may be called as often as is handy. */
void strata_progress_update(struct strata_progress *progress, uint64_t done);

/* Takes the bar away. Before any result; messages take it away themselves. */
void strata_progress_end(struct strata_progress *progress);

/* The line as it is drawn, `columns` wide at most: share, rate and time left, as far as they are known. */
void strata_progress_line(const struct strata_progress *progress, uint64_t done, double seconds, size_t columns,
                          struct strata_text *text);

#endif
