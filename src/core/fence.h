/* Fences: events behind places in queues, kept until they are done, so that many who wait for a place share one. */
#ifndef STRATA_CORE_FENCE_H
#define STRATA_CORE_FENCE_H

#include "core/queue.h"

/* An event that is done when the queue of `slot` has come to `position`: the earliest that is known, or a new one at
 * the queue's end. NULL when it has come there. *event is the caller's. Under no lock. */
enum strata_status strata_fence_get(strata_device *device, unsigned slot, uint64_t position, strata_event **event);

/* Looks how far the queue of `slot` has come, by its fences; none is made. Under no lock. */
void strata_fence_poll(strata_device *device, unsigned slot);

/* Keeps a submitted event, behind all earlier ones of its queue, with a reference of its own. */
void strata_fence_add(strata_device *device, strata_event *event);

/* The slot's queue has ended. */
void strata_fence_drop(strata_device *device, unsigned slot);

#endif
