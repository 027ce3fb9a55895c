/* Buffers of every kind: what they promise, what is refused, maps and brackets, and giving back while work is in
 * flight. */
#include "contract.h"

#include "strata/transfer.h"

static strata_device *device;
static strata_queue *queue;

static void test_kinds(void **state) {
    (void)state;
    const struct strata_device_info *info = strata_device_get_info(device);
    for (int kind = STRATA_DEVICE; kind <= STRATA_SHARED; kind++) {
        if (kind == STRATA_WRAPPED)
            continue;
        strata_buffer *buffer = NULL, *empty = NULL;
        CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = 1000, .kind = (enum strata_kind)kind, .name = "n"),
                                   &buffer));
        const struct strata_buffer_info *facts = strata_buffer_get_info(buffer);
        assert_int_equal(facts->bytes, 1000);
        assert_string_equal(facts->name, "n");
        assert_true(facts->alignment >= info->base_alignment || kind == STRATA_SHARED);
        if (kind == STRATA_DEVICE) {
            assert_null(facts->host_pointer);
        } else {
            assert_non_null(facts->host_pointer);
            assert_int_equal((uintptr_t)facts->host_pointer % 256, 0);
        }
        CHECK(strata_buffer_create(device, STRATA_BUFFER(.kind = (enum strata_kind)kind), &empty));
        unsigned char byte = 1;
        CHECK(strata_write(queue, strata_all(empty), &byte));
        CHECK(strata_fill(queue, strata_all(empty), &byte, 1));
        CHECK(strata_copy(queue, strata_all(empty), strata_sub(strata_all(buffer), 0, 0)));
        strata_buffer_destroy(&empty);
        strata_buffer_destroy(&buffer);
        assert_null(buffer);
        strata_buffer_destroy(&buffer);
        strata_buffer_destroy(NULL);
    }
}

static void test_limits(void **state) {
    (void)state;
    uint64_t limit = strata_device_get_info(device)->max_buffer_bytes;
    strata_buffer *buffer = NULL;
    EXPECT(strata_buffer_create(device, STRATA_BUFFER(.bytes = limit + 1), &buffer), STRATA_TOO_LARGE, "over the");
    EXPECT(strata_buffer_create(device, STRATA_BUFFER(.bytes = limit + 4096), &buffer), STRATA_TOO_LARGE, "over the");
    EXPECT(strata_buffer_create(device, STRATA_BUFFER(.bytes = UINT64_MAX, .over_limit = true), &buffer),
           STRATA_TOO_LARGE, "beyond");
    EXPECT(strata_buffer_create(device, STRATA_BUFFER(.bytes = 1, .kind = (enum strata_kind)9), &buffer),
           STRATA_INVALID_ARGUMENT, "not a kind");
    EXPECT(strata_buffer_create(device, STRATA_BUFFER(.bytes = 1, .mode = STRATA_SHARED_MAPPED), &buffer),
           STRATA_INVALID_ARGUMENT, "mode");
    EXPECT(strata_buffer_create(device, STRATA_BUFFER(.bytes = 1, .kind = STRATA_WRAPPED), &buffer),
           STRATA_INVALID_ARGUMENT, "host_pointer");
    EXPECT(strata_buffer_create(NULL, STRATA_BUFFER(.bytes = 1), &buffer), STRATA_INVALID_ARGUMENT, "device");
    assert_null(buffer);
}

/* A caller compiled against a newer header: what it does not use is fine, what it uses is refused. */
static void test_desc_sizes(void **state) {
    (void)state;
    struct {
        struct strata_buffer_desc desc;
        uint64_t newer;
    } longer = {.desc = {.size = sizeof longer, .bytes = 8}};
    strata_buffer *buffer = NULL;
    CHECK(strata_buffer_create(device, &longer.desc, &buffer));
    strata_buffer_destroy(&buffer);
    longer.newer = 1;
    EXPECT(strata_buffer_create(device, &longer.desc, &buffer), STRATA_INVALID_ARGUMENT, "does not know");
    longer.desc.size = 0;
    EXPECT(strata_buffer_create(device, &longer.desc, &buffer), STRATA_INVALID_ARGUMENT, "size member");
}

static void test_wrapped(void **state) {
    (void)state;
    struct contract_log log = {""};
    strata_device *logged = contract_open_with(STRATA_DEVICE_DESC(.log = contract_log_line, .log_user = &log));
    strata_queue *own = strata_device_queue(logged);
    unsigned char *memory = aligned_alloc(4096, 8192);
    assert_non_null(memory);
    for (int shift = 0; shift < 2; shift++) {
        strata_buffer *buffer = NULL, *twice = NULL;
        void *pointer = NULL;
        unsigned char found[100];
        contract_random(memory, 8192, 3 + (uint64_t)shift);
        CHECK(strata_buffer_create(
            logged, STRATA_BUFFER(.bytes = 100, .kind = STRATA_WRAPPED, .host_pointer = memory + shift), &buffer));
        EXPECT(strata_buffer_create(
                   logged, STRATA_BUFFER(.bytes = 10, .kind = STRATA_WRAPPED, .host_pointer = memory + 50), &twice),
               STRATA_INVALID_ARGUMENT, "wrapped already");
        CHECK(strata_read(own, strata_all(buffer), found));
        assert_memory_equal(found, memory + shift, 100);
        CHECK(strata_host_begin(own, strata_all(buffer), STRATA_MAP_READ_WRITE, &pointer));
        assert_ptr_equal(pointer, memory + shift);
        memset(memory + shift, 0x5a, 100);
        EXPECT(strata_write(own, strata_all(buffer), found), STRATA_BUSY, "bracketed");
        CHECK(strata_host_end(own, strata_all(buffer)));
        EXPECT(strata_host_end(own, strata_all(buffer)), STRATA_INVALID_ARGUMENT, "has begun");
        CHECK(strata_read(own, strata_all(buffer), found));
        assert_int_equal(found[99], 0x5a);
        if (shift) {
            assert_int_equal(strata_buffer_get_info(buffer)->zero_copy, STRATA_NO);
            assert_non_null(strstr(log.text, "not aligned"));
        }
        strata_buffer_destroy(&buffer);
    }
    free(memory);
    EXPECT(strata_check_alignment(logged, (void *)(uintptr_t)4097, 0), STRATA_INVALID_ARGUMENT, "aligned to 1 bytes");
    CHECK(strata_check_alignment(logged, (void *)(uintptr_t)65536, 65536));
    strata_device_close(&logged);
}

static void test_shared(void **state) {
    (void)state;
    uint32_t modes = strata_device_get_info(device)->shared_modes;
    for (int mode = STRATA_SHARED_MIRRORED; mode <= STRATA_SHARED_COHERENT; mode++) {
        strata_buffer *buffer = NULL;
        enum strata_status status = strata_buffer_create(
            device, STRATA_BUFFER(.bytes = 4096, .kind = STRATA_SHARED, .mode = (enum strata_shared_mode)mode),
            &buffer);
        if (!(modes & (1u << mode))) {
            EXPECT(status, STRATA_UNSUPPORTED, "shared memory");
            continue;
        }
        CHECK(status);
        unsigned char *pointer = NULL, found[4096];
        CHECK(strata_host_begin(queue, strata_all(buffer), STRATA_MAP_OVERWRITE, (void **)&pointer));
        contract_random(pointer, 4096, (uint64_t)mode);
        memcpy(found, pointer, 4096);
        if (mode != STRATA_SHARED_COHERENT)
            EXPECT(strata_fill(queue, strata_sub(strata_all(buffer), 4000, 96), "x", 1), STRATA_BUSY, "bracketed");
        CHECK(strata_host_end(queue, strata_all(buffer)));
        CHECK(strata_fill(queue, strata_sub(strata_all(buffer), 100, 100), "y", 1));
        memset(found + 100, 'y', 100);
        CHECK(strata_host_begin(queue, strata_all(buffer), STRATA_MAP_READ, (void **)&pointer));
        assert_ptr_equal(pointer, strata_buffer_get_info(buffer)->host_pointer);
        assert_memory_equal(pointer, found, 4096);
        CHECK(strata_host_end(queue, strata_all(buffer)));
        strata_buffer_destroy(&buffer);
    }
}

static void test_maps(void **state) {
    (void)state;
    unsigned char host[4096], *pointer = NULL, *other = NULL, stray = 0;
    strata_buffer *buffer = NULL, *pinned = NULL;
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = 4096, .name = "mapped"), &buffer));
    strata_slice all = strata_all(buffer), low = strata_sub(all, 0, 2048), high = strata_sub(all, 2048, 2048);
    contract_random(host, sizeof host, 1);
    CHECK(strata_write(queue, all, host));
    CHECK(strata_map(queue, low, STRATA_MAP_READ_WRITE, (void **)&pointer));
    assert_memory_equal(pointer, host, 2048);
    memset(pointer, 7, 2048);
    EXPECT(strata_map(queue, strata_sub(all, 2047, 2), STRATA_MAP_READ, (void **)&other), STRATA_BUSY,
           "mapped already");
    EXPECT(strata_read(queue, all, host), STRATA_BUSY, "mapped for the host");
    CHECK(strata_fill(queue, high, "z", 1)); /* another part */
    EXPECT(strata_unmap(queue, buffer, &stray), STRATA_INVALID_ARGUMENT, "not an open map");
    CHECK(strata_unmap(queue, buffer, pointer));
    EXPECT(strata_unmap(queue, buffer, pointer), STRATA_INVALID_ARGUMENT, "not an open map");
    CHECK(strata_read(queue, all, host));
    assert_int_equal(host[2047], 7);
    assert_int_equal(host[2048], 'z');
    CHECK(strata_map(queue, all, STRATA_MAP_READ, (void **)&pointer));
    CHECK(strata_map(queue, low, STRATA_MAP_READ, (void **)&other)); /* two readers */
    CHECK(strata_read(queue, all, host));
    EXPECT(strata_fill(queue, all, "z", 1), STRATA_BUSY, "mapped");
    CHECK(strata_unmap(queue, buffer, other));
    CHECK(strata_unmap(queue, buffer, pointer));
    EXPECT(strata_map(queue, strata_sub(all, 5, 0), STRATA_MAP_READ, (void **)&other), STRATA_INVALID_ARGUMENT,
           "empty");
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = 64, .kind = STRATA_PINNED), &pinned));
    EXPECT(strata_map(queue, strata_all(pinned), STRATA_MAP_READ, (void **)&other), STRATA_UNSUPPORTED, "host pointer");
    EXPECT(strata_host_begin(queue, all, STRATA_MAP_READ, NULL), STRATA_UNSUPPORTED, "no host pointer");
    strata_buffer_destroy(&pinned);
    CHECK(strata_map(queue, all, STRATA_MAP_OVERWRITE, (void **)&pointer));
    strata_buffer_destroy(&buffer); /* still mapped */
}

/* Giving back memory that queued work uses: the work is unharmed, and so is whoever gets memory next. */
static void test_destroy_in_flight(void **state) {
    (void)state;
    enum { BYTES = 1 << 16 };
    static unsigned char found[BYTES];
    struct strata_memory_stats stats = {.size = sizeof stats};
    struct contract_gate gate;
    strata_queue *second = NULL;
    strata_buffer *used = NULL, *result = NULL, *fresh = NULL;
    CHECK(strata_queue_create(device, NULL, &second));
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = BYTES, .name = "used"), &used));
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = BYTES, .name = "result"), &result));
    contract_gate_init(&gate);
    contract_gate_put(&gate, queue);
    CHECK(strata_fill_async(queue, strata_all(used), "a", 1, NULL));
    CHECK(strata_copy_async(queue, strata_all(result), strata_all(used), NULL));
    strata_buffer_destroy(&used);
    CHECK(strata_device_stats(device, &stats));
    assert_true(stats.pending_bytes >= BYTES);
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = BYTES, .name = "fresh"), &fresh));
    CHECK(strata_fill(second, strata_all(fresh), "b", 1));
    EXPECT(strata_fill_async(second, strata_all(result), "c", 1, NULL), STRATA_BUSY, "nothing orders");
    contract_gate_open(&gate);
    CHECK(strata_read(queue, strata_all(result), found));
    for (int i = 0; i < BYTES; i++)
        assert_int_equal(found[i], 'a');
    CHECK(strata_fill(second, strata_all(result), "c", 1)); /* done by now, and known to be */
    CHECK(strata_queue_finish(queue));
    contract_gate_release(&gate);
    strata_buffer_destroy(&fresh);
    strata_buffer_destroy(&result);
    strata_queue_destroy(&second);
    CHECK(strata_queue_finish(queue));
    CHECK(strata_device_stats(device, &stats));
    assert_int_equal(stats.pending_bytes, 0);
}

struct hooks {
    long live, total, fail_at;
};

static void *hook_allocate(size_t bytes, void *user) {
    struct hooks *hooks = user;
    if (__atomic_add_fetch(&hooks->total, 1, __ATOMIC_RELAXED) == hooks->fail_at)
        return NULL;
    __atomic_add_fetch(&hooks->live, 1, __ATOMIC_RELAXED);
    return malloc(bytes);
}

static void hook_release(void *pointer, void *user) {
    __atomic_sub_fetch(&((struct hooks *)user)->live, 1, __ATOMIC_RELAXED);
    free(pointer);
}

/* Each host allocation of a scenario fails once: a status and a sentence, and nothing is lost. */
static void test_failing_host_memory(void **state) {
    (void)state;
    struct hooks hooks = {0, 0, 0};
    struct strata_allocator allocator = {hook_allocate, hook_release, &hooks};
    bool all_done = false;
    for (long n = 1; !all_done && n < 200; n++) {
        hooks = (struct hooks){0, 0, n};
        strata_device *own = NULL;
        strata_buffer *buffer = NULL;
        uint32_t word = 5, found = 0;
        enum strata_status status = strata_device_open(NULL, STRATA_DEVICE_DESC(.allocator = &allocator), &own);
        if (status == STRATA_OK)
            status = strata_buffer_create(own, STRATA_BUFFER(.bytes = 64, .kind = STRATA_PINNED, .name = "x"), &buffer);
        if (status == STRATA_OK)
            status = strata_write(strata_device_queue(own), strata_sub(strata_all(buffer), 4, 4), &word);
        if (status == STRATA_OK)
            status = strata_read(strata_device_queue(own), strata_sub(strata_all(buffer), 4, 4), &found);
        all_done = status == STRATA_OK && hooks.total < n;
        if (status == STRATA_OK)
            assert_int_equal(found, 5);
        else
            assert_int_equal(status, STRATA_OUT_OF_MEMORY);
        strata_buffer_destroy(&buffer);
        strata_device_close(&own);
        assert_int_equal(hooks.live, 0);
    }
    assert_true(all_done);
}

static void test_leaks_and_statistics(void **state) {
    (void)state;
    struct contract_log log = {""};
    struct strata_memory_stats stats = {.size = sizeof stats};
    strata_device *own = contract_open_with(STRATA_DEVICE_DESC(.log = contract_log_line, .log_user = &log));
    strata_buffer *kept = NULL, *lost = NULL;
    CHECK(strata_buffer_create(own, STRATA_BUFFER(.bytes = 100, .name = "kept"), &kept));
    CHECK(strata_buffer_create(own, STRATA_BUFFER(.bytes = 200, .kind = STRATA_PINNED, .name = "lost"), &lost));
    CHECK(strata_device_stats(own, &stats));
    assert_int_equal(stats.live_bytes, 300);
    assert_int_equal(stats.kind[STRATA_PINNED].live_bytes, 200);
    strata_buffer_destroy(&kept);
    CHECK(strata_device_stats(own, &stats));
    assert_int_equal(stats.live_bytes, 200);
    assert_int_equal(stats.peak_bytes, 300);
    assert_int_equal(stats.kind[STRATA_DEVICE].total_buffers, 1);
    strata_device_close(&own);
    assert_non_null(strstr(log.text, "'lost' of 200 bytes"));
    assert_null(strstr(log.text, "kept"));
    strata_buffer_destroy(&lost); /* after its device */
}

static void test_flat_memory(void **state) {
    (void)state;
    int cycles = contract_is_slow(device) ? 300 : 2000;
    uint64_t before = 0;
    for (int i = 0; i < cycles; i++) {
        strata_buffer *buffer = NULL;
        strata_event *event = NULL;
        CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = 65536), &buffer));
        CHECK(strata_fill_async(queue, strata_all(buffer), "q", 1, &event));
        strata_buffer_destroy(&buffer);
        strata_event_destroy(&event);
        if (i % 50 == 0) /* so that there are never many in flight */
            CHECK(strata_queue_finish(queue));
        if (i == cycles / 2)
            before = contract_resident_bytes();
    }
    CHECK(strata_queue_finish(queue));
    assert_true(contract_resident_bytes() < before + (16u << 20));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_desc_sizes),
        cmocka_unit_test(test_wrapped),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_maps),
        cmocka_unit_test(test_destroy_in_flight),
        cmocka_unit_test(test_failing_host_memory),
        cmocka_unit_test(test_leaks_and_statistics),
        cmocka_unit_test(test_flat_memory),
    };
    device = contract_open();
    if (!device)
        return CONTRACT_SKIPPED;
    queue = strata_device_queue(device);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    strata_device_close(&device);
    return failed;
}
