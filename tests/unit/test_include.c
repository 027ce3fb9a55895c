/* Inlining of includes: where files are found, what the text becomes, and which lines a compiler will speak of. */
#define _XOPEN_SOURCE 700
#include "unit/inlining.h"

static void text_without_includes_is_kept(void **state) {
    (void)state;
    assert_inlined("int a;\n", "#line 1 \"main.cl\"\nint a;\n");
    assert_inlined("int a;", "#line 1 \"main.cl\"\nint a;\n");
    assert_inlined("a\\\n", "#line 1 \"main.cl\"\na\\\n\n");
    assert_inlined("a\\", "#line 1 \"main.cl\"\na\\\n\n");
}

static void an_include_is_replaced(void **state) {
    (void)state;
    scratch_text(&scratch, "a.h", "int a;\n");
    scratch_text(&scratch, "bare.h", "int bare;");
    scratch_text(&scratch, "open.h", "#define OPEN \\\n");
    scratch_text(&scratch, "empty.h", "");
    assert_inlined("int x;\n#include \"a.h\"\nint y;\n", "#line 1 \"main.cl\"\nint x;\n#line 1 \"a.h\"\nint a;\n"
                                                         "#line 3 \"main.cl\"\nint y;\n");
    assert_inlined("#include \"bare.h\"", "#line 1 \"main.cl\"\n#line 1 \"bare.h\"\nint bare;\n#line 1 \"main.cl\"\n");
    /* What a file leaves continued must not take in the marker. */
    assert_inlined("#include \"open.h\"\ny", "#line 1 \"main.cl\"\n#line 1 \"open.h\"\n#define OPEN \\\n\n"
                                             "#line 2 \"main.cl\"\ny\n");
    assert_inlined("#include \"empty.h\"\ny\n", "#line 1 \"main.cl\"\n#line 1 \"empty.h\"\n#line 2 \"main.cl\"\ny\n");
}

static void every_spelling_of_an_include_counts(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int next_line;
    } spellings[] = {
        {"#include \"a.h\"\n", 2},
        {"  #\tinclude\"a.h\"   \n", 2},
        {"#include \"a.h\" // why\n", 2},
        {"#include \"a.h\" /* why */ /* more */\n", 2},
        {"#include \"a.h\" /* why\n and more */\n", 3},
        {"#include \\\n \"a.h\"\n", 3},
        {"#inc\\\nlude \"a.\\\nh\"\n", 4},
        {"#/* here\n */ include /* too */ \"a.h\"\n", 3},
        {"/* before */ #include \"a.h\"\n", 2},
        {"/* over\n lines */ #include \"a.h\"\n", 3},
        {"\\\n#include \"a.h\"\n", 3},
        {"%:include \"a.h\"\n", 2},
        {"#include \"a.h\" \\\n\n", 3},
        {"#include \"a.h\" garbage\n", 2},
    };
    scratch_text(&scratch, "a.h", "int a;\n");
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        struct strata_text out;
        char text[128], marker[64];
        snprintf(text, sizeof text, "%sint y;\n", spellings[i].text);
        snprintf(marker, sizeof marker, "\n#line 1 \"a.h\"\nint a;\n#line %d \"main.cl\"\nint y;\n",
                 spellings[i].next_line);
        scratch_text(&scratch, "main.cl", text);
        assert_int_equal(inline_request((struct strata_inline_request){.path = "main.cl"}, &out), STRATA_OK);
        if (strstr(out.data, marker) == NULL)
            fail_msg("'%s' became '%s'", text, out.data);
        strata_text_release(&out);
    }
}

static void what_only_looks_like_an_include_is_kept(void **state) {
    (void)state;
    static const char *const texts[] = {
        "// #include \"no.h\"\n",
        "// so \\\n#include \"no.h\"\n",
        "// so \\  \n#include \"no.h\"\n",
        "/* #include \"no.h\" */\n",
        "/*\n#include \"no.h\"\n*/\n",
        "/* a // b\n#include \"no.h\"\n*/\n",
        "/\\\n* a\n#include \"no.h\"\n*\\\n/\n",
        "x \\\n#include \"no.h\"\n",
        "x /*\n*/ #include \"no.h\"\n",
        "char *s = \"\\\n#include \\\"no.h\\\"\";\n",
        "char *s = \"/*\";\nchar c = '\"'; // */\nint i = '\\''; /*\n#include \"no.h\"\n*/\n",
        "#define S \"#include\" \\\n#include \"no.h\"\n",
        "#includes \"no.h\"\n",
        "#pragma include \"no.h\"\n",
        "#include_next \"no.h\"\n",
        "#if 0\ndon't /* there\n#include \"no.h\"\n*/\n#endif\n",
        "#error can't /* say\n",
        "int n = 1'000 /* there\n#include \"no.h\"\n*/;\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char expected[256];
        snprintf(expected, sizeof expected, "#line 1 \"main.cl\"\n%s", texts[i]);
        assert_inlined(texts[i], expected);
    }
    /* An apostrophe opens nothing that outlives its line, so that the comment does. */
    assert_fails("don't /* there\n#include \"no.h\"\n", STRATA_BUILD_FAILED, "\"no.h\" is not found");
}

static void folders_are_searched_in_their_order(void **state) {
    (void)state;
    const char *const folders[] = {"first", "second folder/"};
    struct strata_inline_request request = {.path = "sub/main.cl", .directories = folders, .directory_count = 2};
    scratch_folder(&scratch, "sub");
    scratch_folder(&scratch, "first");
    scratch_folder(&scratch, "second folder");
    scratch_folder(&scratch, "first/both.h");
    scratch_text(&scratch, "sub/here.h", "sub\n");
    scratch_text(&scratch, "first/here.h", "first\n");
    scratch_text(&scratch, "first/portable.h", "mine\n");
    scratch_text(&scratch, "second folder/here.h", "second\n");
    scratch_text(&scratch, "second folder/both.h", "file\n");
    scratch_text(&scratch, "second folder/deep.h", "#include \"here.h\"\n");

    scratch_text(&scratch, "sub/main.cl", "#include \"here.h\"\n#include <here.h>\n");
    assert_request(request, "#line 1 \"sub/main.cl\"\n#line 1 \"sub/here.h\"\nsub\n#line 2 \"sub/main.cl\"\n"
                            "#line 1 \"first/here.h\"\nfirst\n#line 3 \"sub/main.cl\"\n");
    /* An included file's own folder comes first for what it includes. */
    scratch_text(&scratch, "sub/main.cl", "#include <deep.h>\n");
    assert_request(request, "#line 1 \"sub/main.cl\"\n#line 1 \"second folder/deep.h\"\n"
                            "#line 1 \"second folder/here.h\"\nsecond\n#line 2 \"second folder/deep.h\"\n"
                            "#line 2 \"sub/main.cl\"\n");
    /* A folder by that name is no file. The caller's folders go before the embedded set. */
    scratch_text(&scratch, "sub/main.cl", "#include \"both.h\"\n#include \"portable.h\"\n");
    assert_request(request, "#line 1 \"sub/main.cl\"\n#line 1 \"second folder/both.h\"\nfile\n#line 2 \"sub/main.cl\"\n"
                            "#line 1 \"first/portable.h\"\nmine\n#line 3 \"sub/main.cl\"\n");
    /* And the embedded set's own files are its own, in all its folders. */
    request.path = NULL;
    request.embedded_name = "main.cl";
    assert_request(request, "#line 1 \"<strata>/main.cl\"\n#ifndef strata_once_1\n#line 1 \"<strata>/portable.h\"\n"
                            "#define strata_once_1\nint portable;\n#endif\n#line 2 \"<strata>/main.cl\"\nint own;\n");
    request.embedded_name = "room/part.cl";
    assert_request(request, "#line 1 \"<strata>/room/part.cl\"\n#line 1 \"<strata>/room/near.h\"\nint near;\n"
                            "#line 2 \"<strata>/room/part.cl\"\n#ifndef strata_once_2\n"
                            "#line 1 \"<strata>/portable.h\"\n#define strata_once_2\nint portable;\n#endif\n"
                            "#line 3 \"<strata>/room/part.cl\"\n");
}

static void the_embedded_set_is_searched_last(void **state) {
    (void)state;
    assert_inlined("#include <near.h>\n",
                   "#line 1 \"main.cl\"\n#line 1 \"<strata>/near.h\"\nint far;\n#line 2 \"main.cl\"\n");
    struct strata_text out;
    assert_int_equal(inline_request((struct strata_inline_request){.embedded_name = "lost.cl"}, &out),
                     STRATA_BUILD_FAILED);
    assert_message("<strata>/lost.cl, line 1: the included file \"nowhere.h\" is not found");
    assert_int_equal(inline_request((struct strata_inline_request){.embedded_name = "no.cl"}, &out),
                     STRATA_INVALID_ARGUMENT);
    assert_message("\"no.cl\"");
}

static void a_string_has_no_folder(void **state) {
    (void)state;
    struct strata_text out;
    const char *const folders[] = {"."};
    const char *text = "#include \"a.h\"\r\nint x;";
    struct strata_inline_request request = {.text = text, .length = strlen(text)};
    scratch_text(&scratch, "a.h", "int a;\n");
    assert_int_equal(inline_request(request, &out), STRATA_BUILD_FAILED);
    assert_message("<source>, line 1: the included file \"a.h\" is not found; looked for in strata's own files; ");
    request.directories = folders;
    request.directory_count = 1;
    request.name = "my \"kernels\"\\?";
    assert_request(request, "#line 1 \"my \\\"kernels\\\"\\\\\\?\"\n#line 1 \"./a.h\"\nint a;\n"
                            "#line 2 \"my \\\"kernels\\\"\\\\\\?\"\nint x;\n");
}

static void absolute_paths_are_taken_as_they_are(void **state) {
    (void)state;
    char *folder = realpath(scratch.folder, NULL), text[SCRATCH_PATH + 32];
    struct strata_text out;
    scratch_text(&scratch, "a.h", "int a;\n");
    assert_non_null(folder);
    snprintf(text, sizeof text, "#include <%s/a.h>\n", folder);
    free(folder);
    scratch_text(&scratch, "main.cl", text);
    assert_int_equal(inline_request((struct strata_inline_request){.path = "main.cl"}, &out), STRATA_OK);
    assert_non_null(strstr(out.data, "/a.h\"\nint a;\n#line 2 \"main.cl\"\n"));
    strata_text_release(&out);
    assert_fails("#include \"/no/such.h\"\n", STRATA_BUILD_FAILED, "looked for in that very path");
}

static void odd_file_names_are_escaped(void **state) {
    (void)state;
    scratch_text(&scratch, "a b'\xC3\xA4\\?.h", "1\n");
    assert_inlined("#include \"a b'\xC3\xA4\\?.h\"\n", "#line 1 \"main.cl\"\n#line 1 \"a b'\xC3\xA4\\\\\\?.h\"\n1\n"
                                                       "#line 2 \"main.cl\"\n");
    /* No compiler takes control characters or broken UTF-8 there. */
    scratch_text(&scratch, "t\t\xFFz\xED\xA0\x80.h", "2\n");
    assert_inlined("#include \"t\t\xFFz\xED\xA0\x80.h\"\n", "#line 1 \"main.cl\"\n#line 1 \"t__z___.h\"\n2\n"
                                                            "#line 2 \"main.cl\"\n");
    struct strata_text out;
    scratch_text(&scratch, "q\" n\n.cl", "3\n");
    assert_int_equal(inline_request((struct strata_inline_request){.path = "q\" n\n.cl"}, &out), STRATA_OK);
    assert_string_equal(out.data, "#line 1 \"q\\\" n_.cl\"\n3\n");
    strata_text_release(&out);
}

static void an_own_line_directive_goes_on(void **state) {
    (void)state;
    scratch_text(&scratch, "a.h", "int a;\n");
    assert_inlined("#line 100 \"template.in\"\nx\n#include \"a.h\"\ny\n",
                   "#line 1 \"main.cl\"\n#line 100 \"template.in\"\nx\n#line 1 \"a.h\"\nint a;\n"
                   "#line 102 \"template.in\"\ny\n");
    assert_inlined("# 7 \"t\" 2\n#line 50\n#include \"a.h\"\n",
                   "#line 1 \"main.cl\"\n# 7 \"t\" 2\n#line 50\n#line 1 \"a.h\"\nint a;\n#line 51 \"t\"\n");
    assert_inlined("#line 2147483647\n\n#include \"a.h\"\n",
                   "#line 1 \"main.cl\"\n#line 2147483647\n\n#line 1 \"a.h\"\nint a;\n#line 2147483647 \"main.cl\"\n");
    assert_inlined("#line MACRO\n#include \"a.h\"\n",
                   "#line 1 \"main.cl\"\n#line MACRO\n#line 1 \"a.h\"\nint a;\n#line 3 \"main.cl\"\n");
}

static void a_missing_file_is_told_with_its_place(void **state) {
    (void)state;
    struct strata_text out;
    const char *const folders[] = {"inc one", "two"};
    scratch_folder(&scratch, "kernels");
    scratch_text(&scratch, "kernels/main.cl", "\n#include \"part.h\"\n");
    scratch_text(&scratch, "kernels/part.h", "#ifndef PART_H\n#define PART_H\n\n#include \"no.h\"\n#endif\n");
    struct strata_inline_request request = {
        .path = "kernels/main.cl", .directories = folders, .directory_count = 2, .name = "the program"};
    assert_int_equal(inline_request(request, &out), STRATA_BUILD_FAILED);
    assert_string_equal(strata_last_error()->message,
                        "kernels/part.h, line 4: the included file \"no.h\" is not found; looked for in \"kernels/\", "
                        "\"inc one\", \"two\", strata's own files; add its folder with -I.");
    assert_log(
        "In file included from the program:2:\nkernels/part.h:4: error: the included file \"no.h\" is not found");
    assert_fails("#include <no.h>\n", STRATA_BUILD_FAILED,
                 "main.cl, line 1: the included file <no.h> is not found; looked for in strata's own files; add");
    assert_fails("#include \"\"\n", STRATA_BUILD_FAILED, "the included file \"\" is not found");
    assert_fails("#define H \"a.h\"\n#include H\n", STRATA_BUILD_FAILED,
                 "line 2: this #include does not name its file");
    assert_fails("#include \"a.h\n", STRATA_BUILD_FAILED, "does not name its file");
    assert_fails("#include H\n", STRATA_BUILD_FAILED, "does not name its file");
    assert_inlined("#ifdef X\n#include H\n#endif\n", "#line 1 \"main.cl\"\n#ifdef X\n#include H\n#endif\n");
}

static void an_included_file_has_to_close_what_it_opens(void **state) {
    (void)state;
    scratch_text(&scratch, "comment.h", "int a;\n/* open\n");
    scratch_text(&scratch, "if.h", "#if X\n#if Y\n#endif\n");
    scratch_text(&scratch, "else.h", "\n#else\n");
    scratch_text(&scratch, "endif.h", "#if X\n#endif\n#endif\n");
    assert_fails("#include \"comment.h\"\n", STRATA_BUILD_FAILED, "comment.h, line 2: a comment starts here");
    assert_fails("#include \"if.h\"\n", STRATA_BUILD_FAILED, "if.h, line 1: a conditional");
    assert_fails("#if 1\n#include \"else.h\"\n#endif\n", STRATA_BUILD_FAILED, "else.h, line 2: a conditional");
    assert_fails("#include \"endif.h\"\n", STRATA_BUILD_FAILED, "endif.h, line 3: a conditional");
    /* The compiler says it better about the main file. */
    assert_inlined("#endif\n#if X\n/* open", "#line 1 \"main.cl\"\n#endif\n#if X\n/* open\n");
    assert_inlined("#else\n#else\n#endif\n", "#line 1 \"main.cl\"\n#else\n#else\n#endif\n");
}

static void faults_of_included_files_name_the_includer(void **state) {
    (void)state;
    scratch_write(&scratch, "nul.h", "a\0b", 3);
    assert_int_equal(mkfifo(scratch_path(&scratch, "pipe.h").text, 0600), 0);
    assert_fails("\n#include \"nul.h\"\n", STRATA_INVALID_ARGUMENT, "\"nul.h\" has a NUL byte at offset 1 (line 1)");
    assert_message(" It is included by main.cl, line 2.");
    alarm(10);
    assert_fails("#include \"pipe.h\"\n", STRATA_IO, "\"pipe.h\" is a pipe");
    alarm(0);
    assert_fails("", STRATA_INVALID_ARGUMENT, "\"main.cl\" is empty.");
    struct strata_text out;
    assert_int_equal(inline_request((struct strata_inline_request){.path = "none.cl"}, &out), STRATA_IO);
    assert_int_equal(inline_request((struct strata_inline_request){.path = "."}, &out), STRATA_IO);
}

static void included_files_are_listed(void **state) {
    (void)state;
    struct strata_text out = {.data = NULL}, files = {.data = NULL};
    char text[] = "#include <a.h>\n#include <b.h>\n#include <a.h>\n#ifdef X\n#include <no.h>\n#endif\n";
    const char *folder = scratch.folder;
    scratch_text(&scratch, "a.h", "int a;\n");
    scratch_text(&scratch, "b.h", "#include \"portable.h\"\n");
    struct strata_inline_request request = {.text = text,
                                            .length = strlen(text),
                                            .directories = &folder,
                                            .directory_count = 1,
                                            .embedded = embedded,
                                            .embedded_count = 1};
    assert_int_equal(strata_source_inline(&request, &out, &files), STRATA_OK);
    const char *name = files.data;
    assert_string_equal(name, scratch_path(&scratch, "a.h").text);
    name += strlen(name) + 1;
    assert_string_equal(name, scratch_path(&scratch, "b.h").text);
    name += strlen(name) + 1;
    assert_string_equal(name, "<strata>/portable.h");
    name += strlen(name) + 1;
    assert_ptr_equal(name, files.data + files.length);
    strata_text_release(&out);
    strata_text_release(&files);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(text_without_includes_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_include_is_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_spelling_of_an_include_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_only_looks_like_an_include_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(folders_are_searched_in_their_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_embedded_set_is_searched_last, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_string_has_no_folder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(absolute_paths_are_taken_as_they_are, set_up, tear_down),
        cmocka_unit_test_setup_teardown(odd_file_names_are_escaped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_own_line_directive_goes_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_missing_file_is_told_with_its_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_included_file_has_to_close_what_it_opens, set_up, tear_down),
        cmocka_unit_test_setup_teardown(faults_of_included_files_name_the_includer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(included_files_are_listed, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("include", tests, NULL, NULL);
}
