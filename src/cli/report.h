/* Runs of the bench as one HTML page. */
#ifndef STRATA_CLI_REPORT_H
#define STRATA_CLI_REPORT_H

#include <jansson.h>
#include <stdbool.h>

/* Whether this build has the charting library; prints what is missing if not. */
bool strata_report_can_draw(void);

/* Writes a page that shows the runs of a list over each other, the newest last. It needs nothing but itself. Prints
 * what went wrong, and answers the exit code. */
int strata_report_write(const json_t *runs, const char *path);

#endif
