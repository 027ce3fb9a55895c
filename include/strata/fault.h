/* Faults on request: a device whose calls into the runtime fail where a plan says so, to test what a program does then.
 *
 *     strata_device *dev = NULL;
 *     strata_device_open(NULL, STRATA_DEVICE_DESC(.fault = ""), &dev);        // counts, and nothing fails
 *     uint64_t calls = 0;
 *     if (my_work(dev) == STRATA_OK)
 *         strata_fault_calls(dev, NULL, &calls, NULL);
 *     for (uint64_t n = 1; n <= calls; n++) {                                 // each call fails once
 *         char plan[64];
 *         snprintf(plan, sizeof plan, "fail=any:%llu", (unsigned long long)n);
 *         strata_fault_plan(dev, plan);
 *         my_work(dev);                                                       // must fail well, or get over it
 *     }
 *
 * A program that knows nothing of this gets a plan by the environment's STRATA_FAULT, unless that is empty. Without a
 * plan there is nothing between strata and the runtime, and no cost.
 *
 * A plan is words separated by commas; the empty plan counts only.
 *
 *     fail=KIND:N      the N-th call of that kind fails, counted from 1
 *     fail=KIND:N+     that one and all later ones
 *     fail=KIND:N*M    M of them, from the N-th on. `fail` may stand there up to 16 times
 *     status=NAME      what failing calls answer: out-of-memory without this word; device-lost, too-large, internal ...
 *     rate=P           each call fails with the probability P (0.05), reproducibly; rate=KIND:P: those of one kind
 *     seed=N           of rate
 *     thread=N         only calls of the N-th thread that calls are counted, and can fail
 *     above=BYTES      only calls for at least so many bytes are counted, and can fail
 *     memory=BYTES     the device has only so much DEVICE and SHARED memory: more of it is OUT_OF_MEMORY
 *     lazy             memory is placed late: what goes beyond `memory` is created and committed, and fails when a
 *                      command first uses it; lazy=create: committing it fails
 *     largest=BYTES    of a single buffer, also in strata_device_info.max_buffer_bytes
 *     hold             commands stay in strata's queues until something waits for them, or strata_fault_release
 *     slow=US          each command of a queue begins so many microseconds after the one before it, or later
 *
 * Sizes may end in KiB, MiB, GiB and so on. KIND is one of
 *
 *     open             opening the device
 *     create           memory of any kind;   part: a piece of a pool;   commit: placing a pool's block
 *     write read copy fill box map unmap launch                          commands
 *     queue            a queue is created;   flush, finish, mark (an event at its end), wait (for another one's event)
 *     event            waiting for an event, and reading its times
 *     build load       a program is compiled, or loaded from a binary;   binary: that is read back
 *     kernel           a kernel is created, or asked for its name or arguments
 *     any              all of these
 *     host             strata's own allocations of host memory for this device, which `any` does not count
 *
 * A call that the plan makes fail does not come to the runtime. `finish` and `event` are exceptions: they wait, and
 * fail then, since memory under unfinished work would be given back otherwise. Destroying never fails. The last error
 * says "The fault plan made call 3 of 'create' fail (STRATA_OUT_OF_MEMORY)."
 *
 * Held commands: each queue holds its own. A wait for an event, or for a queue, lets go what comes before it in that
 * queue, and what that waits for in others; so do maps, host work, callbacks and closing. Work on one queue can so be
 * held while another goes on, and nothing waits for ever. Slow commands are handed to the runtime when they are due and
 * strata is called, or when something waits for them: the time passes in that wait. */
#ifndef STRATA_FAULT_H
#define STRATA_FAULT_H

#include "strata/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Replaces the plan, lets go what is held, and sets all counts to 0. Memory that is taken stays counted. Not while
 * another thread uses the device. Errors: INVALID_ARGUMENT, which names the wrong word and what would be right, and
 * then nothing has changed; UNSUPPORTED when the device was opened without a plan; FORKED. */
STRATA_API enum strata_status strata_fault_plan(strata_device *device, const char *plan);

/* How many calls of a kind there were since the plan was set, and how many of them it made fail, as far as its words
 * `thread` and `above` let them count. `kind` NULL: any. NULL for the number that is not wanted. Does not block. Any
 * thread. Errors: INVALID_ARGUMENT (no such kind), UNSUPPORTED (no plan), FORKED. */
STRATA_API enum strata_status strata_fault_calls(strata_device *device, const char *kind, uint64_t *calls,
                                                 uint64_t *failed);

/* Lets go what is held now: it is with the runtime when this returns, but for what is slow. Any thread. Errors: what
 * handing it over answered last; UNSUPPORTED (no plan), FORKED. */
STRATA_API enum strata_status strata_fault_release(strata_device *device);

/* How many objects of the runtime strata holds on this device: queues, events, buffers and parts of them, programs,
 * kernels. When the device is closed it must be none: if not, that is logged as an ERROR. Does not block. Any thread.
 * Errors: INVALID_ARGUMENT, UNSUPPORTED (no plan), FORKED. */
STRATA_API enum strata_status strata_fault_live(strata_device *device, uint64_t *objects);

#ifdef __cplusplus
}
#endif
#endif
