/* Getting and putting programs. Files appear under their name only when they are complete, and what is read back is
 * believed only when its checksum and its whole key are right. */
#define _POSIX_C_SOURCE 200809L
#include "program/cache.h"

#include "program/cache_entry.h"
#include "program/cache_folder.h"
#include "program/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_LIMIT ((uint64_t)256 << 20)

/* A folder is swept with the first program that is put into it, and again whenever this part of the limit was written:
 * reading a folder of thousands of files for each new one would cost more than it saves. Several processes together
 * can be over the limit by this much each. */
#define SWEEP_PART(limit) ((limit) / 64)

/* An entry is marked as used by its modification time, which is exact enough to a minute; that spares a hit a write. */
#define USE_SECONDS 60

/* Names are unique by process and time. Should they not be, the next one is. */
#define NAME_ATTEMPTS 100

struct strata_cache {
    const struct strata_allocator *hooks;
    struct strata_text path;
    int folder; /* -1: off */
    uint64_t limit;
    pthread_mutex_t lock; /* of all below */
    struct strata_text note;
    bool noted; /* there was a note, whether or not it was taken */
    bool swept;
    uint64_t written; /* since the last sweep */
    uint64_t names;   /* of temporary files so far */
};

/* --- notes --- */

/* Keeps the first note; the text is released here. */
static void keep_note(struct strata_cache *cache, struct strata_text *text) {
    pthread_mutex_lock(&cache->lock);
    if (!cache->noted && !text->failed && text->length != 0) {
        cache->noted = true;
        cache->note = *text;
        *text = (struct strata_text){.hooks = cache->hooks};
    }
    pthread_mutex_unlock(&cache->lock);
    strata_text_release(text);
}

static void note_file(struct strata_cache *cache, const char *name, const char *what, const char *why) {
    struct strata_text text = {.hooks = cache->hooks};
    strata_text_printf(&text, "The program cache %s the file %s in \"%s\": %s.", what, name, cache->path.data, why);
    keep_note(cache, &text);
}

bool strata_cache_take_note(struct strata_cache *cache, char *buffer, size_t size) {
    if (cache == NULL || size == 0)
        return false;
    pthread_mutex_lock(&cache->lock);
    bool found = cache->note.length != 0;
    if (found) {
        size_t length = cache->note.length < size ? cache->note.length : size - 1;
        memcpy(buffer, cache->note.data, length);
        buffer[length] = '\0';
        strata_text_release(&cache->note);
    }
    pthread_mutex_unlock(&cache->lock);
    return found;
}

/* --- opening --- */

static void read_limit(struct strata_cache *cache) {
    const char *value = getenv("STRATA_CACHE_MAX_BYTES");
    if (value == NULL || strata_parse_u64(value, &cache->limit))
        return;
    struct strata_text text = {.hooks = cache->hooks};
    strata_text_printf(&text,
                       "STRATA_CACHE_MAX_BYTES is \"%s\", which is not a number of bytes; it counts as %" PRIu64 ".",
                       value, cache->limit);
    keep_note(cache, &text);
}

struct strata_cache *strata_cache_open(const struct strata_allocator *hooks, const char *directory) {
    struct strata_cache *cache = strata_host_allocate(hooks, sizeof *cache);
    struct strata_text why = {.hooks = hooks};
    if (cache == NULL)
        return NULL;
    *cache = (struct strata_cache){
        .hooks = hooks, .folder = -1, .limit = DEFAULT_LIMIT, .path = {.hooks = hooks}, .note = {.hooks = hooks}};
    if (pthread_mutex_init(&cache->lock, NULL) != 0) {
        strata_host_release(hooks, cache);
        return NULL;
    }
    if (strata_cache_folder_choose(directory, &cache->path, &why)) {
        read_limit(cache);
        if (cache->limit != 0)
            cache->folder = strata_cache_folder_open(cache->path.data, &why);
    }
    keep_note(cache, &why);
    return cache;
}

void strata_cache_close(struct strata_cache **cache) {
    if (cache == NULL || *cache == NULL)
        return;
    struct strata_cache *closing = *cache;
    *cache = NULL;
    if (closing->folder >= 0)
        close(closing->folder);
    pthread_mutex_destroy(&closing->lock);
    strata_text_release(&closing->path);
    strata_text_release(&closing->note);
    strata_host_release(closing->hooks, closing);
}

bool strata_cache_is_on(const struct strata_cache *cache) {
    return cache != NULL && cache->folder >= 0;
}

const char *strata_cache_directory(const struct strata_cache *cache) {
    return cache != NULL && cache->path.data != NULL ? cache->path.data : "";
}

/* --- getting --- */

/* Why a file that is open is not to be read; NULL when it is. */
static const char *check_file(const struct strata_cache *cache, const struct stat *about) {
    if (!S_ISREG(about->st_mode))
        return "it is not a regular file";
    if (about->st_uid != geteuid())
        return "it belongs to another user";
    if (about->st_size < 0 || (uint64_t)about->st_size > cache->limit)
        return "it is larger than the whole cache may be";
    return NULL;
}

/* The whole file in memory; NULL, with the reason, when it cannot be had. */
static char *read_file(const struct strata_cache *cache, int file, size_t length, const char **why) {
    char *bytes = strata_host_allocate(cache->hooks, length);
    size_t have = 0;
    *why = bytes == NULL ? strata_errno_text(ENOMEM) : NULL;
    while (bytes != NULL && have < length) {
        ssize_t count = read(file, bytes + have, length - have);
        if (count > 0) {
            have += (size_t)count;
        } else if (count == 0 || errno != EINTR) {
            *why = count == 0 ? "it is cut short" : strata_errno_text(errno);
            strata_host_release(cache->hooks, bytes);
            bytes = NULL;
        }
    }
    return bytes;
}

static void mark_used(int file, const struct stat *about) {
    time_t now = time(NULL);
    if (about->st_mtime < now - USE_SECONDS || about->st_mtime > now)
        futimens(file, NULL);
}

/* Reads an open file. NULL, or what is wrong with it; *broken then tells whether the file itself is to blame. */
static const char *load(const struct strata_cache *cache, int file, const struct strata_text *key,
                        struct strata_cache_entry *entry, bool *broken) {
    struct stat about;
    *broken = false;
    if (fstat(file, &about) != 0)
        return strata_errno_text(errno);
    const char *why = check_file(cache, &about);
    *broken = why != NULL;
    if (why != NULL)
        return why;
    char *bytes = read_file(cache, file, (size_t)about.st_size, &why);
    if (bytes == NULL)
        return why;
    why = strata_cache_decode(bytes, (size_t)about.st_size, key, entry);
    if (why != NULL) {
        *broken = true;
        strata_host_release(cache->hooks, bytes);
        return why;
    }
    entry->storage = bytes;
    mark_used(file, &about);
    return NULL;
}

static bool get(struct strata_cache *cache, const struct strata_text *key, struct strata_cache_entry *entry) {
    char name[STRATA_CACHE_NAME_SIZE];
    strata_cache_name(key, name);
    int file;
    do
        file = openat(cache->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    while (file < 0 && errno == EINTR);
    if (file < 0 && errno == ENOENT)
        return false;

    bool broken = file < 0 && errno == ELOOP;
    const char *why = file < 0 ? strata_errno_text(errno) : NULL;
    if (file >= 0) {
        why = load(cache, file, key, entry, &broken);
        close(file);
    }
    if (why == NULL)
        return true;
    if (broken)
        unlinkat(cache->folder, name, 0);
    note_file(cache, name, broken ? "removed" : "cannot read", why);
    return false;
}

bool strata_cache_get(struct strata_cache *cache, const struct strata_cache_key *key,
                      struct strata_cache_entry *entry) {
    *entry = (struct strata_cache_entry){.binary = NULL};
    if (!strata_cache_is_on(cache))
        return false;
    struct strata_text encoded = {.hooks = cache->hooks};
    strata_cache_encode_key(key, &encoded);
    bool found = !encoded.failed && get(cache, &encoded, entry);
    strata_text_release(&encoded);
    return found;
}

void strata_cache_release(struct strata_cache *cache, struct strata_cache_entry *entry) {
    if (cache != NULL)
        strata_host_release(cache->hooks, entry->storage);
    *entry = (struct strata_cache_entry){.binary = NULL};
}

/* --- putting --- */

/* Makes a file that is not there yet. Its name is left in `name`. -1 on failure, with errno. */
static int make_temporary(struct strata_cache *cache, struct strata_text *name) {
    int file = -1;
    for (int attempt = 0; attempt < NAME_ATTEMPTS; attempt++) {
        struct timespec now = {.tv_sec = 0};
        clock_gettime(CLOCK_REALTIME, &now);
        pthread_mutex_lock(&cache->lock);
        uint64_t number = cache->names++;
        pthread_mutex_unlock(&cache->lock);
        name->length = 0;
        strata_text_printf(name, STRATA_CACHE_TEMPORARY "%ld-%lld-%ld-%" PRIu64, (long)getpid(), (long long)now.tv_sec,
                           now.tv_nsec, number);
        if (name->failed) {
            errno = ENOMEM;
            return -1;
        }
        do
            file = openat(cache->folder, name->data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                          S_IRUSR | S_IWUSR);
        while (file < 0 && errno == EINTR);
        if (file >= 0 || errno != EEXIST)
            break;
    }
    return file;
}

static bool write_all(int file, const char *bytes, size_t length) {
    while (length != 0) {
        ssize_t count = write(file, bytes, length);
        if (count >= 0) {
            bytes += count;
            length -= (size_t)count;
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

/* Fills the new file and closes it. 0, or an errno value. Nothing is forced to the disk: what a crash of the machine
 * leaves torn has a wrong checksum. The mode is set again for what the process's umask took away. */
static int fill(int file, const struct strata_text *bytes) {
    int code = 0;
    if (fchmod(file, S_IRUSR | S_IWUSR) != 0 || !write_all(file, bytes->data, bytes->length))
        code = errno;
    if (close(file) != 0 && errno != EINTR && code == 0)
        code = errno;
    return code;
}

/* 0, or an errno value. */
static int write_file(struct strata_cache *cache, const char *name, const struct strata_text *bytes) {
    struct strata_text temporary = {.hooks = cache->hooks};
    int file = make_temporary(cache, &temporary);
    int code = file >= 0 ? fill(file, bytes) : errno;
    if (code == 0 && renameat(cache->folder, temporary.data, cache->folder, name) != 0)
        code = errno;
    if (code != 0 && file >= 0)
        unlinkat(cache->folder, temporary.data, 0);
    strata_text_release(&temporary);
    return code;
}

static void sweep_if_due(struct strata_cache *cache, uint64_t written) {
    pthread_mutex_lock(&cache->lock);
    cache->written += written;
    bool due = !cache->swept || cache->written > SWEEP_PART(cache->limit);
    if (due) {
        cache->swept = true;
        cache->written = 0;
    }
    pthread_mutex_unlock(&cache->lock);
    if (due)
        strata_cache_folder_sweep(cache->hooks, cache->folder, cache->limit);
}

static bool put(struct strata_cache *cache, const struct strata_text *key, const struct strata_cache_entry *entry) {
    char name[STRATA_CACHE_NAME_SIZE];
    struct strata_text bytes = {.hooks = cache->hooks};
    strata_cache_name(key, name);
    strata_cache_encode(key, entry, &bytes);
    int code = ENOMEM;
    if (!bytes.failed && bytes.length > cache->limit / 2) {
        note_file(cache, name, "does not keep", "it is larger than half of STRATA_CACHE_MAX_BYTES");
        strata_text_release(&bytes);
        return false;
    }
    if (!bytes.failed)
        code = write_file(cache, name, &bytes);
    if (code == 0)
        sweep_if_due(cache, bytes.length);
    else
        note_file(cache, name, "cannot write", strata_errno_text(code));
    strata_text_release(&bytes);
    return code == 0;
}

bool strata_cache_put(struct strata_cache *cache, const struct strata_cache_key *key,
                      const struct strata_cache_entry *entry) {
    if (!strata_cache_is_on(cache))
        return false;
    struct strata_text encoded = {.hooks = cache->hooks};
    strata_cache_encode_key(key, &encoded);
    bool kept = !encoded.failed && put(cache, &encoded, entry);
    strata_text_release(&encoded);
    return kept;
}
