/* Programs, kernels and launches that count their calls. */
#include "backend/fault/native.h"

#include <string.h>

static struct strata_fault_program *program_of(struct strata_native_program *program) {
    return (struct strata_fault_program *)program;
}

static struct strata_fault_kernel *kernel_of(struct strata_native_kernel *kernel) {
    return (struct strata_fault_kernel *)kernel;
}

static const struct strata_backend_program *table_of(const struct strata_fault *fault) {
    return fault->inner->program;
}

struct strata_native_program *strata_fault_inner_program(const struct strata_fault *fault,
                                                         struct strata_native_program *program) {
    return fault ? program_of(program)->inner : program;
}

/* Covers a program that a call made; it is gone when that fails. */
static enum strata_status cover(struct strata_fault *fault, struct strata_native_program *inner,
                                struct strata_native_program **result) {
    struct strata_fault_program *program = strata_host_allocate(&fault->base, sizeof *program);
    if (!program) {
        table_of(fault)->destroy(inner);
        return strata_fail_host_memory(sizeof *program, "a program");
    }
    program->fault = fault;
    program->inner = inner;
    atomic_fetch_add(&fault->live, 1);
    *result = (struct strata_native_program *)program;
    return STRATA_OK;
}

static enum strata_status build(struct strata_native_device *device, const char *source, size_t length,
                                const char *options, const char *name, struct strata_native_program **program) {
    struct strata_fault *fault = (struct strata_fault *)device;
    struct strata_native_program *inner = NULL;
    enum strata_status status = strata_fault_count(fault, STRATA_FAULT_BUILD, length);
    if (status == STRATA_OK)
        status = table_of(fault)->build(fault->device, source, length, options, name, &inner);
    return status == STRATA_OK ? cover(fault, inner, program) : status;
}

static enum strata_status load(struct strata_native_device *device, const void *binary, size_t length,
                               const char *options, struct strata_native_program **program) {
    struct strata_fault *fault = (struct strata_fault *)device;
    struct strata_native_program *inner = NULL;
    enum strata_status status = strata_fault_count(fault, STRATA_FAULT_LOAD, length);
    if (status == STRATA_OK)
        status = table_of(fault)->load(fault->device, binary, length, options, &inner);
    return status == STRATA_OK ? cover(fault, inner, program) : status;
}

static enum strata_status binary(struct strata_native_program *native, struct strata_text *text) {
    struct strata_fault_program *program = program_of(native);
    enum strata_status status = strata_fault_count(program->fault, STRATA_FAULT_BINARY, 0);
    return status == STRATA_OK ? table_of(program->fault)->binary(program->inner, text) : status;
}

static enum strata_status kernel_names(struct strata_native_program *native, struct strata_text *names) {
    struct strata_fault_program *program = program_of(native);
    enum strata_status status = strata_fault_count(program->fault, STRATA_FAULT_KERNEL, 0);
    return status == STRATA_OK ? table_of(program->fault)->kernel_names(program->inner, names) : status;
}

static void destroy(struct strata_native_program *native) {
    struct strata_fault_program *program = program_of(native);
    struct strata_fault *fault = program->fault;
    table_of(fault)->destroy(program->inner);
    atomic_fetch_sub(&fault->live, 1);
    strata_host_release(&fault->base, program);
}

static enum strata_status kernel_create(struct strata_native_program *native, const char *name,
                                        struct strata_native_kernel **result,
                                        struct strata_native_kernel_facts *facts) {
    struct strata_fault_program *program = program_of(native);
    struct strata_fault *fault = program->fault;
    enum strata_status status = strata_fault_count(fault, STRATA_FAULT_KERNEL, 0);
    if (status != STRATA_OK)
        return status;
    struct strata_fault_kernel *kernel = strata_host_allocate(&fault->base, sizeof *kernel);
    if (!kernel)
        return strata_fail_host_memory(sizeof *kernel, "a kernel");
    status = table_of(fault)->kernel_create(program->inner, name, &kernel->inner, facts);
    if (status != STRATA_OK) {
        strata_host_release(&fault->base, kernel);
        return status;
    }
    kernel->fault = fault;
    atomic_init(&kernel->references, 1);
    atomic_fetch_add(&fault->live, 1);
    *result = (struct strata_native_kernel *)kernel;
    return STRATA_OK;
}

static enum strata_status kernel_argument(struct strata_native_kernel *native, uint32_t index,
                                          struct strata_argument_info *info, struct strata_text *strings) {
    struct strata_fault_kernel *kernel = kernel_of(native);
    enum strata_status status = strata_fault_count(kernel->fault, STRATA_FAULT_KERNEL, 0);
    return status == STRATA_OK ? table_of(kernel->fault)->kernel_argument(kernel->inner, index, info, strings) : status;
}

static void kernel_destroy(struct strata_native_kernel *kernel) {
    strata_fault_kernel_drop(kernel_of(kernel));
}

/* The arguments with the inner backend's buffers, and the values behind them, in one piece of memory. */
static struct strata_native_argument *copy_arguments(struct strata_fault *fault,
                                                     const struct strata_native_argument *arguments, size_t count) {
    size_t bytes = count * sizeof *arguments;
    for (size_t i = 0; i < count; i++)
        if (arguments[i].type == STRATA_ARG_VALUE)
            bytes += (size_t)arguments[i].bytes;
    struct strata_native_argument *copy = strata_host_allocate(&fault->base, bytes);
    unsigned char *values = copy ? (unsigned char *)&copy[count] : NULL;
    for (size_t i = 0; i < count && copy; i++) {
        copy[i] = arguments[i];
        if (arguments[i].buffer)
            copy[i].buffer = ((struct strata_fault_buffer *)arguments[i].buffer)->inner;
        if (arguments[i].type != STRATA_ARG_VALUE)
            continue;
        memcpy(values, arguments[i].value, (size_t)arguments[i].bytes);
        copy[i].value = values;
        values += arguments[i].bytes;
    }
    return copy;
}

static enum strata_status run_launch(const struct strata_fault_queue *queue, const struct strata_fault_command *command,
                                     struct strata_native_event **done) {
    return table_of(queue->fault)
        ->launch(queue->inner, command->kernel->inner, &command->grid, command->arguments, command->count, done);
}

/* The bytes of memory that a launch is given. */
static uint64_t bytes_of(const struct strata_native_argument *arguments, size_t count) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        if (arguments[i].buffer)
            bytes += arguments[i].bytes;
    return bytes;
}

static enum strata_status launch(struct strata_native_queue *native, struct strata_native_kernel *kernel,
                                 const struct strata_native_grid *grid, const struct strata_native_argument *arguments,
                                 size_t count, struct strata_native_event **done) {
    struct strata_fault_queue *queue = (struct strata_fault_queue *)native;
    struct strata_fault *fault = queue->fault;
    enum strata_status status = strata_fault_count(fault, STRATA_FAULT_LAUNCH, bytes_of(arguments, count));
    for (size_t i = 0; i < count && status == STRATA_OK; i++)
        if (arguments[i].buffer)
            status = strata_fault_place((struct strata_fault_buffer *)arguments[i].buffer, STRATA_FAULT_LAUNCH);
    if (status != STRATA_OK)
        return status;
    struct strata_fault_command command = {
        .run = run_launch, .kernel = kernel_of(kernel), .grid = *grid, .count = count};
    command.arguments = copy_arguments(fault, arguments, count);
    if (!command.arguments)
        return strata_fail_host_memory(count * sizeof *arguments, "a launch's arguments");
    atomic_fetch_add(&command.kernel->references, 1);
    return strata_fault_put(queue, &command, done);
}

const struct strata_backend_program strata_fault_program_table = {.build = build,
                                                                  .load = load,
                                                                  .binary = binary,
                                                                  .kernel_names = kernel_names,
                                                                  .destroy = destroy,
                                                                  .kernel_create = kernel_create,
                                                                  .kernel_argument = kernel_argument,
                                                                  .kernel_destroy = kernel_destroy,
                                                                  .launch = launch};
