/* Reading kernel source: only regular files, in binary, with its faults found here and not by some compiler. */
#define _POSIX_C_SOURCE 200809L
#include "program/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How messages call a text. */
struct label {
    const char *before;
    const char *name;
    const char *after;
};

static struct label make_label(const char *name) {
    if (name == NULL)
        return (struct label){"The kernel source string", "", ""};
    return (struct label){"The kernel source \"", name, "\""};
}

static enum strata_status fail_file(const char *path, const char *what) {
    return strata_fail(STRATA_IO, "The kernel source \"%s\" %s.", path, what);
}

static enum strata_status fail_errno(const char *path, int code) {
    return strata_fail(STRATA_IO, "The kernel source \"%s\" cannot be read: %s (errno %d).", path,
                       strata_errno_text(code), code);
}

static enum strata_status fail_empty(const char *name) {
    struct label label = make_label(name);
    return strata_fail(STRATA_INVALID_ARGUMENT, "%s%s%s is empty.", label.before, label.name, label.after);
}

static enum strata_status fail_too_large(const char *name) {
    struct label label = make_label(name);
    char limit[32];
    return strata_fail(STRATA_INVALID_ARGUMENT,
                       "%s%s%s is larger than the limit of %s; this cannot be kernel source, give the right file.",
                       label.before, label.name, label.after,
                       strata_format_bytes(STRATA_SOURCE_MAX_BYTES, limit, sizeof limit));
}

static enum strata_status fail_nul(const char *name, const char *bytes, size_t offset) {
    struct label label = make_label(name);
    size_t line = 1;
    for (size_t i = 0; i < offset; i++)
        line += bytes[i] == '\n' || (bytes[i] == '\r' && bytes[i + 1] != '\n');
    return strata_fail(STRATA_INVALID_ARGUMENT,
                       "%s%s%s has a NUL byte at offset %zu (line %zu); some compilers would drop the rest in silence, "
                       "so remove it.",
                       label.before, label.name, label.after, offset, line);
}

static bool starts_with(const struct strata_text *text, const char *bytes, size_t length) {
    return text->length >= length && memcmp(text->data, bytes, length) == 0;
}

/* In place: what is dropped only ever shortens the text. */
static void normalise(struct strata_text *text) {
    size_t from = starts_with(text, "\xEF\xBB\xBF", 3) ? 3 : 0;
    size_t to = 0;
    for (; from < text->length; from++) {
        char byte = text->data[from];
        if (byte == '\r') {
            byte = '\n';
            if (from + 1 < text->length && text->data[from + 1] == '\n')
                from++;
        }
        text->data[to++] = byte;
    }
    text->data[to] = '\0';
    text->length = to;
}

/* Checks and normalises what was read into `text`. */
static enum strata_status finish(const char *name, enum strata_source_kind kind, struct strata_text *text) {
    struct label label = make_label(name);
    if (text->failed)
        return strata_fail_host_memory(text->length, "kernel source");
    if (text->length > STRATA_SOURCE_MAX_BYTES)
        return fail_too_large(name);
    if (starts_with(text, "\xFF\xFE", 2) || starts_with(text, "\xFE\xFF", 2))
        return strata_fail(STRATA_INVALID_ARGUMENT, "%s%s%s is UTF-16 text; save it as UTF-8.", label.before,
                           label.name, label.after);
    const char *nul = text->length != 0 ? memchr(text->data, '\0', text->length) : NULL;
    if (nul != NULL)
        return fail_nul(name, text->data, (size_t)(nul - text->data));
    if (text->length != 0)
        normalise(text);
    if (text->length == 0 && kind == STRATA_SOURCE_MAIN)
        return fail_empty(name);
    return STRATA_OK;
}

static enum strata_status check_mode(const char *path, mode_t mode) {
    if (S_ISDIR(mode))
        return fail_file(path, "is a folder, not a file");
    if (S_ISFIFO(mode))
        return fail_file(path, "is a pipe; strata reads kernel source from regular files only, or from a string");
    if (!S_ISREG(mode))
        return fail_file(path, "is a device or a socket; strata reads kernel source from regular files only");
    return STRATA_OK;
}

/* The mode is asked before the file is opened, because opening alone can set a device going, and after it, because the
 * name may have changed hands between. O_NONBLOCK keeps a pipe that comes in between from blocking. */
static enum strata_status open_regular(const char *path, int *descriptor) {
    struct stat about;
    if (stat(path, &about) != 0)
        return fail_errno(path, errno);
    enum strata_status status = check_mode(path, about.st_mode);
    if (status != STRATA_OK)
        return status;

    do
        *descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    while (*descriptor < 0 && errno == EINTR);
    if (*descriptor < 0)
        return fail_errno(path, errno);
    if (fstat(*descriptor, &about) != 0)
        status = fail_errno(path, errno);
    else
        status = check_mode(path, about.st_mode);
    if (status != STRATA_OK)
        close(*descriptor);
    return status;
}

/* Up to the end of the file, not to the size that it reports: files of /proc report 0. */
static enum strata_status read_all(const char *path, int descriptor, struct strata_text *out) {
    char piece[16384];
    while (!out->failed && out->length <= STRATA_SOURCE_MAX_BYTES) {
        ssize_t count = read(descriptor, piece, sizeof piece);
        if (count == 0)
            break;
        if (count > 0)
            strata_text_append(out, piece, (size_t)count);
        else if (errno != EINTR)
            return fail_errno(path, errno);
    }
    return STRATA_OK;
}

static void empty(struct strata_text *text) {
    const struct strata_allocator *hooks = text->hooks;
    strata_text_release(text);
    *text = (struct strata_text){.hooks = hooks};
}

enum strata_status strata_source_load(const char *path, enum strata_source_kind kind, struct strata_text *out) {
    int descriptor = -1;
    enum strata_status status = open_regular(path, &descriptor);
    if (status != STRATA_OK)
        return status;
    status = read_all(path, descriptor, out);
    close(descriptor);
    if (status == STRATA_OK)
        status = finish(path, kind, out);
    if (status != STRATA_OK)
        empty(out);
    return status;
}

enum strata_status strata_source_copy(const char *name, const char *bytes, size_t length, enum strata_source_kind kind,
                                      struct strata_text *out) {
    if (length > STRATA_SOURCE_MAX_BYTES)
        return fail_too_large(name);
    if (length != 0)
        strata_text_append(out, bytes, length);
    enum strata_status status = finish(name, kind, out);
    if (status != STRATA_OK)
        empty(out);
    return status;
}
