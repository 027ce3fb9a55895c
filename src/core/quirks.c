/* What is known of certain runtimes and cannot be asked of them. */
#include "core/quirks.h"

#include <stddef.h>
#include <string.h>

static const struct strata_quirks rows[] = {
    {.platform = "Oclgrind",
     .reason =
         "Its interpreter keeps global state: two threads inside it corrupt each other (jrprice/Oclgrind#28, #202). "
         "It runs kernels in the calling thread and stamps events with host time. It reports accesses beyond a buffer, "
         "which it cannot within a pool's block.",
     .own_bounds = true,
     .serialise = true},
    {.platform = "rusticl",
     .reason =
         "Start and end of an event are the same on llvmpipe, every kernel has 0 bytes of private memory. 22.3.6 "
         "answers twice the local memory that a kernel declares, 25.0.7 what it declares. clFinish of 22.3.6 waits for "
         "what it flushes itself, so that host work could run before flushed commands end. llvmpipe makes vectors of "
         "work-items: the reduction's form for GPUs takes 0.7 of the time of the one for CPU devices, and compiles in "
         "a tenth.",
     .finish_forgets = true,
     .slow_vectors = true,
     .timer_note = "rusticl's event timer has no resolution: a command ends when it starts",
     .private_zero_is_unknown = true,
     .local_counts_double = "22."},
    {.platform = "Portable Computing Language",
     .reason =
         "Its CPU devices use CL_MEM_USE_HOST_PTR memory in place, so strata can align it to pages and ask for huge "
         "ones; the runtime's own are aligned to 128 bytes and touched page by page. 6.0 answers 0 bytes of local and "
         "of private memory for every kernel, 3.1 what they have. clEnqueueCopyBufferRect of 3.1 crashes when one of "
         "the two is a sub-buffer.",
     .box_copies_need_whole = true,
     .private_zero_is_unknown = true,
     .local_zero_is_unknown = true,
     .host_memory_is_device = true},
    {.platform = "NVIDIA CUDA",
     .reason =
         "CL_MEM_ALLOC_HOST_PTR transfers at the link's full speed (55 GB/s on an H200, pageable 6 to 15). CUDA's "
         "guarantees hold for its kernels: groups that have begun go on, and volatile passes the caches. Of 48 KiB of "
         "local memory a work-group can have all but 4 bytes; a kernel's local memory is answered with these 4, and "
         "with 1 where it has none. Driver 580.159.04 crashes when a sub-buffer is released before a later one that "
         "overlaps it, after kernels have used both; fills at the wrong place when a pattern's number is 2^31 or more; "
         "and hands the assembler text that it refuses for a kernel without arguments under -cl-kernel-arg-info. "
         "tests/device/probe.c tries all three.",
     .groups_wait = true,
     .pinned_is_pinned = true,
     .commit_tells = true,
     .local_reserve = 4,
     .parts_end_in_reverse = true,
     .arg_info_breaks = true,
     .fill_patterns = UINT64_C(1) << 31},
};

static const struct strata_quirks none = {.platform = "", .reason = ""};

const struct strata_quirks *strata_quirks_of(const char *platform) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strstr(platform, rows[i].platform))
            return &rows[i];
    return &none;
}
