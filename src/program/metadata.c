/* What is kept of a program's kernels beside its binary. */
#include "program/program.h"

#include <string.h>

/* One byte each for an argument's kind and const, before its two strings. */
#define ARGUMENT_HEAD 2

static enum strata_status collect_kernel(strata_program *program, const char *name, struct strata_text *metadata) {
    const struct strata_backend_program *table = program->device->backend->program;
    struct strata_native_kernel *kernel = NULL;
    struct strata_native_kernel_facts facts = {0};
    enum strata_status status = table->kernel_create(program->native, name, &kernel, &facts);
    if (status != STRATA_OK)
        return status;
    uint32_t count = facts.argument_count;
    strata_text_append(metadata, name, strlen(name) + 1);
    strata_text_append(metadata, (const char *)&count, sizeof count);
    for (uint32_t i = 0; i < count && status == STRATA_OK; i++) {
        struct strata_argument_info info = {0};
        struct strata_text strings = {.hooks = metadata->hooks};
        status = table->kernel_argument(kernel, i, &info, &strings);
        char head[ARGUMENT_HEAD] = {(char)info.kind, (char)info.is_const};
        strata_text_append(metadata, head, sizeof head);
        strata_text_append(metadata, strings.data, strings.length);
        strata_text_release(&strings);
    }
    table->kernel_destroy(kernel);
    return status;
}

enum strata_status strata_metadata_collect(strata_program *program, struct strata_text *metadata) {
    struct strata_text names = {.hooks = metadata->hooks};
    enum strata_status status = program->device->backend->program->kernel_names(program->native, &names);
    for (size_t at = 0; at < names.length && status == STRATA_OK; at += strlen(names.data + at) + 1)
        status = collect_kernel(program, names.data + at, metadata);
    strata_text_release(&names);
    if (status == STRATA_OK && metadata->failed)
        status = strata_fail_host_memory(metadata->length, "a program's description");
    return status;
}

/* Reads forward through the program's copy of the metadata. */
struct reader {
    const char *at, *end;
    bool failed;
};

static const char *read_string(struct reader *reader) {
    const char *string = reader->at;
    size_t left = (size_t)(reader->end - reader->at);
    const char *terminator = left ? memchr(string, '\0', left) : NULL;
    if (!terminator) {
        reader->failed = true;
        return "";
    }
    reader->at = terminator + 1;
    return string;
}

static void read_bytes(struct reader *reader, void *to, size_t bytes) {
    memset(to, 0, bytes);
    if ((size_t)(reader->end - reader->at) < bytes) {
        reader->failed = true;
        return;
    }
    memcpy(to, reader->at, bytes);
    reader->at += bytes;
}

static void read_argument(struct reader *reader, struct strata_argument_info *info) {
    unsigned char head[ARGUMENT_HEAD];
    read_bytes(reader, head, sizeof head);
    info->kind = (enum strata_argument_kind)head[0];
    info->is_const = head[1] != 0;
    info->name = read_string(reader);
    info->type = read_string(reader);
    if (head[0] > STRATA_ARGUMENT_IMAGE)
        reader->failed = true;
}

static void read_kernel(struct reader *reader, strata_program *program, strata_kernel *kernel) {
    uint32_t count;
    kernel->program = program;
    kernel->info.size = sizeof kernel->info;
    kernel->info.name = read_string(reader);
    read_bytes(reader, &count, sizeof count);
    /* An argument takes four bytes at least: a larger count is not one. */
    if (reader->failed || count > (size_t)(reader->end - reader->at) / (ARGUMENT_HEAD + 2)) {
        reader->failed = true;
        return;
    }
    kernel->arguments = strata_host_allocate(&program->device->hooks, count * sizeof *kernel->arguments);
    kernel->value_bytes = strata_host_allocate(&program->device->hooks, count * sizeof *kernel->value_bytes);
    if (!kernel->arguments || !kernel->value_bytes) {
        reader->failed = true;
        return;
    }
    kernel->info.arguments = kernel->arguments;
    kernel->info.argument_count = count;
    for (uint32_t i = 0; i < count && !reader->failed; i++) {
        read_argument(reader, &kernel->arguments[i]);
        kernel->value_bytes[i] = strata_type_bytes(kernel->arguments[i].type);
    }
}

static bool add_kernel(strata_program *program, struct reader *reader) {
    const struct strata_allocator *hooks = &program->device->hooks;
    strata_kernel *grown = strata_host_allocate(hooks, (program->kernel_count + 1) * sizeof *grown);
    if (!grown)
        return false;
    if (program->kernel_count)
        memcpy(grown, program->kernels, program->kernel_count * sizeof *grown);
    strata_host_release(hooks, program->kernels);
    program->kernels = grown;
    read_kernel(reader, program, &grown[program->kernel_count++]);
    return !reader->failed;
}

void strata_metadata_drop(strata_program *program) {
    for (size_t i = 0; i < program->kernel_count; i++) {
        strata_host_release(&program->device->hooks, program->kernels[i].arguments);
        strata_host_release(&program->device->hooks, program->kernels[i].value_bytes);
    }
    strata_host_release(&program->device->hooks, program->kernels);
    strata_host_release(&program->device->hooks, program->strings);
    program->kernels = NULL;
    program->kernel_count = 0;
    program->strings = NULL;
}

bool strata_metadata_apply(strata_program *program, const char *metadata, size_t length) {
    program->strings = strata_host_copy_string(&program->device->hooks, metadata, length);
    if (!program->strings)
        return false;
    struct reader reader = {program->strings, program->strings + length, false};
    while (reader.at < reader.end)
        if (!add_kernel(program, &reader)) {
            strata_metadata_drop(program);
            return false;
        }
    return true;
}
