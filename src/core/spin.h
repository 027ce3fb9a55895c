/* A lock for a few dozen nanoseconds: half the cost of a mutex when nobody else wants it. Nothing that blocks, calls
 * out or allocates is done under it, except by what looks through everything on request. */
#ifndef STRATA_CORE_SPIN_H
#define STRATA_CORE_SPIN_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

struct strata_spin {
    atomic_bool taken;
};

/* Looks so often before it lets another thread run, which the holder may need. */
#define STRATA_SPIN_LOOKS 64

static inline void strata_spin_lock(struct strata_spin *lock) {
    while (atomic_exchange_explicit(&lock->taken, true, memory_order_acquire)) {
        unsigned looks = 0;
        while (atomic_load_explicit(&lock->taken, memory_order_relaxed))
            if (++looks % STRATA_SPIN_LOOKS == 0)
                sched_yield();
    }
}

static inline void strata_spin_unlock(struct strata_spin *lock) {
    atomic_store_explicit(&lock->taken, false, memory_order_release);
}

#endif
