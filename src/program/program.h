/* Programs and kernels inside. */
#ifndef STRATA_PROGRAM_PROGRAM_H
#define STRATA_PROGRAM_PROGRAM_H

#include "core/device.h"
#include "strata/program.h"

struct strata_kernel {
    strata_program *program;
    struct strata_kernel_info info;
    struct strata_argument_info *arguments;
    uint64_t *value_bytes;               /* of each argument, by its type's name; 0: not known */
    struct strata_native_kernel *native; /* made when first asked for; under the program's lock */
};

struct strata_program {
    atomic_uint references; /* the caller's, and one for each launch that waits behind host work */
    strata_device *device;
    struct strata_native_program *native;
    char *name;
    bool cached;
    char *strings; /* names and types of kernels and arguments */
    strata_kernel *kernels;
    size_t kernel_count;
    pthread_mutex_t lock;
};

void strata_program_retain(strata_program *program);
void strata_program_release(strata_program *program);

/* What is kept of all kernels beside the binary, because a program from a binary has no argument info: for each kernel
 * its name, then for each argument kind, const, name and type. */
enum strata_status strata_metadata_collect(strata_program *program, struct strata_text *metadata);

/* Fills the program's kernels from metadata. False when it is not well formed. */
bool strata_metadata_apply(strata_program *program, const char *metadata, size_t length);

/* Frees what strata_metadata_apply made. */
void strata_metadata_drop(strata_program *program);

/* Every argument against what the kernel and the device say, and the limits and overlaps of all of them. */
enum strata_status strata_arguments_check(const strata_device *device, const strata_kernel *kernel,
                                          const strata_arg *args, size_t count);

/* For strata_launch_own: only what the caller of a primitive can get wrong. */
enum strata_status strata_arguments_check_own(const strata_device *device, const strata_kernel *kernel,
                                              const strata_arg *args, size_t count);

bool strata_argument_is_written(const strata_kernel *kernel, size_t index, const strata_arg *arg);

/* Whether it is a slice of at least a byte. */
bool strata_argument_is_memory(const strata_arg *arg);

/* Launches a kernel of strata's own, whose arguments and grid need no check. A slice says which bytes the kernel uses,
 * but the pointer is that of the buffer's start, so that the slice may begin at any byte and no part of the buffer has
 * to be made: the kernel takes the slice's offset as an argument of its own. */
enum strata_status strata_launch_own(strata_queue *queue, strata_kernel *kernel, strata_grid grid,
                                     const strata_arg *args, size_t count);

/* The size of a built-in OpenCL C type by its name, "float4" say; 0 for any other. 3-vectors have 4 elements' size. */
uint64_t strata_type_bytes(const char *type);

#endif
