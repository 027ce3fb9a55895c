/* Reductions inside: what the one-piece and the piecewise form share. */
#ifndef STRATA_PRIMITIVES_REDUCE_H
#define STRATA_PRIMITIVES_REDUCE_H

#include "core/device.h"
#include "primitives/reduce_plan.h"
#include "strata/primitives.h"
#include "strata/program.h"

/* Whether the device can do it. */
enum strata_status strata_reduce_check(const strata_device *device, enum strata_reduce_op op, enum strata_type type);

size_t strata_reduce_result_bytes(enum strata_reduce_op op, enum strata_type type);

/* The result for no elements, or INVALID_ARGUMENT. */
enum strata_status strata_reduce_of_nothing(enum strata_reduce_op op, enum strata_type type, void *result);

/* A reduction on its way: what, over how many elements, and where its records go. */
struct strata_reduction {
    enum strata_reduce_op op;
    enum strata_type type;
    struct strata_reduce_plan plan;
    strata_buffer *scratch; /* of plan.scratch_bytes at least; NULL when that is 0 */
    strata_slice result;    /* where the last kernel writes */
};

/* Puts the tiles of one piece into the queue: its first tile is tile `base_tile` of the whole. When there is one tile
 * in all, that is the result. */
enum strata_status strata_reduce_put_tiles(strata_queue *queue, const struct strata_reduction *reduction,
                                           strata_slice piece, uint64_t base_tile);

/* Puts the whole reduction of one slice into the queue, in as few launches as the device and the size allow; takes the
 * queue's scratch where there is more than one. */
enum strata_status strata_reduce_put(strata_queue *queue, struct strata_reduction *reduction, strata_slice input);

/* Puts the levels above the tiles into the queue. */
enum strata_status strata_reduce_put_levels(strata_queue *queue, const struct strata_reduction *reduction);

#endif
