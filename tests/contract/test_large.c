/* What only a device with a lot of memory can show: reductions of more than 2^32 elements, buffers at the device's
 * limit and above it, fills and copies of more than 4 GiB. Skipped elsewhere. */
#include "contract.h"

#include "strata/primitives.h"
#include "strata/transfer.h"

/* Beyond 2^32 elements, and no multiple of any tile. */
#define COUNT ((UINT64_C(1) << 32) + 5)
#define SPECIAL ((UINT64_C(1) << 32) + 3)

static strata_device *device;
static strata_queue *queue;

static strata_buffer *create(uint64_t bytes, bool over_limit) {
    strata_buffer *buffer = NULL;
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = bytes, .name = "large", .over_limit = over_limit),
                               &buffer));
    return buffer;
}

static void reduce(strata_buffer *buffer, enum strata_reduce_op op, enum strata_type type, void *result) {
    struct strata_reduce_desc desc;
    strata_reduce_desc_init(&desc);
    desc.op = op;
    desc.type = type;
    desc.input = strata_all(buffer);
    CHECK(strata_reduce(queue, &desc, result));
}

static void test_reduce_beyond_32_bits(void **state) {
    (void)state;
    strata_buffer *buffer = create(COUNT * sizeof(uint32_t), false);
    uint32_t one = 1, seven = 7, largest = 0;
    uint64_t sum = 0, index = 0;
    CHECK(strata_fill(queue, strata_all(buffer), &one, sizeof one));
    CHECK(strata_write(queue, strata_sub(strata_all(buffer), SPECIAL * sizeof seven, sizeof seven), &seven));
    reduce(buffer, STRATA_SUM, STRATA_U32, &sum);
    assert_true(sum == COUNT + 6);
    reduce(buffer, STRATA_ARG_MAX, STRATA_U32, &index);
    assert_true(index == SPECIAL);
    reduce(buffer, STRATA_MAX, STRATA_U32, &largest);
    assert_int_equal(largest, 7);
    float one_f = 1, sum_f = 0;
    CHECK(strata_fill(queue, strata_all(buffer), &one_f, sizeof one_f));
    reduce(buffer, STRATA_SUM, STRATA_F32, &sum_f);
    assert_true(sum_f == 4294967296.0f); /* 2^32 + 5, rounded to the nearest float */
    strata_buffer_destroy(&buffer);
}

static void test_copy_beyond_4_gib(void **state) {
    (void)state;
    uint64_t bytes = (UINT64_C(5) << 30) + 3;
    strata_buffer *from = create(bytes, false), *to = create(bytes, false);
    unsigned char pattern[] = {1, 2, 3, 4, 5, 6, 7}, last[7], expected[7];
    CHECK(strata_fill(queue, strata_all(from), pattern, sizeof pattern));
    CHECK(strata_copy(queue, strata_all(to), strata_all(from)));
    CHECK(strata_read(queue, strata_sub(strata_all(to), bytes - sizeof last, sizeof last), last));
    for (unsigned i = 0; i < sizeof last; i++)
        expected[i] = pattern[(bytes - sizeof last + i) % sizeof pattern];
    assert_memory_equal(last, expected, sizeof last);
    strata_buffer_destroy(&from);
    strata_buffer_destroy(&to);
}

static void test_limits(void **state) {
    (void)state;
    uint64_t limit = strata_device_get_info(device)->max_buffer_bytes;
    strata_buffer *buffer = create(limit, false), *refused = NULL;
    strata_buffer_destroy(&buffer);
    assert_int_equal(strata_buffer_create(device, STRATA_BUFFER(.bytes = limit + 1), &refused), STRATA_TOO_LARGE);
    assert_null(refused);
    uint64_t over = limit + (UINT64_C(1) << 30);
    if (over < strata_device_get_info(device)->global_bytes / 2) {
        buffer = create(over, true);
        strata_buffer_destroy(&buffer);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reduce_beyond_32_bits),
                                       cmocka_unit_test(test_copy_beyond_4_gib), cmocka_unit_test(test_limits)};
    device = contract_open();
    if (!device)
        return CONTRACT_SKIPPED;
    const struct strata_device_info *info = strata_device_get_info(device);
    if (info->max_buffer_bytes < COUNT * sizeof(uint32_t) || info->type == STRATA_DEVICE_CPU) {
        printf("skipped: %s has no buffers of 16 GiB beside the host's memory\n", info->name);
        strata_device_close(&device);
        return CONTRACT_SKIPPED;
    }
    queue = strata_device_queue(device);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    strata_device_close(&device);
    return failed;
}
