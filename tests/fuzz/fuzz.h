/* What the fuzz targets share: libFuzzer's entry, and a check of an invariant that no build leaves out. */
#ifndef STRATA_TESTS_FUZZ_FUZZ_H
#define STRATA_TESTS_FUZZ_FUZZ_H

#include "core/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* abort, because that is what libFuzzer takes for a crash and what ends a replay. */
#define FUZZ_CHECK(condition)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: this does not hold: %s\n", __FILE__, __LINE__, #condition);                        \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* A copy that ends where the input ends, so that AddressSanitizer sees a read behind it. */
static inline char *fuzz_copy(const void *bytes, size_t length) {
    char *copy = calloc(1, length != 0 ? length : 1);
    FUZZ_CHECK(copy != NULL);
    if (length != 0)
        memcpy(copy, bytes, length);
    return copy;
}

/* The same with a NUL behind it. */
static inline char *fuzz_string(const void *bytes, size_t length) {
    char *copy = malloc(length + 1);
    FUZZ_CHECK(copy != NULL);
    if (length != 0)
        memcpy(copy, bytes, length);
    copy[length] = '\0';
    return copy;
}

/* The input is taken apart at its NULs. True as long as there is a piece left. */
static inline bool fuzz_next_piece(const uint8_t **data, size_t *size, const uint8_t **piece, size_t *length) {
    if (*data == NULL)
        return false;
    const uint8_t *nul = *size != 0 ? memchr(*data, '\0', *size) : NULL;
    *piece = *data;
    *length = nul != NULL ? (size_t)(nul - *data) : *size;
    *size -= nul != NULL ? *length + 1 : *size;
    *data = nul != NULL ? nul + 1 : NULL;
    return true;
}

/* Every failure has its status, and a sentence. */
static inline void fuzz_check_failure(enum strata_status status, enum strata_status expected) {
    FUZZ_CHECK(status == expected);
    FUZZ_CHECK(strata_last_error()->status == expected);
    FUZZ_CHECK(strata_last_error()->message[0] != '\0');
}

#endif
