/* What the command line says: results on standard output (text, tables), messages on standard error. Numbers
 * look the same in every locale. */
#ifndef STRATA_CLI_OUTPUT_H
#define STRATA_CLI_OUTPUT_H

#include "core/host.h"

/* Long enough for every number that the format functions below write. */
#define STRATA_NUMBER_TEXT 40

/* One line on standard error, "strata: ..."; control characters come out as '?'. Clears a progress bar first. */
void strata_message(const char *format, ...) STRATA_PRINTF(1, 2);

/* The exit code that goes with a failure of the library. */
int strata_exit_code(enum strata_status status);

/* Prints the thread's last error, with a build log if it has one, and answers its exit code. */
int strata_report(void);

/* Writes a text to standard output, releases it, and answers the exit code: STRATA_EXIT_DEVICE when host memory ran out
 * while it grew (then nothing is written), STRATA_EXIT_FILE when it could not be written. Says what went wrong, but not
 * that a pipe's reader is gone. All results go this way, never through stdio. */
int strata_output_text(struct strata_text *text);

/* Whether messages go to a terminal that can move its cursor. */
bool strata_messages_on_terminal(void);

/* Whether the locale's letters are UTF-8: then drawings use lines and not '|', '-' and '+'. */
bool strata_output_is_utf8(void);

/* Reads one character of UTF-8 text; *length is its bytes, at least 1. Answers U+FFFD for what is not UTF-8. */
uint32_t strata_text_decode(const char *string, size_t *length);

/* Columns that UTF-8 text takes on a terminal. Bytes that are not UTF-8 count one each. */
size_t strata_text_columns(const char *string);

/* Adds spaces until the string, which is in the text already, takes `columns`. */
void strata_text_pad(struct strata_text *text, const char *string, size_t columns);

/* The fewest digits that read back as the same number, always with a point or an exponent ("3.0", "1e+30"); "nan",
 * "inf", "-inf". They answer `buffer`, of STRATA_NUMBER_TEXT bytes. */
char *strata_format_f32(float value, char *buffer);
char *strata_format_f64(double value, char *buffer);

/* A number with some decimals, and a point in every locale. */
char *strata_format_fixed(double value, int decimals, char *buffer);

/* A table whose columns line up. Cells are added in rows from left to right; an incomplete last row is filled with
 * empty cells. */
struct strata_table {
    const char *alignment; /* a letter for each column: 'l' or 'r' */
    char **cells;
    size_t count;
    size_t capacity;
    bool failed;
};
void strata_table_begin(struct strata_table *table, const char *alignment);
void strata_table_cell(struct strata_table *table, const char *cell);
void strata_table_cellf(struct strata_table *table, const char *format, ...) STRATA_PRINTF(2, 3);

/* Adds the table to a text, two spaces between columns and none at line ends, and releases it. */
void strata_table_end(struct strata_table *table, struct strata_text *text);

#endif
