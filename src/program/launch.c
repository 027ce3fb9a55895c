/* Launches: every argument and size checked against what the kernel and the device say, then into the queue. */
#include "core/fork.h"
#include "core/queue.h"
#include "memory/buffer.h"
#include "program/program.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
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

strata_grid strata_grid_1d(uint64_t x) {
    return (strata_grid){.dimensions = 1, .global = {x, 1, 1}};
}

strata_grid strata_grid_2d(uint64_t x, uint64_t y) {
    return (strata_grid){.dimensions = 2, .global = {x, y, 1}};
}

strata_grid strata_grid_3d(uint64_t x, uint64_t y, uint64_t z) {
    return (strata_grid){.dimensions = 3, .global = {x, y, z}};
}

strata_grid strata_grid_local(strata_grid grid, uint64_t x, uint64_t y, uint64_t z) {
    grid.local[0] = x;
    grid.local[1] = y;
    grid.local[2] = z;
    return grid;
}

strata_grid strata_grid_round_up(strata_grid grid) {
    grid.round_up = true;
    return grid;
}

strata_arg strata_arg_slice(strata_slice slice) {
    return (strata_arg){.type = STRATA_ARG_SLICE, .slice = slice};
}

strata_arg strata_arg_local(uint64_t bytes) {
    return (strata_arg){.type = STRATA_ARG_LOCAL, .bytes = bytes};
}

strata_arg strata_arg_value(const void *value, size_t bytes) {
    strata_arg arg = {.type = STRATA_ARG_VALUE, .bytes = bytes};
    if (bytes <= sizeof arg.value && value)
        memcpy(arg.value, value, bytes);
    else
        arg.pointer = value;
    return arg;
}

strata_arg strata_arg_i32(int32_t value) {
    return strata_arg_value(&value, sizeof value);
}

strata_arg strata_arg_u32(uint32_t value) {
    return strata_arg_value(&value, sizeof value);
}

strata_arg strata_arg_i64(int64_t value) {
    return strata_arg_value(&value, sizeof value);
}

strata_arg strata_arg_u64(uint64_t value) {
    return strata_arg_value(&value, sizeof value);
}

strata_arg strata_arg_f32(float value) {
    return strata_arg_value(&value, sizeof value);
}

strata_arg strata_arg_f64(double value) {
    return strata_arg_value(&value, sizeof value);
}

/* "argument 2 'out' of kernel 'copy'", for sentences. */
static const char *label(const strata_kernel *kernel, size_t index, char *place, size_t size) {
    const char *name = kernel->arguments[index].name;
    snprintf(place, size, "argument %zu%s%.48s%s of kernel '%.64s'", index, name[0] ? " '" : "", name, name[0] ? "'" : "",
             kernel->info.name);
    return place;
}

static const char *wants(enum strata_argument_kind kind) {
    switch (kind) {
    case STRATA_ARGUMENT_GLOBAL: return "a __global pointer and takes strata_arg_slice";
    case STRATA_ARGUMENT_CONSTANT: return "a __constant pointer and takes strata_arg_slice";
    case STRATA_ARGUMENT_LOCAL: return "a __local pointer and takes strata_arg_local";
    case STRATA_ARGUMENT_VALUE: return "a value and takes strata_arg_value or one of its kin";
    default: return "not of a known kind";
    }
}

static bool kind_fits(enum strata_argument_kind kind, enum strata_arg_type type) {
    switch (kind) {
    case STRATA_ARGUMENT_GLOBAL:
    case STRATA_ARGUMENT_CONSTANT: return type == STRATA_ARG_SLICE;
    case STRATA_ARGUMENT_LOCAL: return type == STRATA_ARG_LOCAL;
    case STRATA_ARGUMENT_VALUE: return type == STRATA_ARG_VALUE;
    default: return true;
    }
}

static enum strata_status refuse_pinned(const strata_device *device, const strata_kernel *kernel, size_t index,
                                        const strata_buffer *buffer) {
    char place[160], name[96];
    return strata_fail(STRATA_UNSUPPORTED,
                       "The %s is pinned memory, which kernels of device '%s' cannot use (%s); create it with "
                       ".kernel_access, or copy from it.",
                       strata_buffer_label(buffer, name, sizeof name), device->name,
                       label(kernel, index, place, sizeof place));
}

static enum strata_status check_slice(const strata_device *device, const strata_kernel *kernel, size_t index,
                                      strata_slice slice) {
    char place[160], name[96];
    enum strata_status status = strata_slice_check(device, slice, "argument");
    if (status != STRATA_OK || slice.bytes == 0)
        return status;
    const strata_buffer *buffer = slice.buffer;
    if (!buffer->info.kernel_argument)
        return refuse_pinned(device, kernel, index, buffer);
    bool whole = slice.offset == 0 && slice.bytes == buffer->info.bytes;
    uint64_t alignment = device->info.base_alignment;
    if (!whole && (buffer->root_offset + slice.offset) % alignment != 0)
        return strata_fail(STRATA_INVALID_ARGUMENT,
                           "The slice for %s starts at byte %" PRIu64
                           " of the %s, but device '%s' needs a multiple of %" PRIu64 " bytes (its base alignment).",
                           label(kernel, index, place, sizeof place), slice.offset,
                           strata_buffer_label(buffer, name, sizeof name), device->name, alignment);
    return STRATA_OK;
}

static enum strata_status check_value(const strata_kernel *kernel, size_t index, const strata_arg *arg) {
    char place[160];
    uint64_t expected = kernel->value_bytes[index];
    if (arg->bytes == 0 || (arg->bytes > sizeof arg->value && !arg->pointer))
        return strata_fail(STRATA_INVALID_ARGUMENT, "The value for %s is empty.", label(kernel, index, place, sizeof place));
    if (kernel->arguments[index].kind == STRATA_ARGUMENT_VALUE && expected && expected != arg->bytes)
        return strata_fail(STRATA_INVALID_ARGUMENT,
                           "The value for %s has %" PRIu64 " bytes, but its type %s has %" PRIu64 ".",
                           label(kernel, index, place, sizeof place), arg->bytes, kernel->arguments[index].type, expected);
    return STRATA_OK;
}

static enum strata_status check_argument(const strata_device *device, const strata_kernel *kernel, size_t index,
                                         const strata_arg *arg) {
    char place[160];
    enum strata_argument_kind kind = kernel->arguments[index].kind;
    if (kind == STRATA_ARGUMENT_IMAGE)
        return strata_fail(STRATA_UNSUPPORTED, "The %s is an image or a sampler, which strata does not serve.",
                           label(kernel, index, place, sizeof place));
    if (!kind_fits(kind, arg->type))
        return strata_fail(STRATA_INVALID_ARGUMENT, "The %s is %s.", label(kernel, index, place, sizeof place), wants(kind));
    if (arg->type == STRATA_ARG_SLICE)
        return check_slice(device, kernel, index, arg->slice);
    if (arg->type == STRATA_ARG_VALUE)
        return check_value(kernel, index, arg);
    if (arg->type == STRATA_ARG_LOCAL && arg->bytes > 0)
        return STRATA_OK;
    return strata_fail(STRATA_INVALID_ARGUMENT, "The %s %s.", label(kernel, index, place, sizeof place),
                       arg->type == STRATA_ARG_LOCAL ? "needs local memory of at least 1 byte" : "was not given");
}

/* Local and constant memory of the whole launch against the device's limits, to the byte. */
static enum strata_status check_totals(const strata_device *device, const strata_kernel *kernel, const strata_arg *args,
                                       size_t count) {
    uint64_t local = kernel->info.local_bytes == STRATA_UNKNOWN ? 0 : kernel->info.local_bytes, constant = 0;
    uint32_t constants = 0;
    for (size_t i = 0; i < count; i++) {
        if (args[i].type == STRATA_ARG_LOCAL && !strata_add(local, args[i].bytes, &local))
            local = UINT64_MAX;
        if (args[i].type == STRATA_ARG_SLICE && kernel->arguments[i].kind == STRATA_ARGUMENT_CONSTANT) {
            constants++;
            if (!strata_add(constant, args[i].slice.bytes, &constant))
                constant = UINT64_MAX;
        }
    }
    if (local > device->info.local_bytes)
        return strata_fail(STRATA_TOO_LARGE,
                           "Kernel '%s' would use %" PRIu64 " bytes of local memory (%" PRIu64
                           " of them its own), but device '%s' has %" PRIu64 " per work-group.",
                           kernel->info.name, local, kernel->info.local_bytes, device->name, device->info.local_bytes);
    if (constant > device->info.constant_bytes)
        return strata_fail(STRATA_TOO_LARGE,
                           "Kernel '%s' would use %" PRIu64 " bytes of constant memory, but device '%s' has %" PRIu64
                           "; bind the data to a __global const pointer.",
                           kernel->info.name, constant, device->name, device->info.constant_bytes);
    if (constants > device->info.constant_arguments)
        return strata_fail(STRATA_TOO_LARGE, "Kernel '%s' has %u __constant arguments, but device '%s' allows %u.",
                           kernel->info.name, constants, device->name, device->info.constant_arguments);
    return STRATA_OK;
}

static bool is_written(const strata_kernel *kernel, size_t index, const strata_arg *arg) {
    return !kernel->arguments[index].is_const && arg->slice.buffer->info.access != STRATA_READ_ONLY;
}

static bool is_memory(const strata_arg *arg) {
    return arg->type == STRATA_ARG_SLICE && arg->slice.bytes > 0;
}

/* The same slice twice is well defined, and usual for kernels that work in place. */
static bool is_same(strata_slice a, strata_slice b) {
    return a.buffer == b.buffer && a.offset == b.offset && a.bytes == b.bytes;
}

static enum strata_status check_overlaps(const strata_kernel *kernel, const strata_arg *args, size_t count) {
    char first[160], second[160], name[96];
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (is_memory(&args[i]) && is_memory(&args[j]) && !is_same(args[i].slice, args[j].slice) &&
                strata_slices_overlap(args[i].slice, args[j].slice) &&
                (is_written(kernel, i, &args[i]) || is_written(kernel, j, &args[j])))
                return strata_fail(STRATA_INVALID_ARGUMENT,
                                   "The slices for %s and %s overlap in the %s, and one of them is written.",
                                   label(kernel, j, first, sizeof first), label(kernel, i, second, sizeof second),
                                   strata_buffer_label(args[i].slice.buffer, name, sizeof name));
    return STRATA_OK;
}

static enum strata_status check_arguments(const strata_device *device, const strata_kernel *kernel,
                                          const strata_arg *args, size_t count) {
    if (count != kernel->info.argument_count || (count && !args))
        return strata_fail(STRATA_INVALID_ARGUMENT, "Kernel '%s' takes %u arguments, not %zu.", kernel->info.name,
                           kernel->info.argument_count, args ? count : 0);
    enum strata_status status = STRATA_OK;
    for (size_t i = 0; i < count && status == STRATA_OK; i++)
        status = check_argument(device, kernel, i, &args[i]);
    if (status == STRATA_OK)
        status = check_totals(device, kernel, args, count);
    if (status == STRATA_OK)
        status = check_overlaps(kernel, args, count);
    return status;
}

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

/* A local size for a grid that has none; left at 0, for the runtime, in two and three dimensions that are not padded. */
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
                               "%" PRIu64 " work-items in dimension %u are over the 2^31-1 that a launch can have; loop in "
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

/* Fills a payload, and the uses of the slices; the number of uses. */
static size_t fill_payload(struct launch_payload *payload, strata_kernel *kernel, const strata_grid *grid,
                           const strata_arg *args, size_t count, struct strata_command_use *uses) {
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
        if (is_memory(arg)) {
            native->buffer = arg->slice.buffer->native;
            native->offset = arg->slice.offset;
            native->bytes = arg->slice.bytes;
            uses[used++] = (struct strata_command_use){arg->slice.buffer, arg->slice.offset, arg->slice.bytes,
                                                       is_written(kernel, i, arg), false};
        } else if (arg->type == STRATA_ARG_VALUE) {
            native->offset = used_values; /* where its bytes are, until the launch runs */
            memcpy(values + used_values, arg->pointer ? arg->pointer : arg->value, (size_t)arg->bytes);
            used_values += (size_t)arg->bytes;
        }
    }
    return used;
}

static enum strata_status put(strata_queue *queue, strata_kernel *kernel, const strata_grid *grid, const strata_arg *args,
                              size_t count, strata_event **event) {
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
    size_t use_count = fill_payload(payload, kernel, grid, args, count, uses);
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
    status = check_arguments(queue->device, kernel, args, count);
    if (status == STRATA_OK)
        status = check_grid(queue->device, kernel, &grid, &nothing);
    if (status != STRATA_OK)
        return status;
    if (nothing)
        return event ? strata_queue_mark(queue, event) : STRATA_OK;
    return put(queue, kernel, &grid, args, count, event);
}

enum strata_status strata_launch(strata_queue *queue, strata_kernel *kernel, strata_grid grid, const strata_arg *args,
                                 size_t count) {
    return strata_launch_event(queue, kernel, grid, args, count, NULL);
}
