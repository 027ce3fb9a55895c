/* What a launch is given: its grid and its arguments, made and checked. */
#include "core/quirks.h"
#include "memory/buffer.h"
#include "program/program.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

strata_arg strata_arg_indirect(strata_slice slice) {
    return (strata_arg){.type = STRATA_ARG_INDIRECT, .slice = slice};
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
    snprintf(place, size, "argument %zu%s%.48s%s of kernel '%.64s'", index, name[0] ? " '" : "", name,
             name[0] ? "'" : "", kernel->info.name);
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

static enum strata_status check_usable(const strata_device *device, const strata_kernel *kernel, size_t index,
                                       const strata_buffer *buffer) {
    char place[160], name[96];
    if (buffer->info.kernel_argument)
        return STRATA_OK;
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
    status = check_usable(device, kernel, index, buffer);
    if (status != STRATA_OK)
        return status;
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
        return strata_fail(STRATA_INVALID_ARGUMENT, "The value for %s is empty.",
                           label(kernel, index, place, sizeof place));
    if (kernel->arguments[index].kind == STRATA_ARGUMENT_VALUE && expected && expected != arg->bytes)
        return strata_fail(
            STRATA_INVALID_ARGUMENT, "The value for %s has %" PRIu64 " bytes, but its type %s has %" PRIu64 ".",
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
        return strata_fail(STRATA_INVALID_ARGUMENT, "The %s is %s.", label(kernel, index, place, sizeof place),
                           wants(kind));
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
    uint64_t own = kernel->info.local_bytes == STRATA_UNKNOWN ? 0 : kernel->info.local_bytes, local = own;
    uint64_t limit = device->info.local_bytes - strata_quirks_of(device->info.platform)->local_reserve, constant = 0;
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
    if (local > limit)
        return strata_fail(STRATA_TOO_LARGE,
                           "Kernel '%s' would use %" PRIu64 " bytes of local memory (%" PRIu64
                           " of them its own), but device '%s' has %" PRIu64 " per work-group for it.",
                           kernel->info.name, local, own, device->name, limit);
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

bool strata_argument_is_written(const strata_kernel *kernel, size_t index, const strata_arg *arg) {
    bool is_const = arg->type == STRATA_ARG_SLICE && kernel->arguments[index].is_const;
    return !is_const && arg->slice.buffer->info.access != STRATA_READ_ONLY;
}

bool strata_argument_is_memory(const strata_arg *arg) {
    return (arg->type == STRATA_ARG_SLICE || arg->type == STRATA_ARG_INDIRECT) && arg->slice.bytes > 0;
}

static enum strata_status check_indirect(const strata_device *device, const strata_kernel *kernel,
                                         const strata_arg *arg) {
    char name[96];
    enum strata_status status = strata_slice_check(device, arg->slice, "indirect argument");
    if (status != STRATA_OK || arg->slice.bytes == 0)
        return status;
    const struct strata_buffer_info *info = &arg->slice.buffer->info;
    if (info->kind == STRATA_SHARED && info->mode != STRATA_SHARED_MIRRORED && info->same_pointer)
        return STRATA_OK;
    return strata_fail(STRATA_UNSUPPORTED,
                       "Kernel '%s' cannot reach the %s by pointers of the host on device '%s': that takes SHARED "
                       "memory with the same address on both sides, COHERENT or MAPPED.",
                       kernel->info.name, strata_buffer_label(arg->slice.buffer, name, sizeof name), device->name);
}

/* How many of the arguments are the kernel's own; those that are not stand behind them. */
static size_t own_count(const strata_arg *args, size_t count) {
    while (count > 0 && args[count - 1].type == STRATA_ARG_INDIRECT)
        count--;
    return count;
}

/* The same slice twice is well defined, and usual for kernels that work in place. */
static bool is_same(strata_slice a, strata_slice b) {
    return a.buffer == b.buffer && a.offset == b.offset && a.bytes == b.bytes;
}

static enum strata_status check_overlaps(const strata_kernel *kernel, const strata_arg *args, size_t count) {
    char first[160], second[160], name[96];
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (strata_argument_is_memory(&args[i]) && strata_argument_is_memory(&args[j]) &&
                !is_same(args[i].slice, args[j].slice) && strata_slices_overlap(args[i].slice, args[j].slice) &&
                (strata_argument_is_written(kernel, i, &args[i]) || strata_argument_is_written(kernel, j, &args[j])))
                return strata_fail(STRATA_INVALID_ARGUMENT,
                                   "The slices for %s and %s overlap in the %s, and one of them is written.",
                                   label(kernel, j, first, sizeof first), label(kernel, i, second, sizeof second),
                                   strata_buffer_label(args[i].slice.buffer, name, sizeof name));
    return STRATA_OK;
}

enum strata_status strata_arguments_check(const strata_device *device, const strata_kernel *kernel,
                                          const strata_arg *args, size_t count) {
    size_t own = args ? own_count(args, count) : 0;
    if (own != kernel->info.argument_count || (count && !args))
        return strata_fail(STRATA_INVALID_ARGUMENT, "Kernel '%s' takes %u arguments, not %zu.", kernel->info.name,
                           kernel->info.argument_count, own);
    enum strata_status status = STRATA_OK;
    for (size_t i = 0; i < own && status == STRATA_OK; i++)
        status = check_argument(device, kernel, i, &args[i]);
    for (size_t i = own; i < count && status == STRATA_OK; i++)
        status = check_indirect(device, kernel, &args[i]);
    if (status == STRATA_OK)
        status = check_totals(device, kernel, args, own);
    if (status == STRATA_OK)
        status = check_overlaps(kernel, args, own);
    return status;
}

enum strata_status strata_arguments_check_own(const strata_device *device, const strata_kernel *kernel,
                                              const strata_arg *args, size_t count) {
    enum strata_status status = STRATA_OK;
    for (size_t i = 0; i < count && status == STRATA_OK; i++)
        if (strata_argument_is_memory(&args[i]))
            status = check_usable(device, kernel, i, args[i].slice.buffer);
    return status;
}
