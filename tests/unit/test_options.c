/* The table-driven options: every way to write one, every mistake with its sentence, and the help text. */
#include "cli/command.h"
#include "cli/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

enum shape { SHAPE_NONE, SHAPE_CIRCLE, SHAPE_SQUARE, SHAPE_LINE };

static const struct strata_choice shapes[] = {
    {"circle", SHAPE_CIRCLE}, {"square", SHAPE_SQUARE}, {"line", SHAPE_LINE}, {NULL, 0}};

/* What a command line gave. */
struct given {
    bool quick, json;
    const char *device, *file, *second;
    uint64_t count, size;
    int shape;
    bool help;
    enum strata_status status;
};

static struct given parse_as(bool shape_is_needed, int argc, const char *const *arguments) {
    struct given given = {0};
    const struct strata_option rows[] = {
        {.name = "quick", .letter = 'q', .kind = STRATA_OPTION_FLAG, .target = &given.quick, .help = "be quick"},
        {.name = "json", .letter = 'j', .kind = STRATA_OPTION_FLAG, .target = &given.json, .help = "write JSON"},
        {.name = "device",
         .letter = 'd',
         .kind = STRATA_OPTION_TEXT,
         .target = &given.device,
         .value = "SEL",
         .help = "the device"},
        {.name = "count", .kind = STRATA_OPTION_NUMBER, .target = &given.count, .value = "N", .help = "how many"},
        {.name = "size",
         .letter = 's',
         .kind = STRATA_OPTION_SIZE,
         .target = &given.size,
         .value = "BYTES",
         .help = "how large"},
        {.name = "shape",
         .kind = STRATA_OPTION_CHOICE,
         .target = &given.shape,
         .choices = shapes,
         .value = "SHAPE",
         .required = shape_is_needed,
         .help = "which shape"},
    };
    const struct strata_operand operands[] = {
        {.name = "FILE", .target = &given.file, .required = true, .help = "the file"},
        {.name = "SECOND", .target = &given.second, .help = "another file"},
        {0},
    };
    const struct strata_usage usage = {"strata test", "Test things.", NULL, rows, sizeof rows / sizeof rows[0],
                                       operands};
    given.status = strata_usage_parse(&usage, argc, (char **)(uintptr_t)arguments, &given.help);
    return given;
}

#define ARGUMENTS(...)                                                                                                 \
    (int)(sizeof((const char *[]){"test", __VA_ARGS__}) / sizeof(char *)), (const char *[]) {                          \
        "test", __VA_ARGS__, NULL                                                                                      \
    }
#define PARSE(...) parse_as(false, ARGUMENTS(__VA_ARGS__))

static void assert_refused(struct given given, const char *sentence) {
    assert_int_equal(given.status, STRATA_INVALID_ARGUMENT);
    assert_string_equal(strata_last_error()->message, sentence);
}

static void every_way_to_write_an_option(void **state) {
    (void)state;
    struct given g = PARSE("--quick", "--device", "gpu", "data.bin", "--count=12", "--size", "64MiB", "--shape=line");
    assert_int_equal(g.status, STRATA_OK);
    assert_true(g.quick);
    assert_false(g.json);
    assert_string_equal(g.device, "gpu");
    assert_string_equal(g.file, "data.bin");
    assert_null(g.second);
    assert_int_equal(g.count, 12);
    assert_int_equal(g.size, 67108864);
    assert_int_equal(g.shape, SHAPE_LINE);

    g = PARSE("-qjdgpu", "a", "b");
    assert_int_equal(g.status, STRATA_OK);
    assert_true(g.quick && g.json);
    assert_string_equal(g.device, "gpu");
    assert_string_equal(g.second, "b");

    g = PARSE("-d", "cpu:1", "-s4K", "-");
    assert_int_equal(g.status, STRATA_OK);
    assert_string_equal(g.device, "cpu:1");
    assert_int_equal(g.size, 4096);
    assert_string_equal(g.file, "-");

    g = PARSE("--device=", "--", "--quick", "-j");
    assert_int_equal(g.status, STRATA_OK);
    assert_string_equal(g.device, "");
    assert_false(g.quick || g.json);
    assert_string_equal(g.file, "--quick");
    assert_string_equal(g.second, "-j");

    /* A value may begin with a dash. */
    g = PARSE("--device", "-1", "a");
    assert_int_equal(g.status, STRATA_OK);
    assert_string_equal(g.device, "-1");
}

static void defaults_stay(void **state) {
    (void)state;
    struct given g = PARSE("a");
    assert_int_equal(g.status, STRATA_OK);
    assert_int_equal(g.shape, SHAPE_NONE);
    assert_int_equal(g.size, 0);
    assert_null(g.device);
}

static void unknown_options_name_the_nearest(void **state) {
    (void)state;
    assert_refused(PARSE("a", "--quikc"), "there is no option --quikc; did you mean --quick?");
    assert_refused(PARSE("a", "--jsn"), "there is no option --jsn; did you mean --json?");
    assert_refused(PARSE("a", "--devices=gpu"), "there is no option --devices; did you mean --device?");
    assert_refused(PARSE("a", "--dev"), "there is no option --dev; did you mean --device?");
    assert_refused(PARSE("a", "--hlep"), "there is no option --hlep; did you mean --help?");
    assert_refused(PARSE("a", "--wonderful"), "there is no option --wonderful");
    assert_refused(PARSE("a", "--x"), "there is no option --x");
    assert_refused(PARSE("a", "--=3"), "there is no option --");
    assert_refused(PARSE("a", "-x"), "there is no option -x");
    assert_refused(PARSE("a", "-qx"), "there is no option -x (one dash is for single letters)");
}

static void mistakes_with_values(void **state) {
    (void)state;
    assert_refused(PARSE("a", "--device"), "--device needs a value: --device SEL");
    assert_refused(PARSE("a", "-d"), "--device needs a value: --device SEL");
    assert_refused(PARSE("a", "--quick=yes"), "--quick takes no value");
    assert_refused(PARSE("a", "--quick", "-q"), "--quick is given twice");
    assert_refused(PARSE("a", "--device=1", "-d2"), "--device is given twice");
    assert_refused(PARSE("a", "--count=-1"), "--count '-1' is not a number from 0 to 18446744073709551615");
    assert_refused(PARSE("a", "--count=1x"), "--count '1x' is not a number from 0 to 18446744073709551615");
    assert_refused(PARSE("a", "--count="), "--count '' is not a number from 0 to 18446744073709551615");
    assert_refused(PARSE("a", "--shape=sqare"),
                   "--shape 'sqare' is not known; it can be circle, square or line; did you mean square?");
    assert_refused(PARSE("a", "--shape=blob"), "--shape 'blob' is not known; it can be circle, square or line");
    assert_refused(parse_as(true, ARGUMENTS("a")), "--shape SHAPE is missing: which shape");
}

static void mistakes_with_operands(void **state) {
    (void)state;
    assert_refused(PARSE("--quick"), "FILE is missing: the file");
    assert_refused(PARSE("a", "b", "c"), "the argument 'c' is one too many");
    const char *none[] = {"test", NULL};
    assert_refused(parse_as(false, 1, none), "FILE is missing: the file");
}

static void sizes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"0", 0},
        {"4096", 4096},
        {"7B", 7},
        {"1K", 1024},
        {"1KiB", 1024},
        {"1kB", 1000},
        {"3M", 3145728},
        {"64MiB", 67108864},
        {"5MB", 5000000},
        {"2G", 2147483648u},
        {"2GiB", 2147483648u},
        {"2GB", 2000000000u},
        {"1TiB", 1099511627776u},
        {"18446744073709551615", UINT64_MAX},
        {"16777215TiB", 18446742974197923840u},
        {"000000000000000000000000000000000000064MiB", 67108864},
    };
    static const char *const bad[] = {"",     "MiB",   "1.5GiB", "-1",  "1 MiB",       "1mib",
                                      "0x10", "1MiBs", "+1",     "1e9", "16777216TiB", "18446744073709551616"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct given g = PARSE("a", "--size", good[i].text);
        assert_int_equal(g.status, STRATA_OK);
        assert_true(g.size == good[i].bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(PARSE("a", "--size", bad[i]).status, STRATA_INVALID_ARGUMENT);
}

static void help_ends_the_parsing(void **state) {
    (void)state;
    struct given g = PARSE("--help", "--nonsense");
    assert_int_equal(g.status, STRATA_OK);
    assert_true(g.help);
    g = PARSE("-qh");
    assert_true(g.help);
    /* What was wrong before it is still wrong. */
    g = PARSE("--nonsense", "--help");
    assert_int_equal(g.status, STRATA_INVALID_ARGUMENT);
    g = PARSE("--", "--help");
    assert_false(g.help);
    assert_string_equal(g.file, "--help");
}

static void help_text_comes_from_the_table(void **state) {
    (void)state;
    bool flag = false;
    const char *text_value = NULL;
    const struct strata_option rows[] = {
        {.name = "all", .letter = 'a', .kind = STRATA_OPTION_FLAG, .target = &flag, .help = "everything"},
        {.name = "device",
         .kind = STRATA_OPTION_TEXT,
         .target = &text_value,
         .value = "SEL",
         .required = true,
         .help = "the device to use, which this rather long explanation goes on about until it has to go on in the "
                 "next line"},
        {.name = "with-a-long-name",
         .kind = STRATA_OPTION_TEXT,
         .target = &text_value,
         .value = "VALUE",
         .help = "short"},
    };
    const struct strata_operand operands[] = {
        {.name = "FILE", .target = &text_value, .required = true, .help = "the file"}, {0}};
    const struct strata_usage usage = {"strata test", "Test things.", "A note.\n\nAnother.", rows, 3, operands};
    struct strata_text help = {0};
    strata_usage_help(&usage, &help);
    assert_string_equal(help.data, "Test things.\n"
                                   "\n"
                                   "Usage: strata test FILE [--all] --device=SEL [--with-a-long-name=VALUE]\n"
                                   "\n"
                                   "Arguments:\n"
                                   "  FILE                  the file\n"
                                   "\n"
                                   "Options:\n"
                                   "  -a, --all             everything\n"
                                   "      --device SEL      the device to use, which this rather long explanation\n"
                                   "                        goes on about until it has to go on in the next line\n"
                                   "      --with-a-long-name VALUE\n"
                                   "                        short\n"
                                   "  -h, --help            show this help\n"
                                   "\n"
                                   "A note.\n"
                                   "\n"
                                   "Another.\n");
    strata_text_release(&help);
}

static void nearest_names(void **state) {
    (void)state;
    static const char *const names[] = {"sum", "product", "min", "max", "arg-min", "arg-max"};
    assert_string_equal(strata_usage_nearest("summ", names, 6), "sum");
    assert_string_equal(strata_usage_nearest("prodcut", names, 6), "product");
    assert_string_equal(strata_usage_nearest("argmax", names, 6), "arg-max");
    assert_string_equal(strata_usage_nearest("prod", names, 6), "product");
    assert_null(strata_usage_nearest("median", names, 6));
    assert_null(strata_usage_nearest("", names, 6));
    assert_null(strata_usage_nearest("a name that is far longer than any option or command could be", names, 6));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_to_write_an_option),
        cmocka_unit_test(defaults_stay),
        cmocka_unit_test(unknown_options_name_the_nearest),
        cmocka_unit_test(mistakes_with_values),
        cmocka_unit_test(mistakes_with_operands),
        cmocka_unit_test(sizes),
        cmocka_unit_test(help_ends_the_parsing),
        cmocka_unit_test(help_text_comes_from_the_table),
        cmocka_unit_test(nearest_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
