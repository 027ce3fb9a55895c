/* The command reduce: a file of numbers of any size becomes one value, with reading and the device at work together. */
#include "cli/command.h"
#include "cli/input.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "core/error.h"

#include "strata/primitives.h"
#include "strata/transfer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* A piece is read while the one before it is on its way. Larger ones bring nothing and leave the caches of CPUs. */
#define PIECE_BYTES ((uint64_t)4 << 20)

/* Of the device's memory. */
#define MEMORY_SHARE 4

#define SLOTS 2

struct request {
    const char *path;
    int op;   /* enum strata_reduce_op */
    int type; /* enum strata_type, or 0 when not given */
    bool json;
    const char *selector;
};

union value {
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
    float f32;
    double f64;
};

/* Host memory that a piece is read into, and the event after which the device needs it no more. */
struct slot {
    strata_buffer *pinned;
    strata_event *sent;
};

struct work {
    const struct request *request;
    struct strata_input input;
    enum strata_type type;
    uint64_t count;
    strata_device *device;
    strata_queue *queue;
    strata_reducer *reducer;
    strata_buffer *piece; /* on the device */
    uint64_t piece_bytes;
    struct slot slots[SLOTS];
    union value result;
    union value element; /* the one that an arg-min or arg-max found */
    bool has_element;
    double seconds;
};

static const struct strata_choice operations[] = {{"sum", STRATA_SUM},
                                                  {"product", STRATA_PRODUCT},
                                                  {"min", STRATA_MIN},
                                                  {"max", STRATA_MAX},
                                                  {"arg-min", STRATA_ARG_MIN},
                                                  {"arg-max", STRATA_ARG_MAX},
                                                  {NULL, 0}};

static const struct strata_choice types[] = {{"i32", STRATA_I32},
                                             {"u32", STRATA_U32},
                                             {"i64", STRATA_I64},
                                             {"u64", STRATA_U64},
                                             {"f32", STRATA_F32},
                                             {"f64", STRATA_F64},
                                             {NULL, 0}};

static const char *operation_name(int op) {
    const struct strata_choice *choice = operations;
    while (choice->value != op)
        choice++;
    return choice->name;
}

static bool finds_index(int op) {
    return op == STRATA_ARG_MIN || op == STRATA_ARG_MAX;
}

/* The type of a .npy file's elements, or 0 for one that reductions do not take. */
static enum strata_type npy_type(const struct strata_npy *npy) {
    if (npy->size == 4)
        return npy->kind == 'i' ? STRATA_I32 : npy->kind == 'u' ? STRATA_U32 : STRATA_F32;
    if (npy->size == 8)
        return npy->kind == 'i' ? STRATA_I64 : npy->kind == 'u' ? STRATA_U64 : STRATA_F64;
    return (enum strata_type)0;
}

static enum strata_status accept_npy(struct work *work) {
    const struct strata_npy *npy = &work->input.npy;
    const char *path = work->input.label;
    work->type = npy_type(npy);
    if (work->type == 0)
        return strata_fail(STRATA_IO,
                           "%s: its elements are integers of %u bits, and reductions take those of 32 and 64; convert "
                           "the array with astype('%sint32')",
                           path, (unsigned)npy->size * 8, npy->kind == 'u' ? "u" : "");
    if (work->request->type != 0 && (int)work->type != work->request->type)
        return strata_fail(STRATA_INVALID_ARGUMENT,
                           "%s is a .npy file of %s, which --type %s contradicts; leave it out", path,
                           strata_type_name(work->type), strata_type_name((enum strata_type)work->request->type));
    if (finds_index(work->request->op) && npy->fortran_order && npy->dimensions > 1)
        return strata_fail(STRATA_IO,
                           "%s: the array is stored column by column (fortran_order), so that the index would be none "
                           "of the array's; save it again with numpy.ascontiguousarray",
                           path);
    return STRATA_OK;
}

static enum strata_status accept_raw(struct work *work) {
    work->type = (enum strata_type)work->request->type;
    if (work->request->type == 0)
        return strata_fail(STRATA_INVALID_ARGUMENT, "%s is a raw file, so --type T must say what its elements are",
                           work->input.label);
    return strata_input_set_element(&work->input, (uint32_t)strata_type_size(work->type));
}

/* Finds out what is in the file, before a device is asked for. */
static enum strata_status accept(struct work *work) {
    enum strata_status status = work->input.is_npy ? accept_npy(work) : accept_raw(work);
    if (status != STRATA_OK)
        return status;
    work->count = strata_input_count(&work->input);
    if (work->count == STRATA_UNKNOWN)
        return strata_fail(STRATA_IO,
                           "%s: a pipe of raw numbers does not tell how many will come; reduce a file, or "
                           "pipe a .npy file",
                           work->input.label);
    if (work->count == 0 && work->request->op != STRATA_SUM && work->request->op != STRATA_PRODUCT)
        return strata_fail(STRATA_IO, "%s: it has no elements, and the %s of nothing is no value", work->input.label,
                           operation_name(work->request->op));
    return STRATA_OK;
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Whole tiles: at least one, and no more than all data needs. */
static uint64_t choose_piece(const struct strata_device_info *info, uint64_t data_bytes) {
    const uint64_t tile = STRATA_REDUCER_TILE_BYTES;
    uint64_t bytes = least(PIECE_BYTES, least(info->global_bytes / MEMORY_SHARE, info->max_buffer_bytes));
    if (data_bytes < bytes)
        bytes = data_bytes + tile - 1;
    return bytes < tile ? tile : bytes - bytes % tile;
}

static void log_message(enum strata_log_level level, const char *message, void *user) {
    (void)level;
    (void)user;
    strata_message("%s", message);
}

/* Builds the kernels, by a reduction of one element, so that the time that is told is the data's own. */
static enum strata_status prepare(struct work *work) {
    const union value zero = {0};
    union value unused;
    strata_slice one = strata_sub(strata_all(work->piece), 0, strata_type_size(work->type));
    enum strata_status status = strata_fill(work->queue, one, &zero, (size_t)one.bytes);
    if (status == STRATA_OK)
        status = strata_reduce(
            work->queue,
            STRATA_REDUCE(.op = (enum strata_reduce_op)work->request->op, .type = work->type, .input = one), &unused);
    return status;
}

static enum strata_status open_device(struct work *work) {
    enum strata_status status =
        strata_device_open(work->request->selector, STRATA_DEVICE_DESC(.log = log_message), &work->device);
    if (status != STRATA_OK)
        return status;
    work->queue = strata_device_queue(work->device);
    work->piece_bytes = choose_piece(strata_device_get_info(work->device), work->input.total_bytes);
    status = strata_reducer_create(work->device, (enum strata_reduce_op)work->request->op, work->type, work->count,
                                   &work->reducer);
    if (status == STRATA_OK)
        status = strata_buffer_create(work->device, STRATA_BUFFER(.bytes = work->piece_bytes, .name = "piece"),
                                      &work->piece);
    for (size_t i = 0; status == STRATA_OK && i < SLOTS; i++)
        status = strata_buffer_create(
            work->device, STRATA_BUFFER(.kind = STRATA_PINNED, .bytes = work->piece_bytes, .name = "staging"),
            &work->slots[i].pinned);
    return status == STRATA_OK && work->count > 0 ? prepare(work) : status;
}

/* Reads the next piece and sends it on its way; *bytes is 0 at the end. */
static enum strata_status pass_piece(struct work *work, struct slot *slot, size_t *bytes) {
    enum strata_status status = STRATA_OK;
    if (slot->sent != NULL)
        status = strata_event_wait(slot->sent);
    strata_event_destroy(&slot->sent);
    void *memory = strata_buffer_get_info(slot->pinned)->host_pointer;
    if (status == STRATA_OK)
        status = strata_input_read(&work->input, memory, (size_t)work->piece_bytes, bytes);
    if (status != STRATA_OK || *bytes == 0)
        return status;
    strata_slice slice = strata_sub(strata_all(work->piece), 0, *bytes);
    status = strata_write_async(work->queue, slice, memory, &slot->sent);
    if (status == STRATA_OK)
        status = strata_reducer_feed(work->reducer, work->queue, slice);
    return status == STRATA_OK ? strata_queue_flush(work->queue) : status;
}

static double now_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static enum strata_status stream(struct work *work) {
    struct strata_progress progress;
    size_t bytes = 1;
    double begun = now_seconds();
    enum strata_status status = STRATA_OK;
    strata_progress_begin(&progress, operation_name(work->request->op), work->input.total_bytes, STRATA_PROGRESS_BYTES);
    for (size_t turn = 0; status == STRATA_OK && bytes != 0; turn++) {
        status = pass_piece(work, &work->slots[turn % SLOTS], &bytes);
        strata_progress_update(&progress, work->input.done_bytes);
    }
    if (status == STRATA_OK)
        status = strata_reducer_finish(work->reducer, work->queue, &work->result);
    strata_progress_end(&progress);
    work->seconds = now_seconds() - begun;
    return status;
}

/* The device may still read from the pinned memory when something failed half way. */
static void close_all(struct work *work) {
    if (work->queue != NULL)
        (void)strata_queue_finish(work->queue);
    for (size_t i = 0; i < SLOTS; i++) {
        strata_event_destroy(&work->slots[i].sent);
        strata_buffer_destroy(&work->slots[i].pinned);
    }
    strata_buffer_destroy(&work->piece);
    strata_reducer_destroy(&work->reducer);
    strata_device_close(&work->device);
    strata_input_close(&work->input);
}

static json_t *value_json(const union value *value, enum strata_type type) {
    switch (type) {
    case STRATA_I32:
        return json_integer(value->i32);
    case STRATA_U32:
        return strata_json_u64(value->u32);
    case STRATA_I64:
        return json_integer(value->i64);
    case STRATA_U64:
        return strata_json_u64(value->u64);
    case STRATA_F32:
        return strata_json_f32(value->f32);
    case STRATA_F64:
        return strata_json_f64(value->f64);
    }
    return NULL;
}

static char *value_text(const union value *value, enum strata_type type, char *text) {
    switch (type) {
    case STRATA_I32:
        snprintf(text, STRATA_NUMBER_TEXT, "%" PRId32, value->i32);
        break;
    case STRATA_U32:
        snprintf(text, STRATA_NUMBER_TEXT, "%" PRIu32, value->u32);
        break;
    case STRATA_I64:
        snprintf(text, STRATA_NUMBER_TEXT, "%" PRId64, value->i64);
        break;
    case STRATA_U64:
        snprintf(text, STRATA_NUMBER_TEXT, "%" PRIu64, value->u64);
        break;
    case STRATA_F32:
        return strata_format_f32(value->f32, text);
    case STRATA_F64:
        return strata_format_f64(value->f64, text);
    }
    return text;
}

static double rate(const struct work *work) {
    return work->seconds > 0 ? (double)work->input.total_bytes / work->seconds / 1e9 : 0;
}

static int print_json(const struct work *work) {
    enum strata_type result_type = strata_reduce_result_type((enum strata_reduce_op)work->request->op, work->type);
    const char *device = strata_device_get_info(work->device)->name;
    json_t *root = json_pack("{s:o, s:o, s:s, s:s, s:s, s:o, s:o, s:o}",                          //
                             "result", value_json(&work->result, result_type),                    //
                             "count", strata_json_u64(work->count),                               //
                             "op", operation_name(work->request->op),                             //
                             "type", strata_type_name(work->type),                                //
                             "result_type", strata_type_name(result_type),                        //
                             "seconds", strata_json_f64(work->seconds),                           //
                             "gbps", work->count > 0 ? strata_json_f64(rate(work)) : json_null(), //
                             "device", strata_json_string(device));
    if (root != NULL && finds_index(work->request->op)) {
        json_t *element = work->has_element ? value_json(&work->element, work->type) : json_null();
        if (json_object_set_new(root, "value", element) != 0) {
            json_decref(root);
            root = NULL;
        }
    }
    return strata_json_write(root, NULL);
}

static int print_text(const struct work *work) {
    enum strata_type result_type = strata_reduce_result_type((enum strata_reduce_op)work->request->op, work->type);
    char number[STRATA_NUMBER_TEXT], second[STRATA_NUMBER_TEXT];
    struct strata_table table;
    struct strata_text text = {0};
    strata_table_begin(&table, "ll");
    strata_table_cell(&table, operation_name(work->request->op));
    strata_table_cell(&table, value_text(&work->result, result_type, number));
    if (work->has_element) {
        strata_table_cell(&table, "value");
        strata_table_cell(&table, value_text(&work->element, work->type, number));
    }
    strata_table_cell(&table, "count");
    strata_table_cellf(&table, "%" PRIu64, work->count);
    strata_table_cell(&table, "type");
    strata_table_cellf(&table, "%s, result %s", strata_type_name(work->type), strata_type_name(result_type));
    strata_table_cell(&table, "time");
    strata_table_cellf(&table, "%s s, %s GB/s", strata_format_fixed(work->seconds, 6, number),
                       work->count > 0 ? strata_format_fixed(rate(work), 2, second) : "n/a");
    strata_table_cell(&table, "device");
    strata_table_cell(&table, strata_device_get_info(work->device)->name);
    strata_table_end(&table, &text);
    return strata_output_text(&text);
}

static enum strata_status run(struct work *work) {
    enum strata_status status = strata_input_open(&work->input, work->request->path);
    if (status == STRATA_OK)
        status = accept(work);
    if (status == STRATA_OK)
        status = open_device(work);
    if (status == STRATA_OK)
        status = stream(work);
    if (status == STRATA_OK && finds_index(work->request->op))
        work->has_element = strata_input_element(&work->input, work->result.u64, &work->element);
    return status;
}

static const char notes[] =
    "A file that begins as .npy files do is read as one, whatever its name: its header tells type, shape and byte "
    "order. "
    "Any other file is raw numbers in this machine's byte order. Files may be larger than the device's memory.\n"
    "\n"
    "Integer sums and products have 64 bits and wrap beyond. A NaN in the input makes the result NaN, and is what "
    "arg-min and arg-max find first. The sum of an empty file is 0, its product 1. In JSON, NaN and the infinities are "
    "the strings \"NaN\", \"Infinity\" and \"-Infinity\". The time is that of reading and reducing, without the "
    "preparation of the device.";

int strata_command_reduce(int argc, char **argv) {
    struct request request = {0};
    int code = STRATA_EXIT_DONE;
    const struct strata_option rows[] = {
        {.name = "op",
         .letter = 'o',
         .kind = STRATA_OPTION_CHOICE,
         .target = &request.op,
         .choices = operations,
         .value = "OP",
         .required = true,
         .help = "what to compute: sum, product, min, max, arg-min or arg-max"},
        {.name = "type",
         .letter = 't',
         .kind = STRATA_OPTION_CHOICE,
         .target = &request.type,
         .choices = types,
         .value = "T",
         .help = "the elements of a raw file: i32, u32, i64, u64, f32 or f64"},
        {.name = "device",
         .letter = 'd',
         .kind = STRATA_OPTION_TEXT,
         .target = &request.selector,
         .value = "SEL",
         .help = STRATA_DEVICE_HELP},
        {.name = "json", .kind = STRATA_OPTION_FLAG, .target = &request.json, .help = "write JSON"},
    };
    const struct strata_operand operands[] = {
        {.name = "FILE", .target = &request.path, .required = true, .help = "the file, or - for standard input"}, {0}};
    const struct strata_usage usage = {
        .command = "strata reduce",
        .summary = "Reduces a file of numbers to one value.",
        .notes = notes,
        .rows = rows,
        .count = sizeof rows / sizeof rows[0],
        .operands = operands,
    };
    if (!strata_usage_begin(&usage, argc, argv, &code))
        return code;
    struct work work = {.request = &request};
    if (run(&work) != STRATA_OK)
        code = strata_report();
    else
        code = request.json ? print_json(&work) : print_text(&work);
    close_all(&work);
    return code;
}
