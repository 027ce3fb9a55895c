/* The offset allocator beside a model that keeps nothing but a sorted list of pieces: random work, all checks after
 * each step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "memory/offsets.h"

#define MOST_LIVE 400

struct model_piece {
    struct strata_range range;
    uint64_t requested;
};

/* Pieces by offset. */
struct model {
    strata_offsets *offsets;
    uint64_t total, granularity;
    struct model_piece pieces[MOST_LIVE];
    size_t count;
    uint64_t random;
    size_t failures;
};

static uint64_t draw(struct model *model) {
    model->random ^= model->random << 13;
    model->random ^= model->random >> 7;
    model->random ^= model->random << 17;
    return model->random;
}

/* The hole before piece `i`, or behind the last. */
static void hole_before(const struct model *model, size_t i, uint64_t *begin, uint64_t *end) {
    *begin = i == 0 ? 0 : model->pieces[i - 1].range.offset + model->pieces[i - 1].range.bytes;
    *end = i == model->count ? model->total : model->pieces[i].range.offset;
}

/* A request may fail only when no hole is larger than it, its alignment's slack, and a 32nd of both. */
static void assert_nothing_fits(const struct model *model, uint64_t bytes, uint64_t alignment) {
    uint64_t needed = bytes + (alignment > model->granularity ? alignment - model->granularity : 0);
    for (size_t i = 0; i <= model->count; i++) {
        uint64_t begin, end;
        hole_before(model, i, &begin, &end);
        assert_true(end - begin < needed + needed / 32 + model->granularity);
    }
}

static void assert_stats(const struct model *model) {
    uint64_t live = 0, requested = 0, holes = 0, largest = 0;
    struct strata_offsets_stats stats = {.size = sizeof stats};
    for (size_t i = 0; i <= model->count; i++) {
        uint64_t begin, end;
        hole_before(model, i, &begin, &end);
        holes += end > begin;
        largest = end - begin > largest ? end - begin : largest;
        if (i < model->count) {
            live += model->pieces[i].range.bytes;
            requested += model->pieces[i].requested;
        }
    }
    assert_int_equal(strata_offsets_stats(model->offsets, &stats), STRATA_OK);
    assert_true(stats.bytes == model->total);
    assert_true(stats.live_bytes == live && stats.free_bytes == model->total - live);
    assert_true(stats.requested_bytes == requested);
    assert_true(stats.live_pieces == model->count && stats.holes == holes);
    assert_true(stats.largest_free == largest);
    assert_true(stats.fragmentation >= 0 && stats.fragmentation <= 1);
    assert_int_equal(strata_offsets_is_empty(model->offsets), model->count == 0);
    assert_true(strata_offsets_free_bytes(model->offsets) == stats.free_bytes);
}

static void add(struct model *model, uint64_t bytes, uint64_t alignment) {
    struct strata_range range;
    uint64_t wanted = bytes ? bytes : 1;
    wanted = (wanted + model->granularity - 1) / model->granularity * model->granularity;
    enum strata_status status = strata_offsets_allocate(model->offsets, bytes, alignment, &range);
    if (status != STRATA_OK) {
        assert_int_equal(status, STRATA_OUT_OF_MEMORY);
        assert_true(range.piece == 0 && range.offset == UINT64_MAX && range.bytes == 0);
        assert_nothing_fits(model, wanted, alignment);
        model->failures++;
        return;
    }
    assert_true(range.piece != 0 && range.bytes == wanted);
    assert_true(range.offset % model->granularity == 0 && (alignment == 0 || range.offset % alignment == 0));
    size_t place = 0;
    while (place < model->count && model->pieces[place].range.offset < range.offset)
        place++;
    uint64_t begin, end;
    hole_before(model, place, &begin, &end);
    assert_true(range.offset >= begin && range.offset + range.bytes <= end);
    memmove(&model->pieces[place + 1], &model->pieces[place], (model->count - place) * sizeof model->pieces[0]);
    model->pieces[place] = (struct model_piece){range, bytes};
    model->count++;
}

static void take_away(struct model *model) {
    size_t place = draw(model) % model->count;
    strata_piece piece = model->pieces[place].range.piece;
    assert_int_equal(strata_offsets_free(model->offsets, piece), STRATA_OK);
    assert_int_equal(strata_offsets_free(model->offsets, piece), STRATA_INVALID_ARGUMENT);
    model->count--;
    memmove(&model->pieces[place], &model->pieces[place + 1], (model->count - place) * sizeof model->pieces[0]);
}

static void step(struct model *model, unsigned size_bits, unsigned alignment_bits) {
    bool room = model->count < MOST_LIVE;
    if (room && (model->count == 0 || draw(model) % 100 < 55)) {
        /* Every power of two is as likely as the others, so that all rows of bins take part. */
        uint64_t bytes = draw(model) >> (63 - draw(model) % size_bits);
        uint64_t alignment = alignment_bits && draw(model) % 2 ? UINT64_C(1) << draw(model) % alignment_bits : 0;
        add(model, bytes, alignment);
    } else {
        take_away(model);
    }
    if (draw(model) % 1000 == 0) {
        strata_offsets_reset(model->offsets);
        model->count = 0;
    }
    assert_int_equal(strata_offsets_validate(model->offsets), STRATA_OK);
    assert_stats(model);
}

static void work(uint64_t bytes, uint64_t granularity, unsigned size_bits, unsigned alignment_bits, unsigned steps) {
    struct model *model = calloc(1, sizeof *model);
    assert_non_null(model);
    model->granularity = granularity;
    model->total = bytes / granularity * granularity;
    model->random = bytes ^ granularity ^ 0x9E3779B97F4A7C15;
    assert_int_equal(strata_offsets_create(STRATA_OFFSETS(.bytes = bytes, .granularity = granularity), &model->offsets),
                     STRATA_OK);
    for (unsigned i = 0; i < steps; i++)
        step(model, size_bits, alignment_bits);
    assert_true(model->failures > 0);
    while (model->count > 0)
        take_away(model);
    assert_int_equal(strata_offsets_validate(model->offsets), STRATA_OK);
    assert_stats(model);
    add(model, model->total, 0);
    assert_int_equal(model->count, 1);
    strata_offsets_destroy(&model->offsets);
    free(model);
}

static void small_memory(void **state) {
    (void)state;
    work(1000, 1, 8, 0, 6000);
    work(63, 1, 5, 4, 3000);
}

static void a_block_of_a_pool(void **state) {
    (void)state;
    work(UINT64_C(16) << 20, 256, 23, 0, 6000);
    work((UINT64_C(16) << 20) + 255, 256, 22, 16, 6000);
}

static void more_memory_than_there_is(void **state) {
    (void)state;
    work(UINT64_MAX, 1, 62, 64, 6000);
    work(UINT64_MAX, 4096, 63, 64, 3000);
}

/* Pieces are so small that numbers of nodes matter: the pages of nodes grow and are used again. */
static void many_small_pieces(void **state) {
    (void)state;
    work(1000, 1, 4, 3, 6000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_memory),
        cmocka_unit_test(a_block_of_a_pool),
        cmocka_unit_test(more_memory_than_there_is),
        cmocka_unit_test(many_small_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
