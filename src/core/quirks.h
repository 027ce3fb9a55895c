/* What is known of certain runtimes and cannot be asked of them: one table, each row with its reason. */
#ifndef STRATA_CORE_QUIRKS_H
#define STRATA_CORE_QUIRKS_H

#include <stdbool.h>
#include <stdint.h>

struct strata_quirks {
    const char *platform; /* a part of the platform's name */
    const char *reason;
    bool serialise;                  /* one thread at a time */
    const char *timer_note;          /* event times are not to be believed, and why; NULL: they are */
    bool finish_forgets;             /* clFinish does not wait for what was flushed before */
    bool private_zero_is_unknown;    /* answers 0 bytes of private memory for kernels that have some */
    bool local_zero_is_unknown;      /* the same for local memory */
    const char *local_counts_double; /* drivers of this beginning answer twice the local memory of a kernel */
    uint64_t local_reserve; /* bytes that the runtime takes of a work-group's local memory, and counts as a kernel's */
    bool host_memory_is_device; /* a CPU device that uses aligned host memory in place, whatever its size */
    bool slow_vectors;          /* a CPU device that runs work-groups better than wide vectors */
    bool groups_wait;           /* groups that have begun go on, and see what others write: cl/reduce_fused.h */
    bool commit_tells;          /* memory that is not there is told of by the first write to it */
    bool box_copies_need_whole; /* clEnqueueCopyBufferRect crashes with a sub-buffer */
    bool own_bounds;            /* a checker that sees accesses out of a buffer, so each has memory of its own */
    bool pinned_is_pinned;      /* CL_MEM_ALLOC_HOST_PTR was measured to be page-locked */
    bool arg_info_breaks;       /* -cl-kernel-arg-info makes programs fail that have kernels without arguments */
    bool parts_end_in_reverse;  /* sub-buffers that overlap are to be released newest first */
    uint64_t fill_patterns;     /* a fill is wrong beyond so many patterns from the buffer's start; 0: at no place */
};

/* The row of a platform; a row of all false for the others. Never NULL. */
const struct strata_quirks *strata_quirks_of(const char *platform);

#endif
