/* Programs and kernels inside. */
#ifndef STRATA_PROGRAM_PROGRAM_H
#define STRATA_PROGRAM_PROGRAM_H

#include "core/device.h"
#include "strata/program.h"

struct strata_kernel {
    strata_program *program;
    struct strata_kernel_info info;
    struct strata_argument_info *arguments;
    uint64_t *value_bytes; /* of each argument, by its type's name; 0: not known */
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

/* The size of a built-in OpenCL C type by its name, "float4" say; 0 for any other. 3-vectors have 4 elements' size. */
uint64_t strata_type_bytes(const char *type);

#endif
