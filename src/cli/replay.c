/* The command replay: a trace's creates and frees run again, against pools, buffers of their own and the driver. */
#include "cli/replay.h"

#include "cli/command.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Rounds of which the median is told, and the most that one may ask for. */
#define ROUNDS 3
#define ROUNDS_MOST 1000

struct request {
    const char *path, *selector, *chrome;
    int with; /* enum strata_replay_with */
    bool json;
    struct strata_replay_request replay;
};

static const struct strata_choice contenders[] = {{"pool", STRATA_REPLAY_POOL},
                                                  {"dedicated", STRATA_REPLAY_DEDICATED},
                                                  {"driver", STRATA_REPLAY_DRIVER},
                                                  {"all", STRATA_REPLAY_ALL},
                                                  {NULL, 0}};

/* What the trace itself tells. */
struct summary {
    uint64_t creates, replayed, failures, reused, grown, trimmed, waits;
    uint64_t live, peak_live, reserved, peak_reserved;
    double seconds;
};

static void raise(uint64_t *peak, uint64_t value) {
    if (*peak < value)
        *peak = value;
}

/* `bytes` has the bytes of each buffer. */
static struct summary sum_up(const struct strata_trace_file *file, uint64_t *bytes) {
    struct summary sum = {.seconds = (double)file->events[file->count - 1].time_ns / 1e9};
    for (size_t i = 0; i < file->count; i++) {
        const struct strata_trace_event *event = &file->events[i];
        switch (event->type) {
        case STRATA_TRACE_CREATE:
            sum.creates++;
            sum.replayed += strata_replay_wants(event);
            sum.reused += (event->flags & STRATA_TRACE_REUSED) != 0;
            sum.live += bytes[event->number] = event->bytes;
            sum.reserved += event->pool ? 0 : event->given;
            break;
        case STRATA_TRACE_DESTROY: sum.live -= bytes[event->number]; break;
        case STRATA_TRACE_FAIL: sum.failures++; break;
        case STRATA_TRACE_GROW:
            sum.grown += (event->flags & STRATA_TRACE_THERE) == 0;
            sum.reserved += event->bytes;
            break;
        case STRATA_TRACE_TRIM:
            sum.trimmed++;
            sum.reserved -= event->bytes;
            break;
        case STRATA_TRACE_WAIT_BEGIN: sum.waits++; break;
        case STRATA_TRACE_DEVICE:
        case STRATA_TRACE_POOL:
        case STRATA_TRACE_WAIT_END: break;
        }
        raise(&sum.peak_live, sum.live);
        raise(&sum.peak_reserved, sum.reserved);
    }
    return sum;
}

static double waste(uint64_t reserved, uint64_t live) {
    return live ? (double)reserved / (double)live : 0;
}

static json_t *result_json(const struct strata_replay_result *result) {
    double pairs = result->creates ? (double)result->creates : 1;
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",                              //
                     "with", contenders[result->with].name,                                                  //
                     "seconds", strata_json_f64(result->seconds),                                            //
                     "ns_per_pair", strata_json_f64(result->seconds * 1e9 / pairs),                          //
                     "creates", strata_json_u64(result->creates),                                            //
                     "failures", strata_json_u64(result->failures),                                          //
                     "peak_live_bytes", strata_json_u64(result->peak_live),                                  //
                     "peak_reserved_bytes", strata_json_u64(result->peak_reserved),                          //
                     "reserved_over_live", strata_json_f64(waste(result->peak_reserved, result->peak_live)), //
                     "blocks", strata_json_u64(result->blocks),                                              //
                     "reused", strata_json_u64(result->reused),                                              //
                     "waits", strata_json_u64(result->waits));
}

static int print_json(const struct strata_trace_file *file, const struct summary *sum, strata_device *device,
                      const struct strata_replay_result *results, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count && list; i++)
        if (json_array_append_new(list, result_json(&results[i])) != 0) {
            json_decref(list);
            list = NULL;
        }
    json_t *trace = json_pack("{s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",      //
                              "device", strata_json_string(strata_trace_text(file, file->device)), //
                              "cut", file->cut,                                                    //
                              "seconds", strata_json_f64(sum->seconds),                            //
                              "creates", strata_json_u64(sum->creates),                            //
                              "failures", strata_json_u64(sum->failures),                          //
                              "peak_live_bytes", strata_json_u64(sum->peak_live),                  //
                              "peak_reserved_bytes", strata_json_u64(sum->peak_reserved),          //
                              "reused", strata_json_u64(sum->reused),                              //
                              "grown", strata_json_u64(sum->grown),                                //
                              "trimmed", strata_json_u64(sum->trimmed),                            //
                              "waits", strata_json_u64(sum->waits),                                //
                              "left_out", strata_json_u64(sum->creates - sum->replayed));
    return strata_json_write(json_pack("{s:o, s:o, s:o}", "trace", trace, "device",
                                       strata_json_string(strata_device_get_info(device)->name), "results", list),
                             NULL);
}

static void add_bytes(struct strata_table *table, uint64_t bytes) {
    char size[32];
    strata_table_cell(table, strata_format_bytes(bytes, size, sizeof size));
}

static void add_result(struct strata_table *table, const struct strata_replay_result *result) {
    char number[STRATA_NUMBER_TEXT];
    double pairs = result->creates ? (double)result->creates : 1;
    strata_table_cell(table, contenders[result->with].name);
    strata_table_cell(table, strata_format_fixed(result->seconds * 1e3, 3, number));
    strata_table_cell(table, strata_format_fixed(result->seconds * 1e9 / pairs, 0, number));
    add_bytes(table, result->peak_live);
    add_bytes(table, result->peak_reserved);
    strata_table_cell(table, strata_format_fixed(waste(result->peak_reserved, result->peak_live), 3, number));
    strata_table_cellf(table, "%" PRIu64, result->failures);
    strata_table_cellf(table, "%" PRIu64, result->blocks);
    strata_table_cellf(table, "%" PRIu64, result->waits);
}

static int print_text(const struct strata_trace_file *file, const struct summary *sum, strata_device *device,
                      const struct strata_replay_result *results, size_t count) {
    static const char *const heads[] = {"with",      "ms",       "ns a pair", "peak live", "peak reserved",
                                        "over live", "failures", "blocks",    "waits"};
    struct strata_text text = {0};
    struct strata_table table;
    char live[32], reserved[32], number[STRATA_NUMBER_TEXT];
    strata_text_printf(&text,
                       "trace    %s, %s s: %" PRIu64 " buffers (%" PRIu64 " in a kept piece), %" PRIu64 " failed\n",
                       strata_trace_text(file, file->device), strata_format_fixed(sum->seconds, 3, number),
                       sum->creates, sum->reused, sum->failures);
    strata_text_printf(
        &text,
        "         peak %s live, %s reserved; %" PRIu64 " blocks taken, %" PRIu64 " given back; %" PRIu64 " waits\n",
        strata_format_bytes(sum->peak_live, live, sizeof live),
        strata_format_bytes(sum->peak_reserved, reserved, sizeof reserved), sum->grown, sum->trimmed, sum->waits);
    if (sum->replayed < sum->creates)
        strata_text_printf(&text, "         %" PRIu64 " buffers without memory of strata's are left out\n",
                           sum->creates - sum->replayed);
    strata_text_printf(&text, "replayed %s\n\n", strata_device_get_info(device)->name);
    strata_table_begin(&table, "lrrrrrrrr");
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        strata_table_cell(&table, heads[i]);
    for (size_t i = 0; i < count; i++)
        add_result(&table, &results[i]);
    strata_table_end(&table, &text);
    return strata_output_text(&text);
}

static int write_chrome(const struct strata_trace_file *file, const char *path) {
    struct strata_text text = {0};
    strata_replay_chrome(file, &text);
    if (text.failed || strcmp(path, "-") == 0)
        return strata_output_text(&text);
    FILE *output = fopen(path, "we");
    bool written = output != NULL && fwrite(text.data, 1, text.length, output) == text.length;
    int reason = errno;
    if (output != NULL && fclose(output) != 0 && written) {
        written = false;
        reason = errno;
    }
    strata_text_release(&text);
    if (!written)
        strata_message("%s: cannot write: %s", path, strata_errno_text(reason));
    return written ? STRATA_EXIT_DONE : STRATA_EXIT_FILE;
}

static void log_message(enum strata_log_level level, const char *message, void *user) {
    (void)level;
    (void)user;
    strata_message("%s", message);
}

static int replay(const struct request *request, const struct strata_trace_file *file, const struct summary *sum) {
    struct strata_replay_result results[STRATA_REPLAY_ALL];
    strata_device *device = NULL;
    size_t count = 0;
    enum strata_status status = strata_device_open(request->selector, STRATA_DEVICE_DESC(.log = log_message), &device);
    for (int with = 0; with < STRATA_REPLAY_ALL && status == STRATA_OK; with++)
        if (request->with == with || request->with == STRATA_REPLAY_ALL)
            status =
                strata_replay_run(device, file, &request->replay, (enum strata_replay_with)with, &results[count++]);
    int code = status != STRATA_OK ? strata_report()
               : request->json     ? print_json(file, sum, device, results, count)
                                   : print_text(file, sum, device, results, count);
    strata_device_close(&device);
    return code;
}

static int run(const struct request *request) {
    struct strata_trace_file file;
    if (strata_trace_read(request->path, &file) != STRATA_OK)
        return strata_report();
    if (file.cut)
        strata_message("%s: the trace was cut or damaged behind its first %zu events", request->path, file.count);
    int code = STRATA_EXIT_DONE;
    uint64_t *bytes = strata_host_allocate(NULL, ((size_t)file.buffers + 1) * sizeof *bytes);
    if (bytes == NULL) {
        strata_fail_host_memory(file.buffers * sizeof *bytes, "the buffers of a trace");
        code = strata_report();
    } else if (request->chrome != NULL) {
        code = write_chrome(&file, request->chrome);
    } else {
        struct summary sum = sum_up(&file, bytes);
        code = replay(request, &file, &sum);
    }
    strata_host_release(NULL, bytes);
    strata_trace_file_release(&file);
    return code;
}

static const char notes[] =
    "A trace is written by any program with strata where the environment has STRATA_TRACE=FILE, and by "
    "strata_trace_start. Its creates and frees are run in their order, by one thread, without the work that used the "
    "buffers: by fresh pools of strata's, by strata with memory of its own for each buffer, and by the driver's "
    "clCreateBuffer and clReleaseMemObject. Device memory is touched as it is taken, as programs do that use it; with "
    "--lazy it is not.\n"
    "\n"
    "A create that fails for want of memory is counted, and the replay goes on. A pair is a create and its free; "
    "reserved is what was taken from the driver. Host memory that a program wrapped, and its own cl_mem, are left out.";

int strata_command_replay(int argc, char **argv) {
    struct request request = {.with = STRATA_REPLAY_ALL, .replay = {.rounds = ROUNDS}};
    struct strata_replay_request *replayed = &request.replay;
    int code = STRATA_EXIT_DONE;
    const struct strata_option rows[] = {
        {.name = "device",
         .letter = 'd',
         .kind = STRATA_OPTION_TEXT,
         .target = &request.selector,
         .value = "SEL",
         .help = STRATA_DEVICE_HELP},
        {.name = "with",
         .letter = 'w',
         .kind = STRATA_OPTION_CHOICE,
         .target = &request.with,
         .choices = contenders,
         .value = "WHAT",
         .help = "what serves the buffers: pool, dedicated, driver or all; all without it"},
        {.name = "repeat",
         .letter = 'n',
         .kind = STRATA_OPTION_NUMBER,
         .target = &replayed->rounds,
         .value = "N",
         .help = "rounds, each with fresh pools; the time is their median; 3 without it"},
        {.name = "limit",
         .letter = 'l',
         .kind = STRATA_OPTION_SIZE,
         .target = &replayed->limit,
         .value = "SIZE",
         .help = "no more than this is taken from the driver for a kind of memory"},
        {.name = "block",
         .kind = STRATA_OPTION_SIZE,
         .target = &replayed->block,
         .value = "SIZE",
         .help = "the first block of a pool"},
        {.name = "max-block",
         .kind = STRATA_OPTION_SIZE,
         .target = &replayed->max_block,
         .value = "SIZE",
         .help = "the largest block of a pool"},
        {.name = "dedicated-from",
         .kind = STRATA_OPTION_SIZE,
         .target = &replayed->dedicated_from,
         .value = "SIZE",
         .help = "buffers of a pool from this size on have memory of their own"},
        {.name = "lazy",
         .kind = STRATA_OPTION_FLAG,
         .target = &replayed->lazy,
         .help = "do not touch memory as it is taken"},
        {.name = "chrome",
         .letter = 'c',
         .kind = STRATA_OPTION_TEXT,
         .target = &request.chrome,
         .value = "FILE",
         .help = "write the trace as a timeline for Perfetto or chrome://tracing, and replay nothing"},
        {.name = "json", .kind = STRATA_OPTION_FLAG, .target = &request.json, .help = "write JSON"},
    };
    const struct strata_operand operands[] = {
        {.name = "TRACE", .target = &request.path, .required = true, .help = "the trace, or - for standard input"},
        {0}};
    const struct strata_usage usage = {
        .command = "strata replay",
        .summary = "Runs what an application allocated again, against pools and the driver.",
        .notes = notes,
        .rows = rows,
        .count = sizeof rows / sizeof rows[0],
        .operands = operands,
    };
    if (!strata_usage_begin(&usage, argc, argv, &code))
        return code;
    if (replayed->rounds == 0 || replayed->rounds > ROUNDS_MOST) {
        strata_message("--repeat can be 1 to %d (see strata replay --help)", ROUNDS_MOST);
        return STRATA_EXIT_USAGE;
    }
    return run(&request);
}
