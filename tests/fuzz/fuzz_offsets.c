/* Fuzzes the offset allocator: the first bytes make the memory, the others are operations on it; all is checked after
 * each. */
#include "fuzz/fuzz.h"

#include "memory/offsets.h"

#define MOST_LIVE 64

/* Enough for every state that matters, and the check after each takes its time. */
#define MOST_STEPS 2000

struct input {
    const uint8_t *data;
    size_t size;
};

static unsigned next(struct input *input) {
    if (input->size == 0)
        return 0;
    input->size--;
    return *input->data++;
}

/* Two bytes: a power of two, and a little more or less than it. */
static uint64_t next_size(struct input *input) {
    unsigned bits = next(input), away = next(input);
    uint64_t size = UINT64_C(1) << (bits & 63);
    size += (bits & 64) != 0 ? size >> (away & 7) : 0;
    return (bits & 128) != 0 ? size - (away >> 3) : size + (away >> 3);
}

struct state {
    strata_offsets *offsets;
    uint64_t granularity, bytes;
    struct strata_range live[MOST_LIVE];
    size_t count;
    strata_piece stale;
};

static void allocate(struct state *state, struct input *input) {
    struct strata_range range;
    uint64_t bytes = next_size(input), alignment = UINT64_C(1) << (next(input) & 63);
    struct strata_offsets_stats stats = {.size = sizeof stats};
    FUZZ_CHECK(strata_offsets_stats(state->offsets, &stats) == STRATA_OK);
    enum strata_status status = strata_offsets_allocate(state->offsets, bytes, alignment, &range);
    if (status != STRATA_OK) {
        fuzz_check_failure(status, STRATA_OUT_OF_MEMORY);
        FUZZ_CHECK(range.piece == 0 && range.offset == UINT64_MAX && range.bytes == 0);
        /* Where nothing is live, all fits that is not larger than the memory. */
        FUZZ_CHECK(state->count > 0 || bytes > state->bytes || state->bytes == 0);
        return;
    }
    FUZZ_CHECK(range.piece != 0 && range.piece != state->stale && range.bytes >= bytes);
    FUZZ_CHECK(range.bytes - bytes < state->granularity || (bytes == 0 && range.bytes == state->granularity));
    FUZZ_CHECK(range.bytes <= stats.largest_free);
    FUZZ_CHECK(range.offset % alignment == 0 && range.offset % state->granularity == 0);
    FUZZ_CHECK(range.offset < state->bytes && range.bytes <= state->bytes - range.offset);
    for (size_t i = 0; i < state->count; i++) {
        const struct strata_range *other = &state->live[i];
        FUZZ_CHECK(other->piece != range.piece);
        FUZZ_CHECK(range.offset < other->offset ? range.bytes <= other->offset - range.offset
                                                : other->bytes <= range.offset - other->offset);
    }
    FUZZ_CHECK(strata_offsets_set_user(state->offsets, range.piece, &state->live[state->count]) == STRATA_OK);
    state->live[state->count++] = range;
}

static void release(struct state *state, struct input *input) {
    size_t place = next(input) % state->count;
    state->stale = state->live[place].piece;
    FUZZ_CHECK(strata_offsets_free(state->offsets, state->stale) == STRATA_OK);
    fuzz_check_failure(strata_offsets_free(state->offsets, state->stale), STRATA_INVALID_ARGUMENT);
    state->live[place] = state->live[--state->count];
}

/* A number out of the input is live only if it is one of those. */
static void release_any(struct state *state, struct input *input) {
    strata_piece piece = (strata_piece)next(input) << 32 | next(input);
    for (size_t i = 0; i < state->count; i++)
        if (state->live[i].piece == piece)
            return;
    if (piece != 0)
        fuzz_check_failure(strata_offsets_free(state->offsets, piece), STRATA_INVALID_ARGUMENT);
    FUZZ_CHECK(strata_offsets_user(state->offsets, piece) == NULL);
}

static bool count_bytes(const char *text, size_t bytes, void *user) {
    *(size_t *)user += bytes;
    return text[0] != '\0';
}

static void check(const struct state *state) {
    struct strata_offsets_stats stats = {.size = sizeof stats};
    uint64_t live = 0;
    FUZZ_CHECK(strata_offsets_validate(state->offsets) == STRATA_OK);
    FUZZ_CHECK(strata_offsets_stats(state->offsets, &stats) == STRATA_OK);
    for (size_t i = 0; i < state->count; i++)
        live += state->live[i].bytes;
    FUZZ_CHECK(stats.live_pieces == state->count && stats.live_bytes == live && stats.bytes == state->bytes);
    FUZZ_CHECK(stats.free_bytes == stats.bytes - live && stats.largest_free <= stats.free_bytes);
    FUZZ_CHECK((stats.largest_free == 0) == (stats.free_bytes == 0));
}

static void step(struct state *state, struct input *input) {
    unsigned operation = next(input);
    size_t bytes = 0;
    if (operation == 255) {
        strata_offsets_reset(state->offsets);
        state->count = 0;
    } else if (operation == 254) {
        FUZZ_CHECK(strata_offsets_dump(state->offsets, count_bytes, &bytes) == STRATA_OK && bytes > 0);
    } else if (operation == 253) {
        release_any(state, input);
    } else if (operation % 2 == 0 && state->count < MOST_LIVE) {
        allocate(state, input);
    } else if (state->count > 0) {
        release(state, input);
    }
    check(state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input = {data, size};
    struct state state = {.granularity = UINT64_C(1) << (next(&input) & 63)};
    uint64_t bytes = next_size(&input);
    struct strata_offsets_desc desc;
    strata_offsets_desc_init(&desc);
    desc.bytes = bytes;
    desc.granularity = state.granularity;
    desc.pieces = next(&input);
    state.bytes = bytes / state.granularity * state.granularity;
    FUZZ_CHECK(strata_offsets_create(&desc, &state.offsets) == STRATA_OK);
    for (unsigned steps = 0; input.size > 0 && steps < MOST_STEPS; steps++)
        step(&state, &input);
    strata_offsets_destroy(&state.offsets);
    return 0;
}
