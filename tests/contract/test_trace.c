/* Traces of a device's memory: every kind of event, their order with several threads, starting and ending, files. */
#include "contract.h"

#include "cli/trace_reader.h"
#include "memory/trace.h"
#include "strata/strata.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)

static strata_device *device;
static strata_queue *queue;

/* What a write function got. It takes `calls` calls, then it fails. */
struct sink {
    char *bytes;
    size_t length, capacity;
    unsigned calls;
};

static bool take_bytes(const char *bytes, size_t length, void *user) {
    struct sink *sink = user;
    if (sink->calls-- == 0)
        return false;
    if (sink->length + length > sink->capacity) {
        sink->capacity = 2 * (sink->length + length);
        sink->bytes = realloc(sink->bytes, sink->capacity);
    }
    memcpy(sink->bytes + sink->length, bytes, length);
    sink->length += length;
    return true;
}

static void start(strata_device *traced, struct sink *sink) {
    *sink = (struct sink){.calls = UINT32_MAX};
    CHECK(strata_trace_start(traced, STRATA_TRACE(.write = take_bytes, .user = sink)));
}

static void parse(struct sink *sink, struct strata_trace_file *file) {
    CHECK(strata_trace_parse(sink->bytes, sink->length, "the trace", file));
    assert_false(file->cut);
    free(sink->bytes);
    sink->bytes = NULL;
}

static strata_buffer *create(const struct strata_buffer_desc *desc) {
    strata_buffer *buffer = NULL;
    CHECK(strata_buffer_create(device, desc, &buffer));
    return buffer;
}

/* The events of one type, and the first of them that has this name, or where that is NULL, the last of all. */
static size_t count(const struct strata_trace_file *file, enum strata_trace_type type) {
    size_t found = 0;
    for (size_t i = 0; i < file->count; i++)
        found += file->events[i].type == type;
    return found;
}

static const struct strata_trace_event *find(const struct strata_trace_file *file, enum strata_trace_type type,
                                             const char *name) {
    const struct strata_trace_event *last = NULL;
    for (size_t i = 0; i < file->count; i++) {
        if (file->events[i].type != type)
            continue;
        if (name && strcmp(strata_trace_text(file, file->events[i].name), name) == 0)
            return &file->events[i];
        last = &file->events[i];
    }
    assert_null(name);
    return last;
}

static const struct strata_trace_event *find_create(const struct strata_trace_file *file, const char *name,
                                                    uint64_t bytes) {
    const struct strata_trace_event *event = find(file, STRATA_TRACE_CREATE, name);
    assert_non_null(event);
    assert_int_equal(event->bytes, bytes);
    return event;
}

/* What a file says of live and reserved bytes has to come to these at its end. */
static void expect_sums(const struct strata_trace_file *file, uint64_t live, uint64_t reserved) {
    uint64_t *bytes = calloc((size_t)file->buffers + 1, sizeof *bytes), now = 0, taken = 0;
    for (size_t i = 0; i < file->count; i++) {
        const struct strata_trace_event *event = &file->events[i];
        if (event->type == STRATA_TRACE_CREATE)
            now += bytes[event->number] = event->bytes;
        else if (event->type == STRATA_TRACE_DESTROY)
            now -= bytes[event->number];
        else if (event->type == STRATA_TRACE_GROW)
            taken += event->bytes;
        else if (event->type == STRATA_TRACE_TRIM)
            taken -= event->bytes;
    }
    assert_int_equal(now, live);
    assert_int_equal(taken, reserved);
    free(bytes);
}

static void test_pool_events(void **state) {
    (void)state;
    struct sink sink;
    struct strata_trace_file file;
    strata_pool *pool = NULL;
    strata_buffer *big = NULL;
    start(device, &sink);
    CHECK(strata_pool_create(device, STRATA_POOL(.name = "traced", .limit_bytes = 4 * MIB, .block_bytes = MIB), &pool));
    strata_buffer *first = create(STRATA_BUFFER(.bytes = 10000, .pool = pool, .name = "first"));
    strata_buffer_destroy(&first);
    strata_buffer *again = create(
        STRATA_BUFFER(.bytes = 9999, .pool = pool, .name = "again", .queue = queue, .access = STRATA_READ_WRITE));
    EXPECT(strata_buffer_create(device, STRATA_BUFFER(.bytes = 8 * MIB, .pool = pool), &big), STRATA_OUT_OF_MEMORY, "");
    strata_buffer_destroy(&again);
    CHECK(strata_pool_trim(pool, 0, NULL));
    strata_pool_destroy(&pool);
    CHECK(strata_trace_stop(device));
    parse(&sink, &file);

    assert_string_equal(strata_trace_text(&file, file.device), strata_device_get_info(device)->name);
    assert_int_equal(file.events[0].type, STRATA_TRACE_DEVICE);
    assert_int_equal(file.buffers, 2);
    const struct strata_trace_event *event = find(&file, STRATA_TRACE_POOL, "traced");
    assert_non_null(event);
    uint64_t number = event->pool;
    assert_int_equal(file.pools[number - 1].limit_bytes, 4 * MIB);
    assert_int_equal(file.pools[number - 1].block_bytes, MIB);
    event = find_create(&file, "first", 10000);
    assert_int_equal(event->pool, number);
    assert_int_equal(event->flags & (STRATA_TRACE_REUSED | STRATA_TRACE_EXISTING), 0);
    assert_in_range(event->given, 10000, 16384);
    event = find_create(&file, "again", 9999);
    assert_int_equal(event->flags & (STRATA_TRACE_REUSED | STRATA_TRACE_HAS_QUEUE),
                     STRATA_TRACE_REUSED | STRATA_TRACE_HAS_QUEUE);
    event = find(&file, STRATA_TRACE_FAIL, NULL);
    assert_int_equal(event->bytes, 8 * MIB);
    assert_int_equal(event->status, STRATA_OUT_OF_MEMORY);
    assert_int_equal(event->pool, number);
    assert_int_equal(count(&file, STRATA_TRACE_DESTROY), 2);
    assert_int_equal(count(&file, STRATA_TRACE_GROW), 1);
    assert_int_equal(count(&file, STRATA_TRACE_TRIM), 1);
    assert_int_equal(find(&file, STRATA_TRACE_GROW, NULL)->number, find(&file, STRATA_TRACE_TRIM, NULL)->number);
    expect_sums(&file, 0, 0);
    strata_trace_file_release(&file);
}

static void *open_later(void *user) {
    usleep(20000);
    contract_gate_open(user);
    return NULL;
}

/* A pool that is short of memory waits for queued work. */
static void test_wait(void **state) {
    (void)state;
    struct sink sink;
    struct strata_trace_file file;
    struct contract_gate gate;
    strata_pool *pool = NULL;
    pthread_t thread;
    uint32_t value = 1;
    CHECK(strata_pool_create(device, STRATA_POOL(.limit_bytes = MIB, .block_bytes = MIB), &pool));
    strata_buffer *used = create(STRATA_BUFFER(.bytes = MIB / 2, .pool = pool));
    start(device, &sink);
    contract_gate_init(&gate);
    contract_gate_put(&gate, queue);
    CHECK(strata_fill_async(queue, strata_all(used), &value, sizeof value, NULL));
    strata_buffer_destroy(&used);
    assert_int_equal(pthread_create(&thread, NULL, open_later, &gate), 0);
    strata_buffer *whole = create(STRATA_BUFFER(.bytes = MIB, .pool = pool));
    pthread_join(thread, NULL);
    contract_gate_release(&gate);
    CHECK(strata_trace_stop(device));
    struct strata_pool_stats stats = {.size = sizeof stats};
    CHECK(strata_pool_get_stats(pool, &stats));
    parse(&sink, &file);
    assert_true(stats.waited >= 1);
    assert_int_equal(count(&file, STRATA_TRACE_WAIT_BEGIN), stats.waited);
    assert_int_equal(count(&file, STRATA_TRACE_WAIT_END), stats.waited);
    const struct strata_trace_event *end = find(&file, STRATA_TRACE_WAIT_END, NULL);
    const struct strata_trace_event *begin = find(&file, STRATA_TRACE_WAIT_BEGIN, NULL);
    assert_int_equal(begin->thread, end->thread);
    assert_int_equal(begin->pool, end->pool);
    assert_true(begin < end && begin->time_ns <= end->time_ns);
    strata_trace_file_release(&file);
    strata_buffer_destroy(&whole);
    strata_pool_destroy(&pool);
}

/* Memory that is no pool's, of each kind. */
static void test_own_memory(void **state) {
    (void)state;
    static uint32_t mine[1024];
    struct sink sink;
    struct strata_trace_file file;
    start(device, &sink);
    strata_buffer *buffers[] = {
        create(STRATA_BUFFER(.bytes = 5000, .dedicated = true, .name = "dedicated")),
        create(STRATA_BUFFER(.bytes = 5001, .kind = STRATA_PINNED, .dedicated = true, .name = "pinned")),
        create(STRATA_BUFFER(.bytes = sizeof mine, .kind = STRATA_WRAPPED, .host_pointer = mine, .name = "wrapped")),
        create(STRATA_BUFFER(.bytes = 5002, .kind = STRATA_SHARED, .mode = STRATA_SHARED_MIRRORED, .name = "mirrored")),
        create(STRATA_BUFFER(.bytes = 0, .name = "empty")),
    };
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        strata_buffer_destroy(&buffers[i]);
    CHECK(strata_trace_stop(device));
    parse(&sink, &file);
    assert_int_equal(file.buffers, 5);
    assert_int_equal(count(&file, STRATA_TRACE_DESTROY), 5);
    assert_int_equal(find_create(&file, "dedicated", 5000)->given, 5000);
    assert_int_equal(find_create(&file, "pinned", 5001)->flags & 3, STRATA_PINNED);
    assert_int_equal(find_create(&file, "wrapped", sizeof mine)->flags & 3, STRATA_WRAPPED);
    assert_int_equal(find_create(&file, "mirrored", 5002)->flags & 3, STRATA_SHARED);
    assert_int_equal(find_create(&file, "empty", 0)->pool, 0);
    strata_trace_file_release(&file);
}

/* A trace begins with what is alive and reserved, and a second one begins anew. */
static void test_started_late(void **state) {
    (void)state;
    struct sink sink;
    struct strata_trace_file file;
    strata_pool *pool = NULL;
    CHECK(strata_pool_create(device, STRATA_POOL(.block_bytes = MIB, .dedicated_bytes = 2 * MIB), &pool));
    strata_buffer *old = create(STRATA_BUFFER(.bytes = 1234, .pool = pool, .name = "old"));
    strata_buffer *large = create(STRATA_BUFFER(.bytes = 3 * MIB, .pool = pool));
    strata_buffer *kept = create(STRATA_BUFFER(.bytes = 2 * MIB, .pool = pool));
    strata_buffer_destroy(&kept);
    for (int turn = 0; turn < 2; turn++) {
        struct strata_pool_stats stats = {.size = sizeof stats};
        uint64_t live = 1234 + 3 * MIB + (turn ? 77 : 0);
        start(device, &sink);
        EXPECT(strata_trace_start(device, STRATA_TRACE(.write = take_bytes, .user = &sink)), STRATA_BUSY, "already");
        strata_buffer *young = create(STRATA_BUFFER(.bytes = 77, .pool = pool, .name = "young"));
        strata_buffer_destroy(turn ? &old : &young);
        CHECK(strata_trace_stop(device));
        CHECK(strata_pool_get_stats(pool, &stats));
        parse(&sink, &file);
        assert_int_equal(file.buffers, 3);
        assert_int_equal(find_create(&file, "old", 1234)->flags & STRATA_TRACE_EXISTING, STRATA_TRACE_EXISTING);
        assert_int_equal(find_create(&file, "young", 77)->flags & STRATA_TRACE_EXISTING, 0);
        expect_sums(&file, live - (turn ? 1234 : 0), stats.reserved_bytes);
        strata_trace_file_release(&file);
        if (turn)
            strata_buffer_destroy(&young);
    }
    EXPECT(strata_trace_stop(device), STRATA_INVALID_ARGUMENT, "No trace");
    strata_buffer_destroy(&large);
    strata_pool_destroy(&pool);
}

#define THREADS 4
#define ROUNDS 4000

/* Buffers that the threads take from each other. */
struct exchange {
    strata_pool *pool;
    pthread_mutex_t lock;
    strata_buffer *shared[8];
};

static void *work(void *user) {
    struct exchange *exchange = user;
    unsigned rounds = contract_is_slow(device) ? ROUNDS / 10 : ROUNDS;
    for (unsigned i = 0; i < rounds; i++) {
        strata_buffer *buffer = NULL;
        if (strata_buffer_create(device, STRATA_BUFFER(.bytes = 256 << i % 8, .pool = exchange->pool), &buffer))
            return exchange;
        pthread_mutex_lock(&exchange->lock);
        strata_buffer *taken = exchange->shared[i % 8];
        exchange->shared[i % 8] = buffer;
        pthread_mutex_unlock(&exchange->lock);
        strata_buffer_destroy(&taken);
        if (i % 512 == 0)
            strata_pool_trim(exchange->pool, 0, NULL);
    }
    return NULL;
}

/* The pool has room for what is alive at a time and no more, so a create that stood before the destroy whose memory it
 * got would show in the sum of what was given. The reader itself refuses a destroy before its create. */
static void test_order_of_threads(void **state) {
    (void)state;
    struct sink sink;
    struct strata_trace_file file;
    struct exchange exchange = {0};
    pthread_t threads[THREADS];
    pthread_mutex_init(&exchange.lock, NULL);
    CHECK(
        strata_pool_create(device, STRATA_POOL(.block_bytes = 64 * KIB, .max_block_bytes = 64 * KIB), &exchange.pool));
    start(device, &sink);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, &exchange), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    for (int i = 0; i < 8; i++)
        strata_buffer_destroy(&exchange.shared[i]);
    CHECK(strata_trace_stop(device));
    parse(&sink, &file);
    uint64_t *given = calloc((size_t)file.buffers, sizeof *given), now = 0, reserved = 0, last = 0;
    uint32_t seen[THREADS] = {0}, seen_count = 0;
    for (size_t i = 0; i < file.count; i++) {
        const struct strata_trace_event *event = &file.events[i];
        if (event->type == STRATA_TRACE_CREATE)
            now += given[event->number] = event->given;
        else if (event->type == STRATA_TRACE_DESTROY)
            now -= given[event->number];
        else if (event->type == STRATA_TRACE_GROW)
            reserved += event->bytes;
        else if (event->type == STRATA_TRACE_TRIM)
            reserved -= event->bytes;
        assert_true(now <= reserved);
        assert_true(event->time_ns >= last);
        last = event->time_ns;
        bool known = event->type != STRATA_TRACE_CREATE;
        for (uint32_t t = 0; t < seen_count; t++)
            known |= seen[t] == event->thread;
        if (!known) {
            assert_in_range(seen_count, 0, THREADS - 1);
            seen[seen_count++] = event->thread;
        }
    }
    assert_int_equal(now, 0);
    assert_int_equal(seen_count, THREADS);
    assert_int_equal(file.buffers, THREADS * (contract_is_slow(device) ? ROUNDS / 10 : ROUNDS));
    assert_int_equal(count(&file, STRATA_TRACE_DESTROY), file.buffers);
    free(given);
    strata_trace_file_release(&file);
    strata_pool_destroy(&exchange.pool);
    pthread_mutex_destroy(&exchange.lock);
}

/* Traces begin and end while threads are at it: each can be read, and is whole. */
static void test_started_amid_threads(void **state) {
    (void)state;
    struct exchange exchange = {0};
    pthread_t threads[THREADS];
    pthread_mutex_init(&exchange.lock, NULL);
    CHECK(strata_pool_create(device, STRATA_POOL(.block_bytes = 64 * KIB), &exchange.pool));
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, &exchange), 0);
    for (int i = 0; i < 20; i++) {
        struct sink sink;
        struct strata_trace_file file;
        start(device, &sink);
        usleep(500);
        CHECK(strata_trace_stop(device));
        parse(&sink, &file);
        strata_trace_file_release(&file);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 8; i++)
        strata_buffer_destroy(&exchange.shared[i]);
    CHECK(strata_pool_validate(exchange.pool));
    strata_pool_destroy(&exchange.pool);
    pthread_mutex_destroy(&exchange.lock);
}

/* Nothing but the trace suffers, and what was written before can be read. */
static void test_failing_write(void **state) {
    (void)state;
    struct sink sink = {.calls = 0};
    struct strata_trace_file file;
    const struct strata_trace_desc desc = {.size = sizeof desc, .write = take_bytes, .user = &sink};
    EXPECT(strata_trace_start(device, &desc), STRATA_IO, "No trace was started");
    EXPECT(strata_trace_stop(device), STRATA_INVALID_ARGUMENT, "No trace");
    sink.calls = 2;
    CHECK(strata_trace_start(device, &desc));
    for (int i = 0; i < 8000; i++) {
        strata_buffer *buffer = create(STRATA_BUFFER(.bytes = 4096));
        strata_buffer_destroy(&buffer);
    }
    EXPECT(strata_trace_stop(device), STRATA_IO, "ended early");
    parse(&sink, &file);
    assert_in_range(file.buffers, 100, 7999);
    strata_trace_file_release(&file);
    start(device, &sink);
    CHECK(strata_trace_stop(device));
    free(sink.bytes);
}

static void test_arguments(void **state) {
    (void)state;
    struct sink sink = {0};
    EXPECT(strata_trace_start(NULL, STRATA_TRACE(.path = "x")), STRATA_INVALID_ARGUMENT, "NULL");
    EXPECT(strata_trace_start(device, NULL), STRATA_INVALID_ARGUMENT, "either");
    EXPECT(strata_trace_start(device, STRATA_TRACE(.path = "x", .write = take_bytes, .user = &sink)),
           STRATA_INVALID_ARGUMENT, "either");
    EXPECT(strata_trace_start(device, STRATA_TRACE(.path = "/nowhere/at/all")), STRATA_IO, "'/nowhere/at/all'");
    EXPECT(strata_trace_start(device, STRATA_TRACE(.path = "/")), STRATA_IO, "'/'");
    EXPECT(strata_trace_stop(NULL), STRATA_INVALID_ARGUMENT, "NULL");
    struct strata_trace_desc desc;
    strata_trace_desc_init(&desc);
    assert_int_equal(desc.size, sizeof desc);
}

static void expect_file(const char *path, const char *name) {
    struct strata_trace_file file;
    CHECK(strata_trace_read(path, &file));
    assert_false(file.cut);
    const struct strata_trace_event *event = find(&file, STRATA_TRACE_CREATE, NULL);
    assert_non_null(event);
    assert_string_equal(strata_trace_text(&file, event->name), name);
    strata_trace_file_release(&file);
    assert_int_equal(unlink(path), 0);
}

static void create_on(strata_device *other, const char *name) {
    strata_buffer *buffer = NULL;
    CHECK(strata_buffer_create(other, STRATA_BUFFER(.bytes = 512, .name = name), &buffer));
    strata_buffer_destroy(&buffer);
}

/* Two devices at once, by the environment; the desc's own file comes before that. */
static void test_files_of_devices(void **state) {
    (void)state;
    char path[512], second_path[520], own_path[520];
    snprintf(path, sizeof path, "%s/a.trace", getenv("TMPDIR"));
    snprintf(second_path, sizeof second_path, "%s.2", path);
    snprintf(own_path, sizeof own_path, "%s.own", path);
    setenv("STRATA_TRACE", path, 1);
    strata_device *first = contract_open_with(NULL), *second = contract_open_with(NULL);
    strata_device *own = contract_open_with(STRATA_DEVICE_DESC(.trace = own_path));
    unsetenv("STRATA_TRACE");
    create_on(second, "second");
    create_on(first, "first");
    create_on(own, "own");
    strata_device_close(&first);
    strata_device_close(&second);
    strata_device_close(&own);
    expect_file(path, "first");
    expect_file(second_path, "second");
    expect_file(own_path, "own");
}

/* Closing writes what is left, and a file that cannot be had is told of in the log alone. */
static void test_no_file(void **state) {
    (void)state;
    static struct contract_log log;
    strata_device *other =
        contract_open_with(STRATA_DEVICE_DESC(.log = contract_log_line, .log_user = &log, .trace = "/nowhere/at/all"));
    assert_non_null(strstr(log.text, "/nowhere/at/all"));
    create_on(other, "x");
    strata_device_close(&other);
    log.text[0] = '\0';
    other = contract_open_with(STRATA_DEVICE_DESC(.log = contract_log_line, .log_user = &log, .trace = "/dev/full"));
    if (strstr(log.text, "/dev/full") == NULL)
        fail_msg("'%s'", log.text);
    strata_device_close(&other);
    struct sink sink;
    struct strata_trace_file file;
    other = contract_open_with(NULL);
    start(other, &sink);
    create_on(other, "x");
    strata_device_close(&other);
    parse(&sink, &file);
    assert_int_equal(file.buffers, 1);
    expect_sums(&file, 0, 0);
    strata_trace_file_release(&file);
}

/* A child has no part in the trace, and takes nothing from it. */
static void test_forked_child(void **state) {
    (void)state;
    struct sink sink;
    struct strata_trace_file file;
    int result = 0;
    start(device, &sink);
    create_on(device, "before");
    pid_t child = fork();
    if (child == 0) {
        strata_buffer *buffer = NULL;
        bool refused = strata_buffer_create(device, STRATA_BUFFER(.bytes = 512), &buffer) == STRATA_FORKED &&
                       strata_trace_stop(device) == STRATA_FORKED &&
                       strata_trace_start(device, STRATA_TRACE(.path = "x")) == STRATA_FORKED;
        strata_device_close(&device);
        _exit(refused ? 0 : 1);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    create_on(device, "after");
    CHECK(strata_trace_stop(device));
    parse(&sink, &file);
    assert_int_equal(file.buffers, 2);
    strata_trace_file_release(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool_events),      cmocka_unit_test(test_wait),
        cmocka_unit_test(test_own_memory),       cmocka_unit_test(test_started_late),
        cmocka_unit_test(test_order_of_threads), cmocka_unit_test(test_started_amid_threads),
        cmocka_unit_test(test_failing_write),    cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_files_of_devices), cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_forked_child),
    };
    device = contract_open();
    if (!device)
        return CONTRACT_SKIPPED;
    queue = strata_device_queue(device);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    strata_device_close(&device);
    return failed;
}
