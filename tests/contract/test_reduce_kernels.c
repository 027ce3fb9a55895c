/* The reduction's kernels themselves: both forms, any local size, any alignment, in pieces: always the same bits. */
#include "contract.h"

#include "reduce_reference.h"

#include "primitives/reduce_plan.h"
#include "strata/program.h"
#include "strata/transfer.h"

#define FORM_GROUP 1
#define FORM_ITEM 2
#define TILES_PER_ITEM 2
#define RECORD_BYTES 16
#define MOST 9001

static strata_device *device;
static strata_queue *queue;
static bool is_slow;
static bool compiles_slowly;
static bool has_groups_that_wait; /* llvmpipe gives wrong results in groups of one work-item; strata asks it for none */

/* What is launched, and where: the scratch holds the tiles' records, and the result goes behind `place` bytes. */
struct trial {
    enum strata_reduce_op op;
    enum strata_type type;
    int form;
    uint64_t local;
    uint64_t offset; /* of the input in its buffer */
    uint64_t count;
    uint64_t tile, tiles; /* elements in one, and how many there are */
    strata_kernel *tile_kernel, *record_kernel;
    strata_kernel *column_kernel, *column_record_kernel, *fused_kernel; /* of the form for GPUs */
    strata_buffer *input, *scratch, *result, *tickets;
    uint32_t tag;
    uint64_t place;
};

static uint64_t local_size(const struct trial *trial, const strata_kernel *kernel) {
    uint64_t most = strata_kernel_get_info(kernel)->max_group_items;
    return trial->form == FORM_ITEM ? 1 : trial->local < most ? trial->local : most;
}

static void launch_tiles(const struct trial *trial, uint64_t first, uint64_t tiles) {
    uint64_t local = local_size(trial, trial->tile_kernel);
    uint64_t groups = trial->form == FORM_ITEM ? (tiles + TILES_PER_ITEM - 1) / TILES_PER_ITEM : tiles;
    CHECK(strata_launch(queue, trial->tile_kernel, strata_grid_local(strata_grid_1d(groups * local), local, 1, 1),
                        STRATA_ARGS(strata_arg_slice(strata_all(trial->input)), strata_arg_u64(trial->offset),
                                    strata_arg_u64(trial->count), strata_arg_u64(first), strata_arg_u64(tiles),
                                    strata_arg_u32(TILES_PER_ITEM), strata_arg_u64(0),
                                    strata_arg_slice(strata_all(trial->scratch)), strata_arg_u64(0),
                                    strata_arg_u64(trial->tiles), strata_arg_slice(strata_all(trial->result)),
                                    strata_arg_u64(trial->place), strata_arg_u32(trial->tiles == 1))));
}

/* The tiles' records are one tile of records here. */
static void launch_records(const struct trial *trial) {
    uint64_t local = local_size(trial, trial->record_kernel);
    CHECK(strata_launch(queue, trial->record_kernel, strata_grid_local(strata_grid_1d(local), local, 1, 1),
                        STRATA_ARGS(strata_arg_slice(strata_all(trial->scratch)), strata_arg_u64(0),
                                    strata_arg_u64(trial->tiles), strata_arg_u64(0), strata_arg_u64(0),
                                    strata_arg_u64(1), strata_arg_slice(strata_all(trial->result)),
                                    strata_arg_u64(trial->place), strata_arg_u32(1))));
}

static uint64_t read_result(const struct trial *trial) {
    uint64_t bits = 0, bytes = strata_type_size(strata_reduce_result_type(trial->op, trial->type));
    CHECK(strata_read(queue, strata_sub(strata_all(trial->result), trial->place, bytes), &bits));
    return bits;
}

/* By groups of a column each, and further launches for their records. */
static uint64_t run_columns(struct trial *trial) {
    struct strata_reduce_plan plan = strata_reduce_plan_make(trial->count, strata_type_size(trial->type));
    uint64_t columns = strata_reduce_columns(&plan);
    strata_arg scratch = strata_arg_slice(strata_all(trial->scratch)),
               result = strata_arg_slice(strata_all(trial->result));
    uint64_t local = local_size(trial, trial->column_kernel);
    CHECK(strata_launch(queue, trial->column_kernel, strata_grid_local(strata_grid_1d(columns * local), local, 1, 1),
                        STRATA_ARGS(strata_arg_slice(strata_all(trial->input)), strata_arg_u64(trial->offset),
                                    strata_arg_u64(trial->count), scratch, strata_arg_u64(columns))));
    local = local_size(trial, trial->column_record_kernel);
    CHECK(strata_launch(
        queue, trial->column_record_kernel, strata_grid_local(strata_grid_1d(plan.records[1] * local), local, 1, 1),
        STRATA_ARGS(scratch, strata_arg_u64(columns), strata_arg_u64(plan.region[1]), strata_arg_u64(plan.records[1]),
                    result, strata_arg_u64(trial->place), strata_arg_u32(plan.levels == 2))));
    local = local_size(trial, trial->record_kernel);
    if (plan.levels == 3)
        CHECK(strata_launch(queue, trial->record_kernel, strata_grid_local(strata_grid_1d(local), local, 1, 1),
                            STRATA_ARGS(scratch, strata_arg_u64(plan.region[1]), strata_arg_u64(plan.records[1]),
                                        strata_arg_u64(0), strata_arg_u64(0), strata_arg_u64(1), result,
                                        strata_arg_u64(trial->place), strata_arg_u32(1))));
    return read_result(trial);
}

/* By groups that wait for each other, again and again with the same tickets. */
static uint64_t run_fused(struct trial *trial) {
    struct strata_reduce_plan plan = strata_reduce_plan_make(trial->count, strata_type_size(trial->type));
    uint64_t columns = strata_reduce_columns(&plan), local = local_size(trial, trial->fused_kernel);
    assert_true(strata_reduce_fused_bytes(&plan) <= strata_buffer_get_info(trial->tickets)->bytes);
    CHECK(strata_launch(queue, trial->fused_kernel, strata_grid_local(strata_grid_1d(columns * local), local, 1, 1),
                        STRATA_ARGS(strata_arg_slice(strata_all(trial->input)), strata_arg_u64(trial->offset),
                                    strata_arg_u64(trial->count), strata_arg_u64(columns),
                                    strata_arg_slice(strata_all(trial->tickets)), strata_arg_u32(++trial->tag),
                                    strata_arg_slice(strata_all(trial->result)), strata_arg_u64(trial->place))));
    return read_result(trial);
}

/* In one launch, or the first tile in a launch of its own. */
static uint64_t run(struct trial *trial, bool split) {
    trial->tiles = (trial->count + trial->tile - 1) / trial->tile;
    if (split && trial->tiles > 1) {
        launch_tiles(trial, 1, trial->tiles - 1);
        launch_tiles(trial, 0, 1);
    } else {
        launch_tiles(trial, 0, trial->tiles);
    }
    if (trial->tiles > 1)
        launch_records(trial);
    return read_result(trial);
}

static void assert_found(const struct trial *trial, const char *how, uint64_t found, uint64_t expected) {
    if (found != expected)
        print_error("operation %d of %llu %s, form %d, %s, local size %llu, offset %llu: %016llx, not %016llx\n",
                    (int)trial->op, (unsigned long long)trial->count, strata_type_name(trial->type), trial->form, how,
                    (unsigned long long)trial->local, (unsigned long long)trial->offset, (unsigned long long)found,
                    (unsigned long long)expected);
    assert_true(found == expected);
}

/* All local sizes with one program, and one or two with each other: PoCL compiles a kernel anew for every local size,
 * so there every other program has to do, too. */
static void try_sizes(struct trial *trial, const char *data) {
    static const uint64_t locals[] = {256, 1, 7, 100, 64, 3, 48, 255, 12, 6};
    static const uint64_t counts[] = {MOST, 1, 6, 4097, 1025, 2049, 2048, 4096, 8192};
    const size_t all = sizeof locals / sizeof *locals;
    bool thorough = trial->op == STRATA_SUM && trial->type == STRATA_F32 && trial->offset == 16;
    size_t local_count = trial->form == FORM_ITEM ? 1 : thorough ? all : trial->offset == 16 ? 2 : 1;
    size_t count_count = is_slow ? 3 : sizeof counts / sizeof *counts;
    size_t begin = thorough ? 0 : (size_t)trial->op + 6 * (size_t)trial->type;
    for (size_t c = 0; c < count_count; c++) {
        uint64_t expected = reference_reduce(trial->op, trial->type, data, counts[c]);
        for (size_t l = 0; l < local_count; l++) {
            trial->count = counts[c];
            trial->local = locals[(begin + l) % all];
            trial->place = (l + c) % 9;
            assert_found(trial, "tiles", run(trial, (begin + l) % 2 != 0), expected);
            if (trial->form == FORM_ITEM || trial->tiles == 1 ||
                (compiles_slowly && !thorough && trial->op != STRATA_ARG_MAX))
                continue;
            if ((l + c) % 2 == 0 || !has_groups_that_wait)
                assert_found(trial, "columns", run_columns(trial), expected);
            else
                assert_found(trial, "fused", run_fused(trial), expected);
        }
    }
}

static strata_program *build(const struct trial *trial, unsigned alignment) {
    char options[160];
    strata_program *program = NULL;
    snprintf(options, sizeof options,
             "-DREDUCE_OPERATION=%d -DREDUCE_TYPE=%d -DREDUCE_ALIGNMENT=%u -DREDUCE_FORM=%d -DREDUCE_FUSED",
             (int)trial->op, (int)trial->type, alignment, trial->form);
    CHECK(strata_program_build(device, STRATA_PROGRAM(.embedded = "reduce.cl", .options = options), &program));
    return program;
}

static void find_kernels(struct trial *trial, strata_program *program) {
    CHECK(strata_program_kernel(program, "reduce_tiles", &trial->tile_kernel));
    CHECK(strata_program_kernel(program, "reduce_records", &trial->record_kernel));
    if (trial->form == FORM_ITEM)
        return;
    CHECK(strata_program_kernel(program, "reduce_columns", &trial->column_kernel));
    CHECK(strata_program_kernel(program, "reduce_column_records", &trial->column_record_kernel));
    CHECK(strata_program_kernel(program, "reduce_fused", &trial->fused_kernel));
}

/* One program, over data that begins `offset` bytes into its buffer. */
static void try_program(struct trial *trial, unsigned alignment, const char *data) {
    static char moved[MOST * 8 + 64];
    strata_program *program = build(trial, alignment);
    size_t bytes = MOST * strata_type_size(trial->type);
    find_kernels(trial, program);
    trial->offset = alignment;
    memset(moved, 0, sizeof moved);
    memcpy(moved + trial->offset, data, bytes);
    CHECK(strata_write(queue, strata_all(trial->input), moved));
    try_sizes(trial, data);
    strata_program_destroy(&program);
}

static strata_buffer *create(uint64_t bytes) {
    strata_buffer *buffer = NULL;
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = bytes), &buffer));
    return buffer;
}

/* All zero, as a launch leaves the tickets. */
static strata_buffer *create_tickets(uint64_t columns, uint64_t record_tiles) {
    strata_buffer *tickets = create(sizeof(uint32_t) * STRATA_REDUCE_TICKETS + 32 * (columns + record_tiles));
    CHECK(strata_fill(queue, strata_all(tickets), "", 1));
    return tickets;
}

static void assert_tickets_are_left_zero(const struct trial *trial) {
    uint32_t found[STRATA_REDUCE_TICKETS];
    CHECK(strata_read(queue, strata_sub(strata_all(trial->tickets), 0, sizeof found), found));
    for (size_t i = 0; i < STRATA_REDUCE_TICKETS; i++)
        assert_int_equal(found[i], 0);
}

static void try_form(int form, enum strata_type type) {
    static uint64_t data[MOST];
    const bool has_f64 = strata_device_get_info(device)->fp64;
    struct trial trial = {.type = type, .form = form, .tile = REFERENCE_TILE_BYTES / strata_type_size(type)};
    if (type == STRATA_F64 && !has_f64)
        return;
    trial.input = create(MOST * 8 + 64);
    trial.scratch = create(RECORD_BYTES * 64);
    trial.result = create(64);
    trial.tickets = create_tickets(64, 1);
    reference_fill(type == STRATA_F32 ? REFERENCE_WIDE : REFERENCE_NANS, type, data, MOST, 23);
    for (int op = STRATA_SUM; op <= STRATA_ARG_MAX; op++) {
        if (compiles_slowly && (op + (int)type) % 2 != 0)
            continue;
        unsigned element = (unsigned)strata_type_size(type);
        trial.op = (enum strata_reduce_op)op;
        try_program(&trial, form == FORM_GROUP ? 16 : element, (const char *)data);
        if (form == FORM_GROUP && op % 3 == 0 && !is_slow)
            try_program(&trial, element, (const char *)data);
        if (op % 3 == 1)
            try_program(&trial, 1, (const char *)data);
    }
    assert_tickets_are_left_zero(&trial);
    strata_buffer_destroy(&trial.input);
    strata_buffer_destroy(&trial.scratch);
    strata_buffer_destroy(&trial.result);
    strata_buffer_destroy(&trial.tickets);
}

static void the_group_form_takes_any_local_size(void **state) {
    (void)state;
    for (int type = STRATA_I32; type <= STRATA_F64; type++)
        try_form(FORM_GROUP, (enum strata_type)type);
}

/* Several tiles of records: full ones, one that ends within its first row, and one that ends within its last. */
static void columns_of_large_input(void **state) {
    (void)state;
    static const uint64_t tile_counts[] = {2048 + 3, 2048 * 2 + 1700, 2048 * 5 + 513};
    static const enum strata_reduce_op ops[] = {STRATA_SUM, STRATA_ARG_MIN};
    enum { TILE = 2048, LEFT = 5 };
    if (is_slow) {
        print_message("skipped: this would take an hour\n");
        skip();
    }
    const uint64_t most = tile_counts[2] * TILE;
    int64_t *data = malloc(most * sizeof *data);
    assert_non_null(data);
    reference_fill(REFERENCE_NANS, STRATA_I64, data, most, 31);
    struct trial trial = {.type = STRATA_I64, .form = FORM_GROUP, .tile = TILE, .local = 64};
    trial.input = create(most * sizeof *data);
    trial.scratch = create(RECORD_BYTES * (tile_counts[2] + 64));
    trial.result = create(64);
    trial.tickets = create_tickets(6 * 512, 6);
    CHECK(strata_write(queue, strata_all(trial.input), data));
    for (size_t o = 0; o < 2; o++) {
        trial.op = ops[o];
        strata_program *program = build(&trial, 16);
        find_kernels(&trial, program);
        for (size_t c = 0; c < 3; c++) {
            trial.count = (tile_counts[c] - 1) * TILE + LEFT;
            uint64_t expected = reference_reduce(trial.op, trial.type, data, trial.count);
            assert_found(&trial, "columns", run_columns(&trial), expected);
            if (has_groups_that_wait)
                assert_found(&trial, "fused", run_fused(&trial), expected);
        }
        strata_program_destroy(&program);
    }
    assert_tickets_are_left_zero(&trial);
    strata_buffer_destroy(&trial.input);
    strata_buffer_destroy(&trial.scratch);
    strata_buffer_destroy(&trial.result);
    strata_buffer_destroy(&trial.tickets);
    free(data);
}

/* strata does not use it on llvmpipe, whose compiler takes seconds for each of these, nor on GPUs, whose compilers take
 * as long. */
static void the_item_form_gives_the_same(void **state) {
    (void)state;
    const struct strata_device_info *info = strata_device_get_info(device);
    if (strstr(info->platform, "rusticl"))
        skip();
    for (int type = STRATA_I32; type <= STRATA_F64; type++)
        if (info->type == STRATA_DEVICE_CPU || type == STRATA_F32)
            try_form(FORM_ITEM, (enum strata_type)type);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_group_form_takes_any_local_size),
        cmocka_unit_test(columns_of_large_input),
        cmocka_unit_test(the_item_form_gives_the_same),
    };
    device = contract_open();
    if (!device)
        return CONTRACT_SKIPPED;
    queue = strata_device_queue(device);
    is_slow = contract_is_slow(device);
    const char *platform = strata_device_get_info(device)->platform;
    compiles_slowly = strstr(platform, "Portable Computing Language") || strstr(platform, "NVIDIA");
    has_groups_that_wait = strstr(platform, "rusticl") == NULL;
    int failed = cmocka_run_group_tests_name("reduce_kernels", tests, NULL, NULL);
    strata_device_close(&device);
    return failed;
}
