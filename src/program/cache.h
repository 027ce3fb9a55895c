/* The cache of compiled programs: binaries in files, found again by everything that they depend on.
 *
 *     struct strata_cache *cache = strata_cache_open(hooks, NULL);
 *     if (!strata_cache_get(cache, &key, &entry)) {
 *         ... build ...
 *         strata_cache_put(cache, &key, &built);
 *     }
 *     strata_cache_release(cache, &entry);
 *     strata_cache_close(&cache);
 *
 * Nothing here fails and nothing here touches the thread's last error: whatever is wrong with the folder or with a file
 * in it, the program is built anew. Each file is complete or not there, whoever else uses the folder at the same time,
 * other processes and other versions of strata included. */
#ifndef STRATA_PROGRAM_CACHE_H
#define STRATA_PROGRAM_CACHE_H

#include "core/host.h"

/* All that a compiled program depends on. Text that is not known is NULL, which is as good as "". */
struct strata_cache_key {
    const char *source; /* with its includes inlined */
    size_t source_length;
    const char *options;
    const char *backend;
    const char *platform_name;
    const char *platform_version;
    const char *device_name;
    const char *device_version;
    const char *driver_version;
    const char *strata_version;
};

struct strata_cache_entry {
    const void *binary;
    size_t binary_bytes;
    const void *arguments; /* what is kept of the kernels' arguments, in a form that is the caller's */
    size_t arguments_bytes;
    void *storage; /* of what strata_cache_get gave; not looked at by strata_cache_put */
};

struct strata_cache;

/* Opens the cache in `directory`; NULL: in STRATA_CACHE_DIR, else XDG_CACHE_HOME/strata, else HOME/.cache/strata. ""
 * and "off" switch it off, given either way, and so does STRATA_CACHE_MAX_BYTES=0. The folder and those above it are
 * made where they are missing, for this user alone. It is not used, and the note says why, when it is a symbolic link,
 * is not this user's, or can be written by others. Returns NULL only when memory is out, which all functions here take
 * for a cache that is off. Blocks on the file system. Reads the environment. */
struct strata_cache *strata_cache_open(const struct strata_allocator *hooks, const char *directory);
void strata_cache_close(struct strata_cache **cache);

/* Whether there is a folder to read and write. */
bool strata_cache_is_on(const struct strata_cache *cache);

/* The folder's path as given or made up; "" when the cache is off by wish or for want of a folder. */
const char *strata_cache_directory(const struct strata_cache *cache);

/* True when the program is there; *entry then holds it until strata_cache_release. Else *entry is empty. A file that is
 * damaged or not what it should be is removed. Any thread. */
bool strata_cache_get(struct strata_cache *cache, const struct strata_cache_key *key, struct strata_cache_entry *entry);
void strata_cache_release(struct strata_cache *cache, struct strata_cache_entry *entry);

/* Keeps a program, and removes the least recently used ones when the folder has grown over its limit of 256 MiB or of
 * STRATA_CACHE_MAX_BYTES. False when it is not kept. Any thread. */
bool strata_cache_put(struct strata_cache *cache, const struct strata_cache_key *key,
                      const struct strata_cache_entry *entry);

/* For the log: copies the first thing that went wrong, in one sentence, and returns true; once. Any thread. */
bool strata_cache_take_note(struct strata_cache *cache, char *buffer, size_t size);

#endif
