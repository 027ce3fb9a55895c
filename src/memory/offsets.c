/* The offset allocator: ranges of memory that it never touches, from bins of holes by size. */
#include "memory/offsets.h"

#include "core/device.h"

#include <inttypes.h>
#include <string.h>

/* Holes looked at where some may be too small, before a larger one is split: the one given back last is the first of
 * them, so a piece of the same size comes back to the same place. A look costs a cache miss; more than a few cost more
 * time than they save memory. */
#define FIRST_LOOKS 4

/* Holes looked at before a request fails. Failing is dear for the caller, so these may cost more. */
#define LAST_LOOKS 64

/* Numbers of pieces hold an index and one more in 32 bits, and indices from UINT32_MAX - 1 on mean something else. */
#define MOST_PAGES ((UINT32_MAX >> STRATA_OFFSETS_PAGE_BITS) - 1)

enum outcome { TAKEN, FULL, NO_HOST_MEMORY };

static struct strata_offsets_node *at(const strata_offsets *offsets, uint32_t index) {
    return strata_offsets_node(offsets, index);
}

/* ---- Nodes ---- */

static bool grow_directory(strata_offsets *offsets) {
    uint32_t capacity = offsets->page_capacity ? 2 * offsets->page_capacity : 4;
    struct strata_offsets_node **pages = strata_host_allocate(&offsets->hooks, capacity * sizeof *pages);
    if (!pages)
        return false;
    if (offsets->page_count)
        memcpy(pages, offsets->pages, offsets->page_count * sizeof *pages);
    strata_host_release(&offsets->hooks, offsets->pages);
    offsets->pages = pages;
    offsets->page_capacity = capacity;
    return true;
}

static bool add_page(strata_offsets *offsets) {
    if (offsets->page_count == MOST_PAGES)
        return false;
    if (offsets->page_count == offsets->page_capacity && !grow_directory(offsets))
        return false;
    struct strata_offsets_node *page =
        strata_host_allocate(&offsets->hooks, STRATA_OFFSETS_PAGE * sizeof(struct strata_offsets_node));
    if (!page)
        return false;
    uint32_t first = offsets->page_count << STRATA_OFFSETS_PAGE_BITS;
    offsets->pages[offsets->page_count++] = page;
    for (uint32_t i = STRATA_OFFSETS_PAGE; i-- > 0;) {
        page[i].bin = STRATA_OFFSETS_UNUSED;
        page[i].next = offsets->unused;
        offsets->unused = first + i;
    }
    offsets->unused_count += STRATA_OFFSETS_PAGE;
    return true;
}

/* The caller has made sure that one is left. */
static uint32_t take_node(strata_offsets *offsets) {
    uint32_t index = offsets->unused;
    offsets->unused = at(offsets, index)->next;
    offsets->unused_count--;
    return index;
}

static void give_node(strata_offsets *offsets, uint32_t index) {
    struct strata_offsets_node *node = at(offsets, index);
    node->bin = STRATA_OFFSETS_UNUSED;
    node->next = offsets->unused;
    offsets->unused = index;
    offsets->unused_count++;
}

/* A new node that begins at `offset`, inside of the node `previous`. */
static uint32_t split(strata_offsets *offsets, uint32_t previous, uint64_t offset) {
    uint32_t index = take_node(offsets);
    struct strata_offsets_node *node = at(offsets, index), *before = at(offsets, previous);
    node->offset = offset;
    node->previous = previous;
    node->next = before->next;
    before->next = index;
    if (node->next != STRATA_OFFSETS_NONE)
        at(offsets, node->next)->previous = index;
    return index;
}

/* The node before it takes its range. */
static void join(strata_offsets *offsets, uint32_t index) {
    const struct strata_offsets_node *node = at(offsets, index);
    at(offsets, node->previous)->next = node->next;
    if (node->next != STRATA_OFFSETS_NONE)
        at(offsets, node->next)->previous = node->previous;
    give_node(offsets, index);
}

/* ---- Bins ---- */

static void put_hole(strata_offsets *offsets, uint32_t index) {
    struct strata_offsets_node *node = at(offsets, index);
    uint32_t bin = strata_offsets_bin(strata_offsets_length(offsets, node)), head = offsets->heads[bin];
    uint32_t row = bin / STRATA_OFFSETS_STEPS;
    node->bin = bin;
    node->as.bin.previous = STRATA_OFFSETS_NONE;
    node->as.bin.next = head;
    if (head != STRATA_OFFSETS_NONE)
        at(offsets, head)->as.bin.previous = index;
    offsets->heads[bin] = index;
    offsets->bin_bits[row] |= 1u << bin % STRATA_OFFSETS_STEPS;
    offsets->row_bits |= UINT64_C(1) << row;
    offsets->holes++;
}

static void pull_hole(strata_offsets *offsets, uint32_t index) {
    const struct strata_offsets_node *node = at(offsets, index);
    uint32_t bin = node->bin, row = bin / STRATA_OFFSETS_STEPS;
    uint32_t previous = node->as.bin.previous, next = node->as.bin.next;
    offsets->holes--;
    if (next != STRATA_OFFSETS_NONE)
        at(offsets, next)->as.bin.previous = previous;
    if (previous != STRATA_OFFSETS_NONE) {
        at(offsets, previous)->as.bin.next = next;
        return;
    }
    offsets->heads[bin] = next;
    if (next != STRATA_OFFSETS_NONE)
        return;
    offsets->bin_bits[row] &= ~(1u << bin % STRATA_OFFSETS_STEPS);
    if (offsets->bin_bits[row] == 0)
        offsets->row_bits &= ~(UINT64_C(1) << row);
}

/* The first bin with a hole from `bin` on; STRATA_OFFSETS_BINS where there is none. */
static uint32_t bin_from(const strata_offsets *offsets, uint32_t bin) {
    uint32_t row = bin / STRATA_OFFSETS_STEPS;
    if (row >= offsets->rows)
        return STRATA_OFFSETS_BINS;
    uint32_t bits = offsets->bin_bits[row] & (UINT32_MAX << bin % STRATA_OFFSETS_STEPS);
    if (bits == 0) {
        uint64_t rows = offsets->row_bits & (UINT64_MAX << (row + 1));
        if (rows == 0)
            return STRATA_OFFSETS_BINS;
        row = (uint32_t)__builtin_ctzll(rows);
        bits = offsets->bin_bits[row];
    }
    return row * STRATA_OFFSETS_STEPS + (uint32_t)__builtin_ctz(bits);
}

/* The last bin with a hole below `bin`; STRATA_OFFSETS_BINS where there is none. */
static uint32_t bin_below(const strata_offsets *offsets, uint32_t bin) {
    uint32_t row = bin / STRATA_OFFSETS_STEPS, bits = 0;
    if (row < offsets->rows)
        bits = offsets->bin_bits[row] & ((1u << bin % STRATA_OFFSETS_STEPS) - 1);
    if (bits == 0) {
        uint64_t rows = offsets->row_bits & ((UINT64_C(1) << row) - 1);
        if (rows == 0)
            return STRATA_OFFSETS_BINS;
        row = 63 - (uint32_t)__builtin_clzll(rows);
        bits = offsets->bin_bits[row];
    }
    return row * STRATA_OFFSETS_STEPS + 31 - (uint32_t)__builtin_clz(bits);
}

/* ---- Search ---- */

struct request {
    uint64_t granules, alignment; /* in granules, both at least 1 */
    uint32_t lowest;              /* the bin of the smallest holes that can fit */
    uint32_t certain;             /* the first bin whose holes all fit, wherever they begin */
};

static uint64_t aligned_start(const struct strata_offsets_node *node, uint64_t alignment) {
    return (node->offset + (alignment - 1)) & ~(alignment - 1);
}

/* Whether the hole holds the request. An aligned start that wraps around lies before the hole. */
static bool fits(const strata_offsets *offsets, const struct strata_offsets_node *node, const struct request *request) {
    uint64_t start = aligned_start(node, request->alignment), length = strata_offsets_length(offsets, node);
    return start >= node->offset && start - node->offset < length &&
           length - (start - node->offset) >= request->granules;
}

/* Looks through one bin for a hole that fits, and counts the looks down. */
static uint32_t look_through(const strata_offsets *offsets, uint32_t bin, const struct request *request,
                             unsigned *looks) {
    uint32_t index = offsets->heads[bin];
    while (index != STRATA_OFFSETS_NONE && *looks > 0) {
        const struct strata_offsets_node *node = at(offsets, index);
        if (fits(offsets, node, request))
            return index;
        index = node->as.bin.next;
        --*looks;
    }
    return STRATA_OFFSETS_NONE;
}

/* A hole that holds the request: one of the few smallest that may, else one that is certain to, else, from the largest
 * down, one of those that are not. */
static uint32_t find_hole(const strata_offsets *offsets, const struct request *request) {
    unsigned looks = FIRST_LOOKS;
    uint32_t found, bin = bin_from(offsets, request->lowest);
    while (bin < request->certain && looks > 0) {
        found = look_through(offsets, bin, request, &looks);
        if (found != STRATA_OFFSETS_NONE)
            return found;
        bin = bin_from(offsets, bin + 1);
    }
    if (bin < request->certain)
        bin = bin_from(offsets, request->certain);
    if (bin < STRATA_OFFSETS_BINS)
        return offsets->heads[bin];
    looks = LAST_LOOKS;
    bin = bin_below(offsets, request->certain);
    while (bin < STRATA_OFFSETS_BINS && bin >= request->lowest && looks > 0) {
        found = look_through(offsets, bin, request, &looks);
        if (found != STRATA_OFFSETS_NONE)
            return found;
        bin = bin_below(offsets, bin);
    }
    return STRATA_OFFSETS_NONE;
}

static struct request make_request(const strata_offsets *offsets, uint64_t bytes, uint64_t alignment) {
    uint64_t rest = bytes & ((UINT64_C(1) << offsets->shift) - 1), most;
    struct request request = {.granules = (bytes >> offsets->shift) + (rest != 0), .alignment = 1};
    if (request.granules == 0)
        request.granules = 1;
    if (alignment >> offsets->shift > 1)
        request.alignment = alignment >> offsets->shift;
    request.lowest = strata_offsets_bin(request.granules);
    request.certain = STRATA_OFFSETS_BINS;
    if (strata_add(request.granules, request.alignment - 1, &most))
        request.certain = strata_offsets_bin_above(most);
    return request;
}

/* ---- Pieces ---- */

/* The hole's node becomes the piece, unless the piece must begin behind the hole's start. */
static enum outcome take(strata_offsets *offsets, uint64_t bytes, uint64_t alignment, struct strata_range *range) {
    *range = (struct strata_range){.offset = UINT64_MAX};
    struct request request = make_request(offsets, bytes, alignment);
    uint32_t hole = find_hole(offsets, &request);
    if (hole == STRATA_OFFSETS_NONE)
        return FULL;
    const struct strata_offsets_node *node = at(offsets, hole);
    uint64_t start = aligned_start(node, request.alignment), before = start - node->offset;
    uint64_t behind = strata_offsets_length(offsets, node) - before - request.granules;
    uint32_t needed = (before > 0 ? 1u : 0u) + (behind > 0 ? 1u : 0u), index = hole;
    if (offsets->unused_count < needed && !add_page(offsets))
        return NO_HOST_MEMORY;

    pull_hole(offsets, hole);
    if (before > 0) {
        index = split(offsets, hole, start);
        put_hole(offsets, hole);
    }
    if (behind > 0)
        put_hole(offsets, split(offsets, index, start + request.granules));
    struct strata_offsets_node *piece = at(offsets, index);
    piece->bin = STRATA_OFFSETS_PIECE;
    piece->as.requested = bytes;
    piece->user = NULL;
    piece->generation++;
    offsets->live_pieces++;
    offsets->live_granules += request.granules;
    offsets->requested_bytes += bytes;
    range->piece = strata_offsets_number(piece, index);
    range->offset = start << offsets->shift;
    range->bytes = request.granules << offsets->shift;
    return TAKEN;
}

static void give_back(strata_offsets *offsets, uint32_t index) {
    const struct strata_offsets_node *piece = at(offsets, index);
    uint32_t previous = piece->previous, next = piece->next;
    offsets->live_pieces--;
    offsets->live_granules -= strata_offsets_length(offsets, piece);
    offsets->requested_bytes -= piece->as.requested;
    if (next != STRATA_OFFSETS_NONE && at(offsets, next)->bin != STRATA_OFFSETS_PIECE) {
        pull_hole(offsets, next);
        join(offsets, next);
    }
    if (previous != STRATA_OFFSETS_NONE && at(offsets, previous)->bin != STRATA_OFFSETS_PIECE) {
        pull_hole(offsets, previous);
        join(offsets, index);
        index = previous;
    }
    put_hole(offsets, index);
}

/* NULL when the number is not that of a live piece. */
static struct strata_offsets_node *live(const strata_offsets *offsets, strata_piece piece) {
    uint32_t index = (uint32_t)piece - 1; /* of 0, the largest */
    if (index >> STRATA_OFFSETS_PAGE_BITS >= offsets->page_count)
        return NULL;
    struct strata_offsets_node *node = at(offsets, index);
    return node->bin == STRATA_OFFSETS_PIECE && node->generation == piece >> 32 ? node : NULL;
}

/* ---- The public functions ---- */

void strata_offsets_desc_init(struct strata_offsets_desc *desc) {
    *desc = (struct strata_offsets_desc){.size = sizeof *desc};
}

static bool is_power_of_two(uint64_t number) {
    return number != 0 && (number & (number - 1)) == 0;
}

/* One hole over all. There is a node for it. */
static void start_over(strata_offsets *offsets) {
    offsets->first = STRATA_OFFSETS_NONE;
    offsets->row_bits = 0;
    memset(offsets->bin_bits, 0, sizeof offsets->bin_bits);
    memset(offsets->heads, 0xFF, (size_t)offsets->rows * STRATA_OFFSETS_STEPS * sizeof offsets->heads[0]);
    offsets->live_pieces = 0;
    offsets->holes = 0;
    offsets->live_granules = 0;
    offsets->requested_bytes = 0;
    if (offsets->total == 0)
        return;
    offsets->first = take_node(offsets);
    struct strata_offsets_node *node = at(offsets, offsets->first);
    node->offset = 0;
    node->previous = STRATA_OFFSETS_NONE;
    node->next = STRATA_OFFSETS_NONE;
    put_hole(offsets, offsets->first);
}

/* Nodes for so many pieces, a hole before each, and one behind the last. */
static bool reserve(strata_offsets *offsets, uint64_t pieces) {
    uint64_t most = pieces < offsets->total ? pieces : offsets->total, nodes;
    if (offsets->total == 0)
        return true;
    if (!strata_multiply(most, 2, &nodes) || !strata_add(nodes, 1, &nodes))
        return false;
    while (offsets->unused_count < nodes)
        if (!add_page(offsets))
            return false;
    return true;
}

enum strata_status strata_offsets_create(const struct strata_offsets_desc *given, strata_offsets **result) {
    struct strata_offsets_desc desc = {.size = sizeof desc};
    if (!result)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_offsets_create got no place for the allocator.");
    *result = NULL;
    enum strata_status status = strata_desc_read(given, &desc, sizeof desc, "strata_offsets_desc");
    if (status != STRATA_OK)
        return status;
    uint64_t granularity = desc.granularity ? desc.granularity : 1;
    if (!is_power_of_two(granularity))
        return strata_fail(STRATA_INVALID_ARGUMENT,
                           "The granularity of an offset allocator is %" PRIu64 ", which is no power of two.",
                           granularity);
    unsigned shift = (unsigned)__builtin_ctzll(granularity);
    uint64_t total = desc.bytes >> shift;
    uint32_t rows = strata_offsets_bin(total) / STRATA_OFFSETS_STEPS + 1;
    size_t bytes = sizeof(strata_offsets) + (size_t)rows * STRATA_OFFSETS_STEPS * sizeof(uint32_t);
    strata_offsets *offsets = strata_host_allocate(desc.allocator, bytes);
    if (!offsets)
        return strata_fail_host_memory(bytes, "an offset allocator");
    if (desc.allocator)
        offsets->hooks = *desc.allocator;
    offsets->total = total;
    offsets->shift = shift;
    offsets->rows = rows;
    offsets->unused = STRATA_OFFSETS_NONE;
    if (!reserve(offsets, desc.pieces)) {
        strata_offsets_destroy(&offsets);
        return strata_fail(STRATA_OUT_OF_MEMORY,
                           "There is no host memory for an offset allocator with room for %" PRIu64 " pieces.",
                           desc.pieces);
    }
    start_over(offsets);
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

static enum strata_status fail_to_allocate(const strata_offsets *offsets, enum outcome outcome, uint64_t bytes,
                                           uint64_t alignment) {
    if (outcome == NO_HOST_MEMORY)
        return strata_fail_host_memory(STRATA_OFFSETS_PAGE * sizeof(struct strata_offsets_node),
                                       "what describes the pieces of an offset allocator");
    uint64_t granularity = UINT64_C(1) << offsets->shift;
    return strata_fail(STRATA_OUT_OF_MEMORY,
                       "No free range holds %" PRIu64 " bytes at a multiple of %" PRIu64 ": %" PRIu64 " of %" PRIu64
                       " bytes are free, and the largest free range has %" PRIu64 ".",
                       bytes, alignment > granularity ? alignment : granularity, strata_offsets_free_bytes(offsets),
                       offsets->total << offsets->shift, strata_offsets_largest(offsets));
}

enum strata_status strata_offsets_allocate(strata_offsets *offsets, uint64_t bytes, uint64_t alignment,
                                           struct strata_range *range) {
    if (!range)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_offsets_allocate got no place for the range.");
    *range = (struct strata_range){.offset = UINT64_MAX};
    if (!offsets)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_offsets_allocate got no allocator.");
    if (alignment != 0 && !is_power_of_two(alignment))
        return strata_fail(STRATA_INVALID_ARGUMENT, "The alignment %" PRIu64 " is no power of two.", alignment);
    enum outcome outcome = take(offsets, bytes, alignment, range);
    return outcome == TAKEN ? STRATA_OK : fail_to_allocate(offsets, outcome, bytes, alignment);
}

bool strata_offsets_try(strata_offsets *offsets, uint64_t bytes, uint64_t alignment, struct strata_range *range) {
    return take(offsets, bytes, alignment, range) == TAKEN;
}

uint64_t strata_offsets_best(const strata_offsets *offsets, uint64_t bytes) {
    struct request request = make_request(offsets, bytes, 0);
    uint32_t hole = find_hole(offsets, &request);
    return hole == STRATA_OFFSETS_NONE ? UINT64_MAX
                                       : strata_offsets_length(offsets, at(offsets, hole)) << offsets->shift;
}

static enum strata_status fail_not_live(strata_piece piece, const char *function) {
    return strata_fail(STRATA_INVALID_ARGUMENT,
                       "%s got the number 0x%" PRIx64 ", which is that of no live piece: it was given back already, or "
                       "never was this allocator's.",
                       function, piece);
}

enum strata_status strata_offsets_free(strata_offsets *offsets, strata_piece piece) {
    if (piece == 0)
        return STRATA_OK;
    if (!offsets)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_offsets_free got no allocator.");
    if (!live(offsets, piece))
        return fail_not_live(piece, "strata_offsets_free");
    give_back(offsets, (uint32_t)piece - 1);
    return STRATA_OK;
}

void strata_offsets_reset(strata_offsets *offsets) {
    if (!offsets)
        return;
    uint32_t index = offsets->first;
    while (index != STRATA_OFFSETS_NONE) {
        uint32_t next = at(offsets, index)->next;
        give_node(offsets, index);
        index = next;
    }
    start_over(offsets);
}

enum strata_status strata_offsets_set_user(strata_offsets *offsets, strata_piece piece, void *user) {
    if (!offsets)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_offsets_set_user got no allocator.");
    struct strata_offsets_node *node = live(offsets, piece);
    if (!node)
        return fail_not_live(piece, "strata_offsets_set_user");
    node->user = user;
    return STRATA_OK;
}

void *strata_offsets_user(const strata_offsets *offsets, strata_piece piece) {
    const struct strata_offsets_node *node = offsets ? live(offsets, piece) : NULL;
    return node ? node->user : NULL;
}

/* Holes of up to twice STRATA_OFFSETS_STEPS have a bin for each size, so one of them says it. */
uint64_t strata_offsets_largest(const strata_offsets *offsets) {
    uint32_t bin = bin_below(offsets, offsets->rows * STRATA_OFFSETS_STEPS);
    if (bin == STRATA_OFFSETS_BINS)
        return 0;
    if (bin < 2 * STRATA_OFFSETS_STEPS)
        return (uint64_t)bin << offsets->shift;
    uint64_t largest = 0;
    for (uint32_t index = offsets->heads[bin]; index != STRATA_OFFSETS_NONE;) {
        const struct strata_offsets_node *node = at(offsets, index);
        uint64_t length = strata_offsets_length(offsets, node);
        largest = length > largest ? length : largest;
        index = node->as.bin.next;
    }
    return largest << offsets->shift;
}
