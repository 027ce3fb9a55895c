/* What a reduction must give, to the bit: the tree as documented, literally and slowly, without strata's code; and the
 * inputs on which trees go wrong. */
#ifndef STRATA_TESTS_REDUCE_REFERENCE_H
#define STRATA_TESTS_REDUCE_REFERENCE_H

#include "strata/primitives.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define REFERENCE_TILE_BYTES 16384
#define REFERENCE_MOST_TILE 4096

/* A float is held in a double here: sums and products of two floats, taken in double and rounded once more to float,
 * are what float arithmetic gives, since 53 bits are more than twice 24 and two. */
struct reference_pair {
    double high, low;
};

static inline double reference_round(enum strata_type type, double value) {
    return type == STRATA_F32 ? (double)(float)value : value;
}

static inline double reference_value(enum strata_type type, double value) {
    volatile double stored = value; /* so that nothing is contracted to a fused multiply-add */
    return reference_round(type, stored);
}

static inline struct reference_pair reference_combine(enum strata_reduce_op op, enum strata_type type, bool records,
                                                      struct reference_pair a, struct reference_pair b) {
    if (op == STRATA_PRODUCT)
        return (struct reference_pair){reference_value(type, a.high * b.high), 0};
    double sum = reference_value(type, a.high + b.high);
    if (!records)
        return (struct reference_pair){sum, 0};
    double part = reference_value(type, sum - a.high);
    double rest = reference_value(type, sum - part);
    double a_error = reference_value(type, a.high - rest), b_error = reference_value(type, b.high - part);
    double low = reference_value(type, a.low + b.low);
    return (struct reference_pair){sum, reference_value(type, low + reference_value(type, a_error + b_error))};
}

/* One tile of `tile` values, of elements or of records. */
static inline struct reference_pair reference_tile(enum strata_reduce_op op, enum strata_type type, bool records,
                                                   const struct reference_pair *values, size_t tile) {
    static struct reference_pair columns[REFERENCE_MOST_TILE / 4], lanes[256];
    size_t width = tile / 4, per_lane = width / 256;
#define PLUS(a, b) reference_combine(op, type, records, a, b)
    for (size_t i = 0; i < width; i++)
        columns[i] = PLUS(PLUS(values[i], values[width + i]), PLUS(values[2 * width + i], values[3 * width + i]));
    for (size_t lane = 0; lane < 256; lane++) {
        const struct reference_pair *c = columns + per_lane * lane;
        lanes[lane] = per_lane == 4 ? PLUS(PLUS(c[0], c[1]), PLUS(c[2], c[3])) : PLUS(c[0], c[1]);
    }
    for (size_t half = 128; half > 0; half /= 2)
        for (size_t lane = 0; lane < half; lane++)
            lanes[lane] = PLUS(lanes[lane], lanes[lane + half]);
#undef PLUS
    return lanes[0];
}

/* Reduces `count` values in place, level by level; `values` has room for whole tiles. */
static inline double reference_tree(enum strata_reduce_op op, enum strata_type type, struct reference_pair *values,
                                    size_t count) {
    size_t tile = REFERENCE_TILE_BYTES / strata_type_size(type);
    bool records = false;
    do {
        size_t tiles = (count + tile - 1) / tile;
        for (size_t i = count; i < tiles * tile; i++)
            values[i] = (struct reference_pair){op == STRATA_SUM ? -0.0 : 1.0, 0};
        for (size_t i = 0; i < tiles; i++)
            values[i] = reference_tile(op, type, records, values + i * tile, tile);
        count = tiles;
        records = true;
    } while (count > 1);
    double low = values[0].low;
    return op == STRATA_SUM && isfinite(low) && low != 0 ? reference_round(type, values[0].high + low)
                                                          : values[0].high;
}

static inline double reference_element(enum strata_type type, const void *data, size_t i) {
    return type == STRATA_F32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

static inline uint64_t reference_bits(enum strata_type type, double value) {
    float narrow = (float)value;
    uint32_t bits32;
    uint64_t bits64;
    memcpy(&bits32, &narrow, sizeof bits32);
    memcpy(&bits64, &value, sizeof bits64);
    if (isnan(value))
        return type == STRATA_F32 ? UINT64_C(0x7fc00000) : UINT64_C(0x7ff8000000000000);
    return type == STRATA_F32 ? bits32 : bits64;
}

static inline uint64_t reference_integer(enum strata_type type, const void *data, size_t i) {
    switch (type) {
    case STRATA_I32: return (uint64_t)(int64_t)((const int32_t *)data)[i];
    case STRATA_U32: return ((const uint32_t *)data)[i];
    default: return ((const uint64_t *)data)[i];
    }
}

/* Whether element a comes before element b when the smallest (or, not `low`, the largest) is wanted: any NaN before any
 * number, -0 below +0. */
static inline bool reference_better(enum strata_type type, const void *data, bool low, size_t a, size_t b) {
    if (type == STRATA_F32 || type == STRATA_F64) {
        double x = reference_element(type, data, a), y = reference_element(type, data, b);
        if (isnan(x) || isnan(y))
            return isnan(x) && !isnan(y);
        if (x == y)
            return low ? signbit(x) && !signbit(y) : !signbit(x) && signbit(y);
        return low ? x < y : x > y;
    }
    uint64_t x = reference_integer(type, data, a), y = reference_integer(type, data, b);
    if (type == STRATA_I32 || type == STRATA_I64)
        return low ? (int64_t)x < (int64_t)y : (int64_t)x > (int64_t)y;
    return low ? x < y : x > y;
}

/* The bits of the result in the low bytes; `count` is not 0. */
static inline uint64_t reference_reduce(enum strata_reduce_op op, enum strata_type type, const void *data,
                                        size_t count) {
    bool is_float = type == STRATA_F32 || type == STRATA_F64;
    if (op == STRATA_SUM || op == STRATA_PRODUCT) {
        if (is_float) {
            size_t tile = REFERENCE_TILE_BYTES / strata_type_size(type);
            struct reference_pair *values = calloc((count + tile) / tile * tile + tile, sizeof *values);
            if (!values)
                abort();
            for (size_t i = 0; i < count; i++)
                values[i].high = reference_element(type, data, i);
            double result = reference_tree(op, type, values, count);
            free(values);
            return reference_bits(type, result);
        }
        uint64_t result = op == STRATA_PRODUCT;
        for (size_t i = 0; i < count; i++)
            result = op == STRATA_SUM ? result + reference_integer(type, data, i)
                                      : result * reference_integer(type, data, i);
        return result;
    }
    bool low = op == STRATA_MIN || op == STRATA_ARG_MIN;
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (reference_better(type, data, low, i, best))
            best = i;
    if (op == STRATA_ARG_MIN || op == STRATA_ARG_MAX)
        return best;
    if (is_float)
        return reference_bits(type, reference_element(type, data, best));
    uint64_t value = reference_integer(type, data, best);
    return strata_type_size(type) == 4 ? (uint32_t)value : value;
}

/* Inputs: numbers of one size, of every size, of huge ones that cancel, with NaNs, and with special values. */
enum reference_input {
    REFERENCE_UNIFORM,
    REFERENCE_WIDE,
    REFERENCE_CANCELLING,
    REFERENCE_NANS,
    REFERENCE_SPECIAL,
    REFERENCE_INPUTS
};

static inline uint64_t reference_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

static inline double reference_number(enum reference_input input, uint64_t random) {
    double unit = (double)(random >> 11) * 0x1p-53;
    static const double special[] = {-0.0, 0.0, 1, -1, 1e-40, -1e-40, 3e38, -3e38};
    switch (input) {
    case REFERENCE_WIDE: return ldexp(unit - 0.5, (int)(random % 200) - 100);
    case REFERENCE_CANCELLING: return random % 4 == 0 ? 1e8 : random % 4 == 1 ? -1e8 : unit;
    case REFERENCE_NANS: return random % 1000 == 0 ? (double)NAN : unit;
    case REFERENCE_SPECIAL: return special[random % 8];
    default: return unit - 0.25;
    }
}

static inline void reference_fill(enum reference_input input, enum strata_type type, void *data, size_t count,
                                  uint64_t seed) {
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (size_t i = 0; i < count; i++) {
        uint64_t random = reference_random(&state);
        double number = reference_number(input, random);
        if (input == REFERENCE_SPECIAL || input == REFERENCE_NANS)
            random = random % 16 < 15 ? 7 : random >> 32 << 31;
        switch (type) {
        case STRATA_F32: ((float *)data)[i] = (float)number; break;
        case STRATA_F64: ((double *)data)[i] = number; break;
        case STRATA_I32:
        case STRATA_U32: ((uint32_t *)data)[i] = (uint32_t)random | 1; break;
        default: ((uint64_t *)data)[i] = random | 1;
        }
    }
}

#endif
