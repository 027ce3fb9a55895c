/* The offset allocator inside: what a pool asks of it without wanting a sentence. */
#ifndef STRATA_MEMORY_OFFSETS_H
#define STRATA_MEMORY_OFFSETS_H

#include "strata/offsets.h"

/* As strata_offsets_allocate, but for the sentence: false when there is no room, or no host memory. Arguments are
 * right. */
bool strata_offsets_try(strata_offsets *offsets, uint64_t bytes, uint64_t alignment, struct strata_range *range);

/* The length of the free range that a request would be cut from; UINT64_MAX: none. */
uint64_t strata_offsets_best(const strata_offsets *offsets, uint64_t bytes);

bool strata_offsets_is_empty(const strata_offsets *offsets);

#endif
