/* Memory bandwidth in the form for GPUs: neighbouring work-items take neighbouring 16 bytes, four loads in flight, and
 * a work-group takes one tile, after which it is done. The local size is a power of two, up to GROUP_MOST. */
#include "portable.h"
#include "bench_words.h"

FUNCTION uint vector_sum(strata_uint4 v) { return v.x + v.y + v.z + v.w; }

/* Where the work-item begins in its group's tile of `steps` times four vectors for each work-item. */
FUNCTION ulong tile_place(uint steps) { return (ulong)group_index() * steps * 4 * local_count() + local_index(); }

/* The sum of each tile. */
KERNEL void bench_read(GLOBAL const strata_uint4 *input, uint steps, GLOBAL uint *sums) {
    LOCAL_ARRAY(uint, lanes, GROUP_MOST);
    GLOBAL const strata_uint4 *from = input + tile_place(steps);
    uint sum = 0;
    for (uint step = 0; step < steps; step++, from += 4 * local_count()) {
        strata_uint4 a = from[0];
        strata_uint4 b = from[local_count()];
        strata_uint4 c = from[2 * local_count()];
        strata_uint4 d = from[3 * local_count()];
        sum += vector_sum(a) + vector_sum(b) + vector_sum(c) + vector_sum(d);
    }
    sum = group_sum(lanes, sum);
    if (local_index() == 0)
        sums[group_index()] = sum;
}

KERNEL void bench_write(GLOBAL strata_uint4 *output, uint steps, uint seed, uint keep, uint set) {
    ulong place = tile_place(steps);
    for (uint step = 0; step < 4 * steps; step++, place += local_count())
        output[place] = bench_words4((uint)place * 4, seed, keep, set);
}

KERNEL void bench_copy(GLOBAL strata_uint4 *output, GLOBAL const strata_uint4 *input, uint steps) {
    ulong place = tile_place(steps);
    for (uint step = 0; step < steps; step++, place += 4 * local_count()) {
        strata_uint4 a = input[place];
        strata_uint4 b = input[place + local_count()];
        strata_uint4 c = input[place + 2 * local_count()];
        strata_uint4 d = input[place + 3 * local_count()];
        output[place] = a;
        output[place + local_count()] = b;
        output[place + 2 * local_count()] = c;
        output[place + 3 * local_count()] = d;
    }
}

/* Reads one word of every `stride`: neighbouring work-items are that many words apart. A work-item reads `count`. */
KERNEL void bench_stride(GLOBAL const uint *input, uint count, uint stride, GLOBAL uint *sums) {
    LOCAL_ARRAY(uint, lanes, GROUP_MOST);
    ulong hop = (ulong)local_count() * stride;
    GLOBAL const uint *from = input + ((ulong)group_index() * count * local_count() + local_index()) * stride;
    uint sum = 0;
    for (uint i = 0; i < count; i++, from += hop)
        sum += *from;
    sum = group_sum(lanes, sum);
    if (local_index() == 0)
        sums[group_index()] = sum;
}

/* Adds to `slots` words of local memory per work-item, `rounds` times over: a read and a write of 4 bytes each, in
 * neighbouring banks. The number of slots is an argument so that no compiler keeps them in registers. Then each
 * work-item adds up the slots of its neighbour. */
KERNEL void bench_local(uint slots, uint rounds, uint seed, GLOBAL uint *sums) {
    LOCAL_ARRAY(uint, tile, GROUP_MOST * LOCAL_SLOTS);
    uint count = local_count();
    for (uint slot = 0; slot < slots; slot++)
        tile[slot * count + local_index()] = bench_word(slot * count + local_index(), seed, 0xffffffffu, 0);
    for (uint round = 0; round < rounds; round++) {
        uint step = round * BENCH_WEYL;
        for (uint slot = 0; slot < slots; slot++)
            tile[slot * count + local_index()] += step;
    }
    local_barrier();
    uint neighbour = local_index() + 1 == count ? 0 : local_index() + 1;
    uint sum = 0;
    for (uint slot = 0; slot < slots; slot++)
        sum += tile[slot * count + neighbour];
    sums[global_index()] = sum;
}
