/* The data of the bench: random words that the host can compute as well, so that every result can be checked. */
#ifndef STRATA_BENCH_WORDS_H
#define STRATA_BENCH_WORDS_H

#include "portable.h"

/* A xorshift step over a Weyl sequence: nothing that memory could compress. src/cli/bench_data.c has the same. `keep`
 * and `set` shape the bits: 0x007fffff and 0x3f800000 give floats from 1 up to 2. */
#define BENCH_SHIFTS(word) word ^= word << 13, word ^= word >> 17, word ^= word << 5
#define BENCH_WEYL 0x9e3779b9u

FUNCTION uint bench_word(uint index, uint seed, uint keep, uint set) {
    uint word = index * BENCH_WEYL + seed;
    BENCH_SHIFTS(word);
    return (word & keep) | set;
}

#endif
