/* OpenCL's error codes: their names, and what they mean to strata's callers. */
#include "backend/opencl/native.h"

#define NAMED(code)                                                                                                    \
    case code: return #code;

const char *strata_cl_error_name(cl_int code) {
    switch (code) {
        NAMED(CL_DEVICE_NOT_FOUND)
        NAMED(CL_DEVICE_NOT_AVAILABLE)
        NAMED(CL_COMPILER_NOT_AVAILABLE)
        NAMED(CL_MEM_OBJECT_ALLOCATION_FAILURE)
        NAMED(CL_OUT_OF_RESOURCES)
        NAMED(CL_OUT_OF_HOST_MEMORY)
        NAMED(CL_PROFILING_INFO_NOT_AVAILABLE)
        NAMED(CL_MEM_COPY_OVERLAP)
        NAMED(CL_BUILD_PROGRAM_FAILURE)
        NAMED(CL_MAP_FAILURE)
        NAMED(CL_MISALIGNED_SUB_BUFFER_OFFSET)
        NAMED(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
        NAMED(CL_COMPILE_PROGRAM_FAILURE)
        NAMED(CL_LINKER_NOT_AVAILABLE)
        NAMED(CL_LINK_PROGRAM_FAILURE)
        NAMED(CL_KERNEL_ARG_INFO_NOT_AVAILABLE)
        NAMED(CL_INVALID_VALUE)
        NAMED(CL_INVALID_DEVICE_TYPE)
        NAMED(CL_INVALID_PLATFORM)
        NAMED(CL_INVALID_DEVICE)
        NAMED(CL_INVALID_CONTEXT)
        NAMED(CL_INVALID_QUEUE_PROPERTIES)
        NAMED(CL_INVALID_COMMAND_QUEUE)
        NAMED(CL_INVALID_HOST_PTR)
        NAMED(CL_INVALID_MEM_OBJECT)
        NAMED(CL_INVALID_BINARY)
        NAMED(CL_INVALID_BUILD_OPTIONS)
        NAMED(CL_INVALID_PROGRAM)
        NAMED(CL_INVALID_PROGRAM_EXECUTABLE)
        NAMED(CL_INVALID_KERNEL_NAME)
        NAMED(CL_INVALID_KERNEL_DEFINITION)
        NAMED(CL_INVALID_KERNEL)
        NAMED(CL_INVALID_ARG_INDEX)
        NAMED(CL_INVALID_ARG_VALUE)
        NAMED(CL_INVALID_ARG_SIZE)
        NAMED(CL_INVALID_KERNEL_ARGS)
        NAMED(CL_INVALID_WORK_DIMENSION)
        NAMED(CL_INVALID_WORK_GROUP_SIZE)
        NAMED(CL_INVALID_WORK_ITEM_SIZE)
        NAMED(CL_INVALID_GLOBAL_OFFSET)
        NAMED(CL_INVALID_EVENT_WAIT_LIST)
        NAMED(CL_INVALID_EVENT)
        NAMED(CL_INVALID_OPERATION)
        NAMED(CL_INVALID_BUFFER_SIZE)
        NAMED(CL_INVALID_GLOBAL_WORK_SIZE)
        NAMED(CL_INVALID_PROPERTY)
        NAMED(CL_INVALID_COMPILER_OPTIONS)
        NAMED(CL_INVALID_LINKER_OPTIONS)
        NAMED(CL_PLATFORM_NOT_FOUND_KHR)
    default: return "";
    }
}

enum strata_status strata_cl_status(cl_int code) {
    switch (code) {
    case CL_SUCCESS: return STRATA_OK;
    /* What drivers answer when memory runs out, as the conformance tests count it; drivers that place memory late
     * answer so at the first use. */
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY:
    case CL_MAP_FAILURE: return STRATA_OUT_OF_MEMORY;
    case CL_INVALID_BUFFER_SIZE: return STRATA_TOO_LARGE;
    case CL_BUILD_PROGRAM_FAILURE:
    case CL_COMPILE_PROGRAM_FAILURE:
    case CL_LINK_PROGRAM_FAILURE:
    case CL_INVALID_BUILD_OPTIONS:
    case CL_INVALID_COMPILER_OPTIONS: return STRATA_BUILD_FAILED;
    case CL_COMPILER_NOT_AVAILABLE: return STRATA_UNSUPPORTED;
    case CL_DEVICE_NOT_AVAILABLE: return STRATA_DEVICE_LOST;
    case CL_DEVICE_NOT_FOUND:
    case CL_PLATFORM_NOT_FOUND_KHR: return STRATA_NO_DEVICE;
    default: return STRATA_INTERNAL;
    }
}

enum strata_status strata_cl_fail(const struct strata_cl_device *device, cl_int code, const char *what) {
    enum strata_status status = strata_cl_status(code);
    const char *advice = "";
    if (status == STRATA_OUT_OF_MEMORY)
        advice = "; its memory is exhausted, so free something or use smaller buffers";
    else if (status == STRATA_DEVICE_LOST)
        advice = "; the device is lost, so close it and open it again";
    return strata_fail_native(status, code, strata_cl_error_name(code), "Device '%s' could not %s%s.", device->name,
                              what, advice);
}
