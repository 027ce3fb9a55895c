/* What an offset allocator is made of: for offsets.c, which changes it, and offsets_report.c, which tells of it. */
#ifndef STRATA_MEMORY_OFFSETS_NODES_H
#define STRATA_MEMORY_OFFSETS_NODES_H

#include "core/host.h"
#include "memory/offsets.h"

/* Classes within a power of two: a hole that is passed over unseen is at most 1/32 larger than the request. */
#define STRATA_CLASS_BITS 5
#define STRATA_CLASSES (1u << STRATA_CLASS_BITS)
#define STRATA_CLASS_ROWS (64 - STRATA_CLASS_BITS + 1)

/* Nodes are made so many at a time. */
#define STRATA_PAGE_NODES 256

#define STRATA_NO_NODE UINT32_MAX

struct strata_offsets_node {
    uint64_t offset;
    uint32_t previous, next; /* by offset */
    union {
        struct {
            uint32_t previous, next;
        } bin;              /* of a hole */
        uint64_t requested; /* of a piece */
        uint32_t next_free; /* of a node that is neither */
    } as;
    void *user;
    uint32_t generation; /* one more each time the node becomes a piece */
    bool is_piece;
};
_Static_assert(sizeof(struct strata_offsets_node) <= 40, "what strata/offsets.h says of a piece's host memory");

struct strata_offsets {
    struct strata_allocator hooks;
    uint64_t granularity, granules; /* of the memory that can be handed out */
    unsigned shift;                 /* granularity is 1 << shift */
    uint64_t tail_bytes;            /* less than a granule, at the end */

    struct strata_offsets_node **pages;
    uint32_t page_count, page_capacity, unused; /* the first of the nodes that are neither */
    uint32_t first;

    uint64_t rows;                                     /* a bit for each row with holes */
    uint32_t filled[STRATA_CLASS_ROWS];                /* a bit for each bin of the row with holes */
    uint32_t bins[STRATA_CLASS_ROWS * STRATA_CLASSES]; /* the first hole */

    uint64_t live_granules, requested_bytes, pieces, holes;
};

static inline struct strata_offsets_node *strata_node_at(const strata_offsets *offsets, uint32_t index) {
    return &offsets->pages[index / STRATA_PAGE_NODES][index % STRATA_PAGE_NODES];
}

static inline uint64_t strata_node_end(const strata_offsets *offsets, const struct strata_offsets_node *node) {
    return node->next == STRATA_NO_NODE ? offsets->granules : strata_node_at(offsets, node->next)->offset;
}

static inline uint64_t strata_node_size(const strata_offsets *offsets, const struct strata_offsets_node *node) {
    return strata_node_end(offsets, node) - node->offset;
}

/* The bin of the largest class that is not above a size, which is not 0. */
static inline unsigned strata_bin_below(uint64_t size) {
    if (size < STRATA_CLASSES)
        return (unsigned)size;
    unsigned exponent = 63u - (unsigned)__builtin_clzll(size), shift = exponent - STRATA_CLASS_BITS;
    return (shift + 1) * STRATA_CLASSES + (unsigned)(size >> shift) - STRATA_CLASSES;
}

static inline strata_piece strata_node_name(const strata_offsets *offsets, uint32_t index) {
    return (uint64_t)strata_node_at(offsets, index)->generation << 32 | (index + UINT64_C(1));
}

/* The size in bytes of the largest hole. */
uint64_t strata_offsets_largest(const strata_offsets *offsets);

#endif
