/* Kernel source text from a file or a string: checked, and made the same for every runtime's compiler. */
#ifndef STRATA_PROGRAM_SOURCE_H
#define STRATA_PROGRAM_SOURCE_H

#include "core/host.h"

/* No kernel comes near this; a file that does is not kernel source. */
#define STRATA_SOURCE_MAX_BYTES ((size_t)64 << 20)

enum strata_source_kind {
    STRATA_SOURCE_MAIN,    /* has to say something */
    STRATA_SOURCE_INCLUDED /* may be empty, as an empty header is */
};

/* Both put the text into `out`, which is empty with its hooks set and stays empty on failure. A UTF-8 byte order mark
 * is dropped, and CR LF and a lone CR become LF: the inliner and every compiler then count the same lines, and a macro
 * that is continued over a line ends in backslash and newline whoever reads it.
 *
 * IO: the file is missing, a folder, a pipe or a device (none of which is waited for), or cannot be read.
 * INVALID_ARGUMENT: there is nothing in it, a NUL byte (told with its offset and line), UTF-16, or more than
 * STRATA_SOURCE_MAX_BYTES. OUT_OF_MEMORY. Any thread. */
enum strata_status strata_source_load(const char *path, enum strata_source_kind kind, struct strata_text *out);

/* `name` is for messages; NULL for none. */
enum strata_status strata_source_copy(const char *name, const char *bytes, size_t length, enum strata_source_kind kind,
                                      struct strata_text *out);

#endif
