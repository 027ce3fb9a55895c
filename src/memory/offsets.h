/* The offset allocator's insides: its bins, its nodes, and what the pool calls without the checks in front. */
#ifndef STRATA_MEMORY_OFFSETS_H
#define STRATA_MEMORY_OFFSETS_H

#include "core/host.h"
#include "strata/offsets.h"

/* All sizes and places in here are in granules. A bin holds holes of one size up to 63, and of a 32nd of a power of two
 * above: bins 32 * k to 32 * k + 31 share one word of the bitmap. */
#define STRATA_OFFSETS_STEP_BITS 5
#define STRATA_OFFSETS_STEPS (1u << STRATA_OFFSETS_STEP_BITS)
#define STRATA_OFFSETS_ROWS (65u - STRATA_OFFSETS_STEP_BITS)
#define STRATA_OFFSETS_BINS (STRATA_OFFSETS_ROWS * STRATA_OFFSETS_STEPS)

/* The bin that a hole of this size lies in. */
static inline uint32_t strata_offsets_bin(uint64_t granules) {
    if (granules < STRATA_OFFSETS_STEPS)
        return (uint32_t)granules;
    unsigned shift = 63 - STRATA_OFFSETS_STEP_BITS - (unsigned)__builtin_clzll(granules);
    return shift * STRATA_OFFSETS_STEPS + (uint32_t)(granules >> shift);
}

/* The size of the smallest hole that lies in this bin. */
static inline uint64_t strata_offsets_bin_floor(uint32_t bin) {
    if (bin < 2 * STRATA_OFFSETS_STEPS)
        return bin;
    uint64_t step = STRATA_OFFSETS_STEPS + bin % STRATA_OFFSETS_STEPS;
    return step << (bin / STRATA_OFFSETS_STEPS - 1);
}

/* The first bin in which every hole is at least this large; one behind the last where there is none. */
static inline uint32_t strata_offsets_bin_above(uint64_t granules) {
    uint32_t bin = strata_offsets_bin(granules);
    return strata_offsets_bin_floor(bin) == granules ? bin : bin + 1;
}

#define STRATA_OFFSETS_NONE UINT32_MAX /* no node */

/* Instead of a bin, in strata_offsets_node. */
#define STRATA_OFFSETS_PIECE UINT32_MAX
#define STRATA_OFFSETS_UNUSED (UINT32_MAX - 1)

/* A piece, a hole, or neither yet. It ends where the next one begins. */
struct strata_offsets_node {
    uint64_t offset;
    uint32_t previous, next; /* by offset; `next` also chains the unused ones */
    union {
        uint64_t requested; /* of a piece, in bytes */
        struct {
            uint32_t previous, next;
        } bin; /* of a hole */
    } as;
    void *user;
    uint32_t generation; /* how often the node became a piece, so that a number of an earlier one is not taken */
    uint32_t bin;
};
_Static_assert(sizeof(struct strata_offsets_node) <= 40, "what describes a piece or a hole takes 40 bytes");

/* Nodes come in pages that stay where they are: only the directory is copied as it grows. */
#define STRATA_OFFSETS_PAGE_BITS 8
#define STRATA_OFFSETS_PAGE (1u << STRATA_OFFSETS_PAGE_BITS)

struct strata_offsets {
    struct strata_allocator hooks;
    uint64_t total; /* granules */
    uint64_t live_granules, requested_bytes;
    uint32_t live_pieces, holes;
    unsigned shift; /* a granule is 1 << shift bytes */

    struct strata_offsets_node **pages;
    uint32_t page_count, page_capacity;
    uint32_t unused, unused_count; /* the first of the chain */
    uint32_t first;                /* at offset 0 */

    uint32_t rows;     /* as many as holes of this memory can need */
    uint64_t row_bits; /* of rows with a hole */
    uint32_t bin_bits[STRATA_OFFSETS_ROWS];
    uint32_t heads[]; /* of the bins' chains */
};

static inline struct strata_offsets_node *strata_offsets_node(const strata_offsets *offsets, uint32_t index) {
    return &offsets->pages[index >> STRATA_OFFSETS_PAGE_BITS][index & (STRATA_OFFSETS_PAGE - 1)];
}

static inline uint64_t strata_offsets_length(const strata_offsets *offsets, const struct strata_offsets_node *node) {
    uint64_t end = offsets->total;
    if (node->next != STRATA_OFFSETS_NONE)
        end = strata_offsets_node(offsets, node->next)->offset;
    return end - node->offset;
}

static inline strata_piece strata_offsets_number(const struct strata_offsets_node *node, uint32_t index) {
    return (uint64_t)node->generation << 32 | (index + 1);
}

/* strata_offsets_allocate for a valid alignment, without a sentence where nothing fits or host memory is out: for who
 * has other memory to try. O(1). */
bool strata_offsets_try(strata_offsets *offsets, uint64_t bytes, uint64_t alignment, struct strata_range *range);

/* The largest hole in bytes, exact. Looks through the highest bin with a hole in it. */
uint64_t strata_offsets_largest(const strata_offsets *offsets);

/* The length in bytes of the hole that a request would be cut from; UINT64_MAX: none. O(1). */
uint64_t strata_offsets_best(const strata_offsets *offsets, uint64_t bytes);

/* Whether no piece is live. O(1). */
static inline bool strata_offsets_is_empty(const strata_offsets *offsets) {
    return offsets->live_pieces == 0;
}

/* O(1). */
static inline uint64_t strata_offsets_free_bytes(const strata_offsets *offsets) {
    return (offsets->total - offsets->live_granules) << offsets->shift;
}

#endif
