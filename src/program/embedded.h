/* The kernel sources of cl/, carried in the library as bytes. The table is generated at build time by cl/embed.py. */
#ifndef STRATA_PROGRAM_EMBEDDED_H
#define STRATA_PROGRAM_EMBEDDED_H

#include <stddef.h>

struct strata_embedded_file {
    const char *name;           /* as in cl/, such as "reduce.cl" */
    const unsigned char *bytes; /* followed by a NUL that `length` does not count */
    size_t length;
};

extern const struct strata_embedded_file strata_embedded_files[];
extern const size_t strata_embedded_file_count;

#endif
