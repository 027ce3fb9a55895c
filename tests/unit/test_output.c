/* What the command line prints: numbers, columns, tables, JSON and the progress line. */
#define _XOPEN_SOURCE 700
#include "unit/scratch.h"

#include "cli/command.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/progress.h"

#include <float.h>
#include <locale.h>
#include <math.h>

static void assert_f32(float value, const char *expected) {
    char buffer[STRATA_NUMBER_TEXT];
    assert_string_equal(strata_format_f32(value, buffer), expected);
}

static void assert_f64(double value, const char *expected) {
    char buffer[STRATA_NUMBER_TEXT];
    assert_string_equal(strata_format_f64(value, buffer), expected);
}

static void numbers_have_just_the_digits_they_need(void **state) {
    (void)state;
    assert_f32(0.0f, "0.0");
    assert_f32(-0.0f, "-0.0");
    assert_f32(0.1f, "0.1");
    assert_f32(3.0f, "3.0");
    assert_f32(16777216.0f, "16777216.0");
    assert_f32(1.0f / 3.0f, "0.33333334");
    assert_f32(FLT_MAX, "3.4028235e+38");
    assert_f32(1e-45f, "1.4013e-45");
    assert_f32((float)NAN, "nan");
    assert_f32(-(float)NAN, "nan");
    assert_f32((float)INFINITY, "inf");
    assert_f32(-(float)INFINITY, "-inf");
    assert_f64(0.1, "0.1");
    assert_f64(0.1 + 0.2, "0.30000000000000004");
    assert_f64(123456789.0, "123456789.0");
    assert_f64(1e300, "1e+300");
    assert_f64(DBL_MAX, "1.7976931348623157e+308");
    assert_f64(5e-324, "4.94065645841247e-324");
    assert_f64(-INFINITY, "-inf");
}

static void every_f32_reads_back(void **state) {
    (void)state;
    char buffer[STRATA_NUMBER_TEXT];
    /* A stride that is prime visits all exponents and both signs. */
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 104729) {
        uint32_t pattern = (uint32_t)bits, back_pattern;
        float value, back;
        memcpy(&value, &pattern, 4);
        back = strtof(strata_format_f32(value, buffer), NULL);
        memcpy(&back_pattern, &back, 4);
        if (!isnan(value))
            assert_int_equal(back_pattern, pattern);
    }
}

static void fixed_decimals(void **state) {
    (void)state;
    char buffer[STRATA_NUMBER_TEXT];
    assert_string_equal(strata_format_fixed(1234.567, 1, buffer), "1234.6");
    assert_string_equal(strata_format_fixed(-0.125, 3, buffer), "-0.125");
    assert_string_equal(strata_format_fixed(2, 0, buffer), "2");
    assert_string_equal(strata_format_fixed(1e300, 2, buffer), "1.00e+300");
    assert_string_equal(strata_format_fixed(INFINITY, 2, buffer), "inf");
}

/* Any locale with a decimal comma will do; where the system has none, the test says that it did not run. */
static void a_decimal_comma_changes_nothing(void **state) {
    (void)state;
    static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8", "de_DE", "fr_FR"};
    const char *found = NULL;
    for (size_t i = 0; found == NULL && i < sizeof locales / sizeof locales[0]; i++)
        found = setlocale(LC_NUMERIC, locales[i]);
    if (found == NULL)
        skip();
    char buffer[STRATA_NUMBER_TEXT];
    struct strata_text text = {0};
    assert_string_equal(localeconv()->decimal_point, ",");
    assert_f32(0.1f, "0.1");
    assert_f64(0.1 + 0.2, "0.30000000000000004");
    assert_string_equal(strata_format_fixed(2.5, 1, buffer), "2.5");
    json_t *number = strata_json_f64(1.5);
    strata_json_add(&text, number);
    json_decref(number);
    assert_string_equal(text.data, "1.5\n");
    strata_text_release(&text);
    setlocale(LC_NUMERIC, "C");
}

static void columns_of_utf8(void **state) {
    (void)state;
    assert_int_equal(strata_text_columns(""), 0);
    assert_int_equal(strata_text_columns("GPU"), 3);
    if (setlocale(LC_CTYPE, "C.UTF-8") == NULL && setlocale(LC_CTYPE, "en_US.UTF-8") == NULL)
        skip();
    assert_true(strata_output_is_utf8());
    assert_int_equal(strata_text_columns("Gr\xc3\xb6\xc3\x9f"
                                         "e"),
                     5);
    assert_int_equal(strata_text_columns("\xe2\x94\x80\xe2\x94\x82"), 2); /* lines */
    assert_int_equal(strata_text_columns("e\xcc\x81"), 1);                /* a combining accent */
    assert_int_equal(strata_text_columns("\xe6\xbc\xa2\xe5\xad\x97"), 4); /* wide letters */
    assert_int_equal(strata_text_columns("a\xff\xfe"
                                         "b"),
                     4);                                      /* not UTF-8 */
    assert_int_equal(strata_text_columns("\xe2\x94"), 2);     /* cut */
    assert_int_equal(strata_text_columns("\xc0\xaf"), 2);     /* longer than it must be */
    assert_int_equal(strata_text_columns("\xed\xa0\x80"), 3); /* half of a surrogate pair */
    setlocale(LC_CTYPE, "C");
    assert_false(strata_output_is_utf8());
}

static void tables_line_up(void **state) {
    (void)state;
    struct strata_table table;
    struct strata_text text = {0};
    strata_table_begin(&table, "lrl");
    strata_table_cell(&table, "kind");
    strata_table_cell(&table, "GB/s");
    strata_table_cell(&table, "note");
    strata_table_cell(&table, "device");
    strata_table_cellf(&table, "%d", 1234);
    strata_table_cell(&table, "");
    strata_table_cell(&table, "gr\xc3\xbcn");
    strata_table_cell(&table, "5");
    strata_table_cell(&table, "ok");
    strata_table_cell(&table, "rest");
    strata_table_end(&table, &text);
    assert_string_equal(text.data, "kind    GB/s  note\n"
                                   "device  1234\n"
                                   "gr\xc3\xbcn       5  ok\n"
                                   "rest\n");
    strata_text_release(&text);
    strata_table_begin(&table, "ll");
    strata_table_end(&table, &text);
    assert_null(text.data);
    assert_false(text.failed);
}

static void assert_json(json_t *value, const char *expected) {
    struct strata_text text = {0};
    strata_json_add(&text, value);
    json_decref(value);
    assert_false(text.failed);
    assert_string_equal(text.data, expected);
    strata_text_release(&text);
}

static void json_numbers_are_exact(void **state) {
    (void)state;
    assert_json(strata_json_u64(0), "0\n");
    assert_json(strata_json_u64(9223372036854775807u), "9223372036854775807\n");
    assert_json(strata_json_u64(9223372036854775808u), "9223372036854775808\n");
    assert_json(strata_json_u64(UINT64_MAX), "18446744073709551615\n");
    assert_json(strata_json_known(STRATA_UNKNOWN), "null\n");
    assert_json(strata_json_known(4096), "4096\n");
    assert_json(strata_json_f32(0.1f), "0.1\n");
    assert_json(strata_json_f64(-0.0), "-0.0\n");
    assert_json(strata_json_f64(1e300), "1e+300\n");
    assert_json(strata_json_f32((float)NAN), "\"NaN\"\n");
    assert_json(strata_json_f64(INFINITY), "\"Infinity\"\n");
    assert_json(strata_json_f64(-INFINITY), "\"-Infinity\"\n");
}

static void json_strings_are_repaired(void **state) {
    (void)state;
    assert_json(strata_json_string("a \"b\" \\ \n"), "\"a \\\"b\\\" \\\\ \\n\"\n");
    assert_json(strata_json_string("na\xc3\xafve"), "\"na\xc3\xafve\"\n");
    assert_json(strata_json_string("Xeon\xae"), "\"Xeon\xef\xbf\xbd\"\n");
    /* Nothing from outside can pass for a number. */
    assert_json(strata_json_string("\xee\x80\x80"
                                   "17"),
                "\"\xef\xbf\xbd"
                "17\"\n");
    assert_json(strata_json_string(""), "\"\"\n");
}

static void json_objects(void **state) {
    (void)state;
    assert_json(json_pack("{s:o, s:[o, o], s:b}", "result", strata_json_u64(UINT64_MAX), "list", strata_json_f32(0.5f),
                          strata_json_string("x"), "ok", 1),
                "{\n"
                "  \"result\": 18446744073709551615,\n"
                "  \"list\": [\n"
                "    0.5,\n"
                "    \"x\"\n"
                "  ],\n"
                "  \"ok\": true\n"
                "}\n");
    struct strata_text text = {0};
    strata_json_add(&text, NULL);
    assert_true(text.failed);
    strata_text_release(&text);
}

static void json_files(void **state) {
    (void)state;
    struct scratch scratch = scratch_make();
    struct scratch_path path = scratch_path(&scratch, "a.json");
    char content[64] = "";
    assert_int_equal(strata_json_write(strata_json_f32(2.5f), path.text), STRATA_EXIT_DONE);
    FILE *file = fopen(path.text, "r");
    assert_non_null(file);
    assert_int_equal(fread(content, 1, sizeof content - 1, file), 4);
    assert_int_equal(fclose(file), 0);
    assert_string_equal(content, "2.5\n");
    assert_int_equal(strata_json_write(NULL, path.text), STRATA_EXIT_DEVICE);
    scratch_remove(&scratch);
    assert_int_equal(strata_json_write(strata_json_f32(2.5f), "/nowhere/at/all.json"), STRATA_EXIT_FILE);
    if (access("/dev/full", W_OK) == 0)
        assert_int_equal(strata_json_write(strata_json_f32(2.5f), "/dev/full"), STRATA_EXIT_FILE);
}

static void assert_line(uint64_t total, enum strata_progress_unit unit, uint64_t done, double seconds, size_t columns,
                        const char *expected) {
    const struct strata_progress progress = {.label = "reading", .total = total, .unit = unit};
    struct strata_text text = {0};
    strata_progress_line(&progress, done, seconds, columns, &text);
    assert_string_equal(text.data, expected);
    strata_text_release(&text);
}

static void progress_lines(void **state) {
    (void)state;
    assert_line(1000000000, STRATA_PROGRESS_BYTES, 250000000, 0.5, 80,
                "reading  [######                  ]  25 %  0.50 GB/s  2 s left");
    assert_line(100, STRATA_PROGRESS_STEPS, 50, 0.1, 80, "reading  [############            ]  50 %");
    assert_line(100, STRATA_PROGRESS_STEPS, 50, 300, 80, "reading  [############            ]  50 %  5 min left");
    assert_line(100, STRATA_PROGRESS_STEPS, 0, 9, 80, "reading  [                        ]   0 %");
    assert_line(100, STRATA_PROGRESS_STEPS, 100, 9, 80, "reading  [########################] 100 %");
    assert_line(100, STRATA_PROGRESS_STEPS, 120, 9, 80, "reading  [########################] 100 %");
    assert_line(STRATA_UNKNOWN, STRATA_PROGRESS_BYTES, 3u << 20, 2, 80, "reading  3 MiB  0.00 GB/s");
    assert_line(0, STRATA_PROGRESS_STEPS, 0, 0, 80, "reading  ");
    assert_line(100, STRATA_PROGRESS_STEPS, 50, 300, 12, "reading  [##");
}

static void exit_codes(void **state) {
    (void)state;
    assert_int_equal(strata_exit_code(STRATA_OK), 0);
    assert_int_equal(strata_exit_code(STRATA_INVALID_ARGUMENT), 2);
    assert_int_equal(strata_exit_code(STRATA_NO_DEVICE), 3);
    assert_int_equal(strata_exit_code(STRATA_BUILD_FAILED), 4);
    assert_int_equal(strata_exit_code(STRATA_OUT_OF_MEMORY), 4);
    assert_int_equal(strata_exit_code(STRATA_UNSUPPORTED), 4);
    assert_int_equal(strata_exit_code(STRATA_IO), 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_just_the_digits_they_need),
        cmocka_unit_test(every_f32_reads_back),
        cmocka_unit_test(fixed_decimals),
        cmocka_unit_test(a_decimal_comma_changes_nothing),
        cmocka_unit_test(columns_of_utf8),
        cmocka_unit_test(tables_line_up),
        cmocka_unit_test(json_numbers_are_exact),
        cmocka_unit_test(json_strings_are_repaired),
        cmocka_unit_test(json_objects),
        cmocka_unit_test(json_files),
        cmocka_unit_test(progress_lines),
        cmocka_unit_test(exit_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
