/* The types and operations of reductions: sizes, names, the table of result types, and results for no elements. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "primitives/reduce.h"

#include <math.h>
#include <string.h>

static void types_have_sizes_and_names(void **state) {
    (void)state;
    static const struct {
        enum strata_type type;
        size_t bytes;
        const char *name;
    } types[] = {{STRATA_I32, 4, "i32"}, {STRATA_U32, 4, "u32"}, {STRATA_I64, 8, "i64"},
                 {STRATA_U64, 8, "u64"}, {STRATA_F32, 4, "f32"}, {STRATA_F64, 8, "f64"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        assert_int_equal(strata_type_size(types[i].type), types[i].bytes);
        assert_string_equal(strata_type_name(types[i].type), types[i].name);
    }
    assert_int_equal(strata_type_size((enum strata_type)0), 0);
    assert_int_equal(strata_type_size((enum strata_type)7), 0);
    assert_int_equal(strata_type_size((enum strata_type)-1), 0);
    assert_string_equal(strata_type_name((enum strata_type)0), "");
}

static void results_have_types(void **state) {
    (void)state;
    static const enum strata_type expected[7][7] = {
        [STRATA_SUM] = {0, STRATA_I64, STRATA_U64, STRATA_I64, STRATA_U64, STRATA_F32, STRATA_F64},
        [STRATA_PRODUCT] = {0, STRATA_I64, STRATA_U64, STRATA_I64, STRATA_U64, STRATA_F32, STRATA_F64},
        [STRATA_MIN] = {0, STRATA_I32, STRATA_U32, STRATA_I64, STRATA_U64, STRATA_F32, STRATA_F64},
        [STRATA_MAX] = {0, STRATA_I32, STRATA_U32, STRATA_I64, STRATA_U64, STRATA_F32, STRATA_F64},
        [STRATA_ARG_MIN] = {0, STRATA_U64, STRATA_U64, STRATA_U64, STRATA_U64, STRATA_U64, STRATA_U64},
        [STRATA_ARG_MAX] = {0, STRATA_U64, STRATA_U64, STRATA_U64, STRATA_U64, STRATA_U64, STRATA_U64},
    };
    for (int op = STRATA_SUM; op <= STRATA_ARG_MAX; op++)
        for (int type = STRATA_I32; type <= STRATA_F64; type++)
            assert_int_equal(strata_reduce_result_type((enum strata_reduce_op)op, (enum strata_type)type),
                             expected[op][type]);
    assert_int_equal(strata_reduce_result_type((enum strata_reduce_op)0, STRATA_F32), 0);
    assert_int_equal(strata_reduce_result_type((enum strata_reduce_op)7, STRATA_F32), 0);
    assert_int_equal(strata_reduce_result_type(STRATA_SUM, (enum strata_type)0), 0);
    assert_int_equal(strata_reduce_result_type(STRATA_SUM, (enum strata_type)7), 0);
}

static void nothing_has_a_sum_and_a_product(void **state) {
    (void)state;
    int64_t integer = 99;
    float f32 = 99;
    double f64 = 99;
    assert_int_equal(strata_reduce_of_nothing(STRATA_SUM, STRATA_I32, &integer), STRATA_OK);
    assert_true(integer == 0);
    assert_int_equal(strata_reduce_of_nothing(STRATA_PRODUCT, STRATA_U32, &integer), STRATA_OK);
    assert_true(integer == 1);
    assert_int_equal(strata_reduce_of_nothing(STRATA_SUM, STRATA_F32, &f32), STRATA_OK);
    assert_true(f32 == 0 && !signbit(f32));
    assert_int_equal(strata_reduce_of_nothing(STRATA_PRODUCT, STRATA_F32, &f32), STRATA_OK);
    assert_true(f32 == 1);
    assert_int_equal(strata_reduce_of_nothing(STRATA_SUM, STRATA_F64, &f64), STRATA_OK);
    assert_true(f64 == 0 && !signbit(f64));
    assert_int_equal(strata_reduce_of_nothing(STRATA_PRODUCT, STRATA_F64, &f64), STRATA_OK);
    assert_true(f64 == 1);
}

static void nothing_has_no_smallest(void **state) {
    (void)state;
    uint64_t result = 99;
    for (int op = STRATA_MIN; op <= STRATA_ARG_MAX; op++)
        assert_int_equal(strata_reduce_of_nothing((enum strata_reduce_op)op, STRATA_I64, &result),
                         STRATA_INVALID_ARGUMENT);
    assert_true(result == 99);
}

/* The kernels' names of the numbers are those of cl/reduce_values.h, which has 1 to 6 in this order. */
static void numbers_are_those_of_the_kernels(void **state) {
    (void)state;
    assert_int_equal(STRATA_SUM, 1);
    assert_int_equal(STRATA_PRODUCT, 2);
    assert_int_equal(STRATA_MIN, 3);
    assert_int_equal(STRATA_MAX, 4);
    assert_int_equal(STRATA_ARG_MIN, 5);
    assert_int_equal(STRATA_ARG_MAX, 6);
    assert_int_equal(STRATA_I32, 1);
    assert_int_equal(STRATA_U32, 2);
    assert_int_equal(STRATA_I64, 3);
    assert_int_equal(STRATA_U64, 4);
    assert_int_equal(STRATA_F32, 5);
    assert_int_equal(STRATA_F64, 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_have_sizes_and_names),      cmocka_unit_test(results_have_types),
        cmocka_unit_test(nothing_has_a_sum_and_a_product), cmocka_unit_test(nothing_has_no_smallest),
        cmocka_unit_test(numbers_are_those_of_the_kernels),
    };
    return cmocka_run_group_tests_name("reduce_types", tests, NULL, NULL);
}
