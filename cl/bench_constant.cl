/* Constant memory: every work-item adds up the whole table `rounds` times over, and all read the same word at a time,
 * or each its own. `entries` is a power of two. */
#include "portable.h"

static uint constant_sum(__constant const uint *table, uint entries, uint rounds, uint own) {
    uint sum = 0;
    for (uint round = 0; round < rounds; round++) {
        uint turn = (round & (entries - 1)) ^ own;
        for (uint i = 0; i < entries; i++)
            sum += table[i ^ turn];
    }
    return sum;
}

__kernel void bench_constant_same(__constant const uint *table, uint entries, uint rounds, __global uint *sums) {
    sums[global_index()] = constant_sum(table, entries, rounds, 0);
}

__kernel void bench_constant_different(__constant const uint *table, uint entries, uint rounds, __global uint *sums) {
    sums[global_index()] = constant_sum(table, entries, rounds, local_index() & (entries - 1));
}
