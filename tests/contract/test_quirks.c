/* What strata does where a runtime is known to go wrong, tried on runtimes that do not: parts of one buffer go from the
 * newest to the oldest, a fill that cannot be trusted is made of copies, a program is built without what its compiler
 * stumbles over, and a reduction waits within its launch and comes to the host through page-locked memory. */
#include "launching.h"

#include "backend/opencl/native.h"
#include "core/device.h"
#include "strata/opencl.h"
#include "strata/pool.h"
#include "strata/primitives.h"

static strata_device *device;
static strata_queue *queue;
static struct strata_quirks quirks;
static struct strata_cl_calls calls;
static const struct strata_cl_calls *real;
static uint64_t alignment;

static const char source[] = "__kernel void add(__global uint *out, __global const uint *a, __global const uint *b) {\n"
                             "    out[get_global_id(0)] = a[get_global_id(0)] + b[get_global_id(0)];\n"
                             "}\n"
                             "__kernel void twice(__global uint *out, __global const uint *in) {\n"
                             "    out[get_global_id(0)] = 2 * in[get_global_id(0)];\n"
                             "}\n";

/* The sub-buffers that live, the oldest first. A runtime lets go of one when no command needs it any more. */
static struct living {
    cl_mem id, parent;
    size_t begin, end;
} living[256];
static size_t living_count, most_living, made_count;
static bool out_of_order; /* one went before a later one that overlaps it */
static unsigned fills, builds;

static cl_uint references(cl_mem memory) {
    cl_uint count = 0;
    real->GetMemObjectInfo(memory, CL_MEM_REFERENCE_COUNT, sizeof count, &count, NULL);
    return count;
}

static cl_mem CL_API_CALL make_part(cl_mem parent, cl_mem_flags flags, cl_buffer_create_type type, const void *info,
                                    cl_int *code) {
    const cl_buffer_region *region = info;
    struct living part = {.parent = parent, .begin = region->origin, .end = region->origin + region->size};
    part.id = real->CreateSubBuffer(parent, flags, type, info, code);
    if (part.id && living_count < 256)
        living[living_count++] = part;
    if (living_count > most_living)
        most_living = living_count;
    made_count++;
    return part.id;
}

static void forget(size_t index) {
    for (size_t i = index + 1; i < living_count; i++)
        if (living[i].parent == living[index].parent && living[i].begin < living[index].end &&
            living[index].begin < living[i].end)
            out_of_order = true;
    memmove(&living[index], &living[index + 1], (living_count - index - 1) * sizeof living[0]);
    living_count--;
}

static cl_int CL_API_CALL release(cl_mem memory) {
    bool last = references(memory) == 1;
    for (size_t i = 0; i < living_count && last; i++)
        if (living[i].id == memory) {
            forget(i);
            break;
        }
    return real->ReleaseMemObject(memory);
}

/* Such a compiler: it fails where it is to tell of arguments. */
static cl_int CL_API_CALL build_program(cl_program program, cl_uint count, const cl_device_id *devices,
                                        const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                                        void *user) {
    builds++;
    if (strstr(options, "-cl-kernel-arg-info"))
        return CL_BUILD_PROGRAM_FAILURE;
    return real->BuildProgram(program, count, devices, options, notify, user);
}

static cl_int CL_API_CALL fill(cl_command_queue native, cl_mem memory, const void *pattern, size_t pattern_bytes,
                               size_t offset, size_t bytes, STRATA_CL_EVENTS) {
    fills++;
    return real->EnqueueFillBuffer(native, memory, pattern, pattern_bytes, offset, bytes, STRATA_CL_EVENT_ARGUMENTS);
}

/* A device that is gone. */
static cl_int CL_API_CALL launch_nothing(cl_command_queue native, cl_kernel kernel, cl_uint dimensions,
                                         const size_t *offset, const size_t *global, const size_t *local,
                                         STRATA_CL_EVENTS) {
    (void)native, (void)kernel, (void)dimensions, (void)offset, (void)global, (void)local;
    (void)wait_count, (void)wait_list, (void)event;
    return CL_DEVICE_NOT_AVAILABLE;
}

static void set_up(void) {
    struct strata_cl_device *native = (struct strata_cl_device *)device->native;
    real = native->cl;
    calls = *real;
    calls.CreateSubBuffer = make_part;
    calls.ReleaseMemObject = release;
    calls.EnqueueFillBuffer = fill;
    quirks = *native->quirks;
    quirks.parts_end_in_reverse = true;
    quirks.arg_info_breaks = true;
    quirks.fill_patterns = 100;
    native->cl = &calls;
    native->quirks = &quirks;
}

static strata_arg part(strata_buffer *buffer, uint64_t place, uint64_t bytes) {
    return strata_arg_slice(strata_sub(strata_all(buffer), place * alignment, bytes));
}

/* What the device's pool keeps for the next buffers goes, too. */
static void give_all_back(void) {
    if (strata_device_pool(device, STRATA_DEVICE))
        CHECK(strata_pool_trim(strata_device_pool(device, STRATA_DEVICE), 0, NULL));
}

/* Each buffer may be a part of a pool's block itself. */
#define PIECES 2

/* Whether a kernel object holds on to what it was given, so that a part lives for longer than strata and its commands
 * have it: rusticl's do. */
static bool kernels_keep_arguments(void) {
    give_all_back(); /* parts that were made before are not seen */
    strata_program *program = build_text(device, source);
    strata_buffer *x = words(device, alignment / 4 * 2, 1), *out = words(device, 1, 0);
    living_count = 0;
    CHECK(strata_launch(queue, kernel_of(program, "twice"), strata_grid_1d(1), STRATA_ARGS(whole(out), part(x, 1, 4))));
    CHECK(strata_queue_finish(queue));
    bool kept = false;
    for (size_t i = 0; i < living_count; i++)
        kept = kept || references(living[i].id) > 1;
    strata_buffer_destroy(&x);
    strata_buffer_destroy(&out);
    strata_program_destroy(&program);
    return kept;
}

static void skip_where_kernels_keep_arguments(void) {
    if (!kernels_keep_arguments())
        return;
    print_message("skipped: kernels of this runtime keep their arguments alive\n");
    skip();
}

/* A window that slides over one buffer, each launch reading what the one before wrote. */
static void overlapping_parts(void **state) {
    (void)state;
    skip_where_kernels_keep_arguments();
    enum { STEPS = 2 * STRATA_CL_PARTS };
    size_t items = alignment / 4 * 2; /* twice the step, so that neighbours overlap */
    strata_program *program = build_text(device, source);
    strata_kernel *twice = kernel_of(program, "twice");
    strata_buffer *x = words(device, (STEPS + 4) * alignment / 4, 1), *out = words(device, items, 0);
    give_all_back();
    living_count = made_count = most_living = 0;
    out_of_order = false;
    for (unsigned step = 0; step < STEPS; step++) {
        CHECK(strata_launch(queue, twice, strata_grid_1d(items), STRATA_ARGS(whole(out), part(x, step, items * 4))));
        CHECK(
            strata_launch(queue, twice, strata_grid_1d(items), STRATA_ARGS(part(x, step + 1, items * 4), whole(out))));
    }
    assert_true(made_count >= STEPS);
    assert_true(most_living > 1 && most_living <= STRATA_CL_PARTS + PIECES);
    /* By step k the words that it reads are 4^k modulo 2^32: what it wrote lies one step further. */
    assert_int_equal(word(queue, x, 10 * alignment / 4), 1u << 20);
    assert_int_equal(word(queue, x, STEPS * alignment / 4), 0);
    strata_buffer_destroy(&x);
    strata_buffer_destroy(&out);
    strata_program_destroy(&program);
    give_all_back();
    assert_int_equal(living_count, 0);
    assert_false(out_of_order);
}

/* Many that do not overlap: no more than are kept live, and all are gone with the buffer. */
static void many_parts(void **state) {
    (void)state;
    skip_where_kernels_keep_arguments();
    enum { PARTS = 200 };
    size_t items = alignment / 4;
    strata_program *program = build_text(device, source);
    strata_buffer *x = words(device, PARTS * items, 0), *one = words(device, items, 21);
    living_count = 0;
    for (unsigned i = 0; i < PARTS; i++) {
        CHECK(strata_launch(queue, kernel_of(program, "twice"), strata_grid_1d(items),
                            STRATA_ARGS(part(x, i, alignment), whole(one))));
        assert_true(living_count <= STRATA_CL_PARTS + PIECES);
    }
    for (unsigned i = 0; i < PARTS; i++)
        assert_int_equal(word(queue, x, i * items + items - 1), 42);
    strata_buffer_destroy(&x);
    strata_buffer_destroy(&one);
    strata_program_destroy(&program);
    give_all_back();
    assert_int_equal(living_count, 0);
}

/* Two overlapping slices that one launch reads, and slices that begin together. */
static void overlap_within_a_launch(void **state) {
    (void)state;
    skip_where_kernels_keep_arguments();
    size_t items = alignment / 4 * 2;
    strata_program *program = build_text(device, source);
    strata_buffer *x = words(device, 5 * alignment / 4, 0), *out = words(device, items, 0);
    uint32_t *values = malloc(5 * alignment), *found = malloc(items * 4);
    assert_non_null(values);
    assert_non_null(found);
    out_of_order = false;
    for (uint32_t i = 0; i < 5 * alignment / 4; i++)
        values[i] = i * i;
    CHECK(strata_write(queue, strata_all(x), values));
    for (unsigned second = 2; second >= 1; second--) {
        CHECK(strata_launch(queue, kernel_of(program, "add"), strata_grid_1d(items),
                            STRATA_ARGS(whole(out), part(x, 1, items * 4), part(x, second, items * 4 + 4))));
        CHECK(strata_read(queue, strata_all(out), found));
        for (size_t i = 0; i < items; i++)
            assert_int_equal(found[i], values[i + alignment / 4] + values[i + second * alignment / 4]);
    }
    free(values);
    free(found);
    strata_buffer_destroy(&x);
    strata_buffer_destroy(&out);
    strata_program_destroy(&program);
    give_all_back();
    assert_int_equal(living_count, 0);
    assert_false(out_of_order);
}

/* Three buffers over one cl_mem of the caller's: the whole, twice, and a part of it. */
static void buffers_over_one_mem(void **state) {
    (void)state;
    skip_where_kernels_keep_arguments();
    strata_program *program = build_text(device, source);
    strata_kernel *twice = kernel_of(program, "twice");
    strata_buffer *first = NULL, *second = NULL, *third = NULL, *out = words(device, 1, 0);
    cl_int code = CL_SUCCESS;
    out_of_order = false;
    living_count = made_count = 0;
    cl_mem parent = clCreateBuffer(strata_opencl_context(device), CL_MEM_READ_WRITE, 8 * alignment, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    cl_buffer_region region = {alignment, 4 * alignment};
    cl_mem theirs = clCreateSubBuffer(parent, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    assert_int_equal(code, CL_SUCCESS);
    CHECK(strata_opencl_buffer_wrap(device, parent, "first", &first));
    CHECK(strata_opencl_buffer_wrap(device, parent, "second", &second));
    CHECK(strata_opencl_buffer_wrap(device, theirs, "third", &third));
    CHECK(strata_fill(queue, strata_all(first), "\1\0\0", 4));
    CHECK(strata_launch(queue, twice, strata_grid_1d(1),
                        STRATA_ARGS(part(first, 1, 2 * alignment), part(first, 4, alignment))));
    CHECK(strata_launch(queue, twice, strata_grid_1d(1),
                        STRATA_ARGS(part(second, 2, 2 * alignment), part(second, 1, alignment))));
    CHECK(strata_launch(queue, twice, strata_grid_1d(1), STRATA_ARGS(whole(out), part(third, 1, 2 * alignment))));
    assert_int_equal(word(queue, out, 0), 8);
    assert_int_equal(made_count, 4); /* that of the third buffer was there */
    strata_buffer_destroy(&first);
    assert_int_equal(living_count, 4);
    CHECK(strata_launch(queue, twice, strata_grid_1d(1), STRATA_ARGS(whole(out), part(second, 1, alignment))));
    assert_int_equal(word(queue, out, 0), 4);
    strata_buffer_destroy(&third);
    strata_buffer_destroy(&second);
    give_all_back();
    assert_int_equal(living_count, 0);
    assert_false(out_of_order);
    strata_buffer_destroy(&out);
    strata_program_destroy(&program);
    clReleaseMemObject(theirs);
    clReleaseMemObject(parent);
}

/* Built at the second attempt, and then told nothing of its arguments; a real mistake still comes with its log. */
static void programs_without_argument_info(void **state) {
    (void)state;
    strata_program *program = NULL;
    strata_buffer *out = words(device, 1, 0), *in = words(device, 1, 4);
    builds = 0;
    calls.BuildProgram = build_program;
    CHECK(strata_program_build(device, STRATA_PROGRAM(.source = source, .no_cache = true), &program));
    assert_int_equal(builds, 2);
    CHECK(strata_launch(queue, kernel_of(program, "twice"), strata_grid_1d(1), STRATA_ARGS(whole(out), whole(in))));
    assert_int_equal(word(queue, out, 0), 8);
    strata_program_destroy(&program);
    EXPECT(strata_program_build(device, STRATA_PROGRAM(.source = "__kernel void a() { nonsense; }", .no_cache = true),
                                &program),
           STRATA_BUILD_FAILED, "the log has the reason");
    assert_non_null(strstr(strata_last_error()->log, "nonsense"));
    calls.BuildProgram = real->BuildProgram;
    strata_buffer_destroy(&out);
    strata_buffer_destroy(&in);
}

/* Told as what it is; what was there before can still be given back. */
static void a_device_that_is_gone(void **state) {
    (void)state;
    strata_program *program = build_text(device, source);
    strata_buffer *out = words(device, 1, 3), *in = words(device, 1, 4);
    strata_event *event = NULL;
    calls.EnqueueNDRangeKernel = launch_nothing;
    EXPECT(strata_launch_event(queue, kernel_of(program, "twice"), strata_grid_1d(1),
                               STRATA_ARGS(whole(out), whole(in)), &event),
           STRATA_DEVICE_LOST, "the device is lost, so close it and open it again");
    assert_null(event);
    calls.EnqueueNDRangeKernel = real->EnqueueNDRangeKernel;
    assert_int_equal(word(queue, out, 0), 3);
    strata_buffer_destroy(&out);
    strata_buffer_destroy(&in);
    strata_program_destroy(&program);
}

/* As on NVIDIA's GPUs: groups that wait for each other, and page-locked memory between the result and its reader. */
static void reductions_in_one_launch(void **state) {
    (void)state;
    enum { COUNT = 5 * 4096 + 3, ROUNDS = 5 };
    const char *platform = device->info.platform;
    enum strata_device_type type = device->info.type;
    if (strstr(platform, "rusticl") || strstr(platform, "Oclgrind")) {
        print_message("skipped: llvmpipe and Oclgrind run this kernel in test_reduce_kernels, if at all\n");
        skip();
    }
    int32_t *values = malloc(COUNT * sizeof *values);
    int64_t expected = 0, found = 0;
    uint64_t place = 0, worst = 0;
    strata_buffer *x = words(device, COUNT, 0);
    assert_non_null(values);
    contract_random(values, COUNT * sizeof *values, 3);
    for (size_t i = 0; i < COUNT; i++) {
        expected += values[i];
        worst = values[i] < values[worst] ? i : worst;
    }
    CHECK(strata_write(queue, strata_all(x), values));
    device->info.platform = "NVIDIA CUDA";
    device->info.type = STRATA_DEVICE_GPU;
    for (int round = 0; round < ROUNDS; round++) {
        CHECK(
            strata_reduce(queue, STRATA_REDUCE(.op = STRATA_SUM, .type = STRATA_I32, .input = strata_all(x)), &found));
        assert_true(found == expected);
        CHECK(strata_reduce(queue, STRATA_REDUCE(.op = STRATA_ARG_MIN, .type = STRATA_I32, .input = strata_all(x)),
                            &place));
        assert_true(place == worst);
    }
    device->info.platform = platform;
    device->info.type = type;
    strata_buffer_destroy(&x);
    free(values);
}

/* Places before and behind the limit of 100 patterns, sizes below and above what the copies begin with. */
static void fills_of_copies(void **state) {
    (void)state;
    enum { BYTES = 300000 };
    static const struct {
        uint64_t offset, bytes;
        size_t period;
        bool own;
    } cases[] = {{0, 100, 1, true},          {0, 101, 1, false},        {5000, 1, 1, false},
                 {16, 299984, 4, false},     {0, 1600, 16, true},       {0, 1616, 16, false},
                 {128, 128 * 99, 128, true}, {256, 200000, 128, false}, {131072, 65536, 8, false},
                 {12, 196608, 2, false},     {3, 1000, 4, false}};
    unsigned char *expected = calloc(1, BYTES), *found = malloc(BYTES), pattern[128];
    strata_buffer *buffer = NULL;
    assert_non_null(expected);
    assert_non_null(found);
    contract_random(pattern, sizeof pattern, 9);
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = BYTES), &buffer));
    CHECK(strata_write(queue, strata_all(buffer), expected));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fills = 0;
        pattern[0]++; /* no two alike */
        CHECK(strata_fill(queue, strata_sub(strata_all(buffer), cases[i].offset, cases[i].bytes), pattern,
                          cases[i].period));
        for (uint64_t at = 0; at < cases[i].bytes; at++)
            expected[cases[i].offset + at] = pattern[at % cases[i].period];
        CHECK(strata_read(queue, strata_all(buffer), found));
        assert_memory_equal(found, expected, BYTES);
        if (cases[i].own)
            assert_true(fills > 0);
        else if (cases[i].offset > 1600)
            assert_int_equal(fills, 0);
    }
    strata_buffer_destroy(&buffer);
    free(expected);
    free(found);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(overlapping_parts),
                                       cmocka_unit_test(many_parts),
                                       cmocka_unit_test(overlap_within_a_launch),
                                       cmocka_unit_test(buffers_over_one_mem),
                                       cmocka_unit_test(programs_without_argument_info),
                                       cmocka_unit_test(a_device_that_is_gone),
                                       cmocka_unit_test(reductions_in_one_launch),
                                       cmocka_unit_test(fills_of_copies)};
    device = contract_open();
    if (!device)
        return CONTRACT_SKIPPED;
    queue = strata_device_queue(device);
    alignment = strata_device_get_info(device)->base_alignment;
    set_up();
    int failed = cmocka_run_group_tests_name("quirks", tests, NULL, NULL);
    strata_device_close(&device);
    return failed;
}
