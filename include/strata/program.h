/* Programs and kernels: OpenCL C from a file, a string or strata's own set, built, cached and launched.
 *
 *     strata_program_build(dev, STRATA_PROGRAM(.path = "filter.cl", .options = "-DRADIUS=4"), &p);
 *     strata_program_kernel(p, "filter", &filter);
 *     strata_launch(queue, filter, strata_grid_1d(n),
 *                   STRATA_ARGS(strata_arg_slice(strata_all(x)), strata_arg_f32(gain), strata_arg_local(1024)));
 *
 * Arguments belong to the launch, not to the kernel, so one kernel may be launched from several threads at once. */
#ifndef STRATA_PROGRAM_H
#define STRATA_PROGRAM_H

#include "strata/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct strata_program strata_program;
typedef struct strata_kernel strata_kernel;

/* Exactly one of path, source and embedded is given. */
struct strata_program_desc {
    size_t size;
    const char *path;     /* a file; its `#include "x"` are looked for beside it first */
    const char *source;   /* text */
    size_t source_bytes;  /* length of `source`; 0: up to its terminator */
    const char *embedded; /* a file of strata's own set, "reduce.cl" say */
    const char *options;  /* for the compiler; -I is taken out and served by strata, so spaces in folders are safe */
    const char *name;     /* for messages; NULL: the path or the embedded name */
    bool no_cache;        /* build anew and store nothing */
};
#define STRATA_PROGRAM(...)                                                                                            \
    (&(const struct strata_program_desc){.size = sizeof(struct strata_program_desc), __VA_ARGS__})
STRATA_API void strata_program_desc_init(struct strata_program_desc *desc);

/* Builds a program, or takes its binary from the cache. Blocks for as long as the compiler takes. On success *program
 * is the caller's. Errors: IO (the file), INVALID_ARGUMENT (NUL or nothing in the source, a bad desc), BUILD_FAILED
 * (strata_last_error()->log has the compiler's words), OUT_OF_MEMORY, FORKED. Any thread. Source: OpenCL 3.0, 5.8. */
STRATA_API enum strata_status strata_program_build(strata_device *device, const struct strata_program_desc *desc,
                                                   strata_program **program);

/* Legal while kernels of it are alive or in flight. Clears *program. */
STRATA_API void strata_program_destroy(strata_program **program);

/* Whether the binary came from the cache, nothing having been compiled. */
STRATA_API bool strata_program_was_cached(const strata_program *program);

/* The kernels' names, and a kernel by name, which belongs to the program and lives as long. Errors: INVALID_ARGUMENT,
 * which lists the names there are. Any thread. */
STRATA_API size_t strata_program_kernel_count(const strata_program *program);
STRATA_API const char *strata_program_kernel_name(const strata_program *program, size_t index);
STRATA_API enum strata_status strata_program_kernel(strata_program *program, const char *name, strata_kernel **kernel);

enum strata_argument_kind {
    STRATA_ARGUMENT_UNKNOWN = 0, /* the runtime does not tell */
    STRATA_ARGUMENT_VALUE = 1,
    STRATA_ARGUMENT_GLOBAL = 2,
    STRATA_ARGUMENT_CONSTANT = 3,
    STRATA_ARGUMENT_LOCAL = 4,
    STRATA_ARGUMENT_IMAGE = 5 /* images and samplers: not served by strata */
};

struct strata_argument_info {
    enum strata_argument_kind kind;
    bool is_const;    /* a pointer to const: the kernel only reads */
    const char *name; /* "" where the runtime does not tell */
    const char *type; /* such as "float*" */
};

struct strata_kernel_info {
    size_t size;
    const char *name;
    uint32_t argument_count;
    const struct strata_argument_info *arguments;
    uint64_t max_group_items;    /* of this kernel on this device */
    uint64_t preferred_multiple; /* of work-items in a work-group: the warp or wavefront */
    uint64_t required_group[3];  /* reqd_work_group_size, or zeros */
    uint64_t local_bytes;        /* static __local memory */
    uint64_t private_bytes;      /* per work-item; STRATA_UNKNOWN where the runtime does not tell */
};
STRATA_API const struct strata_kernel_info *strata_kernel_get_info(const strata_kernel *kernel);

/* What a kernel runs over. A plain value. An extent of 0 within the dimensions is a legal no-op. */
typedef struct strata_grid {
    uint32_t dimensions; /* 1 to 3 */
    bool round_up;       /* pad global up to a multiple of local: the kernel must check its bounds itself */
    uint64_t global[3];  /* work-items, up to 2^31-1 in each dimension */
    uint64_t local[3];   /* work-items in a work-group; all 0: strata chooses, within the kernel's own limit */
} strata_grid;

STRATA_API strata_grid strata_grid_1d(uint64_t x);
STRATA_API strata_grid strata_grid_2d(uint64_t x, uint64_t y);
STRATA_API strata_grid strata_grid_3d(uint64_t x, uint64_t y, uint64_t z);

/* The same grid with a local size; 1 for dimensions that it does not have. */
STRATA_API strata_grid strata_grid_local(strata_grid grid, uint64_t x, uint64_t y, uint64_t z);
STRATA_API strata_grid strata_grid_round_up(strata_grid grid);

enum strata_arg_type {
    STRATA_ARG_NONE = 0,
    STRATA_ARG_SLICE = 1,
    STRATA_ARG_LOCAL = 2,
    STRATA_ARG_VALUE = 3,
    STRATA_ARG_INDIRECT = 4
};

/* One argument of a launch. A plain value. */
typedef struct strata_arg {
    enum strata_arg_type type;
    uint64_t bytes;      /* LOCAL and VALUE */
    strata_slice slice;  /* SLICE, where an empty one passes a null pointer, and INDIRECT */
    const void *pointer; /* VALUE above 16 bytes, read during the launch call; else NULL */
    unsigned char value[16];
} strata_arg;

/* A buffer's part, for __global and __constant pointers. It must start at the device's base alignment. */
STRATA_API strata_arg strata_arg_slice(strata_slice slice);

/* `bytes` of local memory per work-group, for a __local pointer. */
STRATA_API strata_arg strata_arg_local(uint64_t bytes);

/* Any value by address, a struct or vector say, laid out as the device has it (float3 is 16 bytes). Up to 16 bytes are
 * copied; larger ones must live until the launch call returns. */
STRATA_API strata_arg strata_arg_value(const void *value, size_t bytes);
STRATA_API strata_arg strata_arg_i32(int32_t value);
STRATA_API strata_arg strata_arg_u32(uint32_t value);
STRATA_API strata_arg strata_arg_i64(int64_t value);
STRATA_API strata_arg strata_arg_u64(uint64_t value);
STRATA_API strata_arg strata_arg_f32(float value);
STRATA_API strata_arg strata_arg_f64(double value);

/* SHARED memory that the kernel reaches by pointers which it finds in other memory, such as the second of two buffers
 * with a linked list in both. It is no argument of the kernel, and stands behind those that are. The kernel may write
 * to it unless the buffer is READ_ONLY. Not for the mode MIRRORED, nor where the device has other addresses than the
 * host (same_pointer): UNSUPPORTED. Source: OpenCL 3.0, 5.9.2 (CL_KERNEL_EXEC_INFO_SVM_PTRS). */
STRATA_API strata_arg strata_arg_indirect(strata_slice slice);

/* Expands to the two arguments `args, count` of a launch. C only. */
#define STRATA_ARGS(...)                                                                                               \
    (const strata_arg[]){__VA_ARGS__}, (sizeof((const strata_arg[]){__VA_ARGS__}) / sizeof(strata_arg))

/* Puts a kernel into the queue; does not block. Errors: INVALID_ARGUMENT (count or kind of arguments, a value's size,
 * a slice not at the base alignment or not in its buffer, two slices of one buffer that overlap without being equal,
 * one of them written, a local size that does not divide the global size without `round_up`, or that is over the
 * kernel's limit or not what it requires), TOO_LARGE (constant or local memory over the device's limit, to the byte;
 * more than 2^31-1 work-items in a dimension), UNSUPPORTED (a PINNED buffer on a device whose kernels cannot use it,
 * INDIRECT memory without common addresses), BUSY (a buffer is mapped or bracketed, or used by unfinished work of
 * another queue that no event orders before), OUT_OF_MEMORY, DEVICE_LOST, FORKED. Any thread. Source: OpenCL 3.0, 5.9
 * and 5.10. */
STRATA_API enum strata_status strata_launch(strata_queue *queue, strata_kernel *kernel, strata_grid grid,
                                            const strata_arg *args, size_t count);

/* The same, with an event. */
STRATA_API enum strata_status strata_launch_event(strata_queue *queue, strata_kernel *kernel, strata_grid grid,
                                                  const strata_arg *args, size_t count, strata_event **event);

#ifdef __cplusplus
}
#endif
#endif
