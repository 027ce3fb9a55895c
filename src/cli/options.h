/* The options of a command as one table: parsing, and the help text, come from the same rows. */
#ifndef STRATA_CLI_OPTIONS_H
#define STRATA_CLI_OPTIONS_H

#include "core/host.h"

/* More than any command has; the parser notes in 64 bits which ones it saw. */
#define STRATA_OPTIONS_MAX 64

enum strata_option_kind {
    STRATA_OPTION_FLAG,   /* bool; takes no value */
    STRATA_OPTION_TEXT,   /* const char *, pointing into argv */
    STRATA_OPTION_NUMBER, /* uint64_t */
    STRATA_OPTION_SIZE,   /* uint64_t, in bytes: 4096, 64MiB, 2GB */
    STRATA_OPTION_CHOICE  /* int, one of `choices` */
};

struct strata_choice {
    const char *name; /* NULL ends the list */
    int value;
};

/* A row. The target keeps what it holds when the option is not given: that is the default. */
struct strata_option {
    const char *name; /* without dashes */
    char letter;      /* the short form, or 0 */
    enum strata_option_kind kind;
    void *target;
    const struct strata_choice *choices;
    const char *value; /* what the help calls the value; NULL for a flag */
    bool required;
    const char *help; /* a phrase, wrapped where it is long */
};

/* An argument without dashes. */
struct strata_operand {
    const char *name; /* in capitals; NULL ends the list */
    const char **target;
    bool required;
    size_t most; /* places behind `target`, for an argument that may be repeated; 0 is 1 */
    const char *help;
};

struct strata_usage {
    const char *command; /* "strata reduce" */
    const char *summary; /* one sentence */
    const char *notes;   /* further paragraphs of the help, or NULL */
    const struct strata_option *rows;
    size_t count;
    const struct strata_operand *operands; /* or NULL */
};

/* Reads argv[1] and on. Understands --name=value, --name value, -x value, -xvalue, flags together (-ab), and -- as the
 * end of options; -h and --help set *help and end the parsing. Fails with INVALID_ARGUMENT and one sentence. */
enum strata_status strata_usage_parse(const struct strata_usage *usage, int argc, char **argv, bool *help);

/* The help text, from the same table. */
void strata_usage_help(const struct strata_usage *usage, struct strata_text *text);

/* Parses, and prints the help or what is wrong. True when the command is to go on; else *exit_code is how it ends. */
bool strata_usage_begin(const struct strata_usage *usage, int argc, char **argv, int *exit_code);

/* Of `count` names the one that a mistyped `word` most likely meant, or NULL. */
const char *strata_usage_nearest(const char *word, const char *const *names, size_t count);

/* Adds words to the text, broken into lines of at most 80 columns; lines after the first begin with `indent` spaces,
 * and the first one goes on at column `column`. A line end in `words` is kept. */
void strata_usage_wrap(struct strata_text *text, const char *words, size_t column, size_t indent);

#endif
