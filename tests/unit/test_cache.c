/* The program cache: what is kept, what a key tells apart, and that nothing damaged or foreign is ever believed. */
#define _XOPEN_SOURCE 700
#include "unit/cached.h"

#include <xxhash.h>

static void a_program_is_found_again(void **state) {
    (void)state;
    struct strata_cache *cache = open_cache();
    assert_false(has(cache, make_key("a")));
    put(cache, make_key("a"), "binary of a", "arguments of a");
    assert_got(cache, make_key("a"), "binary of a", "arguments of a");
    assert_false(has(cache, make_key("b")));
    put(cache, make_key("b"), "binary of b", "");
    put(cache, make_key(""), "", "x");
    assert_got(cache, make_key("a"), "binary of a", "arguments of a");
    assert_got(cache, make_key("b"), "binary of b", "");
    assert_got(cache, make_key(""), "", "x");
    put(cache, make_key("a"), "new", "newer");
    assert_got(cache, make_key("a"), "new", "newer");
    assert_no_note(cache);
    strata_cache_close(&cache);
    assert_null(cache);
    strata_cache_close(&cache);

    cache = open_cache();
    assert_got(cache, make_key("a"), "new", "newer");
    strata_cache_close(&cache);
}

static void large_programs_are_found_again(void **state) {
    (void)state;
    size_t length = (size_t)5 << 20;
    char *bytes = malloc(length);
    assert_non_null(bytes);
    for (size_t i = 0; i < length; i++)
        bytes[i] = (char)(i * 2654435761u >> 13);
    struct strata_cache *cache = open_cache();
    struct strata_cache_key key = make_key("large");
    struct strata_cache_entry entry = {bytes, length, bytes + 1, 1000, NULL}, found;
    key.source = bytes;
    key.source_length = length / 2;
    assert_true(strata_cache_put(cache, &key, &entry));
    assert_true(strata_cache_get(cache, &key, &found));
    assert_int_equal(found.binary_bytes, length);
    assert_memory_equal(found.binary, bytes, length);
    assert_int_equal(found.arguments_bytes, 1000);
    assert_memory_equal(found.arguments, bytes + 1, 1000);
    strata_cache_release(cache, &found);
    key.source_length--;
    assert_false(has(cache, key));
    strata_cache_close(&cache);
    free(bytes);
}

static void every_field_of_a_key_counts(void **state) {
    (void)state;
    struct strata_cache *cache = open_cache();
    struct strata_cache_key key = make_key("source");
    const char **const fields[] = {&key.options,     &key.backend,        &key.platform_name,  &key.platform_version,
                                   &key.device_name, &key.device_version, &key.driver_version, &key.strata_version};
    put(cache, key, "first", "1");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const char *kept = *fields[i];
        *fields[i] = "another";
        assert_false(has(cache, key));
        put(cache, key, "second", "2");
        assert_got(cache, key, "second", "2");
        *fields[i] = NULL;
        assert_false(has(cache, key));
        *fields[i] = kept;
        assert_got(cache, key, "first", "1");
    }
    key.source = "sourcf";
    assert_false(has(cache, key));
    key.source = "source with an include that changed";
    key.source_length = strlen(key.source);
    assert_false(has(cache, key));
    strata_cache_close(&cache);
}

/* What moves from one field to its neighbour makes another key. */
static void fields_do_not_run_together(void **state) {
    (void)state;
    struct strata_cache *cache = open_cache();
    struct strata_cache_key one = make_key("s"), two = make_key("s");
    one.device_name = "ab";
    one.device_version = "c";
    two.device_name = "a";
    two.device_version = "bc";
    put(cache, one, "one", "");
    assert_false(has(cache, two));
    one = two = make_key("s");
    one.options = "-DA";
    one.source = "xs";
    one.source_length = 2;
    two.options = "-DAx";
    put(cache, one, "one", "");
    assert_false(has(cache, two));
    strata_cache_close(&cache);
}

static void a_file_is_named_and_closed_to_others(void **state) {
    (void)state;
    struct stat about;
    struct strata_cache *cache = open_cache();
    mode_t kept = umask(0);
    put(cache, make_key("open"), "b", "a");
    umask(0777);
    put(cache, make_key("closed"), "b", "a");
    umask(kept);
    assert_int_equal(stat(file_of(make_key("open")).text, &about), 0);
    assert_int_equal(about.st_mode, S_IFREG | 0600);
    assert_int_equal(stat(file_of(make_key("closed")).text, &about), 0);
    assert_int_equal(about.st_mode, S_IFREG | 0600);
    const char *name = strrchr(file_of(make_key("open")).text, '/') + 1;
    assert_int_equal(strlen(name), 36);
    assert_int_equal(strspn(name, "0123456789abcdef"), 32);
    assert_string_equal(name + 32, ".bin");
    uint64_t bytes;
    assert_int_equal(count_names("", &bytes), 2);
    strata_cache_close(&cache);
}

/* --- damaged files --- */

struct bytes {
    char data[2048];
    size_t length;
};

static struct bytes read_bytes(const char *path) {
    struct bytes bytes;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    bytes.length = fread(bytes.data, 1, sizeof bytes.data, file);
    assert_true(bytes.length < sizeof bytes.data);
    fclose(file);
    return bytes;
}

static void write_bytes(const char *path, const struct bytes *bytes) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes->data, 1, bytes->length, file), bytes->length);
    assert_int_equal(fclose(file), 0);
}

static void assert_removed(struct strata_cache *cache, struct strata_cache_key key, const struct bytes *bytes) {
    struct scratch_path path = file_of(key);
    write_bytes(path.text, bytes);
    assert_false(has(cache, key));
    assert_false(exists(path.text));
}

static void a_torn_file_is_a_miss_at_every_length(void **state) {
    (void)state;
    struct strata_cache *cache = open_cache();
    struct strata_cache_key key = make_key("torn");
    put(cache, key, "the binary", "the arguments");
    struct bytes whole = read_bytes(file_of(key).text), torn = whole;
    assert_true(whole.length > 100);
    for (torn.length = 0; torn.length < whole.length; torn.length++)
        assert_removed(cache, key, &torn);
    torn.data[torn.length++] = 0;
    assert_removed(cache, key, &torn);
    write_bytes(file_of(key).text, &whole);
    assert_got(cache, key, "the binary", "the arguments");
    assert_note(cache, "removed the file");
    strata_cache_close(&cache);
}

static void a_flipped_bit_is_a_miss_everywhere(void **state) {
    (void)state;
    struct strata_cache *cache = open_cache();
    struct strata_cache_key key = make_key("flip");
    put(cache, key, "the binary", "the arguments");
    struct bytes whole = read_bytes(file_of(key).text);
    for (size_t i = 0; i < whole.length; i++) {
        for (int bit = 0; bit < 8; bit++) {
            struct bytes flipped = whole;
            flipped.data[i] = (char)(flipped.data[i] ^ (1 << bit));
            assert_removed(cache, key, &flipped);
        }
    }
    strata_cache_close(&cache);
}

/* Puts a right checksum on what was changed on purpose. The numbers are those of the file's form. */
static void sign(struct bytes *bytes) {
    XXH128_canonical_t checksum;
    XXH128_canonicalFromHash(&checksum, XXH3_128bits(bytes->data + 24, bytes->length - 24));
    memcpy(bytes->data + 8, &checksum, sizeof checksum);
}

static void set_number(struct bytes *bytes, size_t at, uint64_t number, size_t size) {
    memcpy(bytes->data + at, &number, size);
    sign(bytes);
}

static void a_right_checksum_alone_is_not_believed(void **state) {
    (void)state;
    struct strata_cache *cache = open_cache();
    struct strata_cache_key key = make_key("forged");
    put(cache, key, "the binary", "the arguments");
    const struct bytes whole = read_bytes(file_of(key).text);
    struct bytes forged = whole;
    sign(&forged);
    assert_memory_equal(forged.data, whole.data, whole.length);

    set_number(&forged, 24, 0x04030201, 4);
    assert_removed(cache, key, &forged);
    forged = whole;
    set_number(&forged, 28, STRATA_CACHE_FORMAT + 1, 4);
    assert_removed(cache, key, &forged);
    for (size_t at = 32; at <= 48; at += 8) {
        static const uint64_t numbers[] = {0, 1, 5000, UINT64_MAX, UINT64_MAX - 9, (uint64_t)1 << 63};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            forged = whole;
            set_number(&forged, at, numbers[i], 8);
            assert_removed(cache, key, &forged);
        }
    }
    /* A file shorter than the key, whose sizes add up when they run over. */
    forged = whole;
    forged.length = 66;
    set_number(&forged, 40, 0, 8);
    uint64_t key_bytes;
    memcpy(&key_bytes, forged.data + 32, 8);
    set_number(&forged, 48, 10 - key_bytes, 8);
    assert_removed(cache, key, &forged);
    /* Another driver's program under this key's name. */
    struct strata_cache_key other = key;
    other.driver_version = "3.2";
    put(cache, other, "the other's", "");
    forged = read_bytes(file_of(other).text);
    assert_removed(cache, key, &forged);
    assert_got(cache, other, "the other's", "");
    strata_cache_close(&cache);
}

static void only_an_own_regular_file_is_read(void **state) {
    (void)state;
    struct strata_cache *cache = open_cache();
    struct strata_cache_key key = make_key("kind");
    struct scratch_path path = file_of(key);
    put(cache, key, "b", "a");
    scratch_text(&scratch, "elsewhere", "x");
    assert_int_equal(rename(path.text, scratch_path(&scratch, "moved").text), 0);
    assert_int_equal(symlink("../moved", path.text), 0);
    assert_false(has(cache, key));
    assert_false(exists(path.text));
    assert_true(exists(scratch_path(&scratch, "moved").text));
    assert_note(cache, "symbolic link");

    assert_int_equal(mkfifo(path.text, 0600), 0);
    alarm(10);
    assert_false(has(cache, key));
    alarm(0);
    assert_false(exists(path.text));

    /* A folder is neither removed nor in the way of anything but its own key. */
    assert_int_equal(mkdir(path.text, 0700), 0);
    struct strata_cache_entry entry = make_entry("b", "a");
    assert_false(has(cache, key));
    assert_false(strata_cache_put(cache, &key, &entry));
    put(cache, make_key("other"), "b", "a");
    assert_int_equal(rmdir(path.text), 0);
    uint64_t bytes;
    assert_int_equal(count_names("", &bytes), 1);
    put(cache, key, "b", "a");
    assert_got(cache, key, "b", "a");
    strata_cache_close(&cache);
}

static void another_users_file_is_not_read(void **state) {
    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: only root can give a file away\n");
        skip();
    }
    struct strata_cache *cache = open_cache();
    put(cache, make_key("given"), "b", "a");
    assert_int_equal(chown(file_of(make_key("given")).text, 12345, 12345), 0);
    assert_false(has(cache, make_key("given")));
    assert_note(cache, "it belongs to another user");
    assert_false(exists(file_of(make_key("given")).text));
    strata_cache_close(&cache);
}

/* --- everything else --- */

static void a_folder_that_goes_away_is_only_a_miss(void **state) {
    (void)state;
    struct strata_cache *cache = open_cache();
    put(cache, make_key("a"), "b", "a");
    assert_int_equal(unlink(file_of(make_key("a")).text), 0);
    assert_int_equal(rmdir(scratch_path(&scratch, "cache").text), 0);
    struct strata_cache_key key = make_key("a");
    struct strata_cache_entry entry = make_entry("b", "a");
    assert_false(has(cache, key));
    assert_false(strata_cache_put(cache, &key, &entry));
    assert_note(cache, "cannot write the file");
    assert_false(strata_cache_put(cache, &key, &entry));
    assert_no_note(cache);
    strata_cache_close(&cache);
}

static void the_threads_last_error_is_left_alone(void **state) {
    (void)state;
    strata_fail(STRATA_BUSY, "%s", "before");
    scratch_text(&scratch, "file", "x");
    struct strata_cache *cache = strata_cache_open(NULL, scratch_path(&scratch, "file").text);
    assert_false(has(cache, make_key("a")));
    strata_cache_close(&cache);
    cache = open_cache();
    put(cache, make_key("a"), "b", "a");
    assert_int_equal(truncate(file_of(make_key("a")).text, 30), 0);
    assert_false(has(cache, make_key("a")));
    strata_cache_close(&cache);
    assert_string_equal(strata_last_error()->message, "before");
}

static void descriptors_are_closed_and_not_inherited(void **state) {
    (void)state;
    bool open_before[64];
    for (int i = 0; i < 64; i++)
        open_before[i] = fcntl(i, F_GETFD) >= 0;
    int before = dup(0);
    close(before);
    struct strata_cache *cache = open_cache();
    assert_true(fcntl(before, F_GETFD) >= 0);
    for (int i = 0; i < 64; i++) {
        int flags = fcntl(i, F_GETFD);
        assert_true(open_before[i] || flags < 0 || (flags & FD_CLOEXEC) != 0);
    }
    put(cache, make_key("a"), "b", "a");
    assert_got(cache, make_key("a"), "b", "a");
    assert_int_equal(truncate(file_of(make_key("a")).text, 30), 0);
    assert_false(has(cache, make_key("a")));
    strata_cache_close(&cache);
    int after = dup(0);
    close(after);
    assert_int_equal(before, after);
}

static void without_a_cache_all_is_a_miss(void **state) {
    (void)state;
    struct strata_cache *cache = NULL;
    struct strata_cache_key key = make_key("a");
    struct strata_cache_entry entry = make_entry("b", "a");
    char note[16];
    assert_false(strata_cache_is_on(NULL));
    assert_false(strata_cache_put(NULL, &key, &entry));
    assert_false(has(NULL, key));
    assert_false(strata_cache_take_note(NULL, note, sizeof note));
    assert_string_equal(strata_cache_directory(NULL), "");
    strata_cache_close(&cache);
    strata_cache_close(NULL);
}

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
    struct scratch_path path = scratch_path(&scratch, "cache");
    struct strata_cache_key key = make_key("a");
    struct strata_cache_entry entry = make_entry("b", "a"), found;
    bool all = false;
    size_t count = 0;
    for (; !all; count++) {
        failing = (struct failing){.left = count};
        struct strata_cache *cache = strata_cache_open(&hooks, path.text);
        all = strata_cache_put(cache, &key, &entry);
        all &= strata_cache_get(cache, &key, &found);
        strata_cache_release(cache, &found);
        strata_cache_close(&cache);
        assert_int_equal(failing.live, 0);
        assert_true(count < 1000);
    }
    assert_true(count > 5);
    uint64_t bytes;
    assert_int_equal(count_names("", &bytes), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_program_is_found_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(large_programs_are_found_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_field_of_a_key_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fields_do_not_run_together, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_is_named_and_closed_to_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_torn_file_is_a_miss_at_every_length, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_flipped_bit_is_a_miss_everywhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_right_checksum_alone_is_not_believed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_an_own_regular_file_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_users_file_is_not_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_folder_that_goes_away_is_only_a_miss, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_threads_last_error_is_left_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(descriptors_are_closed_and_not_inherited, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_cache_all_is_a_miss, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_missing_allocation_is_survived, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
