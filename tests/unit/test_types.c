/* The sizes of OpenCL C's types by name, as runtimes spell them in their argument info. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "program/program.h"

static void assert_bytes(const char *type, uint64_t expected) {
    uint64_t found = strata_type_bytes(type);
    if (found != expected)
        fail_msg("'%s' has %llu bytes, not %llu", type, (unsigned long long)expected, (unsigned long long)found);
}

static void scalars(void **state) {
    (void)state;
    assert_bytes("char", 1);
    assert_bytes("uchar", 1);
    assert_bytes("unsigned char", 1);
    assert_bytes("short", 2);
    assert_bytes("ushort", 2);
    assert_bytes("unsigned short", 2);
    assert_bytes("half", 2);
    assert_bytes("int", 4);
    assert_bytes("uint", 4);
    assert_bytes("unsigned int", 4);
    assert_bytes("float", 4);
    assert_bytes("long", 8);
    assert_bytes("ulong", 8);
    assert_bytes("unsigned long", 8);
    assert_bytes("double", 8);
}

static void vectors(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint64_t bytes;
    } elements[] = {{"char", 1}, {"uchar", 1}, {"short", 2}, {"ushort", 2}, {"half", 2},  {"int", 4},
                    {"uint", 4}, {"float", 4}, {"long", 8},  {"ulong", 8},  {"double", 8}};
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++) {
        static const unsigned lengths[][2] = {{2, 2}, {3, 4}, {4, 4}, {8, 8}, {16, 16}};
        for (size_t j = 0; j < sizeof lengths / sizeof lengths[0]; j++) {
            char name[32];
            snprintf(name, sizeof name, "%s%u", elements[i].name, lengths[j][0]);
            assert_bytes(name, elements[i].bytes * lengths[j][1]);
        }
    }
}

/* 0: not known, so no size is refused. */
static void others(void **state) {
    (void)state;
    static const char *const names[] = {"",        "settings",  "float*",   "float5",    "float1",
                                        "float33", "float 4",   "integer",  "floats",    "int4*",
                                        "size_t",  "bool",      "void",     "longlong",  "struct s",
                                        "Float4",  "image2d_t", "unsigned", "char-array"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_bytes(names[i], 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(scalars), cmocka_unit_test(vectors), cmocka_unit_test(others)};
    return cmocka_run_group_tests_name("types", tests, NULL, NULL);
}
