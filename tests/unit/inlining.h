/* For the tests of inlining: a scratch folder, a small embedded set, and requests on them. The test defines
 * _XOPEN_SOURCE 700 before its first include. */
#ifndef STRATA_TESTS_UNIT_INLINING_H
#define STRATA_TESTS_UNIT_INLINING_H

#include "unit/scratch.h"

#include "program/embedded.h"
#include "program/include.h"

static struct scratch scratch;

#define EMBEDDED(name, text)                                                                                           \
    { name, (const unsigned char *)(text), sizeof(text) - 1 }
static const struct strata_embedded_file embedded[] = {
    EMBEDDED("portable.h", "#pragma once\nint portable;\n"),
    EMBEDDED("main.cl", "#include \"portable.h\"\nint own;\n"),
    EMBEDDED("room/part.cl", "#include \"near.h\"\n#include <portable.h>\n"),
    EMBEDDED("room/near.h", "int near;"),
    EMBEDDED("near.h", "int far;"),
    EMBEDDED("lost.cl", "#include \"nowhere.h\"\n"),
};

static inline int set_up(void **state) {
    (void)state;
    scratch = scratch_make();
    return 0;
}

static inline int tear_down(void **state) {
    (void)state;
    scratch_remove(&scratch);
    return 0;
}

/* Runs in the scratch folder, so that the paths in the output are short and known. */
static inline enum strata_status inline_request(struct strata_inline_request request, struct strata_text *out) {
    request.embedded = embedded;
    request.embedded_count = sizeof embedded / sizeof *embedded;
    *out = (struct strata_text){.data = NULL};
    int here = open(".", O_RDONLY | O_DIRECTORY);
    assert_true(here >= 0);
    assert_int_equal(chdir(scratch.folder), 0);
    enum strata_status status = strata_source_inline(&request, out, NULL);
    assert_int_equal(fchdir(here), 0);
    close(here);
    if (status != STRATA_OK)
        assert_null(out->data);
    return status;
}

static inline void assert_request(struct strata_inline_request request, const char *expected) {
    struct strata_text out;
    if (inline_request(request, &out) != STRATA_OK)
        fail_msg("%s", strata_last_error()->message);
    assert_string_equal(out.data, expected);
    assert_int_equal(out.length, strlen(expected));
    strata_text_release(&out);
}

/* The text of main.cl, and what it becomes. */
static inline void assert_inlined(const char *text, const char *expected) {
    scratch_text(&scratch, "main.cl", text);
    assert_request((struct strata_inline_request){.path = "main.cl"}, expected);
}

static inline void assert_fails(const char *text, enum strata_status expected, const char *words) {
    struct strata_text out;
    scratch_text(&scratch, "main.cl", text);
    assert_int_equal(inline_request((struct strata_inline_request){.path = "main.cl"}, &out), expected);
    assert_message(words);
}

static inline void assert_log(const char *words) {
    if (strstr(strata_last_error()->log, words) == NULL)
        fail_msg("the log is '%s', without '%s'", strata_last_error()->log, words);
}

static inline size_t count_of(const char *text, const char *words) {
    size_t count = 0;
    for (const char *at = strstr(text, words); at != NULL; at = strstr(at + 1, words))
        count++;
    return count;
}

/* How often `words` stand in what `text` becomes. */
static inline void assert_count(const char *text, const char *options, const char *words, size_t expected) {
    struct strata_text out;
    scratch_text(&scratch, "main.cl", text);
    struct strata_inline_request request = {.path = "main.cl", .options = options};
    if (inline_request(request, &out) != STRATA_OK)
        fail_msg("%s", strata_last_error()->message);
    if (count_of(out.data, words) != expected)
        fail_msg("'%s' is %zu times, not %zu, in: %s", words, count_of(out.data, words), expected, out.data);
    strata_text_release(&out);
}

#endif
