/* Reduction: reduce_tiles turns the tiles of the input into records, reduce_records the tiles of a level's records into
 * those of the next, and whichever comes to the last record writes the result.
 *
 * Options: REDUCE_OPERATION and REDUCE_TYPE (the numbers of strata/primitives.h), REDUCE_ALIGNMENT (a power of two that
 * divides the input's address), REDUCE_FORM. The two forms differ in who does what, and in no bit of any result:
 *   GROUP (1)  one work-group per tile, for GPUs: neighbouring work-items read neighbouring 16 bytes, four loads in
 *              flight, the 256 lanes folded in local memory. Any local size works: work-items loop over the lanes.
 *   ITEM (2)   a work-group of one work-item takes many tiles one after the other, for CPU devices.
 * GROUP adds kernels whose groups take several tiles, and with REDUCE_FUSED one that does all in one launch.
 * Never built with a fast-math option; the contraction of a * b + c is off. */
#pragma OPENCL FP_CONTRACT OFF

#define FORM_GROUP 1
#define FORM_ITEM 2

#include "reduce_values.h"
#include "reduce_tree.h"

#if REDUCE_FORM == FORM_ITEM

#include "reduce_item.h"

FUNCTION reduce_leaf item_partial_tile(GLOBAL const uchar *tile, uint count) {
    reduce_leaf lanes[LANES];
    for (uint lane = 0; lane < LANES; lane++)
        lanes[lane] = partial_lane(tile, lane, count);
    for (uint reach = LANES / 2; reach > 0; reach /= 2)
        for (uint lane = 0; lane < reach; lane++)
            lanes[lane] = combine_leaves(lanes[lane], lanes[lane + reach]);
    return lanes[0];
}

FUNCTION reduce_record item_record_tile(GLOBAL const uchar *region, ulong count, ulong tile) {
    reduce_record lanes[LANES];
    for (uint lane = 0; lane < LANES; lane++)
        lanes[lane] = record_lane(region, tile, lane, count);
    for (uint reach = LANES / 2; reach > 0; reach /= 2)
        for (uint lane = 0; lane < reach; lane++)
            lanes[lane] = combine_records(lanes[lane], lanes[lane + reach]);
    return lanes[0];
}

#else

/* Eight lanes, `reach` apart, folded as three halvings would: with the lane 4 * reach behind, then 2 * reach, then
 * reach. So 256 lanes take three steps with a barrier in front of each, instead of eight. */
#define FOLD_EIGHT(COMBINE, lanes, lane, reach)                                                                        \
    COMBINE(COMBINE(COMBINE(lanes[lane], lanes[lane + 4 * (reach)]),                                                   \
                    COMBINE(lanes[lane + 2 * (reach)], lanes[lane + 6 * (reach)])),                                    \
            COMBINE(COMBINE(lanes[lane + (reach)], lanes[lane + 5 * (reach)]),                                         \
                    COMBINE(lanes[lane + 3 * (reach)], lanes[lane + 7 * (reach)])))
#define FOLD_STEP(COMBINE, lanes, reach)                                                                               \
    local_barrier();                                                                                                   \
    for (uint lane = local_index(); lane < reach; lane += local_count())                                               \
        lanes[lane] = FOLD_EIGHT(COMBINE, lanes, lane, reach);
#define FOLD_LANES(COMBINE, lanes)                                                                                     \
    FOLD_STEP(COMBINE, lanes, LANES / 8)                                                                               \
    FOLD_STEP(COMBINE, lanes, LANES / 64)                                                                              \
    local_barrier();                                                                                                   \
    if (local_index() == 0)                                                                                            \
        lanes[0] = COMBINE(COMBINE(lanes[0], lanes[2]), COMBINE(lanes[1], lanes[3]));

/* One tile by one group, `left` elements of it at most; the leaf is lanes[0]. */
FUNCTION void group_tile(GLOBAL const uchar *tile, ulong left, LOCAL reduce_leaf *lanes) {
    if (left >= TILE)
        for (uint lane = local_index(); lane < LANES; lane += local_count())
            lanes[lane] = full_lane(tile, lane);
    else
        for (uint lane = local_index(); lane < LANES; lane += local_count())
            lanes[lane] = partial_lane(tile, lane, (uint)left);
    FOLD_LANES(combine_leaves, lanes)
}

/* Where a work-item may read without a barrier after a fold: no other writes there. In work-item 0 it is the result. */
FUNCTION uint own_lane(void) { return min(local_index(), LANES - 1u); }

/* One tile of the `count` records in a region by one group. What it answers is right in work-item 0. */
FUNCTION reduce_record group_records(GLOBAL const uchar *region, ulong count, ulong tile, LOCAL reduce_record *lanes) {
    if (count - tile * TILE >= TILE && count % 4 == 0)
        for (uint lane = local_index(); lane < LANES; lane += local_count())
            lanes[lane] = full_record_lane(region, tile, lane, count);
    else
        for (uint lane = local_index(); lane < LANES; lane += local_count())
            lanes[lane] = record_lane(region, tile, lane, count);
    FOLD_LANES(combine_records, lanes)
    return lanes[own_lane()];
}

#endif

/* The input's tiles `first_tile` to `first_tile + tile_count - 1`, `tiles_per_item` of them by each work-item of the
 * form that has one per group. The slice begins `offset` bytes into `input`, holds
 * `count` elements, and its first tile is tile `base_tile` of the whole reduction, whose records go to the region of
 * `capacity` records at `region`. With `is_last` there is one tile in all, and it is the result. */
KERNEL void reduce_tiles(GLOBAL const uchar *input, ulong offset, ulong count, ulong first_tile, ulong tile_count,
                         uint tiles_per_item, ulong base_tile, GLOBAL uchar *scratch, ulong region, ulong capacity,
                         GLOBAL uchar *result, ulong result_offset, uint is_last) {
    GLOBAL uchar *records = scratch + region;
#if REDUCE_FORM == FORM_ITEM
    ulong tile = first_tile + (ulong)group_index() * tiles_per_item;
    ulong end = min(tile + tiles_per_item, first_tile + tile_count);
    reduce_leaf best = identity_leaf();
    for (; tile < end; tile++) {
        GLOBAL const uchar *from = input + offset + tile * TILE_BYTES;
        ulong left = count - tile * TILE;
        reduce_leaf leaf = left >= TILE ? item_tile(from, &best) : item_partial_tile(from, (uint)left);
        reduce_record record = record_of(leaf, (base_tile + tile) * TILE);
        if (is_last)
            store_result(result + result_offset, record);
        else
            store_record(records, capacity, base_tile + tile, record);
    }
#else
    LOCAL_ARRAY(reduce_leaf, lanes, LANES);
    ulong tile = first_tile + group_index();
    group_tile(input + offset + tile * TILE_BYTES, count - tile * TILE, lanes);
    if (local_index() == 0) {
        reduce_record record = record_of(lanes[0], (base_tile + tile) * TILE);
        if (is_last)
            store_result(result + result_offset, record);
        else
            store_record(records, capacity, base_tile + tile, record);
    }
    (void)tile_count;
    (void)tiles_per_item;
#endif
}

/* The tiles of `count` records from `first_tile` on, one tile per group; what they leave behind goes to another region.
 * With `is_last` there is one tile, and it is the result. */
KERNEL void reduce_records(GLOBAL uchar *scratch, ulong from_region, ulong count, ulong first_tile, ulong to_region,
                           ulong to_capacity, GLOBAL uchar *result, ulong result_offset, uint is_last) {
    GLOBAL const uchar *from = scratch + from_region;
    ulong tile = first_tile + group_index();
#if REDUCE_FORM == FORM_ITEM
    reduce_record record = item_record_tile(from, count, tile);
#else
    LOCAL_ARRAY(reduce_record, lanes, LANES);
    reduce_record record = group_records(from, count, tile, lanes);
    if (local_index() != 0)
        return;
#endif
    if (is_last)
        store_result(result + result_offset, record);
    else
        store_record(scratch + to_region, to_capacity, tile, record);
}

#if REDUCE_FORM == FORM_GROUP
#include "reduce_columns.h"
#ifdef REDUCE_FUSED
#include "reduce_fused.h"
#endif
#endif
