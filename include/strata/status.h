/* Statuses, the thread's last error, log and host-memory hooks, and the version of the library.
 *
 *     if (strata_device_open("gpu", NULL, &dev) != STRATA_OK)
 *         fprintf(stderr, "%s\n", strata_last_error()->message);
 *
 * Every call of strata that can fail returns an enum strata_status. What went wrong, with what was asked, the limit
 * it met and what to do about it, is in the calling thread's last error. */
#ifndef STRATA_STATUS_H
#define STRATA_STATUS_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define STRATA_API
#elif defined(__GNUC__)
#define STRATA_API __attribute__((visibility("default")))
#else
#define STRATA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What a call can answer. The list is short and stable: a value keeps its meaning for good. */
enum strata_status {
    STRATA_OK = 0,
    STRATA_INVALID_ARGUMENT = 1, /* the call itself is wrong: the sentence names the argument and the limit */
    STRATA_OUT_OF_MEMORY = 2,    /* host or device memory is exhausted; freeing something can help */
    STRATA_TOO_LARGE = 3,        /* over a limit of the device, whatever else is free */
    STRATA_UNSUPPORTED = 4,      /* this device or this build cannot do it */
    STRATA_NO_DEVICE = 5,        /* no device at all, or none that the selector names */
    STRATA_BUILD_FAILED = 6,     /* a kernel did not compile; the error's log has the compiler's words */
    STRATA_BUSY = 7,             /* the memory is mapped or in use in a way that this call would break */
    STRATA_CANCELLED = 8,        /* the caller asked for it to stop */
    STRATA_IO = 9,               /* a file could not be read or written */
    STRATA_DEVICE_LOST = 10,     /* the device stopped answering; nothing on it can be used any more */
    STRATA_FORKED = 11,          /* called in a child of a process that had already loaded a runtime */
    STRATA_INTERNAL = 12         /* a fault of strata or of the runtime */
};

/* A question that a runtime may leave open. */
enum strata_answer { STRATA_NOT_KNOWN = 0, STRATA_NO = 1, STRATA_YES = 2 };

/* A figure that the runtime does not tell. It is never replaced by a guess. */
#define STRATA_UNKNOWN UINT64_MAX

/* The last error of a thread. All strings are in UTF-8 and never NULL. */
struct strata_error {
    enum strata_status status;
    int32_t native_code;     /* the runtime's own code, 0 when no runtime was involved */
    const char *native_name; /* its name, such as "CL_OUT_OF_RESOURCES", or "" */
    const char *message;     /* one sentence or two, without a line end */
    const char *log;         /* BUILD_FAILED: the whole build log, never cut; else "" */
};

/* The last error of the calling thread; STRATA_OK and empty strings when no call of it failed so far. A success does
 * not clear it. Never NULL. It is valid until the thread's next failing call or its end. Does not block. Any thread. */
STRATA_API const struct strata_error *strata_last_error(void);

/* The constant's name without its prefix, such as "OUT_OF_MEMORY"; "UNKNOWN_STATUS" for another value. A static
 * string. Any thread. */
STRATA_API const char *strata_status_name(enum strata_status status);

enum strata_log_level { STRATA_LOG_NONE = 0, STRATA_LOG_ERROR = 1, STRATA_LOG_WARNING = 2, STRATA_LOG_INFO = 3 };

/* Receives what strata has to say beside the answers of its calls (a leak report on close, a cache that cannot be
 * written, a quirk at work). `message` has no line end and is valid during the call. It is called from whichever
 * thread has something to say, never under a lock of strata, and must not call strata. */
typedef void (*strata_log_function)(enum strata_log_level level, const char *message, void *user);

/* Host memory for strata's own objects. `allocate` gets a size that is not 0 and returns memory aligned for any type,
 * or NULL; `release` gets what `allocate` gave, never NULL. Both are called from any thread. */
struct strata_allocator {
    void *(*allocate)(size_t bytes, void *user);
    void (*release)(void *pointer, void *user);
    void *user;
};

/* The version of the library in use, such as "0.1.0", and its number: major * 10000 + minor * 100 + patch. Static.
 * Any thread. STRATA_VERSION_NUMBER in strata/version.h is that of the headers. */
STRATA_API const char *strata_version(void);
STRATA_API uint32_t strata_version_number(void);

/* The optional parts of this build, separated by spaces, such as "opencl +report -cuda". Static. Any thread. */
STRATA_API const char *strata_features(void);

#ifdef __cplusplus
}
#endif
#endif
