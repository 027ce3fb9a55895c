/* Errors, host memory and text, and the worker thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>

#include "core/error.h"
#include "core/host.h"
#include "core/worker.h"

static void *fail_elsewhere(void *user) {
    strata_fail(STRATA_IO, "elsewhere %d", 7);
    strata_error_set_log("other log", 9);
    if (user)
        strata_error_save(user);
    return strcmp(strata_last_error()->log, "other log") == 0 ? NULL : user;
}

static void test_errors(void **state) {
    (void)state;
    struct strata_error_copy copy;
    pthread_t thread;
    assert_int_equal(strata_last_error()->status, STRATA_OK);
    assert_string_equal(strata_last_error()->message, "");
    assert_int_equal(strata_fail_native(STRATA_OUT_OF_MEMORY, -4, "CL_X", "no %s", "room"), STRATA_OUT_OF_MEMORY);
    assert_string_equal(strata_last_error()->message, "no room (CL_X, -4)");
    assert_int_equal(strata_last_error()->native_code, -4);
    strata_error_set_log("first", 5);
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &copy), 0);
    pthread_join(thread, NULL);
    assert_string_equal(strata_last_error()->message, "no room (CL_X, -4)"); /* another thread's is its own */
    assert_string_equal(strata_last_error()->log, "first");
    assert_int_equal(strata_error_restore(&copy), STRATA_IO);
    assert_string_equal(strata_last_error()->message, "elsewhere 7");
    assert_string_equal(strata_last_error()->log, "");
    /* A sentence made of the one before, and one that is too long. */
    strata_fail(STRATA_BUSY, "again: %s", strata_last_error()->message);
    assert_string_equal(strata_last_error()->message, "again: elsewhere 7");
    char longest[5000];
    memset(longest, 'y', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    strata_fail_native(STRATA_BUSY, 3, "", "%s", longest);
    assert_true(strlen(strata_last_error()->message) < sizeof copy.message);
    for (int status = STRATA_OK; status <= STRATA_INTERNAL; status++)
        assert_string_not_equal(strata_status_name((enum strata_status)status), "UNKNOWN_STATUS");
    assert_string_equal(strata_status_name((enum strata_status)77), "UNKNOWN_STATUS");
}

static void *allocate_none(size_t bytes, void *user) {
    (void)bytes;
    (void)user;
    return NULL;
}

/* Characters of one to four bytes at each distance from the end of the message. */
static void test_long_messages(void **state) {
    (void)state;
    static const char *const characters[] = {"x", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};
    char text[4200];
    for (size_t kind = 0; kind < 4; kind++)
        for (size_t shift = 0; shift < 4; shift++) {
            size_t bytes = strlen(characters[kind]);
            memset(text, 'a', shift);
            for (size_t at = shift; at < 4100; at += bytes)
                memcpy(text + at, characters[kind], bytes + 1);
            strata_fail(STRATA_IO, "%s", text);
            const char *message = strata_last_error()->message;
            assert_true(strlen(message) > 1000 && strlen(message) < strlen(text));
            assert_int_equal((strlen(message) - shift) % bytes, 0);
            assert_memory_equal(message, text, strlen(message));
        }
}

static void test_host(void **state) {
    (void)state;
    struct strata_allocator none = {.allocate = allocate_none};
    struct strata_text text = {0}, empty = {.hooks = &none};
    for (int i = 0; i < 1000; i++)
        strata_text_printf(&text, "%d,", i);
    assert_int_equal(text.length, 3890); /* 10 + 180 + 2700 digits and 1000 commas */
    assert_non_null(strstr(text.data, ",999,"));
    strata_text_release(&text);
    strata_text_add(&empty, "x");
    assert_true(empty.failed);
    assert_null(strata_host_allocate(&none, 8));
    void *block = NULL;
    char *pages = strata_host_allocate_pages(NULL, 5 << 20, &block);
    assert_int_equal((uintptr_t)pages % STRATA_PAGE_BYTES, 0);
    memset(pages, 1, 5 << 20);
    strata_host_release(NULL, block);
    assert_null(strata_host_allocate_pages(NULL, UINT64_MAX, &block));
    uint64_t value = 3;
    assert_true(strata_multiply(UINT32_MAX, UINT32_MAX, &value));
    assert_false(strata_multiply(UINT64_MAX, 2, &value));
    assert_false(strata_add(UINT64_MAX, 1, &value));
    assert_true(strata_parse_u64("18446744073709551615", &value));
    assert_true(value == UINT64_MAX);
    const char *const wrong[] = {"", "-1", "+1", " 1", "1 ", "0x1", "18446744073709551616", "1e3"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(strata_parse_u64(wrong[i], &value));
    char place[32];
    assert_string_equal(strata_format_bytes(512, place, sizeof place), "512 B");
    assert_string_equal(strata_format_bytes(1536, place, sizeof place), "1.5 KiB");
    assert_string_equal(strata_format_bytes(UINT64_MAX, place, sizeof place), "15.9 EiB");
}

struct run {
    struct strata_worker *worker;
    int next, order_is_right, is_current;
    pthread_mutex_t lock;
};

struct job {
    struct run *run;
    int number;
};

static void do_job(void *argument) {
    struct job *job = argument;
    pthread_mutex_lock(&job->run->lock);
    job->run->order_is_right += job->run->next++ == job->number;
    job->run->is_current += strata_worker_is_current(job->run->worker);
    pthread_mutex_unlock(&job->run->lock);
}

static void test_worker(void **state) {
    (void)state;
    struct run run = {.lock = PTHREAD_MUTEX_INITIALIZER};
    static struct job jobs[1000];
    assert_int_equal(strata_worker_create(NULL, &run.worker), STRATA_OK);
    assert_false(strata_worker_is_current(run.worker));
    for (int i = 0; i < 1000; i++) {
        jobs[i] = (struct job){&run, i};
        assert_int_equal(strata_worker_submit(run.worker, do_job, &jobs[i]), STRATA_OK);
    }
    strata_worker_destroy(run.worker); /* runs what is left */
    assert_int_equal(run.order_is_right, 1000);
    assert_int_equal(run.is_current, 1000);
    strata_worker_destroy(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors), cmocka_unit_test(test_long_messages),
                                       cmocka_unit_test(test_host), cmocka_unit_test(test_worker)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
