/* Ways to go through global memory, in one form for all devices: the work-items of a group take neighbouring vectors,
 * `count` each, and a group of one work-item goes through a block of its own. `place` is where a group begins. */
#pragma OPENCL FP_CONTRACT OFF
#include "portable.h"
#include "bench_words.h"

FUNCTION ulong first_place(uint count) { return (ulong)group_index() * count * local_count() + local_index(); }

#define SUM1(v) (v)
#define SUM2(v) ((v).x + (v).y)
#define SUM4(v) (SUM2((v).xy) + SUM2((v).zw))
#define SUM8(v) (SUM4((v).lo) + SUM4((v).hi))
#define SUM16(v) (SUM8((v).lo) + SUM8((v).hi))
#define LANES1 0
#define LANES2 (uint2)(0, 1)
#define LANES4 (uint4)(0, 1, 2, 3)
#define LANES8 (uint8)(0, 1, 2, 3, 4, 5, 6, 7)
#define LANES16 (uint16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)

/* The four accesses of BabelStream (Deakin et al., 2018), for vectors of `width`. The triad is a = b + 0.4 c. */
#define WIDTH(width, words, floats)                                                                                    \
    __kernel void bench_read_##width(__global const words *input, uint count, __global uint *sums) {                   \
        __local uint lanes[GROUP_MOST];                                                                                \
        __global const words *from = input + first_place(count);                                                       \
        words sum = 0;                                                                                                 \
        for (uint i = 0; i < count; i++, from += local_count())                                                        \
            sum += *from;                                                                                              \
        uint all = group_sum(lanes, SUM##width(sum));                                                                  \
        if (local_index() == 0)                                                                                        \
            sums[group_index()] = all;                                                                                 \
    }                                                                                                                  \
    __kernel void bench_write_##width(__global words *output, uint count, uint seed) {                                 \
        ulong place = first_place(count);                                                                              \
        for (uint i = 0; i < count; i++, place += local_count()) {                                                     \
            words word = ((words)((uint)place * width) + LANES##width) * BENCH_WEYL + seed;                            \
            BENCH_SHIFTS(word);                                                                                        \
            output[place] = word;                                                                                      \
        }                                                                                                              \
    }                                                                                                                  \
    __kernel void bench_copy_##width(__global words *output, __global const words *input, uint count) {                \
        ulong place = first_place(count);                                                                              \
        for (uint i = 0; i < count; i++, place += local_count())                                                       \
            output[place] = input[place];                                                                              \
    }                                                                                                                  \
    __kernel void bench_triad_##width(__global floats *a, __global const floats *b, ulong c, uint count) {             \
        ulong place = first_place(count);                                                                              \
        for (uint i = 0; i < count; i++, place += local_count())                                                       \
            a[place] = b[place] + 0.4f * b[c + place];                                                                 \
    }

WIDTH(1, uint, float)
WIDTH(2, uint2, float2)
WIDTH(4, uint4, float4)
WIDTH(8, uint8, float8)
WIDTH(16, uint16, float16)

/* Neighbouring words that begin `offset` words after an aligned place. */
__kernel void bench_offset(__global const uint *input, uint offset, uint count, __global uint *sums) {
    __local uint lanes[GROUP_MOST];
    __global const uint *from = input + offset + first_place(count);
    uint sum = 0;
    for (uint i = 0; i < count; i++, from += local_count())
        sum += *from;
    sum = group_sum(lanes, sum);
    if (local_index() == 0)
        sums[group_index()] = sum;
}

/* Each word once, in an order without a pattern; src/cli/bench_access.c has the same. `mask` is the number of words
 * less 1, a power of two less 1, and `shift` a bit more than half of its bits. */
FUNCTION uint scattered(uint index, uint mask, uint shift) {
    index = index * 0x9e3779b1u & mask;
    index ^= index >> shift;
    index = index * 0x85ebca6bu & mask;
    return index ^ index >> shift;
}

__kernel void bench_gather(__global const uint *input, uint mask, uint shift, uint count, __global uint *sums) {
    __local uint lanes[GROUP_MOST];
    uint place = (uint)first_place(count), sum = 0;
    for (uint i = 0; i < count; i++, place += local_count())
        sum += input[scattered(place, mask, shift)];
    sum = group_sum(lanes, sum);
    if (local_index() == 0)
        sums[group_index()] = sum;
}
