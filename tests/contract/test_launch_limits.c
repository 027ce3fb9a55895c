/* The limits of a launch, to the byte and the work-item: local and constant memory, local sizes, extents. */
#include "launching.h"

#include "core/quirks.h"

static strata_device *device;
static strata_queue *queue;
static const struct strata_device_info *about;
static strata_program *program;

static const char source[] =
    "__kernel void room(__global uint *out, __local uchar *a, __local uchar *b) {\n"
    "    a[0] = 1; b[0] = 2; out[0] = a[0] + b[0];\n"
    "}\n"
    "__kernel void own_room(__global uint *out, __local uchar *a) {\n"
    "    __local uint own[64];\n"
    "    own[get_local_id(0)] = 5; a[0] = 1; barrier(CLK_LOCAL_MEM_FENCE); out[0] = a[0] + own[0];\n"
    "}\n"
    "__kernel void table(__global uint *out, __constant uint *a, __constant uint *b) { out[0] = a[0] + b[0]; }\n"
    /* How often each place was reached, and by which local size. */
    "__kernel void count(__global uint *out, uint nx, uint ny, uint nz) {\n"
    "    uint x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n"
    "    if (x < nx && y < ny && z < nz)\n"
    "        out[(z * ny + y) * nx + x] += 1;\n"
    "}\n"
    "__kernel void locals(__global uint *out) {\n"
    "    if (get_global_id(0) == 0 && get_global_id(1) == 0 && get_global_id(2) == 0)\n"
    "        for (int i = 0; i < 3; i++) { out[i] = get_local_size(i); out[3 + i] = get_global_size(i); }\n"
    "}\n"
    "__kernel __attribute__((reqd_work_group_size(4, 2, 1))) void fixed(__global uint *out) {\n"
    "    out[get_global_id(1) * get_global_size(0) + get_global_id(0)] = get_local_size(0) * 10 + get_local_size(1);\n"
    "}\n";

static strata_kernel *named(const char *name) {
    return kernel_of(program, name);
}

static strata_arg u32(uint32_t value) {
    return strata_arg_u32(value);
}

#define ONE strata_grid_1d(1)

static void local_memory_to_the_byte(void **state) {
    (void)state;
    strata_buffer *out = words(device, 1, 0);
    uint64_t limit = about->local_bytes - strata_quirks_of(about->platform)->local_reserve;
    CHECK(strata_launch(queue, named("room"), ONE,
                        STRATA_ARGS(whole(out), strata_arg_local(1), strata_arg_local(limit - 16))));
    assert_int_equal(word(queue, out, 0), 3);
    EXPECT(
        strata_launch(queue, named("room"), ONE, STRATA_ARGS(whole(out), strata_arg_local(1), strata_arg_local(limit))),
        STRATA_TOO_LARGE, "local memory");
    EXPECT(strata_launch(queue, named("room"), ONE,
                         STRATA_ARGS(whole(out), strata_arg_local(UINT64_MAX), strata_arg_local(2))),
           STRATA_TOO_LARGE, "local memory");
    strata_kernel *kernel = named("own_room");
    uint64_t own = strata_kernel_get_info(kernel)->local_bytes;
    if (own == STRATA_UNKNOWN)
        own = 0;
    else
        assert_true(own >= 256);
    CHECK(strata_launch(queue, kernel, ONE, STRATA_ARGS(whole(out), strata_arg_local(limit - own))));
    assert_int_equal(word(queue, out, 0), 6);
    EXPECT(strata_launch(queue, kernel, ONE, STRATA_ARGS(whole(out), strata_arg_local(limit - own + 1))),
           STRATA_TOO_LARGE, "local memory");
    CHECK(strata_launch(queue, kernel, ONE, STRATA_ARGS(whole(out), strata_arg_local(16))));
    CHECK(strata_launch(queue, kernel, ONE, STRATA_ARGS(whole(out), strata_arg_local(limit - own))));
    assert_int_equal(word(queue, out, 0), 6);
    strata_buffer_destroy(&out);
}

static void constant_memory_to_the_byte(void **state) {
    (void)state;
    strata_buffer *out = words(device, 1, 0), *table = NULL;
    uint64_t limit = about->constant_bytes, half = limit / 2 / about->base_alignment * about->base_alignment;
    if (limit > about->max_buffer_bytes - 64 || contract_is_slow(device))
        limit = half = 0;
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = about->constant_bytes + 64, .name = "table"), &table));
    uint32_t three = 3;
    CHECK(strata_fill(queue, strata_all(table), &three, sizeof three));
    strata_slice all = strata_all(table);
    if (limit) {
        CHECK(strata_launch(queue, named("table"), ONE,
                            STRATA_ARGS(whole(out), strata_arg_slice(strata_sub(all, 0, half)),
                                        strata_arg_slice(strata_sub(all, half, limit - half)))));
        assert_int_equal(word(queue, out, 0), 6);
    }
    limit = about->constant_bytes;
    EXPECT(strata_launch(queue, named("table"), ONE,
                         STRATA_ARGS(whole(out), strata_arg_slice(strata_sub(all, 0, limit)),
                                     strata_arg_slice(strata_sub(all, 0, 1)))),
           STRATA_TOO_LARGE, "constant memory");
    EXPECT(strata_launch(queue, named("table"), ONE,
                         STRATA_ARGS(whole(out), strata_arg_slice(strata_sub(all, 0, limit + 1)), whole(NULL))),
           STRATA_TOO_LARGE, "constant memory");
    strata_buffer_destroy(&table);
    strata_buffer_destroy(&out);
}

/* A kernel with `count` __constant arguments that adds them up. */
static strata_program *with_constants(uint32_t count) {
    size_t room = 64 * (size_t)count + 256, used;
    char *text = malloc(room);
    assert_non_null(text);
    used = (size_t)snprintf(text, room, "__kernel void sum(__global uint *out");
    for (uint32_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, room - used, ", __constant uint *c%u", i);
    used += (size_t)snprintf(text + used, room - used, ") { out[0] = 0");
    for (uint32_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, room - used, " + c%u[0]", i);
    snprintf(text + used, room - used, "; }\n");
    strata_program *result = build_text(device, text);
    free(text);
    return result;
}

static void constant_arguments_are_counted(void **state) {
    (void)state;
    enum { MOST = 64 };
    uint32_t limit = about->constant_arguments;
    strata_arg args[MOST + 2];
    if (limit > MOST) /* then no kernel of a sensible size is refused */
        limit = MOST;
    strata_buffer *out = words(device, 1, 0), *table = words(device, 1, 2);
    args[0] = whole(out);
    for (uint32_t i = 0; i <= limit; i++)
        args[1 + i] = whole(table);
    strata_program *fits = with_constants(limit);
    CHECK(strata_launch(queue, kernel_of(fits, "sum"), ONE, args, 1 + limit));
    assert_int_equal(word(queue, out, 0), 2 * limit);
    strata_program_destroy(&fits);
    strata_program *over = NULL;
    if (limit == about->constant_arguments) {
        over = with_constants(limit + 1);
        EXPECT(strata_launch(queue, kernel_of(over, "sum"), ONE, args, 2 + limit), STRATA_TOO_LARGE,
               "__constant arguments");
    }
    strata_program_destroy(&over);
    strata_buffer_destroy(&out);
    strata_buffer_destroy(&table);
}

/* Every place of a grid is reached once, whatever the local size; 0 lets strata choose. Groups that the kernel cannot
 * have are left out. */
static void cover(uint32_t dimensions, const uint32_t *extent, uint64_t x, uint64_t y, uint64_t z, bool round_up) {
    size_t places = (size_t)extent[0] * extent[1] * extent[2];
    if (x * y * z > strata_kernel_get_info(named("count"))->max_group_items)
        return;
    strata_buffer *out = words(device, places, 0);
    uint32_t *found = malloc(places * sizeof *found);
    strata_grid grid = dimensions == 1   ? strata_grid_1d(extent[0])
                       : dimensions == 2 ? strata_grid_2d(extent[0], extent[1])
                                         : strata_grid_3d(extent[0], extent[1], extent[2]);
    assert_non_null(found);
    grid = strata_grid_local(grid, x, y, z);
    if (round_up)
        grid = strata_grid_round_up(grid);
    CHECK(strata_launch(queue, named("count"), grid,
                        STRATA_ARGS(whole(out), u32(extent[0]), u32(extent[1]), u32(extent[2]))));
    CHECK(strata_read(queue, strata_all(out), found));
    for (size_t i = 0; i < places; i++)
        if (found[i] != 1)
            fail_msg("place %zu of %u x %u x %u was reached %u times", i, extent[0], extent[1], extent[2], found[i]);
    free(found);
    strata_buffer_destroy(&out);
}

static void strata_chooses(void **state) {
    (void)state;
    static const uint32_t extents[][4] = {{1, 1, 1, 1},    {1, 2, 1, 1},    {1, 7, 1, 1},    {1, 31, 1, 1},
                                          {1, 127, 1, 1},  {1, 257, 1, 1},  {1, 1000, 1, 1}, {1, 1024, 1, 1},
                                          {1, 4099, 1, 1}, {2, 1, 1, 1},    {2, 37, 11, 1},  {2, 64, 64, 1},
                                          {2, 1000, 3, 1}, {2, 3, 1000, 1}, {3, 1, 1, 1},    {3, 7, 5, 3},
                                          {3, 16, 16, 8},  {3, 1, 1, 129},  {3, 13, 1, 17}};
    for (size_t i = 0; i < sizeof extents / sizeof extents[0]; i++) {
        cover(extents[i][0], &extents[i][1], 0, 0, 0, false);
        cover(extents[i][0], &extents[i][1], 0, 0, 0, true);
    }
}

static void strata_chooses_within_the_kernels_limit(void **state) {
    (void)state;
    strata_buffer *out = words(device, 6, 0);
    strata_kernel *kernel = named("locals");
    uint64_t most = strata_kernel_get_info(kernel)->max_group_items;
    static const uint64_t extents[] = {1, 97, 1000, 1024, 3000};
    for (size_t i = 0; i < sizeof extents / sizeof extents[0]; i++) {
        CHECK(strata_launch(queue, kernel, strata_grid_1d(extents[i]), STRATA_ARGS(whole(out))));
        uint32_t local = word(queue, out, 0);
        assert_true(local >= 1 && local <= most && local <= about->max_group_size[0] && extents[i] % local == 0);
        assert_int_equal(word(queue, out, 3), extents[i]);
        CHECK(strata_launch(queue, kernel, strata_grid_round_up(strata_grid_1d(extents[i])), STRATA_ARGS(whole(out))));
        local = word(queue, out, 0);
        uint32_t global = word(queue, out, 3);
        assert_true(local >= 1 && local <= most && global % local == 0);
        assert_true(global >= extents[i] && global - extents[i] < local);
    }
    strata_buffer_destroy(&out);
}

static void local_sizes_that_are_given(void **state) {
    (void)state;
    static const uint32_t line[] = {1000, 1, 1}, square[] = {37, 11, 1}, cube[] = {7, 5, 3};
    strata_buffer *out = words(device, 1000, 0);
    strata_arg args[] = {whole(out), u32(1000), u32(1), u32(1)};
    const enum strata_status refused = STRATA_INVALID_ARGUMENT;
    cover(1, line, 8, 1, 1, false);
    cover(1, line, 1, 1, 1, false);
    cover(1, line, 100, 1, 1, false);
    cover(1, line, 64, 1, 1, true);
    cover(1, line, 7, 1, 1, true);
    cover(2, square, 37, 1, 1, false);
    cover(2, square, 8, 4, 1, true);
    cover(3, cube, 7, 5, 3, false);
    cover(3, cube, 4, 2, 2, true);
    EXPECT(strata_launch(queue, named("count"), strata_grid_local(strata_grid_1d(1000), 64, 1, 1), args, 4), refused,
           "64 does not divide the global size of 1000");
    EXPECT(strata_launch(queue, named("count"), strata_grid_local(strata_grid_2d(8, 9), 4, 2, 1), args, 4), refused,
           "in dimension 1");
    EXPECT(strata_launch(queue, named("count"), strata_grid_local(strata_grid_2d(8, 9), 4, 0, 1), args, 4), refused,
           "in dimension 1");
    EXPECT(strata_launch(queue, named("count"), strata_grid_local(strata_grid_2d(8, 9), 0, 3, 1), args, 4), refused,
           "in dimension 0");
    EXPECT(strata_launch(queue, named("count"),
                         strata_grid_local(strata_grid_1d(UINT64_C(1) << 30), UINT64_C(1) << 30, 1, 1), args, 4),
           refused, "");
    strata_buffer_destroy(&out);
}

static void groups_over_the_limit(void **state) {
    (void)state;
    strata_buffer *out = words(device, 6, 0);
    strata_kernel *kernel = named("locals");
    uint64_t most = strata_kernel_get_info(kernel)->max_group_items;
    const enum strata_status refused = STRATA_INVALID_ARGUMENT;
    EXPECT(strata_launch(queue, kernel, strata_grid_local(strata_grid_1d(most * 2), most * 2, 1, 1),
                         STRATA_ARGS(whole(out))),
           refused, "");
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t over[3] = {1, 1, 1};
        over[i] = about->max_group_size[i] + 1;
        if (over[i] > INT32_MAX)
            continue;
        strata_grid grid = strata_grid_local(strata_grid_3d(over[0], over[1], over[2]), over[0], over[1], over[2]);
        EXPECT(strata_launch(queue, kernel, grid, STRATA_ARGS(whole(out))), refused, "local size");
    }
    uint64_t x = most < about->max_group_size[0] ? most : about->max_group_size[0];
    if (about->max_group_size[1] > most / x)
        EXPECT(strata_launch(queue, kernel, strata_grid_local(strata_grid_2d(x, most / x + 1), x, most / x + 1, 1),
                             STRATA_ARGS(whole(out))),
               refused, "work-group");
    CHECK(strata_launch(queue, kernel, strata_grid_local(strata_grid_1d(x), x, 1, 1), STRATA_ARGS(whole(out))));
    assert_int_equal(word(queue, out, 0), x);
    strata_buffer_destroy(&out);
}

static void a_required_local_size(void **state) {
    (void)state;
    strata_buffer *out = words(device, 64, 0);
    strata_kernel *kernel = named("fixed");
    strata_grid grid = strata_grid_2d(8, 4);
    EXPECT(strata_launch(queue, kernel, strata_grid_local(grid, 8, 1, 1), STRATA_ARGS(whole(out))),
           STRATA_INVALID_ARGUMENT, "requires a local size of 4 x 2 x 1");
    EXPECT(strata_launch(queue, kernel, strata_grid_local(grid, 4, 1, 1), STRATA_ARGS(whole(out))),
           STRATA_INVALID_ARGUMENT, "dimension 1 was given 1");
    EXPECT(strata_launch(queue, kernel, strata_grid_2d(7, 4), STRATA_ARGS(whole(out))), STRATA_INVALID_ARGUMENT,
           "4 does not divide the global size of 7");
    /* A line has 1 work-item in the second dimension, where 2 are required. */
    EXPECT(strata_launch(queue, kernel, strata_grid_1d(8), STRATA_ARGS(whole(out))), STRATA_INVALID_ARGUMENT,
           "4 x 2 x 1");
    assert_int_equal(word(queue, out, 0), 0);
    CHECK(strata_launch(queue, kernel, grid, STRATA_ARGS(whole(out))));
    for (size_t i = 0; i < 32; i++)
        assert_int_equal(word(queue, out, i), 42);
    uint32_t zero = 0;
    CHECK(strata_fill(queue, strata_all(out), &zero, sizeof zero));
    CHECK(strata_launch(queue, kernel, strata_grid_local(grid, 4, 2, 1), STRATA_ARGS(whole(out))));
    assert_int_equal(word(queue, out, 31), 42);
    CHECK(strata_launch(queue, kernel, strata_grid_round_up(strata_grid_2d(7, 3)), STRATA_ARGS(whole(out))));
    assert_int_equal(word(queue, out, 31), 42);
    strata_buffer_destroy(&out);
}

static void extents(void **state) {
    (void)state;
    strata_buffer *out = words(device, 6, 9);
    strata_kernel *kernel = named("locals");
    strata_event *event = NULL;
    strata_grid none = {.dimensions = 0}, four = {.dimensions = 4, .global = {1, 1, 1}};
    strata_arg args[] = {whole(out)};
    CHECK(strata_launch(queue, kernel, strata_grid_1d(0), args, 1));
    CHECK(strata_launch(queue, kernel, strata_grid_2d(5, 0), args, 1));
    CHECK(strata_launch(queue, kernel, strata_grid_3d(0, 4, 4), args, 1));
    CHECK(strata_launch(queue, kernel, strata_grid_local(strata_grid_1d(0), 8, 1, 1), args, 1));
    CHECK(strata_launch_event(queue, kernel, strata_grid_round_up(strata_grid_1d(0)), args, 1, &event));
    CHECK(strata_event_wait(event));
    strata_event_destroy(&event);
    EXPECT(strata_launch(queue, kernel, strata_grid_1d(0), args, 0), STRATA_INVALID_ARGUMENT, "takes 1 arguments");
    EXPECT(strata_launch(queue, kernel, none, args, 1), STRATA_INVALID_ARGUMENT, "1 to 3 dimensions, not 0");
    EXPECT(strata_launch(queue, kernel, four, args, 1), STRATA_INVALID_ARGUMENT, "1 to 3 dimensions, not 4");
    static const uint64_t large[] = {UINT64_C(1) << 31, UINT64_C(1) << 32, UINT64_MAX};
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        EXPECT(strata_launch(queue, kernel, strata_grid_1d(large[i]), args, 1), STRATA_TOO_LARGE, "2^31-1");
        EXPECT(strata_launch(queue, kernel, strata_grid_3d(1, 1, large[i]), args, 1), STRATA_TOO_LARGE, "2^31-1");
        EXPECT(strata_launch(queue, kernel, strata_grid_local(strata_grid_round_up(strata_grid_1d(large[i])), 8, 1, 1),
                             args, 1),
               STRATA_TOO_LARGE, "2^31-1");
    }
    CHECK(strata_queue_finish(queue));
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(word(queue, out, i), 9);
    strata_buffer_destroy(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(local_memory_to_the_byte),
        cmocka_unit_test(constant_memory_to_the_byte),
        cmocka_unit_test(constant_arguments_are_counted),
        cmocka_unit_test(strata_chooses),
        cmocka_unit_test(strata_chooses_within_the_kernels_limit),
        cmocka_unit_test(local_sizes_that_are_given),
        cmocka_unit_test(groups_over_the_limit),
        cmocka_unit_test(a_required_local_size),
        cmocka_unit_test(extents),
    };
    device = contract_open();
    if (!device)
        return CONTRACT_SKIPPED;
    queue = strata_device_queue(device);
    about = strata_device_get_info(device);
    if (strata_program_build(device, STRATA_PROGRAM(.source = source), &program) != STRATA_OK) {
        fprintf(stderr, "%s\n%s\n", strata_last_error()->message, strata_last_error()->log);
        return 1;
    }
    int failed = cmocka_run_group_tests_name("launch limits", tests, NULL, NULL);
    strata_program_destroy(&program);
    strata_device_close(&device);
    return failed;
}
