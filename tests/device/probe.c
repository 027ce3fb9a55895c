/* Whether the runtime faults that src/core/quirks.c works around are there: each is provoked with plain OpenCL, in a
 * process of its own, since some of them crash. Usage: probe [PART OF A PLATFORM'S NAME] (default: NVIDIA). */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_S 60

static const char *wanted = "NVIDIA";

struct runtime {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_kernel kernel; /* writes to its first argument and reads its second */
};

static int open_runtime(struct runtime *runtime) {
    cl_platform_id platforms[16];
    cl_uint count = 0;
    cl_int code = CL_SUCCESS;
    if (clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS)
        return 0;
    for (cl_uint i = 0; i < count && i < 16; i++) {
        char name[256] = "";
        clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
        if (!strstr(name, wanted) ||
            clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &runtime->device, NULL) != CL_SUCCESS)
            continue;
        const char *source = "__kernel void add(__global uint *to, __global const uint *from) { to[0] += from[0]; }";
        runtime->context = clCreateContext(NULL, 1, &runtime->device, NULL, NULL, &code);
        if (code == CL_SUCCESS)
            runtime->queue = clCreateCommandQueue(runtime->context, runtime->device, 0, &code);
        cl_program program =
            code == CL_SUCCESS ? clCreateProgramWithSource(runtime->context, 1, &source, NULL, &code) : NULL;
        if (code == CL_SUCCESS)
            code = clBuildProgram(program, 1, &runtime->device, "", NULL, NULL);
        if (code == CL_SUCCESS)
            runtime->kernel = clCreateKernel(program, "add", &code);
        return code == CL_SUCCESS;
    }
    return 0;
}

/* Two parts of one buffer, used by a kernel or not, released in either order. */
struct parts {
    const char *what;
    size_t origin[2], bytes[2];
    int use, second_first, finish;
};

static int probe_parts(const void *argument) {
    const struct parts *parts = argument;
    struct runtime runtime;
    cl_int code = CL_SUCCESS;
    cl_mem id[2];
    if (!open_runtime(&runtime))
        return 2;
    cl_mem parent = clCreateBuffer(runtime.context, CL_MEM_READ_WRITE, 1 << 20, NULL, &code);
    cl_mem other = clCreateBuffer(runtime.context, CL_MEM_READ_WRITE, 4096, NULL, &code);
    for (int i = 0; i < 2; i++) {
        cl_buffer_region region = {parts->origin[i], parts->bytes[i]};
        id[i] = clCreateSubBuffer(parent, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
        if (code != CL_SUCCESS)
            return 1;
    }
    const size_t one = 1;
    for (int i = 0; i < 2 && parts->use; i++) {
        clSetKernelArg(runtime.kernel, 0, sizeof other, &other);
        clSetKernelArg(runtime.kernel, 1, sizeof id[i], &id[i]);
        if (clEnqueueNDRangeKernel(runtime.queue, runtime.kernel, 1, NULL, &one, NULL, 0, NULL, NULL) != CL_SUCCESS)
            return 1;
    }
    if (parts->finish)
        clFinish(runtime.queue);
    clReleaseMemObject(id[parts->second_first]);
    clReleaseMemObject(id[!parts->second_first]);
    clReleaseMemObject(parent);
    return clFinish(runtime.queue) == CL_SUCCESS ? 0 : 1;
}

/* A fill of one pattern at an offset, read back. */
struct fill {
    size_t gib, pattern_bytes;
    uint64_t offset;
};

static int probe_fill(const void *argument) {
    const struct fill *fill = argument;
    struct runtime runtime;
    unsigned char pattern[128], found[128] = {0};
    cl_int code = CL_SUCCESS;
    cl_ulong most = 0;
    if (!open_runtime(&runtime))
        return 2;
    clGetDeviceInfo(runtime.device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most, NULL);
    if (most < fill->gib << 30)
        return 2;
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = (unsigned char)(i + 1);
    cl_mem memory = clCreateBuffer(runtime.context, CL_MEM_READ_WRITE, fill->gib << 30, NULL, &code);
    if (code != CL_SUCCESS ||
        clEnqueueFillBuffer(runtime.queue, memory, pattern, fill->pattern_bytes, fill->offset, 1 << 20, 0, NULL,
                            NULL) != CL_SUCCESS ||
        clFinish(runtime.queue) != CL_SUCCESS ||
        clEnqueueReadBuffer(runtime.queue, memory, CL_TRUE, fill->offset, fill->pattern_bytes, found, 0, NULL, NULL) !=
            CL_SUCCESS)
        return 1;
    return memcmp(found, pattern, fill->pattern_bytes) != 0;
}

/* The names of the kernels of a program that has none, and its binary. */
static int probe_empty_program(const void *argument) {
    struct runtime runtime;
    const char *source = "uint f(uint x);\nuint f(uint x) { return x; }\n";
    cl_int code = CL_SUCCESS;
    char names[256] = "";
    size_t size = 0;
    if (!open_runtime(&runtime))
        return 2;
    cl_program program = clCreateProgramWithSource(runtime.context, 1, &source, NULL, &code);
    code = clBuildProgram(program, 1, &runtime.device, "", NULL, NULL);
    if (code != CL_SUCCESS)
        return 1;
    switch (*(const int *)argument) {
    case 1: code = clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof size, &size, NULL); break;
    case 2: code = clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, sizeof names, names, NULL); break;
    case 3: code = clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL); break;
    default: break;
    }
    return code == CL_SUCCESS ? 0 : 1;
}

/* A kernel without arguments, built with what tells of arguments. */
static int probe_arg_info(const void *argument) {
    struct runtime runtime;
    const char *source = "__kernel void plain(void) { }\n";
    cl_int code = CL_SUCCESS;
    (void)argument;
    if (!open_runtime(&runtime))
        return 2;
    cl_program program = clCreateProgramWithSource(runtime.context, 1, &source, NULL, &code);
    return clBuildProgram(program, 1, &runtime.device, "-cl-kernel-arg-info", NULL, NULL) != CL_SUCCESS;
}

static void report(const char *what, int (*probe)(const void *), const void *argument) {
    printf("%-64s ", what);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE_S);
        _exit(probe(argument));
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
        printf("signal %d\n", WTERMSIG(status));
    else
        puts(WEXITSTATUS(status) == 0 ? "right" : WEXITSTATUS(status) == 2 ? "not tried" : "wrong");
    fflush(stdout);
}

int main(int argc, char **argv) {
    static const struct parts shapes[] = {{"apart", {0, 65536}, {32768, 32768}, 0, 0, 1},
                                          {"same start", {0, 0}, {32768, 65536}, 0, 0, 1},
                                          {"same start, the larger first", {0, 0}, {65536, 32768}, 0, 0, 1},
                                          {"one within the other", {0, 4096}, {65536, 4096}, 0, 0, 1},
                                          {"overlapping by half", {0, 16384}, {32768, 32768}, 0, 0, 1}};
    static const size_t patterns[] = {1, 4, 16, 128};
    static const uint64_t gib[] = {1, 3, 9, 30};
    char what[128];
    if (argc > 1)
        wanted = argv[1];
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int way = 0; way < 8; way++) {
            struct parts parts = shapes[i];
            parts.use = way & 1;
            parts.second_first = (way & 2) != 0;
            parts.finish = (way & 4) != 0;
            snprintf(what, sizeof what, "parts: %s, %s, %s first%s", parts.what, parts.use ? "used" : "unused",
                     parts.second_first ? "second" : "first", parts.finish ? ", finished" : "");
            report(what, probe_parts, &parts);
        }
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        for (size_t j = 0; j < sizeof gib / sizeof *gib; j++) {
            struct fill fill = {32, patterns[i], gib[j] << 30};
            snprintf(what, sizeof what, "fill: pattern of %zu bytes at %llu GiB", patterns[i],
                     (unsigned long long)gib[j]);
            report(what, probe_fill, &fill);
        }
    report("kernel without arguments, -cl-kernel-arg-info", probe_arg_info, NULL);
    for (int part = 0; part < 4; part++) {
        snprintf(what, sizeof what, "program without kernels: %s",
                 part == 0   ? "build"
                 : part == 1 ? "count"
                 : part == 2 ? "names"
                             : "size of its binary");
        report(what, probe_empty_program, &part);
    }
    return 0;
}
