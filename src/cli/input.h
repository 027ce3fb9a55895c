/* A file of numbers, raw or .npy, handed out in pieces in the machine's byte order. Pipes work as well as files. */
#ifndef STRATA_CLI_INPUT_H
#define STRATA_CLI_INPUT_H

#include "cli/npy.h"

/* Only the first group of fields and the byte counts are for others, to read. `path` is borrowed from the caller. */
struct strata_input {
    const char *path;
    bool is_npy;
    struct strata_npy npy; /* where is_npy */

    const char *label; /* how sentences call it */
    int descriptor;
    bool swap;
    bool forgets;                             /* pages that were read need not stay in memory */
    uint32_t element_bytes;                   /* 0 until known */
    uint64_t data_offset;                     /* where the data begins in the file; STRATA_UNKNOWN for a pipe */
    uint64_t total_bytes;                     /* of the data; STRATA_UNKNOWN for a raw pipe */
    uint64_t done_bytes;                      /* of the data, handed out so far */
    unsigned char ahead[STRATA_NPY_PREAMBLE]; /* read to recognise the kind of file, not yet handed out */
    size_t ahead_begin;
    size_t ahead_end;
};

/* Opens a file ("-" is standard input), recognises .npy by its first bytes and reads its header. Fails with IO and a
 * sentence that names the file, or CANCELLED on an interrupt; then nothing is left open. */
enum strata_status strata_input_open(struct strata_input *input, const char *path);

/* Says how large an element of a raw file is: 1, 2, 4 or 8 bytes. Fails with IO when the file's size is known and not
 * a multiple. A .npy file needs no such call. */
enum strata_status strata_input_set_element(struct strata_input *input, uint32_t element_bytes);

/* How many elements there are in all; STRATA_UNKNOWN for a raw pipe. */
uint64_t strata_input_count(const struct strata_input *input);

/* Reads whole elements into `memory` until it is full or the data ends. *bytes is 0 only at the end; `capacity` is at
 * least one element. Fails with IO when the file cannot be read, ends early (it was cut, or shrank meanwhile) or goes
 * on after the data of a .npy file; with CANCELLED on an interrupt. */
enum strata_status strata_input_read(struct strata_input *input, void *memory, size_t capacity, size_t *bytes);

/* Reads one element again, in the machine's byte order; false for a pipe, or when it cannot be read any more. */
bool strata_input_element(const struct strata_input *input, uint64_t index, void *element);

/* Closes what open opened; an input that is all zero or was closed is left alone. */
void strata_input_close(struct strata_input *input);

#endif
