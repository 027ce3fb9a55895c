/* Text that is handed to a function of the caller's in pieces, from a buffer on the stack: dumps need no host memory.
 */
#ifndef STRATA_CORE_WRITER_H
#define STRATA_CORE_WRITER_H

#include "core/error.h"
#include "strata/offsets.h"

#define STRATA_WRITER_BYTES 4096

/* What one call of strata_writer_print may add. */
#define STRATA_WRITER_LINE_BYTES 512

struct strata_writer {
    strata_write_function write;
    void *user;
    size_t length;
    bool failed; /* `write` said so; nothing more is handed to it */
    char text[STRATA_WRITER_BYTES];
};

/* Only integers and known words, so that the locale has no say and the length a bound. */
void strata_writer_print(struct strata_writer *writer, const char *format, ...) STRATA_PRINTF(2, 3);

/* A string of JSON, with its quotes, of any length. What is no UTF-8 becomes U+FFFD. */
void strata_writer_string(struct strata_writer *writer, const char *string);

void strata_writer_flush(struct strata_writer *writer);

#endif
