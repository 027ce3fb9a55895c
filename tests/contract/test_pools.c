/* Pools: what they hand out, what they take from the runtime and give back, limits, and what they say of themselves. */
#include "contract.h"

#include "strata/pool.h"
#include "strata/transfer.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)

static strata_device *device;
static strata_queue *queue;

static strata_pool *make_pool(const struct strata_pool_desc *desc) {
    strata_pool *pool = NULL;
    CHECK(strata_pool_create(device, desc, &pool));
    return pool;
}

static strata_buffer *take(strata_pool *pool, uint64_t bytes, const char *name) {
    strata_buffer *buffer = NULL;
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = bytes, .pool = pool, .name = name), &buffer));
    return buffer;
}

static struct strata_pool_stats stats_of(strata_pool *pool) {
    struct strata_pool_stats stats = {.size = sizeof stats};
    CHECK(strata_pool_get_stats(pool, &stats));
    return stats;
}

static void fill(strata_buffer *buffer, uint32_t value) {
    CHECK(strata_fill(queue, strata_all(buffer), &value, sizeof value));
}

/* The first and the last word are `value`. */
static void expect(strata_buffer *buffer, uint32_t value) {
    uint64_t bytes = strata_buffer_get_info(buffer)->bytes;
    uint32_t found[2] = {~value, ~value};
    CHECK(strata_read(queue, strata_sub(strata_all(buffer), 0, 4), &found[0]));
    CHECK(strata_read(queue, strata_sub(strata_all(buffer), bytes - 4, 4), &found[1]));
    assert_int_equal(found[0], value);
    assert_int_equal(found[1], value);
}

static void test_default_pools(void **state) {
    (void)state;
    strata_pool *pool = strata_device_pool(device, STRATA_DEVICE);
    if (contract_is_slow(device)) { /* Oclgrind sees accesses beyond a buffer only when it has memory of its own */
        assert_null(pool);
        return;
    }
    assert_non_null(pool);
    assert_ptr_equal(pool, strata_device_pool(device, STRATA_DEVICE));
    assert_non_null(strata_device_pool(device, STRATA_PINNED));
    assert_null(strata_device_pool(device, STRATA_WRAPPED));
    struct strata_pool_stats before = stats_of(pool), now;
    strata_buffer *pooled = NULL, *own = NULL;
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = 1000), &pooled));
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = 1000, .dedicated = true), &own));
    now = stats_of(pool);
    assert_int_equal(now.live_buffers, before.live_buffers + 1);
    assert_int_equal(now.live_bytes, before.live_bytes + 1000);
    assert_in_range(now.given_bytes - before.given_bytes, 1000, 4096);
    assert_true(now.reserved_bytes >= now.given_bytes);
    strata_buffer_destroy(&pooled);
    strata_buffer_destroy(&own);
    strata_pool *handle = pool;
    strata_pool_destroy(&handle); /* the device's own: nothing happens */
    assert_ptr_equal(handle, pool);
    CHECK(strata_pool_validate(pool));
}

static void test_reuse(void **state) {
    (void)state;
    strata_pool *pool = make_pool(STRATA_POOL(.name = "reuse"));
    strata_buffer *first = take(pool, 10000, "first"), *second = take(pool, 10000, "second");
    fill(first, 1);
    fill(second, 2);
    expect(first, 1);
    expect(second, 2);
    uint64_t reserved = stats_of(pool).reserved_bytes;
    for (int i = 0; i < 100; i++) {
        strata_buffer_destroy(&first);
        first = take(pool, 10000 - (uint64_t)i % 16, i % 2 ? "odd" : NULL);
        assert_int_equal(strata_buffer_get_info(first)->bytes, 10000 - i % 16);
        assert_string_equal(strata_buffer_get_info(first)->name, i % 2 ? "odd" : "");
    }
    struct strata_pool_stats stats = stats_of(pool);
    assert_int_equal(stats.reserved_bytes, reserved);
    assert_int_equal(stats.reused_buffers, 100);
    assert_int_equal(stats.total_buffers, 102);
    assert_int_equal(stats.peak_bytes, 20000);
    expect(second, 2);
    strata_buffer_destroy(&first);
    strata_buffer_destroy(&second);
    CHECK(strata_pool_validate(pool));
    assert_int_equal(stats_of(pool).live_bytes, 0);
    strata_pool_destroy(&pool);
    assert_null(pool);
}

/* Every size from nothing to a megabyte, each with contents of its own, all aligned. */
static void test_sizes(void **state) {
    (void)state;
    static const uint64_t sizes[] = {4, 8, 8, 252, 256, 260, 4096, 1 * KIB, 64 * KIB, 1 * MIB, 1 * MIB + 4};
    enum { COUNT = sizeof sizes / sizeof sizes[0] };
    strata_pool *pool = make_pool(NULL);
    strata_buffer *buffers[COUNT], *empty = take(pool, 0, "empty");
    for (uint32_t i = 0; i < COUNT; i++) {
        buffers[i] = take(pool, sizes[i], NULL);
        fill(buffers[i], i + 1);
        assert_true(strata_buffer_get_info(buffers[i])->alignment >= strata_device_get_info(device)->base_alignment);
    }
    for (uint32_t i = 0; i < COUNT; i++)
        expect(buffers[i], i + 1);
    CHECK(strata_pool_validate(pool));
    for (uint32_t i = 0; i < COUNT; i++)
        strata_buffer_destroy(&buffers[i]);
    strata_buffer_destroy(&empty);
    strata_buffer *none = NULL;
    EXPECT(strata_buffer_create(device, STRATA_BUFFER(.bytes = UINT64_C(1) << 50, .pool = pool), &none),
           STRATA_TOO_LARGE, "1125899906842624");
    CHECK(strata_pool_validate(pool));
    strata_pool_destroy(&pool);
}

/* What is promised to the runtime about a piece is not forgotten when it is handed out again. */
static void test_access_is_part_of_the_key(void **state) {
    (void)state;
    static const enum strata_access kinds[] = {STRATA_READ_WRITE, STRATA_READ_ONLY, STRATA_WRITE_ONLY};
    strata_pool *pool = make_pool(NULL);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 3; i++) {
            strata_buffer *buffer = NULL;
            CHECK(
                strata_buffer_create(device, STRATA_BUFFER(.bytes = 4096, .pool = pool, .access = kinds[i]), &buffer));
            assert_int_equal(strata_buffer_get_info(buffer)->access, kinds[i]);
            fill(buffer, 7);
            strata_buffer_destroy(&buffer);
        }
    assert_int_equal(stats_of(pool).reused_buffers, 6); /* each kind its own, from the second round on */
    strata_pool_destroy(&pool);
}

static void test_wrong_arguments(void **state) {
    (void)state;
    strata_pool *pool = NULL, *good = make_pool(STRATA_POOL(.name = "good"));
    strata_buffer *buffer = NULL;
    EXPECT(strata_pool_create(device, NULL, NULL), STRATA_INVALID_ARGUMENT, "place for the pool");
    EXPECT(strata_pool_create(NULL, NULL, &pool), STRATA_INVALID_ARGUMENT, "device");
    EXPECT(strata_pool_create(device, STRATA_POOL(.kind = STRATA_WRAPPED), &pool), STRATA_INVALID_ARGUMENT, "DEVICE");
    EXPECT(strata_pool_create(device, STRATA_POOL(.limit_bytes = MIB, .initial_bytes = 2 * MIB), &pool),
           STRATA_INVALID_ARGUMENT, "2097152");
    EXPECT(strata_pool_create(device, STRATA_POOL(.initial_bytes = UINT64_C(1) << 50), &pool), STRATA_TOO_LARGE,
           "block");
    assert_null(pool);
    EXPECT(strata_buffer_create(device, STRATA_BUFFER(.bytes = 4, .kind = STRATA_PINNED, .pool = good), &buffer),
           STRATA_INVALID_ARGUMENT, "'good' is for another kind");
    EXPECT(strata_buffer_create(device, STRATA_BUFFER(.bytes = 4, .dedicated = true, .pool = good), &buffer),
           STRATA_INVALID_ARGUMENT, "dedicated");
    EXPECT(strata_pool_trim(NULL, 0, NULL), STRATA_INVALID_ARGUMENT, "NULL");
    struct strata_pool_stats stats = {.size = 0};
    EXPECT(strata_pool_get_stats(good, &stats), STRATA_INVALID_ARGUMENT, "size");
    EXPECT(strata_pool_get_stats(NULL, &stats), STRATA_INVALID_ARGUMENT, "NULL");
    strata_device *other = contract_open_with(NULL);
    EXPECT(strata_buffer_create(other, STRATA_BUFFER(.bytes = 4, .pool = good), &buffer), STRATA_INVALID_ARGUMENT,
           "'good' is of device");
    strata_device_close(&other);
    assert_null(buffer);
    strata_pool_destroy(&pool);
    strata_pool_destroy(NULL);
    strata_pool_destroy(&good);
}

/* Up to the last byte of the limit, whatever the rounding, and then a sentence that names who has it. */
static void test_limit(void **state) {
    (void)state;
    strata_pool *pool = make_pool(STRATA_POOL(.name = "bounded", .limit_bytes = 16 * MIB, .block_bytes = MIB));
    strata_buffer *half[2] = {take(pool, 8 * MIB, "one"), take(pool, 8 * MIB, "two")}, *more = NULL;
    assert_int_equal(stats_of(pool).reserved_bytes, 16 * MIB);
    fill(half[0], 1);
    fill(half[1], 2);
    EXPECT(strata_buffer_create(device, STRATA_BUFFER(.bytes = 4, .pool = pool), &more), STRATA_OUT_OF_MEMORY,
           "'bounded'");
    const char *sentence = strata_last_error()->message;
    assert_non_null(strstr(sentence, "'one' (8 MiB)"));
    assert_non_null(strstr(sentence, "'two' (8 MiB)"));
    assert_non_null(strstr(sentence, "16777216"));
    assert_null(more);
    assert_int_equal(stats_of(pool).failed, 1);
    CHECK(strata_pool_validate(pool));
    expect(half[0], 1);
    expect(half[1], 2);
    strata_buffer_destroy(&half[0]);
    more = take(pool, 4, "small"); /* what is kept for its size is given up for another one */
    strata_buffer_destroy(&more);
    strata_buffer_destroy(&half[1]);
    CHECK(strata_pool_validate(pool));
    strata_pool_destroy(&pool);
}

/* Enough is free, in pieces that are kept for other sizes: they are given up, merged and found (cupy#7678). */
static void test_limit_with_small_pieces(void **state) {
    (void)state;
    enum { COUNT = 64 };
    strata_pool *pool = make_pool(STRATA_POOL(.limit_bytes = 4 * MIB, .block_bytes = 4 * MIB,
                                              .max_block_bytes = 4 * MIB, .dedicated_bytes = 8 * MIB));
    strata_buffer *small[COUNT];
    for (int i = 0; i < COUNT; i++)
        small[i] = take(pool, 64 * KIB, "small");
    for (int i = 0; i < COUNT; i++)
        strata_buffer_destroy(&small[i]);
    strata_buffer *large = take(pool, 4 * MIB, "large");
    fill(large, 3);
    expect(large, 3);
    assert_int_equal(stats_of(pool).blocks, 1);
    strata_buffer_destroy(&large);
    for (int i = 0; i < COUNT; i++)
        small[i] = take(pool, 64 * KIB - 256, "small");
    CHECK(strata_pool_validate(pool));
    for (int i = 0; i < COUNT; i++)
        strata_buffer_destroy(&small[i]);
    strata_pool_destroy(&pool);
}

struct victim {
    strata_buffer *buffer;
    unsigned calls;
    bool again;
};

static bool give_up(strata_pool *pool, uint64_t bytes, void *user) {
    struct victim *victim = user;
    assert_non_null(pool);
    assert_int_equal(bytes, 2 * MIB);
    victim->calls++;
    strata_buffer_destroy(&victim->buffer);
    return victim->again;
}

static void test_exhausted(void **state) {
    (void)state;
    struct victim victim = {.again = true};
    strata_pool *pool = make_pool(STRATA_POOL(.limit_bytes = 2 * MIB, .exhausted = give_up, .exhausted_user = &victim));
    victim.buffer = take(pool, 2 * MIB, "victim");
    strata_buffer *buffer = take(pool, 2 * MIB, "heir"), *none = NULL;
    assert_int_equal(victim.calls, 1);
    assert_null(victim.buffer);
    victim.again = false;
    EXPECT(strata_buffer_create(device, STRATA_BUFFER(.bytes = 2 * MIB, .pool = pool), &none), STRATA_OUT_OF_MEMORY,
           "'heir'");
    assert_int_equal(victim.calls, 2);
    strata_buffer_destroy(&buffer);
    strata_pool_destroy(&pool);
}

static void test_trim(void **state) {
    (void)state;
    strata_pool *pool = make_pool(STRATA_POOL(.block_bytes = MIB, .initial_bytes = MIB, .dedicated_bytes = 2 * MIB));
    assert_int_equal(stats_of(pool).reserved_bytes, MIB);
    strata_buffer *small = take(pool, 1000, "small"), *large = take(pool, 3 * MIB, "large");
    assert_int_equal(stats_of(pool).reserved_bytes, 4 * MIB);
    assert_int_equal(stats_of(pool).dedicated_blocks, 1);
    strata_buffer_destroy(&large);
    large = take(pool, 3 * MIB, "large");
    assert_int_equal(stats_of(pool).grown, 2); /* memory of its own is kept, too */
    uint64_t freed = 99;
    CHECK(strata_pool_trim(pool, 0, &freed));
    assert_int_equal(freed, 0);
    strata_buffer_destroy(&large);
    CHECK(strata_pool_trim(pool, 3 * MIB, &freed));
    assert_int_equal(freed, 0);
    CHECK(strata_pool_trim(pool, 3 * MIB - 1, &freed));
    assert_int_equal(freed, 3 * MIB);
    strata_buffer_destroy(&small);
    CHECK(strata_pool_trim(pool, 0, &freed));
    assert_int_equal(freed, MIB);
    assert_int_equal(stats_of(pool).reserved_bytes, 0);
    assert_int_equal(stats_of(pool).trimmed, 2);
    small = take(pool, 1000, "small");
    fill(small, 5);
    expect(small, 5);
    strata_buffer_destroy(&small);
    CHECK(strata_pool_validate(pool));
    strata_pool_destroy(&pool);
}

/* Memory that one pool has and does not use serves another one of the device when there is no more. */
static void test_device_limit(void **state) {
    (void)state;
    strata_device *bounded = contract_open_with(STRATA_DEVICE_DESC(.memory_limit = 8 * MIB));
    strata_pool *a = NULL, *b = NULL;
    strata_buffer *buffer = NULL, *more = NULL;
    CHECK(strata_pool_create(bounded, STRATA_POOL(.name = "a"), &a));
    CHECK(strata_pool_create(bounded, STRATA_POOL(.name = "b"), &b));
    CHECK(strata_buffer_create(bounded, STRATA_BUFFER(.bytes = 6 * MIB, .pool = a), &buffer));
    EXPECT(strata_buffer_create(bounded, STRATA_BUFFER(.bytes = 6 * MIB, .pool = b), &more), STRATA_OUT_OF_MEMORY,
           "8388608");
    EXPECT(strata_buffer_create(bounded, STRATA_BUFFER(.bytes = 6 * MIB, .dedicated = true), &more),
           STRATA_OUT_OF_MEMORY, "limit");
    strata_buffer_destroy(&buffer);
    CHECK(strata_buffer_create(bounded, STRATA_BUFFER(.bytes = 6 * MIB, .pool = b), &more));
    strata_buffer_destroy(&more);
    CHECK(strata_buffer_create(bounded, STRATA_BUFFER(.bytes = 8 * MIB, .dedicated = true), &more));
    strata_buffer_destroy(&more);
    strata_pool_destroy(&a);
    strata_pool_destroy(&b);
    strata_device_close(&bounded);
}

/* Random sizes, random order; every buffer keeps what was written to it. */
static void test_random(void **state) {
    (void)state;
    enum { MOST = 100 };
    bool slow = contract_is_slow(device);
    uint64_t seed = 20260101, limit = slow ? 64 * KIB : 5 * MIB;
    strata_pool *pool = make_pool(NULL);
    strata_buffer *live[MOST];
    uint32_t values[MOST];
    unsigned count = 0;
    for (uint32_t i = 0; i < (slow ? 300u : 2000u); i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        unsigned choice = (unsigned)(seed >> 33);
        if (count < MOST && (count == 0 || choice % 100 < 60)) {
            uint64_t bytes = ((seed >> 20) % limit + 4) & ~UINT64_C(3);
            if (choice % 7)
                bytes = (bytes % 4096 + 4) & ~UINT64_C(3);
            live[count] = take(pool, bytes, NULL);
            values[count] = i;
            fill(live[count], i);
            count++;
        } else {
            unsigned victim = choice % count;
            expect(live[victim], values[victim]);
            strata_buffer_destroy(&live[victim]);
            live[victim] = live[--count];
            values[victim] = values[count];
        }
        if (i % 50 == 0)
            CHECK(strata_pool_validate(pool));
    }
    while (count)
        strata_buffer_destroy(&live[--count]);
    CHECK(strata_pool_validate(pool));
    CHECK(strata_pool_trim(pool, 0, NULL));
    assert_int_equal(stats_of(pool).reserved_bytes, 0);
    strata_pool_destroy(&pool);
}

/* A pool that is given back lives as long as its buffers do; a device that closes, too. */
static void test_buffers_outlive(void **state) {
    (void)state;
    static struct contract_log log;
    memset(&log, 0, sizeof log);
    strata_pool *pool = make_pool(NULL);
    strata_buffer *buffers[2] = {take(pool, 4096, "a"), take(pool, 3 * MIB, "b")};
    strata_pool_destroy(&pool);
    fill(buffers[0], 1);
    fill(buffers[1], 2);
    expect(buffers[0], 1);
    expect(buffers[1], 2);
    strata_buffer_destroy(&buffers[0]);
    expect(buffers[1], 2);
    strata_buffer_destroy(&buffers[1]);

    strata_device *other = contract_open_with(STRATA_DEVICE_DESC(.log = contract_log_line, .log_user = &log));
    strata_buffer *left[2] = {NULL}, *site = NULL;
    CHECK(strata_pool_create(other, NULL, &pool));
    CHECK(strata_buffer_create(other, STRATA_BUFFER(.bytes = 4096, .name = "forgotten"), &left[0]));
    CHECK(strata_buffer_create(other, STRATA_BUFFER(.bytes = 4096, .name = "of a pool", .pool = pool), &left[1]));
    CHECK(strata_buffer_create(other, STRATA_BUFFER(.bytes = 4096, .site = STRATA_HERE), &site));
    strata_device_close(&other);
    assert_non_null(strstr(log.text, "'forgotten'"));
    assert_non_null(strstr(log.text, "'of a pool'"));
    assert_non_null(strstr(log.text, "test_pools.c:"));
    strata_buffer_destroy(&site);
    strata_buffer_destroy(&left[0]);
    strata_buffer_destroy(&left[1]);
    strata_pool_destroy(&pool);
}

static void test_scopes(void **state) {
    (void)state;
    struct strata_scope_stats inner = {.size = sizeof inner}, outer = inner;
    strata_buffer *first = NULL, *second = NULL;
    EXPECT(strata_device_stats_pop(device, NULL), STRATA_INVALID_ARGUMENT, "push");
    CHECK(strata_device_stats_push(device));
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = 1000), &first));
    CHECK(strata_device_stats_push(device));
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = 300), &second));
    strata_buffer_destroy(&second);
    strata_buffer_destroy(&first);
    CHECK(strata_device_stats_pop(device, &inner));
    assert_true(inner.net_bytes == -1000); /* what began outside ended in here */
    assert_true(inner.net_buffers == -1);
    assert_int_equal(inner.peak_bytes, 300);
    assert_int_equal(inner.created, 1);
    assert_int_equal(inner.destroyed, 2);
    CHECK(strata_device_stats_pop(device, &outer));
    assert_true(outer.net_bytes == 0);
    assert_int_equal(outer.peak_bytes, 1300);
    assert_int_equal(outer.created, 2);
    assert_int_equal(outer.destroyed, 2);
    CHECK(strata_device_stats_push(device)); /* one that is never ended is no leak */
}

/* Where memory is the host's, a block that cannot be there fails when it is asked for. */
static void test_commit(void **state) {
    (void)state;
    const struct strata_device_info *info = strata_device_get_info(device);
    strata_pool *pool = make_pool(NULL), *lazy = make_pool(STRATA_POOL(.no_commit = true));
    strata_buffer *buffer = take(pool, 4096, NULL), *other = take(lazy, 4096, NULL);
    if (info->type == STRATA_DEVICE_CPU)
        assert_int_equal(stats_of(pool).commit_effective, STRATA_YES);
    assert_int_equal(stats_of(lazy).commit_effective, STRATA_NOT_KNOWN);
    strata_buffer_destroy(&buffer);
    strata_buffer_destroy(&other);
    strata_pool_destroy(&pool);
    strata_pool_destroy(&lazy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_pools),
        cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_access_is_part_of_the_key),
        cmocka_unit_test(test_wrong_arguments),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_limit_with_small_pieces),
        cmocka_unit_test(test_exhausted),
        cmocka_unit_test(test_trim),
        cmocka_unit_test(test_device_limit),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_buffers_outlive),
        cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_commit),
    };
    device = contract_open();
    if (!device)
        return CONTRACT_SKIPPED;
    queue = strata_device_queue(device);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    strata_device_close(&device);
    return failed;
}
