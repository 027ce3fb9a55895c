/* What the tests of programs and launches share: building from text, and buffers of 32-bit words. */
#ifndef STRATA_TESTS_LAUNCHING_H
#define STRATA_TESTS_LAUNCHING_H

#include "contract.h"

#include "strata/program.h"
#include "strata/transfer.h"

static inline strata_program *build_with(strata_device *on, const struct strata_program_desc *desc) {
    strata_program *program = NULL;
    CHECK(strata_program_build(on, desc, &program));
    return program;
}

static inline strata_program *build_text(strata_device *on, const char *source) {
    return build_with(on, STRATA_PROGRAM(.source = source));
}

static inline strata_kernel *kernel_of(strata_program *program, const char *name) {
    strata_kernel *kernel = NULL;
    CHECK(strata_program_kernel(program, name, &kernel));
    return kernel;
}

/* A buffer of `count` words, all `value`. */
static inline strata_buffer *words(strata_device *on, size_t count, uint32_t value) {
    strata_buffer *buffer = NULL;
    CHECK(strata_buffer_create(on, STRATA_BUFFER(.bytes = count * sizeof value, .name = "words"), &buffer));
    CHECK(strata_fill(strata_device_queue(on), strata_all(buffer), &value, sizeof value));
    return buffer;
}

static inline uint32_t word(strata_queue *queue, strata_buffer *buffer, size_t index) {
    uint32_t value = 0;
    CHECK(strata_read(queue, strata_sub(strata_all(buffer), index * sizeof value, sizeof value), &value));
    return value;
}

static inline strata_arg whole(strata_buffer *buffer) {
    return strata_arg_slice(strata_all(buffer));
}

/* What the first work-item of a kernel with one argument, a __global uint pointer, writes there. */
static inline uint32_t answer(strata_program *program, const char *kernel, strata_device *on) {
    strata_queue *queue = strata_device_queue(on);
    strata_buffer *out = words(on, 1, 0);
    CHECK(strata_launch(queue, kernel_of(program, kernel), strata_grid_1d(1), STRATA_ARGS(whole(out))));
    uint32_t value = word(queue, out, 0);
    strata_buffer_destroy(&out);
    return value;
}

#endif
