/* The offset allocator: nodes in the order of offsets, and free ones in bins by size.
 *
 * A node is a piece or a hole; it has its offset, and ends where the next one begins. Sizes are counted in granules.
 * A hole lies in the bin of the largest size class that is not above it, and a request looks in the first bin whose
 * class is not below it: what it finds there fits. Between the two, in the request's own bin, only some holes fit, and
 * a few of them are looked at first, which gives the most recently freed range of the same size back. */
#include "core/device.h"
#include "memory/offsets_nodes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Holes of a bin that are looked at one by one: so that the usual request of a size just freed finds it. */
#define LOOKED_AT 4

/* The same when there is nothing in the bins above, and a request would fail. */
#define LOOKED_AT_LAST 64

/* The bin of the smallest class that is not below a size. */
static unsigned bin_above(uint64_t size) {
    unsigned bin = strata_bin_below(size);
    if (size < STRATA_CLASSES)
        return bin;
    unsigned shift = bin / STRATA_CLASSES - 1;
    return bin + ((size & ((UINT64_C(1) << shift) - 1)) != 0);
}

static void enter_bin(strata_offsets *offsets, uint32_t index) {
    struct strata_offsets_node *node = strata_node_at(offsets, index);
    unsigned bin = strata_bin_below(strata_node_size(offsets, node));
    node->as.bin.previous = STRATA_NO_NODE;
    node->as.bin.next = offsets->bins[bin];
    if (offsets->bins[bin] != STRATA_NO_NODE)
        strata_node_at(offsets, offsets->bins[bin])->as.bin.previous = index;
    offsets->bins[bin] = index;
    offsets->filled[bin / STRATA_CLASSES] |= 1u << bin % STRATA_CLASSES;
    offsets->rows |= UINT64_C(1) << bin / STRATA_CLASSES;
    offsets->holes++;
}

/* Before the hole's size changes. */
static void leave_bin(strata_offsets *offsets, uint32_t index) {
    struct strata_offsets_node *node = strata_node_at(offsets, index);
    unsigned bin = strata_bin_below(strata_node_size(offsets, node));
    if (node->as.bin.next != STRATA_NO_NODE)
        strata_node_at(offsets, node->as.bin.next)->as.bin.previous = node->as.bin.previous;
    if (node->as.bin.previous != STRATA_NO_NODE) {
        strata_node_at(offsets, node->as.bin.previous)->as.bin.next = node->as.bin.next;
    } else {
        offsets->bins[bin] = node->as.bin.next;
        if (node->as.bin.next == STRATA_NO_NODE) {
            offsets->filled[bin / STRATA_CLASSES] &= ~(1u << bin % STRATA_CLASSES);
            if (offsets->filled[bin / STRATA_CLASSES] == 0)
                offsets->rows &= ~(UINT64_C(1) << bin / STRATA_CLASSES);
        }
    }
    offsets->holes--;
}

/* The first bin with holes from `bin` on, or STRATA_NO_NODE. */
static uint32_t next_filled(const strata_offsets *offsets, unsigned bin) {
    unsigned row = bin / STRATA_CLASSES;
    if (row >= STRATA_CLASS_ROWS)
        return STRATA_NO_NODE;
    uint32_t filled = offsets->filled[row] & (UINT32_MAX << bin % STRATA_CLASSES);
    if (!filled) {
        uint64_t rows = row + 1 < 64 ? offsets->rows & (UINT64_MAX << (row + 1)) : 0;
        if (!rows)
            return STRATA_NO_NODE;
        row = (unsigned)__builtin_ctzll(rows);
        filled = offsets->filled[row];
    }
    return row * STRATA_CLASSES + (uint32_t)__builtin_ctz(filled);
}

static bool add_page(strata_offsets *offsets) {
    if (offsets->page_count == offsets->page_capacity) {
        uint32_t capacity = offsets->page_capacity ? offsets->page_capacity * 2 : 4;
        struct strata_offsets_node **pages = strata_host_allocate(&offsets->hooks, capacity * sizeof *pages);
        if (!pages)
            return false;
        if (offsets->page_count)
            memcpy(pages, offsets->pages, offsets->page_count * sizeof *pages);
        strata_host_release(&offsets->hooks, offsets->pages);
        offsets->pages = pages;
        offsets->page_capacity = capacity;
    }
    struct strata_offsets_node *page = strata_host_allocate(&offsets->hooks, STRATA_PAGE_NODES * sizeof *page);
    if (!page)
        return false;
    uint32_t from = offsets->page_count * STRATA_PAGE_NODES;
    offsets->pages[offsets->page_count++] = page;
    for (uint32_t i = STRATA_PAGE_NODES; i-- > 0;) {
        page[i].as.next_free = offsets->unused;
        offsets->unused = from + i;
    }
    return true;
}

/* Two nodes are what an allocation may need: for what is left in front of the piece, and behind it. */
static bool reserve_nodes(strata_offsets *offsets) {
    if (offsets->unused != STRATA_NO_NODE && strata_node_at(offsets, offsets->unused)->as.next_free != STRATA_NO_NODE)
        return true;
    return add_page(offsets);
}

static uint32_t take_node(strata_offsets *offsets) {
    uint32_t index = offsets->unused;
    offsets->unused = strata_node_at(offsets, index)->as.next_free;
    return index;
}

static void give_node(strata_offsets *offsets, uint32_t index) {
    strata_node_at(offsets, index)->as.next_free = offsets->unused;
    offsets->unused = index;
}

/* A new node behind `index`, from `offset` on. */
static uint32_t split(strata_offsets *offsets, uint32_t index, uint64_t offset) {
    uint32_t added = take_node(offsets);
    struct strata_offsets_node *node = strata_node_at(offsets, index), *behind = strata_node_at(offsets, added);
    behind->offset = offset;
    behind->previous = index;
    behind->next = node->next;
    behind->is_piece = false;
    if (node->next != STRATA_NO_NODE)
        strata_node_at(offsets, node->next)->previous = added;
    node->next = added;
    return added;
}

/* The node behind `index` becomes a part of it. */
static void absorb_next(strata_offsets *offsets, uint32_t index) {
    struct strata_offsets_node *node = strata_node_at(offsets, index);
    uint32_t gone = node->next;
    node->next = strata_node_at(offsets, gone)->next;
    if (node->next != STRATA_NO_NODE)
        strata_node_at(offsets, node->next)->previous = index;
    give_node(offsets, gone);
}

/* Where a piece would begin in a hole; false when it does not fit. All in granules. */
static bool fits(const strata_offsets *offsets, const struct strata_offsets_node *hole, uint64_t size,
                 uint64_t alignment, uint64_t *start) {
    *start = (hole->offset + alignment - 1) & ~(alignment - 1);
    uint64_t end = strata_node_end(offsets, hole);
    return *start >= hole->offset && *start <= end && end - *start >= size;
}

/* Looks at some holes of one bin. */
static uint32_t look_in(const strata_offsets *offsets, unsigned bin, uint64_t size, uint64_t alignment, unsigned most,
                        uint64_t *start) {
    uint32_t index = bin < STRATA_CLASS_ROWS * STRATA_CLASSES ? offsets->bins[bin] : STRATA_NO_NODE;
    for (; index != STRATA_NO_NODE && most > 0; most--, index = strata_node_at(offsets, index)->as.bin.next)
        if (fits(offsets, strata_node_at(offsets, index), size, alignment, start))
            return index;
    return STRATA_NO_NODE;
}

/* Looks at some holes from one bin to another, which is not looked into. */
static uint32_t look_between(const strata_offsets *offsets, unsigned from, unsigned to, uint64_t size,
                             uint64_t alignment, unsigned most, uint64_t *start) {
    for (uint32_t bin = next_filled(offsets, from); bin != STRATA_NO_NODE && bin < to && most > 0;
         bin = next_filled(offsets, bin + 1)) {
        unsigned in_bin = 0;
        for (uint32_t index = offsets->bins[bin]; index != STRATA_NO_NODE && in_bin < most;
             in_bin++, index = strata_node_at(offsets, index)->as.bin.next)
            if (fits(offsets, strata_node_at(offsets, index), size, alignment, start))
                return index;
        most -= in_bin;
    }
    return STRATA_NO_NODE;
}

/* A hole for a piece, and where in it. Sizes and alignment in granules. */
static uint32_t find_hole(const strata_offsets *offsets, uint64_t size, uint64_t alignment, uint64_t *start) {
    uint64_t padded = size + (alignment - 1);
    unsigned own = strata_bin_below(size), sure = bin_above(padded < size ? UINT64_MAX : padded);
    uint32_t index = look_in(offsets, own, size, alignment, LOOKED_AT, start);
    if (index == STRATA_NO_NODE && own + 1 < sure)
        index = look_between(offsets, own + 1, sure, size, alignment, LOOKED_AT, start);
    if (index != STRATA_NO_NODE)
        return index;
    uint32_t bin = next_filled(offsets, sure);
    if (bin != STRATA_NO_NODE && fits(offsets, strata_node_at(offsets, offsets->bins[bin]), size, alignment, start))
        return offsets->bins[bin];
    return look_between(offsets, own, sure, size, alignment, LOOKED_AT_LAST, start);
}

bool strata_offsets_try(strata_offsets *offsets, uint64_t bytes, uint64_t alignment, struct strata_range *range) {
    uint64_t size = (bytes >> offsets->shift) + ((bytes & (offsets->granularity - 1)) != 0), start = 0;
    uint64_t aligned = alignment > offsets->granularity ? alignment >> offsets->shift : 1;
    if (size == 0)
        size = 1;
    if (size > offsets->granules - offsets->live_granules || !reserve_nodes(offsets))
        return false;
    uint32_t index = find_hole(offsets, size, aligned, &start);
    if (index == STRATA_NO_NODE)
        return false;
    leave_bin(offsets, index);
    if (start > strata_node_at(offsets, index)->offset) {
        uint32_t front = index;
        index = split(offsets, front, start);
        enter_bin(offsets, front);
    }
    if (strata_node_size(offsets, strata_node_at(offsets, index)) > size)
        enter_bin(offsets, split(offsets, index, start + size));
    struct strata_offsets_node *node = strata_node_at(offsets, index);
    node->is_piece = true;
    node->generation++;
    node->as.requested = bytes;
    node->user = NULL;
    offsets->live_granules += size;
    offsets->requested_bytes += bytes;
    offsets->pieces++;
    *range = (struct strata_range){strata_node_name(offsets, index), start << offsets->shift, size << offsets->shift};
    return true;
}

uint64_t strata_offsets_best(const strata_offsets *offsets, uint64_t bytes) {
    uint64_t size = (bytes >> offsets->shift) + ((bytes & (offsets->granularity - 1)) != 0), start = 0;
    uint32_t index = size ? find_hole(offsets, size, 1, &start) : STRATA_NO_NODE;
    if (index == STRATA_NO_NODE)
        return UINT64_MAX;
    return strata_node_size(offsets, strata_node_at(offsets, index)) << offsets->shift;
}

bool strata_offsets_is_empty(const strata_offsets *offsets) {
    return offsets->pieces == 0;
}

void strata_offsets_desc_init(struct strata_offsets_desc *desc) {
    *desc = (struct strata_offsets_desc){.size = sizeof *desc};
}

/* One hole, over everything. */
static void begin_anew(strata_offsets *offsets) {
    offsets->rows = 0;
    memset(offsets->filled, 0, sizeof offsets->filled);
    memset(offsets->bins, 0xff, sizeof offsets->bins);
    offsets->live_granules = offsets->requested_bytes = offsets->pieces = offsets->holes = 0;
    offsets->first = STRATA_NO_NODE;
    if (offsets->granules == 0)
        return;
    offsets->first = take_node(offsets);
    struct strata_offsets_node *node = strata_node_at(offsets, offsets->first);
    node->offset = 0;
    node->previous = node->next = STRATA_NO_NODE;
    node->is_piece = false;
    enter_bin(offsets, offsets->first);
}

enum strata_status strata_offsets_create(const struct strata_offsets_desc *given, strata_offsets **result) {
    if (!result)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_offsets_create needs a place for the allocator.");
    *result = NULL;
    struct strata_offsets_desc desc = {.size = sizeof desc};
    enum strata_status status = strata_desc_read(given, &desc, sizeof desc, "strata_offsets_desc");
    if (status != STRATA_OK)
        return status;
    if (desc.granularity & (desc.granularity - 1))
        return strata_fail(STRATA_INVALID_ARGUMENT, "The granularity of %" PRIu64 " is not a power of two.",
                           desc.granularity);
    strata_offsets *offsets = strata_host_allocate(desc.allocator, sizeof *offsets);
    if (!offsets)
        return strata_fail_host_memory(sizeof *offsets, "an offset allocator");
    if (desc.allocator)
        offsets->hooks = *desc.allocator;
    offsets->granularity = desc.granularity ? desc.granularity : 1;
    offsets->shift = (unsigned)__builtin_ctzll(offsets->granularity);
    offsets->granules = desc.bytes >> offsets->shift;
    offsets->tail_bytes = desc.bytes & (offsets->granularity - 1);
    offsets->unused = STRATA_NO_NODE;
    /* A piece and a hole beside each. */
    uint64_t pages = desc.pieces / (STRATA_PAGE_NODES / 2) + 1;
    for (uint64_t i = 0; i < pages; i++)
        if (pages > STRATA_NO_NODE / STRATA_PAGE_NODES || !add_page(offsets)) {
            strata_offsets_destroy(&offsets);
            return strata_fail_host_memory(pages * STRATA_PAGE_NODES * sizeof(struct strata_offsets_node),
                                           "an offset allocator's pieces");
        }
    begin_anew(offsets);
    *result = offsets;
    return STRATA_OK;
}

void strata_offsets_destroy(strata_offsets **place) {
    if (!place || !*place)
        return;
    strata_offsets *offsets = *place;
    struct strata_allocator hooks = offsets->hooks;
    *place = NULL;
    for (uint32_t i = 0; i < offsets->page_count; i++)
        strata_host_release(&hooks, offsets->pages[i]);
    strata_host_release(&hooks, offsets->pages);
    strata_host_release(&hooks, offsets);
}

void strata_offsets_reset(strata_offsets *offsets) {
    if (!offsets)
        return;
    for (uint32_t index = offsets->first; index != STRATA_NO_NODE;) {
        struct strata_offsets_node *node = strata_node_at(offsets, index);
        uint32_t next = node->next;
        node->is_piece = false;
        give_node(offsets, index);
        index = next;
    }
    begin_anew(offsets);
}

/* The index of a live piece, or STRATA_NO_NODE. */
static uint32_t find_piece(const strata_offsets *offsets, strata_piece piece) {
    uint64_t index = (piece & UINT32_MAX) - 1;
    if (piece == 0 || index >= (uint64_t)offsets->page_count * STRATA_PAGE_NODES)
        return STRATA_NO_NODE;
    const struct strata_offsets_node *node = strata_node_at(offsets, (uint32_t)index);
    return node->is_piece && node->generation == piece >> 32 ? (uint32_t)index : STRATA_NO_NODE;
}

static enum strata_status fail_piece(strata_piece piece) {
    return strata_fail(STRATA_INVALID_ARGUMENT,
                       "The piece %#" PRIx64 " is not one of this allocator, or it was freed already.", piece);
}

enum strata_status strata_offsets_free(strata_offsets *offsets, strata_piece piece) {
    if (!offsets)
        return strata_fail(STRATA_INVALID_ARGUMENT, "The offset allocator is NULL.");
    if (piece == 0)
        return STRATA_OK;
    uint32_t index = find_piece(offsets, piece);
    if (index == STRATA_NO_NODE)
        return fail_piece(piece);
    struct strata_offsets_node *node = strata_node_at(offsets, index);
    offsets->live_granules -= strata_node_size(offsets, node);
    offsets->requested_bytes -= node->as.requested;
    offsets->pieces--;
    node->is_piece = false;
    if (node->next != STRATA_NO_NODE && !strata_node_at(offsets, node->next)->is_piece) {
        leave_bin(offsets, node->next);
        absorb_next(offsets, index);
    }
    if (node->previous != STRATA_NO_NODE && !strata_node_at(offsets, node->previous)->is_piece) {
        index = node->previous;
        leave_bin(offsets, index);
        absorb_next(offsets, index);
    }
    enter_bin(offsets, index);
    return STRATA_OK;
}

enum strata_status strata_offsets_set_user(strata_offsets *offsets, strata_piece piece, void *user) {
    uint32_t index = offsets ? find_piece(offsets, piece) : STRATA_NO_NODE;
    if (index == STRATA_NO_NODE)
        return fail_piece(piece);
    strata_node_at(offsets, index)->user = user;
    return STRATA_OK;
}

void *strata_offsets_user(const strata_offsets *offsets, strata_piece piece) {
    uint32_t index = offsets ? find_piece(offsets, piece) : STRATA_NO_NODE;
    return index == STRATA_NO_NODE ? NULL : strata_node_at(offsets, index)->user;
}

enum strata_status strata_offsets_allocate(strata_offsets *offsets, uint64_t bytes, uint64_t alignment,
                                           struct strata_range *range) {
    if (!offsets || !range)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_offsets_allocate needs an allocator and a place for the "
                                                    "range.");
    *range = (struct strata_range){0, UINT64_MAX, 0};
    if (alignment & (alignment - 1))
        return strata_fail(STRATA_INVALID_ARGUMENT, "The alignment of %" PRIu64 " is not a power of two.", alignment);
    if (strata_offsets_try(offsets, bytes, alignment, range))
        return STRATA_OK;
    if (!reserve_nodes(offsets))
        return strata_fail_host_memory(STRATA_PAGE_NODES * sizeof(struct strata_offsets_node),
                                       "an offset allocator's pieces");
    return strata_fail(STRATA_OUT_OF_MEMORY,
                       "No range of %" PRIu64 " bytes, aligned to %" PRIu64 ", is free: %" PRIu64
                       " bytes are, and the largest range has %" PRIu64 ".",
                       bytes, alignment > offsets->granularity ? alignment : offsets->granularity,
                       (offsets->granules - offsets->live_granules) << offsets->shift, strata_offsets_largest(offsets));
}
