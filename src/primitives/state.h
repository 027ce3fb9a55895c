/* What the primitives keep on a device: built programs, and scratch memory for each queue. */
#ifndef STRATA_PRIMITIVES_STATE_H
#define STRATA_PRIMITIVES_STATE_H

#include "core/device.h"
#include "strata/program.h"

/* Held from the first command of a primitive on a queue to its last, so that two threads do not mix theirs in one
 * scratch. Nothing in between blocks but a first build. */
enum strata_status strata_primitives_enter(strata_device *device);
void strata_primitives_leave(strata_device *device);

/* The kernel that was built under `key`, or NULL: the hot path compares numbers only. Between enter and leave. */
strata_kernel *strata_primitives_find(const strata_device *device, uint32_t key);

/* A kernel of an embedded file built with these options, and kept under `key`. Between enter and leave. */
enum strata_status strata_primitives_build(strata_device *device, const char *file, const char *options,
                                           const char *name, uint32_t key, strata_kernel **kernel);

/* Memory of `bytes` at least (not 0) for the queue's next commands: what a later primitive on the queue puts there
 * comes after them. Between enter and leave. */
enum strata_status strata_primitives_scratch(strata_queue *queue, uint64_t bytes, strata_buffer **scratch);

/* Memory of `bytes` at least for groups that wait for each other within one launch: STRATA_REDUCE_TICKETS words that
 * are 0 and are left so, and behind them nothing of the tag that is answered. Between enter and leave. */
enum strata_status strata_primitives_tickets(strata_queue *queue, uint64_t bytes, strata_buffer **tickets,
                                             uint32_t *tag);

/* Forgets tickets that a failed launch may have left as they should not be. */
void strata_primitives_drop_tickets(strata_queue *queue);

/* The 256 bytes where the queue's primitives leave results for the host. Between enter and leave. */
enum strata_status strata_primitives_result(strata_queue *queue, strata_buffer **result);

/* A place of 8 bytes in page-locked memory for a result on its way to the host, where reading into memory that is not
 * page-locked is slow; NULL where it is not, or where all are taken. Between enter and leave. */
void *strata_primitives_landing(strata_device *device);

/* Gives the place back. Outside of enter and leave. */
void strata_primitives_landed(strata_device *device, const void *place);

#endif
