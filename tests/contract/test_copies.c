/* Copies, fills and boxes of every kind of memory against the same done in host memory. */
#include "contract.h"

#include "strata/transfer.h"

#define BYTES 9000

static strata_device *device;
static strata_queue *queue;

static strata_buffer *create(uint64_t bytes, enum strata_kind kind) {
    strata_buffer *buffer = NULL;
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = bytes, .kind = kind, .name = "copied"), &buffer));
    return buffer;
}

static uint64_t next(uint64_t *state, uint64_t below) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state % below;
}

static void assert_equal(strata_buffer *buffer, const unsigned char *expected, size_t bytes) {
    unsigned char *found = malloc(bytes);
    assert_non_null(found);
    CHECK(strata_read(queue, strata_all(buffer), found));
    assert_memory_equal(found, expected, bytes);
    free(found);
}

/* Random parts between two buffers, of all pairs of kinds, against the same copies in host memory. */
static void test_pairs(void **state) {
    (void)state;
    static const enum strata_kind kinds[] = {STRATA_DEVICE, STRATA_PINNED, STRATA_SHARED};
    uint64_t seed = 7;
    for (int pair = 0; pair < 9; pair++) {
        static unsigned char mirror[2][BYTES];
        strata_buffer *buffers[] = {create(BYTES, kinds[pair / 3]), create(BYTES, kinds[pair % 3])};
        for (int i = 0; i < 2; i++) {
            contract_random(mirror[i], BYTES, (uint64_t)pair * 2 + (uint64_t)i);
            CHECK(strata_write(queue, strata_all(buffers[i]), mirror[i]));
        }
        for (int round = 0; round < 20; round++) {
            int to = (int)next(&seed, 2), from = (int)next(&seed, 2);
            uint64_t bytes = next(&seed, BYTES), to_at = next(&seed, BYTES - bytes),
                     from_at = next(&seed, BYTES - bytes);
            memmove(mirror[to] + to_at, mirror[from] + from_at, bytes);
            CHECK(strata_copy_async(queue, strata_sub(strata_all(buffers[to]), to_at, bytes),
                                    strata_sub(strata_all(buffers[from]), from_at, bytes), NULL));
        }
        for (int i = 0; i < 2; i++) {
            assert_equal(buffers[i], mirror[i], BYTES);
            strata_buffer_destroy(&buffers[i]);
        }
    }
}

/* Overlaps, near and so far that the copy goes in pieces of the distance. */
static void test_overlaps(void **state) {
    (void)state;
    enum { TOTAL = 5 << 20 };
    static const uint64_t cases[][3] = {{0, 3, 6},
                                        {3, 0, 6},
                                        {1000, 1001, 70000},
                                        {70001, 3, 100000},
                                        {0, (1 << 20) + 5, 3 << 20},
                                        {(1 << 20) + 5, 1, 3 << 20}};
    unsigned char *mirror = malloc(TOTAL);
    assert_non_null(mirror);
    strata_buffer *buffer = create(TOTAL, STRATA_DEVICE);
    contract_random(mirror, TOTAL, 5);
    CHECK(strata_write(queue, strata_all(buffer), mirror));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memmove(mirror + cases[i][0], mirror + cases[i][1], cases[i][2]);
        CHECK(strata_copy(queue, strata_sub(strata_all(buffer), cases[i][0], cases[i][2]),
                          strata_sub(strata_all(buffer), cases[i][1], cases[i][2])));
        assert_equal(buffer, mirror, TOTAL);
    }
    strata_slice whole = strata_all(buffer);
    CHECK(strata_copy(queue, whole, whole));
    strata_buffer_destroy(&buffer);
    free(mirror);
    unsigned char digits[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, expected[] = {4, 5, 6, 7, 8, 9, 7, 8, 9};
    buffer = create(sizeof digits, STRATA_DEVICE);
    CHECK(strata_write(queue, strata_all(buffer), digits));
    CHECK(strata_copy(queue, strata_sub(strata_all(buffer), 0, 6), strata_sub(strata_all(buffer), 3, 6)));
    assert_equal(buffer, expected, sizeof expected);
    strata_buffer_destroy(&buffer);
}

static void test_fills(void **state) {
    (void)state;
    static const enum strata_kind kinds[] = {STRATA_DEVICE, STRATA_PINNED, STRATA_SHARED};
    static unsigned char mirror[BYTES], pattern[128];
    size_t step = contract_is_slow(device) ? 9 : 1;
    contract_random(pattern, sizeof pattern, 3);
    for (int k = 0; k < 3; k++) {
        strata_buffer *buffer = create(BYTES, kinds[k]);
        contract_random(mirror, BYTES, 4);
        CHECK(strata_write(queue, strata_all(buffer), mirror));
        for (size_t bytes = 1; bytes <= sizeof pattern; bytes += step) {
            uint64_t at = bytes * 7 % 300, length = 1000 + bytes * 13 % 500;
            for (uint64_t i = 0; i < length; i++)
                mirror[at + i] = pattern[i % bytes];
            CHECK(strata_fill_async(queue, strata_sub(strata_all(buffer), at, length), pattern, bytes, NULL));
            assert_equal(buffer, mirror, BYTES);
        }
        EXPECT(strata_fill(queue, strata_all(buffer), pattern, 0), STRATA_INVALID_ARGUMENT, "1 to 128 bytes");
        EXPECT(strata_fill(queue, strata_all(buffer), pattern, 129), STRATA_INVALID_ARGUMENT, "1 to 128 bytes");
        EXPECT(strata_fill(queue, strata_all(buffer), NULL, 4), STRATA_INVALID_ARGUMENT, "1 to 128 bytes");
        strata_buffer_destroy(&buffer);
    }
}

static void host_box(unsigned char *to, struct strata_box to_box, const unsigned char *from, struct strata_box from_box,
                     struct strata_region region) {
    unsigned char *aside = malloc(region.width * region.rows * region.layers), *at = aside;
    assert_non_null(aside);
    for (int pass = 0; pass < 2; pass++) {
        at = aside;
        const struct strata_box *box = pass ? &to_box : &from_box;
        uint64_t row_pitch = box->row_pitch ? box->row_pitch : region.width;
        uint64_t layer_pitch = box->layer_pitch ? box->layer_pitch : row_pitch * region.rows;
        for (uint64_t z = 0; z < region.layers; z++)
            for (uint64_t y = 0; y < region.rows; y++, at += region.width) {
                uint64_t start = box->origin[0] + (box->origin[1] + y) * row_pitch + (box->origin[2] + z) * layer_pitch;
                if (pass)
                    memcpy(to + start, at, region.width);
                else
                    memcpy(at, from + start, region.width);
            }
    }
    free(aside);
}

static void test_boxes(void **state) {
    (void)state;
    static const enum strata_kind kinds[] = {STRATA_DEVICE, STRATA_PINNED, STRATA_SHARED};
    static unsigned char mirror[BYTES], host[BYTES];
    /* 3 layers of 4 rows: 7 bytes wide in rows of 40 and layers of 400; and in rows of 11 and layers of 55 */
    struct strata_region region = {7, 4, 3};
    struct strata_box wide = {{5, 2, 1}, 40, 400}, narrow = {{1, 0, 2}, 11, 55}, packed = {{0, 0, 0}, 0, 0};
    for (int k = 0; k < 3; k++) {
        strata_buffer *buffer = create(BYTES, kinds[k]);
        contract_random(mirror, BYTES, 8);
        contract_random(host, BYTES, 9);
        CHECK(strata_write(queue, strata_all(buffer), mirror));
        CHECK(strata_write_box(queue, strata_all(buffer), wide, host, narrow, region));
        host_box(mirror, wide, host, narrow, region);
        assert_equal(buffer, mirror, BYTES);
        CHECK(strata_read_box(queue, strata_all(buffer), narrow, host, packed, region));
        unsigned char expected[BYTES];
        memcpy(expected, host, BYTES);
        host_box(expected, packed, mirror, narrow, region);
        assert_memory_equal(host, expected, BYTES);
        /* Between two boxes of one buffer, apart and overlapping. */
        struct strata_box moved = {{8, 3, 1}, 40, 400};
        CHECK(strata_copy_box(queue, strata_all(buffer), narrow, strata_all(buffer), wide, region));
        host_box(mirror, narrow, mirror, wide, region);
        CHECK(strata_copy_box(queue, strata_all(buffer), moved, strata_all(buffer), wide, region));
        host_box(mirror, moved, mirror, wide, region);
        assert_equal(buffer, mirror, BYTES);
        strata_buffer_destroy(&buffer);
    }
}

static void test_box_refusals(void **state) {
    (void)state;
    static unsigned char host[BYTES];
    strata_buffer *buffer = create(100, STRATA_DEVICE);
    struct strata_region region = {10, 10, 1}, nothing = {10, 0, 1}, longer = {10, 11, 1};
    struct strata_box packed = {{0, 0, 0}, 0, 0}, thin = {{0, 0, 0}, 9, 0}, odd = {{0, 0, 0}, 10, 105},
                      shifted = {{1, 0, 0}, 10, 0}, flat = {{0, 0, 0}, 10, 90};
    CHECK(strata_write_box(queue, strata_all(buffer), packed, host, packed, region)); /* ends where the buffer does */
    CHECK(strata_write_box(queue, strata_all(buffer), packed, host, packed, nothing));
    EXPECT(strata_write_box(queue, strata_all(buffer), thin, host, packed, region), STRATA_INVALID_ARGUMENT,
           "row pitch");
    EXPECT(strata_write_box(queue, strata_all(buffer), flat, host, packed, region), STRATA_INVALID_ARGUMENT,
           "layer pitch");
    EXPECT(strata_read_box(queue, strata_all(buffer), odd, host, packed, region), STRATA_INVALID_ARGUMENT, "multiple");
    EXPECT(strata_read_box(queue, strata_all(buffer), shifted, host, packed, region), STRATA_INVALID_ARGUMENT,
           "beyond");
    EXPECT(strata_write_box(queue, strata_all(buffer), packed, host, packed, longer), STRATA_INVALID_ARGUMENT,
           "beyond");
    EXPECT(strata_write_box(queue, strata_all(buffer), packed, NULL, packed, region), STRATA_INVALID_ARGUMENT, "NULL");
    strata_buffer_destroy(&buffer);
}

static void test_refusals(void **state) {
    (void)state;
    unsigned char host[64] = {0};
    strata_buffer *buffer = create(64, STRATA_DEVICE), *other = NULL;
    strata_device *second = contract_open_with(NULL);
    CHECK(strata_buffer_create(second, STRATA_BUFFER(.bytes = 64), &other));
    strata_slice all = strata_all(buffer);
    EXPECT(strata_copy(queue, strata_sub(all, 0, 8), strata_sub(all, 8, 9)), STRATA_INVALID_ARGUMENT, "one length");
    EXPECT(strata_write(queue, strata_sub(all, 60, 8), host), STRATA_INVALID_ARGUMENT, "beyond");
    EXPECT(strata_write(queue, strata_sub(all, UINT64_MAX, 2), host), STRATA_INVALID_ARGUMENT, "beyond");
    EXPECT(strata_write(queue, (strata_slice){buffer, 60, 8}, host), STRATA_INVALID_ARGUMENT, "leaves");
    EXPECT(strata_write(queue, all, NULL), STRATA_INVALID_ARGUMENT, "NULL");
    EXPECT(strata_read(queue, strata_all(other), host), STRATA_INVALID_ARGUMENT, "device");
    EXPECT(strata_read(NULL, all, host), STRATA_INVALID_ARGUMENT, "queue");
    CHECK(strata_write(queue, strata_sub(all, 64, 0), NULL)); /* nothing, at the very end */
    strata_buffer_destroy(&other);
    strata_device_close(&second);
    strata_buffer_destroy(&buffer);
}

/* What a blocking write wrote is there for another queue. */
static void test_blocking_write_is_finished(void **state) {
    (void)state;
    strata_queue *second = NULL;
    CHECK(strata_queue_create(device, NULL, &second));
    strata_buffer *buffer = create(4096, STRATA_DEVICE);
    uint32_t rounds = contract_is_slow(device) ? 100 : contract_resident_bytes() ? 100000 : 5000;
    for (uint32_t i = 0; i < rounds; i++) {
        uint32_t found = 0;
        CHECK(strata_write(queue, strata_sub(strata_all(buffer), i % 1000 * 4, 4), &i));
        CHECK(strata_read(second, strata_sub(strata_all(buffer), i % 1000 * 4, 4), &found));
        assert_int_equal(found, i);
    }
    strata_buffer_destroy(&buffer);
    strata_queue_destroy(&second);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_overlaps),
        cmocka_unit_test(test_fills),
        cmocka_unit_test(test_boxes),
        cmocka_unit_test(test_box_refusals),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_blocking_write_is_finished),
    };
    device = contract_open();
    if (!device)
        return CONTRACT_SKIPPED;
    queue = strata_device_queue(device);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    strata_device_close(&device);
    return failed;
}
