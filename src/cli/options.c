/* The options of a command: parsing argv by a table, with sentences that say what would have been right. */
#include "cli/options.h"

#include "cli/command.h"
#include "cli/output.h"

#include <stdio.h>
#include <string.h>

/* Names longer than this are not compared; no option comes near. */
#define NAME_LIMIT 40

#define LINE_COLUMNS 80

/* Where the explanations of the help begin. */
#define HELP_COLUMN 24

struct parser {
    const struct strata_usage *usage;
    int argc;
    char **argv;
    int at;        /* the next argument */
    uint64_t seen; /* a bit for each row */
    size_t operands, repeated;
    bool help;
};

static size_t smallest(size_t a, size_t b, size_t c) {
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* How many letters must be put in, left out, replaced or swapped with their neighbour to turn one name into the other
 * (the restricted Damerau-Levenshtein distance). */
static size_t distance(const char *a, const char *b) {
    size_t rows[3][NAME_LIMIT + 1];
    size_t a_length = strlen(a), b_length = strlen(b);
    if (a_length > NAME_LIMIT || b_length > NAME_LIMIT)
        return SIZE_MAX;
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        const size_t *before = rows[(i - 1) % 3], *two_before = rows[(i + 1) % 3];
        size_t *row = rows[i % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            row[j] = smallest(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && two_before[j - 2] + 1 < row[j])
                row[j] = two_before[j - 2] + 1;
        }
    }
    return rows[a_length % 3][b_length];
}

const char *strata_usage_nearest(const char *word, const char *const *names, size_t count) {
    const char *nearest = NULL;
    size_t length = strlen(word);
    size_t least = (length + 2) / 3; /* as many letters as may be wrong */
    for (size_t i = 0; i < count; i++) {
        bool begins = length >= 2 && strncmp(names[i], word, length) == 0;
        size_t far = begins ? 0 : distance(word, names[i]);
        if (far < length && far <= least && (nearest == NULL || far < least)) {
            nearest = names[i];
            least = far;
        }
    }
    return nearest;
}

/* ", did you mean ...?" for a sentence, or nothing. */
static void suggest(struct strata_text *text, const char *word, const char *const *names, size_t count,
                    const char *dashes) {
    const char *nearest = strata_usage_nearest(word, names, count);
    if (nearest != NULL)
        strata_text_printf(text, "; did you mean %s%s?", dashes, nearest);
}

/* Fails with the sentence in `text`, which is released. */
static enum strata_status fail_with(struct strata_text *text) {
    enum strata_status status = text->data != NULL ? strata_fail(STRATA_INVALID_ARGUMENT, "%s", text->data)
                                                   : strata_fail_host_memory(text->length, "a message");
    strata_text_release(text);
    return status;
}

static enum strata_status fail_unknown(const struct parser *parser, const char *word, size_t length) {
    const char *names[STRATA_OPTIONS_MAX + 1];
    char name[NAME_LIMIT + 1];
    struct strata_text text = {0};
    size_t count = 0;
    for (; count < parser->usage->count; count++)
        names[count] = parser->usage->rows[count].name;
    names[count++] = "help";
    strata_text_printf(&text, "there is no option --%.*s", (int)(length < 200 ? length : 200), word);
    if (length <= NAME_LIMIT) {
        memcpy(name, word, length);
        name[length] = '\0';
        suggest(&text, name, names, count, "--");
    }
    return fail_with(&text);
}

static enum strata_status parse_choice(const struct strata_option *row, const char *value) {
    const char *names[STRATA_OPTIONS_MAX];
    struct strata_text text = {0};
    size_t count = 0;
    for (const struct strata_choice *choice = row->choices; choice->name != NULL; choice++) {
        if (strcmp(choice->name, value) == 0) {
            *(int *)row->target = choice->value;
            return STRATA_OK;
        }
        if (count < STRATA_OPTIONS_MAX)
            names[count++] = choice->name;
    }
    strata_text_printf(&text, "--%s '%.100s' is not known; it can be ", row->name, value);
    for (size_t i = 0; i < count; i++)
        strata_text_printf(&text, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " or ", names[i]);
    suggest(&text, value, names, count, "");
    return fail_with(&text);
}

static enum strata_status store(const struct strata_option *row, const char *value) {
    switch (row->kind) {
    case STRATA_OPTION_FLAG: *(bool *)row->target = true; return STRATA_OK;
    case STRATA_OPTION_TEXT: *(const char **)row->target = value; return STRATA_OK;
    case STRATA_OPTION_NUMBER:
        if (strata_parse_u64(value, row->target))
            return STRATA_OK;
        return strata_fail(STRATA_INVALID_ARGUMENT, "--%s '%.100s' is not a number from 0 to 18446744073709551615",
                           row->name, value);
    case STRATA_OPTION_SIZE:
        if (strata_parse_size(value, row->target))
            return STRATA_OK;
        return strata_fail(STRATA_INVALID_ARGUMENT, "--%s '%.100s' is not a size such as 4096, 64MiB or 2GB", row->name,
                           value);
    case STRATA_OPTION_CHOICE: return parse_choice(row, value);
    }
    return strata_fail(STRATA_INTERNAL, "option --%s has no kind", row->name);
}

/* `value` is what came with the option itself, or NULL: then the next argument is taken where one is needed. */
static enum strata_status apply(struct parser *parser, const struct strata_option *row, const char *value) {
    uint64_t bit = (uint64_t)1 << (row - parser->usage->rows);
    if ((parser->seen & bit) != 0)
        return strata_fail(STRATA_INVALID_ARGUMENT, "--%s is given twice", row->name);
    parser->seen |= bit;
    if (row->kind == STRATA_OPTION_FLAG && value != NULL)
        return strata_fail(STRATA_INVALID_ARGUMENT, "--%s takes no value", row->name);
    if (row->kind != STRATA_OPTION_FLAG && value == NULL) {
        if (parser->at == parser->argc)
            return strata_fail(STRATA_INVALID_ARGUMENT, "--%s needs a value: --%s %s", row->name, row->name,
                               row->value);
        value = parser->argv[parser->at++];
    }
    return store(row, value);
}

static enum strata_status parse_long(struct parser *parser, const char *word) {
    const char *equals = strchr(word, '=');
    size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
    if (length == 4 && memcmp(word, "help", 4) == 0) {
        parser->help = true;
        return STRATA_OK;
    }
    for (size_t i = 0; i < parser->usage->count; i++) {
        const struct strata_option *row = &parser->usage->rows[i];
        if (strlen(row->name) == length && memcmp(row->name, word, length) == 0)
            return apply(parser, row, equals != NULL ? equals + 1 : NULL);
    }
    return fail_unknown(parser, word, length);
}

static const struct strata_option *find_letter(const struct strata_usage *usage, char letter) {
    for (size_t i = 0; i < usage->count; i++)
        if (usage->rows[i].letter == letter)
            return &usage->rows[i];
    return NULL;
}

static enum strata_status parse_letters(struct parser *parser, const char *letters) {
    for (const char *at = letters; *at != '\0' && !parser->help; at++) {
        if (*at == 'h') {
            parser->help = true;
            return STRATA_OK;
        }
        const struct strata_option *row = find_letter(parser->usage, *at);
        if (row == NULL)
            return strata_fail(STRATA_INVALID_ARGUMENT, "there is no option -%.4s%s", at,
                               at == letters ? "" : " (one dash is for single letters)");
        bool flag = row->kind == STRATA_OPTION_FLAG;
        enum strata_status status = apply(parser, row, flag || at[1] == '\0' ? NULL : at + 1);
        if (status != STRATA_OK || !flag)
            return status;
    }
    return STRATA_OK;
}

static enum strata_status take_operand(struct parser *parser, const char *word) {
    const struct strata_operand *operand = parser->usage->operands;
    if (parser->repeated > 0 && parser->repeated < operand[parser->operands - 1].most) {
        operand[parser->operands - 1].target[parser->repeated++] = word;
        return STRATA_OK;
    }
    if (operand == NULL || operand[parser->operands].name == NULL)
        return strata_fail(STRATA_INVALID_ARGUMENT, "the argument '%.200s' is one too many", word);
    *operand[parser->operands++].target = word;
    parser->repeated = 1;
    return STRATA_OK;
}

static enum strata_status check_complete(const struct parser *parser) {
    const struct strata_operand *operand = parser->usage->operands;
    if (operand != NULL && operand[parser->operands].name != NULL && operand[parser->operands].required)
        return strata_fail(STRATA_INVALID_ARGUMENT, "%s is missing: %s", operand[parser->operands].name,
                           operand[parser->operands].help);
    for (size_t i = 0; i < parser->usage->count; i++) {
        const struct strata_option *row = &parser->usage->rows[i];
        if (row->required && (parser->seen >> i & 1) == 0)
            return strata_fail(STRATA_INVALID_ARGUMENT, "--%s %s is missing: %s", row->name, row->value, row->help);
    }
    return STRATA_OK;
}

enum strata_status strata_usage_parse(const struct strata_usage *usage, int argc, char **argv, bool *help) {
    struct parser parser = {.usage = usage, .argc = argc, .argv = argv, .at = 1};
    bool only_operands = false;
    enum strata_status status = STRATA_OK;
    while (status == STRATA_OK && !parser.help && parser.at < argc) {
        const char *word = argv[parser.at++];
        if (only_operands || word[0] != '-' || word[1] == '\0')
            status = take_operand(&parser, word);
        else if (strcmp(word, "--") == 0)
            only_operands = true;
        else if (word[1] == '-')
            status = parse_long(&parser, word + 2);
        else
            status = parse_letters(&parser, word + 1);
    }
    *help = parser.help;
    return status == STRATA_OK && !parser.help ? check_complete(&parser) : status;
}

static void add_spaces(struct strata_text *text, size_t count) {
    for (size_t i = 0; i < count; i++)
        strata_text_add(text, " ");
}

void strata_usage_wrap(struct strata_text *text, const char *words, size_t column, size_t indent) {
    const char *at = words;
    bool line_begins = true;
    while (*at != '\0') {
        size_t length = strcspn(at, " \n");
        if (!line_begins && column + 1 + length > LINE_COLUMNS) {
            strata_text_add(text, "\n");
            add_spaces(text, indent);
            column = indent;
        } else if (!line_begins) {
            strata_text_add(text, " ");
            column++;
        }
        strata_text_append(text, at, length);
        column += length;
        at += length;
        line_begins = *at == '\n';
        if (line_begins) {
            strata_text_add(text, "\n");
            add_spaces(text, at[1] == '\0' || at[1] == '\n' ? 0 : indent);
            column = indent;
        }
        at += *at != '\0';
    }
    strata_text_add(text, "\n");
}

/* One entry of the help: its left part, and the explanation in its column. */
static void add_entry(struct strata_text *text, const char *left, const char *help) {
    size_t length = strlen(left);
    strata_text_add(text, left);
    if (length + 2 > HELP_COLUMN) {
        strata_text_add(text, "\n");
        length = 0;
    }
    add_spaces(text, HELP_COLUMN - length);
    strata_usage_wrap(text, help, HELP_COLUMN, HELP_COLUMN);
}

static void add_row(struct strata_text *text, const struct strata_option *row) {
    char left[80];
    char letter[8] = "    ";
    if (row->letter != '\0')
        snprintf(letter, sizeof letter, "-%c, ", row->letter);
    snprintf(left, sizeof left, "  %s--%s%s%s", letter, row->name, row->value != NULL ? " " : "",
             row->value != NULL ? row->value : "");
    add_entry(text, left, row->help);
}

static void add_usage(struct strata_text *text, const struct strata_usage *usage) {
    struct strata_text words = {0};
    strata_text_printf(&words, "%s", usage->command);
    for (const struct strata_operand *operand = usage->operands; operand != NULL && operand->name != NULL; operand++)
        strata_text_printf(&words, operand->required ? " %s" : " [%s]", operand->name);
    for (size_t i = 0; i < usage->count; i++) {
        const struct strata_option *row = &usage->rows[i];
        /* Brackets stay on one line: the wrap breaks at spaces, so the space inside is written as "=". */
        strata_text_printf(&words, " %s--%s%s%s%s", row->required ? "" : "[", row->name, row->value != NULL ? "=" : "",
                           row->value != NULL ? row->value : "", row->required ? "" : "]");
    }
    strata_text_add(text, "Usage: ");
    strata_usage_wrap(text, words.data != NULL ? words.data : "", 7, 7);
    strata_text_release(&words);
}

void strata_usage_help(const struct strata_usage *usage, struct strata_text *text) {
    strata_usage_wrap(text, usage->summary, 0, 0);
    strata_text_add(text, "\n");
    add_usage(text, usage);
    if (usage->operands != NULL) {
        strata_text_add(text, "\nArguments:\n");
        for (const struct strata_operand *operand = usage->operands; operand->name != NULL; operand++) {
            char left[80];
            snprintf(left, sizeof left, "  %s", operand->name);
            add_entry(text, left, operand->help);
        }
    }
    strata_text_add(text, "\nOptions:\n");
    for (size_t i = 0; i < usage->count; i++)
        add_row(text, &usage->rows[i]);
    add_entry(text, "  -h, --help", "show this help");
    if (usage->notes != NULL) {
        strata_text_add(text, "\n");
        strata_usage_wrap(text, usage->notes, 0, 0);
    }
}

bool strata_usage_begin(const struct strata_usage *usage, int argc, char **argv, int *exit_code) {
    bool help = false;
    enum strata_status status = strata_usage_parse(usage, argc, argv, &help);
    if (status != STRATA_OK) {
        strata_message("%s (see %s --help)", strata_last_error()->message, usage->command);
        *exit_code = STRATA_EXIT_USAGE;
        return false;
    }
    if (!help)
        return true;
    struct strata_text text = {0};
    strata_usage_help(usage, &text);
    *exit_code = strata_output_text(&text);
    return false;
}
