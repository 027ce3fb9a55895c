/* The command bench: measures each kind of memory of a device, compares them in a table, and keeps the figures. */
#include "cli/bench.h"

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/run.h"
#include "core/error.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MILLISECONDS UINT64_C(1000000)

/* A block is long enough for the system's ticks of 10 ms to tell who had the CPU. */
static const struct strata_bench_pace quick_pace = {.warm = 100 * MILLISECONDS,
                                                    .round = 10 * MILLISECONDS,
                                                    .block = 250 * MILLISECONDS,
                                                    .target = 250 * MILLISECONDS,
                                                    .limit = 2000 * MILLISECONDS,
                                                    .retry = 5000 * MILLISECONDS,
                                                    .least = 5};
static const struct strata_bench_pace full_pace = {.warm = 300 * MILLISECONDS,
                                                   .round = 20 * MILLISECONDS,
                                                   .block = 400 * MILLISECONDS,
                                                   .target = 2000 * MILLISECONDS,
                                                   .limit = 6000 * MILLISECONDS,
                                                   .retry = 40000 * MILLISECONDS,
                                                   .least = 15};

/* A sweep has many points, and its shape says more than each of them. */
#define SWEEP_SHARE 4

const struct strata_bench_topic *const strata_bench_topics[] = {&strata_bench_global,
                                                                &strata_bench_onchip,
                                                                &strata_bench_exchange,
                                                                &strata_bench_overhead,
                                                                &strata_bench_reduction,
                                                                &strata_bench_stride,
                                                                &strata_bench_latency,
                                                                &strata_bench_offset,
                                                                &strata_bench_read_width,
                                                                &strata_bench_write_width,
                                                                &strata_bench_copy_width,
                                                                &strata_bench_triad_width,
                                                                &strata_bench_conflicts,
                                                                &strata_bench_pinned_to_device,
                                                                &strata_bench_pinned_from_device,
                                                                &strata_bench_pageable_to_device,
                                                                &strata_bench_pageable_from_device,
                                                                NULL};

struct request {
    bool quick, list;
    const char *json; /* a path, "-" or NULL */
    const char *selector;
    const char *html;
    const char *filter;
    const char *before; /* the path of a run to compare with, or NULL */
    json_t *old;        /* that run */
    uint64_t threshold; /* percent */
    int argc;
    char **argv;
};

static size_t figure_count(void) {
    size_t count = 0;
    for (size_t i = 0; strata_bench_topics[i]; i++)
        count += strata_bench_topics[i]->count;
    return count;
}

struct strata_bench_figure *strata_bench_topic_figures(const struct strata_bench *bench, size_t topic) {
    size_t first = 0;
    for (size_t i = 0; i < topic; i++)
        first += strata_bench_topics[i]->count;
    return bench->figures + first;
}

/* A name has parts between dots, and one or more of them fit; or a pattern, which fits all of it. */
static bool fits(const char *id, const char *pattern, size_t length) {
    char text[128];
    if (length == 0 || length >= sizeof text)
        return false;
    memcpy(text, pattern, length);
    text[length] = '\0';
    if (strpbrk(text, "*?[") != NULL)
        return fnmatch(text, id, 0) == 0;
    for (const char *at = strstr(id, text); at != NULL; at = strstr(at + 1, text))
        if ((at == id || at[-1] == '.') && (at[length] == '\0' || at[length] == '.'))
            return true;
    return false;
}

bool strata_bench_is_selected(const struct strata_bench *bench, const struct strata_bench_case *what) {
    if (bench->filter == NULL)
        return !(bench->quick && what->full_only);
    for (const char *at = bench->filter;; at++) {
        size_t length = strcspn(at, ",");
        if (fits(what->id, at, length))
            return true;
        at += length;
        if (*at == '\0')
            return false;
    }
}

/* Answers how many cases are to be measured. */
static size_t select_cases(struct strata_bench *bench) {
    struct strata_bench_figure *figure = bench->figures;
    size_t count = 0;
    for (size_t topic = 0; strata_bench_topics[topic]; topic++)
        for (size_t i = 0; i < strata_bench_topics[topic]->count; i++, figure++) {
            const struct strata_bench_case *what = &strata_bench_topics[topic]->cases[i];
            figure->unit = what->unit;
            figure->selected = strata_bench_is_selected(bench, what);
            count += figure->selected;
        }
    return count;
}

static void set_pace(struct strata_bench *bench, const struct strata_bench_topic *topic) {
    bench->pace = bench->quick ? quick_pace : full_pace;
    if (topic->axis == NULL)
        return;
    bench->pace.warm /= SWEEP_SHARE;
    bench->pace.target /= SWEEP_SHARE;
    bench->pace.limit /= SWEEP_SHARE;
    bench->pace.block = bench->pace.target < bench->pace.block ? bench->pace.target : bench->pace.block;
    bench->pace.least = (bench->pace.least + 1) / 2;
}

/* What stops the other figures, too. */
static bool is_fatal(enum strata_status status) {
    return status == STRATA_DEVICE_LOST || status == STRATA_CANCELLED;
}

/* What a device may lack or refuse; anything else is a fault. */
static bool is_excused(enum strata_status status) {
    return status == STRATA_OK || status == STRATA_UNSUPPORTED || status == STRATA_OUT_OF_MEMORY ||
           status == STRATA_TOO_LARGE || status == STRATA_CANCELLED;
}

static enum strata_status run_case(struct strata_bench *bench, const struct strata_bench_case *what,
                                   struct strata_bench_figure *figure) {
    enum strata_status status = what->run(bench, what, figure);
    if (status == STRATA_OK && strata_interrupted() != 0)
        status = strata_fail(STRATA_CANCELLED, "interrupted"); /* before its check was done */
    if (status == STRATA_OK)
        return STRATA_OK;
    figure->measured = false;
    snprintf(figure->reason, sizeof figure->reason, "%s", strata_last_error()->message);
    if (!is_excused(status))
        strata_message("%s, %s: %s", what->kind, what->what, figure->reason);
    return status;
}

/* The exit code so far, or that of a case that went wrong. */
static int worse(int code, enum strata_status status, const struct strata_bench_figure *figure) {
    if (code != STRATA_EXIT_DONE || is_excused(status))
        return code;
    return figure->wrong ? STRATA_EXIT_CHECK : STRATA_EXIT_DEVICE;
}

/* Measures the cases once more in which others had the CPU, when they have left. */
static int repeat_disturbed(struct strata_bench *bench) {
    struct strata_bench_figure *figure = bench->figures;
    int code = STRATA_EXIT_DONE;
    for (size_t topic = 0; strata_bench_topics[topic]; topic++) {
        const struct strata_bench_topic *current = strata_bench_topics[topic];
        bench->progress.label = current->title;
        set_pace(bench, current);
        for (size_t i = 0; i < current->count; i++, figure++) {
            struct strata_bench_figure again = {.selected = true, .unit = figure->unit};
            if (!figure->measured || !figure->is_judged || figure->is_quiet || !strata_bench_wait_for_quiet(bench))
                continue;
            uint64_t begun = strata_bench_now();
            enum strata_status status = run_case(bench, &current->cases[i], &again);
            bench->retry_spent += strata_bench_now() - begun;
            if (again.wrong || (again.measured && again.other_cores < figure->other_cores))
                *figure = again;
            code = worse(code, status, &again);
        }
    }
    return code;
}

/* Answers the exit code: what went wrong first. */
static int run_topics(struct strata_bench *bench, size_t selected) {
    struct strata_bench_figure *figure = bench->figures;
    int code = STRATA_EXIT_DONE;
    bool stopped = false;
    strata_progress_begin(&bench->progress, "", selected * 1000, STRATA_PROGRESS_STEPS);
    for (size_t topic = 0; strata_bench_topics[topic] && !stopped; topic++) {
        const struct strata_bench_topic *current = strata_bench_topics[topic];
        bench->progress.label = current->title;
        set_pace(bench, current);
        for (size_t i = 0; i < current->count && !stopped; i++, figure++) {
            if (!figure->selected)
                continue;
            strata_progress_update(&bench->progress, bench->progress_done);
            enum strata_status status = run_case(bench, &current->cases[i], figure);
            code = worse(code, status, figure);
            stopped = is_fatal(status);
            bench->progress_done += 1000;
        }
    }
    if (!stopped) {
        int repeated = repeat_disturbed(bench);
        code = code == STRATA_EXIT_DONE ? repeated : code;
    }
    strata_progress_end(&bench->progress);
    return code;
}

/* Better now than after minutes of measuring. Leaves everything as it is. */
static int check_writable(const char *path) {
    if (path == NULL || strcmp(path, "-") == 0)
        return STRATA_EXIT_DONE;
    bool is_new = access(path, F_OK) != 0;
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) {
        strata_message("%s: cannot write: %s", path, strata_errno_text(errno));
        return STRATA_EXIT_FILE;
    }
    close(file);
    if (is_new)
        unlink(path);
    return STRATA_EXIT_DONE;
}

/* One device after the other. The figures of those before are kept in `benches`, closed. */
static int run_device(struct strata_bench *bench, const struct request *request, const char *selector) {
    *bench = (struct strata_bench){.quick = request->quick, .filter = request->filter};
    set_pace(bench, strata_bench_topics[0]);
    bench->figures = strata_host_allocate(NULL, figure_count() * sizeof *bench->figures);
    enum strata_status status =
        bench->figures != NULL ? strata_bench_open(bench, selector) : strata_fail_host_memory(0, "the figures");
    int code = STRATA_EXIT_DONE;
    if (status == STRATA_OK)
        code = run_topics(bench, select_cases(bench));
    else if (status != STRATA_CANCELLED)
        code = strata_report();
    bench->is_open = status == STRATA_OK;
    return code;
}

static int print_table(const struct strata_bench *bench, bool first) {
    struct strata_text text = {0};
    if (!first)
        strata_text_add(&text, "\n");
    strata_bench_table_add(bench, &text);
    return strata_output_text(&text);
}

/* On standard error where standard output is for JSON. */
static int compare(const json_t *after, const struct request *request) {
    struct strata_text text = {0};
    strata_text_add(&text, "\n");
    int slower = strata_run_compare(request->old, after, (double)request->threshold, &text);
    if (slower < 0) {
        strata_text_release(&text);
        strata_message("%s has no figure in common with this run", request->before);
        return STRATA_EXIT_FILE;
    }
    bool to_output = request->json == NULL || strcmp(request->json, "-") != 0;
    int code = STRATA_EXIT_DONE;
    if (to_output) {
        code = strata_output_text(&text);
    } else {
        fputs(text.data != NULL ? text.data : "", stderr);
        strata_text_release(&text);
    }
    return code != STRATA_EXIT_DONE ? code : slower > 0 ? STRATA_EXIT_CHECK : STRATA_EXIT_DONE;
}

/* With the run to compare with, where there is one. */
static int write_page(json_t *run, const struct request *request) {
    json_t *runs = json_array();
    int failed = request->old != NULL ? json_array_append(runs, request->old) : 0;
    failed = failed || json_array_append(runs, run) != 0;
    if (failed)
        strata_fail_host_memory(0, "the page");
    int code = failed ? strata_report() : strata_report_write(runs, request->html);
    json_decref(runs);
    return code;
}

static int store_and_compare(const struct strata_bench *benches, size_t count, const struct request *request) {
    if (request->json == NULL && request->html == NULL && request->old == NULL)
        return STRATA_EXIT_DONE;
    json_t *root = strata_bench_json(benches, count, request->argc, request->argv, strata_interrupted() != 0);
    json_t *run = strata_run_of(json_incref(root));
    int code = request->json != NULL ? strata_json_write(json_incref(root), request->json) : STRATA_EXIT_DONE;
    json_decref(root);
    if (run == NULL) {
        strata_fail_host_memory(0, "the figures as JSON");
        return strata_report();
    }
    if (request->html != NULL && code == STRATA_EXIT_DONE)
        code = write_page(run, request);
    if (request->old != NULL && code == STRATA_EXIT_DONE)
        code = compare(run, request);
    json_decref(run);
    return code;
}

static int run_devices(struct strata_bench *benches, size_t count, const struct request *request) {
    bool to_output = request->json != NULL && strcmp(request->json, "-") == 0;
    int code = STRATA_EXIT_DONE;
    size_t begun = 0;
    for (; begun < count && strata_interrupted() == 0; begun++) {
        char index[24];
        snprintf(index, sizeof index, "%zu", begun);
        int own = run_device(&benches[begun], request, count > 1 ? index : request->selector);
        if (benches[begun].is_open && !to_output) {
            int printed = print_table(&benches[begun], begun == 0);
            own = own == STRATA_EXIT_DONE ? printed : own;
        }
        code = code == STRATA_EXIT_DONE ? own : code;
    }
    int stored = benches[0].is_open ? store_and_compare(benches, begun, request) : STRATA_EXIT_DONE;
    return code == STRATA_EXIT_DONE ? stored : code;
}

/* How many devices there are where all are asked for, else 1. */
static int count_devices(const struct request *request, size_t *count) {
    strata_device_list *list = NULL;
    *count = 1;
    if (request->selector == NULL || strcmp(request->selector, "all") != 0)
        return STRATA_EXIT_DONE;
    if (strata_device_list_create(&list) != STRATA_OK)
        return strata_report();
    *count = strata_device_list_count(list);
    strata_device_list_destroy(&list);
    return STRATA_EXIT_DONE;
}

static int run(struct request *request) {
    size_t count = 1;
    int code = check_writable(request->json);
    if (code == STRATA_EXIT_DONE)
        code = check_writable(request->html);
    if (code == STRATA_EXIT_DONE && request->html != NULL && !strata_report_can_draw())
        code = STRATA_EXIT_USAGE;
    if (code == STRATA_EXIT_DONE && request->before != NULL)
        code = strata_run_read(request->before, &request->old);
    if (code == STRATA_EXIT_DONE)
        code = count_devices(request, &count);
    if (code != STRATA_EXIT_DONE)
        return code;
    if (count == 1 && request->selector != NULL && strcmp(request->selector, "all") == 0)
        request->selector = "0";
    struct strata_bench *benches = strata_host_allocate(NULL, count * sizeof *benches);
    if (benches == NULL) {
        strata_fail_host_memory(count * sizeof *benches, "the figures");
        return strata_report();
    }
    code = run_devices(benches, count, request);
    for (size_t i = 0; i < count; i++) {
        strata_bench_close(&benches[i]);
        strata_host_release(NULL, benches[i].figures);
    }
    strata_host_release(NULL, benches);
    return strata_interrupted() != 0 ? STRATA_EXIT_SIGNAL + strata_interrupted() : code;
}

/* What there is to measure, without a device. */
static int list(const struct request *request) {
    struct strata_bench bench = {.quick = request->quick, .filter = request->filter};
    struct strata_text text = {0};
    struct strata_table table;
    strata_table_begin(&table, "lll");
    for (size_t topic = 0; strata_bench_topics[topic]; topic++)
        for (size_t i = 0; i < strata_bench_topics[topic]->count; i++) {
            const struct strata_bench_case *what = &strata_bench_topics[topic]->cases[i];
            if (!strata_bench_is_selected(&bench, what))
                continue;
            strata_table_cell(&table, what->id);
            strata_table_cell(&table, strata_bench_unit_name(what->unit));
            strata_table_cell(&table, what->convention);
        }
    strata_table_end(&table, &text);
    return strata_output_text(&text);
}

/* A filter that selects nothing is a mistake. */
static bool selects_any(const struct request *request) {
    struct strata_bench bench = {.quick = request->quick, .filter = request->filter};
    for (size_t topic = 0; strata_bench_topics[topic]; topic++)
        for (size_t i = 0; i < strata_bench_topics[topic]->count; i++)
            if (strata_bench_is_selected(&bench, &strata_bench_topics[topic]->cases[i]))
                return true;
    strata_message("the filter '%s' fits none of the figures; strata bench --list names them", request->filter);
    return false;
}

static const char notes[] =
    "With --device all, one device after the other. Rates are in GB/s, 10^9 bytes a second: the median of some rounds, "
    "with the 5th and 95th percentile (the least "
    "and the most where there are fewer than 20). The warm-up is left out, the data is random, each result is checked, "
    "and what cannot be measured is n/a with the reason. On CPU devices, rounds in which other processes used the CPU "
    "are repeated.\n"
    "\n"
    "Ctrl-C ends the bench and prints what was measured so far.";

int strata_command_bench(int argc, char **argv) {
    struct request request = {.threshold = 5, .argc = argc, .argv = argv};
    int code = STRATA_EXIT_DONE;
    const struct strata_option rows[] = {
        {.name = "device",
         .letter = 'd',
         .kind = STRATA_OPTION_TEXT,
         .target = &request.selector,
         .value = "SEL",
         .help = STRATA_DEVICE_HELP},
        {.name = "quick",
         .letter = 'q',
         .kind = STRATA_OPTION_FLAG,
         .target = &request.quick,
         .help = "fewer figures and fewer rounds: half a minute at the most"},
        {.name = "filter",
         .letter = 'f',
         .kind = STRATA_OPTION_TEXT,
         .target = &request.filter,
         .value = "LIST",
         .help = "measure only what is named: names, the parts between their dots, or patterns with * and ?; with "
                 "commas between"},
        {.name = "list",
         .letter = 'l',
         .kind = STRATA_OPTION_FLAG,
         .target = &request.list,
         .help = "name the figures, and measure nothing"},
        {.name = "html",
         .kind = STRATA_OPTION_TEXT,
         .target = &request.html,
         .value = "FILE",
         .help = "write a page with charts, too; with --compare, both runs in one"},
        {.name = "compare",
         .letter = 'c',
         .kind = STRATA_OPTION_TEXT,
         .target = &request.before,
         .value = "OLD.json",
         .help = "say what became slower since a stored run, and then exit with 1"},
        {.name = "threshold",
         .letter = 't',
         .kind = STRATA_OPTION_NUMBER,
         .target = &request.threshold,
         .value = "PCT",
         .help = "for --compare: what is slower by no more than this does not count (default: 5)"},
        {.name = "json",
         .kind = STRATA_OPTION_TEXT,
         .target = &request.json,
         .value = "FILE",
         .help = "write all figures as JSON, too; with \"-\" to standard output, and no table"},
    };
    const struct strata_usage usage = {
        .command = "strata bench",
        .summary = "Measures the memory of a device, kind by kind, and compares them in a table.",
        .notes = notes,
        .rows = rows,
        .count = sizeof rows / sizeof rows[0],
    };
    if (!strata_usage_begin(&usage, argc, argv, &code))
        return code;
    if (!selects_any(&request))
        return STRATA_EXIT_USAGE;
    code = request.list ? list(&request) : run(&request);
    json_decref(request.old);
    return code;
}
