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

/* Four words from `index` on. */
FUNCTION strata_uint4 bench_words4(uint index, uint seed, uint keep, uint set) {
#ifdef __CUDACC__
    strata_uint4 words;
    words.x = bench_word(index, seed, keep, set);
    words.y = bench_word(index + 1, seed, keep, set);
    words.z = bench_word(index + 2, seed, keep, set);
    words.w = bench_word(index + 3, seed, keep, set);
    return words;
#else
    strata_uint4 words = (index + (strata_uint4)(0, 1, 2, 3)) * BENCH_WEYL + seed;
    BENCH_SHIFTS(words);
    return (words & keep) | set;
#endif
}

#endif
