/* The cache of program binaries as a program sees it: when it is used, when not, and what happens when it breaks. */
#define _XOPEN_SOURCE 700
#include "launching.h"

#include "unit/scratch.h"

#include <dirent.h>
#include <pthread.h>

#define ANSWERS "__kernel void answers(__global uint *out) { out[0] = VALUE; }\n"

static const char described[] =
    "__kernel void answers(__global uint *out) { out[0] = 77; }\n"
    "__kernel __attribute__((reqd_work_group_size(4, 1, 1)))\n"
    "void described(__global const float *in, __constant uint *table, __local float *room, float3 value,\n"
    "               __global uint *out) {\n"
    "    __local uint own[16];\n"
    "    own[get_local_id(0)] = table[0];\n"
    "    room[get_local_id(0)] = in[0] * value.x;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    out[get_global_id(0)] = own[3 - get_local_id(0)] + (uint)room[3 - get_local_id(0)];\n"
    "}\n";

static strata_device *device;
static struct scratch scratch; /* each test's own */
static struct contract_log lines;

/* A device whose cache is the folder `cache` of the scratch folder. */
static int set_up(void **state) {
    (void)state;
    scratch = scratch_make();
    struct scratch_path folder = scratch_path(&scratch, "cache");
    lines.text[0] = '\0';
    device = contract_open_with(STRATA_DEVICE_DESC(.cache_directory = folder.text, .log = contract_log_line,
                                                   .log_user = &lines, .log_level = STRATA_LOG_INFO));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    strata_device_close(&device);
    scratch_remove(&scratch);
    return 0;
}

/* Builds, runs and destroys; whether it came from the cache. */
static bool cached(const struct strata_program_desc *desc, uint32_t expected) {
    strata_program *program = build_with(device, desc);
    bool was = strata_program_was_cached(program);
    assert_int_equal(answer(program, "answers", device), expected);
    strata_program_destroy(&program);
    return was;
}

static void the_second_build_is_cached(void **state) {
    (void)state;
    const struct strata_program_desc *desc = STRATA_PROGRAM(.source = ANSWERS, .options = "-DVALUE=3");
    assert_false(cached(desc, 3));
    assert_true(cached(desc, 3));
    assert_true(cached(desc, 3));
    assert_string_equal(lines.text, "");
    assert_false(strata_program_was_cached(NULL));
}

static void another_device_object_finds_it(void **state) {
    (void)state;
    const struct strata_program_desc *desc = STRATA_PROGRAM(.source = ANSWERS, .options = "-DVALUE=4");
    assert_false(cached(desc, 4));
    strata_device_close(&device);
    struct scratch_path folder = scratch_path(&scratch, "cache");
    device = contract_open_with(STRATA_DEVICE_DESC(.cache_directory = folder.text));
    assert_true(cached(desc, 4));
}

static void assert_same_info(strata_program *fresh, strata_program *from_cache, const char *name) {
    const struct strata_kernel_info *a = strata_kernel_get_info(kernel_of(fresh, name));
    const struct strata_kernel_info *b = strata_kernel_get_info(kernel_of(from_cache, name));
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->argument_count, b->argument_count);
    for (uint32_t i = 0; i < a->argument_count; i++) {
        assert_int_equal(a->arguments[i].kind, b->arguments[i].kind);
        assert_int_equal(a->arguments[i].is_const, b->arguments[i].is_const);
        assert_string_equal(a->arguments[i].name, b->arguments[i].name);
        assert_string_equal(a->arguments[i].type, b->arguments[i].type);
    }
    assert_memory_equal(a->required_group, b->required_group, sizeof a->required_group);
    assert_true(a->local_bytes == b->local_bytes);
    assert_true(a->max_group_items == b->max_group_items);
}

static void from_the_cache_all_is_the_same(void **state) {
    (void)state;
    strata_queue *queue = strata_device_queue(device);
    strata_program *fresh = build_text(device, described), *from_cache = build_text(device, described);
    assert_false(strata_program_was_cached(fresh));
    assert_true(strata_program_was_cached(from_cache));
    assert_int_equal(strata_program_kernel_count(from_cache), 2);
    assert_same_info(fresh, from_cache, "answers");
    assert_same_info(fresh, from_cache, "described");
    const struct strata_kernel_info *info = strata_kernel_get_info(kernel_of(from_cache, "described"));
    assert_int_equal(info->arguments[1].kind, STRATA_ARGUMENT_CONSTANT);
    assert_string_equal(info->arguments[3].type, "float3");
    assert_int_equal(info->required_group[0], 4);
    strata_program_destroy(&fresh);

    float in = 2, value[4] = {5, 0, 0, 0};
    strata_buffer *input = words(device, 1, 0), *table = words(device, 1, 100), *out = words(device, 8, 0);
    CHECK(strata_write(queue, strata_all(input), &in));
    CHECK(strata_launch(queue, kernel_of(from_cache, "described"), strata_grid_1d(8),
                        STRATA_ARGS(whole(input), whole(table), strata_arg_local(16),
                                    strata_arg_value(value, sizeof value), whole(out))));
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(word(queue, out, i), 110);
    EXPECT(strata_launch(
               queue, kernel_of(from_cache, "described"), strata_grid_1d(8),
               STRATA_ARGS(whole(input), whole(table), strata_arg_local(16), strata_arg_value(value, 12), whole(out))),
           STRATA_INVALID_ARGUMENT, "float3");
    strata_buffer_destroy(&input);
    strata_buffer_destroy(&table);
    strata_buffer_destroy(&out);
    strata_program_destroy(&from_cache);
}

static void whatever_changes_is_built_anew(void **state) {
    (void)state;
    static const char including[] = "#include \"value.h\"\n" ANSWERS;
    scratch_text(&scratch, "value.h", "#define VALUE 1\n");
    scratch_text(&scratch, "main.cl", including);
    struct scratch_path path = scratch_path(&scratch, "main.cl");
    const struct strata_program_desc *desc = STRATA_PROGRAM(.path = path.text);
    assert_false(cached(desc, 1));
    assert_true(cached(desc, 1));
    scratch_text(&scratch, "value.h", "#define VALUE 2\n");
    assert_false(cached(desc, 2));
    assert_true(cached(desc, 2));
    scratch_text(&scratch, "value.h", "#define VALUE 1\n");
    assert_true(cached(desc, 1));

    assert_false(cached(STRATA_PROGRAM(.source = ANSWERS, .options = "-DVALUE=11"), 11));
    assert_false(cached(STRATA_PROGRAM(.source = ANSWERS, .options = "-DVALUE=12"), 12));
    assert_true(cached(STRATA_PROGRAM(.source = ANSWERS, .options = "-DVALUE=11"), 11));
    assert_false(cached(STRATA_PROGRAM(.source = ANSWERS, .options = "-DVALUE=11 -cl-mad-enable"), 11));
    assert_false(cached(STRATA_PROGRAM(.source = "#define MORE\n" ANSWERS, .options = "-DVALUE=11"), 11));
    assert_true(cached(STRATA_PROGRAM(.source = ANSWERS, .options = "-DVALUE=12"), 12));
}

static unsigned files_in_cache(void) {
    unsigned count = 0;
    DIR *folder = opendir(scratch_path(&scratch, "cache").text);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL)
        count += entry->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return count;
}

static void no_cache_means_none(void **state) {
    (void)state;
    const struct strata_program_desc *desc =
        STRATA_PROGRAM(.source = ANSWERS, .options = "-DVALUE=5", .no_cache = true);
    assert_false(cached(desc, 5));
    assert_int_equal(files_in_cache(), 0);
    assert_false(cached(desc, 5));
    const struct strata_program_desc *kept = STRATA_PROGRAM(.source = ANSWERS, .options = "-DVALUE=5");
    assert_false(cached(kept, 5));
    assert_true(files_in_cache() > 0);
    assert_false(cached(desc, 5));
    assert_true(cached(kept, 5));

    strata_device_close(&device);
    struct scratch_path folder = scratch_path(&scratch, "cache");
    device = contract_open_with(STRATA_DEVICE_DESC(.cache_directory = folder.text, .no_cache = true));
    unsigned before = files_in_cache();
    assert_false(cached(kept, 5));
    assert_false(cached(STRATA_PROGRAM(.source = ANSWERS, .options = "-DVALUE=6"), 6));
    assert_int_equal(files_in_cache(), before);
}

/* Calls `spoil` on each file of the cache. */
static void spoil_all(void (*spoil)(const char *path)) {
    char path[2 * SCRATCH_PATH];
    struct scratch_path place = scratch_path(&scratch, "cache");
    DIR *folder = opendir(place.text);
    const struct dirent *entry;
    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL)
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", place.text, entry->d_name);
            spoil(path);
        }
    closedir(folder);
}

static long length_of(const char *path) {
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    return (long)about.st_size;
}

static void cut(const char *path) {
    assert_int_equal(truncate(path, length_of(path) / 2), 0);
}

static void empty(const char *path) {
    assert_int_equal(truncate(path, 0), 0);
}

static void flip_at(const char *path, long place) {
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, place, SEEK_SET), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, place, SEEK_SET), 0);
    assert_int_not_equal(fputc(byte ^ 0x40, file), EOF);
    assert_int_equal(fclose(file), 0);
}

static void flip_first(const char *path) {
    flip_at(path, 0);
}

static void flip_middle(const char *path) {
    flip_at(path, length_of(path) / 2);
}

static void flip_last(const char *path) {
    flip_at(path, length_of(path) - 1);
}

static void broken_files_are_replaced(void **state) {
    (void)state;
    void (*const ways[])(const char *) = {cut, empty, flip_first, flip_middle, flip_last};
    const struct strata_program_desc *desc = STRATA_PROGRAM(.source = ANSWERS, .options = "-DVALUE=8");
    assert_false(cached(desc, 8));
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        spoil_all(ways[i]);
        lines.text[0] = '\0';
        assert_false(cached(desc, 8));
        assert_non_null(strstr(lines.text, "program cache"));
        assert_true(cached(desc, 8));
    }
}

static void a_folder_that_cannot_be(void **state) {
    (void)state;
    const struct strata_program_desc *desc = STRATA_PROGRAM(.source = ANSWERS, .options = "-DVALUE=9");
    scratch_text(&scratch, "cache", "a file in the folder's place");
    assert_false(cached(desc, 9));
    assert_non_null(strstr(lines.text, "cache"));
    assert_false(cached(desc, 9));
}

struct builder {
    pthread_t thread;
    const struct strata_program_desc *desc;
    strata_program *program;
    enum strata_status status;
};

static void *build_on_a_thread(void *user) {
    struct builder *builder = user;
    builder->status = strata_program_build(device, builder->desc, &builder->program);
    return NULL;
}

static void two_threads_build_the_same(void **state) {
    (void)state;
    for (unsigned round = 0; round < (contract_is_slow(device) ? 2 : 8); round++) {
        char options[32];
        snprintf(options, sizeof options, "-DVALUE=%u", 100 + round);
        const struct strata_program_desc *desc = STRATA_PROGRAM(.source = ANSWERS, .options = options);
        struct builder builders[2] = {{.desc = desc}, {.desc = desc}};
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&builders[i].thread, NULL, build_on_a_thread, &builders[i]), 0);
        for (int i = 0; i < 2; i++) {
            pthread_join(builders[i].thread, NULL);
            assert_int_equal(builders[i].status, STRATA_OK);
        }
        for (int i = 0; i < 2; i++) {
            assert_int_equal(answer(builders[i].program, "answers", device), 100 + round);
            strata_program_destroy(&builders[i].program);
        }
        assert_true(cached(desc, 100 + round));
    }
    assert_string_equal(lines.text, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_second_build_is_cached),
        TEST(another_device_object_finds_it),
        TEST(from_the_cache_all_is_the_same),
        TEST(whatever_changes_is_built_anew),
        TEST(no_cache_means_none),
        TEST(broken_files_are_replaced),
        TEST(a_folder_that_cannot_be),
        TEST(two_threads_build_the_same),
    };
    device = contract_open();
    if (!device)
        return CONTRACT_SKIPPED;
    strata_device_close(&device);
    return cmocka_run_group_tests_name("program cache", tests, NULL, NULL);
}
