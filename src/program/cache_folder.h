/* The folder of the cache: where it is, whether it can be trusted, and keeping it within its limit. */
#ifndef STRATA_PROGRAM_CACHE_FOLDER_H
#define STRATA_PROGRAM_CACHE_FOLDER_H

#include "core/host.h"

/* Names of files that are still being written begin so. */
#define STRATA_CACHE_TEMPORARY ".tmp-"

/* Puts the path of the folder into the empty `path`, from the caller's wish or the environment. False when there is
 * none; `why` then tells, or stays empty when the cache was switched off. */
bool strata_cache_folder_choose(const char *wish, struct strata_text *path, struct strata_text *why);

/* Opens the folder, made if it is missing. Returns -1 when it cannot be used; `why` then tells. */
int strata_cache_folder_open(const char *path, struct strata_text *why);

/* Removes temporary files that nobody can still be writing, and, when the files of the cache are over `limit` bytes in
 * all, the ones that were not used for longest. */
void strata_cache_folder_sweep(const struct strata_allocator *hooks, int folder, uint64_t limit);

#endif
