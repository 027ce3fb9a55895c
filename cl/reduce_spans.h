/* The tree in two launches, for GPUs: work-groups that take several tiles each, and one work-group that takes what they
 * leave behind to the result. Few groups have little to hand on, and the shape of the tree stays what it is: a column
 * of a tile of records stands for four tiles of the input, and a lane for the tiles of its neighbouring columns. */
#ifndef STRATA_REDUCE_SPANS_H
#define STRATA_REDUCE_SPANS_H

/* The most tiles of records that one work-group finishes. */
#define MOST_RECORD_TILES 32u

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

/* A column of records: tile `first` and the three that lie COLUMNS, 2 * COLUMNS and 3 * COLUMNS behind it, as far as
 * there are so many. The answer is right in work-item 0. */
FUNCTION reduce_record group_column(GLOBAL const uchar *input, ulong count, ulong first, LOCAL reduce_leaf *lanes) {
#if REDUCE_ALIGNMENT >= 16
    /* Sixteen loads in flight. */
    if ((first + 3 * COLUMNS + 1) * TILE <= count)
        for (uint lane = local_index(); lane < LANES; lane += local_count()) {
            GLOBAL const uchar *tile = input + first * TILE_BYTES;
            reduce_leaf row0 = full_lane(tile, lane);
            reduce_leaf row1 = full_lane(tile + (ulong)COLUMNS * TILE_BYTES, lane);
            reduce_leaf row2 = full_lane(tile + 2 * (ulong)COLUMNS * TILE_BYTES, lane);
            reduce_leaf row3 = full_lane(tile + 3 * (ulong)COLUMNS * TILE_BYTES, lane);
            lanes[lane] = row0;
            lanes[LANES + lane] = row1;
            lanes[2u * LANES + lane] = row2;
            lanes[3u * LANES + lane] = row3;
        }
    else
#endif
        for (uint i = local_index(); i < 4u * LANES; i += local_count())
            lanes[i] = tile_lane(input, count, first + i / LANES * COLUMNS, i % LANES);
    FOLD_SETS(combine_leaves, lanes)
    return combine_records(combine_records(set_record(lanes, count, first, 0), set_record(lanes, count, first, 1)),
                           combine_records(set_record(lanes, count, first, 2), set_record(lanes, count, first, 3)));
}

/* One group per column of the tiles of records, of which there are `columns`; the slice begins `offset` bytes into
 * `input` and holds `count` elements. */
KERNEL void reduce_columns(GLOBAL const uchar *input, ulong offset, ulong count, GLOBAL uchar *scratch, ulong columns) {
    LOCAL_ARRAY(reduce_leaf, lanes, 4u * LANES);
    ulong column = group_index();
    reduce_record record = group_column(input + offset, count, column / COLUMNS * TILE + column % COLUMNS, lanes);
    if (local_index() == 0)
        store_record(scratch, columns, column, record);
}

/* The same with one group per lane of the tiles of records. */
KERNEL void reduce_spans(GLOBAL const uchar *input, ulong offset, ulong count, GLOBAL uchar *scratch, ulong spans) {
    LOCAL_ARRAY(reduce_leaf, lanes, 4u * LANES);
    ulong span = group_index();
    ulong first = span / LANES * TILE + span % LANES * COLUMNS_PER_LANE;
    reduce_record columns[COLUMNS_PER_LANE];
    for (uint i = 0; i < COLUMNS_PER_LANE; i++) {
        local_barrier();
        columns[i] = group_column(input + offset, count, first + i, lanes);
    }
    reduce_record record = combine_records(columns[0], columns[1]);
#if COLUMNS_PER_LANE == 4
    record = combine_records(record, combine_records(columns[2], columns[3]));
#endif
    if (local_index() == 0)
        store_record(scratch, spans, span, record);
}

FUNCTION reduce_record column_lane(GLOBAL const uchar *scratch, ulong columns, uint lane) {
    ulong first = lane * COLUMNS_PER_LANE;
    reduce_record record =
        combine_records(settled_record(scratch, first, columns), settled_record(scratch, first + 1, columns));
#if COLUMNS_PER_LANE == 4
    record = combine_records(record, combine_records(settled_record(scratch, first + 2, columns),
                                                     settled_record(scratch, first + 3, columns)));
#endif
    return record;
}

/* One group: from the columns of four tiles of records or fewer to the result. */
KERNEL void finish_columns(GLOBAL const uchar *scratch, ulong columns, uint record_tiles, GLOBAL uchar *result,
                           ulong result_offset) {
    LOCAL_ARRAY(reduce_record, lanes, 4u * LANES);
    for (uint i = local_index(); i < 4u * LANES; i += local_count())
        lanes[i] = column_lane(scratch, columns, i);
    FOLD_SETS(combine_records, lanes)
    if (local_index() == 0) {
        reduce_record record = lanes[0];
        if (record_tiles > 1)
            record = combine_records(combine_records(record, lanes[LANES]),
                                     combine_records(lanes[2u * LANES], lanes[3u * LANES]));
        store_result(result + result_offset, record);
    }
}

/* One group: from the spans of 2 to MOST_RECORD_TILES tiles of records to the result. */
KERNEL void finish_spans(GLOBAL const uchar *scratch, ulong spans, uint record_tiles, GLOBAL uchar *result,
                         ulong result_offset) {
    LOCAL_ARRAY(reduce_record, eighths, MOST_RECORD_TILES * LANES / 8u);
    LOCAL_ARRAY(reduce_record, lanes, LANES);
    for (uint i = local_index(); i < record_tiles * (LANES / 8u); i += local_count()) {
        ulong lane = i / (LANES / 8u) * LANES + i % (LANES / 8u);
#define SPAN(k) settled_record(scratch, lane + k * (LANES / 8u), spans)
        eighths[i] =
            combine_records(combine_records(combine_records(SPAN(0), SPAN(4)), combine_records(SPAN(2), SPAN(6))),
                            combine_records(combine_records(SPAN(1), SPAN(5)), combine_records(SPAN(3), SPAN(7))));
    }
    local_barrier();
    for (uint i = local_index(); i < record_tiles * 4u; i += local_count()) {
        uint lane = i / 4u * (LANES / 8u) + i % 4u;
        lanes[i] = FOLD_EIGHT(combine_records, eighths, lane, 4u);
    }
    local_barrier();
    for (uint i = local_index(); i < record_tiles; i += local_count())
        eighths[i] = combine_records(combine_records(lanes[4u * i], lanes[4u * i + 2u]),
                                     combine_records(lanes[4u * i + 1u], lanes[4u * i + 3u]));
    local_barrier();
    for (uint lane = local_index(); lane < LANES; lane += local_count()) {
        uint column = lane * COLUMNS_PER_LANE;
#define TOP_RECORD(r, member, j)                                                                                       \
    (column + r * COLUMNS + j < record_tiles ? eighths[column + r * COLUMNS + j] : identity_record())
        lanes[lane] = LANE_TREE(combine_records, TOP_RECORD);
    }
    FOLD_LANES(combine_records, lanes)
    if (local_index() == 0)
        store_result(result + result_offset, lanes[0]);
}

#endif
