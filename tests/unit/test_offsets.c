/* The offset allocator: where pieces go, what merges, alignments, sizes at the ends of 64 bits, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "memory/offsets.h"

#define MIB (UINT64_C(1) << 20)

static strata_offsets *make(uint64_t bytes, uint64_t granularity) {
    strata_offsets *offsets = NULL;
    assert_int_equal(strata_offsets_create(STRATA_OFFSETS(.bytes = bytes, .granularity = granularity), &offsets),
                     STRATA_OK);
    assert_non_null(offsets);
    return offsets;
}

static struct strata_range take_aligned(strata_offsets *offsets, uint64_t bytes, uint64_t alignment) {
    struct strata_range range;
    assert_int_equal(strata_offsets_allocate(offsets, bytes, alignment, &range), STRATA_OK);
    assert_true(range.piece != 0 && range.bytes >= bytes);
    assert_true(alignment == 0 || range.offset % alignment == 0);
    return range;
}

static struct strata_range take(strata_offsets *offsets, uint64_t bytes) {
    return take_aligned(offsets, bytes, 0);
}

static strata_piece take_at(strata_offsets *offsets, uint64_t bytes, uint64_t offset) {
    struct strata_range range = take(offsets, bytes);
    assert_true(range.offset == offset);
    return range.piece;
}

static void give(strata_offsets *offsets, strata_piece piece) {
    assert_int_equal(strata_offsets_free(offsets, piece), STRATA_OK);
    assert_int_equal(strata_offsets_validate(offsets), STRATA_OK);
}

static void assert_refused(strata_offsets *offsets, uint64_t bytes, uint64_t alignment) {
    struct strata_range range = {1, 2, 3};
    assert_int_equal(strata_offsets_allocate(offsets, bytes, alignment, &range), STRATA_OUT_OF_MEMORY);
    assert_true(range.piece == 0 && range.offset == UINT64_MAX && range.bytes == 0);
    assert_int_equal(strata_offsets_validate(offsets), STRATA_OK);
}

static struct strata_offsets_stats stats_of(const strata_offsets *offsets) {
    struct strata_offsets_stats stats = {.size = sizeof stats};
    assert_int_equal(strata_offsets_stats(offsets, &stats), STRATA_OK);
    return stats;
}

/* Nothing is lost: all of it can be had in one piece, at offset 0. */
static void finish(strata_offsets *offsets) {
    struct strata_offsets_stats stats = stats_of(offsets);
    assert_true(stats.live_pieces == 0 && stats.free_bytes == stats.bytes && stats.fragmentation <= 0);
    strata_piece whole = take_at(offsets, stats.bytes, 0);
    stats = stats_of(offsets);
    assert_true(stats.free_bytes == 0 && stats.largest_free == 0 && stats.holes == 0 && stats.fragmentation <= 0);
    assert_refused(offsets, 1, 0);
    give(offsets, whole);
    strata_offsets_destroy(&offsets);
    assert_null(offsets);
}

static void pieces_follow_each_other(void **state) {
    (void)state;
    strata_offsets *offsets = make(256 * MIB, 0);
    strata_piece basic = take_at(offsets, 1337, 0);
    give(offsets, basic);
    /* A piece of 0 bytes has a byte of its own, so that no two pieces share an offset. */
    strata_piece nothing = take_at(offsets, 0, 0), one = take_at(offsets, 1, 1);
    strata_piece more = take_at(offsets, 123, 2), most = take_at(offsets, 1234, 125);
    assert_true(stats_of(offsets).requested_bytes == 1358 && stats_of(offsets).live_bytes == 1359);
    give(offsets, nothing);
    give(offsets, one);
    give(offsets, more);
    give(offsets, most);
    finish(offsets);
}

static void the_same_size_comes_back_to_its_place(void **state) {
    (void)state;
    strata_offsets *offsets = make(256 * MIB, 0);
    give(offsets, take_at(offsets, 1337, 0));
    give(offsets, take_at(offsets, 1337, 0));
    strata_piece first = take_at(offsets, 1024, 0), second = take_at(offsets, 3456, 1024);
    give(offsets, first);
    first = take_at(offsets, 1024, 0);
    give(offsets, first);
    give(offsets, second);
    finish(offsets);
}

/* The hole given back last is the first to be used again, also where its bin holds larger and smaller ones. */
static void the_last_hole_is_the_first_to_be_used(void **state) {
    (void)state;
    strata_offsets *offsets = make(MIB, 0);
    struct strata_range holes[4], walls[4];
    for (size_t i = 0; i < 4; i++) {
        holes[i] = take(offsets, 1003 - i);
        walls[i] = take(offsets, 16);
    }
    for (size_t i = 0; i < 4; i++)
        give(offsets, holes[i].piece);
    for (size_t i = 4; i-- > 0;)
        holes[i].piece = take_at(offsets, 1003 - i, holes[i].offset);
    for (size_t i = 0; i < 4; i++) {
        give(offsets, holes[i].piece);
        give(offsets, walls[i].piece);
    }
    finish(offsets);
}

static void holes_are_split_and_used_again(void **state) {
    (void)state;
    strata_offsets *offsets = make(256 * MIB, 0);
    strata_piece a = take_at(offsets, 1024, 0), b = take_at(offsets, 3456, 1024);
    give(offsets, a);
    strata_piece c = take_at(offsets, 2345, 1024 + 3456), d = take_at(offsets, 456, 0), e = take_at(offsets, 512, 456);
    struct strata_offsets_stats stats = stats_of(offsets);
    assert_true(stats.free_bytes == 256 * MIB - 3456 - 2345 - 456 - 512);
    assert_true(stats.largest_free == 256 * MIB - 1024 - 3456 - 2345 && stats.largest_free != stats.free_bytes);
    assert_true(stats.holes == 2 && stats.fragmentation > 0);
    give(offsets, b);
    give(offsets, c);
    give(offsets, d);
    give(offsets, e);
    finish(offsets);
}

static void a_full_memory_is_filled_again(void **state) {
    (void)state;
    strata_offsets *offsets = make(256 * MIB, 0);
    strata_piece pieces[256];
    for (size_t i = 0; i < 256; i++)
        pieces[i] = take_at(offsets, MIB, i * MIB);
    assert_true(stats_of(offsets).free_bytes == 0 && stats_of(offsets).largest_free == 0);
    assert_refused(offsets, 1, 0);
    const size_t scattered[] = {243, 5, 123, 95};
    for (size_t i = 0; i < 4; i++)
        give(offsets, pieces[scattered[i]]);
    for (size_t i = 151; i < 155; i++)
        give(offsets, pieces[i]);
    assert_true(stats_of(offsets).holes == 5 && stats_of(offsets).largest_free == 4 * MIB);
    for (size_t i = 0; i < 4; i++)
        pieces[scattered[i]] = take(offsets, MIB).piece;
    pieces[151] = take_at(offsets, 4 * MIB, 151 * MIB);
    for (size_t i = 0; i < 256; i++)
        if (i < 152 || i > 154)
            give(offsets, pieces[i]);
    finish(offsets);
}

/* Three neighbours in each order, with a piece behind them or not: none, the one before, the one behind, both. */
static void neighbours_merge(void **state) {
    (void)state;
    static const size_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (size_t order = 0; order < 6; order++) {
        strata_offsets *offsets = make(4096, 16);
        strata_piece pieces[3], wall = 0;
        for (size_t i = 0; i < 3; i++)
            pieces[i] = take_at(offsets, 512, 512 * i);
        if (order % 2 == 0)
            wall = take_at(offsets, 4096 - 1536, 1536);
        for (size_t i = 0; i < 3; i++)
            give(offsets, pieces[orders[order][i]]);
        assert_true(stats_of(offsets).holes == 1);
        assert_true(stats_of(offsets).largest_free == (wall ? 1536 : 4096));
        if (wall) {
            assert_refused(offsets, 1537, 0);
            strata_piece all = take_at(offsets, 1536, 0);
            give(offsets, all);
        }
        give(offsets, wall);
        finish(offsets);
    }
}

static void a_block_of_16_mib(void **state) {
    (void)state;
    strata_offsets *offsets = make(16 * MIB, 0);
    int mine = 0;
    strata_piece eight = take(offsets, 8 * MIB).piece, four = take(offsets, 4 * MIB).piece;
    assert_int_equal(strata_offsets_set_user(offsets, eight, &mine), STRATA_OK);
    assert_ptr_equal(strata_offsets_user(offsets, eight), &mine);
    assert_null(strata_offsets_user(offsets, four));
    assert_refused(offsets, 8 * MIB, 0);
    assert_non_null(strstr(strata_last_error()->message, "8388608 bytes"));
    assert_non_null(strstr(strata_last_error()->message, "4194304 of 16777216 bytes are free"));
    assert_non_null(strstr(strata_last_error()->message, "largest free range has 4194304"));
    give(offsets, four);
    strata_piece second = take(offsets, 8 * MIB).piece;
    struct strata_offsets_stats stats = stats_of(offsets);
    assert_true(stats.live_pieces == 2 && stats.live_bytes == 16 * MIB && stats.holes == 0 && stats.free_bytes == 0);
    assert_ptr_equal(strata_offsets_user(offsets, eight), &mine);
    give(offsets, 0);
    give(offsets, eight);
    give(offsets, second);
    for (uint64_t bytes = 15; bytes <= 42; bytes++)
        take_aligned(offsets, bytes, 8);
    assert_true(stats_of(offsets).live_pieces == 28);
    strata_offsets_reset(offsets);
    finish(offsets);
}

static int by_offset(const void *a, const void *b) {
    const struct strata_range *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static uint32_t draw(uint32_t *random) {
    *random = *random * 196314165 + 907633515;
    return *random;
}

/* Random pieces of which each knows its size; some go and others come; sorted by offset, none overlaps the next. */
static void pieces_do_not_overlap(void **state) {
    (void)state;
    enum { FIRST = 40, GONE = 20, LATER = 30, ALL = FIRST - GONE + LATER };
    for (uint64_t alignment = 1; alignment <= 4096; alignment *= 16) {
        strata_offsets *offsets = make(10 * MIB, 0);
        struct strata_range ranges[FIRST + LATER];
        size_t count = 0;
        uint32_t random = 3454335;
        assert_refused(offsets, 10 * MIB + 1, 0);
        for (; count < FIRST; count++)
            ranges[count] = take_aligned(offsets, draw(&random) % 200000 + 1, alignment);
        for (size_t i = 0; i < GONE; i++) {
            size_t place = draw(&random) % count;
            give(offsets, ranges[place].piece);
            ranges[place] = ranges[--count];
        }
        for (size_t i = 0; i < LATER; i++)
            ranges[count++] = take_aligned(offsets, draw(&random) % 200000 + 1, alignment);
        assert_int_equal(count, ALL);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(strata_offsets_set_user(offsets, ranges[i].piece, &ranges[i]), STRATA_OK);
        for (size_t i = 0; i < count; i++)
            assert_ptr_equal(strata_offsets_user(offsets, ranges[i].piece), &ranges[i]);
        qsort(ranges, count, sizeof *ranges, by_offset);
        uint64_t live = 0;
        for (size_t i = 0; i < count; i++) {
            uint64_t end = i + 1 < count ? ranges[i + 1].offset : 10 * MIB;
            assert_true(ranges[i].offset + ranges[i].bytes <= end);
            live += ranges[i].bytes;
        }
        assert_true(stats_of(offsets).live_bytes == live && stats_of(offsets).live_pieces == count);
        strata_offsets_reset(offsets);
        finish(offsets);
    }
}

/* Each alignment over sizes around it, behind a piece that puts the next hole out of line. */
static void every_alignment(void **state) {
    (void)state;
    for (unsigned bits = 0; bits < 64; bits++) {
        uint64_t alignment = UINT64_C(1) << bits;
        strata_offsets *offsets = make(UINT64_MAX, 0);
        strata_piece wall = take_at(offsets, 3, 0);
        if (bits == 63) {
            take_aligned(offsets, alignment - 1, alignment);
            assert_refused(offsets, 1, alignment);
        } else {
            const uint64_t sizes[] = {1, alignment - (bits > 0), alignment, alignment + 1};
            for (size_t i = 0; i < 4 && bits < 61; i++)
                take_aligned(offsets, sizes[i], alignment);
            take_aligned(offsets, alignment, alignment);
        }
        assert_int_equal(strata_offsets_validate(offsets), STRATA_OK);
        assert_true(wall != 0);
        strata_offsets_reset(offsets);
        finish(offsets);
    }
}

/* A piece that just fits where it must begin is found although the slack of its alignment is not there. */
static void alignment_without_room_for_its_slack(void **state) {
    (void)state;
    strata_offsets *offsets = make(64 * MIB, 256);
    strata_piece whole = take_aligned(offsets, 64 * MIB, UINT64_C(1) << 63).piece;
    give(offsets, whole);
    strata_piece front = take_at(offsets, 4096, 0);
    struct strata_range range = take_aligned(offsets, 32 * MIB, 32 * MIB);
    assert_true(range.offset == 32 * MIB);
    assert_true(stats_of(offsets).holes == 1 && stats_of(offsets).largest_free == 32 * MIB - 4096);
    assert_refused(offsets, 32 * MIB - 4096, 8192);
    strata_piece exact = take_aligned(offsets, 32 * MIB - 4096, 4096).piece;
    give(offsets, front);
    give(offsets, range.piece);
    give(offsets, exact);
    finish(offsets);
}

/* More holes that do not fit than the first look takes in, before the one that does. */
static void a_fitting_hole_behind_many_others(void **state) {
    (void)state;
    enum { HOLES = 30 };
    strata_offsets *offsets = make(HOLES * 1040 + 1023, 1);
    struct strata_range holes[HOLES];
    strata_piece walls[HOLES];
    for (size_t i = 0; i < HOLES; i++) {
        holes[i] = take(offsets, i == 0 ? 1023 : 1010);
        walls[i] = take(offsets, i == 0 ? 17 : 30).piece;
    }
    strata_piece rest = take(offsets, 1023).piece;
    for (size_t i = 0; i < HOLES; i++)
        give(offsets, holes[i].piece);
    strata_piece found = take_at(offsets, 1020, holes[0].offset);
    assert_refused(offsets, 1020, 0);
    give(offsets, found);
    for (size_t i = 0; i < HOLES; i++)
        give(offsets, walls[i]);
    give(offsets, rest);
    finish(offsets);
}

static void sizes_that_overflow(void **state) {
    (void)state;
    const uint64_t totals[] = {0, 1, 255, 256, 1000, MIB, UINT64_MAX - 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++) {
        for (unsigned shift = 0; shift < 64; shift += 9) {
            strata_offsets *offsets = make(totals[i], UINT64_C(1) << shift);
            uint64_t usable = totals[i] >> shift << shift;
            assert_true(stats_of(offsets).bytes == usable);
            if (usable != UINT64_MAX) {
                assert_refused(offsets, UINT64_MAX, 0);
                assert_refused(offsets, UINT64_MAX, UINT64_C(1) << 63);
                assert_refused(offsets, usable + 1, 0);
            }
            if (usable == 0)
                strata_offsets_destroy(&offsets);
            else
                finish(offsets);
        }
    }
}

/* What is left over below a granule is never handed out, and stands in nobody's way. */
static void offsets_and_lengths_are_granules(void **state) {
    (void)state;
    strata_offsets *offsets = make(1023, 256);
    assert_true(stats_of(offsets).bytes == 768);
    struct strata_range first = take(offsets, 0), second = take(offsets, 257);
    assert_true(first.offset == 0 && first.bytes == 256 && second.offset == 256 && second.bytes == 512);
    assert_true(stats_of(offsets).live_bytes == 768 && stats_of(offsets).requested_bytes == 257);
    assert_refused(offsets, 1, 0);
    give(offsets, second.piece);
    give(offsets, first.piece);
    finish(offsets);
}

static void assert_round_trip(uint64_t size) {
    uint32_t above = strata_offsets_bin_above(size), bin = strata_offsets_bin(size);
    assert_true(bin < STRATA_OFFSETS_BINS && strata_offsets_bin_floor(bin) <= size);
    assert_true(size - strata_offsets_bin_floor(bin) <= size / 32);
    assert_true(strata_offsets_bin(strata_offsets_bin_floor(bin)) == bin);
    if (above < STRATA_OFFSETS_BINS) {
        assert_true(strata_offsets_bin_floor(above) >= size);
        assert_true(strata_offsets_bin_floor(above) - size <= size / 32);
        assert_true(strata_offsets_bin(strata_offsets_bin_floor(above)) == above);
    }
    assert_true(above == bin || above == bin + 1);
}

static void bins_hold_what_they_say(void **state) {
    (void)state;
    uint64_t random = 1;
    for (unsigned i = 0; i < 2000; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        assert_round_trip((random >> 33) % (UINT64_C(1) << 30) + 1);
        assert_round_trip(random >> i % 64 | 1);
    }
    for (unsigned bits = 0; bits < 64; bits++)
        for (uint64_t away = 0; away <= 5; away++) {
            assert_round_trip((UINT64_C(1) << bits) + away);
            if (UINT64_C(1) << bits > away)
                assert_round_trip((UINT64_C(1) << bits) - away);
        }
    assert_round_trip(UINT64_MAX);
    for (uint32_t bin = 1; bin + 1 < STRATA_OFFSETS_BINS; bin++) {
        uint64_t next = strata_offsets_bin_floor(bin + 1);
        assert_true(strata_offsets_bin(next - 1) == bin && strata_offsets_bin(next) == bin + 1);
    }
    assert_true(strata_offsets_bin(UINT64_MAX) == STRATA_OFFSETS_BINS - 1);
}

static void sizes_around_32_bits(void **state) {
    (void)state;
    for (unsigned bits = 30; bits <= 34; bits++)
        for (int away = -5; away <= 5; away++) {
            strata_offsets *offsets = make(UINT64_C(1) << 36, 0);
            uint64_t bytes = (UINT64_C(1) << bits) + (uint64_t)(int64_t)away;
            strata_piece first = take_at(offsets, bytes, 0), second = take_at(offsets, bytes, bytes);
            assert_true(stats_of(offsets).live_bytes == 2 * bytes);
            give(offsets, first);
            first = take_at(offsets, bytes, 0);
            give(offsets, second);
            give(offsets, first);
            finish(offsets);
        }
}

/* A region that is used up gives nothing until something comes back, and then just that. */
static void a_region_is_used_up(void **state) {
    (void)state;
    strata_offsets *offsets = make(64 * 4096, 4096);
    strata_piece pieces[64];
    for (size_t i = 0; i < 64; i++)
        pieces[i] = take_aligned(offsets, 4096, 4096).piece;
    assert_refused(offsets, 1, 0);
    give(offsets, pieces[17]);
    assert_refused(offsets, 4097, 0);
    pieces[17] = take_at(offsets, 4096, UINT64_C(17) * 4096);
    assert_refused(offsets, 1, 0);
    for (size_t i = 0; i < 64; i++)
        give(offsets, pieces[i]);
    finish(offsets);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_follow_each_other),
        cmocka_unit_test(the_same_size_comes_back_to_its_place),
        cmocka_unit_test(the_last_hole_is_the_first_to_be_used),
        cmocka_unit_test(holes_are_split_and_used_again),
        cmocka_unit_test(a_full_memory_is_filled_again),
        cmocka_unit_test(neighbours_merge),
        cmocka_unit_test(a_block_of_16_mib),
        cmocka_unit_test(pieces_do_not_overlap),
        cmocka_unit_test(every_alignment),
        cmocka_unit_test(alignment_without_room_for_its_slack),
        cmocka_unit_test(a_fitting_hole_behind_many_others),
        cmocka_unit_test(sizes_that_overflow),
        cmocka_unit_test(offsets_and_lengths_are_granules),
        cmocka_unit_test(bins_hold_what_they_say),
        cmocka_unit_test(sizes_around_32_bits),
        cmocka_unit_test(a_region_is_used_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
