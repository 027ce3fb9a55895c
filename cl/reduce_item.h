/* Whole tiles by one work-item, for CPU devices: wide vectors, no barrier, the tree of reduce_tree.h in another order.
 * Vectors are taken apart by their elements and not by swizzles, of which Oclgrind's check for uninitialized memory
 * understands few; compilers make the same shuffles of both.
 *
 * Sums and products of floats follow the tree's shape exactly. A helper that has a 64-byte vector in its signature lets
 * LLVM use 64-byte registers. All other operations are exact in any order, so they run down the tile with four
 * accumulators. */
#ifndef STRATA_REDUCE_ITEM_H
#define STRATA_REDUCE_ITEM_H

#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)

/* 64 bytes as they lie in memory, at any address that REDUCE_ALIGNMENT divides. */
#if ELEMENT_BYTES == 4
#define WIDTH 16
typedef uint16 element_block;
typedef int16 block_mask;
#else
#define WIDTH 8
typedef ulong8 element_block;
typedef long8 block_mask;
#endif
typedef element_block loose_block __attribute__((aligned(REDUCE_ALIGNMENT)));

FUNCTION element_block load_block(GLOBAL const uchar *from) { return *(GLOBAL const loose_block *)from; }

/* Asks for the same columns of the next tile, whose four rows begin four pages at once. PoCL's own prefetch() does
 * nothing, and its devices of this form have one address space. Worth 2 to 4 % there. */
#ifdef POCL_DEVICE_ADDRESS_BITS
#define PREFETCH(from) __builtin_prefetch((const void *)(size_t)(from))
#else
#define PREFETCH(from)
#endif
FUNCTION void prefetch_next_tile(GLOBAL const uchar *from) {
    PREFETCH(from + TILE_BYTES);
    PREFETCH(from + TILE_BYTES + ROW_BYTES);
    PREFETCH(from + TILE_BYTES + 2 * ROW_BYTES);
    PREFETCH(from + TILE_BYTES + 3 * ROW_BYTES);
    (void)from;
}

/* A tile as straight-line code is no faster on PoCL, and takes 45 times as long to compile on llvmpipe. */
#ifdef POCL_DEVICE_ADDRESS_BITS
#define NOT_UNROLLED _Pragma("clang loop unroll(disable)")
#else
#define NOT_UNROLLED
#endif

#if IS_ORDERED && ELEMENT_BYTES == 4

/* 16 neighbouring columns. */
FUNCTION float16 columns(GLOBAL const uchar *from) {
    prefetch_next_tile(from);
    float16 row0 = as_float16(load_block(from));
    float16 row1 = as_float16(load_block(from + ROW_BYTES));
    float16 row2 = as_float16(load_block(from + 2 * ROW_BYTES));
    float16 row3 = as_float16(load_block(from + 3 * ROW_BYTES));
    return COMBINE_VALUES(COMBINE_VALUES(row0, row1), COMBINE_VALUES(row2, row3));
}

/* Within each 16 bytes: x + y of a, z + w of a, x + y of b, z + w of b. */
FUNCTION float16 fold(float16 a, float16 b) {
    float16 even = (float16)(a.s0, a.s2, b.s0, b.s2, a.s4, a.s6, b.s4, b.s6, /* */
                             a.s8, a.sa, b.s8, b.sa, a.sc, a.se, b.sc, b.se);
    float16 odd = (float16)(a.s1, a.s3, b.s1, b.s3, a.s5, a.s7, b.s5, b.s7, /* */
                            a.s9, a.sb, b.s9, b.sb, a.sd, a.sf, b.sd, b.sf);
    return COMBINE_VALUES(even, odd);
}

/* 64 neighbouring columns, which are 16 lanes: lane 4 * b + q of them stands at element 4 * q + b. */
FUNCTION float16 lanes16(GLOBAL const uchar *tile, uint k) {
    GLOBAL const uchar *from = tile + 256 * k;
    return fold(fold(columns(from), columns(from + 64)), fold(columns(from + 128), columns(from + 192)));
}

FUNCTION reduce_leaf item_tile(GLOBAL const uchar *tile, reduce_leaf *best) {
    float16 part[8];
    (void)best;
    NOT_UNROLLED
    for (uint k = 0; k < 8; k++)
        part[k] = lanes16(tile, k);
    NOT_UNROLLED
    for (uint k = 0; k < 8; k++)
        part[k] = COMBINE_VALUES(part[k], lanes16(tile, k + 8));
    float16 even = COMBINE_VALUES(COMBINE_VALUES(part[0], part[4]), COMBINE_VALUES(part[2], part[6]));
    float16 odd = COMBINE_VALUES(COMBINE_VALUES(part[1], part[5]), COMBINE_VALUES(part[3], part[7]));
    float16 lanes = COMBINE_VALUES(even, odd);
    float8 low8 = (float8)(lanes.s0, lanes.s1, lanes.s4, lanes.s5, lanes.s8, lanes.s9, lanes.sc, lanes.sd);
    float8 high8 = (float8)(lanes.s2, lanes.s3, lanes.s6, lanes.s7, lanes.sa, lanes.sb, lanes.se, lanes.sf);
    float8 half8 = COMBINE_VALUES(low8, high8);
    float4 even4 = (float4)(half8.s0, half8.s2, half8.s4, half8.s6);
    float4 odd4 = (float4)(half8.s1, half8.s3, half8.s5, half8.s7);
    float4 half4 = COMBINE_VALUES(even4, odd4);
    return COMBINE_VALUES(COMBINE_VALUES(half4.s0, half4.s2), COMBINE_VALUES(half4.s1, half4.s3));
}

#elif IS_ORDERED

/* 8 neighbouring columns. */
FUNCTION double8 columns(GLOBAL const uchar *from) {
    prefetch_next_tile(from);
    double8 row0 = as_double8(load_block(from));
    double8 row1 = as_double8(load_block(from + ROW_BYTES));
    double8 row2 = as_double8(load_block(from + 2 * ROW_BYTES));
    double8 row3 = as_double8(load_block(from + 3 * ROW_BYTES));
    return COMBINE_VALUES(COMBINE_VALUES(row0, row1), COMBINE_VALUES(row2, row3));
}

/* 16 neighbouring columns, which are 8 lanes: lane 4 * b + q of them stands at element 2 * q + b. */
FUNCTION double8 lanes8(GLOBAL const uchar *tile, uint k) {
    double8 a = columns(tile + 128 * k);
    double8 b = columns(tile + 128 * k + 64);
    double8 even = (double8)(a.s0, b.s0, a.s2, b.s2, a.s4, b.s4, a.s6, b.s6);
    double8 odd = (double8)(a.s1, b.s1, a.s3, b.s3, a.s5, b.s5, a.s7, b.s7);
    return COMBINE_VALUES(even, odd);
}

FUNCTION reduce_leaf item_tile(GLOBAL const uchar *tile, reduce_leaf *best) {
    double8 part[16];
    (void)best;
    NOT_UNROLLED
    for (uint k = 0; k < 16; k++)
        part[k] = lanes8(tile, k);
    NOT_UNROLLED
    for (uint k = 0; k < 16; k++)
        part[k] = COMBINE_VALUES(part[k], lanes8(tile, k + 16));
    for (uint reach = 8; reach > 0; reach /= 2)
        for (uint k = 0; k < reach; k++)
            part[k] = COMBINE_VALUES(part[k], part[k + reach]);
    double8 lanes = part[0];
    double4 even4 = (double4)(lanes.s0, lanes.s2, lanes.s4, lanes.s6);
    double4 odd4 = (double4)(lanes.s1, lanes.s3, lanes.s5, lanes.s7);
    double4 half4 = COMBINE_VALUES(even4, odd4);
    return COMBINE_VALUES(COMBINE_VALUES(half4.s0, half4.s2), COMBINE_VALUES(half4.s1, half4.s3));
}

#else

#if IS_ARITHMETIC || REDUCE_TYPE == TYPE_U64
#define VALUE_NAME ulong
#elif REDUCE_TYPE == TYPE_U32
#define VALUE_NAME uint
#elif ELEMENT_BYTES == 4
#define VALUE_NAME int
#else
#define VALUE_NAME long
#endif
typedef PASTE(VALUE_NAME, WIDTH) value_block;

FUNCTION value_block values_of(element_block bits) {
#if IS_FLOATING && ELEMENT_BYTES == 4
    value_block number = as_int16(bits);
    value_block key = number ^ ((number >> SIGN_SHIFT) & (reduce_value)MAGNITUDE_BITS);
    return select(key, (value_block)NAN_KEY, (bits & MAGNITUDE_BITS) > INFINITY_BITS);
#elif IS_FLOATING
    value_block number = as_long8(bits);
    value_block key = number ^ ((number >> SIGN_SHIFT) & (reduce_value)MAGNITUDE_BITS);
    return select(key, (value_block)NAN_KEY, (bits & MAGNITUDE_BITS) > INFINITY_BITS);
#elif IS_ARITHMETIC && REDUCE_TYPE == TYPE_I32
    return convert_ulong16(convert_long16(as_int16(bits)));
#elif IS_ARITHMETIC && REDUCE_TYPE == TYPE_U32
    return convert_ulong16(bits);
#elif IS_ARITHMETIC || REDUCE_TYPE == TYPE_U32 || REDUCE_TYPE == TYPE_U64
    return bits;
#elif ELEMENT_BYTES == 4
    return as_int16(bits);
#else
    return as_long8(bits);
#endif
}

#if IS_ARITHMETIC
#define COMBINE_BLOCKS(a, b) COMBINE_VALUES(a, b)
#elif IS_LOW_BETTER
#define COMBINE_BLOCKS(a, b) min(a, b)
#else
#define COMBINE_BLOCKS(a, b) max(a, b)
#endif

FUNCTION reduce_value fold_block(value_block v) {
    typedef PASTE(VALUE_NAME, 4) quarter;
    quarter low = (quarter)(v.s0, v.s1, v.s2, v.s3), high = (quarter)(v.s4, v.s5, v.s6, v.s7);
#if WIDTH == 16
    low = COMBINE_BLOCKS(low, (quarter)(v.s8, v.s9, v.sa, v.sb));
    high = COMBINE_BLOCKS(high, (quarter)(v.sc, v.sd, v.se, v.sf));
#endif
    low = COMBINE_BLOCKS(low, high);
    return COMBINE_BLOCKS(COMBINE_BLOCKS(low.s0, low.s1), COMBINE_BLOCKS(low.s2, low.s3));
}

FUNCTION value_block values_at(GLOBAL const uchar *from) { return values_of(load_block(from)); }

#if IS_ARG
/* The index of the first element of the tile that has this key; the tile, just read, is still in the cache. */
FUNCTION uint index_of(GLOBAL const uchar *tile, reduce_value key) {
    uint block = 0;
    while (block + 64 < TILE_BYTES && !any(values_at(tile + block) == (value_block)key))
        block += 64;
    uint index = block / ELEMENT_BYTES;
    while (index + 1 < TILE && value_of(load_element(tile + index * ELEMENT_BYTES)) != key)
        index++;
    return index;
}
#endif

FUNCTION reduce_value best_or_total(GLOBAL const uchar *tile) {
    value_block row0 = values_at(tile);
    value_block row1 = values_at(tile + ROW_BYTES);
    value_block row2 = values_at(tile + 2 * ROW_BYTES);
    value_block row3 = values_at(tile + 3 * ROW_BYTES);
    for (uint i = 64; i < ROW_BYTES; i += 64) {
        prefetch_next_tile(tile + i);
        row0 = COMBINE_BLOCKS(row0, values_at(tile + i));
        row1 = COMBINE_BLOCKS(row1, values_at(tile + ROW_BYTES + i));
        row2 = COMBINE_BLOCKS(row2, values_at(tile + 2 * ROW_BYTES + i));
        row3 = COMBINE_BLOCKS(row3, values_at(tile + 3 * ROW_BYTES + i));
    }
    return fold_block(COMBINE_BLOCKS(COMBINE_BLOCKS(row0, row1), COMBINE_BLOCKS(row2, row3)));
}

#if IS_ARG
/* The index is looked for only where the tile beats the best that its work-item had before: else the tile cannot hold
 * the answer, since the former best has the lower index, and 0 does for an index. */
FUNCTION reduce_leaf item_tile(GLOBAL const uchar *tile, reduce_leaf *best) {
    reduce_leaf leaf;
    leaf.x = best_or_total(tile);
    leaf.y = 0;
    if (best->y == NO_INDEX || IS_BETTER(leaf.x, best->x)) {
        leaf.y = index_of(tile, leaf.x);
        *best = leaf;
    }
    return leaf;
}
#else
FUNCTION reduce_leaf item_tile(GLOBAL const uchar *tile, reduce_leaf *best) {
    (void)best;
    return best_or_total(tile);
}
#endif

#endif
#endif
