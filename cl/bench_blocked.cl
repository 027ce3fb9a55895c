/* The kernels of bench.cl in the form for CPU devices: a work-group is one work-item that goes through a block of its
 * own in vectors of 64 bytes, and where it reads, at four places at a time, which keeps more of the memory busy than
 * one. Stores go past the cache where the compiler can say so, since a line that is written whole need not be read
 * first. Sums are left in the 16 parts of a vector. */
#include "portable.h"
#include "bench_words.h"

#ifdef __has_builtin
#if __has_builtin(__builtin_nontemporal_store)
#define STORE(value, place) __builtin_nontemporal_store(value, place)
#endif
#endif
#ifndef STORE
#define STORE(value, place) *(place) = (value)
#endif

/* A helper with a 64-byte vector in its signature lets LLVM use 64-byte registers. */
FUNCTION uint16 vector_words(ulong place, uint seed, uint keep, uint set) {
    const uint16 lanes = (uint16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    uint16 word = ((uint16)((uint)place * 16) + lanes) * BENCH_WEYL + seed;
    BENCH_SHIFTS(word);
    return (word & keep) | set;
}

/* Where the group's block begins: four parts of `steps` vectors. */
FUNCTION ulong block_place(uint steps) { return (ulong)group_index() * steps * 4; }

__kernel void bench_read(__global const uint16 *input, uint steps, __global uint16 *sums) {
    __global const uint16 *from = input + block_place(steps);
    uint16 a = 0, b = 0, c = 0, d = 0;
    for (uint step = 0; step < steps; step++, from++) {
        a += from[0];
        b += from[steps];
        c += from[2 * steps];
        d += from[3 * steps];
    }
    sums[group_index()] = (a + b) + (c + d);
}

__kernel void bench_write(__global uint16 *output, uint steps, uint seed, uint keep, uint set) {
    ulong place = block_place(steps);
    for (uint step = 0; step < 4 * steps; step++, place++)
        STORE(vector_words(place, seed, keep, set), output + place);
}

__kernel void bench_copy(__global uint16 *output, __global const uint16 *input, uint steps) {
    ulong place = block_place(steps);
    for (uint step = 0; step < steps; step++, place++) {
        STORE(input[place], output + place);
        STORE(input[place + steps], output + place + steps);
        STORE(input[place + 2 * steps], output + place + 2 * steps);
        STORE(input[place + 3 * steps], output + place + 3 * steps);
    }
}

__kernel void bench_stride(__global const uint *input, uint count, uint stride, __global uint *sums) {
    __global const uint *from = input + (ulong)group_index() * count * stride;
    uint sum = 0;
    for (uint i = 0; i < count; i++)
        sum += from[(ulong)i * stride];
    sums[group_index()] = sum;
}

__kernel void bench_local(uint slots, uint rounds, uint seed, __global uint16 *sums) {
    __local uint16 tile[LOCAL_SLOTS];
    for (uint slot = 0; slot < slots; slot++)
        tile[slot] = vector_words(slot, seed, 0xffffffffu, 0);
    for (uint round = 0; round < rounds; round++) {
        uint step = round * BENCH_WEYL;
        for (uint slot = 0; slot < slots; slot++)
            tile[slot] += step;
    }
    uint16 sum = 0;
    for (uint slot = 0; slot < slots; slot++)
        sum += tile[slot];
    sums[group_index()] = sum;
}
