/* The thread's last error: one sentence per thread, and the build log that goes with it. */
#include "core/error.h"
#include "core/host.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct thread_error {
    struct strata_error public;
    struct strata_error_copy body;
    char *log;
};

static _Thread_local struct thread_error last_error;

static pthread_once_t log_key_once = PTHREAD_ONCE_INIT;
static pthread_key_t log_key;
static bool log_key_made;

static void make_log_key(void) {
    /* The key exists for its destructor alone: a log can be large, and goes with its thread. */
    log_key_made = pthread_key_create(&log_key, free) == 0;
}

static void publish(void) {
    last_error.public.status = last_error.body.status;
    last_error.public.native_code = last_error.body.native_code;
    last_error.public.native_name = last_error.body.native_name ? last_error.body.native_name : "";
    last_error.public.message = last_error.body.message;
    last_error.public.log = last_error.log ? last_error.log : "";
}

static void drop_log(void) {
    if (!last_error.log)
        return;
    pthread_setspecific(log_key, NULL);
    free(last_error.log);
    last_error.log = NULL;
}

const struct strata_error *strata_last_error(void) {
    publish();
    return &last_error.public;
}

/* What did not fit was cut off, perhaps within a character of UTF-8: then the rest of that goes, too. */
static void end_on_a_character(char *text, size_t size) {
    size_t length = strlen(text), begin = length;
    if (length + 1 < size)
        return;
    while (begin > 0 && length - begin < 3 && ((unsigned char)text[begin - 1] & 0xC0) == 0x80)
        begin--;
    unsigned char lead = begin > 0 ? (unsigned char)text[begin - 1] : 0;
    size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    if (bytes > 1 && length - (begin - 1) < bytes)
        text[begin - 1] = '\0';
}

static void append_native(int32_t code, const char *name) {
    size_t used = strlen(last_error.body.message);
    size_t room = sizeof last_error.body.message - used;
    if (name && name[0])
        snprintf(last_error.body.message + used, room, " (%s, %d)", name, (int)code);
    else
        snprintf(last_error.body.message + used, room, " (runtime error %d)", (int)code);
    end_on_a_character(last_error.body.message, sizeof last_error.body.message);
}

static void set_message(enum strata_status status, const char *format, va_list arguments) {
    /* The arguments may point into the old message, so it is replaced only when the new one is made. */
    char message[sizeof last_error.body.message];
    vsnprintf(message, sizeof message, format, arguments);
    end_on_a_character(message, sizeof message);
    drop_log();
    last_error.body.status = status;
    last_error.body.native_code = 0;
    last_error.body.native_name = "";
    memcpy(last_error.body.message, message, sizeof message);
}

enum strata_status strata_fail(enum strata_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    set_message(status, format, arguments);
    va_end(arguments);
    return status;
}

enum strata_status strata_fail_native(enum strata_status status, int32_t code, const char *name, const char *format,
                                      ...) {
    va_list arguments;
    va_start(arguments, format);
    set_message(status, format, arguments);
    va_end(arguments);
    append_native(code, name);
    last_error.body.native_code = code;
    last_error.body.native_name = name;
    return status;
}

void strata_error_set_log(const char *log, size_t length) {
    drop_log();
    pthread_once(&log_key_once, make_log_key);
    if (!log_key_made)
        return;
    char *copy = malloc(length + 1);
    if (!copy)
        return;
    memcpy(copy, log, length);
    copy[length] = '\0';
    if (pthread_setspecific(log_key, copy) != 0) {
        free(copy);
        return;
    }
    last_error.log = copy;
}

void strata_error_save(struct strata_error_copy *copy) {
    *copy = last_error.body;
    if (!copy->native_name)
        copy->native_name = "";
}

enum strata_status strata_error_restore(const struct strata_error_copy *copy) {
    drop_log();
    last_error.body = *copy;
    return copy->status;
}

enum strata_status strata_fail_host_memory(uint64_t bytes, const char *what) {
    char size[32];
    return strata_fail(STRATA_OUT_OF_MEMORY, "The host has no memory left for %s (%s).", what,
                       strata_format_bytes(bytes, size, sizeof size));
}

const char *strata_status_name(enum strata_status status) {
    switch (status) {
    case STRATA_OK: return "OK";
    case STRATA_INVALID_ARGUMENT: return "INVALID_ARGUMENT";
    case STRATA_OUT_OF_MEMORY: return "OUT_OF_MEMORY";
    case STRATA_TOO_LARGE: return "TOO_LARGE";
    case STRATA_UNSUPPORTED: return "UNSUPPORTED";
    case STRATA_NO_DEVICE: return "NO_DEVICE";
    case STRATA_BUILD_FAILED: return "BUILD_FAILED";
    case STRATA_BUSY: return "BUSY";
    case STRATA_CANCELLED: return "CANCELLED";
    case STRATA_IO: return "IO";
    case STRATA_DEVICE_LOST: return "DEVICE_LOST";
    case STRATA_FORKED: return "FORKED";
    case STRATA_INTERNAL: return "INTERNAL";
    }
    return "UNKNOWN_STATUS";
}

const char *strata_errno_text(int code) {
    static const struct {
        int code;
        const char *text;
    } texts[] = {
        {ENOENT, "there is no such file or folder"},
        {ENOTDIR, "a part of the path is not a folder"},
        {EISDIR, "it is a folder"},
        {EACCES, "permission denied"},
        {EPERM, "not permitted"},
        {EROFS, "the file system is read-only"},
        {ELOOP, "it is a symbolic link, or there are too many of them"},
        {ENAMETOOLONG, "the name is too long"},
        {ENOSPC, "no space is left on the device"},
        {EDQUOT, "the disk quota is used up"},
        {EIO, "the device reports an input or output fault"},
        {EPIPE, "nobody reads it any more"},
        {EAGAIN, "it is not ready"},
        {EMFILE, "this process has too many files open"},
        {ENFILE, "the system has too many files open"},
        {ENOMEM, "the system is out of memory"},
        {EEXIST, "it exists already"},
        {ESTALE, "the file is gone from its server"},
        {ENXIO, "there is nothing behind this device"},
        {EFBIG, "the file is too large"},
        {EOVERFLOW, "the file is too large"},
        {EINVAL, "the system refuses the request"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].code == code)
            return texts[i].text;
    return "the system reports an unexpected fault";
}
