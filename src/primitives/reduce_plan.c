/* The levels of a reduction tree and where their records lie. */
#include "primitives/reduce_plan.h"

/* Kernel arguments that are parts of the scratch may begin anywhere a record may; this keeps each level's records on
 * their own cache lines. */
#define REGION_ALIGNMENT 256

static uint64_t divide_up(uint64_t value, uint64_t by) {
    return value / by + (value % by != 0);
}

struct strata_reduce_plan strata_reduce_plan_make(uint64_t count, size_t element_bytes) {
    struct strata_reduce_plan plan = {.elements_per_tile = STRATA_REDUCER_TILE_BYTES / element_bytes, .count = count};
    uint64_t below = count;
    do {
        uint64_t records = divide_up(below, plan.elements_per_tile);
        plan.records[plan.levels] = records;
        plan.region[plan.levels] = plan.scratch_bytes;
        plan.levels++;
        if (records > 1)
            plan.scratch_bytes += divide_up(records * STRATA_REDUCE_RECORD_BYTES, REGION_ALIGNMENT) * REGION_ALIGNMENT;
        below = records;
    } while (below > 1);
    return plan;
}

uint64_t strata_reduce_columns(const struct strata_reduce_plan *plan) {
    uint64_t columns = plan->elements_per_tile / 4;
    uint64_t full = plan->records[0] / plan->elements_per_tile, rest = plan->records[0] % plan->elements_per_tile;
    return full * columns + (rest < columns ? rest : columns);
}

/* A record has 16 bytes at most, in words of 8 that carry 4 each. */
uint64_t strata_reduce_fused_bytes(const struct strata_reduce_plan *plan) {
    uint64_t records = strata_reduce_columns(plan) + plan->records[1];
    return STRATA_REDUCE_TICKETS * sizeof(uint32_t) + 2 * STRATA_REDUCE_RECORD_BYTES * records;
}

struct strata_reduce_launch strata_reduce_launch_make(uint64_t first, uint64_t total, uint64_t tiles_per_group,
                                                      uint64_t group_items, uint64_t most_items) {
    uint64_t left = total - first, most_groups = most_items / group_items;
    uint64_t groups = divide_up(left, tiles_per_group);
    if (groups > most_groups)
        groups = most_groups;
    uint64_t tiles = groups * tiles_per_group;
    return (struct strata_reduce_launch){first, tiles < left ? tiles : left, groups};
}
