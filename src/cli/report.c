/* The command report, and the page that it writes: a template, the charting library, and runs and dumps as JSON. */
#include "cli/report.h"

#include "cli/command.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/run.h"
#include "core/error.h"
#include "program/embedded.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RUNS_MOST 16

/* report.html, and where the build found one, the charting library. */
extern const struct strata_embedded_file strata_report_files[];
extern const size_t strata_report_file_count;

static const struct strata_embedded_file *template_file(void) {
    return &strata_report_files[0];
}

bool strata_report_can_draw(void) {
    if (strata_report_file_count > 1)
        return true;
    strata_message("this strata was built without Chart.js (libjs-chart.js), so it draws no pages");
    return false;
}

/* As a script element may hold it: no end tag and no comment begins in it. */
static void add_runs(struct strata_text *page, const json_t *runs) {
    struct strata_text json = {0};
    strata_json_add(&json, runs);
    page->failed = page->failed || json.failed;
    for (const char *at = json.data; at != NULL && *at != '\0';) {
        size_t length = strcspn(at, "<");
        strata_text_append(page, at, length);
        at += length;
        if (*at == '<') {
            strata_text_add(page, "\\u003c");
            at++;
        }
    }
    strata_text_release(&json);
}

static void add_until(struct strata_text *page, const char **at, const char *mark) {
    const char *place = strstr(*at, mark);
    size_t length = place != NULL ? (size_t)(place - *at) : strlen(*at);
    strata_text_append(page, *at, length);
    *at += length + (place != NULL ? strlen(mark) : 0);
}

static void add_page(struct strata_text *page, const json_t *runs) {
    const char *at = (const char *)template_file()->bytes;
    add_until(page, &at, "@CHART_LIBRARY@");
    strata_text_append(page, (const char *)strata_report_files[1].bytes, strata_report_files[1].length);
    add_until(page, &at, "@RUNS@");
    add_runs(page, runs);
    strata_text_add(page, at);
}

int strata_report_write(const json_t *runs, const char *path) {
    struct strata_text page = {0};
    add_page(&page, runs);
    if (page.failed) {
        strata_text_release(&page);
        strata_fail_host_memory(0, "the page");
        return strata_report();
    }
    FILE *file = fopen(path, "we");
    bool written = file != NULL && fwrite(page.data, 1, page.length, file) == page.length;
    int error = file == NULL || !written ? errno : 0;
    if (file != NULL && fclose(file) != 0 && error == 0)
        error = errno;
    strata_text_release(&page);
    if (error != 0)
        strata_message("%s: cannot write: %s", path, strata_errno_text(error));
    return error == 0 ? STRATA_EXIT_DONE : STRATA_EXIT_FILE;
}

/* Whether a dump has what its picture is made of; else a sentence says what is missing. */
static bool check_dump(const json_t *dump, char *sentence, size_t size) {
    const json_t *pools = json_object_get(dump, "pools"), *pool, *block, *range;
    size_t i, j, k;
    snprintf(sentence, size, "it has no device, or no lists of pools and buffers");
    if (!json_is_string(json_object_get(json_object_get(dump, "device"), "name")) || !json_is_array(pools) ||
        !json_is_array(json_object_get(dump, "buffers")))
        return false;
    json_array_foreach(pools, i, pool) {
        const json_t *blocks = json_object_get(pool, "blocks");
        snprintf(sentence, size, "pool %zu has no name, no kind, or no list of blocks", i);
        if (!json_is_string(json_object_get(pool, "name")) || !json_is_string(json_object_get(pool, "kind")) ||
            !json_is_array(blocks))
            return false;
        json_array_foreach(blocks, j, block) {
            const json_t *ranges = json_object_get(block, "ranges");
            snprintf(sentence, size, "block %zu of pool %zu has no size, or a range without one", j, i);
            if (!json_is_integer(json_object_get(block, "bytes")) || !json_is_array(ranges))
                return false;
            json_array_foreach(ranges, k, range) if (!json_is_integer(json_object_get(range, "offset")) ||
                                                     !json_is_integer(json_object_get(range, "bytes")) ||
                                                     !json_is_string(json_object_get(range, "state"))) return false;
        }
    }
    return true;
}

/* A run of the bench, or a dump of a device's memory, which says that it is one. */
static int read_input(const char *path, json_t **input) {
    char sentence[256];
    int code = strata_json_read(path, input);
    if (code != STRATA_EXIT_DONE)
        return code;
    const char *format = json_string_value(json_object_get(*input, "format"));
    bool is_dump = format != NULL && strcmp(format, "strata-memory") == 0;
    if (is_dump ? check_dump(*input, sentence, sizeof sentence) : strata_run_check(*input, sentence, sizeof sentence))
        return STRATA_EXIT_DONE;
    strata_message("%s: %s%s", path, is_dump ? "it is a dump of memory, but " : "", sentence);
    json_decref(*input);
    *input = NULL;
    return STRATA_EXIT_FILE;
}

int strata_command_report(int argc, char **argv) {
    const char *paths[RUNS_MOST] = {NULL}, *html = NULL;
    int code = STRATA_EXIT_DONE;
    const struct strata_option rows[] = {
        {.name = "html",
         .kind = STRATA_OPTION_TEXT,
         .target = &html,
         .value = "FILE",
         .required = true,
         .help = "the page to write"},
    };
    const struct strata_operand operands[] = {
        {.name = "FILE.json...",
         .target = paths,
         .required = true,
         .most = RUNS_MOST,
         .help = "what strata bench --json has stored, to be laid over each other, the newest last; or dumps by "
                 "strata_device_dump, each drawn as a map"},
        {.name = NULL},
    };
    const struct strata_usage usage = {
        .command = "strata report",
        .summary = "Makes one HTML page of stored runs of strata bench, or of dumps of a device's memory.",
        .rows = rows,
        .count = sizeof rows / sizeof rows[0],
        .operands = operands,
    };
    if (!strata_usage_begin(&usage, argc, argv, &code))
        return code;
    if (!strata_report_can_draw())
        return STRATA_EXIT_USAGE;
    json_t *runs = json_array();
    for (size_t i = 0; i < RUNS_MOST && paths[i] != NULL && code == STRATA_EXIT_DONE; i++) {
        json_t *run = NULL;
        code = read_input(paths[i], &run);
        if (code == STRATA_EXIT_DONE && json_array_append_new(runs, run) != 0) {
            strata_fail_host_memory(0, "the runs");
            code = strata_report();
        }
    }
    if (code == STRATA_EXIT_DONE)
        code = strata_report_write(runs, html);
    json_decref(runs);
    return code;
}
