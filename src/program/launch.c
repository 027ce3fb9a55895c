/* Launches: the sizes checked against what the kernel and the device say, then into the queue. */
#include "core/fork.h"
#include "core/queue.h"
#include "memory/buffer.h"
#include "program/program.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

/* Work-groups of this many work-items keep every device of today busy; larger ones only cost registers. */
#define USUAL_GROUP_ITEMS 256

/* The most work-items in a dimension, whatever a device says it can count. */
#define MOST_ITEMS INT32_MAX

/* A launch as it goes through the queue: this struct, then the arguments, then the bytes of the values. */
struct launch_payload {
    strata_program *program;
    struct strata_native_kernel *kernel;
    struct strata_native_grid grid;
    size_t count;
    struct strata_native_argument arguments[];
};

/* Payloads up to this size are made on the stack. */
#define USUAL_PAYLOAD 2048

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* The largest divisor of `global` up to `limit`, whole warps if there is one. */
static uint64_t divisor(uint64_t global, uint64_t limit, uint64_t multiple) {
    uint64_t best = 1;
    for (uint64_t candidate = limit; candidate >= 1; candidate--) {
        if (global % candidate != 0)
            continue;
        if (candidate % multiple == 0)
            return candidate;
        if (best == 1)
            best = candidate;
    }
    return best;
}

/* Doubles one dimension after the other as long as the limits hold: near-square groups for near-square tiles. */
static void grow_local(const strata_device *device, strata_grid *grid, uint64_t limit) {
    uint64_t items = 1;
    for (uint32_t i = 0; i < grid->dimensions; i++)
        grid->local[i] = 1;
    for (uint32_t i = 0, stuck = 0; stuck < grid->dimensions && items * 2 <= limit; i = (i + 1) % grid->dimensions) {
        if (grid->local[i] * 2 > device->info.max_group_size[i]) {
            stuck++;
            continue;
        }
        stuck = 0;
        grid->local[i] *= 2;
        items *= 2;
    }
}

/* A local size for a grid that has none; left at 0, for the runtime, in two and three dimensions that are not padded.
 */
static void choose_local(const strata_device *device, const strata_kernel *kernel, strata_grid *grid) {
    uint64_t limit = least(USUAL_GROUP_ITEMS, kernel->info.max_group_items), multiple = kernel->info.preferred_multiple;
    uint64_t line = least(limit, device->info.max_group_size[0]);
    if (multiple == STRATA_UNKNOWN || multiple == 0 || multiple > line)
        multiple = 1;
    if (grid->dimensions == 1)
        grid->local[0] = grid->round_up ? line / multiple * multiple : divisor(grid->global[0], line, multiple);
    else if (grid->round_up)
        grow_local(device, grid, limit);
}

/* A dimension that the grid does not have counts as 1, which not every runtime compares with what is required. */
static enum strata_status check_required(const strata_kernel *kernel, const strata_grid *grid) {
    const uint64_t *required = kernel->info.required_group;
    for (uint32_t i = 0; i < 3 && required[0] != 0; i++) {
        uint64_t local = i < grid->dimensions ? grid->local[i] : 1;
        if (local != required[i])
            return strata_fail(STRATA_INVALID_ARGUMENT,
                               "Kernel '%s' requires a local size of %" PRIu64 " x %" PRIu64 " x %" PRIu64
                               ", but dimension %u was given %" PRIu64 ".",
                               kernel->info.name, required[0], required[1], required[2], i, local);
    }
    return STRATA_OK;
}

static enum strata_status check_local(const strata_device *device, const strata_kernel *kernel, strata_grid *grid) {
    uint64_t items = 1;
    enum strata_status status = check_required(kernel, grid);
    if (status != STRATA_OK)
        return status;
    for (uint32_t i = 0; i < grid->dimensions; i++) {
        uint64_t local = grid->local[i];
        if (local == 0 || local > device->info.max_group_size[i] || !strata_multiply(items, local, &items))
            return strata_fail(STRATA_INVALID_ARGUMENT,
                               "The local size of %" PRIu64 " in dimension %u is not between 1 and the %" PRIu64
                               " of device '%s'.",
                               local, i, device->info.max_group_size[i], device->name);
        if (grid->global[i] % local != 0) {
            if (!grid->round_up)
                return strata_fail(STRATA_INVALID_ARGUMENT,
                                   "The local size of %" PRIu64 " does not divide the global size of %" PRIu64
                                   " in dimension %u; use strata_grid_round_up and check bounds in the kernel.",
                                   local, grid->global[i], i);
            grid->global[i] += local - grid->global[i] % local;
        }
    }
    if (items > kernel->info.max_group_items)
        return strata_fail(STRATA_INVALID_ARGUMENT,
                           "A work-group of %" PRIu64 " work-items is over the %" PRIu64
                           " that kernel '%s' allows on device '%s'.",
                           items, kernel->info.max_group_items, kernel->info.name, device->name);
    return STRATA_OK;
}

static enum strata_status check_grid(const strata_device *device, const strata_kernel *kernel, strata_grid *grid,
                                     bool *nothing) {
    if (grid->dimensions < 1 || grid->dimensions > 3)
        return strata_fail(STRATA_INVALID_ARGUMENT, "A grid has 1 to 3 dimensions, not %u.", grid->dimensions);
    *nothing = false;
    bool any_local = false;
    for (uint32_t i = 0; i < grid->dimensions; i++) {
        *nothing = *nothing || grid->global[i] == 0;
        any_local = any_local || grid->local[i] != 0;
        if (grid->global[i] > MOST_ITEMS)
            return strata_fail(STRATA_TOO_LARGE,
                               "%" PRIu64
                               " work-items in dimension %u are over the 2^31-1 that a launch can have; loop in "
                               "the kernel or launch several times.",
                               grid->global[i], i);
    }
    if (*nothing)
        return STRATA_OK;
    if (!any_local) {
        if (kernel->info.required_group[0])
            memcpy(grid->local, kernel->info.required_group, sizeof grid->local);
        else
            choose_local(device, kernel, grid);
        if (grid->local[0] == 0)
            return STRATA_OK;
    }
    return check_local(device, kernel, grid);
}

static enum strata_status run_launch(strata_queue *queue, void *argument, struct strata_native_event **done) {
    struct launch_payload *payload = argument;
    unsigned char *values = (unsigned char *)&payload->arguments[payload->count];
    for (size_t i = 0; i < payload->count; i++) {
        struct strata_native_argument *native = &payload->arguments[i];
        if (native->type == STRATA_ARG_VALUE)
            native->value = values + native->offset;
    }
    return queue->device->backend->program->launch(queue->native, payload->kernel, &payload->grid, payload->arguments,
                                                   payload->count, done);
}

static void retain_payload(void *payload) {
    strata_program_retain(((struct launch_payload *)payload)->program);
}

static void release_payload(void *payload) {
    strata_program_release(((struct launch_payload *)payload)->program);
}

static size_t payload_bytes(const strata_arg *args, size_t count) {
    size_t bytes = sizeof(struct launch_payload) + count * sizeof(struct strata_native_argument);
    for (size_t i = 0; i < count; i++)
        if (args[i].type == STRATA_ARG_VALUE)
            bytes += (size_t)args[i].bytes;
    return bytes;
}

/* Fills a payload, and the uses of the slices; the number of uses. A kernel of strata's own gets the whole buffer. */
static size_t fill_payload(struct launch_payload *payload, strata_kernel *kernel, const strata_grid *grid,
                           const strata_arg *args, size_t count, bool own, struct strata_command_use *uses) {
    unsigned char *values = (unsigned char *)&payload->arguments[count];
    size_t used = 0, used_values = 0;
    payload->program = kernel->program;
    payload->kernel = kernel->native;
    payload->count = count;
    payload->grid.dimensions = grid->dimensions;
    memcpy(payload->grid.global, grid->global, sizeof grid->global);
    memcpy(payload->grid.local, grid->local, sizeof grid->local);
    for (size_t i = 0; i < count; i++) {
        const strata_arg *arg = &args[i];
        struct strata_native_argument *native = &payload->arguments[i];
        *native = (struct strata_native_argument){.type = arg->type, .bytes = arg->bytes};
        if (strata_argument_is_memory(arg)) {
            native->buffer = arg->slice.buffer->native;
            native->offset = own ? 0 : arg->slice.offset;
            native->bytes = own ? arg->slice.buffer->info.bytes : arg->slice.bytes;
            uses[used++] = (struct strata_command_use){arg->slice.buffer, arg->slice.offset, arg->slice.bytes,
                                                       strata_argument_is_written(kernel, i, arg), false};
        } else if (arg->type == STRATA_ARG_VALUE) {
            native->offset = used_values; /* where its bytes are, until the launch runs */
            memcpy(values + used_values, arg->pointer ? arg->pointer : arg->value, (size_t)arg->bytes);
            used_values += (size_t)arg->bytes;
        }
    }
    return used;
}

static enum strata_status put(strata_queue *queue, strata_kernel *kernel, const strata_grid *grid,
                              const strata_arg *args, size_t count, bool own, strata_event **event) {
    const struct strata_allocator *hooks = &queue->device->hooks;
    size_t bytes = payload_bytes(args, count), total = bytes + count * sizeof(struct strata_command_use);
    total += sizeof(max_align_t);
    _Alignas(max_align_t) unsigned char usual[USUAL_PAYLOAD];
    unsigned char *memory = total <= sizeof usual ? usual : strata_host_allocate(hooks, total);
    if (!memory)
        return strata_fail_host_memory(total, "a launch's arguments");
    size_t uses_at = (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    struct launch_payload *payload = (struct launch_payload *)(void *)memory;
    struct strata_command_use *uses = (struct strata_command_use *)(void *)(memory + uses_at);
    size_t use_count = fill_payload(payload, kernel, grid, args, count, own, uses);
    struct strata_command command = {.run = run_launch,
                                     .payload = payload,
                                     .payload_bytes = bytes,
                                     .prepare = retain_payload,
                                     .dispose = release_payload,
                                     .uses = uses,
                                     .use_count = use_count};
    enum strata_status status = strata_queue_put(queue, &command, event);
    if (memory != usual)
        strata_host_release(hooks, memory);
    return status;
}

enum strata_status strata_launch_event(strata_queue *queue, strata_kernel *kernel, strata_grid grid,
                                       const strata_arg *args, size_t count, strata_event **event) {
    STRATA_REFUSE_IN_CHILD();
    if (event)
        *event = NULL;
    enum strata_status status = strata_queue_check(queue);
    if (status != STRATA_OK)
        return status;
    if (!kernel)
        return strata_fail(STRATA_INVALID_ARGUMENT, "The kernel is NULL.");
    if (kernel->program->device != queue->device)
        return strata_fail(STRATA_INVALID_ARGUMENT, "Kernel '%s' was built for device '%s', but the queue is of '%s'.",
                           kernel->info.name, kernel->program->device->name, queue->device->name);
    bool nothing = false;
    status = strata_arguments_check(queue->device, kernel, args, count);
    if (status == STRATA_OK)
        status = check_grid(queue->device, kernel, &grid, &nothing);
    if (status != STRATA_OK)
        return status;
    if (nothing)
        return event ? strata_queue_mark(queue, event) : STRATA_OK;
    return put(queue, kernel, &grid, args, count, false, event);
}

enum strata_status strata_launch(strata_queue *queue, strata_kernel *kernel, strata_grid grid, const strata_arg *args,
                                 size_t count) {
    return strata_launch_event(queue, kernel, grid, args, count, NULL);
}

enum strata_status strata_launch_own(strata_queue *queue, strata_kernel *kernel, strata_grid grid,
                                     const strata_arg *args, size_t count) {
    enum strata_status status = strata_arguments_check_own(queue->device, kernel, args, count);
    return status == STRATA_OK ? put(queue, kernel, &grid, args, count, true, NULL) : status;
}
