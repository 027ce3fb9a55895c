/* What takes time rather than bandwidth: chains of loads, atomics, bank conflicts, an array indexed at run time, and a
 * kernel that does nothing. */
#include "portable.h"
#include "bench_words.h"

#define TILE_WORDS 4096

__kernel void bench_nothing(__global uint *out) {
    if (out[0] == 0x12345678)
        out[0] = 0;
}

#define HOP place = next[place]
#define HOPS4 HOP, HOP, HOP, HOP

/* One work-item follows the chain, `turns` times 16 hops, from where the launch before has left it: otherwise each
 * launch would find in the caches what the one before had read, however long the chain. */
__kernel void bench_chase(__global const uint *next, uint turns, __global uint *out) {
    uint place = out[0];
    for (uint turn = 0; turn < turns; turn++)
        HOPS4, HOPS4, HOPS4, HOPS4;
    out[0] = place;
}

/* The same with a chain of `words` words in local memory. */
__kernel void bench_chase_local(__global const uint *chain, uint words, uint turns, __global uint *out) {
    __local uint next[TILE_WORDS / 2];
    for (uint i = 0; i < words; i++)
        next[i] = chain[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    uint place = 0;
    for (uint turn = 0; turn < turns; turn++)
        HOPS4, HOPS4, HOPS4, HOPS4;
    out[0] = place;
}

/* Each work-item counts up `count` times; neighbours count in neighbouring words, of which there are `mask` + 1. */
__kernel void bench_atomics(__global uint *counters, uint mask, uint count) {
    uint place = (uint)global_index();
    for (uint i = 0; i < count; i++)
        atomic_inc(&counters[(place + i) & mask]);
}

/* Neighbouring work-items read words of local memory that are `stride` apart. */
__kernel void bench_conflicts(uint stride, uint rounds, uint seed, __global uint *sums) {
    __local uint tile[TILE_WORDS];
    for (uint i = local_index(); i < TILE_WORDS; i += local_count())
        tile[i] = bench_word(i, seed, 0xffffffffu, 0);
    local_barrier();
    uint place = local_index() * stride, sum = 0;
    for (uint round = 0; round < rounds; round++)
        sum += tile[(place + round) & (TILE_WORDS - 1)];
    sums[global_index()] = sum;
}

/* An array of 16 words: with indices that the compiler knows it stays in registers; with `step`, which is 1 but which
 * the compiler cannot know, it has to lie in memory. */
#define PRIVATE(name, neighbour)                                                                                       \
    __kernel void name(uint rounds, uint step, __global uint *sums) {                                                  \
        uint word[16], sum = 0;                                                                                        \
        (void)step;                                                                                                    \
        for (uint i = 0; i < 16; i++)                                                                                  \
            word[i] = (uint)global_index() * 16 + i;                                                                   \
        for (uint round = 0; round < rounds; round++) {                                                                \
            _Pragma("unroll") for (uint i = 0; i < 16; i++) word[i] = word[i] * 5 + word[(neighbour)&15];              \
        }                                                                                                              \
        for (uint i = 0; i < 16; i++)                                                                                  \
            sum += word[i] * (i + 1);                                                                                  \
        sums[global_index()] = sum;                                                                                    \
    }
PRIVATE(bench_private_registers, i + 1)
PRIVATE(bench_private_indexed, i + step)
