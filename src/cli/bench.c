/* The command bench: measures each kind of memory of a device, compares them in a table, and keeps the figures. */
#include "cli/bench.h"

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/output.h"
#include "core/error.h"

#include <errno.h>
#include <fcntl.h>
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

const struct strata_bench_topic *const strata_bench_topics[] = {
    &strata_bench_global, &strata_bench_onchip, &strata_bench_exchange, &strata_bench_reduction, &strata_bench_stride};

struct request {
    bool quick;
    const char *json; /* a path, "-" or NULL */
    const char *selector;
    int argc;
    char **argv;
};

static size_t figure_count(void) {
    size_t count = 0;
    for (size_t i = 0; i < STRATA_BENCH_TOPICS; i++)
        count += strata_bench_topics[i]->count;
    return count;
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
    for (size_t topic = 0; topic < STRATA_BENCH_TOPICS; topic++) {
        const struct strata_bench_topic *current = strata_bench_topics[topic];
        bench->progress.label = current->title;
        for (size_t i = 0; i < current->count; i++, figure++) {
            struct strata_bench_figure again = {0};
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
static int run_topics(struct strata_bench *bench) {
    struct strata_bench_figure *figure = bench->figures;
    int code = STRATA_EXIT_DONE;
    bool stopped = false;
    strata_progress_begin(&bench->progress, "", figure_count() * 1000, STRATA_PROGRESS_STEPS);
    for (size_t topic = 0; topic < STRATA_BENCH_TOPICS && !stopped; topic++) {
        const struct strata_bench_topic *current = strata_bench_topics[topic];
        bench->progress.label = current->title;
        for (size_t i = 0; i < current->count && !stopped; i++, figure++) {
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

static int print(const struct strata_bench *bench, const struct request *request) {
    int code = STRATA_EXIT_DONE;
    bool to_output = request->json != NULL && strcmp(request->json, "-") == 0;
    if (!to_output) {
        struct strata_text text = {0};
        strata_bench_table_add(bench, &text);
        code = strata_output_text(&text);
    }
    if (request->json != NULL) {
        json_t *root = strata_bench_json(bench, request->argc, request->argv, strata_interrupted() != 0);
        int json_code = strata_json_write(root, request->json);
        code = code == STRATA_EXIT_DONE ? json_code : code;
    }
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

static int run(const struct request *request) {
    int code = check_writable(request->json);
    if (code != STRATA_EXIT_DONE)
        return code;
    struct strata_bench bench = {.quick = request->quick, .pace = request->quick ? quick_pace : full_pace};
    bench.figures = strata_host_allocate(NULL, figure_count() * sizeof *bench.figures);
    enum strata_status status = bench.figures != NULL ? strata_bench_open(&bench, request->selector)
                                                      : strata_fail_host_memory(0, "the figures");
    if (status == STRATA_OK) {
        code = run_topics(&bench);
        int printed = print(&bench, request);
        code = code == STRATA_EXIT_DONE ? printed : code;
    } else if (status != STRATA_CANCELLED) {
        code = strata_report();
    }
    strata_bench_close(&bench);
    strata_host_release(NULL, bench.figures);
    return strata_interrupted() != 0 ? STRATA_EXIT_SIGNAL + strata_interrupted() : code;
}

static const char notes[] =
    "Rates are in GB/s, 10^9 bytes a second: the median of some rounds, with the 5th and 95th percentile (the least "
    "and the most where there are fewer than 20). The warm-up is left out, the data is random, each result is checked, "
    "and what cannot be measured is n/a with the reason. On CPU devices, rounds in which other processes used the CPU "
    "are repeated.\n"
    "\n"
    "Ctrl-C ends the bench and prints what was measured so far.";

int strata_command_bench(int argc, char **argv) {
    struct request request = {.argc = argc, .argv = argv};
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
         .help = "fewer rounds: half a minute at the most"},
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
    return run(&request);
}
