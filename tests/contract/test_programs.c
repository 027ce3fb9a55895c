/* Programs: where source comes from, what a build says when it fails, and what kernels tell of themselves. */
#define _XOPEN_SOURCE 700
#include "launching.h"

#include "unit/scratch.h"

static strata_device *device;
static strata_queue *queue;

/* One kernel that answers the macro VALUE. */
#define ANSWERS "__kernel void answers(__global uint *out) { out[0] = VALUE; }\n"

static uint32_t answer_of(const struct strata_program_desc *desc) {
    strata_program *program = build_with(device, desc);
    uint32_t value = answer(program, "answers", device);
    strata_program_destroy(&program);
    assert_null(program);
    return value;
}

static void refuse(const struct strata_program_desc *desc, enum strata_status status, const char *part) {
    int other;
    strata_program *program = (strata_program *)(void *)&other;
    EXPECT(strata_program_build(device, desc, &program), status, part);
    assert_null(program);
}

static void one_source_is_needed(void **state) {
    (void)state;
    refuse(STRATA_PROGRAM(.options = "-DA"), STRATA_INVALID_ARGUMENT, "0 were given");
    refuse(STRATA_PROGRAM(.source = "x", .path = "y"), STRATA_INVALID_ARGUMENT, "2 were given");
    refuse(STRATA_PROGRAM(.source = "x", .embedded = "reduce.cl"), STRATA_INVALID_ARGUMENT, "2 were given");
    refuse(STRATA_PROGRAM(.source = "x", .path = "y", .embedded = "z"), STRATA_INVALID_ARGUMENT, "3 were given");
    refuse(NULL, STRATA_INVALID_ARGUMENT, "0 were given");
    refuse(STRATA_PROGRAM(.embedded = "no_such.cl"), STRATA_INVALID_ARGUMENT, "no_such.cl");
    assert_int_equal(strata_program_build(device, STRATA_PROGRAM(.source = "x"), NULL), STRATA_INVALID_ARGUMENT);
    strata_program *program = NULL;
    EXPECT(strata_program_build(NULL, STRATA_PROGRAM(.source = "x"), &program), STRATA_INVALID_ARGUMENT, "");
}

static void path_source_and_embedded(void **state) {
    (void)state;
    struct scratch scratch = scratch_make();
    scratch_text(&scratch, "answers.cl", ANSWERS);
    struct scratch_path path = scratch_path(&scratch, "answers.cl");
    assert_int_equal(answer_of(STRATA_PROGRAM(.path = path.text, .options = "-DVALUE=17")), 17);
    assert_int_equal(answer_of(STRATA_PROGRAM(.source = ANSWERS, .options = "-D VALUE=18")), 18);
    static const char more[] = ANSWERS "this is behind the end";
    assert_int_equal(
        answer_of(STRATA_PROGRAM(.source = more, .source_bytes = sizeof ANSWERS - 1, .options = "-DVALUE=19")), 19);
    strata_program *bench = build_with(device, STRATA_PROGRAM(.embedded = "bench_constant.cl"));
    assert_int_equal(strata_program_kernel_count(bench), 2);
    strata_program_destroy(&bench);
    strata_program_destroy(&bench);
    strata_program_destroy(NULL);
    scratch_remove(&scratch);
}

static void folders_with_spaces(void **state) {
    (void)state;
    struct scratch scratch = scratch_make();
    scratch_folder(&scratch, "a folder");
    scratch_folder(&scratch, "b");
    scratch_text(&scratch, "a folder/value.h", "#define VALUE 23\n");
    scratch_text(&scratch, "b/value.h", "#define VALUE 24\n");
    struct scratch_path a = scratch_path(&scratch, "a folder"), b = scratch_path(&scratch, "b");
    static const char source[] = "#include \"value.h\"\n" ANSWERS;
    static const char *const patterns[] = {"-I\"%s\" -I%s", "-I \"%s\" -I %s", "'-I%s' -I%s",
                                           "-cl-mad-enable -I '%s' -I%s"};
    char options[2 * SCRATCH_PATH + 64];
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(options, sizeof options, patterns[i], a.text, b.text);
#pragma GCC diagnostic pop
        assert_int_equal(answer_of(STRATA_PROGRAM(.source = source, .options = options)), 23);
    }
    snprintf(options, sizeof options, "-I%s '-I%s'", b.text, a.text);
    assert_int_equal(answer_of(STRATA_PROGRAM(.source = source, .options = options)), 24);
    scratch_remove(&scratch);
}

static void includes_beside_the_file(void **state) {
    (void)state;
    struct scratch scratch = scratch_make();
    scratch_folder(&scratch, "inner");
    scratch_text(&scratch, "inner/answers.cl", "#include \"value.h\"\n" ANSWERS);
    scratch_text(&scratch, "inner/value.h", "#include \"../deep.h\"\n#define VALUE DEEP + 1\n");
    scratch_text(&scratch, "deep.h", "#define DEEP 30\n");
    struct scratch_path path = scratch_path(&scratch, "inner/answers.cl");
    assert_int_equal(answer_of(STRATA_PROGRAM(.path = path.text)), 31);
    scratch_text(&scratch, "deep.h", "#define DEEP 40\n");
    assert_int_equal(answer_of(STRATA_PROGRAM(.path = path.text)), 41);
    assert_int_equal(unlink(scratch_path(&scratch, "deep.h").text), 0);
    refuse(STRATA_PROGRAM(.path = path.text), STRATA_BUILD_FAILED, "deep.h");
    assert_non_null(strstr(strata_last_error()->log, "value.h"));
    scratch_remove(&scratch);
}

static void assert_log(const char *words_of_log) {
    if (!strstr(strata_last_error()->log, words_of_log))
        fail_msg("the log lacks '%s': %s", words_of_log, strata_last_error()->log);
}

static void a_failed_build_tells_all(void **state) {
    (void)state;
    static const char broken[] = "__kernel void k(__global uint *out) { out[0] = undeclared_thing; }\n";
    refuse(STRATA_PROGRAM(.source = broken, .options = "-DSOME=1", .name = "broken one"), STRATA_BUILD_FAILED,
           "broken one");
    assert_log(strata_device_get_info(device)->name);
    assert_log("-DSOME=1");
    assert_log("undeclared_thing");
    assert_int_not_equal(strata_last_error()->native_code, 0);
    refuse(STRATA_PROGRAM(.source = "__kernel void k( {\n"), STRATA_BUILD_FAILED, "<source>");
    assert_log("error");
    refuse(STRATA_PROGRAM(.source = ANSWERS, .options = "-DVALUE=1 -no-such-option"), STRATA_BUILD_FAILED,
           "-no-such-option");
    assert_log("-no-such-option");
    assert_log(strata_device_get_info(device)->name);
    refuse(STRATA_PROGRAM(.source = broken, .options = "-no-such-option"), STRATA_BUILD_FAILED, "-no-such-option");
    assert_int_equal(answer_of(STRATA_PROGRAM(.source = ANSWERS, .options = "-DVALUE=5")), 5);
}

static void long_logs_are_not_cut(void **state) {
    (void)state;
    size_t room = 64 * 1024, used = 0;
    char *source = malloc(room);
    assert_non_null(source);
    used += (size_t)snprintf(source, room, "__kernel void k(__global uint *out) {\n");
    for (int i = 0; i < 15; i++)
        used += (size_t)snprintf(source + used, room - used, "out[0] = missing_name_%02d;\n", i);
    snprintf(source + used, room - used, "}\n");
    refuse(STRATA_PROGRAM(.source = source), STRATA_BUILD_FAILED, "");
    assert_log("missing_name_00");
    assert_log("missing_name_14");
    free(source);
}

static void text_as_it_comes(void **state) {
    (void)state;
    static const char continued[] =
        "#define TWICE(x) \\\r\n    ((x) + \\\r\n     (x))\r\n#define VALUE TWICE(21)\r\n" ANSWERS;
    static const char marked[] = "\xEF\xBB\xBF#define VALUE 43\n" ANSWERS;
    static const char nul[] = "#define VALUE 1\n\0" ANSWERS;
    struct scratch scratch = scratch_make();
    scratch_text(&scratch, "crlf.cl", continued);
    scratch_text(&scratch, "bom.cl", marked);
    scratch_text(&scratch, "empty.cl", "");
    scratch_write(&scratch, "nul.cl", nul, sizeof nul - 1);
    scratch_folder(&scratch, "folder.cl");
    struct scratch_path crlf = scratch_path(&scratch, "crlf.cl"), bom = scratch_path(&scratch, "bom.cl"),
                        empty = scratch_path(&scratch, "empty.cl"), zero = scratch_path(&scratch, "nul.cl"),
                        folder = scratch_path(&scratch, "folder.cl"), none = scratch_path(&scratch, "none.cl");
    assert_int_equal(answer_of(STRATA_PROGRAM(.source = continued)), 42);
    assert_int_equal(answer_of(STRATA_PROGRAM(.path = crlf.text)), 42);
    assert_int_equal(answer_of(STRATA_PROGRAM(.source = marked)), 43);
    assert_int_equal(answer_of(STRATA_PROGRAM(.path = bom.text)), 43);
    refuse(STRATA_PROGRAM(.source = nul, .source_bytes = sizeof nul - 1), STRATA_INVALID_ARGUMENT, "offset 16");
    refuse(STRATA_PROGRAM(.path = zero.text), STRATA_INVALID_ARGUMENT, "offset 16");
    refuse(STRATA_PROGRAM(.path = empty.text), STRATA_INVALID_ARGUMENT, "empty");
    refuse(STRATA_PROGRAM(.source = ""), STRATA_INVALID_ARGUMENT, "empty");
    refuse(STRATA_PROGRAM(.path = none.text), STRATA_IO, "none.cl");
    refuse(STRATA_PROGRAM(.path = folder.text), STRATA_IO, "folder");
    scratch_remove(&scratch);
}

static const char two_kernels[] = "__kernel void first(__global uint *out) { out[0] = 1; }\n"
                                  "__kernel void second(__global uint *out) { out[0] = 2; }\n";

static void kernels_by_name(void **state) {
    (void)state;
    strata_program *program = build_text(device, two_kernels);
    strata_kernel *kernel = NULL, *again = NULL;
    assert_int_equal(strata_program_kernel_count(program), 2);
    const char *a = strata_program_kernel_name(program, 0), *b = strata_program_kernel_name(program, 1);
    assert_true((!strcmp(a, "first") && !strcmp(b, "second")) || (!strcmp(a, "second") && !strcmp(b, "first")));
    assert_null(strata_program_kernel_name(program, 2));
    assert_int_equal(answer(program, "first", device), 1);
    assert_int_equal(answer(program, "second", device), 2);
    CHECK(strata_program_kernel(program, "first", &kernel));
    CHECK(strata_program_kernel(program, "first", &again));
    assert_ptr_equal(kernel, again);
    EXPECT(strata_program_kernel(program, "third", &kernel), STRATA_INVALID_ARGUMENT, "first");
    EXPECT(strata_program_kernel(program, "third", &kernel), STRATA_INVALID_ARGUMENT, "second");
    EXPECT(strata_program_kernel(program, "third", &kernel), STRATA_INVALID_ARGUMENT, "third");
    assert_null(kernel);
    EXPECT(strata_program_kernel(program, NULL, &kernel), STRATA_INVALID_ARGUMENT, "name");
    EXPECT(strata_program_kernel(program, "first", NULL), STRATA_INVALID_ARGUMENT, "place");
    EXPECT(strata_program_kernel(NULL, "first", &kernel), STRATA_INVALID_ARGUMENT, "program");
    strata_program_destroy(&program);
    assert_int_equal(strata_program_kernel_count(NULL), 0);
    assert_null(strata_kernel_get_info(NULL));
}

static void a_program_without_kernels(void **state) {
    (void)state;
    strata_program *program = NULL;
    enum strata_status status = strata_program_build(
        device, STRATA_PROGRAM(.source = "uint f(uint x);\nuint f(uint x) { return x; }\n"), &program);
    if (status == STRATA_OK) {
        strata_kernel *kernel = NULL;
        assert_int_equal(strata_program_kernel_count(program), 0);
        EXPECT(strata_program_kernel(program, "f", &kernel), STRATA_INVALID_ARGUMENT, "none");
    }
    strata_program_destroy(&program);
}

static void assert_argument(const struct strata_kernel_info *info, uint32_t index, enum strata_argument_kind kind,
                            bool is_const, const char *name, const char *type) {
    const struct strata_argument_info *argument = &info->arguments[index];
    assert_int_equal(argument->kind, kind);
    assert_int_equal(argument->is_const, is_const);
    assert_string_equal(argument->name, name);
    assert_string_equal(argument->type, type);
}

static const char told[] =
    "typedef struct { float a; int b; } pair;\n"
    "__kernel __attribute__((reqd_work_group_size(4, 2, 1)))\n"
    "void told(__global float *out, __global const uint *in, __constant float *table, __local int *room,\n"
    "          float gain, uint3 three, pair both, __global pair *pairs) {\n"
    "    __local uint own[100];\n"
    "    own[get_local_id(1) * 4 + get_local_id(0)] = in[0] + three.x;\n"
    "    room[0] = both.b;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    out[get_global_id(0)] = (float)own[7 - get_local_id(0)] * gain + table[0] + pairs[0].a;\n"
    "}\n";

static void kernels_tell_of_themselves(void **state) {
    (void)state;
    const struct strata_device_info *about = strata_device_get_info(device);
    bool rusticl = strstr(about->platform, "rusticl") != NULL;
    strata_program *program = build_text(device, told);
    const struct strata_kernel_info *info = strata_kernel_get_info(kernel_of(program, "told"));
    assert_int_equal(info->size, sizeof *info);
    assert_string_equal(info->name, "told");
    assert_int_equal(info->argument_count, 8);
    assert_argument(info, 0, STRATA_ARGUMENT_GLOBAL, false, "out", "float*");
    assert_argument(info, 1, STRATA_ARGUMENT_GLOBAL, true, "in", "uint*");
    assert_argument(info, 2, STRATA_ARGUMENT_CONSTANT, true, "table", "float*");
    assert_argument(info, 3, STRATA_ARGUMENT_LOCAL, false, "room", "int*");
    assert_argument(info, 4, STRATA_ARGUMENT_VALUE, false, "gain", "float");
    assert_argument(info, 5, STRATA_ARGUMENT_VALUE, false, "three", "uint3");
    assert_argument(info, 6, STRATA_ARGUMENT_VALUE, false, "both", "pair");
    assert_argument(info, 7, STRATA_ARGUMENT_GLOBAL, false, "pairs", "pair*");
    assert_int_equal(info->required_group[0], 4);
    assert_int_equal(info->required_group[1], 2);
    assert_int_equal(info->required_group[2], 1);
    assert_true(info->max_group_items >= 8 && info->max_group_items <= about->max_group_items);
    assert_true(info->preferred_multiple >= 1);
    /* Mesa 22.3 counts a kernel's own local memory twice. */
    assert_true(info->local_bytes == 400 || info->local_bytes == STRATA_UNKNOWN);
    if (rusticl)
        assert_true(info->private_bytes == STRATA_UNKNOWN);
    strata_program_destroy(&program);
}

/* NVIDIA's compiler fails where such a kernel is built with what tells of arguments. */
static void a_kernel_without_arguments(void **state) {
    (void)state;
    strata_program *program = build_text(device, "__kernel void plain(void) { }\n"
                                                 "__kernel void put(__global uint *to, uint what) { to[0] = what; }\n");
    strata_buffer *to = words(device, 1, 0);
    const struct strata_kernel_info *info = strata_kernel_get_info(kernel_of(program, "plain"));
    assert_int_equal(info->argument_count, 0);
    assert_int_equal(info->required_group[0] + info->required_group[1] + info->required_group[2], 0);
    assert_true(info->local_bytes == 0 || info->local_bytes == STRATA_UNKNOWN);
    CHECK(strata_launch(queue, kernel_of(program, "plain"), strata_grid_1d(8), NULL, 0));
    CHECK(
        strata_launch(queue, kernel_of(program, "put"), strata_grid_1d(1), STRATA_ARGS(whole(to), strata_arg_u32(7))));
    assert_int_equal(word(queue, to, 0), 7);
    strata_buffer_destroy(&to);
    strata_program_destroy(&program);
}

/* A structure's layout on the device (case 22): 16 bytes for a float3, and no packing. */
static void vectors_of_three_take_four(void **state) {
    (void)state;
    static const char source[] = "typedef struct { float3 at; uint id; } point;\n"
                                 "typedef struct __attribute__((packed)) { float3 at; uint id; } packed_point;\n"
                                 "__kernel void sizes(__global uint *out) {\n"
                                 "    out[0] = sizeof(float3); out[1] = sizeof(point); out[2] = sizeof(packed_point);\n"
                                 "}\n"
                                 "__kernel void fourth(__global const float *xyz, __global float *out) {\n"
                                 "    float3 v = vload3(4, xyz); out[0] = v.x; out[1] = v.y; out[2] = v.z;\n"
                                 "}\n";
    strata_program *program = build_text(device, source);
    strata_buffer *out = words(device, 3, 0), *packed = words(device, 15, 0);
    float triples[15], found[3];
    for (int i = 0; i < 15; i++)
        triples[i] = (float)i;
    CHECK(strata_launch(queue, kernel_of(program, "sizes"), strata_grid_1d(1), STRATA_ARGS(whole(out))));
    assert_int_equal(word(queue, out, 0), 16);
    assert_int_equal(word(queue, out, 1), 32);
    assert_int_equal(word(queue, out, 2), 20);
    CHECK(strata_write(queue, strata_all(packed), triples));
    CHECK(
        strata_launch(queue, kernel_of(program, "fourth"), strata_grid_1d(1), STRATA_ARGS(whole(packed), whole(out))));
    CHECK(strata_read(queue, strata_all(out), found));
    assert_memory_equal(found, &triples[12], sizeof found);
    strata_buffer_destroy(&out);
    strata_buffer_destroy(&packed);
    strata_program_destroy(&program);
}

static void destroyed_in_flight(void **state) {
    (void)state;
    struct contract_gate gate;
    strata_buffer *out = words(device, 1, 0);
    strata_program *program = build_text(device, two_kernels);
    contract_gate_init(&gate);
    contract_gate_put(&gate, queue);
    CHECK(strata_launch(queue, kernel_of(program, "second"), strata_grid_1d(1), STRATA_ARGS(whole(out))));
    strata_program_destroy(&program);
    contract_gate_open(&gate);
    assert_int_equal(word(queue, out, 0), 2);
    contract_gate_release(&gate);
    strata_buffer_destroy(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_source_is_needed),       cmocka_unit_test(path_source_and_embedded),
        cmocka_unit_test(folders_with_spaces),        cmocka_unit_test(includes_beside_the_file),
        cmocka_unit_test(a_failed_build_tells_all),   cmocka_unit_test(long_logs_are_not_cut),
        cmocka_unit_test(text_as_it_comes),           cmocka_unit_test(kernels_by_name),
        cmocka_unit_test(a_program_without_kernels),  cmocka_unit_test(kernels_tell_of_themselves),
        cmocka_unit_test(a_kernel_without_arguments), cmocka_unit_test(vectors_of_three_take_four),
        cmocka_unit_test(destroyed_in_flight),
    };
    device = contract_open();
    if (!device)
        return CONTRACT_SKIPPED;
    queue = strata_device_queue(device);
    int failed = cmocka_run_group_tests_name("programs", tests, NULL, NULL);
    strata_device_close(&device);
    return failed;
}
