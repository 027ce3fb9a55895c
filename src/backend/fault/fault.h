/* The fault backend: puts itself around a device of another backend, counts the calls, and makes those fail that a plan
 * names. What other rooms need of it. */
#ifndef STRATA_BACKEND_FAULT_FAULT_H
#define STRATA_BACKEND_FAULT_FAULT_H

#include "backend/backend.h"

struct strata_fault;

/* Before a device is opened. Where neither the desc nor the environment has a plan, *fault is NULL. Else the desc's
 * allocator becomes one that counts, and *fault goes on to strata_fault_open or strata_fault_cover, or is given up by
 * strata_fault_drop. INVALID_ARGUMENT for a plan with a wrong word. */
enum strata_status strata_fault_begin(struct strata_device_desc *desc, struct strata_fault **fault);
void strata_fault_drop(struct strata_fault *fault);

/* Opens the candidate with its own backend, and covers what it got. The desc is the one of strata_fault_begin. */
enum strata_status strata_fault_open(struct strata_fault *fault, const struct strata_candidate *candidate,
                                     const struct strata_device_desc *desc, struct strata_native_device **native);

/* Puts the decorator around a native device: what is to be used instead, which takes it and `fault` over. */
struct strata_native_device *strata_fault_cover(struct strata_fault *fault, const struct strata_backend *inner,
                                                struct strata_native_device *native);
const struct strata_backend *strata_fault_backend(const struct strata_fault *fault);

/* What the plan leaves of a device's largest buffer, which is `bytes` the first time that it is asked. */
uint64_t strata_fault_largest(struct strata_fault *fault, uint64_t bytes);

/* The decorator around a device, NULL where there is none. */
struct strata_fault *strata_fault_of(const struct strata_backend *backend, struct strata_native_device *native);

/* Looking through the decorator; `fault` NULL: handles are what they are. Before the queue is handed out, what it holds
 * goes to the runtime. */
const struct strata_backend *strata_fault_inner_backend(const struct strata_fault *fault);
struct strata_native_device *strata_fault_inner_device(const struct strata_fault *fault);
struct strata_native_queue *strata_fault_inner_queue(const struct strata_fault *fault,
                                                     struct strata_native_queue *queue);
struct strata_native_buffer *strata_fault_inner_buffer(const struct strata_fault *fault,
                                                       struct strata_native_buffer *buffer);
struct strata_native_program *strata_fault_inner_program(const struct strata_fault *fault,
                                                         struct strata_native_program *program);

/* Covers a native queue or buffer that was not made through the decorator; what is to be used instead takes it over.
 * With `fault` NULL that is the same one. NULL: no host memory, and the native one is still the caller's. */
struct strata_native_queue *strata_fault_cover_queue(struct strata_fault *fault, struct strata_native_queue *queue);
struct strata_native_buffer *strata_fault_cover_buffer(struct strata_fault *fault, struct strata_native_buffer *buffer,
                                                       uint64_t bytes);

#endif
