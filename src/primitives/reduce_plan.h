/* The levels of a reduction tree and where their records lie: arithmetic alone, for any number of elements. */
#ifndef STRATA_PRIMITIVES_REDUCE_PLAN_H
#define STRATA_PRIMITIVES_REDUCE_PLAN_H

#include "strata/primitives.h"

/* 16 KiB tiles of 8-byte elements hold 2048, so 2^64 elements have less than this many levels. */
#define STRATA_REDUCE_LEVELS 6

/* A record's room: its value and its companion, 8 bytes each. */
#define STRATA_REDUCE_RECORD_BYTES 16

/* The kernels' tiles and lanes; cl/reduce_tree.h has the same. */
#define STRATA_REDUCE_LANES 256

struct strata_reduce_plan {
    uint64_t elements_per_tile;             /* of elements and of records alike */
    uint64_t count;                         /* elements */
    unsigned levels;                        /* levels of records; the last one has one record, which is the result */
    uint64_t records[STRATA_REDUCE_LEVELS]; /* in each level: the tiles of the level below */
    uint64_t region[STRATA_REDUCE_LEVELS];  /* where they begin in the scratch, in bytes */
    uint64_t scratch_bytes;                 /* of all levels but the last; 0 when one tile is all there is */
};

/* The plan for `count` elements, at least 1, of `element_bytes` (4 or 8). */
struct strata_reduce_plan strata_reduce_plan_make(uint64_t count, size_t element_bytes);

/* The columns of the plan's tiles of records: a work-group for each (cl/reduce_columns.h). At most records[0], so they
 * fit that region. The plan has 2 levels at least. */
uint64_t strata_reduce_columns(const struct strata_reduce_plan *plan);

/* What one launch for all can take (cl/reduce_fused.h, which has the same number of tickets), and the memory that it
 * needs. */
#define STRATA_REDUCE_TICKETS 512
#define STRATA_REDUCE_FUSED_RECORD_TILES 256
uint64_t strata_reduce_fused_bytes(const struct strata_reduce_plan *plan);

/* A launch over tiles `first` to `first + tiles - 1`, in work-groups that take `tiles_per_group` each. */
struct strata_reduce_launch {
    uint64_t first, tiles, groups;
};

/* The launch that begins with tile `first` of `total`, as large as `most_items` work-items in work-groups of
 * `group_items` allow. */
struct strata_reduce_launch strata_reduce_launch_make(uint64_t first, uint64_t total, uint64_t tiles_per_group,
                                                      uint64_t group_items, uint64_t most_items);

#endif
