/* The bench without a device: figures from rounds, the data that results are checked with, and the table. */
#include "core/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cli/bench.h"
#include "cli/output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CORES 2.0

static void assert_near(double found, double expected) {
    if (!(fabs(found - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.17g, expected %.17g", found, expected);
}

static struct strata_bench_figure figure_of(struct strata_bench_round *rounds, size_t count) {
    struct strata_bench_figure figure = {0};
    assert_int_equal(strata_bench_summarise(rounds, count, 5, CORES, &figure), STRATA_OK);
    assert_true(figure.measured);
    return figure;
}

static void few_rounds_have_a_range(void **state) {
    (void)state;
    struct strata_bench_round rounds[] = {{5, 0, -1}, {1, 0, -1}, {4, 0, -1}, {2, 0, -1}};
    struct strata_bench_figure figure = figure_of(rounds, 4);
    assert_int_equal(figure.count, 4);
    assert_true(figure.is_range);
    assert_false(figure.is_judged);
    assert_true(figure.is_quiet);
    assert_near(figure.median, 3);
    assert_near(figure.low, 1);
    assert_near(figure.high, 5);
}

static void many_rounds_have_percentiles(void **state) {
    (void)state;
    struct strata_bench_round rounds[41];
    for (int i = 0; i < 41; i++)
        rounds[i] = (struct strata_bench_round){(i * 17) % 41 + 1, 0, 0};
    struct strata_bench_figure figure = figure_of(rounds, 41);
    assert_int_equal(figure.count, 41);
    assert_false(figure.is_range);
    assert_true(figure.is_judged);
    assert_near(figure.median, 21);
    assert_near(figure.low, 3);
    assert_near(figure.high, 39);
}

static void only_quiet_rounds_count(void **state) {
    (void)state;
    struct strata_bench_round rounds[] = {{10, 0, 1.5},  {50, 0, 0.02}, {11, 0, 1.5},
                                          {52, 0, 0.02}, {51, 0, 0.1},  {12, 0, 0.11}};
    struct strata_bench_figure figure = figure_of(rounds, 6);
    assert_int_equal(figure.count, 3);
    assert_true(figure.is_judged);
    assert_true(figure.is_quiet);
    assert_near(figure.median, 51);
    assert_near(figure.other_cores, 0.1);
}

static void without_quiet_rounds_the_least_disturbed_count(void **state) {
    (void)state;
    struct strata_bench_round rounds[] = {{1, 0, 1.9},  {2, 0, 1.9},  {30, 0, 0.5}, {31, 0, 0.5},
                                          {32, 0, 0.5}, {40, 0, 0.3}, {41, 0, 0.3}, {33, 0, 0.5}};
    struct strata_bench_figure figure = figure_of(rounds, 8);
    assert_int_equal(figure.count, 6); /* five are asked for, and the last one's block has one more */
    assert_true(figure.is_judged);
    assert_false(figure.is_quiet);
    assert_near(figure.low, 30);
    assert_near(figure.high, 41);
    assert_near(figure.other_cores, 0.5);
}

static void the_clocks_are_compared(void **state) {
    (void)state;
    struct strata_bench_round near[] = {{100, 104, 0}, {100, 106, 0}, {100, 108, 0}};
    struct strata_bench_figure figure = figure_of(near, 3);
    assert_near(figure.event_median, 106);
    assert_true(figure.events_agree);
    struct strata_bench_round far[] = {{100, 120, 0}, {100, 112, 0}, {100, 130, 0}};
    figure = figure_of(far, 3);
    assert_near(figure.event_median, 120);
    assert_false(figure.events_agree);
    struct strata_bench_round missing[] = {{100, 120, 0}, {100, 0, 0}, {100, 130, 0}};
    assert_near(figure_of(missing, 3).event_median, 0);
}

static void a_rate_that_cannot_be_is_no_figure(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        const double rates[] = {(double)INFINITY, (double)NAN, 0, 2e6};
        struct strata_bench_round rounds[] = {{rates[i], 0, 0}, {rates[i], 0, 0}, {rates[i], 0, 0}};
        struct strata_bench_figure figure = {0};
        assert_int_equal(strata_bench_summarise(rounds, 3, 3, CORES, &figure), STRATA_UNSUPPORTED);
        assert_false(figure.measured);
        assert_non_null(strstr(strata_last_error()->message, "not credible"));
    }
}

/* The words were computed from the definition by other means. */
static void data_is_what_the_kernels_make(void **state) {
    (void)state;
    static const uint32_t expected[] = {0x687c5338, 0xd85bac97, 0x29cbb28d, 0xea7c7066};
    uint32_t words[1000];
    strata_bench_fill(words, 1000, STRATA_BENCH_WORDS(1));
    assert_memory_equal(words, expected, sizeof expected);
    assert_int_equal(strata_bench_sum(STRATA_BENCH_WORDS(1), 0, 1000, 1), 45653952);
    assert_int_equal(strata_bench_sum(STRATA_BENCH_WORDS(1), 5, 100, 3), 315894890);
    strata_bench_fill(words, 2, STRATA_BENCH_FLOATS(8));
    assert_int_equal(words[0], 0x3f911982);
    assert_int_equal(words[1], 0x3fcd364a);
}

static void a_wrong_word_is_found(void **state) {
    (void)state;
    struct strata_bench_figure figure = {0};
    uint32_t words[64];
    strata_bench_fill(words, 64, STRATA_BENCH_WORDS(2));
    assert_int_equal(strata_bench_differs(words, 0, 64, STRATA_BENCH_WORDS(2)), 64);
    assert_int_equal(strata_bench_differs(words + 16, 16, 48, STRATA_BENCH_WORDS(2)), 48);
    assert_int_equal(strata_bench_check_host(&figure, words, sizeof words, STRATA_BENCH_WORDS(2)), STRATA_OK);
    assert_false(figure.wrong);
    words[63] ^= 0x10000;
    assert_int_equal(strata_bench_differs(words, 0, 64, STRATA_BENCH_WORDS(2)), 63);
    assert_int_equal(strata_bench_check_host(&figure, words, sizeof words, STRATA_BENCH_WORDS(2)), STRATA_INTERNAL);
    assert_true(figure.wrong);
    assert_non_null(strstr(strata_last_error()->message, "the word at byte 252"));
}

/* A bench that measured 10 GB/s everywhere. */
struct dummy {
    struct strata_bench bench;
    struct strata_device_info info;
    struct strata_bench_figure figures[256];
    size_t count;
};

static struct strata_bench_figure *dummy_figure(struct dummy *dummy, const char *id) {
    struct strata_bench_figure *figure = dummy->figures;
    for (size_t topic = 0; strata_bench_topics[topic] != NULL; topic++)
        for (size_t i = 0; i < strata_bench_topics[topic]->count; i++, figure++)
            if (strcmp(strata_bench_topics[topic]->cases[i].id, id) == 0)
                return figure;
    fail_msg("there is no figure %s", id);
    return NULL;
}

static void dummy_begin(struct dummy *dummy) {
    memset(dummy, 0, sizeof *dummy);
    dummy->info = (struct strata_device_info){
        .name = "Paper", .platform = "Desk", .driver_version = "7", .type = STRATA_DEVICE_GPU};
    dummy->bench = (struct strata_bench){
        .info = &dummy->info, .bytes = 1 << 20, .exchange_bytes = 1 << 16, .figures = dummy->figures};
    for (size_t topic = 0; strata_bench_topics[topic] != NULL; topic++)
        for (size_t i = 0; i < strata_bench_topics[topic]->count; i++) {
            assert_in_range(dummy->count, 0, 255);
            dummy->figures[dummy->count++] =
                (struct strata_bench_figure){.selected = true,
                                             .unit = strata_bench_topics[topic]->cases[i].unit,
                                             .measured = true,
                                             .count = 21,
                                             .median = 10,
                                             .low = 9.5,
                                             .high = 10.25,
                                             .is_quiet = true};
        }
}

static char *table_of(const struct dummy *dummy) {
    struct strata_text text = {0};
    strata_bench_table_add(&dummy->bench, &text);
    assert_false(text.failed);
    char *copy = strdup(text.data);
    assert_non_null(copy);
    strata_text_release(&text);
    return copy;
}

static void assert_table_has(const struct dummy *dummy, const char *words) {
    char *table = table_of(dummy);
    if (strstr(table, words) == NULL)
        fail_msg("no \"%s\" in\n%s", words, table);
    free(table);
}

static void the_table_compares(void **state) {
    (void)state;
    struct dummy dummy;
    dummy_begin(&dummy);
    dummy_figure(&dummy, "global.write")->median = 5;
    dummy_figure(&dummy, "stride.16")->median = 0.5;
    dummy_figure(&dummy, "create.touched")->selected = false; /* it has a wide name */
    assert_table_has(&dummy, "\nglobal    read          10.0  9.50  10.2  21    1.00  ####################\n");
    assert_table_has(&dummy, "\nglobal    write         5.00  9.50  10.2  21    0.50  ##########\n");
    assert_table_has(&dummy, "\nkernel   launch and wait    10.0  us     9.50  10.2  21\n");
    assert_table_has(&dummy, "\nuseful GB/s        10.0  10.0  10.0  10.0   0.500  10.0  10.0\n");
    assert_table_has(&dummy, "\nx stride 1         1.00  1.00  1.00  1.00  0.0500  1.00  1.00\n");
}

static void the_table_fits_and_gives_reasons(void **state) {
    (void)state;
    struct dummy dummy;
    dummy_begin(&dummy);
    for (size_t i = 0; i < dummy.count; i++) {
        dummy.figures[i].median = i % 2 != 0 ? 98765.4321 : 0.00012345;
        dummy.figures[i].is_judged = true;
        dummy.figures[i].is_quiet = false;
    }
    struct strata_bench_figure *none = dummy_figure(&dummy, "pinned.to-device");
    none->measured = false;
    strcpy(none->reason, "this device has so little of everything that one can only wonder what it is there for, and "
                         "whether anybody ever measured it");
    assert_table_has(&dummy, "\npinned    to device         n/a\n");
    assert_table_has(&dummy, "n/a: pinned, to device: this device has so little");
    assert_table_has(&dummy, "*: other processes");
    char *table = table_of(&dummy);
    for (char *line = strtok(table, "\n"); line != NULL; line = strtok(NULL, "\n"))
        if (strata_text_columns(line) > 100)
            fail_msg("too long: %s", line);
    free(table);
}

static void the_advice_follows_the_figures(void **state) {
    (void)state;
    struct dummy dummy;
    dummy_begin(&dummy);
    assert_table_has(&dummy, "Use here: pageable memory for the host's data (no other kind gains); no local memory");
    dummy_figure(&dummy, "global.read")->median = 1000;
    dummy_figure(&dummy, "global.write")->median = 1000;
    dummy_figure(&dummy, "local.read-write")->median = 8000;
    dummy_figure(&dummy, "pinned.to-device")->median = 50;
    dummy_figure(&dummy, "pinned.from-device")->median = 50;
    dummy_figure(&dummy, "shared.to-device")->median = 51;
    dummy_figure(&dummy, "shared.from-device")->median = 51;
    dummy_figure(&dummy, "stride.16")->median = 2.5;
    assert_table_has(&dummy, "Use here: pinned memory for the host's data (4.8 x pageable);");
    assert_table_has(&dummy, "(8.0 x global)");
    assert_table_has(&dummy, "(4.0 x a stride of 16).");
    dummy_figure(&dummy, "wrapped.to-device")->median = 900;
    dummy_figure(&dummy, "wrapped.to-device")->in_place = true;
    dummy_figure(&dummy, "wrapped.from-device")->median = 900;
    dummy_figure(&dummy, "wrapped.from-device")->in_place = true;
    assert_table_has(&dummy, "Use here: wrapped memory for the host's data, in place (90.9 x pageable);");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_rounds_have_a_range),
        cmocka_unit_test(many_rounds_have_percentiles),
        cmocka_unit_test(only_quiet_rounds_count),
        cmocka_unit_test(without_quiet_rounds_the_least_disturbed_count),
        cmocka_unit_test(the_clocks_are_compared),
        cmocka_unit_test(a_rate_that_cannot_be_is_no_figure),
        cmocka_unit_test(data_is_what_the_kernels_make),
        cmocka_unit_test(a_wrong_word_is_found),
        cmocka_unit_test(the_table_compares),
        cmocka_unit_test(the_table_fits_and_gives_reasons),
        cmocka_unit_test(the_advice_follows_the_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
