/* OpenCL programs and kernels: building, binaries, what a runtime tells of a kernel, launching. */
#include "backend/opencl/native.h"

#include <string.h>

static struct strata_cl_program *program_of(struct strata_native_program *program) {
    return (struct strata_cl_program *)program;
}

static struct strata_cl_kernel *kernel_of(struct strata_native_kernel *kernel) {
    return (struct strata_cl_kernel *)kernel;
}

/* The whole build log, with what was built and for what in front: runtimes leave both out. */
static void keep_log(struct strata_cl_device *device, cl_program id, const char *options) {
    struct strata_text log = {.hooks = &device->hooks};
    size_t size = 0;
    strata_text_printf(&log, "device: %s\noptions: %s\n", device->name, options);
    if (device->cl->GetProgramBuildInfo(id, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) != CL_SUCCESS)
        size = 0;
    char *text = size ? strata_host_allocate(&device->hooks, size + 1) : NULL;
    if (text && device->cl->GetProgramBuildInfo(id, device->id, CL_PROGRAM_BUILD_LOG, size, text, NULL) == CL_SUCCESS &&
        text[strspn(text, " \r\n\t")] != '\0')
        strata_text_add(&log, text);
    else
        strata_text_add(&log, "(the runtime gave no log)\n");
    strata_host_release(&device->hooks, text);
    if (log.data)
        strata_error_set_log(log.data, log.length);
    strata_text_release(&log);
}

static enum strata_status wrap(struct strata_cl_device *device, cl_program id, struct strata_native_program **result) {
    struct strata_cl_program *program = strata_host_allocate(&device->hooks, sizeof *program);
    if (!program) {
        device->cl->ReleaseProgram(id);
        return strata_fail_host_memory(sizeof *program, "a program");
    }
    program->device = device;
    program->id = id;
    *result = (struct strata_native_program *)program;
    return STRATA_OK;
}

/* One attempt. `id` is a program whenever one could be made, built or not. */
static cl_int build_once(struct strata_cl_device *device, const char *source, size_t length, const char *options,
                         cl_program *id) {
    cl_int code = CL_SUCCESS;
    *id = device->cl->CreateProgramWithSource(device->context, 1, &source, &length, &code);
    return code == CL_SUCCESS ? device->cl->BuildProgram(*id, 1, &device->id, options, NULL, NULL) : code;
}

static enum strata_status build(struct strata_native_device *native, const char *source, size_t length,
                                const char *options, const char *name, struct strata_native_program **result) {
    struct strata_cl_device *device = (struct strata_cl_device *)native;
    cl_program id = NULL;
    struct strata_text all = {.hooks = &device->hooks};
    strata_text_printf(&all, "-cl-kernel-arg-info %s", options);
    if (all.failed)
        return strata_fail_host_memory(strlen(options) + 32, "build options");
    cl_int code = build_once(device, source, length, all.data, &id);
    strata_text_release(&all);
    if (code == CL_BUILD_PROGRAM_FAILURE && device->quirks->arg_info_breaks) {
        device->cl->ReleaseProgram(id);
        code = build_once(device, source, length, options, &id);
    }
    if (!id)
        return strata_cl_fail(device, code, "take a program's source");
    if (code == CL_SUCCESS)
        return wrap(device, id, result);
    enum strata_status status = strata_cl_status(code);
    if (status != STRATA_OUT_OF_MEMORY && status != STRATA_DEVICE_LOST && status != STRATA_UNSUPPORTED)
        status = STRATA_BUILD_FAILED;
    status = strata_fail_native(status, code, strata_cl_error_name(code),
                                "Building '%s' for device '%s' with options '%s' failed; the log has the reason.", name,
                                device->name, options);
    keep_log(device, id, options);
    device->cl->ReleaseProgram(id);
    return status;
}

static enum strata_status load(struct strata_native_device *native, const void *binary, size_t length,
                               const char *options, struct strata_native_program **result) {
    struct strata_cl_device *device = (struct strata_cl_device *)native;
    const unsigned char *bytes = binary;
    cl_int code = CL_SUCCESS, status = CL_SUCCESS;
    cl_program id =
        device->cl->CreateProgramWithBinary(device->context, 1, &device->id, &length, &bytes, &status, &code);
    if (code == CL_SUCCESS && status == CL_SUCCESS)
        code = device->cl->BuildProgram(id, 1, &device->id, options, NULL, NULL);
    if (code == CL_SUCCESS && status == CL_SUCCESS)
        return wrap(device, id, result);
    if (id)
        device->cl->ReleaseProgram(id);
    return strata_cl_fail(device, code != CL_SUCCESS ? code : status, "use a program's stored binary");
}

static enum strata_status get_binary(struct strata_native_program *native, struct strata_text *binary) {
    struct strata_cl_program *program = program_of(native);
    const struct strata_cl_calls *cl = program->device->cl;
    size_t size = 0;
    /* One device per context, so one size and one binary. A caller's context may have more: then there is no cache. */
    cl_uint devices = 0;
    cl_int code = cl->GetProgramInfo(program->id, CL_PROGRAM_NUM_DEVICES, sizeof devices, &devices, NULL);
    if (code == CL_SUCCESS && devices == 1)
        code = cl->GetProgramInfo(program->id, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL);
    if (code != CL_SUCCESS)
        return strata_cl_fail(program->device, code, "give a program's binary");
    unsigned char *bytes = size ? strata_host_allocate(&program->device->hooks, size) : NULL;
    if (!bytes)
        return size ? strata_fail_host_memory(size, "a program's binary") : STRATA_OK;
    code = cl->GetProgramInfo(program->id, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL);
    if (code == CL_SUCCESS)
        strata_text_append(binary, (const char *)bytes, size);
    strata_host_release(&program->device->hooks, bytes);
    if (code != CL_SUCCESS)
        return strata_cl_fail(program->device, code, "give a program's binary");
    return binary->failed ? strata_fail_host_memory(size, "a program's binary") : STRATA_OK;
}

static enum strata_status kernel_names(struct strata_native_program *native, struct strata_text *names) {
    struct strata_cl_program *program = program_of(native);
    size_t size = 0, count = 0;
    const struct strata_cl_calls *cl = program->device->cl;
    /* Not asked for names where there are none: NVIDIA's runtime has been seen to crash on such programs. */
    cl_int code = cl->GetProgramInfo(program->id, CL_PROGRAM_NUM_KERNELS, sizeof count, &count, NULL);
    if (code == CL_SUCCESS && count == 0)
        return STRATA_OK;
    if (code == CL_SUCCESS)
        code = cl->GetProgramInfo(program->id, CL_PROGRAM_KERNEL_NAMES, 0, NULL, &size);
    char *list = code == CL_SUCCESS ? strata_host_allocate(&program->device->hooks, size + 1) : NULL;
    if (list)
        code = cl->GetProgramInfo(program->id, CL_PROGRAM_KERNEL_NAMES, size, list, NULL);
    if (code == CL_SUCCESS && list) {
        for (char *at = list; *at;) {
            size_t length = strcspn(at, ";");
            if (length) {
                strata_text_append(names, at, length);
                strata_text_append(names, "", 1);
            }
            at += length + (at[length] == ';');
        }
    }
    strata_host_release(&program->device->hooks, list);
    if (code != CL_SUCCESS)
        return strata_cl_fail(program->device, code, "list a program's kernels");
    return list && !names->failed ? STRATA_OK : strata_fail_host_memory(size, "kernel names");
}

static void destroy(struct strata_native_program *native) {
    struct strata_cl_program *program = program_of(native);
    program->device->cl->ReleaseProgram(program->id);
    strata_host_release(&program->device->hooks, program);
}

/* The first object has no SVM argument. */
static cl_kernel first_object(const struct strata_cl_kernel *kernel) {
    return kernel->variants[0].id;
}

static uint64_t group_figure(struct strata_cl_kernel *kernel, cl_kernel_work_group_info what, bool is_size) {
    cl_ulong wide = 0;
    size_t size = 0;
    cl_int code = kernel->device->cl->GetKernelWorkGroupInfo(first_object(kernel), kernel->device->id, what,
                                                             is_size ? sizeof size : sizeof wide,
                                                             is_size ? (void *)&size : (void *)&wide, NULL);
    return code != CL_SUCCESS ? STRATA_UNKNOWN : is_size ? size : wide;
}

/* On a kernel that has had no argument set: two runtimes count local arguments in. */
static void describe_kernel(struct strata_cl_kernel *kernel, struct strata_native_kernel_facts *facts) {
    const struct strata_cl_device *device = kernel->device;
    cl_uint arguments = 0;
    size_t required[3] = {0};
    device->cl->GetKernelInfo(first_object(kernel), CL_KERNEL_NUM_ARGS, sizeof arguments, &arguments, NULL);
    device->cl->GetKernelWorkGroupInfo(first_object(kernel), device->id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                                       sizeof required, required, NULL);
    facts->argument_count = arguments;
    facts->max_group_items = group_figure(kernel, CL_KERNEL_WORK_GROUP_SIZE, true);
    if (facts->max_group_items == STRATA_UNKNOWN || facts->max_group_items == 0)
        facts->max_group_items = device->info.max_group_items;
    facts->preferred_multiple = group_figure(kernel, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, true);
    facts->local_bytes = group_figure(kernel, CL_KERNEL_LOCAL_MEM_SIZE, false);
    facts->private_bytes = group_figure(kernel, CL_KERNEL_PRIVATE_MEM_SIZE, false);
    if (facts->local_bytes != STRATA_UNKNOWN && device->local_counts_double)
        facts->local_bytes /= 2;
    if (facts->local_bytes != STRATA_UNKNOWN && device->quirks->local_reserve)
        facts->local_bytes -=
            facts->local_bytes > device->quirks->local_reserve ? device->quirks->local_reserve : facts->local_bytes;
    if (facts->local_bytes == 0 && device->quirks->local_zero_is_unknown)
        facts->local_bytes = STRATA_UNKNOWN;
    if (facts->private_bytes == 0 && device->quirks->private_zero_is_unknown)
        facts->private_bytes = STRATA_UNKNOWN;
    for (int i = 0; i < 3; i++)
        facts->required_group[i] = required[i];
}

static void kernel_destroy(struct strata_native_kernel *native) {
    struct strata_cl_kernel *kernel = kernel_of(native);
    for (unsigned i = 0; i < kernel->variant_count; i++)
        kernel->device->cl->ReleaseKernel(kernel->variants[i].id);
    kernel->device->cl->ReleaseProgram(kernel->program);
    pthread_mutex_destroy(&kernel->lock);
    strata_host_release(&kernel->device->hooks, kernel->name);
    strata_host_release(&kernel->device->hooks, kernel);
}

static enum strata_status kernel_create(struct strata_native_program *native, const char *name,
                                        struct strata_native_kernel **result,
                                        struct strata_native_kernel_facts *facts) {
    struct strata_cl_device *device = program_of(native)->device;
    cl_int code = CL_SUCCESS;
    struct strata_cl_kernel *kernel = strata_host_allocate(&device->hooks, sizeof *kernel);
    char *copy = strata_host_copy_string(&device->hooks, name, strlen(name));
    if (!kernel || !copy) {
        strata_host_release(&device->hooks, kernel);
        strata_host_release(&device->hooks, copy);
        return strata_fail_host_memory(sizeof *kernel, "a kernel");
    }
    kernel->device = device;
    kernel->name = copy;
    kernel->program = program_of(native)->id;
    pthread_mutex_init(&kernel->lock, NULL);
    device->cl->RetainProgram(kernel->program);
    kernel->variants[0].id = device->cl->CreateKernel(kernel->program, name, &code);
    if (code != CL_SUCCESS) {
        kernel_destroy((struct strata_native_kernel *)kernel);
        return strata_cl_fail(device, code, "create a kernel");
    }
    kernel->variant_count = 1;
    describe_kernel(kernel, facts);
    *result = (struct strata_native_kernel *)kernel;
    return STRATA_OK;
}

/* Under the kernel's lock: the object for this pattern of SVM arguments. */
static cl_int find_variant(struct strata_cl_kernel *kernel, uint64_t svm, bool indirect,
                           struct strata_cl_variant **variant) {
    const struct strata_cl_calls *cl = kernel->device->cl;
    for (unsigned i = 0; i < kernel->variant_count; i++)
        if (kernel->variants[i].svm == svm && kernel->variants[i].indirect == indirect) {
            *variant = &kernel->variants[i];
            return CL_SUCCESS;
        }
    cl_int code = CL_SUCCESS;
    cl_kernel made = cl->CreateKernel(kernel->program, kernel->name, &code);
    if (code != CL_SUCCESS)
        return code;
    unsigned place = kernel->variant_count;
    if (place < STRATA_CL_VARIANTS) {
        kernel->variant_count++;
    } else { /* the first is kept: it is the one that most launches take */
        place = 1 + kernel->next_variant++ % (STRATA_CL_VARIANTS - 1);
        cl->ReleaseKernel(kernel->variants[place].id);
    }
    kernel->variants[place] = (struct strata_cl_variant){.svm = svm, .indirect = indirect, .id = made};
    *variant = &kernel->variants[place];
    return CL_SUCCESS;
}

/* Which arguments are SVM or USM pointers. */
static uint64_t svm_pattern(const struct strata_native_argument *arguments, size_t count) {
    uint64_t pattern = 0;
    for (size_t i = 0; i < count; i++) {
        const struct strata_cl_buffer *buffer = (const struct strata_cl_buffer *)arguments[i].buffer;
        if (arguments[i].type == STRATA_ARG_SLICE && buffer && buffer->storage != STRATA_CL_MEM)
            pattern |= UINT64_C(1) << (i % 64);
    }
    return pattern;
}

static bool argument_text(struct strata_cl_kernel *kernel, cl_uint index, cl_kernel_arg_info what,
                          struct strata_text *strings) {
    size_t size = 0;
    const struct strata_cl_calls *cl = kernel->device->cl;
    if (cl->GetKernelArgInfo(first_object(kernel), index, what, 0, NULL, &size) != CL_SUCCESS || size == 0)
        return false;
    char *text = strata_host_allocate(&kernel->device->hooks, size + 1);
    bool got = text && cl->GetKernelArgInfo(first_object(kernel), index, what, size, text, NULL) == CL_SUCCESS;
    if (got)
        strata_text_append(strings, text, strlen(text) + 1);
    strata_host_release(&kernel->device->hooks, text);
    return got;
}

static enum strata_argument_kind kind_of(cl_kernel_arg_address_qualifier address, const char *type) {
    switch (address) {
    case CL_KERNEL_ARG_ADDRESS_CONSTANT: return STRATA_ARGUMENT_CONSTANT;
    case CL_KERNEL_ARG_ADDRESS_LOCAL: return STRATA_ARGUMENT_LOCAL;
    case CL_KERNEL_ARG_ADDRESS_PRIVATE:
        return strcmp(type, "sampler_t") == 0 ? STRATA_ARGUMENT_IMAGE : STRATA_ARGUMENT_VALUE;
    default: return strncmp(type, "image", 5) == 0 ? STRATA_ARGUMENT_IMAGE : STRATA_ARGUMENT_GLOBAL;
    }
}

static enum strata_status kernel_argument(struct strata_native_kernel *native, uint32_t index,
                                          struct strata_argument_info *info, struct strata_text *strings) {
    struct strata_cl_kernel *kernel = kernel_of(native);
    const struct strata_cl_calls *cl = kernel->device->cl;
    cl_kernel_arg_address_qualifier address = CL_KERNEL_ARG_ADDRESS_PRIVATE;
    cl_kernel_arg_type_qualifier qualifiers = 0;
    size_t start = strings->length;
    info->kind = STRATA_ARGUMENT_UNKNOWN;
    info->is_const = false;
    bool told = cl->GetKernelArgInfo(first_object(kernel), index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof address,
                                     &address, NULL) == CL_SUCCESS &&
                cl->GetKernelArgInfo(first_object(kernel), index, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof qualifiers,
                                     &qualifiers, NULL) == CL_SUCCESS;
    bool named = told && argument_text(kernel, index, CL_KERNEL_ARG_NAME, strings);
    if (!named) {
        strings->length = start;
        strata_text_append(strings, "", 1);
    }
    size_t type = strings->length;
    if (!told || !argument_text(kernel, index, CL_KERNEL_ARG_TYPE_NAME, strings)) {
        strings->length = type;
        strata_text_append(strings, "", 1);
    }
    if (strings->failed)
        return strata_fail_host_memory(64, "a kernel's arguments");
    if (told) {
        info->kind = kind_of(address, strings->data + type);
        info->is_const = (qualifiers & CL_KERNEL_ARG_TYPE_CONST) != 0 || address == CL_KERNEL_ARG_ADDRESS_CONSTANT;
    }
    return STRATA_OK;
}

/* `part` is NULL for a whole buffer. */
static cl_int set_slice(const struct strata_cl_device *device, cl_kernel kernel, cl_uint index,
                        const struct strata_native_argument *argument, cl_mem part) {
    struct strata_cl_buffer *buffer = (struct strata_cl_buffer *)argument->buffer;
    if (!buffer || buffer->storage == STRATA_CL_MEM) {
        cl_mem id = part || !buffer ? part : buffer->id;
        return device->cl->SetKernelArg(kernel, index, sizeof id, &id);
    }
    const void *pointer = buffer->pointer + argument->offset;
    if (buffer->storage == STRATA_CL_SVM)
        return device->cl->SetKernelArgSVMPointer(kernel, index, pointer);
    strata_cl_serial_enter(device->quirks->serialise);
    cl_int code = device->usm.set_argument(kernel, index, pointer);
    strata_cl_serial_leave(device->quirks->serialise);
    return code;
}

/* What there is to remember of an argument; all zero: nothing. */
static struct strata_cl_remembered to_remember(const struct strata_native_argument *argument, cl_mem part) {
    const struct strata_cl_buffer *buffer = (const struct strata_cl_buffer *)argument->buffer;
    struct strata_cl_remembered now = {0};
    if (argument->type == STRATA_ARG_SLICE && buffer && buffer->storage == STRATA_CL_MEM && !part)
        now.serial = buffer->serial;
    if (argument->type == STRATA_ARG_VALUE && argument->bytes <= sizeof now.value) {
        now.bytes = (unsigned char)argument->bytes;
        memcpy(now.value, argument->value, (size_t)argument->bytes);
    }
    return now;
}

static bool is_remembered(const struct strata_cl_remembered *last, const struct strata_cl_remembered *now) {
    return (now->serial || now->bytes) && last->serial == now->serial && last->bytes == now->bytes &&
           memcmp(last->value, now->value, now->bytes) == 0;
}

static cl_int set_argument(const struct strata_cl_device *device, struct strata_cl_variant *variant, cl_uint index,
                           const struct strata_native_argument *argument, cl_mem part) {
    struct strata_cl_remembered *last = index < STRATA_CL_REMEMBERED ? &variant->last[index] : NULL;
    struct strata_cl_remembered now = to_remember(argument, part);
    if (last && is_remembered(last, &now))
        return CL_SUCCESS;
    cl_int code = CL_SUCCESS;
    if (argument->type == STRATA_ARG_SLICE)
        code = set_slice(device, variant->id, index, argument, part);
    else
        code = device->cl->SetKernelArg(variant->id, index, (size_t)argument->bytes,
                                        argument->type == STRATA_ARG_VALUE ? argument->value : NULL);
    if (last)
        *last = code == CL_SUCCESS ? now : (struct strata_cl_remembered){0};
    return code;
}

/* Tells of the memory that is reached by pointers alone. All of it is SVM, or all of it is USM. */
static cl_int set_indirect(const struct strata_cl_device *device, cl_kernel kernel,
                           const struct strata_native_argument *arguments, size_t count) {
    const void *usual[16], **pointers = usual;
    size_t found = 0;
    cl_kernel_exec_info what = CL_KERNEL_EXEC_INFO_SVM_PTRS;
    if (count > sizeof usual / sizeof usual[0])
        pointers = strata_host_allocate(&device->hooks, count * sizeof *pointers);
    if (!pointers)
        return CL_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const struct strata_cl_buffer *buffer = (const struct strata_cl_buffer *)arguments[i].buffer;
        if (arguments[i].type != STRATA_ARG_INDIRECT || !buffer)
            continue;
        pointers[found++] = buffer->pointer;
        if (buffer->storage == STRATA_CL_USM)
            what = CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL;
    }
    cl_int code = found ? device->cl->SetKernelExecInfo(kernel, what, found * sizeof *pointers, pointers) : CL_SUCCESS;
    if (pointers != usual)
        strata_host_release(&device->hooks, pointers);
    return code;
}

static bool has_indirect(const struct strata_native_argument *arguments, size_t count) {
    return count > 0 && arguments[count - 1].type == STRATA_ARG_INDIRECT;
}

/* Arguments on the stack up to this many; more take host memory. */
#define USUAL_ARGUMENTS 16

/* The parts among the arguments, each to be released; and whole buffers are made ready. A part comes after its whole,
 * see parts.c. */
static enum strata_status collect_parts(const struct strata_native_argument *arguments, size_t count, cl_mem *parts) {
    enum strata_status status = STRATA_OK;
    for (size_t i = 0; i < count && status == STRATA_OK; i++) {
        if (arguments[i].type == STRATA_ARG_SLICE && arguments[i].buffer)
            status = strata_cl_ready((struct strata_cl_buffer *)arguments[i].buffer);
        if (status == STRATA_OK && strata_cl_is_part(&arguments[i]))
            status = strata_cl_part_take(&arguments[i], &parts[i]);
    }
    return status;
}

static enum strata_status set_and_enqueue(struct strata_cl_queue *queue, struct strata_cl_kernel *kernel,
                                          const struct strata_native_grid *grid,
                                          const struct strata_native_argument *arguments, size_t count, cl_mem *parts,
                                          struct strata_native_event **done) {
    size_t global[3], local[3];
    for (int i = 0; i < 3; i++) {
        global[i] = (size_t)grid->global[i];
        local[i] = (size_t)grid->local[i];
    }
    cl_event event = NULL;
    struct strata_cl_variant *variant = NULL;
    const char *what = "launch a kernel";
    pthread_mutex_lock(&kernel->lock);
    bool indirect = has_indirect(arguments, count);
    cl_int code = find_variant(kernel, svm_pattern(arguments, count), indirect, &variant);
    if (code == CL_SUCCESS && indirect)
        code = set_indirect(queue->device, variant->id, arguments, count);
    for (size_t i = 0; i < count && code == CL_SUCCESS; i++) {
        if (arguments[i].type == STRATA_ARG_INDIRECT)
            break;
        code = set_argument(queue->device, variant, (cl_uint)i, &arguments[i], parts[i]);
        if (code != CL_SUCCESS)
            what = "take a kernel's argument";
    }
    if (code == CL_SUCCESS)
        code = queue->device->cl->EnqueueNDRangeKernel(queue->id, variant->id, grid->dimensions, NULL, global,
                                                       local[0] ? local : NULL, 0, NULL, done ? &event : NULL);
    pthread_mutex_unlock(&kernel->lock);
    if (code == CL_INVALID_ARG_SIZE || code == CL_INVALID_ARG_VALUE || code == CL_INVALID_WORK_GROUP_SIZE)
        return strata_fail_native(STRATA_INVALID_ARGUMENT, code, strata_cl_error_name(code),
                                  "Device '%s' could not %s.", queue->device->name, what);
    return strata_cl_enqueued(queue, code, what, event, done);
}

static enum strata_status launch(struct strata_native_queue *native, struct strata_native_kernel *kernel,
                                 const struct strata_native_grid *grid, const struct strata_native_argument *arguments,
                                 size_t count, struct strata_native_event **done) {
    struct strata_cl_queue *queue = (struct strata_cl_queue *)native;
    struct strata_cl_device *device = queue->device;
    cl_mem usual[USUAL_ARGUMENTS] = {0}, *parts = usual;
    if (count > USUAL_ARGUMENTS && !(parts = strata_host_allocate(&device->hooks, count * sizeof *parts)))
        return strata_fail_host_memory(count * sizeof *parts, "a launch's arguments");
    bool entered = strata_cl_parts_enter(device, arguments, count);
    enum strata_status status = collect_parts(arguments, count, parts);
    if (status == STRATA_OK)
        status = set_and_enqueue(queue, kernel_of(kernel), grid, arguments, count, parts, done);
    for (size_t i = 0; i < count; i++)
        if (parts[i])
            device->cl->ReleaseMemObject(parts[i]);
    if (entered)
        strata_cl_parts_leave(device);
    if (parts != usual)
        strata_host_release(&device->hooks, parts);
    return status;
}

const struct strata_backend_program strata_cl_program_table = {.build = build,
                                                               .load = load,
                                                               .binary = get_binary,
                                                               .kernel_names = kernel_names,
                                                               .destroy = destroy,
                                                               .kernel_create = kernel_create,
                                                               .kernel_argument = kernel_argument,
                                                               .kernel_destroy = kernel_destroy,
                                                               .launch = launch};
