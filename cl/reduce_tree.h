/* The shape of the reduction tree, one definition for every form of the kernels, and the records between its levels.
 *
 * A tile is TILE consecutive elements (16 KiB): four rows of COLUMNS columns. A column is
 * (row0 + row1) + (row2 + row3). A lane owns 16 neighbouring bytes of each row: four columns of 4-byte elements, which
 * fold as (x + y) + (z + w), or two of 8-byte elements, x + y. The LANES = 256 results fold by halving: lane l takes
 * lane l + 128, then l + 64, and so on to lane 0. That is the tile's record. The next level takes records for elements,
 * in tiles of TILE records, and so on until one record is left. Where the input ends within a tile, the identity stands
 * in. So the shape depends on the number of elements alone. */
#ifndef STRATA_REDUCE_TREE_H
#define STRATA_REDUCE_TREE_H

#define LANES 256u
#define COLUMNS_PER_LANE (16u / ELEMENT_BYTES)
#define COLUMNS (LANES * COLUMNS_PER_LANE)
#define TILE (4u * COLUMNS)
#define ROW_BYTES (COLUMNS * ELEMENT_BYTES)
#define TILE_BYTES (4u * ROW_BYTES)

/* LEAF(r, member, j) gives what is in row `r` and the j-th column of the lane, whose name in a vector is `member`. */
#define COLUMN_TREE(COMBINE, LEAF, member, j)                                                                          \
    COMBINE(COMBINE(LEAF(0, member, j), LEAF(1, member, j)), COMBINE(LEAF(2, member, j), LEAF(3, member, j)))
#if ELEMENT_BYTES == 4
#define LANE_TREE(COMBINE, LEAF)                                                                                       \
    COMBINE(COMBINE(COLUMN_TREE(COMBINE, LEAF, x, 0), COLUMN_TREE(COMBINE, LEAF, y, 1)),                               \
            COMBINE(COLUMN_TREE(COMBINE, LEAF, z, 2), COLUMN_TREE(COMBINE, LEAF, w, 3)))
typedef strata_uint4 lane_elements;
#else
#define LANE_TREE(COMBINE, LEAF) COMBINE(COLUMN_TREE(COMBINE, LEAF, x, 0), COLUMN_TREE(COMBINE, LEAF, y, 1))
typedef strata_ulong2 lane_elements;
#endif

FUNCTION element load_element(GLOBAL const uchar *from) {
#if REDUCE_ALIGNMENT >= ELEMENT_BYTES
    return *(GLOBAL const element *)from;
#else
    element bits;
    uchar *to = (uchar *)&bits;
    for (uint i = 0; i < ELEMENT_BYTES; i++)
        to[i] = from[i];
    return bits;
#endif
}

FUNCTION lane_elements load_lane(GLOBAL const uchar *from) {
#if REDUCE_ALIGNMENT >= 16
    return *(GLOBAL const lane_elements *)from;
#else
    lane_elements elements;
    elements.x = load_element(from);
    elements.y = load_element(from + ELEMENT_BYTES);
#if ELEMENT_BYTES == 4
    elements.z = load_element(from + 8);
    elements.w = load_element(from + 12);
#endif
    return elements;
#endif
}

/* One lane's leaf of a tile that is full. */
FUNCTION reduce_leaf full_lane(GLOBAL const uchar *tile, uint lane) {
    GLOBAL const uchar *from = tile + 16u * lane;
    lane_elements row0 = load_lane(from);
    lane_elements row1 = load_lane(from + ROW_BYTES);
    lane_elements row2 = load_lane(from + 2u * ROW_BYTES);
    lane_elements row3 = load_lane(from + 3u * ROW_BYTES);
    uint column = lane * COLUMNS_PER_LANE;
#define FULL_LEAF(r, member, j) leaf_of(row##r.member, column + r * COLUMNS + j)
    return LANE_TREE(combine_leaves, FULL_LEAF);
}

FUNCTION reduce_leaf masked_leaf(GLOBAL const uchar *tile, uint index, uint count) {
    if (index >= count)
        return identity_leaf();
    return leaf_of(load_element(tile + index * ELEMENT_BYTES), index);
}

/* One lane's leaf of a tile of which only `count` elements are there. */
FUNCTION reduce_leaf partial_lane(GLOBAL const uchar *tile, uint lane, uint count) {
    uint column = lane * COLUMNS_PER_LANE;
#define MASKED_LEAF(r, member, j) masked_leaf(tile, column + r * COLUMNS + j, count)
    return LANE_TREE(combine_leaves, MASKED_LEAF);
}

/* The records of one level lie in a region of the scratch buffer: `capacity` values in the region's first half, and in
 * its second as many companions (the low part of a pair, or the index), 8 bytes set apart for each. */
FUNCTION void store_record(GLOBAL uchar *region, ulong capacity, ulong index, reduce_record record) {
    GLOBAL record_value *values = (GLOBAL record_value *)region;
#if IS_PAIRED || IS_ARG
    GLOBAL record_value *companions = (GLOBAL record_value *)(region + 8 * capacity);
    values[index] = record.x;
    companions[index] = record.y;
#else
    values[index] = record;
    (void)capacity;
#endif
}

/* Record `index` of a region of `count`, or the identity behind its end; written by an earlier launch. */
FUNCTION reduce_record settled_record(GLOBAL const uchar *region, ulong index, ulong count) {
    GLOBAL const record_value *values = (GLOBAL const record_value *)region;
#if IS_PAIRED || IS_ARG
    GLOBAL const record_value *companions = (GLOBAL const record_value *)(region + 8 * count);
    reduce_record record = identity_record();
    if (index < count) {
        record.x = values[index];
        record.y = companions[index];
    }
    return record;
#else
    return index < count ? values[index] : IDENTITY;
#endif
}

/* One lane's record of a tile of records; `count` records there are in all. */
FUNCTION reduce_record record_lane(GLOBAL const uchar *region, ulong tile, uint lane, ulong count) {
    ulong first = tile * TILE + lane * COLUMNS_PER_LANE;
#define TILE_RECORD(r, member, j) settled_record(region, first + r * COLUMNS + j, count)
    return LANE_TREE(combine_records, TILE_RECORD);
}

#if REDUCE_FORM == FORM_GROUP

/* A lane's records in one row, loaded at once. */
typedef struct __attribute__((aligned(COLUMNS_PER_LANE * sizeof(record_value)))) {
    record_value column[COLUMNS_PER_LANE];
} record_row;

FUNCTION reduce_record record_from(record_value value, record_value companion) {
    reduce_record record;
#if IS_PAIRED || IS_ARG
    record.x = value;
    record.y = companion;
#else
    record = value;
    (void)companion;
#endif
    return record;
}

/* The same as record_lane for a tile that is full; 4 divides `count`, so that
 * rows are aligned in both halves of the region. */
FUNCTION reduce_record full_record_lane(GLOBAL const uchar *region, ulong tile, uint lane, ulong count) {
    ulong first = tile * TILE + lane * COLUMNS_PER_LANE;
    GLOBAL const record_value *values = (GLOBAL const record_value *)region + first;
#define VALUE_ROW(r) record_row value##r = *(GLOBAL const record_row *)(values + r * COLUMNS)
    VALUE_ROW(0);
    VALUE_ROW(1);
    VALUE_ROW(2);
    VALUE_ROW(3);
#if IS_PAIRED || IS_ARG
    GLOBAL const record_value *companions = (GLOBAL const record_value *)(region + 8 * count) + first;
#define COMPANION_ROW(r) record_row companion##r = *(GLOBAL const record_row *)(companions + r * COLUMNS)
    COMPANION_ROW(0);
    COMPANION_ROW(1);
    COMPANION_ROW(2);
    COMPANION_ROW(3);
#define FULL_RECORD(r, member, j) record_from(value##r.column[j], companion##r.column[j])
#else
    (void)count;
#define FULL_RECORD(r, member, j) record_from(value##r.column[j], 0)
#endif
    return LANE_TREE(combine_records, FULL_RECORD);
}

#endif

/* Byte by byte, so that the result may lie anywhere. */
FUNCTION void store_result(GLOBAL uchar *result, reduce_record record) {
    result_bits bits = result_of(record);
    const uchar *from = (const uchar *)&bits;
    for (uint i = 0; i < RESULT_BYTES; i++)
        result[i] = from[i];
}

#endif
