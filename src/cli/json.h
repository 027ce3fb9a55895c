/* JSON by jansson, with what it lacks: unsigned 64-bit numbers, and floating point with just the digits it needs. */
#ifndef STRATA_CLI_JSON_H
#define STRATA_CLI_JSON_H

#include "core/host.h"

#include <jansson.h>

/* Values. All are exact: u64 beyond 2^63 and floating point with the fewest digits that read back the same are written
 * as plain numbers. NaN and the infinities, which JSON has no numbers for, become the strings "NaN", "Infinity" and
 * "-Infinity". STRATA_UNKNOWN in strata_json_known is null. Text that is not UTF-8 is repaired. NULL when host memory
 * ran out: json_pack with "o" and json_object_set_new take that and fail. Only the writers below can write these
 * values; jansson's own cannot. */
json_t *strata_json_u64(uint64_t value);
json_t *strata_json_known(uint64_t value);
json_t *strata_json_f32(float value);
json_t *strata_json_f64(double value);
json_t *strata_json_string(const char *string);

/* Adds the JSON text of `root`, indented and with a line end. `root` may be NULL: then the text fails. */
void strata_json_add(struct strata_text *text, const json_t *root);

/* Writes `root` to a file, or to standard output where path is NULL or "-", prints what went wrong, and answers the
 * exit code. Takes over `root`, which may be NULL: that is said to be out of host memory. */
int strata_json_write(json_t *root, const char *path);

/* Reads a file's JSON. Prints what is wrong, and answers the exit code. *root is the caller's reference, or NULL. */
int strata_json_read(const char *path, json_t **root);

/* The JSON of `text`, of `length` bytes; NULL with a sentence that says what is wrong. */
json_t *strata_json_parse(const char *text, size_t length, char *sentence, size_t size);

#endif
