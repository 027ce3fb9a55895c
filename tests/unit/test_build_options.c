/* The options of a build: include folders are taken out, and nothing else changes. */
#define _XOPEN_SOURCE 700
#include "unit/inlining.h"

#include "program/options.h"

/* An allocator that fails the n-th time, and ever after. */
struct failing {
    size_t left, live;
};

static void *failing_allocate(size_t bytes, void *user) {
    struct failing *failing = user;
    if (failing->left == 0)
        return NULL;
    failing->left--;
    failing->live++;
    return malloc(bytes);
}

static void failing_release(void *pointer, void *user) {
    ((struct failing *)user)->live--;
    free(pointer);
}

static void every_missing_allocation_is_survived(void **state) {
    (void)state;
    struct failing failing;
    const struct strata_allocator hooks = {failing_allocate, failing_release, &failing};
    const struct scratch_path path = scratch_path(&scratch, "main.cl");
    const char *folder = "nowhere";
    scratch_text(&scratch, "a.h", "#ifndef A_H\n#define A_H\n#include \"b.h\"\n#endif\n");
    scratch_text(&scratch, "b.h", "#pragma once\n#include \"a.h\"\n#if X\n#include <portable.h>\n#endif\n");
    scratch_text(&scratch, "main.cl", "#include \"a.h\"\n#define B\n#line 3 \"x\"\nint x;\n");
    struct strata_inline_request request = {.hooks = &hooks,
                                            .path = path.text,
                                            .directories = &folder,
                                            .directory_count = 1,
                                            .embedded = embedded,
                                            .embedded_count = 1,
                                            .options = "-DX -D \"Y=1 2\""};
    enum strata_status status = STRATA_OUT_OF_MEMORY;
    size_t count = 0;
    for (; status != STRATA_OK; count++) {
        struct strata_text out = {.hooks = &hooks}, files = {.hooks = &hooks};
        failing = (struct failing){.left = count};
        status = strata_source_inline(&request, &out, &files);
        if (status != STRATA_OK)
            assert_int_equal(status, STRATA_OUT_OF_MEMORY);
        strata_text_release(&out);
        strata_text_release(&files);
        assert_int_equal(failing.live, 0);
    }
    assert_true(count > 20);

    status = STRATA_OUT_OF_MEMORY;
    for (count = 0; status != STRATA_OK; count++) {
        struct strata_options split;
        failing = (struct failing){.left = count};
        status = strata_options_split(&hooks, "-D A -I one -Itwo -DB", &split);
        strata_options_release(&split);
        assert_int_equal(failing.live, 0);
    }
    assert_true(count > 4);
}

static void include_folders_leave_the_options(void **state) {
    (void)state;
    static const struct {
        const char *options, *cleaned, *folders; /* the folders with '|' behind each */
    } cases[] = {
        {NULL, "", ""},
        {"", "", ""},
        {"  ", "  ", ""},
        {"-DA=1", "-DA=1", ""},
        {"-I inc", "", "inc|"},
        {"-Iinc", "", "inc|"},
        {"-I inc -DA", "-DA", "inc|"},
        {"-DA -I inc", "-DA", "inc|"},
        {"-DA  -I\tinc  -DB ", "-DA  -DB ", "inc|"},
        {"-DA -I a -I b -Ic -DB -Id -cl-mad-enable", "-DA -DB -cl-mad-enable", "a|b|c|d|"},
        {"-I \"my folder\" -DB", "-DB", "my folder|"},
        {"-I\"my folder\" -DB", "-DB", "my folder|"},
        {"\"-Imy folder\" -DB", "-DB", "my folder|"},
        {"-I 'my folder' -DB", "-DB", "my folder|"},
        {"-I my\\ folder -DB", "-DB", "my folder|"},
        {"-I a\"b c\"d'e f' -DB", "-DB", "ab cde f|"},
        {"-I \"q\\\"q\\\\ \\x\"", "", "q\"q\\ \\x|"},
        {"-I a\\b", "", "a\\b|"},
        {"-I 'a\\'", "", "a\\|"},
        {"-I \xC3\xA4/\xC3\xB6", "", "\xC3\xA4/\xC3\xB6|"},
        {"-D NAME=\"a b\" -I x -DM='c d'", "-D NAME=\"a b\" -DM='c d'", "x|"},
        {"-DS=\\\"a\\\" -I x -DT=\\\"-I y\\\"", "-DS=\\\"a\\\" -DT=\\\"-I y\\\"", "x|"},
        {"-DS=\"-I x\"", "-DS=\"-I x\"", ""},
        {"-D -Inot -I yes", "-D -Inot", "yes|"},
        {"-DA=b\\  -I x", "-DA=b\\ ", "x|"},
        {"-i x -II y", "-i x y", "I|"},
        {"-I -I", "", "-I|"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strata_options split;
        char folders[256] = "";
        assert_int_equal(strata_options_split(NULL, cases[i].options, &split), STRATA_OK);
        for (size_t j = 0; j < split.directory_count; j++) {
            strcat(folders, split.directories[j]);
            strcat(folders, "|");
        }
        assert_string_equal(split.cleaned, cases[i].cleaned);
        assert_string_equal(folders, cases[i].folders);
        strata_options_release(&split);
    }
}

static void broken_options_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *options, *words;
    } cases[] = {
        {"-DA=\"x", "a double quote at offset 4 that is never closed: -DA=\"x"},
        {"-I 'x -DB", "a single quote at offset 3 that is never closed"},
        {"-I \"x\\\"", "a double quote at offset 3"},
        {"-I", "-I without a folder"},
        {"-DA -I  ", "-I without a folder"},
        {"-I \"\"", "-I without a folder"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strata_options split;
        assert_int_equal(strata_options_split(NULL, cases[i].options, &split), STRATA_INVALID_ARGUMENT);
        assert_message(cases[i].words);
        assert_null(split.cleaned);
        strata_options_release(&split);
    }
    struct strata_text out;
    struct strata_inline_request request = {.text = "x", .length = 1, .options = "-DA=\""};
    assert_int_equal(inline_request(request, &out), STRATA_INVALID_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_missing_allocation_is_survived, set_up, tear_down),
        cmocka_unit_test_setup_teardown(include_folders_leave_the_options, set_up, tear_down),
        cmocka_unit_test_setup_teardown(broken_options_are_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("build options", tests, NULL, NULL);
}
