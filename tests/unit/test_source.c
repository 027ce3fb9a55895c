/* Loading kernel source: what is accepted, what is refused, in which words, and without ever waiting. */
#define _XOPEN_SOURCE 700
#include "unit/scratch.h"

#include "program/source.h"

#include <errno.h>

static struct scratch scratch;

static int set_up(void **state) {
    (void)state;
    scratch = scratch_make();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    scratch_remove(&scratch);
    return 0;
}

static enum strata_status load(const char *name, struct strata_text *text) {
    *text = (struct strata_text){.data = NULL};
    return strata_source_load(scratch_path(&scratch, name).text, STRATA_SOURCE_MAIN, text);
}

static void assert_loads(const char *bytes, size_t length, const char *expected) {
    struct strata_text text;
    scratch_write(&scratch, "a.cl", bytes, length);
    assert_int_equal(load("a.cl", &text), STRATA_OK);
    assert_int_equal(text.length, strlen(expected));
    assert_string_equal(text.data, expected);
    strata_text_release(&text);

    struct strata_text copy = {.data = NULL};
    assert_int_equal(strata_source_copy(NULL, bytes, length, STRATA_SOURCE_MAIN, &copy), STRATA_OK);
    assert_int_equal(copy.length, strlen(expected));
    assert_string_equal(copy.data, expected);
    strata_text_release(&copy);
}

static void assert_refused(const char *name, enum strata_status status, const char *words) {
    struct strata_text text;
    assert_int_equal(load(name, &text), status);
    assert_message(words);
    assert_message(name);
    assert_null(text.data);
    assert_int_equal(text.length, 0);
}

static void assert_content_refused(const char *bytes, size_t length, const char *words) {
    struct strata_text text = {.data = NULL};
    scratch_write(&scratch, "bad.cl", bytes, length);
    assert_refused("bad.cl", STRATA_INVALID_ARGUMENT, words);
    assert_int_equal(strata_source_copy(NULL, bytes, length, STRATA_SOURCE_MAIN, &text), STRATA_INVALID_ARGUMENT);
    assert_message(words);
    assert_message("The kernel source string");
    assert_null(text.data);
}

static void plain_text_is_kept(void **state) {
    (void)state;
    assert_loads("kernel void f() {}", 18, "kernel void f() {}");
    assert_loads("a\n\n b\t\n", 7, "a\n\n b\t\n");
    assert_loads("\xC3\xA4\n", 3, "\xC3\xA4\n");
}

static void line_ends_become_newlines(void **state) {
    (void)state;
    assert_loads("#define A 1 \\\r\n + 2\r\nint a = A;\r\n", 33, "#define A 1 \\\n + 2\nint a = A;\n");
    assert_loads("a\rb\r", 4, "a\nb\n");
    assert_loads("a\r\r\nb\n\r\n", 8, "a\n\nb\n\n");
    assert_loads("\r", 1, "\n");
}

static void byte_order_mark_is_dropped(void **state) {
    (void)state;
    assert_loads("\xEF\xBB\xBFint a;", 9, "int a;");
    assert_loads("\xEF\xBB\xBF\xEF\xBB\xBF", 6, "\xEF\xBB\xBF");
    assert_loads("\xEF\xBB", 2, "\xEF\xBB");
    assert_content_refused("\xFF\xFEi\0n\0t\0", 8, "UTF-16");
    assert_content_refused("\xFE\xFF\0i\0n\0t", 8, "UTF-16");
}

static void nothing_is_refused(void **state) {
    (void)state;
    assert_content_refused("", 0, "is empty.");
    assert_content_refused("\xEF\xBB\xBF", 3, "is empty.");
    struct strata_text text = {.data = NULL};
    assert_int_equal(strata_source_copy("k", NULL, 0, STRATA_SOURCE_MAIN, &text), STRATA_INVALID_ARGUMENT);
    assert_string_equal(strata_last_error()->message, "The kernel source \"k\" is empty.");
}

static void nothing_is_fine_for_an_include(void **state) {
    (void)state;
    struct strata_text text = {.data = NULL};
    scratch_text(&scratch, "empty.h", "");
    assert_int_equal(strata_source_load(scratch_path(&scratch, "empty.h").text, STRATA_SOURCE_INCLUDED, &text),
                     STRATA_OK);
    assert_int_equal(text.length, 0);
    strata_text_release(&text);
}

static void nul_is_told_with_its_place(void **state) {
    (void)state;
    assert_content_refused("a\0b", 3, "at offset 1 (line 1)");
    assert_content_refused("\0", 1, "at offset 0 (line 1)");
    assert_content_refused("one\ntwo\r\nthree\rfour\0five\0", 25, "at offset 19 (line 4)");
    assert_content_refused("one\r\0", 5, "at offset 4 (line 2)");
    assert_content_refused("\xEF\xBB\xBFx\0", 5, "at offset 4 (line 1)");
}

static void only_regular_files_are_read(void **state) {
    (void)state;
    scratch_folder(&scratch, "folder.cl");
    assert_refused("folder.cl", STRATA_IO, "is a folder");
    assert_refused("missing.cl", STRATA_IO, "there is no such file");
    scratch_text(&scratch, "file", "x");
    assert_refused("file/below.cl", STRATA_IO, "not a folder");
    assert_int_equal(symlink("nowhere", scratch_path(&scratch, "dangling.cl").text), 0);
    assert_refused("dangling.cl", STRATA_IO, "there is no such file");
    assert_int_equal(symlink("round.cl", scratch_path(&scratch, "round.cl").text), 0);
    assert_refused("round.cl", STRATA_IO, "symbolic link");

    struct strata_text text = {.data = NULL};
    assert_int_equal(strata_source_load("/dev/null", STRATA_SOURCE_MAIN, &text), STRATA_IO);
    assert_message("is a device");
    assert_int_equal(strata_source_load("", STRATA_SOURCE_MAIN, &text), STRATA_IO);
}

static void a_link_to_a_file_is_followed(void **state) {
    (void)state;
    struct strata_text text;
    scratch_text(&scratch, "real.cl", "int a;");
    assert_int_equal(symlink("real.cl", scratch_path(&scratch, "link.cl").text), 0);
    assert_int_equal(load("link.cl", &text), STRATA_OK);
    assert_string_equal(text.data, "int a;");
    strata_text_release(&text);
}

/* Without a writer on the other end, a careless open would wait for ever; the alarm ends the test then. */
static void a_pipe_is_refused_at_once(void **state) {
    (void)state;
    assert_int_equal(mkfifo(scratch_path(&scratch, "pipe.cl").text, 0600), 0);
    alarm(10);
    assert_refused("pipe.cl", STRATA_IO, "is a pipe");
    alarm(0);
}

static void an_unreadable_file_is_told(void **state) {
    (void)state;
    if (geteuid() == 0) {
        print_message("skipped: root reads every file\n");
        skip();
    }
    scratch_text(&scratch, "closed.cl", "int a;");
    assert_int_equal(chmod(scratch_path(&scratch, "closed.cl").text, 0), 0);
    assert_refused("closed.cl", STRATA_IO, "permission denied");
}

static void five_megabytes_are_read_whole(void **state) {
    (void)state;
    size_t length = (size_t)5 << 20;
    char *bytes = malloc(length);
    struct strata_text text;
    assert_non_null(bytes);
    for (size_t i = 0; i < length; i++)
        bytes[i] = i % 64 == 63 ? '\n' : (char)('a' + i % 23);
    scratch_write(&scratch, "large.cl", bytes, length);
    assert_int_equal(load("large.cl", &text), STRATA_OK);
    assert_int_equal(text.length, length);
    assert_memory_equal(text.data, bytes, length);
    strata_text_release(&text);
    free(bytes);
}

static void the_limit_holds_to_the_byte(void **state) {
    (void)state;
    struct strata_text text;
    struct scratch_path path = scratch_path(&scratch, "huge.cl");
    char *bytes = malloc(STRATA_SOURCE_MAX_BYTES + 1);
    assert_non_null(bytes);
    memset(bytes, ' ', STRATA_SOURCE_MAX_BYTES + 1);
    scratch_write(&scratch, "huge.cl", bytes, STRATA_SOURCE_MAX_BYTES + 1);
    assert_refused("huge.cl", STRATA_INVALID_ARGUMENT, "the limit of 64 MiB");
    assert_int_equal(truncate(path.text, (off_t)STRATA_SOURCE_MAX_BYTES), 0);
    assert_int_equal(load("huge.cl", &text), STRATA_OK);
    assert_int_equal(text.length, STRATA_SOURCE_MAX_BYTES);
    strata_text_release(&text);

    text = (struct strata_text){.data = NULL};
    assert_int_equal(strata_source_copy("s", bytes, STRATA_SOURCE_MAX_BYTES + 1, STRATA_SOURCE_MAIN, &text),
                     STRATA_INVALID_ARGUMENT);
    assert_message("the limit of 64 MiB");
    free(bytes);
}

/* Its size is 0 as far as the system tells. */
static void a_file_without_a_size_is_read(void **state) {
    (void)state;
    struct strata_text text = {.data = NULL};
    if (access("/proc/version", R_OK) != 0) {
        print_message("skipped: this system has no /proc/version\n");
        skip();
    }
    assert_int_equal(strata_source_load("/proc/version", STRATA_SOURCE_MAIN, &text), STRATA_OK);
    assert_true(text.length > 10);
    strata_text_release(&text);
}

static void no_descriptor_is_left(void **state) {
    (void)state;
    struct strata_text text;
    int before = dup(0);
    assert_true(before >= 0);
    close(before);
    scratch_text(&scratch, "good.cl", "int a;");
    scratch_write(&scratch, "nul.cl", "a\0", 2);
    assert_int_equal(load("good.cl", &text), STRATA_OK);
    strata_text_release(&text);
    assert_int_equal(load("nul.cl", &text), STRATA_INVALID_ARGUMENT);
    int after = dup(0);
    close(after);
    assert_int_equal(before, after);
}

static void *no_memory(size_t bytes, void *user) {
    (void)bytes;
    (void)user;
    return NULL;
}

static void no_memory_released(void *pointer, void *user) {
    (void)pointer;
    (void)user;
}

static void missing_memory_is_told(void **state) {
    (void)state;
    const struct strata_allocator hooks = {no_memory, no_memory_released, NULL};
    struct strata_text text = {.hooks = &hooks};
    scratch_text(&scratch, "memory.cl", "int a;");
    assert_int_equal(strata_source_load(scratch_path(&scratch, "memory.cl").text, STRATA_SOURCE_MAIN, &text),
                     STRATA_OUT_OF_MEMORY);
    assert_int_equal(strata_source_copy("s", "x", 1, STRATA_SOURCE_MAIN, &text), STRATA_OUT_OF_MEMORY);
}

static void faults_have_words(void **state) {
    (void)state;
    assert_string_equal(strata_errno_text(EACCES), "permission denied");
    assert_string_equal(strata_errno_text(ENOSPC), "no space is left on the device");
    assert_string_equal(strata_errno_text(123456), "the system reports an unexpected fault");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_text_is_kept),
        cmocka_unit_test(line_ends_become_newlines),
        cmocka_unit_test(byte_order_mark_is_dropped),
        cmocka_unit_test(nothing_is_refused),
        cmocka_unit_test(nothing_is_fine_for_an_include),
        cmocka_unit_test(nul_is_told_with_its_place),
        cmocka_unit_test(only_regular_files_are_read),
        cmocka_unit_test(a_link_to_a_file_is_followed),
        cmocka_unit_test(a_pipe_is_refused_at_once),
        cmocka_unit_test(an_unreadable_file_is_told),
        cmocka_unit_test(five_megabytes_are_read_whole),
        cmocka_unit_test(the_limit_holds_to_the_byte),
        cmocka_unit_test(a_file_without_a_size_is_read),
        cmocka_unit_test(no_descriptor_is_left),
        cmocka_unit_test(missing_memory_is_told),
        cmocka_unit_test(faults_have_words),
    };
    return cmocka_run_group_tests_name("source", tests, set_up, tear_down);
}
