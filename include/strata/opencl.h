/* Interop with OpenCL: strata beside the caller's own context, queue and memory objects, and native handles.
 *
 *     strata_opencl_device_open(context, device_id, command_queue, NULL, &dev);
 *     strata_opencl_buffer_wrap(dev, mem, NULL, &x);
 *
 * strata retains what it is given and releases it when its own object goes. Include this header only where the Khronos
 * headers are at hand; strata.h does not. */
#ifndef STRATA_OPENCL_H
#define STRATA_OPENCL_H

#include "strata/program.h"

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <CL/cl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a device over the caller's context. `queue` may be NULL: strata makes one. A caller's queue becomes the
 * device's default queue; if it is out of order, strata's commands on it are kept in order with barriers. Errors:
 * INVALID_ARGUMENT (the context does not hold the device, the queue is of another context or device), OUT_OF_MEMORY,
 * FORKED. */
STRATA_API enum strata_status strata_opencl_device_open(cl_context context, cl_device_id device, cl_command_queue queue,
                                                        const struct strata_device_desc *desc, strata_device **opened);

/* A queue over the caller's; see above. */
STRATA_API enum strata_status strata_opencl_queue_wrap(strata_device *device, cl_command_queue native,
                                                       strata_queue **queue);

/* A DEVICE buffer over the caller's cl_mem (a buffer or sub-buffer of the device's context). `name` may be NULL. Its
 * size, access and parent are read from it; parts of one parent that overlap are seen as such. */
STRATA_API enum strata_status strata_opencl_buffer_wrap(strata_device *device, cl_mem native, const char *name,
                                                        strata_buffer **buffer);

/* Native handles, not retained: they live as long as the object. NULL when the object is NULL or not of this backend.
 * strata_opencl_queue blocks until host work that was put in is done and what is behind it is with the runtime, so that
 * the caller's own commands come after strata's. The cl_mem of an SVM or USM buffer is NULL; its host pointer is what
 * the kernel takes. */
STRATA_API cl_context strata_opencl_context(strata_device *device);
STRATA_API cl_device_id strata_opencl_device(strata_device *device);
STRATA_API cl_command_queue strata_opencl_queue(strata_queue *queue);
STRATA_API cl_mem strata_opencl_mem(strata_buffer *buffer);
STRATA_API cl_program strata_opencl_program(strata_program *program);

#ifdef __cplusplus
}
#endif
#endif
