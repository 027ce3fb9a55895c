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

/* The most work-items of a group that adds up. */
#define GROUP_MOST 256

/* Adds up what the work-items of a group have found; the answer is right in the first of them. */
FUNCTION uint group_sum(LOCAL uint *lanes, uint value) {
    lanes[local_index()] = value;
    for (uint reach = local_count() / 2; reach > 0; reach /= 2) {
        local_barrier();
        if (local_index() < reach)
            lanes[local_index()] += lanes[local_index() + reach];
    }
    return local_index() == 0 ? lanes[0] : 0;
}

#endif
