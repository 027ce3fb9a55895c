/* Work-groups that take several tiles each, for GPUs: a column of a tile of records stands for four tiles of the input.
 * So there are a quarter of the records to write and to read again, and the shape of the tree stays what it is. */
#ifndef STRATA_REDUCE_COLUMNS_H
#define STRATA_REDUCE_COLUMNS_H

/* Four sets of LANES each, folded side by side; set s begins at s * LANES, and its result is there. */
#define FOLD_SETS_STEP(COMBINE, lanes, reach)                                                                          \
    local_barrier();                                                                                                   \
    for (uint i = local_index(); i < 4u * (reach); i += local_count()) {                                               \
        uint lane = i / (reach)*LANES + i % (reach);                                                                   \
        lanes[lane] = FOLD_EIGHT(COMBINE, lanes, lane, reach);                                                         \
    }
#define FOLD_SETS(COMBINE, lanes)                                                                                      \
    FOLD_SETS_STEP(COMBINE, lanes, LANES / 8)                                                                          \
    FOLD_SETS_STEP(COMBINE, lanes, LANES / 64)                                                                         \
    local_barrier();                                                                                                   \
    for (uint lane = local_index() * LANES; lane < 4u * LANES; lane += local_count() * LANES)                          \
        lanes[lane] = COMBINE(COMBINE(lanes[lane], lanes[lane + 2]), COMBINE(lanes[lane + 1], lanes[lane + 3]));       \
    local_barrier();

FUNCTION reduce_leaf tile_lane(GLOBAL const uchar *input, ulong count, ulong tile, uint lane) {
    ulong begin = tile * TILE;
    if (begin >= count)
        return identity_leaf();
    return count - begin >= TILE ? full_lane(input + tile * TILE_BYTES, lane)
                                 : partial_lane(input + tile * TILE_BYTES, lane, (uint)(count - begin));
}

/* The record of one of the tiles whose folded leaves are in `lanes`. */
FUNCTION reduce_record set_record(LOCAL const reduce_leaf *lanes, ulong count, ulong first, uint set) {
    ulong begin = (first + set * COLUMNS) * TILE;
    return begin < count ? record_of(lanes[set * LANES], begin) : identity_record();
}

/* One column by one group: its first tile and the three that lie COLUMNS, 2 * COLUMNS and 3 * COLUMNS behind it, as far
 * as there are so many. The answer is right in work-item 0. */
FUNCTION reduce_record group_column(GLOBAL const uchar *input, ulong count, ulong column, LOCAL reduce_leaf *lanes) {
    ulong first = column / COLUMNS * TILE + column % COLUMNS;
    if ((first + 3 * COLUMNS + 1) * TILE <= count) {
        for (uint lane = local_index(); lane < LANES; lane += local_count()) {
            /* Row by row: more loads in flight take more registers, so fewer groups, and gain nothing (H200). */
#pragma unroll 1
            for (uint row = 0; row < 4; row++)
                lanes[row * LANES + lane] = full_lane(input + (first + row * COLUMNS) * TILE_BYTES, lane);
        }
    } else {
        for (uint i = local_index(); i < 4u * LANES; i += local_count())
            lanes[i] = tile_lane(input, count, first + i / LANES * COLUMNS, i % LANES);
    }
    FOLD_SETS(combine_leaves, lanes)
    return combine_records(combine_records(set_record(lanes, count, first, 0), set_record(lanes, count, first, 1)),
                           combine_records(set_record(lanes, count, first, 2), set_record(lanes, count, first, 3)));
}

/* One group per column of the tiles of records, of which there are `columns`; the slice begins `offset` bytes into
 * `input` and holds `count` elements. */
KERNEL void reduce_columns(GLOBAL const uchar *input, ulong offset, ulong count, GLOBAL uchar *scratch, ulong columns) {
    LOCAL_ARRAY(reduce_leaf, lanes, 4u * LANES);
    reduce_record record = group_column(input + offset, count, group_index(), lanes);
    if (local_index() == 0)
        store_record(scratch, columns, group_index(), record);
}

FUNCTION reduce_record column_lane(GLOBAL const uchar *scratch, ulong columns, ulong first) {
    reduce_record record =
        combine_records(settled_record(scratch, first, columns), settled_record(scratch, first + 1, columns));
#if COLUMNS_PER_LANE == 4
    record = combine_records(record, combine_records(settled_record(scratch, first + 2, columns),
                                                     settled_record(scratch, first + 3, columns)));
#endif
    return record;
}

/* One group per tile of records, from its columns to what it leaves behind in a region of its own. With `is_last` there
 * is one such tile, and it is the result. */
KERNEL void reduce_column_records(GLOBAL uchar *scratch, ulong columns, ulong to_region, ulong to_capacity,
                                  GLOBAL uchar *result, ulong result_offset, uint is_last) {
    LOCAL_ARRAY(reduce_record, lanes, LANES);
    for (uint lane = local_index(); lane < LANES; lane += local_count())
        lanes[lane] = column_lane(scratch, columns, (ulong)group_index() * COLUMNS + lane * COLUMNS_PER_LANE);
    FOLD_LANES(combine_records, lanes)
    if (local_index() != 0)
        return;
    if (is_last)
        store_result(result + result_offset, lanes[0]);
    else
        store_record(scratch + to_region, to_capacity, group_index(), lanes[0]);
}

#endif
