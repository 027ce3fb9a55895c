/* The program cache under eight processes and eight threads at once: what is found is always right. */
#define _XOPEN_SOURCE 700
#include "unit/cached.h"

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>

#define WORKERS 8
#define KEYS 24

/* A plain generator of our own: each process and thread has its own state. */
static uint32_t next(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* A program says in every byte which key and which writer it is of, and has a length that follows from both. */
static size_t fill(char *bytes, int key, int writer) {
    size_t length = 200 + (size_t)(key * 97 + writer * 31);
    memset(bytes, 32 + key, length);
    bytes[0] = (char)writer;
    return length;
}

static bool is_right(const struct strata_cache_entry *entry, int key) {
    char expected[8192];
    if (entry->binary_bytes == 0)
        return false;
    int writer = *(const char *)entry->binary;
    return writer >= 0 && writer < WORKERS && entry->binary_bytes == fill(expected, key, writer) &&
           memcmp(entry->binary, expected, entry->binary_bytes) == 0 && entry->arguments_bytes == sizeof key &&
           memcmp(entry->arguments, &key, sizeof key) == 0;
}

/* Puts and gets at random; the last fault's number is the exit status. Hits are counted. */
static int work(struct strata_cache *cache, int writer, int rounds, int *hits) {
    uint32_t random = (uint32_t)writer * 77777u + 1;
    for (int i = 0; i < rounds; i++) {
        int number = (int)(next(&random) % KEYS);
        char source[32], binary[8192];
        snprintf(source, sizeof source, "program %d", number);
        struct strata_cache_key key = make_key(source);
        struct strata_cache_entry entry;
        if (next(&random) % 4 == 0) {
            entry = (struct strata_cache_entry){binary, fill(binary, number, writer), &number, sizeof number, NULL};
            if (!strata_cache_put(cache, &key, &entry))
                return 2;
        } else if (strata_cache_get(cache, &key, &entry)) {
            bool right = is_right(&entry, number);
            strata_cache_release(cache, &entry);
            if (!right)
                return 3;
            ++*hits;
        }
    }
    return 0;
}

/* Runs `body` in WORKERS children and waits for them all; each must return 0. */
static void run_children(int (*body)(int writer)) {
    pid_t children[WORKERS];
    int failed = 0;
    fflush(NULL);
    for (int i = 0; i < WORKERS; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            _exit(body(i));
    }
    for (int i = 0; i < WORKERS; i++) {
        int status = 0;
        while (waitpid(children[i], &status, 0) < 0)
            assert_int_equal(errno, EINTR);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            print_message("process %d ended with %d\n", i, status);
            failed++;
        }
    }
    assert_int_equal(failed, 0);
}

static int share(int writer) {
    int hits = 0;
    struct strata_cache *cache = strata_cache_open(NULL, scratch_path(&scratch, "cache").text);
    if (!strata_cache_is_on(cache))
        return 1;
    int result = work(cache, writer, 4000, &hits);
    char note[512];
    if (result == 0 && (hits < 1000 || strata_cache_take_note(cache, note, sizeof note)))
        result = 4;
    strata_cache_close(&cache);
    return result;
}

/* The folder is made by all of them at once, too. */
static void eight_processes_share_a_cache(void **state) {
    (void)state;
    uint64_t bytes;
    run_children(share);
    assert_int_equal(count_names("", &bytes), KEYS);
    struct strata_cache *cache = open_cache();
    for (int i = 0; i < KEYS; i++) {
        struct strata_cache_entry entry;
        char source[32];
        snprintf(source, sizeof source, "program %d", i);
        struct strata_cache_key key = make_key(source);
        assert_true(strata_cache_get(cache, &key, &entry));
        assert_true(is_right(&entry, i));
        strata_cache_release(cache, &entry);
    }
    strata_cache_close(&cache);
}

static int make_folders(int writer) {
    (void)writer;
    for (int i = 0; i < 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "%d/in/it/all", i);
        struct strata_cache *cache = strata_cache_open(NULL, scratch_path(&scratch, name).text);
        bool is_on = strata_cache_is_on(cache);
        strata_cache_close(&cache);
        if (!is_on)
            return 1;
    }
    return 0;
}

static void eight_processes_make_the_same_folders(void **state) {
    (void)state;
    run_children(make_folders);
}

static int share_little(int writer) {
    int hits = 0;
    struct strata_cache *cache = strata_cache_open(NULL, scratch_path(&scratch, "cache").text);
    int result = work(cache, writer, 1000, &hits);
    strata_cache_close(&cache);
    return result;
}

/* Every write removes files that the others read. */
static void eight_processes_share_a_small_cache(void **state) {
    (void)state;
    uint64_t bytes;
    setenv("STRATA_CACHE_MAX_BYTES", "16384", 1);
    run_children(share_little);
    struct strata_cache *cache = open_cache();
    put(cache, make_key("last"), "b", "a");
    assert_int_equal(count_names(".tmp-", &bytes), 0);
    count_names("", &bytes);
    assert_true(bytes <= 16384);
    assert_true(has(cache, make_key("last")));
    strata_cache_close(&cache);
}

/* One of them damages what it finds; the others must never believe it. */
static int damage(int writer) {
    int hits = 0, result = 0;
    struct strata_cache *cache = strata_cache_open(NULL, scratch_path(&scratch, "cache").text);
    if (writer != 0) {
        result = work(cache, writer, 1500, &hits);
    } else {
        uint32_t random = 1;
        for (int i = 0; i < 3000; i++) {
            char source[32];
            snprintf(source, sizeof source, "program %d", (int)(next(&random) % KEYS));
            int file = open(file_of(make_key(source)).text, O_RDWR);
            if (file < 0)
                continue;
            off_t place = (off_t)(next(&random) % 500);
            if (next(&random) % 3 == 0)
                result |= ftruncate(file, place);
            else
                result |= pwrite(file, "!", 1, place) != 1;
            close(file);
        }
    }
    strata_cache_close(&cache);
    return result;
}

static void damage_is_never_believed(void **state) {
    (void)state;
    run_children(damage);
}

struct thread {
    pthread_t id;
    struct strata_cache *cache;
    int writer, result;
};

static void *run_thread(void *argument) {
    struct thread *thread = argument;
    int hits = 0;
    thread->result = work(thread->cache, thread->writer, 1500, &hits);
    return NULL;
}

static void eight_threads_share_one_object(void **state) {
    (void)state;
    struct thread threads[WORKERS];
    setenv("STRATA_CACHE_MAX_BYTES", "32768", 1);
    struct strata_cache *cache = open_cache();
    for (int i = 0; i < WORKERS; i++) {
        threads[i] = (struct thread){.cache = cache, .writer = i, .result = -1};
        assert_int_equal(pthread_create(&threads[i].id, NULL, run_thread, &threads[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        assert_int_equal(pthread_join(threads[i].id, NULL), 0);
        assert_int_equal(threads[i].result, 0);
    }
    uint64_t bytes;
    assert_int_equal(count_names(".tmp-", &bytes), 0);
    assert_no_note(cache);
    strata_cache_close(&cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(eight_processes_share_a_cache, set_up, tear_down),
        cmocka_unit_test_setup_teardown(eight_processes_make_the_same_folders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(eight_processes_share_a_small_cache, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damage_is_never_believed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(eight_threads_share_one_object, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("shared cache", tests, NULL, NULL);
}
