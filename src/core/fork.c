/* Knowing that this process is a child of one that had loaded a runtime. */
#include "core/fork.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_bool is_child;
static pthread_once_t watch_once = PTHREAD_ONCE_INIT;

static void mark_child(void) {
    atomic_store_explicit(&is_child, true, memory_order_relaxed);
}

static void install(void) {
    pthread_atfork(NULL, NULL, mark_child);
}

void strata_fork_watch(void) {
    pthread_once(&watch_once, install);
}

bool strata_fork_happened(void) {
    return atomic_load_explicit(&is_child, memory_order_relaxed);
}

enum strata_status strata_fail_forked(void) {
    return strata_fail(STRATA_FORKED,
                       "This process was forked from one that had already loaded a GPU runtime, which does not survive "
                       "a fork; open devices in the child only if the parent has not, or exec a new program.");
}
