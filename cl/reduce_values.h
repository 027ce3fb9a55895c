/* What is reduced: for the chosen operation and type, the element, leaf and record types and how two of them combine.
 *
 * REDUCE_OPERATION, REDUCE_TYPE and REDUCE_ALIGNMENT come from the compiler's options; their numbers are those of
 * strata/primitives.h. Three kinds of value pass through the tree:
 *   element  the bits in memory, an unsigned integer of the element's size;
 *   leaf     what an element becomes inside its tile;
 *   record   what a tile leaves behind, and what the levels above combine.
 *
 * operation, type         leaf                        record                       combine
 * sum, product of ints    64 bits, modulo 2^64        the same                     + or *, exact in any order
 * sum of f32, f64         the value                   (high, low)                  leaf: +; record: exact two-sum
 * product of f32, f64     the value                   the same                     *
 * min, max                an ordered key              the same                     the better key, exact in any order
 * arg-min, arg-max        key, index in the tile      key, index in all elements   the better key, then the lower index
 *
 * The key of a float is its bits turned into a signed integer of the same order, in which -0 is below +0; every NaN
 * has the one key that beats all others. So NaN, zeros, infinities and subnormals need no floating-point comparison,
 * and no device's treatment of subnormals can change an answer. */
#ifndef STRATA_REDUCE_VALUES_H
#define STRATA_REDUCE_VALUES_H

#define OPERATION_SUM 1
#define OPERATION_PRODUCT 2
#define OPERATION_MIN 3
#define OPERATION_MAX 4
#define OPERATION_ARG_MIN 5
#define OPERATION_ARG_MAX 6
#define TYPE_I32 1
#define TYPE_U32 2
#define TYPE_I64 3
#define TYPE_U64 4
#define TYPE_F32 5
#define TYPE_F64 6

#define IS_FLOATING (REDUCE_TYPE == TYPE_F32 || REDUCE_TYPE == TYPE_F64)
#define IS_ARITHMETIC (REDUCE_OPERATION == OPERATION_SUM || REDUCE_OPERATION == OPERATION_PRODUCT)
#define IS_ARG (REDUCE_OPERATION == OPERATION_ARG_MIN || REDUCE_OPERATION == OPERATION_ARG_MAX)
#define IS_LOW_BETTER (REDUCE_OPERATION == OPERATION_MIN || REDUCE_OPERATION == OPERATION_ARG_MIN)
/* The order in which floats are added and multiplied shows in the result; everything else is exact in any order. */
#define IS_ORDERED (IS_ARITHMETIC && IS_FLOATING)
#define IS_PAIRED (REDUCE_OPERATION == OPERATION_SUM && IS_FLOATING)

#if IS_ORDERED && REDUCE_TYPE == TYPE_F64
#define STRATA_USE_DOUBLE
#endif
#include "portable.h"

#if REDUCE_TYPE == TYPE_I32 || REDUCE_TYPE == TYPE_U32 || REDUCE_TYPE == TYPE_F32
#define ELEMENT_BYTES 4
typedef uint element;
#else
#define ELEMENT_BYTES 8
typedef ulong element;
#endif

#if IS_ORDERED && REDUCE_TYPE == TYPE_F32
typedef float reduce_value;
#elif IS_ORDERED
typedef double reduce_value;
#elif IS_ARITHMETIC
typedef ulong reduce_value;
#elif REDUCE_TYPE == TYPE_I32 || REDUCE_TYPE == TYPE_F32
typedef int reduce_value;
#define LOWEST_KEY ((int)0x80000000)
#define HIGHEST_KEY 0x7fffffff
#elif REDUCE_TYPE == TYPE_U32
typedef uint reduce_value;
#define LOWEST_KEY 0u
#define HIGHEST_KEY 0xffffffffu
#elif REDUCE_TYPE == TYPE_I64 || REDUCE_TYPE == TYPE_F64
typedef strata_long reduce_value;
#define LOWEST_KEY ((strata_long)0x8000000000000000)
#define HIGHEST_KEY ((strata_long)0x7fffffffffffffff)
#else
typedef ulong reduce_value;
#define LOWEST_KEY ((ulong)0)
#define HIGHEST_KEY ((ulong)0xffffffffffffffff)
#endif

#if REDUCE_TYPE == TYPE_F32
#define SIGN_SHIFT 31
#define MAGNITUDE_BITS 0x7fffffffu
#define INFINITY_BITS 0x7f800000u
#define NAN_BITS 0x7fc00000u
#define BITS_OF_VALUE(value) bits_of_float(value)
#elif REDUCE_TYPE == TYPE_F64
#define SIGN_SHIFT 63
#define MAGNITUDE_BITS ((ulong)0x7fffffffffffffff)
#define INFINITY_BITS ((ulong)0x7ff0000000000000)
#define NAN_BITS ((ulong)0x7ff8000000000000)
#define BITS_OF_VALUE(value) bits_of_double(value)
#endif

/* What fills a tile up where the input has ended: it changes no result. */
#if IS_PAIRED && REDUCE_TYPE == TYPE_F32
#define IDENTITY (-0.0f)
#elif IS_PAIRED
#define IDENTITY (-0.0)
#elif REDUCE_OPERATION == OPERATION_SUM
#define IDENTITY ((reduce_value)0)
#elif REDUCE_OPERATION == OPERATION_PRODUCT
#define IDENTITY ((reduce_value)1)
#elif IS_LOW_BETTER
#define IDENTITY HIGHEST_KEY
#else
#define IDENTITY LOWEST_KEY
#endif

#if REDUCE_OPERATION == OPERATION_SUM
#define COMBINE_VALUES(a, b) ((a) + (b))
#elif REDUCE_OPERATION == OPERATION_PRODUCT
#define COMBINE_VALUES(a, b) ((a) * (b))
#elif IS_LOW_BETTER
#define IS_BETTER(a, b) ((a) < (b))
#define NAN_KEY LOWEST_KEY
#else
#define IS_BETTER(a, b) ((a) > (b))
#define NAN_KEY HIGHEST_KEY
#endif

FUNCTION reduce_value value_of(element bits) {
#if IS_ORDERED && REDUCE_TYPE == TYPE_F32
    return float_of_bits(bits);
#elif IS_ORDERED
    return double_of_bits(bits);
#elif IS_FLOATING
    reduce_value number = (reduce_value)bits;
    reduce_value key = number ^ ((number >> SIGN_SHIFT) & (reduce_value)MAGNITUDE_BITS);
    return (bits & MAGNITUDE_BITS) > INFINITY_BITS ? NAN_KEY : key;
#elif IS_ARITHMETIC && REDUCE_TYPE == TYPE_I32
    return (ulong)(strata_long)(int)bits;
#else
    return (reduce_value)bits;
#endif
}

/* Leaves and records are scalars or vectors and no structs: where structs are passed by value, Oclgrind meets words of
 * LLVM that it does not know. */
#if IS_ARG && (REDUCE_TYPE == TYPE_U32)
typedef uint2 reduce_leaf; /* key, index */
typedef strata_ulong2 reduce_record;
typedef ulong record_value;
#elif IS_ARG && ELEMENT_BYTES == 4
typedef int2 reduce_leaf;
typedef strata_long2 reduce_record;
typedef strata_long record_value;
#elif IS_ARG && REDUCE_TYPE == TYPE_U64
typedef strata_ulong2 reduce_leaf;
typedef strata_ulong2 reduce_record;
typedef ulong record_value;
#elif IS_ARG
typedef strata_long2 reduce_leaf;
typedef strata_long2 reduce_record;
typedef strata_long record_value;
#elif IS_PAIRED && REDUCE_TYPE == TYPE_F32
typedef float reduce_leaf;
typedef float2 reduce_record; /* high, low */
typedef float record_value;
#elif IS_PAIRED
typedef double reduce_leaf;
typedef double2 reduce_record;
typedef double record_value;
#else
typedef reduce_value reduce_leaf;
typedef reduce_value reduce_record;
typedef reduce_value record_value;
#endif

#if (IS_ORDERED && REDUCE_TYPE == TYPE_F32) || (!IS_ARITHMETIC && !IS_ARG && ELEMENT_BYTES == 4)
#define RECORD_VALUE_BYTES 4
#else
#define RECORD_VALUE_BYTES 8
#endif

/* An index below any tile's count is lower than this, and so is any in memory. */
#define NO_INDEX 0x7fffffff
#if IS_ARG
#define NO_COMPANION 0x7fffffffffffffff
#else
#define NO_COMPANION 0
#endif

/* In the low RECORD_VALUE_BYTES. */
FUNCTION ulong bits_of_record_value(record_value value) {
#if IS_ORDERED
    return BITS_OF_VALUE(value);
#elif RECORD_VALUE_BYTES == 4
    return (uint)value;
#else
    return (ulong)value;
#endif
}

FUNCTION record_value record_value_of_bits(ulong bits) {
#if IS_ORDERED && REDUCE_TYPE == TYPE_F32
    return float_of_bits((uint)bits);
#elif IS_ORDERED
    return double_of_bits(bits);
#elif RECORD_VALUE_BYTES == 4
    return (record_value)(uint)bits;
#else
    return (record_value)bits;
#endif
}

FUNCTION reduce_leaf identity_leaf(void) {
#if IS_ARG
    reduce_leaf leaf;
    leaf.x = IDENTITY;
    leaf.y = NO_INDEX;
    return leaf;
#else
    return IDENTITY;
#endif
}

FUNCTION reduce_record identity_record(void) {
#if IS_PAIRED || IS_ARG
    reduce_record record;
    record.x = IDENTITY;
    record.y = NO_COMPANION;
    return record;
#else
    return IDENTITY;
#endif
}

FUNCTION reduce_leaf leaf_of(element bits, uint index) {
#if IS_ARG
    reduce_leaf leaf;
    leaf.x = value_of(bits);
    leaf.y = index;
    return leaf;
#else
    (void)index;
    return value_of(bits);
#endif
}

FUNCTION reduce_leaf combine_leaves(reduce_leaf a, reduce_leaf b) {
#if IS_ARITHMETIC
    return COMBINE_VALUES(a, b);
#elif IS_ARG
    bool second = IS_BETTER(b.x, a.x) || (a.x == b.x && b.y < a.y);
    reduce_leaf leaf;
    leaf.x = second ? b.x : a.x;
    leaf.y = second ? b.y : a.y;
    return leaf;
#else
    return IS_BETTER(b, a) ? b : a;
#endif
}

/* `base` is the index of the tile's first element in all elements. */
FUNCTION reduce_record record_of(reduce_leaf leaf, ulong base) {
#if IS_PAIRED
    (void)base;
    reduce_record record;
    record.x = leaf;
    record.y = 0;
    return record;
#elif IS_ARG
    reduce_record record;
    record.x = leaf.x;
    record.y = (record_value)base + leaf.y;
    return record;
#else
    (void)base;
    return leaf;
#endif
}

FUNCTION reduce_record combine_records(reduce_record a, reduce_record b) {
#if IS_PAIRED
    /* Two-sum: sum + error is a.x + b.x exactly, wherever the sum is finite. */
    record_value sum = a.x + b.x;
    record_value part = sum - a.x;
    record_value error = (a.x - (sum - part)) + (b.x - part);
    reduce_record record;
    record.x = sum;
    record.y = (a.y + b.y) + error;
    return record;
#elif IS_ARITHMETIC
    return COMBINE_VALUES(a, b);
#elif IS_ARG
    bool second = IS_BETTER(b.x, a.x) || (a.x == b.x && b.y < a.y);
    reduce_record record;
    record.x = second ? b.x : a.x;
    record.y = second ? b.y : a.y;
    return record;
#else
    return IS_BETTER(b, a) ? b : a;
#endif
}

/* The bits of the result that the last record stands for, in the low bytes; RESULT_BYTES of them count. */
#if IS_ARG || (IS_ARITHMETIC && !IS_FLOATING) || ELEMENT_BYTES == 8
#define RESULT_BYTES 8
typedef ulong result_bits;
#else
#define RESULT_BYTES 4
typedef uint result_bits;
#endif

FUNCTION result_bits result_of(reduce_record record) {
#if IS_ARG
    return (result_bits)record.y;
#elif IS_ORDERED
#if IS_PAIRED
    /* In the bits and not by isnan: low is not finite where the sum has overflowed, and then says nothing. */
    result_bits low = BITS_OF_VALUE(record.y) & MAGNITUDE_BITS;
    result_bits bits = BITS_OF_VALUE(low != 0 && low < INFINITY_BITS ? record.x + record.y : record.x);
#else
    result_bits bits = BITS_OF_VALUE(record);
#endif
    return (bits & MAGNITUDE_BITS) > INFINITY_BITS ? NAN_BITS : bits;
#elif IS_FLOATING
    result_bits bits = (result_bits)(record ^ ((record >> SIGN_SHIFT) & (reduce_value)MAGNITUDE_BITS));
    return (bits & MAGNITUDE_BITS) > INFINITY_BITS ? NAN_BITS : bits;
#else
    return (result_bits)record;
#endif
}

#endif
