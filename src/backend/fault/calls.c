/* Which calls fail: counting them, the memory that a plan leaves the device, and host memory that is counted. */
#include "backend/fault/native.h"

#include <inttypes.h>
#include <stdlib.h>

/* A number of its own for each thread of the process, from 1 on. */
static uint64_t number_of_thread(void) {
    static atomic_ullong given;
    static _Thread_local uint64_t own;
    if (own == 0)
        own = atomic_fetch_add(&given, 1) + 1;
    return own;
}

/* Under the lock: the place of this thread among those that have called, from 1 on; 0 beyond what is told apart. */
static uint64_t place_of_thread(struct strata_fault *fault) {
    uint64_t number = number_of_thread();
    for (unsigned i = 0; i < fault->thread_count; i++)
        if (fault->threads[i] == number)
            return i + 1;
    if (fault->thread_count == STRATA_FAULT_THREADS)
        return 0;
    fault->threads[fault->thread_count++] = number;
    return fault->thread_count;
}

/* The same answer each time for the same seed and call (the finalizer of splitmix64). */
static bool chance(const struct strata_fault_rules *rules, uint64_t call) {
    uint64_t mixed = (rules->seed + call) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return (mixed ^ mixed >> 31) % STRATA_FAULT_RATE_WHOLE < rules->rate;
}

/* Under the lock: the number that a call of `kind` has among those that a rule of `of` counts; 0: it is none of them.
 */
static uint64_t number_for(const struct strata_fault *fault, enum strata_fault_kind of, enum strata_fault_kind kind) {
    bool counts = of == kind || (of == STRATA_FAULT_ANY && kind != STRATA_FAULT_HOST);
    return counts ? fault->seen[of] : 0;
}

/* Under the lock: whether the call that was just counted is to fail, and for which kind of rule. */
static bool is_to_fail(const struct strata_fault *fault, enum strata_fault_kind kind, enum strata_fault_kind *of) {
    const struct strata_fault_rules *rules = &fault->rules;
    for (unsigned i = 0; i < rules->fail_count; i++) {
        uint64_t number = number_for(fault, rules->fail[i].kind, kind);
        *of = rules->fail[i].kind;
        if (number >= rules->fail[i].first && number <= rules->fail[i].last)
            return true;
    }
    uint64_t number = number_for(fault, rules->rate_kind, kind);
    *of = rules->rate_kind;
    return number && rules->rate && chance(rules, number);
}

/* Under the lock. */
static void count_failed(struct strata_fault *fault, enum strata_fault_kind kind) {
    fault->failed[kind]++;
    fault->failed[STRATA_FAULT_ANY] += kind != STRATA_FAULT_HOST;
}

enum strata_status strata_fault_count(struct strata_fault *fault, enum strata_fault_kind kind, uint64_t bytes) {
    enum strata_fault_kind of = kind;
    pthread_mutex_lock(&fault->lock);
    const struct strata_fault_rules *rules = &fault->rules;
    uint64_t thread = place_of_thread(fault);
    bool counts = bytes >= rules->above && (rules->thread == 0 || rules->thread == thread);
    fault->seen[kind] += counts;
    fault->seen[STRATA_FAULT_ANY] += counts && kind != STRATA_FAULT_HOST;
    bool fails = counts && is_to_fail(fault, kind, &of);
    if (fails)
        count_failed(fault, kind);
    uint64_t number = fault->seen[of], own_number = fault->seen[kind];
    enum strata_status status = rules->status;
    pthread_mutex_unlock(&fault->lock);
    if (!fails)
        return STRATA_OK;
    if (of == kind)
        return strata_fail(status, "The fault plan made call %" PRIu64 " of '%s' fail (STRATA_%s).", number,
                           strata_fault_kind_name(kind), strata_status_name(status));
    return strata_fail(status,
                       "The fault plan made call %" PRIu64 " of 'any' fail, call %" PRIu64 " of '%s' (STRATA_%s).",
                       number, own_number, strata_fault_kind_name(kind), strata_status_name(status));
}

/* Whether memory is placed by this call, or later. */
static bool places(const struct strata_fault_rules *rules, enum strata_fault_kind by) {
    return rules->lazy == STRATA_FAULT_PROMPT || (by != STRATA_FAULT_CREATE && by != STRATA_FAULT_COMMIT) ||
           (by == STRATA_FAULT_COMMIT && rules->lazy == STRATA_FAULT_LAZY_CREATE);
}

enum strata_status strata_fault_place(struct strata_fault_buffer *buffer, enum strata_fault_kind by) {
    struct strata_fault *fault = buffer->fault;
    struct strata_fault_buffer *whole = buffer->whole;
    pthread_mutex_lock(&fault->lock);
    uint64_t taken = fault->taken, memory = fault->rules.memory, largest = fault->rules.largest;
    bool too_large = by == STRATA_FAULT_CREATE && whole->bytes > largest;
    bool wanted = whole->limited && !whole->placed && places(&fault->rules, by);
    bool fits = taken <= memory && whole->bytes <= memory - taken;
    if (wanted && fits && !too_large) {
        whole->placed = true;
        fault->taken += whole->bytes;
    }
    if ((wanted && !fits) || too_large)
        count_failed(fault, by);
    pthread_mutex_unlock(&fault->lock);
    if (too_large)
        return strata_fail(STRATA_TOO_LARGE,
                           "The fault plan's device has no buffers of %" PRIu64 " bytes, but of %" PRIu64 " at most.",
                           whole->bytes, largest);
    if (!wanted || fits)
        return STRATA_OK;
    return strata_fail(STRATA_OUT_OF_MEMORY,
                       "The fault plan's device has %" PRIu64 " bytes of memory, of which %" PRIu64
                       " are taken, so '%s' found no place for %" PRIu64 " more%s.",
                       memory, taken, strata_fault_kind_name(by), whole->bytes,
                       by == STRATA_FAULT_CREATE || by == STRATA_FAULT_COMMIT ? "" : " when they were first used");
}

void strata_fault_unplace(struct strata_fault_buffer *buffer) {
    if (buffer->whole != buffer)
        return;
    pthread_mutex_lock(&buffer->fault->lock);
    if (buffer->placed)
        buffer->fault->taken -= buffer->bytes;
    pthread_mutex_unlock(&buffer->fault->lock);
}

void *strata_fault_allocate(size_t bytes, void *user) {
    struct strata_fault *fault = user;
    if (strata_fault_count(fault, STRATA_FAULT_HOST, bytes) != STRATA_OK)
        return NULL;
    const struct strata_allocator *base = &fault->base;
    void *memory = base->allocate ? base->allocate(bytes, base->user) : malloc(bytes);
    if (memory)
        atomic_fetch_add(&fault->references, 1);
    return memory;
}

void strata_fault_release_memory(void *pointer, void *user) {
    struct strata_fault *fault = user;
    strata_host_release(&fault->base, pointer);
    strata_fault_drop(fault);
}
