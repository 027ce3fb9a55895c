/* Every kernel of strata's own set with small inputs, in the forms for GPUs and for CPU devices alike: made to run
 * under a checker for data races and uninitialized memory as well. */
#include "launching.h"

#include "primitives/reduce_plan.h"
#include "reduce_reference.h"
#include "strata/primitives.h"

static strata_device *device;
static strata_queue *queue;

/* Mesa's llvmpipe can take minutes for one of these kernels. */
static bool is_llvmpipe(void) {
    return strstr(strata_device_get_info(device)->name, "llvmpipe") != NULL;
}

/* Real compilers take seconds for each reduction, and the test of reductions has them all: there, some of the pairs in
 * which each operation and each type occurs. */
static bool is_tried(enum strata_reduce_op op, enum strata_type type) {
    if (type == STRATA_F64 && !strata_device_get_info(device)->fp64)
        return false;
    if (is_llvmpipe())
        return op == STRATA_MAX && type == STRATA_U32;
    return contract_is_slow(device) || ((unsigned)op + (unsigned)type) % 6 == 0;
}

/* Set for a check that cannot follow vectors: see run_on.py. */
static bool is_scalar_only(void) {
    return getenv("STRATA_TEST_SCALAR") != NULL;
}

static strata_buffer *bytes(uint64_t count) {
    strata_buffer *buffer = NULL;
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = count, .name = "bytes"), &buffer));
    return buffer;
}

static void assert_bits(uint64_t found, enum strata_reduce_op op, enum strata_type type, const void *data,
                        size_t count) {
    uint64_t expected = reference_reduce(op, type, data, count);
    if (found != expected)
        fail_msg("operation %d of %zu %s: %016llx, expected %016llx", (int)op, count, strata_type_name(type),
                 (unsigned long long)found, (unsigned long long)expected);
}

static uint64_t reduce(strata_slice slice, enum strata_reduce_op op, enum strata_type type) {
    uint64_t bits = 0;
    CHECK(strata_reduce(queue, STRATA_REDUCE(.op = op, .type = type, .input = slice), &bits));
    return bits;
}

/* The form that the device takes by itself, for one tile and for several, at the start and at an odd byte. */
static void reductions(void **state) {
    (void)state;
    static const size_t counts[] = {1, 2, 3, 7, 255, 1001, 4099};
    enum { MOST = 4099, BUFFER = MOST * 8 + 1 };
    size_t last = sizeof counts / sizeof counts[0] - is_scalar_only(); /* a full tile is read in vectors */
    char *data = malloc(BUFFER), *padded = calloc(1, BUFFER);
    strata_buffer *buffer = bytes(BUFFER);
    assert_non_null(data);
    assert_non_null(padded);
    for (int t = STRATA_I32; t <= STRATA_F64; t++) {
        enum strata_type type = (enum strata_type)t;
        size_t size = strata_type_size(type);
        reference_fill(REFERENCE_UNIFORM, type, data, MOST, (uint64_t)t);
        for (unsigned offset = 0; offset < 2; offset++) {
            strata_slice slice = strata_sub(strata_all(buffer), offset, MOST * size);
            /* From byte 0 on: Oclgrind loses track of what is written to an odd place. */
            memmove(padded + offset, data, MOST * size);
            CHECK(strata_write(queue, strata_sub(strata_all(buffer), 0, offset + MOST * size), padded));
            for (int o = STRATA_SUM; o <= STRATA_ARG_MAX; o++) {
                enum strata_reduce_op op = (enum strata_reduce_op)o;
                for (size_t i = offset ? 5 : 0; i < last && is_tried(op, type); i++)
                    assert_bits(reduce(strata_sub(slice, 0, counts[i] * size), op, type), op, type, data, counts[i]);
            }
        }
    }
    strata_buffer_destroy(&buffer);
    free(padded);
    free(data);
}

struct tiles {
    strata_program *program;
    strata_buffer *input, *scratch, *result;
    enum strata_reduce_op op;
    enum strata_type type;
};

/* One group per tile with `items` work-items each, and then one group for the tiles' records. */
static void assert_groups(const struct tiles *tiles, const void *data, size_t count, uint64_t items) {
    uint64_t per_tile = STRATA_REDUCER_TILE_BYTES / strata_type_size(tiles->type);
    uint64_t tile_count = (count + per_tile - 1) / per_tile, bits = 0;
    strata_arg zero = strata_arg_u64(0), scratch = whole(tiles->scratch), result = whole(tiles->result);
    CHECK(strata_launch(queue, kernel_of(tiles->program, "reduce_tiles"),
                        strata_grid_local(strata_grid_1d(tile_count * items), items, 1, 1),
                        STRATA_ARGS(whole(tiles->input), zero, strata_arg_u64(count), zero, strata_arg_u64(tile_count),
                                    strata_arg_u32(1), zero, scratch, zero, strata_arg_u64(tile_count), result, zero,
                                    strata_arg_u32(tile_count == 1))));
    if (tile_count > 1)
        CHECK(strata_launch(queue, kernel_of(tiles->program, "reduce_records"),
                            strata_grid_local(strata_grid_1d(items), items, 1, 1),
                            STRATA_ARGS(scratch, zero, strata_arg_u64(tile_count), zero, zero, strata_arg_u64(1),
                                        result, zero, strata_arg_u32(1))));
    size_t size = strata_type_size(strata_reduce_result_type(tiles->op, tiles->type));
    CHECK(strata_read(queue, strata_sub(strata_all(tiles->result), 0, size), &bits));
    assert_bits(bits, tiles->op, tiles->type, data, count);
}

/* Groups that take a column's tiles, and one group for what they leave. */
static void assert_columns(const struct tiles *tiles, const void *data, size_t count, uint64_t items) {
    size_t size = strata_type_size(strata_reduce_result_type(tiles->op, tiles->type));
    struct strata_reduce_plan plan = strata_reduce_plan_make(count, strata_type_size(tiles->type));
    uint64_t columns = strata_reduce_columns(&plan), bits = 0;
    strata_arg zero = strata_arg_u64(0), scratch = whole(tiles->scratch), result = whole(tiles->result);
    CHECK(
        strata_launch(queue, kernel_of(tiles->program, "reduce_columns"),
                      strata_grid_local(strata_grid_1d(columns * items), items, 1, 1),
                      STRATA_ARGS(whole(tiles->input), zero, strata_arg_u64(count), scratch, strata_arg_u64(columns))));
    CHECK(strata_launch(
        queue, kernel_of(tiles->program, "reduce_column_records"),
        strata_grid_local(strata_grid_1d(items), items, 1, 1),
        STRATA_ARGS(scratch, strata_arg_u64(columns), zero, strata_arg_u64(1), result, zero, strata_arg_u32(1))));
    CHECK(strata_read(queue, strata_sub(strata_all(tiles->result), 0, size), &bits));
    assert_bits(bits, tiles->op, tiles->type, data, count);
}

static strata_program *reduce_program(enum strata_reduce_op op, enum strata_type type, unsigned alignment) {
    char options[128];
    snprintf(options, sizeof options, "-DREDUCE_FORM=1 -DREDUCE_OPERATION=%d -DREDUCE_TYPE=%d -DREDUCE_ALIGNMENT=%u",
             (int)op, (int)type, alignment);
    return build_with(device, STRATA_PROGRAM(.embedded = "reduce.cl", .options = options));
}

/* The form for GPUs on every device, with local sizes that do and do not divide its 256 lanes. */
static void reductions_by_groups(void **state) {
    (void)state;
    static const size_t counts[] = {1, 5, 1001, 2 * 4096 + 77};
    static const uint64_t sizes[] = {1, 12, 24, 32};
    enum { MOST = 2 * 4096 + 77 };
    if (is_llvmpipe())
        skip();
    char *data = malloc(MOST * 8);
    assert_non_null(data);
    struct tiles tiles = {.input = bytes(MOST * 8), .scratch = bytes(4096), .result = bytes(16)};
    for (int t = STRATA_I32; t <= STRATA_F64; t++) {
        tiles.type = (enum strata_type)t;
        size_t size = strata_type_size(tiles.type);
        reference_fill(REFERENCE_UNIFORM, tiles.type, data, MOST, 50 + (uint64_t)t);
        CHECK(strata_write(queue, strata_sub(strata_all(tiles.input), 0, MOST * size), data));
        for (int op = STRATA_SUM; op <= STRATA_ARG_MAX; op++) {
            tiles.op = (enum strata_reduce_op)op;
            if (!is_tried(tiles.op, tiles.type))
                continue;
            /* Each of the three kinds of loads with some of the operations. */
            tiles.program = reduce_program(tiles.op, tiles.type, op % 3 == 0 ? 1 : op % 3 == 1 ? 16 : (unsigned)size);
            for (size_t i = 0; i < sizeof counts / sizeof counts[0] - is_scalar_only(); i++)
                assert_groups(&tiles, data, counts[i], sizes[((size_t)op + (size_t)t + i) % 4]);
            if (!is_scalar_only())
                assert_columns(&tiles, data, MOST, sizes[(size_t)op % 4]);
            strata_program_destroy(&tiles.program);
        }
    }
    strata_buffer_destroy(&tiles.input);
    strata_buffer_destroy(&tiles.scratch);
    strata_buffer_destroy(&tiles.result);
    free(data);
}

#define WEYL 0x9e3779b9u
#define SEED 77u
#define KEEP 0x007fffffu
#define SET 0x3f800000u

static uint32_t bench_word(uint32_t index, uint32_t keep, uint32_t set) {
    uint32_t value = index * WEYL + SEED;
    value ^= value << 13;
    value ^= value >> 17;
    value ^= value << 5;
    return (value & keep) | set;
}

/* The two forms of the bench kernels: how many work-items a group has, and how many words a vector of global and one of
 * local memory. */
struct form {
    const char *file;
    uint32_t items, vector, local_vector;
};
static const struct form forms[] = {{"bench.cl", 16, 4, 1}, {"bench_blocked.cl", 1, 16, 16}};

#define GROUPS 3
#define STEPS 2
#define SLOTS 2

static strata_grid groups_of(const struct form *form) {
    return strata_grid_local(strata_grid_1d(GROUPS * form->items), form->items, 1, 1);
}

static void assert_words(strata_buffer *buffer, uint32_t count) {
    uint32_t *found = malloc(count * sizeof *found);
    assert_non_null(found);
    CHECK(strata_read(queue, strata_all(buffer), found));
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(found[i], bench_word(i, KEEP, SET));
    free(found);
}

/* The sum of the words that one work-item left: one, or a vector. */
static uint32_t folded(strata_buffer *sums, uint32_t index, uint32_t width) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < width; i++)
        sum += word(queue, sums, index * width + i);
    return sum;
}

static void check_global(const struct form *form, strata_program *program) {
    uint32_t per_group = STEPS * 4 * form->items * form->vector, count = GROUPS * per_group;
    strata_buffer *input = words(device, count, 0), *output = words(device, count, 0),
                  *sums = words(device, GROUPS * form->local_vector, 0);
    CHECK(strata_launch(queue, kernel_of(program, "bench_write"), groups_of(form),
                        STRATA_ARGS(whole(input), strata_arg_u32(STEPS), strata_arg_u32(SEED), strata_arg_u32(KEEP),
                                    strata_arg_u32(SET))));
    assert_words(input, count);
    CHECK(strata_launch(queue, kernel_of(program, "bench_copy"), groups_of(form),
                        STRATA_ARGS(whole(output), whole(input), strata_arg_u32(STEPS))));
    assert_words(output, count);
    CHECK(strata_launch(queue, kernel_of(program, "bench_read"), groups_of(form),
                        STRATA_ARGS(whole(input), strata_arg_u32(STEPS), whole(sums))));
    for (uint32_t group = 0; group < GROUPS; group++) {
        uint32_t sum = 0;
        for (uint32_t i = 0; i < per_group; i++)
            sum += bench_word(group * per_group + i, KEEP, SET);
        assert_int_equal(folded(sums, group, form->local_vector), sum);
    }
    for (uint32_t stride = 1; stride <= 4; stride += 3) {
        uint32_t each = 2;
        CHECK(strata_launch(queue, kernel_of(program, "bench_stride"), groups_of(form),
                            STRATA_ARGS(whole(input), strata_arg_u32(each), strata_arg_u32(stride), whole(sums))));
        for (uint32_t group = 0; group < GROUPS; group++) {
            uint32_t sum = 0;
            for (uint32_t i = 0; i < each * form->items; i++)
                sum += bench_word((group * each * form->items + i) * stride, KEEP, SET);
            assert_int_equal(word(queue, sums, group), sum);
        }
    }
    strata_buffer_destroy(&input);
    strata_buffer_destroy(&output);
    strata_buffer_destroy(&sums);
}

static void check_local(const struct form *form, strata_program *program) {
    enum { ROUNDS = 3 };
    strata_buffer *sums = words(device, GROUPS * form->items * form->local_vector, 0);
    CHECK(strata_launch(queue, kernel_of(program, "bench_local"), groups_of(form),
                        STRATA_ARGS(strata_arg_u32(SLOTS), strata_arg_u32(ROUNDS), strata_arg_u32(SEED), whole(sums))));
    for (uint32_t i = 0; i < GROUPS * form->items; i++) {
        uint32_t neighbour = (i + 1) % form->items, sum = 0;
        for (uint32_t slot = 0; slot < SLOTS; slot++)
            for (uint32_t lane = 0; lane < form->local_vector; lane++)
                sum += bench_word((slot * form->items + neighbour) * form->local_vector + lane, UINT32_MAX, 0) +
                       (0 + 1 + 2) * WEYL;
        assert_int_equal(folded(sums, i, form->local_vector), sum);
    }
    strata_buffer_destroy(&sums);
}

static void bench_kernels(void **state) {
    (void)state;
    if (is_scalar_only() || is_llvmpipe())
        skip();
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        char options[32];
        snprintf(options, sizeof options, "-DLOCAL_SLOTS=%d", SLOTS);
        strata_program *program = build_with(device, STRATA_PROGRAM(.embedded = forms[i].file, .options = options));
        check_global(&forms[i], program);
        check_local(&forms[i], program);
        strata_program_destroy(&program);
    }
}

static void bench_constants(void **state) {
    (void)state;
    enum { ENTRIES = 16, ROUNDS = 3, ITEMS = 24 };
    static const char *const names[] = {"bench_constant_same", "bench_constant_different"};
    uint32_t host[ENTRIES], sum = 0;
    strata_program *program = build_with(device, STRATA_PROGRAM(.embedded = "bench_constant.cl"));
    strata_buffer *table = words(device, ENTRIES, 0), *sums = words(device, ITEMS, 0);
    contract_random(host, sizeof host, 3);
    CHECK(strata_write(queue, strata_all(table), host));
    for (int i = 0; i < ENTRIES; i++)
        sum += host[i] * ROUNDS;
    for (int k = 0; k < 2; k++) {
        CHECK(strata_fill(queue, strata_all(sums), "none", 4));
        CHECK(strata_launch(queue, kernel_of(program, names[k]), strata_grid_local(strata_grid_1d(ITEMS), 8, 1, 1),
                            STRATA_ARGS(whole(table), strata_arg_u32(ENTRIES), strata_arg_u32(ROUNDS), whole(sums))));
        for (size_t i = 0; i < ITEMS; i++)
            assert_int_equal(word(queue, sums, i), sum);
    }
    strata_buffer_destroy(&table);
    strata_buffer_destroy(&sums);
    strata_program_destroy(&program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions),
        cmocka_unit_test(reductions_by_groups),
        cmocka_unit_test(bench_kernels),
        cmocka_unit_test(bench_constants),
    };
    device = contract_open();
    if (!device)
        return CONTRACT_SKIPPED;
    queue = strata_device_queue(device);
    int failed = cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
    strata_device_close(&device);
    return failed;
}
