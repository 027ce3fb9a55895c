/* A folder of its own for a test, and files in it. The test defines _XOPEN_SOURCE 700 before its first include. */
#ifndef STRATA_TESTS_UNIT_SCRATCH_H
#define STRATA_TESTS_UNIT_SCRATCH_H

#include "core/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRATCH_PATH 1024

struct scratch {
    char folder[SCRATCH_PATH / 2];
};

/* In TMPDIR, or where the test runs. */
static inline struct scratch scratch_make(void) {
    struct scratch scratch;
    const char *parent = getenv("TMPDIR");
    snprintf(scratch.folder, sizeof scratch.folder, "%s/strata-test-XXXXXX", parent != NULL ? parent : ".");
    assert_non_null(mkdtemp(scratch.folder));
    return scratch;
}

static inline int scratch_remove_one(const char *path, const struct stat *about, int type, struct FTW *walk) {
    (void)about;
    (void)type;
    (void)walk;
    return remove(path);
}

static inline void scratch_remove(struct scratch *scratch) {
    assert_int_equal(nftw(scratch->folder, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* The path of `name` in the folder. Several results may be in use at once; each is a plain value. */
struct scratch_path {
    char text[SCRATCH_PATH];
};

static inline struct scratch_path scratch_path(const struct scratch *scratch, const char *name) {
    struct scratch_path path;
    int length = snprintf(path.text, sizeof path.text, "%s/%s", scratch->folder, name);
    assert_true(length > 0 && (size_t)length < sizeof path.text);
    return path;
}

static inline void scratch_write(const struct scratch *scratch, const char *name, const void *bytes, size_t length) {
    FILE *file = fopen(scratch_path(scratch, name).text, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static inline void scratch_text(const struct scratch *scratch, const char *name, const char *text) {
    scratch_write(scratch, name, text, strlen(text));
}

static inline void scratch_folder(const struct scratch *scratch, const char *name) {
    assert_int_equal(mkdir(scratch_path(scratch, name).text, 0700), 0);
}

/* The thread's last error holds these words. */
static inline void assert_message(const char *words) {
    if (strstr(strata_last_error()->message, words) == NULL)
        fail_msg("the message is '%s', without '%s'", strata_last_error()->message, words);
}

#endif
