/* Pools of PINNED and SHARED memory, plain memory in the place of pinned memory, and arenas. */
#include "contract.h"

#include "strata/pool.h"
#include "strata/transfer.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)

static strata_device *device;
static strata_queue *queue;

static struct strata_pool_stats stats_of(strata_pool *pool) {
    struct strata_pool_stats stats = {.size = sizeof stats};
    CHECK(strata_pool_get_stats(pool, &stats));
    return stats;
}

/* Writes through the host pointer, copies to the device and back to another piece, on two sizes. */
static void round_trip(strata_device *on, const struct strata_buffer_desc *desc) {
    strata_queue *own = strata_device_queue(on);
    strata_buffer *from = NULL, *to = NULL, *middle = NULL;
    CHECK(strata_buffer_create(on, desc, &from));
    CHECK(strata_buffer_create(on, desc, &to));
    CHECK(strata_buffer_create(on, STRATA_BUFFER(.bytes = desc->bytes), &middle));
    unsigned char *source = strata_buffer_get_info(from)->host_pointer;
    unsigned char *target = strata_buffer_get_info(to)->host_pointer;
    assert_non_null(source);
    assert_non_null(target);
    assert_int_equal((uintptr_t)source % 256, 0);
    contract_random(source, (size_t)desc->bytes, desc->bytes);
    memset(target, 0, (size_t)desc->bytes);
    CHECK(strata_copy_async(own, strata_all(middle), strata_all(from), NULL));
    CHECK(strata_copy(own, strata_all(to), strata_all(middle)));
    assert_memory_equal(source, target, (size_t)desc->bytes);
    strata_buffer_destroy(&from);
    strata_buffer_destroy(&to);
    strata_buffer_destroy(&middle);
}

static void test_pinned(void **state) {
    (void)state;
    strata_pool *pool = NULL;
    CHECK(strata_pool_create(device, STRATA_POOL(.kind = STRATA_PINNED, .name = "staging"), &pool));
    for (int i = 0; i < 10; i++) {
        round_trip(device, STRATA_BUFFER(.bytes = 5000, .kind = STRATA_PINNED, .pool = pool));
        round_trip(device, STRATA_BUFFER(.bytes = MIB + 1, .kind = STRATA_PINNED, .pool = pool));
    }
    assert_int_equal(stats_of(pool).fell_back, 0);
    CHECK(strata_pool_validate(pool));
    strata_pool_destroy(&pool);
    round_trip(device, STRATA_BUFFER(.bytes = 100, .kind = STRATA_PINNED)); /* the device's own pool */
}

/* The host may write to it at once, so it is not handed out while a copy still reads it. */
static void test_pinned_in_use_is_not_reused(void **state) {
    (void)state;
    strata_pool *pool = NULL;
    strata_buffer *pinned = NULL, *target = NULL, *next = NULL;
    struct contract_gate gate;
    unsigned char found[4096];
    CHECK(strata_pool_create(device, STRATA_POOL(.kind = STRATA_PINNED), &pool));
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = 4096, .kind = STRATA_PINNED, .pool = pool), &pinned));
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = 4096), &target));
    unsigned char *memory = strata_buffer_get_info(pinned)->host_pointer;
    memset(memory, 1, 4096);
    contract_gate_init(&gate);
    contract_gate_put(&gate, queue);
    CHECK(strata_copy_async(queue, strata_all(target), strata_all(pinned), NULL));
    strata_buffer_destroy(&pinned);
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = 4096, .kind = STRATA_PINNED, .pool = pool), &next));
    assert_ptr_not_equal(strata_buffer_get_info(next)->host_pointer, memory);
    memset(strata_buffer_get_info(next)->host_pointer, 2, 4096);
    contract_gate_open(&gate);
    CHECK(strata_read(queue, strata_all(target), found));
    assert_int_equal(found[0], 1);
    assert_int_equal(found[4095], 1);
    strata_buffer_destroy(&next);
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = 4096, .kind = STRATA_PINNED, .pool = pool), &next));
    strata_buffer_destroy(&next);
    strata_buffer_destroy(&target);
    contract_gate_release(&gate);
    CHECK(strata_pool_validate(pool));
    strata_pool_destroy(&pool);
}

/* When no more may be pinned, plain memory takes its place: that is told, and everything works the same (john#5845). */
static void test_pinned_falls_back(void **state) {
    (void)state;
    static struct contract_log log;
    memset(&log, 0, sizeof log);
    strata_device *bounded =
        contract_open_with(STRATA_DEVICE_DESC(.pinned_limit = 64 * KIB, .log = contract_log_line, .log_user = &log));
    strata_pool *pool = NULL;
    strata_buffer *plain = NULL, *none = NULL;
    CHECK(strata_pool_create(bounded, STRATA_POOL(.kind = STRATA_PINNED), &pool));
    EXPECT(strata_buffer_create(
               bounded, STRATA_BUFFER(.bytes = MIB, .kind = STRATA_PINNED, .pool = pool, .pinned_or_nothing = true),
               &none),
           STRATA_OUT_OF_MEMORY, "65536");
    EXPECT(strata_buffer_create(
               bounded,
               STRATA_BUFFER(.bytes = MIB, .kind = STRATA_PINNED, .dedicated = true, .pinned_or_nothing = true), &none),
           STRATA_OUT_OF_MEMORY, "65536");
    assert_int_equal(strlen(log.text), 0);
    for (int i = 0; i < 3; i++) {
        round_trip(bounded, STRATA_BUFFER(.bytes = MIB, .kind = STRATA_PINNED, .pool = pool));
        round_trip(bounded, STRATA_BUFFER(.bytes = MIB, .kind = STRATA_PINNED, .dedicated = true));
    }
    CHECK(strata_buffer_create(bounded, STRATA_BUFFER(.bytes = MIB, .kind = STRATA_PINNED, .pool = pool), &plain));
    assert_int_equal(strata_buffer_get_info(plain)->pinned, STRATA_NO);
    unsigned char byte = 9;
    CHECK(strata_fill(strata_device_queue(bounded), strata_all(plain), &byte, 1));
    assert_int_equal(((unsigned char *)strata_buffer_get_info(plain)->host_pointer)[MIB - 1], 9);
    EXPECT(strata_buffer_create(
               bounded, STRATA_BUFFER(.bytes = MIB, .kind = STRATA_PINNED, .pool = pool, .pinned_or_nothing = true),
               &none),
           STRATA_OUT_OF_MEMORY, "65536");
    strata_buffer_destroy(&plain);
    assert_true(stats_of(pool).fell_back >= 7);
    const char *told = strstr(log.text, "plain host memory");
    assert_non_null(told);
    assert_null(strstr(told + 1, "plain host memory")); /* once is enough */
    CHECK(strata_pool_validate(pool));
    strata_pool_destroy(&pool);
    strata_device_close(&bounded);
}

static void test_shared(void **state) {
    (void)state;
    const struct strata_device_info *info = strata_device_get_info(device);
    strata_pool *pool = NULL;
    if (!(info->shared_modes & (1u << STRATA_SHARED_MAPPED | 1u << STRATA_SHARED_COHERENT))) {
        EXPECT(strata_pool_create(device, STRATA_POOL(.kind = STRATA_SHARED), &pool), STRATA_UNSUPPORTED, "MIRRORED");
        return;
    }
    CHECK(strata_pool_create(device, STRATA_POOL(.kind = STRATA_SHARED), &pool));
    strata_buffer *buffers[8] = {NULL};
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 8; i++) {
            void *pointer = NULL;
            CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = 4096, .kind = STRATA_SHARED, .pool = pool),
                                       &buffers[i]));
            CHECK(strata_host_begin(queue, strata_all(buffers[i]), STRATA_MAP_WRITE, &pointer));
            assert_ptr_equal(pointer, strata_buffer_get_info(buffers[i])->host_pointer);
            for (int k = 0; k < 1024; k++)
                ((uint32_t *)pointer)[k] = i + round;
            CHECK(strata_host_end(queue, strata_all(buffers[i])));
        }
        for (uint32_t i = 0; i < 8; i++) {
            uint32_t found[1024];
            CHECK(strata_read(queue, strata_all(buffers[i]), found));
            assert_int_equal(found[0], i + round);
            assert_int_equal(found[1023], i + round);
            strata_buffer_destroy(&buffers[i]);
        }
    }
    CHECK(strata_pool_validate(pool));
    strata_pool_destroy(&pool);
}

static void test_device_arena(void **state) {
    (void)state;
    strata_arena *arena = NULL;
    uint64_t used = 0, peak = 0, alignment = strata_device_get_info(device)->base_alignment;
    CHECK(strata_arena_create(queue, STRATA_ARENA(.bytes = 64 * KIB, .name = "frame"), &arena));
    for (uint32_t frame = 0; frame < 5; frame++) {
        strata_slice a, b, c = {0};
        CHECK(strata_arena_allocate(arena, 1000, 0, &a));
        CHECK(strata_arena_allocate(arena, 3000, 128, &b));
        assert_int_equal(a.offset, 0);
        assert_int_equal(b.offset % alignment, 0);
        assert_true(b.offset >= 1000 && b.offset % 128 == 0);
        CHECK(strata_fill_async(queue, a, &frame, sizeof frame, NULL));
        CHECK(strata_fill_async(queue, b, &frame, sizeof frame, NULL));
        EXPECT(strata_arena_allocate(arena, 64 * KIB, 0, &c), STRATA_OUT_OF_MEMORY, "65536");
        assert_null(c.buffer);
        CHECK(strata_arena_allocate(arena, 64 * KIB - b.offset - 3072, 0, &c));
        uint32_t found = 99;
        CHECK(strata_read(queue, strata_sub(b, 2996, 4), &found));
        assert_int_equal(found, frame);
        CHECK(strata_arena_reset(arena));
        strata_arena_usage(arena, &used, &peak);
        assert_int_equal(used, 0);
        assert_true(peak > 60 * KIB && peak <= 64 * KIB);
    }
    strata_slice slice;
    strata_arena *none = NULL;
    EXPECT(strata_arena_allocate(arena, 4, 3, &slice), STRATA_INVALID_ARGUMENT, "power");
    EXPECT(strata_arena_allocate(arena, 4, UINT64_C(1) << 40, &slice), STRATA_INVALID_ARGUMENT, "power");
    EXPECT(strata_arena_create(queue, STRATA_ARENA(.bytes = 0), &none), STRATA_INVALID_ARGUMENT, "0 bytes");
    EXPECT(strata_arena_create(queue, STRATA_ARENA(.bytes = 9, .kind = STRATA_SHARED), &none), STRATA_INVALID_ARGUMENT,
           "PINNED");
    strata_arena_destroy(&arena);
}

/* The host writes each frame's data while copies of earlier frames may still read theirs. */
static void test_pinned_arena(void **state) {
    (void)state;
    enum { FRAMES = 50, PART = 3000 };
    strata_arena *arena = NULL;
    strata_buffer *target = NULL;
    static unsigned char found[FRAMES * PART];
    CHECK(strata_arena_create(queue, STRATA_ARENA(.bytes = 8 * KIB, .kind = STRATA_PINNED), &arena));
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = FRAMES * PART), &target));
    for (unsigned frame = 0; frame < FRAMES; frame++) {
        strata_slice slice;
        CHECK(strata_arena_allocate(arena, PART, 0, &slice));
        unsigned char *host = strata_buffer_get_info(slice.buffer)->host_pointer;
        memset(host + slice.offset, (int)frame + 1, PART);
        CHECK(strata_copy_async(queue, strata_sub(strata_all(target), frame * PART, PART), slice, NULL));
        CHECK(strata_arena_reset(arena));
    }
    CHECK(strata_read(queue, strata_all(target), found));
    for (unsigned frame = 0; frame < FRAMES; frame++) {
        assert_int_equal(found[frame * PART], frame + 1);
        assert_int_equal(found[frame * PART + PART - 1], frame + 1);
    }
    strata_arena_destroy(&arena);
    assert_null(arena);
    strata_arena_destroy(&arena);
    strata_buffer_destroy(&target);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pinned),
        cmocka_unit_test(test_pinned_in_use_is_not_reused),
        cmocka_unit_test(test_pinned_falls_back),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_device_arena),
        cmocka_unit_test(test_pinned_arena),
    };
    device = contract_open();
    if (!device)
        return CONTRACT_SKIPPED;
    queue = strata_device_queue(device);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    strata_device_close(&device);
    return failed;
}
