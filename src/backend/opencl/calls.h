/* The one table that every OpenCL call of strata goes through.
 *
 * STRATA_CL_CALLS lists each entry point once: result, name without "cl", parameters, arguments. From it come the
 * table's members, the plain table, and the table whose calls take one lock around each, for runtimes that two threads
 * corrupt. All are OpenCL 1.2 or, where the list says so, 2.0; those are called only when the platform says that it
 * has 2.0, because ocl-icd 2.3.1 spins for ever on an entry point that a runtime's own table does not reach. */
#ifndef STRATA_BACKEND_OPENCL_CALLS_H
#define STRATA_BACKEND_OPENCL_CALLS_H

#include <stdbool.h>

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
/* clCreateCommandQueue is what a 1.2 platform has. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#define STRATA_CL_EVENTS cl_uint wait_count, const cl_event *wait_list, cl_event *event
#define STRATA_CL_EVENT_ARGUMENTS wait_count, wait_list, event

#define STRATA_CL_CALLS(X)                                                                                             \
    X(cl_int, GetDeviceInfo, (cl_device_id a, cl_device_info b, size_t c, void *d, size_t *e), (a, b, c, d, e))        \
    X(cl_context, CreateContext,                                                                                       \
      (const cl_context_properties *a, cl_uint b, const cl_device_id *c,                                               \
       void(CL_CALLBACK * d)(const char *, const void *, size_t, void *), void *e, cl_int *f),                         \
      (a, b, c, d, e, f))                                                                                              \
    X(cl_int, RetainContext, (cl_context a), (a))                                                                      \
    X(cl_int, ReleaseContext, (cl_context a), (a))                                                                     \
    X(cl_int, GetContextInfo, (cl_context a, cl_context_info b, size_t c, void *d, size_t *e), (a, b, c, d, e))        \
    X(cl_command_queue, CreateCommandQueue, (cl_context a, cl_device_id b, cl_command_queue_properties c, cl_int * d), \
      (a, b, c, d))                                                                                                    \
    X(cl_int, RetainCommandQueue, (cl_command_queue a), (a))                                                           \
    X(cl_int, ReleaseCommandQueue, (cl_command_queue a), (a))                                                          \
    X(cl_int, GetCommandQueueInfo, (cl_command_queue a, cl_command_queue_info b, size_t c, void *d, size_t *e),        \
      (a, b, c, d, e))                                                                                                 \
    X(cl_int, Flush, (cl_command_queue a), (a))                                                                        \
    X(cl_int, Finish, (cl_command_queue a), (a))                                                                       \
    X(cl_int, EnqueueMarkerWithWaitList, (cl_command_queue a, STRATA_CL_EVENTS), (a, STRATA_CL_EVENT_ARGUMENTS))       \
    X(cl_int, EnqueueBarrierWithWaitList, (cl_command_queue a, STRATA_CL_EVENTS), (a, STRATA_CL_EVENT_ARGUMENTS))      \
    X(cl_int, WaitForEvents, (cl_uint a, const cl_event *b), (a, b))                                                   \
    X(cl_int, GetEventInfo, (cl_event a, cl_event_info b, size_t c, void *d, size_t *e), (a, b, c, d, e))              \
    X(cl_int, GetEventProfilingInfo, (cl_event a, cl_profiling_info b, size_t c, void *d, size_t *e), (a, b, c, d, e)) \
    X(cl_int, ReleaseEvent, (cl_event a), (a))                                                                         \
    X(cl_mem, CreateBuffer, (cl_context a, cl_mem_flags b, size_t c, void *d, cl_int *e), (a, b, c, d, e))             \
    X(cl_mem, CreateSubBuffer, (cl_mem a, cl_mem_flags b, cl_buffer_create_type c, const void *d, cl_int *e),          \
      (a, b, c, d, e))                                                                                                 \
    X(cl_int, RetainMemObject, (cl_mem a), (a))                                                                        \
    X(cl_int, ReleaseMemObject, (cl_mem a), (a))                                                                       \
    X(cl_int, GetMemObjectInfo, (cl_mem a, cl_mem_info b, size_t c, void *d, size_t *e), (a, b, c, d, e))              \
    X(cl_int, SetMemObjectDestructorCallback, (cl_mem a, void(CL_CALLBACK * b)(cl_mem, void *), void *c), (a, b, c))   \
    X(cl_int, EnqueueReadBuffer,                                                                                       \
      (cl_command_queue a, cl_mem b, cl_bool c, size_t d, size_t e, void *f, STRATA_CL_EVENTS),                        \
      (a, b, c, d, e, f, STRATA_CL_EVENT_ARGUMENTS))                                                                   \
    X(cl_int, EnqueueWriteBuffer,                                                                                      \
      (cl_command_queue a, cl_mem b, cl_bool c, size_t d, size_t e, const void *f, STRATA_CL_EVENTS),                  \
      (a, b, c, d, e, f, STRATA_CL_EVENT_ARGUMENTS))                                                                   \
    X(cl_int, EnqueueCopyBuffer,                                                                                       \
      (cl_command_queue a, cl_mem b, cl_mem c, size_t d, size_t e, size_t f, STRATA_CL_EVENTS),                        \
      (a, b, c, d, e, f, STRATA_CL_EVENT_ARGUMENTS))                                                                   \
    X(cl_int, EnqueueFillBuffer,                                                                                       \
      (cl_command_queue a, cl_mem b, const void *c, size_t d, size_t e, size_t f, STRATA_CL_EVENTS),                   \
      (a, b, c, d, e, f, STRATA_CL_EVENT_ARGUMENTS))                                                                   \
    X(cl_int, EnqueueReadBufferRect,                                                                                   \
      (cl_command_queue a, cl_mem b, cl_bool c, const size_t *d, const size_t *e, const size_t *f, size_t g, size_t h, \
       size_t i, size_t j, void *k, STRATA_CL_EVENTS),                                                                 \
      (a, b, c, d, e, f, g, h, i, j, k, STRATA_CL_EVENT_ARGUMENTS))                                                    \
    X(cl_int, EnqueueWriteBufferRect,                                                                                  \
      (cl_command_queue a, cl_mem b, cl_bool c, const size_t *d, const size_t *e, const size_t *f, size_t g, size_t h, \
       size_t i, size_t j, const void *k, STRATA_CL_EVENTS),                                                           \
      (a, b, c, d, e, f, g, h, i, j, k, STRATA_CL_EVENT_ARGUMENTS))                                                    \
    X(cl_int, EnqueueCopyBufferRect,                                                                                   \
      (cl_command_queue a, cl_mem b, cl_mem c, const size_t *d, const size_t *e, const size_t *f, size_t g, size_t h,  \
       size_t i, size_t j, STRATA_CL_EVENTS),                                                                          \
      (a, b, c, d, e, f, g, h, i, j, STRATA_CL_EVENT_ARGUMENTS))                                                       \
    X(cl_int, EnqueueMigrateMemObjects,                                                                                \
      (cl_command_queue a, cl_uint b, const cl_mem *c, cl_mem_migration_flags d, STRATA_CL_EVENTS),                    \
      (a, b, c, d, STRATA_CL_EVENT_ARGUMENTS))                                                                         \
    X(void *, EnqueueMapBuffer,                                                                                        \
      (cl_command_queue a, cl_mem b, cl_bool c, cl_map_flags d, size_t e, size_t f, STRATA_CL_EVENTS, cl_int * g),     \
      (a, b, c, d, e, f, STRATA_CL_EVENT_ARGUMENTS, g))                                                                \
    X(cl_int, EnqueueUnmapMemObject, (cl_command_queue a, cl_mem b, void *c, STRATA_CL_EVENTS),                        \
      (a, b, c, STRATA_CL_EVENT_ARGUMENTS))                                                                            \
    X(cl_program, CreateProgramWithSource, (cl_context a, cl_uint b, const char **c, const size_t *d, cl_int *e),      \
      (a, b, c, d, e))                                                                                                 \
    X(cl_program, CreateProgramWithBinary,                                                                             \
      (cl_context a, cl_uint b, const cl_device_id *c, const size_t *d, const unsigned char **e, cl_int *f,            \
       cl_int *g),                                                                                                     \
      (a, b, c, d, e, f, g))                                                                                           \
    X(cl_int, BuildProgram,                                                                                            \
      (cl_program a, cl_uint b, const cl_device_id *c, const char *d, void(CL_CALLBACK * e)(cl_program, void *),       \
       void *f),                                                                                                       \
      (a, b, c, d, e, f))                                                                                              \
    X(cl_int, GetProgramInfo, (cl_program a, cl_program_info b, size_t c, void *d, size_t *e), (a, b, c, d, e))        \
    X(cl_int, GetProgramBuildInfo,                                                                                     \
      (cl_program a, cl_device_id b, cl_program_build_info c, size_t d, void *e, size_t *f), (a, b, c, d, e, f))       \
    X(cl_int, RetainProgram, (cl_program a), (a))                                                                      \
    X(cl_int, ReleaseProgram, (cl_program a), (a))                                                                     \
    X(cl_kernel, CreateKernel, (cl_program a, const char *b, cl_int *c), (a, b, c))                                    \
    X(cl_int, GetKernelInfo, (cl_kernel a, cl_kernel_info b, size_t c, void *d, size_t *e), (a, b, c, d, e))           \
    X(cl_int, GetKernelArgInfo, (cl_kernel a, cl_uint b, cl_kernel_arg_info c, size_t d, void *e, size_t *f),          \
      (a, b, c, d, e, f))                                                                                              \
    X(cl_int, GetKernelWorkGroupInfo,                                                                                  \
      (cl_kernel a, cl_device_id b, cl_kernel_work_group_info c, size_t d, void *e, size_t *f), (a, b, c, d, e, f))    \
    X(cl_int, SetKernelArg, (cl_kernel a, cl_uint b, size_t c, const void *d), (a, b, c, d))                           \
    X(cl_int, EnqueueNDRangeKernel,                                                                                    \
      (cl_command_queue a, cl_kernel b, cl_uint c, const size_t *d, const size_t *e, const size_t *f,                  \
       STRATA_CL_EVENTS),                                                                                              \
      (a, b, c, d, e, f, STRATA_CL_EVENT_ARGUMENTS))                                                                   \
    X(cl_int, ReleaseKernel, (cl_kernel a), (a))                                                                       \
    /* OpenCL 2.0 */                                                                                                   \
    X(void *, SVMAlloc, (cl_context a, cl_svm_mem_flags b, size_t c, cl_uint d), (a, b, c, d))                         \
    X(cl_int, EnqueueSVMMemcpy, (cl_command_queue a, cl_bool b, void *c, const void *d, size_t e, STRATA_CL_EVENTS),   \
      (a, b, c, d, e, STRATA_CL_EVENT_ARGUMENTS))                                                                      \
    X(cl_int, EnqueueSVMMemFill, (cl_command_queue a, void *b, const void *c, size_t d, size_t e, STRATA_CL_EVENTS),   \
      (a, b, c, d, e, STRATA_CL_EVENT_ARGUMENTS))                                                                      \
    X(cl_int, EnqueueSVMMap, (cl_command_queue a, cl_bool b, cl_map_flags c, void *d, size_t e, STRATA_CL_EVENTS),     \
      (a, b, c, d, e, STRATA_CL_EVENT_ARGUMENTS))                                                                      \
    X(cl_int, EnqueueSVMUnmap, (cl_command_queue a, void *b, STRATA_CL_EVENTS), (a, b, STRATA_CL_EVENT_ARGUMENTS))     \
    X(cl_int, SetKernelArgSVMPointer, (cl_kernel a, cl_uint b, const void *c), (a, b, c))                              \
    X(cl_int, SetKernelExecInfo, (cl_kernel a, cl_kernel_exec_info b, size_t c, const void *d), (a, b, c, d))

/* Of their own, because they return nothing or come from an extension; see calls.c. */
struct strata_cl_calls {
#define STRATA_CL_MEMBER(result, name, parameters, arguments) result(CL_API_CALL *name) parameters;
    STRATA_CL_CALLS(STRATA_CL_MEMBER)
#undef STRATA_CL_MEMBER
    void(CL_API_CALL *SVMFree)(cl_context context, void *pointer);
};

/* The table for a platform. */
const struct strata_cl_calls *strata_cl_calls_for(bool serialise);

/* The lock of the serialised table, for the few calls that are looked up per platform. */
void strata_cl_serial_enter(bool serialise);
void strata_cl_serial_leave(bool serialise);

#endif
