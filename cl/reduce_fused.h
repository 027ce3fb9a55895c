/* Several levels of a reduction in one launch: the group that completes a tile of records goes on to reduce it, and the
 * others end. It takes memory that is ordered for the whole device (arrive in portable.h), and saves a launch for every
 * level. The tree is the same. */
#ifndef STRATA_REDUCE_FUSED_H
#define STRATA_REDUCE_FUSED_H

/* Where the next level's records begin; primitives/reduce_plan.c has the same. */
FUNCTION ulong region_bytes(ulong records) { return (records * 16 + 255) / 256 * 256; }

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

/* Takes a tile's record up the tree as far as its group is the last to arrive; `record` is work-item 0's. */
FUNCTION void climb(reduce_record record, ulong index, ulong records, ulong region, GLOBAL uchar *scratch,
                    GLOBAL uint *counters, GLOBAL uchar *result, LOCAL reduce_record *lanes, LOCAL uint *answer) {
    while (records > 1) {
        ulong tile = index / TILE, left = records - tile * TILE, above = (records + TILE - 1) / TILE;
        if (local_index() == 0)
            store_record(scratch + region, records, index, record);
        if (!comes_last(counters + tile, left < TILE ? (uint)left : TILE, answer))
            return;
        record = group_records(scratch + region, records, tile, lanes, false);
        counters += above;
        region += region_bytes(records);
        records = above;
        index = tile;
    }
    if (local_index() == 0)
        store_result(result, record);
}

/* One group per tile of the input, which begins `offset` bytes into `input` and holds `count` elements. `counters` are 0:
 * one for each tile of records in every level. */
KERNEL void reduce_fused(GLOBAL const uchar *input, ulong offset, ulong count, GLOBAL uchar *scratch,
                         GLOBAL uint *counters, GLOBAL uchar *result, ulong result_offset) {
    LOCAL_ARRAY(reduce_leaf, leaves, LANES);
    LOCAL_ARRAY(reduce_record, lanes, LANES);
    LOCAL_ARRAY(uint, answer, 1);
    ulong index = group_index();
    group_tile(input + offset + index * TILE_BYTES, count - index * TILE, leaves);
    climb(record_of(leaves[own_lane()], index * TILE), index, (count + TILE - 1) / TILE, 0, scratch, counters,
          result + result_offset, lanes, answer);
}

/* One group per tile of the `records` records that reduce_tiles left at the beginning of the scratch: where there are
 * many tiles, a count in each would cost more than this launch. */
KERNEL void reduce_records_fused(GLOBAL uchar *scratch, ulong records, GLOBAL uint *counters, GLOBAL uchar *result,
                                 ulong result_offset) {
    LOCAL_ARRAY(reduce_record, lanes, LANES);
    LOCAL_ARRAY(uint, answer, 1);
    ulong index = group_index();
    climb(group_records(scratch, records, index, lanes, true), index, (records + TILE - 1) / TILE,
          region_bytes(records), scratch, counters, result + result_offset, lanes, answer);
}

#endif
