/* The plan of a reduction: levels, regions and launches, from one element to more than any machine holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "primitives/reduce_plan.h"

#define GROUPS_AT_256_ITEMS UINT64_C(8388607) /* (2^31 - 1) / 256 */

static void assert_levels(uint64_t count, size_t element_bytes, unsigned levels, const uint64_t *records) {
    struct strata_reduce_plan plan = strata_reduce_plan_make(count, element_bytes);
    assert_true(plan.count == count);
    assert_true(plan.elements_per_tile * element_bytes == 16384);
    assert_int_equal(plan.levels, levels);
    for (unsigned level = 0; level < levels; level++)
        assert_true(plan.records[level] == records[level]);
}

static void one_tile_is_one_level(void **state) {
    (void)state;
    assert_levels(1, 4, 1, (const uint64_t[]){1});
    assert_levels(4096, 4, 1, (const uint64_t[]){1});
    assert_levels(2048, 8, 1, (const uint64_t[]){1});
    assert_true(strata_reduce_plan_make(4096, 4).scratch_bytes == 0);
}

static void levels_follow_the_count(void **state) {
    (void)state;
    assert_levels(4097, 4, 2, (const uint64_t[]){2, 1});
    assert_levels(2049, 8, 2, (const uint64_t[]){2, 1});
    assert_levels(UINT64_C(1) << 24, 4, 2, (const uint64_t[]){4096, 1});
    assert_levels((UINT64_C(1) << 24) + 1, 4, 3, (const uint64_t[]){4097, 2, 1});
    assert_levels(UINT64_C(1) << 22, 8, 2, (const uint64_t[]){2048, 1});
    assert_levels((UINT64_C(1) << 22) + 1, 8, 3, (const uint64_t[]){2049, 2, 1});
}

static void counts_beyond_32_bits(void **state) {
    (void)state;
    assert_levels((UINT64_C(1) << 32) + 5, 4, 3, (const uint64_t[]){1048577, 257, 1});
    assert_levels(UINT64_C(1) << 36, 4, 3, (const uint64_t[]){16777216, 4096, 1});
    assert_levels((UINT64_C(1) << 36) + 1, 4, 4, (const uint64_t[]){16777217, 4097, 2, 1});
    assert_levels(UINT64_C(1) << 40, 8, 4, (const uint64_t[]){536870912, 262144, 128, 1});
    assert_levels(UINT64_MAX / 4, 4, 6,
                  (const uint64_t[]){UINT64_C(1) << 50, UINT64_C(1) << 38, 67108864, 16384, 4, 1});
    assert_levels(UINT64_MAX / 8, 8, 6,
                  (const uint64_t[]){UINT64_C(1) << 50, UINT64_C(1) << 39, UINT64_C(1) << 28, 131072, 64, 1});
}

/* Each region holds 16 bytes for each of its records, begins where 16-byte loads may, and ends before the next. */
static void regions_do_not_overlap(void **state) {
    (void)state;
    const uint64_t counts[] = {4097, 8193, 50000017, (UINT64_C(1) << 24) + 1, UINT64_C(1) << 33, UINT64_C(1) << 45};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (size_t bytes = 4; bytes <= 8; bytes += 4) {
            struct strata_reduce_plan plan = strata_reduce_plan_make(counts[i], bytes);
            uint64_t end = 0;
            for (unsigned level = 0; level + 1 < plan.levels; level++) {
                assert_true(plan.region[level] >= end);
                assert_true(plan.region[level] % 16 == 0);
                end = plan.region[level] + 16 * plan.records[level];
            }
            assert_true(plan.scratch_bytes >= end);
            assert_true(plan.scratch_bytes <= end + 256 * plan.levels);
        }
    }
}

/* Tiles of records have 1024 columns, or 512 with 8-byte elements. */
static void columns_cover_every_tile(void **state) {
    (void)state;
    static const struct {
        uint64_t count;
        size_t bytes;
        uint64_t columns, fused_bytes;
    } cases[] = {{4097, 4, 2, 2048 + 32 * 3},
                 {4096 * 5, 4, 5, 2048 + 32 * 6},
                 {4096 * 1023, 4, 1023, 2048 + 32 * 1024},
                 {4096 * 1500, 4, 1024, 2048 + 32 * 1025},
                 {4096 * 4096 + 1, 4, 1025, 2048 + 32 * 1027},
                 {UINT64_C(1) << 28, 4, 16384, 2048 + 32 * (16384 + 16)},
                 {UINT64_C(1) << 30, 4, 65536, 2048 + 32 * (65536 + 64)},
                 {2048 * 2048 * 5 + 1, 8, 5 * 512 + 1, 2048 + 32 * (5 * 512 + 7)}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strata_reduce_plan plan = strata_reduce_plan_make(cases[i].count, cases[i].bytes);
        assert_true(strata_reduce_columns(&plan) == cases[i].columns);
        assert_true(strata_reduce_columns(&plan) <= plan.records[0]);
        assert_true(strata_reduce_fused_bytes(&plan) == cases[i].fused_bytes);
    }
}

static void a_small_launch_takes_all(void **state) {
    (void)state;
    struct strata_reduce_launch launch = strata_reduce_launch_make(0, 5, 1, 256, INT32_MAX);
    assert_true(launch.first == 0 && launch.tiles == 5 && launch.groups == 5);
    launch = strata_reduce_launch_make(0, 33, 16, 1, INT32_MAX);
    assert_true(launch.first == 0 && launch.tiles == 33 && launch.groups == 3);
    launch = strata_reduce_launch_make(0, 32, 16, 1, INT32_MAX);
    assert_true(launch.tiles == 32 && launch.groups == 2);
}

/* 2^33 tiles are 128 TiB. */
static void launches_stay_below_31_bits_and_miss_no_tile(void **state) {
    (void)state;
    static const struct {
        uint64_t total, per_group, items;
    } cases[] = {{GROUPS_AT_256_ITEMS, 1, 256}, {GROUPS_AT_256_ITEMS + 1, 1, 256},
                 {UINT64_C(1) << 33, 1, 256},   {(UINT64_C(1) << 33) + 7, 16, 1},
                 {UINT64_C(1) << 36, 16, 1},    {(UINT64_C(1) << 26) + 1, 1, 100}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t next = 0;
        while (next < cases[i].total) {
            struct strata_reduce_launch launch =
                strata_reduce_launch_make(next, cases[i].total, cases[i].per_group, cases[i].items, INT32_MAX);
            assert_true(launch.first == next && launch.tiles > 0);
            assert_true(launch.groups * cases[i].items <= INT32_MAX);
            assert_true(launch.groups * cases[i].per_group >= launch.tiles);
            assert_true((launch.groups - 1) * cases[i].per_group < launch.tiles);
            next += launch.tiles;
        }
        assert_true(next == cases[i].total);
    }
}

static void full_launches_are_as_large_as_allowed(void **state) {
    (void)state;
    struct strata_reduce_launch launch = strata_reduce_launch_make(0, UINT64_C(1) << 33, 1, 256, INT32_MAX);
    assert_true(launch.groups == GROUPS_AT_256_ITEMS && launch.tiles == GROUPS_AT_256_ITEMS);
    launch = strata_reduce_launch_make(GROUPS_AT_256_ITEMS, GROUPS_AT_256_ITEMS + 3, 1, 256, INT32_MAX);
    assert_true(launch.first == GROUPS_AT_256_ITEMS && launch.groups == 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_tile_is_one_level),
        cmocka_unit_test(levels_follow_the_count),
        cmocka_unit_test(counts_beyond_32_bits),
        cmocka_unit_test(regions_do_not_overlap),
        cmocka_unit_test(columns_cover_every_tile),
        cmocka_unit_test(a_small_launch_takes_all),
        cmocka_unit_test(launches_stay_below_31_bits_and_miss_no_tile),
        cmocka_unit_test(full_launches_are_as_large_as_allowed),
    };
    return cmocka_run_group_tests_name("reduce_plan", tests, NULL, NULL);
}
