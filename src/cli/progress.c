/* A progress bar: when to draw, and the line itself. */
#include "cli/progress.h"

#include "cli/output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* Work that takes less than this needs no bar. */
#define FIRST_NS 250000000u
#define INTERVAL_NS 100000000u

#define BAR_COLUMNS ((size_t)24)
#define DEFAULT_COLUMNS ((size_t)80)

/* Up to here the rate jumps too much to tell the time left by it. */
#define SETTLED_SECONDS 0.5

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static size_t terminal_columns(void) {
    struct winsize size = {0};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return DEFAULT_COLUMNS;
    return size.ws_col;
}

void strata_progress_begin(struct strata_progress *progress, const char *label, uint64_t total,
                           enum strata_progress_unit unit) {
    *progress = (struct strata_progress){.label = label, .total = total, .unit = unit};
    progress->shown = strata_messages_on_terminal();
    progress->utf8 = strata_output_is_utf8();
    progress->begun_ns = progress->shown ? now_ns() : 0;
}

static void add_bar(struct strata_text *text, double share, bool utf8) {
    size_t full = (size_t)(share * (double)BAR_COLUMNS);
    strata_text_add(text, utf8 ? "▕" : "[");
    for (size_t i = 0; i < BAR_COLUMNS; i++)
        strata_text_add(text, i < full ? (utf8 ? "█" : "#") : " ");
    strata_text_add(text, utf8 ? "▏" : "]");
}

static void add_time_left(struct strata_text *text, double seconds) {
    if (seconds < 100)
        strata_text_printf(text, "  %.0f s left", ceil(seconds));
    else if (seconds < 6000)
        strata_text_printf(text, "  %.0f min left", ceil(seconds / 60));
    else if (seconds < 360000)
        strata_text_printf(text, "  %.0f h left", ceil(seconds / 3600));
}

/* Cuts the text to a number of columns, never within a character. */
static void cut(struct strata_text *text, size_t columns) {
    if (text->data == NULL)
        return;
    size_t at = text->length;
    while (strata_text_columns(text->data) > columns) {
        do
            at--;
        while (at > 0 && ((unsigned char)text->data[at] & 0xc0) == 0x80);
        text->data[at] = '\0';
        text->length = at;
    }
}

void strata_progress_line(const struct strata_progress *progress, uint64_t done, double seconds, size_t columns,
                          struct strata_text *text) {
    char number[STRATA_NUMBER_TEXT];
    bool known = progress->total != STRATA_UNKNOWN && progress->total != 0;
    double share = known ? (double)done / (double)progress->total : 0;
    share = share > 1 ? 1 : share;
    strata_text_printf(text, "%s  ", progress->label);
    if (known) {
        add_bar(text, share, progress->utf8);
        strata_text_printf(text, " %3.0f %%", floor(share * 100));
    }
    if (progress->unit == STRATA_PROGRESS_BYTES) {
        if (!known)
            strata_text_printf(text, "%s", strata_format_bytes(done, number, sizeof number));
        if (seconds > 0)
            strata_text_printf(text, "  %s GB/s", strata_format_fixed((double)done / seconds / 1e9, 2, number));
    }
    if (known && done > 0 && done < progress->total && seconds >= SETTLED_SECONDS)
        add_time_left(text, seconds / share - seconds);
    cut(text, columns);
}

void strata_progress_update(struct strata_progress *progress, uint64_t done) {
    if (!progress->shown)
        return;
    uint64_t now = now_ns();
    uint64_t wait = progress->drawn ? INTERVAL_NS : FIRST_NS;
    if (now - (progress->drawn ? progress->drawn_ns : progress->begun_ns) < wait)
        return;
    struct strata_text text = {0};
    /* The last column stays free: some terminals go to the next line when it is written. */
    strata_progress_line(progress, done, (double)(now - progress->begun_ns) / 1e9, terminal_columns() - 1, &text);
    if (text.data != NULL)
        fprintf(stderr, "\r%s\033[K", text.data);
    strata_text_release(&text);
    progress->drawn = true;
    progress->drawn_ns = now;
}

void strata_progress_end(struct strata_progress *progress) {
    if (progress->drawn)
        fputs("\r\033[K", stderr);
    *progress = (struct strata_progress){0};
}
