/* Primitives: operations that every program needs, at the speed of the memory.
 *
 *     float sum;
 *     strata_reduce(queue, STRATA_REDUCE(.op = STRATA_SUM, .type = STRATA_F32, .input = strata_all(x)), &sum);
 *
 * Reductions are reproducible: the tree of operations depends on the number of elements alone, so the same input gives
 * the same bits on every device, with every work-group size, in one piece or fed in several.
 *
 * The tree: a tile is 16 KiB of consecutive elements, four rows of 4 KiB. A column is (row 0 + row 1) + (row 2 + row
 * 3); the columns in 16 neighbouring bytes fold as (x + y) + (z + w), or x + y for elements of 8 bytes; the 256 results
 * fold by halving (128, 64, ... 1). The tiles' partial results go through the same tree, and so on until one is left.
 * Missing elements are the identity. Partial sums of floats are pairs (high, low), added by exact two-sum: the result
 * is high + low when low is finite and not zero, else high. */
#ifndef STRATA_PRIMITIVES_H
#define STRATA_PRIMITIVES_H

#include "strata/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

enum strata_type { STRATA_I32 = 1, STRATA_U32 = 2, STRATA_I64 = 3, STRATA_U64 = 4, STRATA_F32 = 5, STRATA_F64 = 6 };

enum strata_reduce_op {
    STRATA_SUM = 1,
    STRATA_PRODUCT = 2,
    STRATA_MIN = 3,
    STRATA_MAX = 4,
    STRATA_ARG_MIN = 5, /* the index of the first smallest element */
    STRATA_ARG_MAX = 6
};

/* Bytes of one element, and the name ("f32"); 0 and "" for another value. Static. Any thread. */
STRATA_API size_t strata_type_size(enum strata_type type);
STRATA_API const char *strata_type_name(enum strata_type type);

/* The type that a reduction's result has; 0 for a pair that is none.
 *
 * | op              | i32 | u32 | i64 | u64 | f32 | f64 |
 * | sum, product    | i64 | u64 | i64 | u64 | f32 | f64 |  integers wrap modulo 2^64
 * | min, max        | i32 | u32 | i64 | u64 | f32 | f64 |
 * | arg-min, -max   | u64 | u64 | u64 | u64 | u64 | u64 |
 */
STRATA_API enum strata_type strata_reduce_result_type(enum strata_reduce_op op, enum strata_type type);

struct strata_reduce_desc {
    size_t size;
    enum strata_reduce_op op;
    enum strata_type type;
    strata_slice input; /* whole elements, at any byte offset */
};
#define STRATA_REDUCE(...) (&(const struct strata_reduce_desc){.size = sizeof(struct strata_reduce_desc), __VA_ARGS__})
STRATA_API void strata_reduce_desc_init(struct strata_reduce_desc *desc);

/* Reduces a slice to one value in host memory, of strata_reduce_result_type. Blocks.
 *
 * NaN: any in the input makes sum, product, min and max the canonical NaN (0x7fc00000, 0x7ff8000000000000); arg-min and
 * arg-max answer the first NaN's index. Infinities follow IEEE 754. -0 orders below +0 in min, max, arg-min and
 * arg-max; a sum of -0 alone is -0. Ties: arg-min and arg-max answer the lowest index. Empty input: the sum is +0, the
 * product 1, the others are INVALID_ARGUMENT. Subnormals are kept where the device keeps them.
 *
 * Errors: INVALID_ARGUMENT (op, type, a length that is not whole elements, an empty input, as above), UNSUPPORTED (f64
 * on a device without it), and those of a launch. The kernels are built at the first use on a device, or come from the
 * cache. Any thread. */
STRATA_API enum strata_status strata_reduce(strata_queue *queue, const struct strata_reduce_desc *desc, void *result);

/* The same, with the result left on the device: in the first bytes of `result`, which may start anywhere. Does not
 * block. `event` may be NULL, else *event is the caller's. */
STRATA_API enum strata_status strata_reduce_async(strata_queue *queue, const struct strata_reduce_desc *desc,
                                                  strata_slice result, strata_event **event);

/* A reduction of data that comes piece by piece, larger than device memory perhaps, with the same bits as in one piece.
 *
 *     strata_reducer *sum = NULL;
 *     strata_reducer_create(dev, STRATA_SUM, STRATA_F32, count, &sum);
 *     while (...)
 *         strata_reducer_feed(sum, queue, slice);     // all of whole tiles but the last
 *     strata_reducer_finish(sum, queue, &result);
 *     strata_reducer_destroy(&sum);
 *
 * One thread at a time. */
typedef struct strata_reducer strata_reducer;

/* Pieces but the last hold a multiple of this many bytes. */
#define STRATA_REDUCER_TILE_BYTES 16384

/* `count` elements in all will come. Holds 16 bytes of device memory for every tile. On success *reducer is the
 * caller's. Errors: as strata_reduce. */
STRATA_API enum strata_status strata_reducer_create(strata_device *device, enum strata_reduce_op op,
                                                    enum strata_type type, uint64_t count, strata_reducer **reducer);

/* Takes the next piece; does not block: the slice may be written again by work behind this in `queue`. Pieces in
 * several queues are ordered by the caller. INVALID_ARGUMENT: not whole tiles though more is to come, or more than
 * `count`. */
STRATA_API enum strata_status strata_reducer_feed(strata_reducer *reducer, strata_queue *queue, strata_slice piece);

/* The result, once `count` elements came, as strata_reduce gives it. Blocks. Then it is ready for the next `count`. */
STRATA_API enum strata_status strata_reducer_finish(strata_reducer *reducer, strata_queue *queue, void *result);

/* Legal while work is in flight. Clears *reducer. */
STRATA_API void strata_reducer_destroy(strata_reducer **reducer);

#ifdef __cplusplus
}
#endif
#endif
