/* An offset allocator: it hands out ranges of any memory that it never touches, and needs no device.
 *
 *     strata_offsets *offsets = NULL;
 *     strata_offsets_create(STRATA_OFFSETS(.bytes = heap_bytes, .granularity = 256), &offsets);
 *     struct strata_range range;
 *     if (strata_offsets_allocate(offsets, bytes, 0, &range) == STRATA_OK)   // range.offset .. range.offset +
 * range.bytes
 *         ...
 *     strata_offsets_free(offsets, range.piece);
 *     strata_offsets_destroy(&offsets);
 *
 * Free ranges lie in bins by size, 32 to each power of two, with a bitmap over them: allocating and freeing are O(1)
 * whatever is live, and a free range passes unseen only when a request is within 1/32 below its size, or within its
 * alignment and 1/32 where that is above the granularity. Neighbouring free ranges are always merged. What describes a
 * piece lies in the allocator's own host memory, 40 bytes for each piece and each hole, and never in the memory that is
 * handed out. An allocator may be used by one thread at a time. Source: Masmano et al., "TLSF: a new dynamic memory
 * allocator for real-time systems" (ECRTS 2004). */
#ifndef STRATA_OFFSETS_H
#define STRATA_OFFSETS_H

#include "strata/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct strata_offsets strata_offsets;

/* Names a piece. Never 0 for a live one; a number does not come back until 2^32 pieces later, so a second free is
 * noticed. */
typedef uint64_t strata_piece;

struct strata_offsets_desc {
    size_t size;
    uint64_t bytes;       /* of the memory; offsets go from 0 to it; what is left over below a granule stays unused */
    uint64_t granularity; /* a power of two: offsets and lengths of pieces are multiples of it; 0 means 1 */
    uint64_t pieces;      /* room for so many is made at once, so that allocating takes no host memory; may be 0 */
    const struct strata_allocator *allocator; /* host memory for what describes the pieces; copied; NULL: malloc */
};
#define STRATA_OFFSETS(...)                                                                                            \
    (&(const struct strata_offsets_desc){.size = sizeof(struct strata_offsets_desc), __VA_ARGS__})
STRATA_API void strata_offsets_desc_init(struct strata_offsets_desc *desc);

/* On success *offsets is the caller's. Errors: INVALID_ARGUMENT (granularity no power of two), OUT_OF_MEMORY (host). */
STRATA_API enum strata_status strata_offsets_create(const struct strata_offsets_desc *desc, strata_offsets **offsets);

/* Forgets all pieces. Takes NULL and a pointer to NULL; clears *offsets. */
STRATA_API void strata_offsets_destroy(strata_offsets **offsets);

struct strata_range {
    strata_piece piece;
    uint64_t offset, bytes; /* bytes: what was asked for, rounded up to the granularity */
};

/* Takes a range. `alignment` of the offset is a power of two, 0 for the granularity's own. 0 bytes take one granule.
 * Errors: OUT_OF_MEMORY when no free range is large enough; the sentence has what was asked, what is free and the
 * largest free range; then *range has piece 0 and offset UINT64_MAX, and nothing has changed. INVALID_ARGUMENT for an
 * alignment that is no power of two. O(1), but for the sentence, which takes a look through one bin. */
STRATA_API enum strata_status strata_offsets_allocate(strata_offsets *offsets, uint64_t bytes, uint64_t alignment,
                                                      struct strata_range *range);

/* Gives a piece back. 0 does nothing. Errors: INVALID_ARGUMENT when it is not live. O(1). */
STRATA_API enum strata_status strata_offsets_free(strata_offsets *offsets, strata_piece piece);

/* Gives all pieces back at once. Their numbers are not live any more. O(pieces). */
STRATA_API void strata_offsets_reset(strata_offsets *offsets);

/* A pointer of the caller's that is kept with a live piece. NULL for one that is not live. */
STRATA_API enum strata_status strata_offsets_set_user(strata_offsets *offsets, strata_piece piece, void *user);
STRATA_API void *strata_offsets_user(const strata_offsets *offsets, strata_piece piece);

/* One range in the order of offsets: a piece, or a hole with piece 0. */
struct strata_offsets_span {
    strata_piece piece;
    uint64_t offset, bytes;
    uint64_t requested; /* of a piece: what was asked for */
    void *user;
};

/* Calls `function` for each range, pieces and holes, from offset 0 on, until it answers false. `function` must not
 * change the allocator. */
typedef bool (*strata_offsets_visitor)(const struct strata_offsets_span *span, void *user);
STRATA_API void strata_offsets_walk(const strata_offsets *offsets, strata_offsets_visitor function, void *user);

struct strata_offsets_stats {
    size_t size;
    uint64_t bytes;           /* of the memory, rounded down to the granularity: live and free */
    uint64_t live_bytes;      /* of pieces, rounded */
    uint64_t requested_bytes; /* of pieces, as asked for */
    uint64_t free_bytes;
    uint64_t live_pieces, holes;
    uint64_t largest_free; /* no larger piece can be had; exact */
    uint64_t metadata_bytes;
    double fragmentation; /* 1 - largest_free / free_bytes; 0 when nothing is free */
};

/* The caller sets stats->size. Everything but `largest_free` and `fragmentation` is O(1); those look through one bin.
 */
STRATA_API enum strata_status strata_offsets_stats(const strata_offsets *offsets, struct strata_offsets_stats *stats);

/* Looks through everything: ranges cover the memory without gap or overlap, no two holes touch, bins and bitmaps agree
 * with the holes, counts with the pieces. INTERNAL with a sentence that names the first fault. O(pieces). */
STRATA_API enum strata_status strata_offsets_validate(const strata_offsets *offsets);

/* Writes the ranges as JSON (schemas/strata-offsets.schema.json of the installation): `write` gets pieces of text, one
 * after the other, and answers false to stop. Errors: IO when it did. Takes no host memory. */
typedef bool (*strata_write_function)(const char *text, size_t bytes, void *user);
STRATA_API enum strata_status strata_offsets_dump(const strata_offsets *offsets, strata_write_function write,
                                                  void *user);

#ifdef __cplusplus
}
#endif
#endif
