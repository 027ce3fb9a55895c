/* What an offset allocator tells of itself: figures, its ranges, and a check of everything. */
#include "memory/buffer.h"
#include "memory/offsets_nodes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* One of the highest bin's. */
uint64_t strata_offsets_largest(const strata_offsets *offsets) {
    if (!offsets->rows)
        return 0;
    unsigned row = 63u - (unsigned)__builtin_clzll(offsets->rows);
    unsigned bin = row * STRATA_CLASSES + 31u - (unsigned)__builtin_clz(offsets->filled[row]);
    uint64_t largest = 0;
    for (uint32_t index = offsets->bins[bin]; index != STRATA_NO_NODE;
         index = strata_node_at(offsets, index)->as.bin.next) {
        uint64_t size = strata_node_size(offsets, strata_node_at(offsets, index));
        if (largest < size)
            largest = size;
    }
    return largest << offsets->shift;
}

static struct strata_offsets_span span_of(const strata_offsets *offsets, uint32_t index) {
    const struct strata_offsets_node *node = strata_node_at(offsets, index);
    struct strata_offsets_span span = {.offset = node->offset << offsets->shift,
                                       .bytes = strata_node_size(offsets, node) << offsets->shift};
    if (node->is_piece) {
        span.piece = strata_node_name(offsets, index);
        span.requested = node->as.requested;
        span.user = node->user;
    }
    return span;
}

void strata_offsets_walk(const strata_offsets *offsets, strata_offsets_visitor function, void *user) {
    for (uint32_t index = offsets ? offsets->first : STRATA_NO_NODE; index != STRATA_NO_NODE;
         index = strata_node_at(offsets, index)->next) {
        struct strata_offsets_span span = span_of(offsets, index);
        if (!function(&span, user))
            return;
    }
}

enum strata_status strata_offsets_stats(const strata_offsets *offsets, struct strata_offsets_stats *result) {
    if (!offsets)
        return strata_fail(STRATA_INVALID_ARGUMENT, "The offset allocator is NULL.");
    enum strata_status status = strata_stats_check_size(result, sizeof *result, "strata_offsets_stats");
    if (status != STRATA_OK)
        return status;
    struct strata_offsets_stats stats = {
        .size = result->size,
        .bytes = (offsets->granules << offsets->shift) + offsets->tail_bytes,
        .live_bytes = offsets->live_granules << offsets->shift,
        .requested_bytes = offsets->requested_bytes,
        .free_bytes = (offsets->granules - offsets->live_granules) << offsets->shift,
        .live_pieces = offsets->pieces,
        .holes = offsets->holes,
        .largest_free = strata_offsets_largest(offsets),
        .metadata_bytes = sizeof *offsets + offsets->page_capacity * sizeof *offsets->pages +
                          (uint64_t)offsets->page_count * STRATA_PAGE_NODES * sizeof(struct strata_offsets_node)};
    if (stats.free_bytes)
        stats.fragmentation = 1 - (double)stats.largest_free / (double)stats.free_bytes;
    memcpy(result, &stats, stats.size);
    return STRATA_OK;
}

/* Whether a hole is in the list of its bin, and that in the bitmaps. */
static const char *check_bin(const strata_offsets *offsets, uint32_t index) {
    unsigned bin = strata_bin_below(strata_node_size(offsets, strata_node_at(offsets, index)));
    if (!(offsets->rows >> bin / STRATA_CLASSES & 1) ||
        !(offsets->filled[bin / STRATA_CLASSES] >> bin % STRATA_CLASSES & 1))
        return "a hole's bin is not marked as filled";
    const struct strata_offsets_node *node = strata_node_at(offsets, index);
    if (node->as.bin.previous == STRATA_NO_NODE ? offsets->bins[bin] != index
                                                : strata_node_at(offsets, node->as.bin.previous)->as.bin.next != index)
        return "a hole is not in its bin's list";
    if (node->as.bin.next != STRATA_NO_NODE && strata_node_at(offsets, node->as.bin.next)->as.bin.previous != index)
        return "a bin's list is broken";
    return NULL;
}

/* Empty bins are marked as such, and lists hold holes only; how many. */
static const char *count_bins(const strata_offsets *offsets, uint64_t *holes) {
    for (unsigned bin = 0; bin < STRATA_CLASS_ROWS * STRATA_CLASSES; bin++) {
        bool marked = offsets->filled[bin / STRATA_CLASSES] >> bin % STRATA_CLASSES & 1;
        if (marked != (offsets->bins[bin] != STRATA_NO_NODE))
            return "a bin's mark is wrong";
        if (marked && !(offsets->rows >> bin / STRATA_CLASSES & 1))
            return "a row's mark is wrong";
        for (uint32_t index = offsets->bins[bin]; index != STRATA_NO_NODE;
             index = strata_node_at(offsets, index)->as.bin.next)
            ++*holes;
    }
    return NULL;
}

static const char *find_fault(const strata_offsets *offsets) {
    uint64_t offset = 0, live = 0, requested = 0, pieces = 0, holes = 0, binned = 0;
    uint32_t previous = STRATA_NO_NODE;
    const char *fault = NULL;
    for (uint32_t index = offsets->first; index != STRATA_NO_NODE && !fault;
         previous = index, index = strata_node_at(offsets, index)->next) {
        const struct strata_offsets_node *node = strata_node_at(offsets, index);
        uint64_t size = strata_node_size(offsets, node);
        if (node->offset != offset || node->previous != previous)
            fault = "ranges do not follow each other";
        else if (size == 0 || size > offsets->granules - offset)
            fault = "a range is empty, or leaves the memory";
        else if (!node->is_piece && previous != STRATA_NO_NODE && !strata_node_at(offsets, previous)->is_piece)
            fault = "two holes touch";
        else if (!node->is_piece)
            fault = check_bin(offsets, index);
        offset += size;
        live += node->is_piece ? size : 0;
        requested += node->is_piece ? node->as.requested : 0;
        pieces += node->is_piece;
        holes += !node->is_piece;
    }
    if (!fault && offset != offsets->granules)
        fault = "the ranges do not cover the memory";
    if (!fault && (live != offsets->live_granules || requested != offsets->requested_bytes ||
                   pieces != offsets->pieces || holes != offsets->holes))
        fault = "the counts do not agree with the ranges";
    if (!fault)
        fault = count_bins(offsets, &binned);
    if (!fault && binned != holes)
        fault = "the bins do not hold all holes";
    return fault;
}

enum strata_status strata_offsets_validate(const strata_offsets *offsets) {
    if (!offsets)
        return strata_fail(STRATA_INVALID_ARGUMENT, "The offset allocator is NULL.");
    const char *fault = find_fault(offsets);
    return fault ? strata_fail(STRATA_INTERNAL, "The offset allocator is damaged: %s.", fault) : STRATA_OK;
}

/* One range as a JSON object, with what comes before it. */
struct dump {
    strata_write_function write;
    void *user;
    bool first, stopped;
};

static bool dump_span(const struct strata_offsets_span *span, void *user) {
    struct dump *dump = user;
    char text[160];
    int length = snprintf(text, sizeof text, "%s\n    {\"offset\": %" PRIu64 ", \"bytes\": %" PRIu64,
                          dump->first ? "" : ",", span->offset, span->bytes);
    if (span->piece)
        length += snprintf(text + length, sizeof text - (size_t)length, ", \"requested\": %" PRIu64, span->requested);
    length += snprintf(text + length, sizeof text - (size_t)length, "}");
    dump->first = false;
    dump->stopped = !dump->write(text, (size_t)length, dump->user);
    return !dump->stopped;
}

enum strata_status strata_offsets_dump(const strata_offsets *offsets, strata_write_function write, void *user) {
    if (!offsets || !write)
        return strata_fail(STRATA_INVALID_ARGUMENT, "strata_offsets_dump needs an allocator and a function to write.");
    struct dump dump = {write, user, true, false};
    char text[200];
    int length =
        snprintf(text, sizeof text, "{\n  \"bytes\": %" PRIu64 ",\n  \"granularity\": %" PRIu64 ",\n  \"ranges\": [",
                 (offsets->granules << offsets->shift) + offsets->tail_bytes, offsets->granularity);
    dump.stopped = !write(text, (size_t)length, user);
    if (!dump.stopped)
        strata_offsets_walk(offsets, dump_span, &dump);
    static const char end[] = "\n  ]\n}\n";
    if (!dump.stopped)
        dump.stopped = !write(end, sizeof end - 1, user);
    return dump.stopped ? strata_fail(STRATA_IO, "The dump was not written to its end.") : STRATA_OK;
}
