/* The reduction's kernels: which of them a device takes, built once per device, and put into a queue level by level. */
#include "core/queue.h"
#include "core/quirks.h"
#include "memory/buffer.h"
#include "primitives/reduce.h"
#include "primitives/state.h"
#include "program/program.h"

#include <stdio.h>

/* Loads are at most this wide, so no more alignment is asked for. */
#define MOST_ALIGNMENT 16

/* What a work-item of the form for CPU devices takes: 1 MiB, for with less, PoCL's scheduling shows (3 to 5 % at 256
 * KiB). Where that is too few work-items to end at about the same time, less, down to 256 KiB. */
#define MOST_TILES_PER_ITEM 64
#define LEAST_TILES_PER_ITEM 16
#define ITEMS_PER_UNIT 16

/* GROUP: a work-group of up to 256 work-items per tile. ITEM: one work-item takes tile after tile, for CPU devices,
 * whose barriers are slow. The two give the same bits. */
enum form { FORM_GROUP = 1, FORM_ITEM = 2 };

static enum form form_of(const strata_device *device) {
    bool is_cpu = device->info.type == STRATA_DEVICE_CPU && !strata_quirks_of(device->info.platform)->slow_vectors;
    return is_cpu ? FORM_ITEM : FORM_GROUP;
}

/* The largest power of two, up to 16, that divides the place where a slice begins. */
static unsigned alignment_of(strata_slice slice) {
    uint64_t place = slice.buffer->root_offset + slice.offset;
    unsigned alignment = MOST_ALIGNMENT;
    while (place % alignment != 0)
        alignment /= 2;
    return alignment;
}

/* What the loads count on: 16 bytes, whole elements or nothing, so that few programs are built. CPU devices gain
 * nothing from more than whole elements. */
static unsigned useful_alignment(const strata_device *device, enum strata_type type, unsigned alignment) {
    unsigned element = (unsigned)strata_type_size(type);
    if (alignment < element)
        return 1;
    return alignment < MOST_ALIGNMENT || form_of(device) == FORM_ITEM ? element : MOST_ALIGNMENT;
}

enum kernel { KERNEL_TILES, KERNEL_RECORDS, KERNEL_COLUMNS, KERNEL_COLUMN_RECORDS, KERNEL_FUSED };
static const char *const kernel_names[] = {"reduce_tiles", "reduce_records", "reduce_columns", "reduce_column_records",
                                           "reduce_fused"};

/* Whether groups of one launch can wait for each other. */
static bool can_wait(const strata_device *device) {
    return form_of(device) == FORM_GROUP && strata_quirks_of(device->info.platform)->groups_wait;
}

static enum strata_status get_kernel(strata_device *device, const struct strata_reduction *reduction,
                                     unsigned alignment, enum kernel which, strata_kernel **kernel) {
    unsigned useful = useful_alignment(device, reduction->type, alignment);
    uint32_t key = (uint32_t)reduction->op | (uint32_t)reduction->type << 8 | useful << 16 | (uint32_t)which << 24;
    *kernel = strata_primitives_find(device, key);
    if (*kernel)
        return STRATA_OK;
    char options[160];
    snprintf(options, sizeof options, "-DREDUCE_OPERATION=%d -DREDUCE_TYPE=%d -DREDUCE_ALIGNMENT=%u -DREDUCE_FORM=%d%s",
             (int)reduction->op, (int)reduction->type, useful, (int)form_of(device),
             can_wait(device) ? " -DREDUCE_FUSED" : "");
    return strata_primitives_build(device, "reduce.cl", options, kernel_names[which], key, kernel);
}

static uint64_t group_items(const strata_device *device, const strata_kernel *kernel) {
    if (form_of(device) == FORM_ITEM)
        return 1;
    uint64_t most = strata_kernel_get_info(kernel)->max_group_items;
    return most < STRATA_REDUCE_LANES ? most : STRATA_REDUCE_LANES;
}

static strata_grid grid_of(uint64_t groups, uint64_t items) {
    return strata_grid_local(strata_grid_1d(groups * items), items, 1, 1);
}

/* The scratch as an argument; where nothing goes to it, the result's place stands in, since null pointers to global
 * memory are refused by some runtimes. */
static strata_slice scratch_of(const struct strata_reduction *reduction) {
    return reduction->scratch ? strata_all(reduction->scratch) : reduction->result;
}

static uint32_t tiles_per_item(const strata_device *device, uint64_t tiles) {
    if (form_of(device) == FORM_GROUP)
        return 1;
    uint32_t count = MOST_TILES_PER_ITEM;
    while (count > LEAST_TILES_PER_ITEM && tiles / count < ITEMS_PER_UNIT * (uint64_t)device->info.compute_units)
        count /= 2;
    return count;
}

enum strata_status strata_reduce_put_tiles(strata_queue *queue, const struct strata_reduction *reduction,
                                           strata_slice piece, uint64_t base_tile) {
    strata_device *device = queue->device;
    const struct strata_reduce_plan *plan = &reduction->plan;
    strata_kernel *kernel = NULL;
    enum strata_status status = get_kernel(device, reduction, alignment_of(piece), KERNEL_TILES, &kernel);
    if (status != STRATA_OK)
        return status;
    uint64_t items = group_items(device, kernel);
    uint64_t count = piece.bytes / strata_type_size(reduction->type);
    uint64_t tiles = count / plan->elements_per_tile + (count % plan->elements_per_tile != 0);
    uint32_t per_item = tiles_per_item(device, tiles);
    for (uint64_t first = 0; first < tiles && status == STRATA_OK;) {
        struct strata_reduce_launch launch = strata_reduce_launch_make(first, tiles, per_item, items, INT32_MAX);
        status =
            strata_launch_own(queue, kernel, grid_of(launch.groups, items),
                              STRATA_ARGS(strata_arg_slice(piece), strata_arg_u64(piece.offset), strata_arg_u64(count),
                                          strata_arg_u64(first), strata_arg_u64(launch.tiles), strata_arg_u32(per_item),
                                          strata_arg_u64(base_tile), strata_arg_slice(scratch_of(reduction)),
                                          strata_arg_u64(plan->region[0]), strata_arg_u64(plan->records[0]),
                                          strata_arg_slice(reduction->result), strata_arg_u64(reduction->result.offset),
                                          strata_arg_u32(plan->levels == 1)));
        first += launch.tiles;
    }
    return status;
}

static enum strata_status put_level(strata_queue *queue, const struct strata_reduction *reduction, unsigned level,
                                    strata_kernel *kernel, uint64_t items) {
    const struct strata_reduce_plan *plan = &reduction->plan;
    bool last = level + 1 == plan->levels;
    enum strata_status status = STRATA_OK;
    for (uint64_t first = 0; first < plan->records[level] && status == STRATA_OK;) {
        struct strata_reduce_launch launch =
            strata_reduce_launch_make(first, plan->records[level], 1, items, INT32_MAX);
        status = strata_launch_own(
            queue, kernel, grid_of(launch.groups, items),
            STRATA_ARGS(strata_arg_slice(strata_all(reduction->scratch)), strata_arg_u64(plan->region[level - 1]),
                        strata_arg_u64(plan->records[level - 1]), strata_arg_u64(first),
                        strata_arg_u64(plan->region[level]), strata_arg_u64(plan->records[level]),
                        strata_arg_slice(reduction->result), strata_arg_u64(reduction->result.offset),
                        strata_arg_u32(last)));
        first += launch.tiles;
    }
    return status;
}

/* The levels from `level` on. */
static enum strata_status put_levels_from(strata_queue *queue, const struct strata_reduction *reduction,
                                          unsigned level) {
    if (reduction->plan.levels <= level)
        return STRATA_OK;
    strata_kernel *kernel = NULL;
    enum strata_status status = get_kernel(queue->device, reduction, MOST_ALIGNMENT, KERNEL_RECORDS, &kernel);
    for (; level < reduction->plan.levels && status == STRATA_OK; level++)
        status = put_level(queue, reduction, level, kernel, group_items(queue->device, kernel));
    return status;
}

enum strata_status strata_reduce_put_levels(strata_queue *queue, const struct strata_reduction *reduction) {
    return put_levels_from(queue, reduction, 1);
}

static bool can_fuse(const strata_device *device, const struct strata_reduce_plan *plan) {
    return can_wait(device) && plan->levels > 1 && plan->records[1] <= STRATA_REDUCE_FUSED_RECORD_TILES;
}

/* Everything in one launch. */
static enum strata_status put_fused(strata_queue *queue, const struct strata_reduction *reduction, strata_slice slice) {
    const struct strata_reduce_plan *plan = &reduction->plan;
    strata_buffer *tickets = NULL;
    strata_kernel *kernel = NULL;
    uint32_t tag = 0;
    uint64_t columns = strata_reduce_columns(plan);
    enum strata_status status = get_kernel(queue->device, reduction, alignment_of(slice), KERNEL_FUSED, &kernel);
    if (status == STRATA_OK)
        status = strata_primitives_tickets(queue, strata_reduce_fused_bytes(plan), &tickets, &tag);
    if (status != STRATA_OK)
        return status;
    status = strata_launch_own(
        queue, kernel, grid_of(columns, group_items(queue->device, kernel)),
        STRATA_ARGS(strata_arg_slice(slice), strata_arg_u64(slice.offset), strata_arg_u64(plan->count),
                    strata_arg_u64(columns), strata_arg_slice(strata_all(tickets)), strata_arg_u32(tag),
                    strata_arg_slice(reduction->result), strata_arg_u64(reduction->result.offset)));
    if (status != STRATA_OK)
        strata_primitives_drop_tickets(queue);
    return status;
}

/* Beyond that, 512 GiB, the columns are more than one launch has. */
static bool can_take_columns(const strata_device *device, const struct strata_reduce_plan *plan) {
    return form_of(device) == FORM_GROUP && plan->levels > 1 &&
           strata_reduce_columns(plan) <= INT32_MAX / STRATA_REDUCE_LANES;
}

static enum strata_status put_columns(strata_queue *queue, const struct strata_reduction *reduction,
                                      strata_slice slice) {
    const struct strata_reduce_plan *plan = &reduction->plan;
    uint64_t columns = strata_reduce_columns(plan);
    strata_kernel *first = NULL, *second = NULL;
    enum strata_status status = get_kernel(queue->device, reduction, alignment_of(slice), KERNEL_COLUMNS, &first);
    if (status == STRATA_OK)
        status = get_kernel(queue->device, reduction, MOST_ALIGNMENT, KERNEL_COLUMN_RECORDS, &second);
    if (status == STRATA_OK)
        status = strata_launch_own(
            queue, first, grid_of(columns, group_items(queue->device, first)),
            STRATA_ARGS(strata_arg_slice(slice), strata_arg_u64(slice.offset), strata_arg_u64(plan->count),
                        strata_arg_slice(strata_all(reduction->scratch)), strata_arg_u64(columns)));
    if (status == STRATA_OK)
        status =
            strata_launch_own(queue, second, grid_of(plan->records[1], group_items(queue->device, second)),
                              STRATA_ARGS(strata_arg_slice(strata_all(reduction->scratch)), strata_arg_u64(columns),
                                          strata_arg_u64(plan->region[1]), strata_arg_u64(plan->records[1]),
                                          strata_arg_slice(reduction->result), strata_arg_u64(reduction->result.offset),
                                          strata_arg_u32(plan->levels == 2)));
    return status == STRATA_OK ? put_levels_from(queue, reduction, 2) : status;
}

enum strata_status strata_reduce_put(strata_queue *queue, struct strata_reduction *reduction, strata_slice input) {
    if (can_fuse(queue->device, &reduction->plan))
        return put_fused(queue, reduction, input);
    enum strata_status status = STRATA_OK;
    if (reduction->plan.scratch_bytes)
        status = strata_primitives_scratch(queue, reduction->plan.scratch_bytes, &reduction->scratch);
    if (status != STRATA_OK)
        return status;
    if (can_take_columns(queue->device, &reduction->plan))
        return put_columns(queue, reduction, input);
    status = strata_reduce_put_tiles(queue, reduction, input, 0);
    return status == STRATA_OK ? strata_reduce_put_levels(queue, reduction) : status;
}
