/* A thread of strata's own that runs jobs one after the other. */
#ifndef STRATA_CORE_WORKER_H
#define STRATA_CORE_WORKER_H

#include "core/host.h"

struct strata_worker;

enum strata_status strata_worker_create(const struct strata_allocator *hooks, struct strata_worker **worker);

/* Runs what is left, ends the thread and frees the worker. When called from the worker's own thread it returns at once
 * and the thread frees the worker when it has run what is left. */
void strata_worker_destroy(struct strata_worker *worker);

/* Does not block. `job` gets `argument` and owns it. */
enum strata_status strata_worker_submit(struct strata_worker *worker, void (*job)(void *argument), void *argument);

/* Whether the calling thread is the worker's. */
bool strata_worker_is_current(const struct strata_worker *worker);

#endif
