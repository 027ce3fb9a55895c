/* What an offset allocator tells of itself: its ranges one by one, figures, a check of everything, and a dump. */
#include "core/writer.h"
#include "memory/offsets.h"

#include <inttypes.h>
#include <string.h>

/* ---- The walk and the figures ---- */

static struct strata_offsets_span span_of(const strata_offsets *offsets, uint32_t index) {
    const struct strata_offsets_node *node = strata_offsets_node(offsets, index);
    struct strata_offsets_span span = {.offset = node->offset << offsets->shift,
                                       .bytes = strata_offsets_length(offsets, node) << offsets->shift};
    if (node->bin == STRATA_OFFSETS_PIECE) {
        span.piece = strata_offsets_number(node, index);
        span.requested = node->as.requested;
        span.user = node->user;
    }
    return span;
}

void strata_offsets_walk(const strata_offsets *offsets, strata_offsets_visitor function, void *user) {
    if (!offsets || !function)
        return;
    for (uint32_t index = offsets->first; index != STRATA_OFFSETS_NONE;) {
        struct strata_offsets_span span = span_of(offsets, index);
        if (!function(&span, user))
            return;
        index = strata_offsets_node(offsets, index)->next;
    }
}

static void collect(const strata_offsets *offsets, struct strata_offsets_stats *stats) {
    *stats = (struct strata_offsets_stats){
        .size = sizeof *stats,
        .bytes = offsets->total << offsets->shift,
        .live_bytes = offsets->live_granules << offsets->shift,
        .requested_bytes = offsets->requested_bytes,
        .free_bytes = strata_offsets_free_bytes(offsets),
        .live_pieces = offsets->live_pieces,
        .holes = offsets->holes,
        .largest_free = strata_offsets_largest(offsets),
        .metadata_bytes = sizeof *offsets + (uint64_t)offsets->rows * STRATA_OFFSETS_STEPS * sizeof offsets->heads[0] +
                          (uint64_t)offsets->page_capacity * sizeof offsets->pages[0] +
                          (uint64_t)offsets->page_count * STRATA_OFFSETS_PAGE * sizeof *offsets->pages[0],
    };
    if (stats->free_bytes != 0)
        stats->fragmentation = 1 - (double)stats->largest_free / (double)stats->free_bytes;
}

enum strata_status strata_offsets_stats(const strata_offsets *offsets, struct strata_offsets_stats *stats) {
    if (!offsets)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_offsets_stats got no allocator.");
    if (!stats || stats->size == 0 || stats->size > sizeof *stats)
        return strata_fail(
            STRATA_INVALID_ARGUMENT,
            "strata_offsets_stats needs a struct whose size member says at most %zu, this library's size.",
            sizeof *stats);
    struct strata_offsets_stats all;
    size_t size = stats->size;
    collect(offsets, &all);
    memcpy(stats, &all, size);
    stats->size = size;
    return STRATA_OK;
}

/* ---- The check ---- */

static bool exists(const strata_offsets *offsets, uint32_t index) {
    return index >> STRATA_OFFSETS_PAGE_BITS < offsets->page_count;
}

static enum strata_status fault(const char *what, uint64_t where) {
    return strata_fail(STRATA_INTERNAL, "The offset allocator is damaged: %s (%" PRIu64 ").", what, where);
}

static bool is_hole(const struct strata_offsets_node *node) {
    return node->bin != STRATA_OFFSETS_PIECE && node->bin != STRATA_OFFSETS_UNUSED;
}

/* What the walk over all ranges counted. */
struct tally {
    uint64_t nodes, pieces, holes, live_granules, requested_bytes;
};

static enum strata_status check_range(const strata_offsets *offsets, uint32_t previous, uint32_t index,
                                      struct tally *tally) {
    const struct strata_offsets_node *node = strata_offsets_node(offsets, index);
    uint64_t byte = node->offset << offsets->shift;
    if (node->previous != previous)
        return fault("a range does not know the one before it; its offset", byte);
    if (node->next != STRATA_OFFSETS_NONE && !exists(offsets, node->next))
        return fault("a range leads to none that exists; its offset", byte);
    uint64_t end =
        node->next == STRATA_OFFSETS_NONE ? offsets->total : strata_offsets_node(offsets, node->next)->offset;
    if (end <= node->offset || end > offsets->total)
        return fault("a range does not end behind its start; its offset", byte);
    if (node->bin == STRATA_OFFSETS_PIECE) {
        tally->pieces++;
        tally->live_granules += end - node->offset;
        tally->requested_bytes += node->as.requested;
        uint64_t most = (end - node->offset) << offsets->shift;
        return node->as.requested <= most ? STRATA_OK : fault("a piece is shorter than asked for; its offset", byte);
    }
    if (!is_hole(node))
        return fault("a range is neither piece nor hole; its offset", byte);
    tally->holes++;
    if (node->bin != strata_offsets_bin(end - node->offset))
        return fault("a hole lies in the bin of another size; its offset", byte);
    if (previous != STRATA_OFFSETS_NONE && is_hole(strata_offsets_node(offsets, previous)))
        return fault("two holes touch; the offset of the second", byte);
    return STRATA_OK;
}

static enum strata_status check_ranges(const strata_offsets *offsets, struct tally *tally) {
    uint64_t most = (uint64_t)offsets->page_count * STRATA_OFFSETS_PAGE;
    uint32_t previous = STRATA_OFFSETS_NONE, index = offsets->first;
    if ((index == STRATA_OFFSETS_NONE) != (offsets->total == 0))
        return fault("no range begins the memory; its granules", offsets->total);
    if (index != STRATA_OFFSETS_NONE && (!exists(offsets, index) || strata_offsets_node(offsets, index)->offset != 0))
        return fault("the first range does not begin the memory; its number", index);
    while (index != STRATA_OFFSETS_NONE) {
        if (++tally->nodes > most)
            return fault("the ranges go in a circle; nodes there are", most);
        enum strata_status status = check_range(offsets, previous, index, tally);
        if (status != STRATA_OK)
            return status;
        previous = index;
        index = strata_offsets_node(offsets, index)->next;
    }
    return STRATA_OK;
}

/* Counts the holes of one chain into *count. */
static enum strata_status check_bin(const strata_offsets *offsets, uint32_t bin, uint64_t *count) {
    uint32_t row = bin / STRATA_OFFSETS_STEPS, bit = 1u << bin % STRATA_OFFSETS_STEPS, previous = STRATA_OFFSETS_NONE;
    uint32_t index = offsets->heads[bin];
    if ((index != STRATA_OFFSETS_NONE) != ((offsets->bin_bits[row] & bit) != 0))
        return fault("the bitmap does not say what a bin holds; the bin", bin);
    while (index != STRATA_OFFSETS_NONE) {
        if (!exists(offsets, index))
            return fault("a bin leads to a hole that does not exist; the bin", bin);
        const struct strata_offsets_node *node = strata_offsets_node(offsets, index);
        if (node->bin != bin)
            return fault("a bin holds what does not belong into it; the bin", bin);
        if (node->as.bin.previous != previous)
            return fault("a hole does not know the one before it in its bin; the bin", bin);
        if (++*count > offsets->holes)
            return fault("the bins hold more than there are holes; the bin", bin);
        previous = index;
        index = node->as.bin.next;
    }
    return STRATA_OK;
}

static enum strata_status check_bins(const strata_offsets *offsets) {
    uint64_t count = 0;
    for (uint32_t row = 0; row < STRATA_OFFSETS_ROWS; row++) {
        uint32_t bits = offsets->bin_bits[row];
        if ((bits != 0) != ((offsets->row_bits >> row & 1) != 0) || (row >= offsets->rows && bits != 0))
            return fault("the bitmap does not say what a row of bins holds; the row", row);
    }
    for (uint32_t bin = 0; bin < offsets->rows * STRATA_OFFSETS_STEPS; bin++) {
        enum strata_status status = check_bin(offsets, bin, &count);
        if (status != STRATA_OK)
            return status;
    }
    return count == offsets->holes ? STRATA_OK : fault("a hole is in no bin; holes in bins", count);
}

static enum strata_status check_unused(const strata_offsets *offsets, uint64_t used) {
    uint64_t count = 0, all = (uint64_t)offsets->page_count * STRATA_OFFSETS_PAGE;
    for (uint32_t index = offsets->unused; index != STRATA_OFFSETS_NONE;) {
        if (!exists(offsets, index) || ++count > all)
            return fault("the chain of unused nodes is broken; nodes seen", count);
        const struct strata_offsets_node *node = strata_offsets_node(offsets, index);
        if (node->bin != STRATA_OFFSETS_UNUSED)
            return fault("a node in use is among the unused; its index", index);
        index = node->next;
    }
    if (count != offsets->unused_count || count + used != all)
        return fault("nodes are lost; nodes found", count + used);
    return STRATA_OK;
}

enum strata_status strata_offsets_validate(const strata_offsets *offsets) {
    struct tally tally = {0};
    if (!offsets)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_offsets_validate got no allocator.");
    enum strata_status status = check_ranges(offsets, &tally);
    if (status != STRATA_OK)
        return status;
    if (tally.pieces != offsets->live_pieces)
        return fault("the number of pieces is wrong; pieces found", tally.pieces);
    if (tally.holes != offsets->holes)
        return fault("the number of holes is wrong; holes found", tally.holes);
    if (tally.live_granules != offsets->live_granules)
        return fault("the size of all pieces is wrong; granules found", tally.live_granules);
    if (tally.requested_bytes != offsets->requested_bytes)
        return fault("the bytes asked for are wrong; bytes found", tally.requested_bytes);
    status = check_bins(offsets);
    return status == STRATA_OK ? check_unused(offsets, tally.nodes) : status;
}

/* ---- The dump ---- */

struct dump {
    struct strata_writer writer;
    bool later; /* a range has been written: a comma comes before the next */
};

/* Numbers of pieces and pointers are text in JSON: many readers keep only 53 bits of a number. */
static bool print_span(const struct strata_offsets_span *span, void *user) {
    struct dump *dump = user;
    struct strata_writer *writer = &dump->writer;
    strata_writer_print(writer, "%s\n    {\"offset\": %" PRIu64 ", \"bytes\": %" PRIu64, dump->later ? "," : "",
                        span->offset, span->bytes);
    dump->later = true;
    if (span->piece != 0)
        strata_writer_print(writer, ", \"piece\": \"0x%" PRIx64 "\", \"requested\": %" PRIu64, span->piece,
                            span->requested);
    if (span->user)
        strata_writer_print(writer, ", \"user\": \"0x%" PRIxPTR "\"", (uintptr_t)span->user);
    strata_writer_print(writer, "}");
    return !writer->failed;
}

enum strata_status strata_offsets_dump(const strata_offsets *offsets, strata_write_function write, void *user) {
    if (!offsets || !write)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_offsets_dump got no %s.",
                           offsets ? "function that writes" : "allocator");
    struct dump dump = {.writer = {.write = write, .user = user}};
    struct strata_writer *writer = &dump.writer;
    struct strata_offsets_stats stats;
    collect(offsets, &stats);
    unsigned millionths = (unsigned)(stats.fragmentation * 1e6 + 0.5);
    strata_writer_print(writer, "{\n  \"bytes\": %" PRIu64 ",\n  \"granularity\": %" PRIu64 ",\n", stats.bytes,
                        UINT64_C(1) << offsets->shift);
    strata_writer_print(
        writer, "  \"live_bytes\": %" PRIu64 ",\n  \"requested_bytes\": %" PRIu64 ",\n  \"free_bytes\": %" PRIu64 ",\n",
        stats.live_bytes, stats.requested_bytes, stats.free_bytes);
    strata_writer_print(
        writer, "  \"live_pieces\": %" PRIu64 ",\n  \"holes\": %" PRIu64 ",\n  \"largest_free\": %" PRIu64 ",\n",
        stats.live_pieces, stats.holes, stats.largest_free);
    strata_writer_print(writer, "  \"metadata_bytes\": %" PRIu64 ",\n  \"fragmentation\": %u.%06u,\n  \"ranges\": [",
                        stats.metadata_bytes, millionths / 1000000, millionths % 1000000);
    strata_offsets_walk(offsets, print_span, &dump);
    strata_writer_print(writer, "%s]\n}\n", dump.later ? "\n  " : "");
    strata_writer_flush(writer);
    if (writer->failed)
        return strata_fail(STRATA_IO, "The dump of an offset allocator was stopped by the function that writes it.");
    return STRATA_OK;
}
