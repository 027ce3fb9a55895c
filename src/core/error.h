/* How every room of strata reports a failure: a status, and a sentence in the thread's last error. */
#ifndef STRATA_CORE_ERROR_H
#define STRATA_CORE_ERROR_H

#include "strata/status.h"

#include <stdarg.h>
#include <stdbool.h>

#if defined(__GNUC__)
#define STRATA_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define STRATA_PRINTF(text, first)
#endif

/* Sets the thread's last error and returns `status`, so that a caller writes `return strata_fail(...)`. */
enum strata_status strata_fail(enum strata_status status, const char *format, ...) STRATA_PRINTF(2, 3);

/* The same, with the runtime's own code and its name (a static string); both are appended to the sentence. */
enum strata_status strata_fail_native(enum strata_status status, int32_t code, const char *name, const char *format,
                                      ...) STRATA_PRINTF(4, 5);

/* Copies `length` bytes of a build log into the thread's last error, after strata_fail. */
void strata_error_set_log(const char *log, size_t length);

/* An error on its way from one thread to another: from strata's worker to whoever waits for the event. */
struct strata_error_copy {
    enum strata_status status;
    int32_t native_code;
    const char *native_name; /* static */
    char message[2048];
};

/* Copies the calling thread's last error; the log stays behind. */
void strata_error_save(struct strata_error_copy *copy);

/* Makes the copy the calling thread's last error and returns its status. */
enum strata_status strata_error_restore(const struct strata_error_copy *copy);

/* Out of host memory, said in one way everywhere. */
enum strata_status strata_fail_host_memory(uint64_t bytes, const char *what);

/* What an errno value means, in words that do not follow the locale and without shared memory. A static string. */
const char *strata_errno_text(int code);

#endif
