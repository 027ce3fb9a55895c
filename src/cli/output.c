/* Messages, plain text and tables, and the numbers in them. */
#include "cli/output.h"

#include "cli/command.h"
#include "core/error.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

bool strata_messages_on_terminal(void) {
    const char *terminal = getenv("TERM");
    return isatty(STDERR_FILENO) != 0 && terminal != NULL && terminal[0] != '\0' && strcmp(terminal, "dumb") != 0;
}

bool strata_output_is_utf8(void) {
    const char *charset = nl_langinfo(CODESET);
    return strcmp(charset, "UTF-8") == 0 || strcmp(charset, "utf8") == 0;
}

/* Names of files and devices are shown as they are, but must not move the cursor or recolour the terminal. */
static void put_clean(const char *string, FILE *stream) {
    for (const unsigned char *at = (const unsigned char *)string; *at != '\0'; at++)
        fputc((*at < 0x20 && *at != '\n' && *at != '\t') || *at == 0x7f ? '?' : *at, stream);
}

void strata_message(const char *format, ...) {
    char sentence[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    /* Back to the line's begin and clear it: a progress bar may stand there. */
    if (strata_messages_on_terminal())
        fputs("\r\033[K", stderr);
    fputs("strata: ", stderr);
    put_clean(sentence, stderr);
    fputc('\n', stderr);
}

int strata_exit_code(enum strata_status status) {
    switch (status) {
    case STRATA_OK:
        return STRATA_EXIT_DONE;
    case STRATA_INVALID_ARGUMENT:
        return STRATA_EXIT_USAGE;
    case STRATA_NO_DEVICE:
        return STRATA_EXIT_NO_DEVICE;
    case STRATA_IO:
        return STRATA_EXIT_FILE;
    default:
        return STRATA_EXIT_DEVICE;
    }
}

int strata_report(void) {
    const struct strata_error *error = strata_last_error();
    strata_message("%s", error->message);
    if (error->log[0] != '\0') {
        put_clean(error->log, stderr);
        if (error->log[strlen(error->log) - 1] != '\n')
            fputc('\n', stderr);
    }
    return strata_exit_code(error->status);
}

/* A pipe that its reader closed is not worth a message. */
static void report_output(int reason) {
    if (reason != EPIPE)
        strata_message("cannot write to standard output: %s", strata_errno_text(reason));
}

/* Past stdio, whose buffer would forget why an early part could not be written. */
static bool write_output(const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t count = write(STDOUT_FILENO, bytes, length);
        if (count >= 0) {
            bytes += count;
            length -= (size_t)count;
        } else if (errno == EAGAIN) {
            struct pollfd ready = {.fd = STDOUT_FILENO, .events = POLLOUT};
            poll(&ready, 1, -1);
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

int strata_output_text(struct strata_text *text) {
    int code = STRATA_EXIT_DONE;
    if (text->failed) {
        strata_message("host memory ran out");
        code = STRATA_EXIT_DEVICE;
    } else if (text->data != NULL && !write_output(text->data, text->length)) {
        report_output(errno);
        code = STRATA_EXIT_FILE;
    }
    strata_text_release(text);
    return code;
}

uint32_t strata_text_decode(const char *string, size_t *length) {
    const unsigned char *s = (const unsigned char *)string;
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    size_t more = s[0] < 0x80 ? 0 : s[0] >= 0xc2 && s[0] < 0xe0 ? 1 : s[0] >= 0xe0 && s[0] < 0xf0 ? 2 : 3;
    *length = 1;
    if (more == 0)
        return s[0];
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0xfffd;
    uint32_t code = s[0] & (0x3fu >> more);
    for (size_t i = 1; i <= more; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0xfffd;
        code = code << 6 | (s[i] & 0x3fu);
    }
    if (code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return 0xfffd;
    *length = more + 1;
    return code;
}

size_t strata_text_columns(const char *string) {
    size_t columns = 0, length = 0;
    for (; *string != '\0'; string += length) {
        int width = wcwidth((wchar_t)strata_text_decode(string, &length));
        columns += width >= 0 ? (size_t)width : 1;
    }
    return columns;
}

void strata_text_pad(struct strata_text *text, const char *string, size_t columns) {
    for (size_t at = strata_text_columns(string); at < columns; at++)
        strata_text_add(text, " ");
}

/* snprintf writes the decimal point of the process's locale, which a driver may have set behind our back. */
static void use_point(char *number) {
    const char *mark = localeconv()->decimal_point;
    char *there = strcmp(mark, ".") != 0 && mark[0] != '\0' ? strstr(number, mark) : NULL;
    if (there == NULL)
        return;
    size_t length = strlen(mark);
    *there = '.';
    memmove(there + 1, there + length, strlen(there + length) + 1);
}

static char *finish_number(char *buffer) {
    use_point(buffer);
    if (strpbrk(buffer, ".e") == NULL)
        strcat(buffer, ".0");
    return buffer;
}

static bool format_special(double value, char *buffer) {
    if (isfinite(value))
        return false;
    strcpy(buffer, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    return true;
}

char *strata_format_f32(float value, char *buffer) {
    if (format_special((double)value, buffer))
        return buffer;
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(buffer, STRATA_NUMBER_TEXT, "%.*g", digits, (double)value);
        if (strtof(buffer, NULL) == value)
            break;
    }
    return finish_number(buffer);
}

char *strata_format_f64(double value, char *buffer) {
    if (format_special(value, buffer))
        return buffer;
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buffer, STRATA_NUMBER_TEXT, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value)
            break;
    }
    return finish_number(buffer);
}

char *strata_format_fixed(double value, int decimals, char *buffer) {
    if (format_special(value, buffer))
        return buffer;
    if (fabs(value) < 1e15)
        snprintf(buffer, STRATA_NUMBER_TEXT, "%.*f", decimals, value);
    else
        snprintf(buffer, STRATA_NUMBER_TEXT, "%.*e", decimals, value);
    use_point(buffer);
    return buffer;
}

void strata_table_begin(struct strata_table *table, const char *alignment) {
    *table = (struct strata_table){.alignment = alignment};
}

void strata_table_cell(struct strata_table *table, const char *cell) {
    if (table->count == table->capacity) {
        size_t capacity = table->capacity == 0 ? 64 : table->capacity * 2;
        char **cells = realloc(table->cells, capacity * sizeof *cells);
        table->failed = table->failed || cells == NULL;
        if (cells == NULL)
            return;
        table->cells = cells;
        table->capacity = capacity;
    }
    char *copy = strata_host_copy_string(NULL, cell, strlen(cell));
    table->failed = table->failed || copy == NULL;
    if (copy != NULL)
        table->cells[table->count++] = copy;
}

void strata_table_cellf(struct strata_table *table, const char *format, ...) {
    char cell[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cell, sizeof cell, format, arguments);
    va_end(arguments);
    strata_table_cell(table, cell);
}

static void add_row(const struct strata_table *table, size_t first, const size_t *widths, struct strata_text *text) {
    size_t columns = strlen(table->alignment);
    size_t last = columns; /* one past the last cell that is not empty */
    while (last > 0 && (first + last > table->count || table->cells[first + last - 1][0] == '\0'))
        last--;
    for (size_t c = 0; c < last; c++) {
        const char *cell = table->cells[first + c];
        if (table->alignment[c] == 'r')
            strata_text_pad(text, cell, widths[c]);
        strata_text_add(text, cell);
        if (c + 1 < last && table->alignment[c] == 'l')
            strata_text_pad(text, cell, widths[c]);
        strata_text_add(text, c + 1 < last ? "  " : "");
    }
    strata_text_add(text, "\n");
}

void strata_table_end(struct strata_table *table, struct strata_text *text) {
    size_t columns = strlen(table->alignment);
    size_t *widths = calloc(columns, sizeof *widths);
    text->failed = text->failed || table->failed || widths == NULL;
    if (!text->failed) {
        for (size_t i = 0; i < table->count; i++) {
            size_t width = strata_text_columns(table->cells[i]);
            widths[i % columns] = width > widths[i % columns] ? width : widths[i % columns];
        }
        for (size_t first = 0; first < table->count; first += columns)
            add_row(table, first, widths, text);
    }
    free(widths);
    for (size_t i = 0; i < table->count; i++)
        strata_host_release(NULL, table->cells[i]);
    free(table->cells);
    *table = (struct strata_table){.alignment = table->alignment};
}
