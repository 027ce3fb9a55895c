/* Inlining of includes: #pragma once, include guards, conditions, and the limits of depth and size. */
#define _XOPEN_SOURCE 700
#include "unit/inlining.h"

static void pragma_once_counts_by_file(void **state) {
    (void)state;
    struct strata_text out;
    scratch_text(&scratch, "once.h", "int once;\n#pragma once // me\n");
    assert_inlined("#include \"once.h\"\n#include \"once.h\" /*\n*/\nx\n",
                   "#line 1 \"main.cl\"\n#ifndef strata_once_1\n#line 1 \"once.h\"\nint once;\n#define strata_once_1\n"
                   "#endif\n#line 2 \"main.cl\"\n\n\nx\n");
    /* Under another name it is still that file. */
    assert_int_equal(link(scratch_path(&scratch, "once.h").text, scratch_path(&scratch, "other.h").text), 0);
    assert_int_equal(symlink("once.h", scratch_path(&scratch, "link.h").text), 0);
    assert_inlined("#include \"once.h\"\n#include \"other.h\"\n#include \"./once.h\"\n#include \"link.h\"\nx\n",
                   "#line 1 \"main.cl\"\n#ifndef strata_once_1\n#line 1 \"once.h\"\nint once;\n#define strata_once_1\n"
                   "#endif\n#line 2 \"main.cl\"\n\n\n\nx\n");
    /* A file of the same text is not. */
    scratch_text(&scratch, "same.h", "int once;\n#pragma once // me\n");
    scratch_text(&scratch, "main.cl", "#include \"once.h\"\n#include \"same.h\"\n");
    assert_int_equal(inline_request((struct strata_inline_request){.path = "main.cl"}, &out), STRATA_OK);
    assert_non_null(strstr(out.data, "#ifndef strata_once_2\n#line 1 \"same.h\"\nint once;\n"));
    strata_text_release(&out);
    /* A cycle ends, and the main file may say it too. */
    scratch_text(&scratch, "round.h", "#pragma once\n#include \"main.cl\"\n#include \"round.h\"\nint round;\n");
    assert_inlined(
        "#pragma once\n#include \"round.h\"\nx\n",
        "#ifndef strata_once_0\n#line 1 \"main.cl\"\n#define strata_once_0\n#ifndef strata_once_1\n"
        "#line 1 \"round.h\"\n#define strata_once_1\n\n\nint round;\n#endif\n#line 3 \"main.cl\"\nx\n#endif\n");
}

/* What was included where the compiler may skip it has to come again. Behind such a group the line is told again,
 * because the markers in it are skipped as well. */
static void a_group_that_may_be_skipped_proves_nothing(void **state) {
    (void)state;
    scratch_text(&scratch, "once.h", "#pragma once\nint once;\n");
    const char *text = "#ifdef MAYBE\n#include \"once.h\"\n#include \"once.h\"\n#endif\n#include \"once.h\"\nx\n";
    assert_inlined(text, "#line 1 \"main.cl\"\n#ifdef MAYBE\n"
                         "#ifndef strata_once_1\n#line 1 \"once.h\"\n#define strata_once_1\nint once;\n#endif\n"
                         "#line 3 \"main.cl\"\n\n#endif\n#line 5 \"main.cl\"\n"
                         "#ifndef strata_once_1\n#line 1 \"once.h\"\n#define strata_once_1\nint once;\n#endif\n"
                         "#line 6 \"main.cl\"\nx\n");
    scratch_text(&scratch, "guard.h",
                 "/* licence */\n#ifndef GUARD_H\n#define GUARD_H\nint guard;\n#endif // GUARD_H\n");
    assert_inlined("#include \"guard.h\"\n#include \"guard.h\"\nx\n",
                   "#line 1 \"main.cl\"\n#line 1 \"guard.h\"\n/* licence */\n#ifndef GUARD_H\n#define GUARD_H\n"
                   "int guard;\n#endif // GUARD_H\n#line 2 \"main.cl\"\n\nx\n");
    assert_inlined("#if 1\n#include \"guard.h\"\n#endif\n#include \"guard.h\"\nx\n",
                   "#line 1 \"main.cl\"\n#if 1\n#line 1 \"guard.h\"\n/* licence */\n#ifndef GUARD_H\n#define GUARD_H\n"
                   "int guard;\n#endif // GUARD_H\n#line 3 \"main.cl\"\n#endif\n#line 4 \"main.cl\"\n\nx\n");
}

static void include_guards_work(void **state) {
    (void)state;
    scratch_text(&scratch, "a.h", "#ifndef A_H\n#define A_H\n#include \"b.h\"\nint a;\n#endif\n");
    scratch_text(&scratch, "b.h", "#if !defined(B_H)\n#define B_H 1\n#include \"a.h\"\nint b;\n#endif\n");
    scratch_text(&scratch, "c.h", "#if !defined B_H\n#define B_H\nint c;\n#endif\n");
    scratch_text(&scratch, "n.h", "int n;\n");
    assert_count("#include \"a.h\"\n#include \"b.h\"\n", NULL, "int a;", 1);
    assert_count("#include \"a.h\"\n#include \"b.h\"\n", NULL, "int b;", 1);
    /* A macro that something else defines may keep the file from being read, and b.h with it. */
    assert_count("#define A_H\n#include \"a.h\"\n#include \"b.h\"\n", NULL, "int b;", 2);
    assert_count("#include \"a.h\"\n#include \"b.h\"\n", "-DA_H", "int b;", 2);
    assert_count("#include \"a.h\"\n#include \"b.h\"\n", "-D \"A_H=1\"", "int b;", 2);
    assert_count("#include \"a.h\"\n#include \"b.h\"\n", "-U A_H", "int b;", 2);
    /* Read or not, it adds nothing the second time. */
    assert_count("#include \"a.h\"\n#include \"a.h\"\n", "-DA_H", "int a;", 1);
    /* Two files with one guard: the compiler decides. */
    assert_count("#include \"c.h\"\n#include \"b.h\"\n#include \"c.h\"\n", NULL, "int b;", 1);
    assert_count("#include \"c.h\"\n#include \"b.h\"\n#include \"c.h\"\n", NULL, "int c;", 1);
    /* An undefined guard opens the file again. */
    assert_count("#include \"a.h\"\n#undef A_H\n#include \"a.h\"\n", NULL, "int a;", 2);
    assert_count("#undef A_H\n#undef B_H\n#include \"a.h\"\n", NULL, "int a;", 1);
    assert_count("#include \"a.h\"\n#if 0\n#undef A_H\n#endif\n#include \"a.h\"\n", NULL, "int a;", 1);
    /* Without a guard a file comes as often as it is included. */
    assert_count("#include \"n.h\"\n#include \"n.h\"\n#include \"n.h\"\n", NULL, "int n;", 3);
    /* Something behind the #endif, before the #ifndef, or in an #else is no guard. */
    scratch_text(&scratch, "d.h", "#ifndef D_H\n#define D_H\n#endif\nint d;\n");
    scratch_text(&scratch, "e.h", "int e;\n#ifndef E_H\n#define E_H\n#endif\n");
    scratch_text(&scratch, "f.h", "#ifndef F_H\n#define F_H\n#else\nint f;\n#endif\n");
    assert_count("#include \"d.h\"\n#include \"d.h\"\n", NULL, "int d;", 2);
    assert_count("#include \"e.h\"\n#include \"e.h\"\n", NULL, "int e;", 2);
    assert_count("#include \"f.h\"\n#include \"f.h\"\n", NULL, "int f;", 2);
}

/* The inner inclusion of r.h is skipped when R is defined, and leaf.h is still to come. */
static void a_file_within_itself_proves_nothing(void **state) {
    (void)state;
    scratch_text(&scratch, "r.h", "#ifdef R\n#pragma once\n#endif\n#include \"s.h\"\n#include \"leaf.h\"\n");
    scratch_text(&scratch, "s.h", "#pragma once\n#include \"r.h\"\nint s;\n");
    scratch_text(&scratch, "leaf.h", "#pragma once\nint leaf;\n");
    assert_count("#include \"r.h\"\n", NULL, "int leaf;", 2);
    assert_count("#include \"r.h\"\n", NULL, "int s;", 1);
}

static void conditions_are_followed(void **state) {
    (void)state;
    static const char *const defined[] = {"__OPENCL_VERSION__"};
    static const struct {
        const char *before, *after;
        bool read; /* whether the compiler is sure to read what is between, or may; then a missing file is told */
        bool left; /* whether the include is left as it is */
    } cases[] = {
        {"", "", true, false},
        {"#if 1\n", "#endif\n", true, false},
        {"#if 0\n", "#endif\n", false, true},
        {"#if 0\n#else\n", "#endif\n", true, false},
        {"#if 1\n#else\n", "#endif\n", false, true},
        {"#if 0\n#elif 1\n", "#endif\n", true, false},
        {"#if 1\n#elif 1\n", "#endif\n", false, true},
        {"#if X\n#elif 0\n", "#endif\n", false, true},
        {"#if X\n#elif 1\n#else\n", "#endif\n", false, true},
        {"#if 0\n#if 1\n", "#endif\n#endif\n", false, true},
        {"#if 1\n#if 1\n", "#endif\n#endif\n", true, false},
        {"#if 0\n#endif\n", "", true, false},
        {"#ifdef __OPENCL_VERSION__\n", "#endif\n", true, false},
        {"#ifndef __OPENCL_VERSION__\n", "#endif\n", false, true},
        {"#if defined(__OPENCL_VERSION__) // x\n", "#endif\n", true, false},
        {"#if ! defined /* x */ __OPENCL_VERSION__\n", "#endif\n", false, true},
        {"#ifdef __OPENCL_VERSION__\n#else\n", "#endif\n", false, true},
        {"#if X\n", "#endif\n", false, false},
        {"#ifdef X\n", "#endif\n", false, false},
        {"#ifdef X\n#else\n", "#endif\n", false, false},
        {"#if X\n#elif 1\n", "#endif\n", false, false},
        {"#if 1 + 1\n", "#endif\n", false, false},
        {"#if 10\n", "#endif\n", false, false},
        {"#if defined(__OPENCL_VERSION__) && X\n", "#endif\n", false, false},
        {"#if 1\n#elifdef X\n", "#endif\n", false, true},
        {"#if 0\n#elifndef X\n", "#endif\n", false, false},
        {"#undef __OPENCL_VERSION__\n#ifdef __OPENCL_VERSION__\n", "#endif\n", false, false},
    };
    scratch_text(&scratch, "a.h", "int a;\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strata_inline_request request = {.path = "main.cl", .defined = defined, .defined_count = 1};
        struct strata_text out;
        char text[256];
        snprintf(text, sizeof text, "%s#include \"a.h\"\n%s", cases[i].before, cases[i].after);
        scratch_text(&scratch, "main.cl", text);
        assert_int_equal(inline_request(request, &out), STRATA_OK);
        if (count_of(out.data, "int a;") != (cases[i].left ? 0 : 1))
            fail_msg("'%s' became '%s'", text, out.data);
        strata_text_release(&out);

        snprintf(text, sizeof text, "%s#include \"no.h\"\n%s", cases[i].before, cases[i].after);
        scratch_text(&scratch, "main.cl", text);
        enum strata_status status = inline_request(request, &out);
        if ((status == STRATA_BUILD_FAILED) != cases[i].read)
            fail_msg("'%s' gave status %d", text, (int)status);
        if (status == STRATA_OK)
            assert_non_null(strstr(out.data, "#include \"no.h\"\n"));
        strata_text_release(&out);
    }
}

static void a_cycle_is_told_with_its_chain(void **state) {
    (void)state;
    scratch_text(&scratch, "x.h", "\n#include \"y.h\"\n");
    scratch_text(&scratch, "y.h", "#include \"x.h\"\n");
    assert_fails(
        "#include \"x.h\"\n", STRATA_BUILD_FAILED,
        "y.h, line 1: includes are nested more than 64 deep; give files that include each other include guards "
        "or #pragma once. The chain: main.cl (line 1) includes x.h (line 2) includes y.h (line 1) includes ... ");
    assert_message("y.h (line 1) includes x.h.");
    assert_log("In file included from main.cl:1:\nIn file included from x.h:2:\nIn file included from y.h:1:\n");
    assert_int_equal(count_of(strata_last_error()->log, "In file included from"), 64);
    assert_fails("#include \"main.cl\"\n", STRATA_BUILD_FAILED, "main.cl (line 1) includes main.cl");
}

static void the_depth_limit_holds_to_the_file(void **state) {
    (void)state;
    char name[32], text[64];
    for (int i = 1; i <= 65; i++) {
        snprintf(name, sizeof name, "deep%d.h", i);
        snprintf(text, sizeof text, i < 65 ? "#include \"deep%d.h\"\n" : "int deep;\n", i + 1);
        scratch_text(&scratch, name, text);
    }
    assert_count("#include \"deep2.h\"\n", NULL, "int deep;", 1);
    assert_fails("#include \"deep1.h\"\n", STRATA_BUILD_FAILED, "deep64.h, line 1: includes are nested more than 64");
}

/* Twice two to the power of 40 inclusions would be many; the limit comes first, and soon. */
static void growth_is_limited(void **state) {
    (void)state;
    char name[32], text[64];
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "grow%d.h", i);
        snprintf(text, sizeof text, "#include \"grow%d.h\"\n#include \"grow%d.h\"\n", i + 1, i + 1);
        scratch_text(&scratch, name, text);
    }
    scratch_text(&scratch, "grow40.h", "int much;\n");
    assert_fails("#include \"grow0.h\"\n", STRATA_BUILD_FAILED, "over the limit of 64 MiB");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pragma_once_counts_by_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_group_that_may_be_skipped_proves_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(include_guards_work, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_within_itself_proves_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(conditions_are_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cycle_is_told_with_its_chain, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_depth_limit_holds_to_the_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(growth_is_limited, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("include guards", tests, NULL, NULL);
}
