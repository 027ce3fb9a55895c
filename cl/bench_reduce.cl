/* How a sum should not be computed: two textbook reductions of f32, kept for the bench to show what they cost beside
 * reduce.cl. Both leave one partial sum per work-group, and the host launches them again over those until one is left.
 * The local size is a power of two, up to GROUP_MOST; the last group may reach beyond the input. */
#include "portable.h"

#define GROUP_MOST 256

FUNCTION void fold_and_store(LOCAL float *lanes, float value, GLOBAL float *partials) {
    lanes[local_index()] = value;
    for (uint reach = local_count() / 2; reach > 0; reach /= 2) {
        local_barrier();
        if (local_index() < reach)
            lanes[local_index()] += lanes[local_index() + reach];
    }
    if (local_index() == 0)
        partials[group_index()] = lanes[0];
}

/* The classic tree: each work-item brings one element, so a group reads 1 KiB and then meets at eight barriers. */
KERNEL void bench_reduce_tree(GLOBAL const float *input, ulong count, GLOBAL float *partials) {
    LOCAL_ARRAY(float, lanes, GROUP_MOST);
    ulong index = global_index();
    float value = index < count ? input[index] : 0.0f;
    fold_and_store(lanes, value, partials);
}

/* Each work-item adds up `per_item` elements that lie behind each other, so that neighbouring work-items read addresses
 * per_item * 4 bytes apart: uncoalesced, a sector or cache line for each. */
KERNEL void bench_reduce_strided(GLOBAL const float *input, ulong count, uint per_item, GLOBAL float *partials) {
    LOCAL_ARRAY(float, lanes, GROUP_MOST);
    ulong first = global_index() * per_item;
    float value = 0.0f;
    for (ulong index = first; index < first + per_item && index < count; index++)
        value += input[index];
    fold_and_store(lanes, value, partials);
}
