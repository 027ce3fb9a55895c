/* The whole tree in one launch, for input of a few hundred tiles: the group that comes last takes the records of all to
 * the result, and the others end. It takes memory that is ordered for the whole device (arrive in portable.h). */
#ifndef STRATA_REDUCE_FUSED_H
#define STRATA_REDUCE_FUSED_H

/* Whether this group is the last of `expected` to come here; all of its work-items get the answer, and the last one may
 * read what the others wrote before they came. The counter is 0 again then. */
FUNCTION bool comes_last(GLOBAL uint *counter, uint expected, LOCAL uint *answer) {
    if (local_index() == 0) {
        bool is_last = arrive(counter) + 1 == expected;
        if (is_last)
            *counter = 0;
        answer[0] = is_last;
    }
    local_barrier();
    return answer[0] != 0;
}

/* One lane's record of the one tile of records. */
FUNCTION reduce_record fresh_lane(GLOBAL const uchar *region, uint lane, ulong count) {
    uint first = lane * COLUMNS_PER_LANE;
#define FRESH_RECORD(r, member, j) fresh_record(region, first + r * COLUMNS + j, count)
    return LANE_TREE(combine_records, FRESH_RECORD);
}

/* One group per tile of the input, which begins `offset` bytes into `input` and holds `count` elements, of which there
 * are 2 to TILE tiles. `counter` is 0. */
KERNEL void reduce_fused(GLOBAL const uchar *input, ulong offset, ulong count, GLOBAL uchar *scratch,
                         GLOBAL uint *counter, GLOBAL uchar *result, ulong result_offset) {
    LOCAL_ARRAY(reduce_leaf, leaves, LANES);
    LOCAL_ARRAY(reduce_record, lanes, LANES);
    LOCAL_ARRAY(uint, answer, 1);
    ulong index = group_index(), tiles = (count + TILE - 1) / TILE;
    group_tile(input + offset + index * TILE_BYTES, count - index * TILE, leaves);
    if (local_index() == 0)
        store_record(scratch, tiles, index, record_of(leaves[0], index * TILE));
    if (!comes_last(counter, (uint)tiles, answer))
        return;
    for (uint lane = local_index(); lane < LANES; lane += local_count())
        lanes[lane] = fresh_lane(scratch, lane, tiles);
    FOLD_LANES(combine_records, lanes)
    if (local_index() == 0)
        store_result(result + result_offset, lanes[0]);
}

#endif
