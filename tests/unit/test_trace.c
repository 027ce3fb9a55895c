/* Traces without a device: what is recorded comes back from the reader, and what is no trace is refused. */
#define _XOPEN_SOURCE 700
#include "unit/scratch.h"

#include "cli/trace_reader.h"
#include "memory/trace.h"

#include <xxhash.h>

/* As much of a device, a pool and a block as records speak of. */
static strata_device device;
static strata_pool pool;
static struct strata_block block = {.bytes = 1 << 20, .number = 7};

/* What a write function got; `most` is how much it takes. */
struct sink {
    struct strata_text bytes;
    size_t most, calls;
};

static bool take_bytes(const char *bytes, size_t length, void *user) {
    struct sink *sink = user;
    sink->calls++;
    if (length > sink->most - sink->bytes.length)
        return false;
    strata_text_append(&sink->bytes, bytes, length);
    return true;
}

static int set_up(void **state) {
    (void)state;
    static char name[] = "a device", pool_name[] = "textures";
    device = (strata_device){.name = name,
                             .info = {.platform = "a platform",
                                      .driver_version = "1.2",
                                      .global_bytes = UINT64_C(1) << 40,
                                      .max_buffer_bytes = UINT64_C(1) << 38},
                             .memory_limit = 12345};
    pthread_mutex_init(&device.lock, NULL);
    pthread_mutex_init(&device.trace_lock, NULL);
    pthread_cond_init(&device.trace_changed, NULL);
    pool = (strata_pool){.device = &device,
                         .name = pool_name,
                         .granularity = 256,
                         .desc = {.kind = STRATA_PINNED, .limit_bytes = 99, .block_bytes = 2, .max_block_bytes = 3}};
    pthread_mutex_init(&pool.lock, NULL);
    block.traced = 0;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    pthread_mutex_destroy(&pool.lock);
    pthread_cond_destroy(&device.trace_changed);
    pthread_mutex_destroy(&device.trace_lock);
    pthread_mutex_destroy(&device.lock);
    return 0;
}

static strata_buffer *make(strata_buffer *buffer, uint64_t bytes, char *name) {
    *buffer = (strata_buffer){.device = &device, .name = name, .info = {.bytes = bytes, .access = STRATA_READ_ONLY}};
    return buffer;
}

static void start(struct sink *sink) {
    assert_int_equal(strata_trace_start(&device, STRATA_TRACE(.write = take_bytes, .user = sink)), STRATA_OK);
}

static void parse(const struct sink *sink, struct strata_trace_file *file) {
    if (strata_trace_parse(sink->bytes.data, sink->bytes.length, "t", file) != STRATA_OK)
        fail_msg("%s", strata_last_error()->message);
}

static void expect_event(const struct strata_trace_file *file, size_t at, enum strata_trace_type type, uint64_t number,
                         uint64_t bytes, const char *name) {
    assert_true(at < file->count);
    assert_int_equal(file->events[at].type, type);
    assert_int_equal(file->events[at].number, number);
    assert_int_equal(file->events[at].bytes, bytes);
    assert_string_equal(strata_trace_text(file, file->events[at].name), name);
}

static void every_record_comes_back(void **state) {
    (void)state;
    struct sink sink = {.most = SIZE_MAX};
    struct strata_trace_file file;
    strata_buffer before, small, piece;
    char empty[] = "", short_name[] = "x", long_name[400];
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    strata_buffer_enlist(make(&before, 1000, short_name));
    start(&sink);
    strata_buffer_enlist(make(&small, UINT64_MAX, long_name));
    strata_trace_grow(&pool, &block);
    make(&piece, 300, empty);
    piece.pool = &pool;
    piece.block = &block;
    piece.given_bytes = 512;
    strata_buffer_enlist(&piece);
    strata_buffer_delist(&before);
    strata_trace_fail(&device, STRATA_BUFFER(.bytes = 77, .kind = STRATA_PINNED), &pool, STRATA_OUT_OF_MEMORY);
    strata_trace_wait(&pool, false);
    strata_trace_wait(&pool, true);
    strata_buffer_delist(&piece);
    strata_trace_trim(&pool, &block);
    assert_int_equal(strata_trace_stop(&device), STRATA_OK);
    strata_buffer_delist(&small);

    parse(&sink, &file);
    assert_false(file.cut);
    assert_int_equal(file.count, 12);
    assert_int_equal(file.buffers, 3);
    assert_int_equal(file.memory_limit, 12345);
    assert_int_equal(file.device_bytes, UINT64_C(1) << 40);
    assert_string_equal(strata_trace_text(&file, file.device), "a device");
    assert_string_equal(strata_trace_text(&file, file.driver), "1.2");
    assert_string_equal(strata_trace_text(&file, file.version), strata_version());
    expect_event(&file, 0, STRATA_TRACE_DEVICE, 0, 0, "");
    expect_event(&file, 1, STRATA_TRACE_CREATE, 0, 1000, "x");
    assert_int_equal(file.events[1].flags & STRATA_TRACE_EXISTING, STRATA_TRACE_EXISTING);
    long_name[STRATA_TRACE_TEXT_MOST] = '\0';
    expect_event(&file, 2, STRATA_TRACE_CREATE, 1, UINT64_MAX, long_name);
    assert_int_equal(file.events[2].flags & STRATA_TRACE_EXISTING, 0);
    assert_int_equal(file.events[2].given, 0);
    expect_event(&file, 3, STRATA_TRACE_POOL, 0, 0, "textures");
    assert_int_equal(file.pool_count, 1);
    assert_int_equal(file.pools[0].kind, STRATA_PINNED);
    assert_int_equal(file.pools[0].limit_bytes, 99);
    expect_event(&file, 4, STRATA_TRACE_GROW, 7, 1 << 20, "");
    assert_int_equal(file.events[4].flags, STRATA_TRACE_DEDICATED);
    expect_event(&file, 5, STRATA_TRACE_CREATE, 2, 300, "");
    assert_int_equal(file.events[5].pool, 1);
    assert_int_equal(file.events[5].given, 512);
    expect_event(&file, 6, STRATA_TRACE_DESTROY, 0, 0, "");
    expect_event(&file, 7, STRATA_TRACE_FAIL, 0, 77, "");
    assert_int_equal(file.events[7].status, STRATA_OUT_OF_MEMORY);
    expect_event(&file, 8, STRATA_TRACE_WAIT_BEGIN, 0, 0, "");
    expect_event(&file, 9, STRATA_TRACE_WAIT_END, 0, 0, "");
    expect_event(&file, 10, STRATA_TRACE_DESTROY, 2, 0, "");
    expect_event(&file, 11, STRATA_TRACE_TRIM, 7, 1 << 20, "");
    strata_trace_file_release(&file);
    strata_text_release(&sink.bytes);
}

/* However much is alive at the start, all of it is in the trace. */
static void much_is_alive(void **state) {
    (void)state;
    enum { ALIVE = 20000 };
    struct sink sink = {.most = SIZE_MAX};
    struct strata_trace_file file;
    strata_buffer *buffers = calloc(ALIVE, sizeof *buffers);
    char name[300];
    assert_non_null(buffers);
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (unsigned i = 0; i < ALIVE; i++)
        strata_buffer_enlist(make(&buffers[i], i, name));
    start(&sink);
    assert_int_equal(strata_trace_stop(&device), STRATA_OK);
    parse(&sink, &file);
    assert_int_equal(file.buffers, ALIVE);
    assert_int_equal(file.count, ALIVE + 1);
    for (unsigned i = 0; i < ALIVE; i++)
        strata_buffer_delist(&buffers[i]);
    free(buffers);
    strata_trace_file_release(&file);
    strata_text_release(&sink.bytes);
}

/* More names than are remembered, over many chunks: each create has its own, and costs little. */
static void names_and_chunks(void **state) {
    (void)state;
    enum { ROUNDS = 30000 };
    struct sink sink = {.most = SIZE_MAX};
    struct strata_trace_file file;
    strata_buffer buffer;
    char name[STRATA_SHORT_NAME + 2];
    size_t creates = 0;
    start(&sink);
    for (unsigned i = 0; i < ROUNDS; i++) {
        snprintf(name, sizeof name, "%0*u", i % 100 == 0 ? STRATA_SHORT_NAME - 1 + (int)(i / 100 % 3) : 1, i % 1000);
        if (i % 7 == 0)
            name[0] = '\0';
        strata_buffer_enlist(make(&buffer, i * 1000, name));
        strata_buffer_delist(&buffer);
        if (atomic_load(&device.trace_due))
            strata_trace_write(&device);
    }
    assert_int_equal(strata_trace_stop(&device), STRATA_OK);
    parse(&sink, &file);
    assert_false(file.cut);
    assert_int_equal(file.buffers, ROUNDS);
    assert_in_range(sink.bytes.length, ROUNDS * 8, ROUNDS * 24);
    assert_in_range(sink.calls, sink.bytes.length / STRATA_TRACE_CHUNK_BYTES, ROUNDS / 100);
    for (size_t i = 0; i < file.count; i++) {
        const struct strata_trace_event *event = &file.events[i];
        if (event->type != STRATA_TRACE_CREATE)
            continue;
        unsigned n = (unsigned)creates++;
        snprintf(name, sizeof name, "%0*u", n % 100 == 0 ? STRATA_SHORT_NAME - 1 + (int)(n / 100 % 3) : 1, n % 1000);
        expect_event(&file, i, STRATA_TRACE_CREATE, n, n * 1000, n % 7 == 0 ? "" : name);
        assert_true(event->time_ns >= file.events[i - 1].time_ns);
    }
    strata_trace_file_release(&file);
    strata_text_release(&sink.bytes);
}

/* Wherever a file is cut, what is left is read up to the last whole chunk, and no byte may differ. */
static void cut_and_damaged(void **state) {
    (void)state;
    struct sink sink = {.most = SIZE_MAX};
    struct strata_trace_file whole, file;
    strata_buffer buffer;
    char name[] = "n";
    start(&sink);
    for (unsigned i = 0; i < 3000; i++) {
        strata_buffer_enlist(make(&buffer, i, name));
        strata_buffer_delist(&buffer);
        strata_trace_write(&device);
    }
    assert_int_equal(strata_trace_stop(&device), STRATA_OK);
    parse(&sink, &whole);
    size_t before = whole.count;
    for (size_t length = sink.bytes.length - 1; length > STRATA_TRACE_HEAD; length -= 97) {
        enum strata_status status = strata_trace_parse(sink.bytes.data, length, "t", &file);
        if (status != STRATA_OK) {
            assert_non_null(strstr(strata_last_error()->message, "t: the trace was cut before its first events"));
            assert_true(length < STRATA_TRACE_HEAD + STRATA_TRACE_CHUNK_HEAD + STRATA_TRACE_CHUNK_BYTES);
            before = 0;
        } else {
            assert_true(file.count <= before && file.count > 0);
            assert_memory_equal(file.events, whole.events, file.count * sizeof *file.events);
            before = file.count;
            strata_trace_file_release(&file);
        }
        if (length < 97)
            break;
    }
    assert_int_equal(before, 0);
    sink.bytes.data[sink.bytes.length / 2] ^= 4;
    parse(&sink, &file);
    assert_true(file.cut);
    assert_in_range(file.count, 1, whole.count - 1);
    strata_trace_file_release(&file);
    strata_trace_file_release(&whole);
    strata_text_release(&sink.bytes);
}

static void expect_refused(const void *bytes, size_t length, const char *words) {
    struct strata_trace_file file;
    assert_int_equal(strata_trace_parse(bytes, length, "t", &file), STRATA_IO);
    if (strcmp(strata_last_error()->message, words) != 0)
        fail_msg("'%s', not '%s'", strata_last_error()->message, words);
    assert_null(file.events);
}

static void what_is_no_trace(void **state) {
    (void)state;
    unsigned char head[STRATA_TRACE_HEAD] = STRATA_TRACE_MAGIC "\x01";
    expect_refused("", 0, "t: it is empty");
    expect_refused("#!/bin/sh\necho this is no trace\n", 31, "t: it is no trace of strata");
    expect_refused(head, 8, "t: it is no trace of strata");
    expect_refused(head, sizeof head, "t: the trace was cut before its first events");
    head[8] = 2;
    expect_refused(head, sizeof head, "t: it is a trace of version 2, and this strata reads version 1");
}

/* A file of one chunk with these records and a right checksum. */
static enum strata_status parse_records(const char *records, size_t length, unsigned count,
                                        struct strata_trace_file *file) {
    unsigned char bytes[256] = STRATA_TRACE_MAGIC "\x01", *chunk = bytes + STRATA_TRACE_HEAD;
    chunk[8] = (unsigned char)length;
    chunk[12] = (unsigned char)count;
    memcpy(chunk + STRATA_TRACE_CHUNK_HEAD, records, length);
    uint64_t sum = XXH64(chunk + 8, STRATA_TRACE_CHUNK_HEAD - 8 + length, 0);
    for (unsigned i = 0; i < 8; i++)
        chunk[i] = (unsigned char)(sum >> 8 * i);
    return strata_trace_parse(bytes, STRATA_TRACE_HEAD + STRATA_TRACE_CHUNK_HEAD + length, "t", file);
}

/* A create of 5 bytes, and what may come behind it: how many events are left, and whether all was read. */
static void expect_records(const char *more, size_t length, unsigned count, size_t good) {
    char records[128] = "\x03\x01\x00\x00\x00\x05\x00";
    struct strata_trace_file file;
    memcpy(records + 7, more, length);
    assert_int_equal(parse_records(records, 7 + length, 1 + count, &file), STRATA_OK);
    assert_int_equal(file.count, 1 + good);
    assert_int_equal(file.cut, good != count);
    strata_trace_file_release(&file);
}
#define EXPECT_RECORDS(text, count, good) expect_records(text, sizeof(text) - 1, count, good)

static void records_that_do_not_fit(void **state) {
    (void)state;
    EXPECT_RECORDS("", 0, 0);
    EXPECT_RECORDS("\x15\x00\x01", 1, 1);                         /* destroyed */
    EXPECT_RECORDS("\x15\x00\x01\x15\x00\x01", 2, 1);             /* twice */
    EXPECT_RECORDS("\x15\x00\x00", 1, 0);                         /* one that is to come */
    EXPECT_RECORDS("\x15\x00\x02", 1, 0);                         /* and one before the first */
    EXPECT_RECORDS("\x16\x00\x00\x01\x01\x01", 1, 0);             /* a block of a pool that is not known */
    EXPECT_RECORDS("\x13\x00\x00\x01\x05\x00", 1, 0);             /* a buffer of it */
    EXPECT_RECORDS("\x13\x00\x0c\x00\x05\x00", 1, 0);             /* an access that there is not */
    EXPECT_RECORDS("\x13\x00\x80\x00\x05\x00\x01", 1, 1);         /* a name that was not told is no name */
    EXPECT_RECORDS("\x13\x00\x80\x00\x05\x00\x00\x04name", 1, 1); /* a name */
    EXPECT_RECORDS("\x13\x00\x80\x00\x05\x00\x00\x05name", 1, 0); /* that is longer than the chunk */
    EXPECT_RECORDS("\x13\x00\x80\x00\x05\x00\x81\x04", 1, 0);     /* a number beyond the last */
    EXPECT_RECORDS("\x1a\x00\x00", 1, 0);                         /* a record that there is not */
    EXPECT_RECORDS("\x55\x00\x01", 1, 0);                         /* a flag */
    EXPECT_RECORDS("\x13\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", 1, 1); /* 2^64 - 1 bytes */
    EXPECT_RECORDS("\x13\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02\x00", 1, 0); /* and more than that */
    struct strata_trace_file file;
    assert_int_equal(parse_records("\x03\x01\x00\x00\x00\x05\x00", 7, 2, &file), STRATA_OK);
    assert_true(file.cut); /* one record less than there were to be */
    strata_trace_file_release(&file);
}

static void failing_write_function(void **state) {
    (void)state;
    struct sink sink = {.most = 0};
    struct strata_trace_file file;
    strata_buffer buffer;
    char name[] = "n";
    const struct strata_trace_desc desc = {.size = sizeof desc, .write = take_bytes, .user = &sink};
    assert_int_equal(strata_trace_start(&device, &desc), STRATA_IO);
    assert_int_equal(strata_trace_stop(&device), STRATA_INVALID_ARGUMENT);
    sink.most = 40000;
    start(&sink);
    for (unsigned i = 0; i < 10000; i++) {
        strata_buffer_enlist(make(&buffer, i, name));
        strata_buffer_delist(&buffer);
        if (atomic_load(&device.trace_due))
            strata_trace_write(&device);
    }
    size_t calls = sink.calls;
    assert_int_equal(strata_trace_start(&device, &desc), STRATA_BUSY);
    assert_int_equal(strata_trace_stop(&device), STRATA_IO);
    assert_non_null(strstr(strata_last_error()->message, "ended early"));
    assert_int_equal(sink.calls, calls); /* not asked again */
    parse(&sink, &file);
    assert_false(file.cut);
    assert_in_range(file.buffers, 500, 9999);
    strata_trace_file_release(&file);
    strata_text_release(&sink.bytes);
}

/* Nobody writes: the ring fills, and the trace ends there. */
static void full_ring(void **state) {
    (void)state;
    struct sink sink = {.most = SIZE_MAX};
    struct strata_trace_file file;
    strata_buffer buffer;
    char name[] = "n";
    start(&sink);
    for (unsigned i = 0; i < 200000; i++) {
        strata_buffer_enlist(make(&buffer, i, name));
        strata_buffer_delist(&buffer);
    }
    assert_int_equal(strata_trace_stop(&device), STRATA_OUT_OF_MEMORY);
    parse(&sink, &file);
    assert_false(file.cut);
    assert_in_range(file.buffers, 10000, 199999);
    strata_trace_file_release(&file);
    strata_text_release(&sink.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_record_comes_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(much_is_alive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_and_chunks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cut_and_damaged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failing_write_function, set_up, tear_down),
        cmocka_unit_test_setup_teardown(full_ring, set_up, tear_down),
        cmocka_unit_test(what_is_no_trace),
        cmocka_unit_test(records_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
