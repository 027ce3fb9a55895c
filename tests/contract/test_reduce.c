/* Reductions: every operation and type to the bit, special values, pieces, offsets, threads, refusals. */
#include "contract.h"

#include "reduce_reference.h"
#include "strata/primitives.h"
#include "strata/transfer.h"

#include <pthread.h>

static strata_device *device;
static strata_queue *queue;
static bool is_slow; /* an interpreter: small inputs only */

static bool has(enum strata_type type) {
    return type != STRATA_F64 || strata_device_get_info(device)->fp64;
}

static strata_buffer *create(uint64_t bytes) {
    strata_buffer *buffer = NULL;
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = bytes, .name = "input"), &buffer));
    return buffer;
}

/* The bits of the result, through a place that must not be written beyond its type. */
static uint64_t reduce_slice(strata_queue *on, enum strata_reduce_op op, enum strata_type type, strata_slice slice) {
    unsigned char place[16];
    uint64_t bits = 0;
    size_t bytes = strata_type_size(strata_reduce_result_type(op, type));
    memset(place, 0xa5, sizeof place);
    CHECK(strata_reduce(on, STRATA_REDUCE(.op = op, .type = type, .input = slice), place));
    for (size_t i = bytes; i < sizeof place; i++)
        assert_int_equal(place[i], 0xa5);
    memcpy(&bits, place, bytes);
    return bits;
}

static uint64_t reduce_host(enum strata_reduce_op op, enum strata_type type, const void *data, size_t count) {
    strata_buffer *buffer = create(count * strata_type_size(type));
    CHECK(strata_write(queue, strata_all(buffer), data));
    uint64_t bits = reduce_slice(queue, op, type, strata_all(buffer));
    strata_buffer_destroy(&buffer);
    return bits;
}

static float as_f32(uint64_t bits) {
    uint32_t narrow = (uint32_t)bits;
    float value;
    memcpy(&value, &narrow, sizeof value);
    return value;
}

static void assert_bits(uint64_t found, uint64_t expected, enum strata_reduce_op op, enum strata_type type,
                        size_t count, int input) {
    if (found != expected)
        print_error("operation %d of %zu %s, input %d: %016llx, expected %016llx\n", (int)op, count,
                    strata_type_name(type), input, (unsigned long long)found, (unsigned long long)expected);
    assert_true(found == expected);
}

static void all_to_the_bit(enum strata_type type, const size_t *counts, size_t count_count, int inputs) {
    size_t most = counts[count_count - 1], bytes = strata_type_size(type);
    char *data = malloc(most * bytes);
    strata_buffer *buffer = create(most * bytes);
    assert_non_null(data);
    for (int input = 0; input < inputs; input++) {
        reference_fill((enum reference_input)input, type, data, most, 11 + (uint64_t)input);
        CHECK(strata_write(queue, strata_all(buffer), data));
        for (size_t i = 0; i < count_count; i++) {
            strata_slice slice = strata_sub(strata_all(buffer), 0, counts[i] * bytes);
            for (int op = STRATA_SUM; op <= STRATA_ARG_MAX; op++)
                assert_bits(reduce_slice(queue, (enum strata_reduce_op)op, type, slice),
                            reference_reduce((enum strata_reduce_op)op, type, data, counts[i]),
                            (enum strata_reduce_op)op, type, counts[i], input);
        }
    }
    strata_buffer_destroy(&buffer);
    free(data);
}

static void every_operation_and_type_to_the_bit(void **state) {
    (void)state;
    static const size_t few[] = {1, 6, 1025, 4097};
    static const size_t many[] = {1,    2,    3,    5,     6,     7,     31,    33,    63,   65,
                                  127,  255,  257,  1000,  1023,  1025,  2047,  2049,  4095, 4096,
                                  4097, 8191, 8193, 12289, 65535, 65537, 69633, 100003};
    for (int type = STRATA_I32; type <= STRATA_F64; type++) {
        if (!has((enum strata_type)type))
            continue;
        if (is_slow)
            all_to_the_bit((enum strata_type)type, few, sizeof few / sizeof *few, 1);
        else
            all_to_the_bit((enum strata_type)type, many, sizeof many / sizeof *many, REFERENCE_INPUTS);
    }
}

static void three_levels_to_the_bit(void **state) {
    (void)state;
    if (is_slow)
        skip();
    static const size_t f32[] = {(1 << 24) + 4097}, f64[] = {(1 << 22) + 2049};
    all_to_the_bit(STRATA_F32, f32, 1, 1);
    if (has(STRATA_F64))
        all_to_the_bit(STRATA_F64, f64, 1, 1);
}

/* KhronosGroup and others: halving trees that lose an element when the size is no power of two. */
static void sums_of_1_to_n(void **state) {
    (void)state;
    static const int32_t sizes[] = {1, 2, 3, 5, 6, 7, 31, 33, 63, 65, 127, 255, 257, 1000, 1023, 1025, 65537};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int32_t count = sizes[i];
        int32_t *data = malloc((size_t)count * sizeof *data);
        assert_non_null(data);
        for (int32_t k = 0; k < count; k++)
            data[k] = k + 1;
        uint64_t sum = reduce_host(STRATA_SUM, STRATA_I32, data, (size_t)count);
        assert_true((int64_t)sum == (int64_t)count * (count + 1) / 2);
        free(data);
    }
}

static void integer_sums_have_64_bits_and_wrap(void **state) {
    (void)state;
    const int32_t low[] = {INT32_MIN, INT32_MIN, -1};
    const uint32_t high[] = {UINT32_MAX, UINT32_MAX};
    const uint64_t wide[] = {UINT64_MAX, 5};
    const int64_t edge[] = {INT64_MAX, 1};
    assert_true((int64_t)reduce_host(STRATA_SUM, STRATA_I32, low, 3) == INT64_C(-4294967297));
    assert_true(reduce_host(STRATA_SUM, STRATA_U32, high, 2) == UINT64_C(8589934590));
    assert_true(reduce_host(STRATA_SUM, STRATA_U64, wide, 2) == 4);
    assert_true((int64_t)reduce_host(STRATA_SUM, STRATA_I64, edge, 2) == INT64_MIN);
    assert_true((int64_t)reduce_host(STRATA_PRODUCT, STRATA_I32, low, 3) == -(INT64_C(1) << 62));
    assert_true(reduce_host(STRATA_PRODUCT, STRATA_U32, high, 2) == UINT64_C(18446744065119617025));
}

static void zeros_keep_their_signs(void **state) {
    (void)state;
    static float data[5000];
    static const size_t counts[] = {1, 2, 3, 100, 4096, 4097, 5000};
    for (size_t i = 0; i < 5000; i++)
        data[i] = -0.0f;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        assert_true(reduce_host(STRATA_SUM, STRATA_F32, data, counts[i]) == UINT64_C(0x80000000));
    data[3] = 0.0f;
    assert_true(reduce_host(STRATA_SUM, STRATA_F32, data, 100) == 0);
    assert_true(reduce_host(STRATA_MIN, STRATA_F32, data, 100) == UINT64_C(0x80000000));
    assert_true(reduce_host(STRATA_MAX, STRATA_F32, data, 100) == 0);
    assert_true(reduce_host(STRATA_ARG_MIN, STRATA_F32, data, 100) == 0);
    assert_true(reduce_host(STRATA_ARG_MAX, STRATA_F32, data, 100) == 3);
}

static void a_nan_wins(void **state) {
    (void)state;
    static const uint32_t nans[] = {0x7fc00000, 0xffc00000, 0x7f800001, 0xff800001, 0x7fffffff, 0xffffffff};
    for (size_t i = 0; i < sizeof nans / sizeof *nans; i++) {
        float data[300];
        for (size_t k = 0; k < 300; k++)
            data[k] = (float)k - 7;
        data[0] = INFINITY;
        data[1] = -INFINITY;
        memcpy(&data[250], &nans[i], sizeof nans[i]);
        memcpy(&data[222], &nans[5 - i], sizeof nans[i]);
        for (int op = STRATA_SUM; op <= STRATA_MAX; op++)
            assert_true(reduce_host((enum strata_reduce_op)op, STRATA_F32, data, 300) == UINT64_C(0x7fc00000));
        assert_true(reduce_host(STRATA_ARG_MIN, STRATA_F32, data, 300) == 222);
        assert_true(reduce_host(STRATA_ARG_MAX, STRATA_F32, data, 300) == 222);
    }
}

static void infinities_follow_ieee(void **state) {
    (void)state;
    const float both[] = {1, INFINITY, 2, -INFINITY}, one[] = {1, INFINITY, 2}, huge[] = {3e38f, 3e38f, 3e38f};
    assert_true(reduce_host(STRATA_SUM, STRATA_F32, both, 4) == UINT64_C(0x7fc00000));
    assert_true(as_f32(reduce_host(STRATA_MAX, STRATA_F32, both, 4)) == INFINITY);
    assert_true(as_f32(reduce_host(STRATA_MIN, STRATA_F32, both, 4)) == -INFINITY);
    assert_true(reduce_host(STRATA_ARG_MIN, STRATA_F32, both, 4) == 3);
    assert_true(as_f32(reduce_host(STRATA_SUM, STRATA_F32, one, 3)) == INFINITY);
    assert_true(as_f32(reduce_host(STRATA_SUM, STRATA_F32, huge, 3)) == INFINITY);
    assert_true(as_f32(reduce_host(STRATA_PRODUCT, STRATA_F32, huge, 2)) == INFINITY);
}

static void ties_give_the_first_index(void **state) {
    (void)state;
    static int32_t data[9000];
    for (size_t i = 0; i < 9000; i++)
        data[i] = 4;
    assert_true(reduce_host(STRATA_ARG_MAX, STRATA_I32, data, 9000) == 0);
    data[8500] = data[4100] = data[8999] = 5;
    data[4101] = data[8501] = INT32_MIN;
    assert_true(reduce_host(STRATA_ARG_MAX, STRATA_I32, data, 9000) == 4100);
    assert_true(reduce_host(STRATA_ARG_MIN, STRATA_I32, data, 9000) == 4101);
    for (size_t i = 0; i < 9000; i++)
        data[i] = INT32_MAX; /* what pads the last tile of a minimum */
    assert_true(reduce_host(STRATA_ARG_MIN, STRATA_I32, data, 9000) == 0);
}

static void nothing_to_reduce(void **state) {
    (void)state;
    strata_buffer *buffer = create(64);
    strata_slice none = strata_sub(strata_all(buffer), 8, 0);
    assert_true(reduce_slice(queue, STRATA_SUM, STRATA_F32, none) == 0);
    assert_true(as_f32(reduce_slice(queue, STRATA_PRODUCT, STRATA_F32, none)) == 1);
    assert_true(reduce_slice(queue, STRATA_PRODUCT, STRATA_I32, strata_all(NULL)) == 1);
    uint64_t result = 7;
    for (int op = STRATA_MIN; op <= STRATA_ARG_MAX; op++)
        assert_int_equal(
            strata_reduce(queue, STRATA_REDUCE(.op = (enum strata_reduce_op)op, .type = STRATA_U64, .input = none),
                          &result),
            STRATA_INVALID_ARGUMENT);
    assert_true(result == 7);
    strata_buffer_destroy(&buffer);
}

/* 17,825,792 ones: a serial f32 sum stops at 16,777,216. */
static void many_ones(void **state) {
    (void)state;
    if (is_slow)
        skip();
    size_t count = 17825792;
    float one = 1;
    strata_buffer *buffer = create(count * sizeof one);
    CHECK(strata_fill(queue, strata_all(buffer), &one, sizeof one));
    assert_true(as_f32(reduce_slice(queue, STRATA_SUM, STRATA_F32, strata_all(buffer))) == 17825792.0f);
    float tenth = 0.1f;
    CHECK(strata_fill(queue, strata_all(buffer), &tenth, sizeof tenth));
    double exact = (double)tenth * (double)count;
    assert_true(fabs((double)as_f32(reduce_slice(queue, STRATA_SUM, STRATA_F32, strata_all(buffer))) - exact) <= 0.125);
    strata_buffer_destroy(&buffer);
}

/* Anywhere in a buffer, also off the element's own alignment: the same bits. */
static void any_byte_offset(void **state) {
    (void)state;
    static const uint64_t offsets[] = {1, 2, 3, 4, 8, 12, 16, 20, 129, 252, 256, 4097};
    size_t count = is_slow ? 4100 : 70001, offset_count = is_slow ? 4 : sizeof offsets / sizeof *offsets;
    for (int type = STRATA_U32; type <= STRATA_F32; type += STRATA_F32 - STRATA_U32) {
        size_t bytes = count * 4;
        char *data = malloc(bytes + 8192);
        assert_non_null(data);
        reference_fill(REFERENCE_WIDE, (enum strata_type)type, data, count, 5);
        strata_buffer *buffer = create(bytes + 8192);
        for (size_t i = 0; i < offset_count; i++) {
            char *moved = calloc(1, bytes + 8192);
            assert_non_null(moved);
            memcpy(moved + offsets[i], data, bytes);
            CHECK(strata_write(queue, strata_all(buffer), moved));
            strata_slice slice = strata_sub(strata_all(buffer), offsets[i], bytes);
            for (int op = STRATA_SUM; op <= STRATA_ARG_MAX; op += 2)
                assert_bits(reduce_slice(queue, (enum strata_reduce_op)op, (enum strata_type)type, slice),
                            reference_reduce((enum strata_reduce_op)op, (enum strata_type)type, data, count),
                            (enum strata_reduce_op)op, (enum strata_type)type, count, (int)offsets[i]);
            free(moved);
        }
        strata_buffer_destroy(&buffer);
        free(data);
    }
}

/* The result lies where it was wanted, to the byte, and nothing beside it changes. */
static void results_stay_on_the_device(void **state) {
    (void)state;
    static float data[5000];
    reference_fill(REFERENCE_UNIFORM, STRATA_F32, data, 5000, 3);
    strata_buffer *input = create(sizeof data), *output = create(64);
    CHECK(strata_write(queue, strata_all(input), data));
    for (uint64_t place = 0; place < 20; place += 3) {
        for (size_t count = 0; count <= 5000; count += 2500) {
            unsigned char before[64], after[64];
            memset(before, 0x5a, sizeof before);
            CHECK(strata_write(queue, strata_all(output), before));
            strata_event *event = NULL;
            CHECK(strata_reduce_async(queue,
                                      STRATA_REDUCE(.op = STRATA_SUM, .type = STRATA_F32,
                                                    .input = strata_sub(strata_all(input), 0, count * sizeof *data)),
                                      strata_sub(strata_all(output), place, 64 - place), &event));
            CHECK(strata_event_wait(event));
            strata_event_destroy(&event);
            CHECK(strata_read(queue, strata_all(output), after));
            uint32_t bits = count ? (uint32_t)reference_reduce(STRATA_SUM, STRATA_F32, data, count) : 0;
            memcpy(before + place, &bits, sizeof bits);
            assert_memory_equal(after, before, sizeof after);
        }
    }
    strata_buffer_destroy(&input);
    strata_buffer_destroy(&output);
}

/* In pieces, each from the same memory as the one before: the bits of the whole. */
static void feed(enum strata_reduce_op op, enum strata_type type, const char *data, size_t count, size_t piece) {
    size_t size = strata_type_size(type), bytes = count * size;
    strata_buffer *buffer = create(piece);
    strata_reducer *reducer = NULL;
    uint64_t result = 0;
    CHECK(strata_reducer_create(device, op, type, count, &reducer));
    for (int again = 0; again < 2; again++) {
        for (size_t at = 0; at < bytes; at += piece) {
            strata_slice slice = strata_sub(strata_all(buffer), 0, bytes - at < piece ? bytes - at : piece);
            CHECK(strata_write(queue, slice, data + at));
            CHECK(strata_reducer_feed(reducer, queue, slice));
        }
        result = 0;
        CHECK(strata_reducer_finish(reducer, queue, &result));
        assert_bits(result, reference_reduce(op, type, data, count), op, type, count, (int)piece);
    }
    strata_reducer_destroy(&reducer);
    assert_null(reducer);
    strata_buffer_destroy(&buffer);
}

static void pieces_give_the_bits_of_the_whole(void **state) {
    (void)state;
    size_t count = is_slow ? 9000 : 100003;
    char *data = malloc(count * 8);
    assert_non_null(data);
    for (int type = STRATA_I64; type <= STRATA_F64; type += STRATA_F32 - STRATA_I64) {
        reference_fill(REFERENCE_WIDE, (enum strata_type)type, data, count, 17);
        for (int op = STRATA_SUM; op <= STRATA_ARG_MAX; op += is_slow ? 4 : 1)
            for (size_t piece = 16384; piece <= 16384 * 8; piece *= is_slow ? 8 : 2)
                feed((enum strata_reduce_op)op, (enum strata_type)type, data, count, piece);
    }
    reference_fill(REFERENCE_WIDE, STRATA_F32, data, 4000, 18);
    feed(STRATA_SUM, STRATA_F32, data, 4000, 16384);
    free(data);
}

static void pieces_are_checked(void **state) {
    (void)state;
    strata_buffer *buffer = create(65536);
    strata_slice all = strata_all(buffer);
    strata_reducer *reducer = NULL;
    uint32_t zero = 0;
    uint64_t result = 1;
    CHECK(strata_fill(queue, all, &zero, sizeof zero));
    CHECK(strata_reducer_create(device, STRATA_SUM, STRATA_U32, 5000, &reducer));
    assert_int_equal(strata_reducer_feed(reducer, queue, strata_sub(all, 0, 400)), STRATA_INVALID_ARGUMENT);
    assert_int_equal(strata_reducer_feed(reducer, queue, strata_sub(all, 0, 20004)), STRATA_INVALID_ARGUMENT);
    assert_int_equal(strata_reducer_feed(reducer, queue, strata_sub(all, 0, 16386)), STRATA_INVALID_ARGUMENT);
    assert_int_equal(strata_reducer_finish(reducer, queue, &result), STRATA_INVALID_ARGUMENT);
    CHECK(strata_reducer_feed(reducer, queue, strata_sub(all, 0, 16384)));
    assert_int_equal(strata_reducer_finish(reducer, queue, &result), STRATA_INVALID_ARGUMENT);
    CHECK(strata_reducer_feed(reducer, queue, strata_sub(all, 4, 904 * 4)));
    CHECK(strata_reducer_finish(reducer, queue, &result));
    assert_true(result == 0);
    strata_reducer_destroy(&reducer);
    CHECK(strata_reducer_create(device, STRATA_PRODUCT, STRATA_U32, 0, &reducer));
    CHECK(strata_reducer_finish(reducer, queue, &result));
    assert_true(result == 1);
    strata_reducer_destroy(&reducer);
    strata_reducer_destroy(&reducer);
    strata_buffer_destroy(&buffer);
}

static void assert_refused(enum strata_status expected, enum strata_reduce_op op, enum strata_type type,
                           strata_slice input) {
    uint64_t result = 7;
    assert_int_equal(strata_reduce(queue, STRATA_REDUCE(.op = op, .type = type, .input = input), &result), expected);
    assert_true(result == 7);
    assert_true(strlen(strata_last_error()->message) > 10);
}

static void mistakes_are_refused(void **state) {
    (void)state;
    strata_buffer *buffer = create(64);
    strata_slice all = strata_all(buffer);
    assert_refused(STRATA_INVALID_ARGUMENT, (enum strata_reduce_op)0, STRATA_F32, all);
    assert_refused(STRATA_INVALID_ARGUMENT, (enum strata_reduce_op)7, STRATA_F32, all);
    assert_refused(STRATA_INVALID_ARGUMENT, STRATA_SUM, (enum strata_type)0, all);
    assert_refused(STRATA_INVALID_ARGUMENT, STRATA_SUM, (enum strata_type)7, all);
    assert_refused(STRATA_INVALID_ARGUMENT, STRATA_SUM, STRATA_U32, strata_sub(all, 0, 6));
    assert_refused(STRATA_INVALID_ARGUMENT, STRATA_SUM, STRATA_U32, strata_sub(all, 61, 4));
    if (!has(STRATA_F64))
        assert_refused(STRATA_UNSUPPORTED, STRATA_SUM, STRATA_F64, all);
    assert_int_equal(strata_reduce(queue, STRATA_REDUCE(.op = STRATA_SUM, .type = STRATA_U32, .input = all), NULL),
                     STRATA_INVALID_ARGUMENT);
    assert_int_equal(strata_reduce(queue, NULL, &(uint64_t){0}), STRATA_INVALID_ARGUMENT);
    const struct strata_reduce_desc *desc = STRATA_REDUCE(.op = STRATA_SUM, .type = STRATA_U32, .input = all);
    assert_int_equal(strata_reduce_async(queue, desc, strata_sub(all, 56, 8), NULL), STRATA_INVALID_ARGUMENT);
    strata_buffer *output = create(7);
    assert_int_equal(strata_reduce_async(queue, desc, strata_all(output), NULL), STRATA_INVALID_ARGUMENT);
    strata_buffer_destroy(&output);
    strata_buffer_destroy(&buffer);
}

/* Each thread with a queue, a size and a value of its own; scratch memory must not be mixed. */
struct worker {
    uint32_t value;
    size_t count;
    unsigned wrong;
};

static void *reduce_again_and_again(void *user) {
    struct worker *worker = user;
    strata_queue *own = NULL;
    strata_buffer *buffer = NULL;
    uint64_t sum;
    worker->wrong = strata_queue_create(device, NULL, &own) != STRATA_OK ||
                    strata_buffer_create(device, STRATA_BUFFER(.bytes = worker->count * 4), &buffer) != STRATA_OK ||
                    strata_fill(own, strata_all(buffer), &worker->value, 4) != STRATA_OK;
    for (unsigned i = 0; i < (is_slow ? 2 : 50) && !worker->wrong; i++) {
        sum = 0;
        worker->wrong +=
            strata_reduce(own, STRATA_REDUCE(.op = STRATA_SUM, .type = STRATA_U32, .input = strata_all(buffer)),
                          &sum) != STRATA_OK ||
            sum != worker->count * worker->value;
    }
    strata_buffer_destroy(&buffer);
    strata_queue_destroy(&own);
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state) {
    (void)state;
    pthread_t threads[4];
    struct worker workers[4];
    for (unsigned i = 0; i < 4; i++) {
        workers[i] = (struct worker){.value = i + 3, .count = (is_slow ? 5000 : 50000) * (i + 1)};
        assert_int_equal(pthread_create(&threads[i], NULL, reduce_again_and_again, &workers[i]), 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].wrong, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_and_type_to_the_bit),
        cmocka_unit_test(three_levels_to_the_bit),
        cmocka_unit_test(sums_of_1_to_n),
        cmocka_unit_test(integer_sums_have_64_bits_and_wrap),
        cmocka_unit_test(zeros_keep_their_signs),
        cmocka_unit_test(a_nan_wins),
        cmocka_unit_test(infinities_follow_ieee),
        cmocka_unit_test(ties_give_the_first_index),
        cmocka_unit_test(nothing_to_reduce),
        cmocka_unit_test(many_ones),
        cmocka_unit_test(any_byte_offset),
        cmocka_unit_test(results_stay_on_the_device),
        cmocka_unit_test(pieces_give_the_bits_of_the_whole),
        cmocka_unit_test(pieces_are_checked),
        cmocka_unit_test(mistakes_are_refused),
        cmocka_unit_test(threads_do_not_disturb_each_other),
    };
    device = contract_open();
    if (!device)
        return CONTRACT_SKIPPED;
    queue = strata_device_queue(device);
    is_slow = contract_is_slow(device);
    int failed = cmocka_run_group_tests_name("reduce", tests, NULL, NULL);
    strata_device_close(&device);
    return failed;
}
