/* The folder of the program cache: where it is, when it is not trusted, and that it keeps within its limit. */
#define _XOPEN_SOURCE 700
#include "unit/cached.h"

static struct strata_cache *open_at(const char *path) {
    struct strata_cache *cache = strata_cache_open(NULL, path);
    assert_non_null(cache);
    return cache;
}

/* Opens and closes; the folder then is `expected`, and there. */
static void assert_chosen(const char *wish, const char *expected) {
    struct strata_cache *cache = open_at(wish);
    struct stat about;
    assert_string_equal(strata_cache_directory(cache), expected);
    assert_true(strata_cache_is_on(cache));
    assert_no_note(cache);
    assert_int_equal(stat(expected, &about), 0);
    assert_int_equal(about.st_mode, S_IFDIR | 0700);
    strata_cache_close(&cache);
}

/* `words` of NULL: nothing is said, because it was asked for. */
static void assert_off(const char *wish, const char *words) {
    struct strata_cache *cache = open_at(wish);
    struct strata_cache_key key = make_key("a");
    struct strata_cache_entry entry = make_entry("b", "a");
    assert_false(strata_cache_is_on(cache));
    assert_false(has(cache, key));
    assert_false(strata_cache_put(cache, &key, &entry));
    if (words != NULL)
        assert_note(cache, words);
    else
        assert_no_note(cache);
    strata_cache_close(&cache);
}

static void the_folder_is_chosen_in_order(void **state) {
    (void)state;
    char *root = realpath(scratch.folder, NULL), home[SCRATCH_PATH], cache_home[SCRATCH_PATH], own[SCRATCH_PATH],
         path[SCRATCH_PATH + 32];
    assert_non_null(root);
    snprintf(home, sizeof home, "%.900s/home of me", root);
    snprintf(cache_home, sizeof cache_home, "%.900s/cache", root);
    snprintf(own, sizeof own, "%.900s/own/deep/er", root);
    assert_int_equal(mkdir(home, 0700), 0);

    setenv("HOME", home, 1);
    snprintf(path, sizeof path, "%s/.cache/strata", home);
    assert_chosen(NULL, path);
    setenv("XDG_CACHE_HOME", cache_home, 1);
    snprintf(path, sizeof path, "%s/strata", cache_home);
    assert_chosen(NULL, path);
    setenv("STRATA_CACHE_DIR", own, 1);
    assert_chosen(NULL, own);
    snprintf(path, sizeof path, "%s/wished", root);
    assert_chosen(path, path);
    setenv("STRATA_CACHE_DIR", "", 1);
    assert_off(NULL, NULL);
    setenv("STRATA_CACHE_DIR", "off", 1);
    assert_off(NULL, NULL);
    assert_chosen(path, path);
    assert_off("", NULL);
    assert_off("off", NULL);

    unsetenv("STRATA_CACHE_DIR");
    setenv("XDG_CACHE_HOME", "relative", 1);
    snprintf(path, sizeof path, "%s/.cache/strata", home);
    assert_chosen(NULL, path);
    setenv("HOME", "", 1);
    assert_off(NULL, "none of STRATA_CACHE_DIR, XDG_CACHE_HOME and HOME");
    assert_false(exists("relative"));
    free(root);
}

static void missing_folders_are_made_for_this_user_alone(void **state) {
    (void)state;
    struct stat about;
    mode_t kept = umask(0);
    assert_chosen(scratch_path(&scratch, "one/two//three").text, scratch_path(&scratch, "one/two//three").text);
    umask(kept);
    assert_int_equal(stat(scratch_path(&scratch, "one").text, &about), 0);
    assert_int_equal(about.st_mode, S_IFDIR | 0700);
    assert_int_equal(stat(scratch_path(&scratch, "one/two").text, &about), 0);
    assert_int_equal(about.st_mode, S_IFDIR | 0700);

    /* Relative to where the process is. */
    int here = open(".", O_RDONLY | O_DIRECTORY);
    assert_int_equal(chdir(scratch.folder), 0);
    assert_chosen("near", "near");
    assert_chosen("far/away", "far/away");
    assert_int_equal(fchdir(here), 0);
    close(here);
}

static void a_folder_that_is_not_safe_is_not_used(void **state) {
    (void)state;
    struct scratch_path folder = scratch_path(&scratch, "folder"), file = scratch_path(&scratch, "file");
    scratch_folder(&scratch, "folder");
    scratch_text(&scratch, "file", "x");
    assert_int_equal(chmod(folder.text, 0777), 0);
    assert_off(folder.text, "can be written by other users");
    assert_int_equal(chmod(folder.text, 01777), 0);
    assert_off(folder.text, "can be written by other users");
    assert_int_equal(chmod(folder.text, 0720), 0);
    assert_off(folder.text, "can be written by other users");
    assert_int_equal(chmod(folder.text, 0755), 0);
    struct strata_cache *cache = open_at(folder.text);
    assert_true(strata_cache_is_on(cache));
    strata_cache_close(&cache);

    assert_off(file.text, "a part of the path is not a folder");
    assert_off(scratch_path(&scratch, "file/below").text, "a part of the path is not a folder");
    assert_off("/proc/strata", "cannot be made");

    assert_int_equal(symlink("folder", scratch_path(&scratch, "link").text), 0);
    assert_int_equal(symlink("nowhere", scratch_path(&scratch, "dangling").text), 0);
    assert_off(scratch_path(&scratch, "link").text, "is a symbolic link");
    assert_off(scratch_path(&scratch, "link/").text, "is a symbolic link");
    assert_off(scratch_path(&scratch, "link//.//./").text, "is a symbolic link");
    assert_off(scratch_path(&scratch, "dangling").text, "is a symbolic link");
    assert_off(scratch_path(&scratch, "dangling/below").text, "cannot be made");
    assert_false(exists(scratch_path(&scratch, "nowhere").text));
    /* Above the folder links are fine: many a home has its .cache elsewhere. */
    assert_chosen(scratch_path(&scratch, "link/below").text, scratch_path(&scratch, "link/below").text);
}

static void an_unwritable_folder_is_only_told(void **state) {
    (void)state;
    if (geteuid() == 0) {
        print_message("skipped: root writes to every folder\n");
        skip();
    }
    struct strata_cache *cache = open_cache();
    struct strata_cache_key key = make_key("b");
    struct strata_cache_entry entry = make_entry("b", "a");
    put(cache, make_key("a"), "b", "a");
    assert_int_equal(chmod(scratch_path(&scratch, "cache").text, 0500), 0);
    assert_got(cache, make_key("a"), "b", "a");
    assert_false(strata_cache_put(cache, &key, &entry));
    assert_note(cache, "permission denied");
    strata_cache_close(&cache);
    assert_off(scratch_path(&scratch, "cache/below").text, "permission denied");
    assert_int_equal(chmod(scratch_path(&scratch, "cache").text, 0700), 0);
}

static void another_users_folder_is_not_used(void **state) {
    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: only root can give a folder away\n");
        skip();
    }
    scratch_folder(&scratch, "home");
    scratch_folder(&scratch, "home/mine");
    assert_int_equal(chown(scratch_path(&scratch, "home").text, 12345, 12345), 0);
    assert_off(scratch_path(&scratch, "home").text, "belongs to another user");
    /* Nothing is left behind in it that its owner could not use. */
    assert_off(scratch_path(&scratch, "home/.cache/strata").text, "in another user's folder");
    assert_false(exists(scratch_path(&scratch, "home/.cache").text));
    struct strata_cache *cache = open_at(scratch_path(&scratch, "home/mine").text);
    assert_true(strata_cache_is_on(cache));
    strata_cache_close(&cache);
}

/* --- the limit --- */

/* A program whose file has some 1,300 bytes. */
static void put_numbered(struct strata_cache *cache, int number) {
    char source[32], binary[1024];
    snprintf(source, sizeof source, "source %d", number);
    memset(binary, 'a' + number % 26, sizeof binary - 1);
    binary[sizeof binary - 1] = '\0';
    put(cache, make_key(source), binary, "arguments");
}

static struct strata_cache_key numbered(char buffer[32], int number) {
    snprintf(buffer, 32, "source %d", number);
    return make_key(buffer);
}

static void the_oldest_go_first(void **state) {
    (void)state;
    char source[32];
    uint64_t bytes;
    setenv("STRATA_CACHE_MAX_BYTES", "20000", 1);
    struct strata_cache *cache = open_cache();
    for (int i = 0; i < 12; i++) {
        put_numbered(cache, i);
        set_age(file_of(numbered(source, i)).text, 100000 - i * 100);
    }
    assert_int_equal(count_names("", &bytes), 12);
    assert_true(bytes > 12000 && bytes < 20000);
    /* Use makes young. */
    assert_true(has(cache, numbered(source, 0)));
    assert_true(has(cache, numbered(source, 3)));
    for (int i = 12; i < 20; i++)
        put_numbered(cache, i);
    count_names("", &bytes);
    assert_true(bytes <= 20000);
    assert_true(has(cache, numbered(source, 0)));
    assert_true(has(cache, numbered(source, 3)));
    assert_true(has(cache, numbered(source, 19)));
    assert_false(has(cache, numbered(source, 1)));
    assert_false(has(cache, numbered(source, 2)));
    assert_false(has(cache, numbered(source, 4)));
    for (int i = 0; i < 500; i++) {
        put_numbered(cache, i);
        count_names("", &bytes);
        assert_true(bytes <= 20000);
    }
    assert_no_note(cache);
    strata_cache_close(&cache);
}

static void use_is_marked_once_a_minute(void **state) {
    (void)state;
    struct stat before, after;
    struct strata_cache *cache = open_cache();
    struct scratch_path path = file_of(make_key("a"));
    put(cache, make_key("a"), "b", "a");
    set_age(path.text, 30);
    assert_int_equal(stat(path.text, &before), 0);
    assert_true(has(cache, make_key("a")));
    assert_int_equal(stat(path.text, &after), 0);
    assert_int_equal(before.st_mtime, after.st_mtime);
    set_age(path.text, 90);
    assert_true(has(cache, make_key("a")));
    assert_int_equal(stat(path.text, &after), 0);
    assert_true(after.st_mtime >= before.st_mtime + 29);
    set_age(path.text, -1000);
    assert_true(has(cache, make_key("a")));
    assert_int_equal(stat(path.text, &after), 0);
    assert_true(after.st_mtime <= before.st_mtime + 900);
    strata_cache_close(&cache);
}

static void lost_temporary_files_go(void **state) {
    (void)state;
    setenv("STRATA_CACHE_MAX_BYTES", "4000", 1);
    struct strata_cache *cache = open_cache();
    scratch_text(&scratch, "cache/.tmp-old", "half");
    scratch_text(&scratch, "cache/.tmp-future", "half");
    scratch_text(&scratch, "cache/.tmp-new", "half");
    scratch_text(&scratch, "cache/notes.txt", "the user's own");
    scratch_text(&scratch, "cache/0123456789abcdef0123456789abcdef.txt", "no program");
    scratch_folder(&scratch, "cache/0123456789abcdef0123456789abcdef.bin");
    set_age(scratch_path(&scratch, "cache/.tmp-old").text, 3700);
    set_age(scratch_path(&scratch, "cache/.tmp-future").text, -3700);
    set_age(scratch_path(&scratch, "cache/.tmp-new").text, 3500);
    set_age(scratch_path(&scratch, "cache/notes.txt").text, 1000000);
    for (int i = 0; i < 10; i++)
        put_numbered(cache, i);
    assert_false(exists(scratch_path(&scratch, "cache/.tmp-old").text));
    assert_false(exists(scratch_path(&scratch, "cache/.tmp-future").text));
    assert_true(exists(scratch_path(&scratch, "cache/.tmp-new").text));
    assert_true(exists(scratch_path(&scratch, "cache/notes.txt").text));
    assert_true(exists(scratch_path(&scratch, "cache/0123456789abcdef0123456789abcdef.txt").text));
    assert_true(exists(scratch_path(&scratch, "cache/0123456789abcdef0123456789abcdef.bin").text));
    uint64_t bytes;
    assert_int_equal(count_names(".tmp-", &bytes), 1);
    strata_cache_close(&cache);
}

static void the_limit_can_be_set(void **state) {
    (void)state;
    struct strata_cache_key key = make_key("a");
    char binary[4096];
    memset(binary, 'x', sizeof binary);
    struct strata_cache_entry entry = {.binary = binary, .binary_bytes = sizeof binary};
    setenv("STRATA_CACHE_MAX_BYTES", "0", 1);
    assert_off(scratch_path(&scratch, "cache").text, NULL);
    assert_false(exists(scratch_path(&scratch, "cache").text));

    setenv("STRATA_CACHE_MAX_BYTES", "8192", 1);
    struct strata_cache *cache = open_cache();
    assert_false(strata_cache_put(cache, &key, &entry));
    assert_note(cache, "larger than half of STRATA_CACHE_MAX_BYTES");
    entry.binary_bytes = 3000;
    assert_true(strata_cache_put(cache, &key, &entry));
    strata_cache_close(&cache);

    /* What was kept under a larger limit is not read under a smaller one. */
    setenv("STRATA_CACHE_MAX_BYTES", "2000", 1);
    cache = open_cache();
    assert_false(has(cache, key));
    strata_cache_close(&cache);

    setenv("STRATA_CACHE_MAX_BYTES", "1 GiB", 1);
    cache = open_cache();
    assert_note(cache, "STRATA_CACHE_MAX_BYTES is \"1 GiB\", which is not a number of bytes; it counts as 268435456.");
    entry.binary_bytes = sizeof binary;
    assert_true(strata_cache_put(cache, &key, &entry));
    strata_cache_close(&cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_folder_is_chosen_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(missing_folders_are_made_for_this_user_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_folder_that_is_not_safe_is_not_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_unwritable_folder_is_only_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_users_folder_is_not_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_oldest_go_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(use_is_marked_once_a_minute, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lost_temporary_files_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_limit_can_be_set, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("cache folder", tests, NULL, NULL);
}
