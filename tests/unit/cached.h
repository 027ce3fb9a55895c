/* For the tests of the program cache: a scratch folder, keys, and entries that can be told apart. The test defines
 * _XOPEN_SOURCE 700 before its first include. */
#ifndef STRATA_TESTS_UNIT_CACHED_H
#define STRATA_TESTS_UNIT_CACHED_H

#include "unit/scratch.h"

#include "program/cache.h"
#include "program/cache_entry.h"

#include <dirent.h>
#include <time.h>

static struct scratch scratch;

/* No test sees the user's own settings. */
static inline int set_up(void **state) {
    (void)state;
    scratch = scratch_make();
    unsetenv("STRATA_CACHE_DIR");
    unsetenv("STRATA_CACHE_MAX_BYTES");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    return 0;
}

static inline int tear_down(void **state) {
    (void)state;
    scratch_remove(&scratch);
    return 0;
}

static inline struct strata_cache_key make_key(const char *source) {
    return (struct strata_cache_key){
        .source = source,
        .source_length = strlen(source),
        .options = "-DN=1",
        .backend = "opencl",
        .platform_name = "platform",
        .platform_version = "OpenCL 1.2",
        .device_name = "device",
        .device_version = "OpenCL 1.2 device",
        .driver_version = "3.1",
        .strata_version = "0.1.0",
    };
}

static inline struct strata_cache_entry make_entry(const char *binary, const char *arguments) {
    return (struct strata_cache_entry){
        .binary = binary, .binary_bytes = strlen(binary), .arguments = arguments, .arguments_bytes = strlen(arguments)};
}

/* Opens the folder "cache" of the scratch folder. */
static inline struct strata_cache *open_cache(void) {
    struct strata_cache *cache = strata_cache_open(NULL, scratch_path(&scratch, "cache").text);
    assert_non_null(cache);
    assert_true(strata_cache_is_on(cache));
    return cache;
}

static inline void put(struct strata_cache *cache, struct strata_cache_key key, const char *binary,
                       const char *arguments) {
    struct strata_cache_entry entry = make_entry(binary, arguments);
    assert_true(strata_cache_put(cache, &key, &entry));
}

static inline bool has(struct strata_cache *cache, struct strata_cache_key key) {
    struct strata_cache_entry entry;
    bool found = strata_cache_get(cache, &key, &entry);
    assert_true(found || (entry.binary == NULL && entry.storage == NULL && entry.binary_bytes == 0));
    strata_cache_release(cache, &entry);
    return found;
}

static inline void assert_got(struct strata_cache *cache, struct strata_cache_key key, const char *binary,
                              const char *arguments) {
    struct strata_cache_entry entry;
    assert_true(strata_cache_get(cache, &key, &entry));
    assert_int_equal(entry.binary_bytes, strlen(binary));
    assert_memory_equal(entry.binary, binary, strlen(binary));
    assert_int_equal(entry.arguments_bytes, strlen(arguments));
    assert_memory_equal(entry.arguments, arguments, strlen(arguments));
    strata_cache_release(cache, &entry);
    assert_null(entry.binary);
}

/* The path of the file of a key in the folder "cache". */
static inline struct scratch_path file_of(struct strata_cache_key key) {
    struct strata_text encoded = {.data = NULL};
    char name[STRATA_CACHE_NAME_SIZE], path[64];
    strata_cache_encode_key(&key, &encoded);
    strata_cache_name(&encoded, name);
    strata_text_release(&encoded);
    snprintf(path, sizeof path, "cache/%s", name);
    return scratch_path(&scratch, path);
}

static inline bool exists(const char *path) {
    struct stat about;
    return lstat(path, &about) == 0;
}

static inline void set_age(const char *path, long seconds) {
    struct timespec times[2];
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &times[0]), 0);
    times[0].tv_sec -= seconds;
    times[1] = times[0];
    assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

/* The names in the folder "cache" that begin so. */
static inline size_t count_names(const char *beginning, uint64_t *bytes) {
    DIR *folder = opendir(scratch_path(&scratch, "cache").text);
    size_t count = 0;
    assert_non_null(folder);
    *bytes = 0;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        struct stat about;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            strncmp(entry->d_name, beginning, strlen(beginning)) != 0)
            continue;
        count++;
        if (fstatat(dirfd(folder), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0)
            *bytes += (uint64_t)about.st_size;
    }
    closedir(folder);
    return count;
}

static inline void assert_note(struct strata_cache *cache, const char *words) {
    char note[1024];
    if (!strata_cache_take_note(cache, note, sizeof note))
        fail_msg("there is no note with '%s'", words);
    if (strstr(note, words) == NULL)
        fail_msg("the note is '%s', without '%s'", note, words);
    assert_false(strata_cache_take_note(cache, note, sizeof note));
}

static inline void assert_no_note(struct strata_cache *cache) {
    char note[1024] = "";
    if (strata_cache_take_note(cache, note, sizeof note))
        fail_msg("there is the note '%s'", note);
}

#endif
