/* The head of a .npy file, read from memory: element type, byte order and shape, or a sentence that says why not. */
#ifndef STRATA_CLI_NPY_H
#define STRATA_CLI_NPY_H

#include "strata/status.h"

#include <stdbool.h>

/* The magic, the two version bytes, and the longer of the two forms of the header's length. */
#define STRATA_NPY_PREAMBLE 12

/* NumPy itself stops at 64 dimensions. */
#define STRATA_NPY_DIMENSIONS 64

/* A header is a short dictionary; a longer one than this is damage or an attack on memory. */
#define STRATA_NPY_HEADER_LIMIT (1u << 20)

struct strata_npy_preamble {
    uint32_t version;       /* 1, 2 or 3 */
    uint32_t header_offset; /* where the dictionary begins: 10 or 12 */
    uint32_t header_bytes;
};

struct strata_npy {
    char kind;     /* 'i' signed, 'u' unsigned, 'f' floating point */
    uint32_t size; /* bytes of one element: 1, 2, 4 or 8 */
    bool big_endian;
    bool fortran_order;
    uint32_t dimensions; /* 0 for a single value */
    uint64_t shape[STRATA_NPY_DIMENSIONS];
    uint64_t count; /* elements; count * size fits 64 bits */
};

/* Whether these first bytes of a file are those of a .npy file, whatever its name. Needs 6 bytes. */
bool strata_npy_recognise(const unsigned char *bytes, size_t length);

/* Reads version and header length from the first bytes of a file that strata_npy_recognise knows. Fails with IO when
 * there are too few, or for a version or a length that no writer makes. */
enum strata_status strata_npy_read_preamble(const unsigned char *bytes, size_t length,
                                            struct strata_npy_preamble *preamble);

/* Reads the dictionary: `length` bytes from the preamble's header_offset. Fails with IO, also for a type that strata
 * does not read; then *npy is unspecified. The sentences name no file. */
enum strata_status strata_npy_read_header(const char *text, size_t length, struct strata_npy *npy);

#endif
