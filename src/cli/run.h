/* A stored run of the bench, as its JSON has it: read, checked, and compared with another. */
#ifndef STRATA_CLI_RUN_H
#define STRATA_CLI_RUN_H

#include "core/host.h"

#include <jansson.h>

/* Reads a run from a file and checks that it is one. Prints what is wrong, and answers the exit code. *run is the
 * caller's reference, or NULL. */
int strata_run_read(const char *path, json_t **run);

/* Whether JSON is a run; else a sentence says what is missing or wrong. */
bool strata_run_check(const json_t *run, char *sentence, size_t size);

/* A run that was just made, in the form in which it is stored. Takes over `made`; NULL without host memory. */
json_t *strata_run_of(json_t *made);

/* The same for `text` of `length` bytes. */
bool strata_run_parse(const char *text, size_t length, json_t **run, char *sentence, size_t size);

/* Adds a table of what became slower: beyond the spreads of both runs, and by more than `threshold` percent. Devices
 * are the same by name and platform, and figures by id and unit. Answers how many figures became slower, or -1 when
 * the runs have no figure in common. */
int strata_run_compare(const json_t *before, const json_t *after, double threshold, struct strata_text *text);

#endif
