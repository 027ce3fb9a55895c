/* Fuzzes the options of a command: the input is its arguments with a NUL between them; each is tried as a value too. */
#include "fuzz/fuzz.h"

#include "cli/options.h"

#define ARGUMENTS 16

enum { SHAPE_NONE, SHAPE_CIRCLE, SHAPE_SQUARE };

static const struct strata_choice shapes[] = {{"circle", SHAPE_CIRCLE}, {"square", SHAPE_SQUARE}, {NULL, 0}};

struct given {
    bool quick, json, help;
    const char *device, *file, *second;
    uint64_t count, size;
    int shape;
    enum strata_status status;
};

static struct given parse(int argc, char **argv) {
    struct given given = {.count = 7, .size = 8};
    const struct strata_option rows[] = {
        {.name = "quick", .letter = 'q', .kind = STRATA_OPTION_FLAG, .target = &given.quick},
        {.name = "json", .letter = 'j', .kind = STRATA_OPTION_FLAG, .target = &given.json},
        {.name = "device", .letter = 'd', .kind = STRATA_OPTION_TEXT, .target = &given.device, .value = "SEL"},
        {.name = "count", .letter = 'c', .kind = STRATA_OPTION_NUMBER, .target = &given.count, .value = "N"},
        {.name = "size", .letter = 's', .kind = STRATA_OPTION_SIZE, .target = &given.size, .value = "BYTES"},
        {.name = "shape", .kind = STRATA_OPTION_CHOICE, .target = &given.shape, .choices = shapes, .value = "SHAPE"},
    };
    const struct strata_operand operands[] = {
        {.name = "FILE", .target = &given.file}, {.name = "SECOND", .target = &given.second}, {0}};
    const struct strata_usage usage = {"strata fuzz", "", NULL, rows, sizeof rows / sizeof rows[0], operands};
    given.status = strata_usage_parse(&usage, argc, argv, &given.help);
    if (given.status != STRATA_OK)
        fuzz_check_failure(given.status, STRATA_INVALID_ARGUMENT);
    return given;
}

/* What a size means, by arithmetic without the parser's: digits, and perhaps a prefix and the word for bytes. */
static bool size_of(const char *text, bool is_size, uint64_t *value) {
    static const char prefixes[] = "KMGT";
    const uint64_t limit = UINT64_MAX;
    uint64_t factor = 1, number = 0;
    size_t digits = strspn(text, "0123456789");
    const char *unit = text + digits;
    if (digits == 0 || (!is_size && *unit != '\0'))
        return false;
    if (*unit != '\0' && strcmp(unit, "B") != 0) {
        const char *prefix = *unit == 'k' && unit[1] == 'B' ? prefixes : strchr(prefixes, *unit);
        bool binary = strcmp(unit + 1, "iB") == 0 || unit[1] == '\0';
        if (prefix == NULL || (!binary && strcmp(unit + 1, "B") != 0))
            return false;
        for (const char *at = prefixes; at <= prefix; at++)
            factor *= binary ? 1024 : 1000;
    }
    for (size_t i = 0; i < digits; i++) {
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (number > (limit - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    *value = number * factor;
    return number <= limit / factor;
}

/* The one value by each of the ways in which it can be written. */
static void check_value(const char *option, const char *letter, char *text, bool is_size) {
    uint64_t expected = 0;
    bool good = size_of(text, is_size, &expected);
    struct strata_text joined[2] = {{0}, {0}};
    strata_text_printf(&joined[0], "--%s=%s", option, text);
    strata_text_printf(&joined[1], "%s%s", letter, text);
    FUZZ_CHECK(!joined[0].failed && !joined[1].failed);
    char *spaced = fuzz_string(letter, strlen(letter)), *command = fuzz_string("fuzz", 4);
    struct given ways[] = {
        parse(2, (char *[]){command, joined[0].data, NULL}),
        parse(3, (char *[]){command, spaced, text, NULL}),
        /* Nothing behind the letter is an option without its value. */
        parse(2, (char *[]){command, joined[1].data, NULL}),
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        uint64_t other = is_size ? ways[i].count : ways[i].size, value = is_size ? ways[i].size : ways[i].count;
        FUZZ_CHECK((ways[i].status == STRATA_OK) == good);
        FUZZ_CHECK(value == (good ? expected : is_size ? 8 : 7));
        FUZZ_CHECK(other == (is_size ? 7 : 8));
    }
    strata_text_release(&joined[0]);
    strata_text_release(&joined[1]);
    free(spaced);
    free(command);
}

/* Text that is kept points into what was given. */
static bool is_within(const char *text, int argc, char **argv) {
    bool found = text == NULL;
    for (int i = 1; i < argc && !found; i++)
        found = text >= argv[i] && text <= argv[i] + strlen(argv[i]);
    return found;
}

static void check_arguments(int argc, char **argv) {
    struct given given = parse(argc, argv);
    FUZZ_CHECK(is_within(given.device, argc, argv) && is_within(given.file, argc, argv) &&
               is_within(given.second, argc, argv));
    FUZZ_CHECK(given.second == NULL || given.file != NULL);
    FUZZ_CHECK(given.shape == SHAPE_NONE || given.shape == SHAPE_CIRCLE || given.shape == SHAPE_SQUARE);
    if (given.status != STRATA_OK || given.help)
        return;

    /* What was taken is taken again when it is written in one way, behind "--" where it is an operand. */
    struct strata_text words[5] = {{0}, {0}, {0}, {0}, {0}};
    char *again[10] = {argv[0]};
    int count = 1;
    strata_text_printf(&words[0], "--count=%llu", (unsigned long long)given.count);
    strata_text_printf(&words[1], "--size=%lluB", (unsigned long long)given.size);
    strata_text_printf(&words[2], "--device=%s", given.device != NULL ? given.device : "");
    strata_text_printf(&words[3], "-%s%s", given.quick ? "q" : "", given.json ? "j" : "");
    strata_text_add(&words[4], "--");
    for (size_t i = 0; i < 5; i++)
        FUZZ_CHECK(!words[i].failed);
    again[count++] = words[0].data;
    again[count++] = words[1].data;
    if (given.device != NULL)
        again[count++] = words[2].data;
    if (given.quick || given.json)
        again[count++] = words[3].data;
    again[count++] = words[4].data;
    if (given.file != NULL)
        again[count++] = (char *)(uintptr_t)given.file;
    if (given.second != NULL)
        again[count++] = (char *)(uintptr_t)given.second;
    struct given second = parse(count, again);
    FUZZ_CHECK(second.status == STRATA_OK && !second.help);
    FUZZ_CHECK(second.count == given.count && second.size == given.size);
    FUZZ_CHECK(second.quick == given.quick && second.json == given.json);
    FUZZ_CHECK(second.file == given.file && second.second == given.second);
    FUZZ_CHECK((second.device == NULL) == (given.device == NULL));
    FUZZ_CHECK(given.device == NULL || strcmp(second.device, given.device) == 0);
    for (size_t i = 0; i < 5; i++)
        strata_text_release(&words[i]);
}

/* Behind "--" all is an operand. */
static void check_operand(char *text) {
    char *command = fuzz_string("fuzz", 4), *end = fuzz_string("--", 2);
    struct given given = parse(4, (char *[]){command, end, text, text, NULL});
    FUZZ_CHECK(given.status == STRATA_OK && !given.help && given.file == text && given.second == text);
    free(command);
    free(end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"quick", "json", "device", "count", "size", "shape"};
    const uint8_t *at = data != NULL ? data : (const uint8_t *)"", *piece;
    char *argv[ARGUMENTS + 1] = {fuzz_string("fuzz", 4)};
    size_t left = size, length;
    int argc = 1;
    while (argc < ARGUMENTS && fuzz_next_piece(&at, &left, &piece, &length))
        argv[argc++] = fuzz_string(piece, length);
    check_arguments(argc, argv);
    for (int i = 1; i < argc; i++) {
        const char *nearest = strata_usage_nearest(argv[i], names, sizeof names / sizeof *names);
        for (size_t n = 0; n < sizeof names / sizeof *names; n++)
            FUZZ_CHECK(strcmp(names[n], argv[i]) != 0 || nearest == names[n]);
        check_value("size", "-s", argv[i], true);
        check_value("count", "-c", argv[i], false);
        check_operand(argv[i]);
    }
    for (int i = 0; i < argc; i++)
        free(argv[i]);
    return 0;
}
