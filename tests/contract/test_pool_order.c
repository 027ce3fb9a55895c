/* Pools and the order of work: memory that is given back while queues use it, several threads, queues and contexts that
 * end before the pool does. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS /* clCreateCommandQueue is what a 1.2 platform has */
#include "launching.h"

#include "strata/opencl.h"
#include "strata/pool.h"

#include <pthread.h>
#include <unistd.h>

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)

static strata_device *device;
static strata_queue *queue;

static strata_pool *make_pool(const struct strata_pool_desc *desc) {
    strata_pool *pool = NULL;
    CHECK(strata_pool_create(device, desc, &pool));
    return pool;
}

static strata_buffer *take_for(strata_pool *pool, uint64_t bytes, strata_queue *user) {
    strata_buffer *buffer = NULL;
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = bytes, .pool = pool, .queue = user), &buffer));
    return buffer;
}

static struct strata_pool_stats stats_of(strata_pool *pool) {
    struct strata_pool_stats stats = {.size = sizeof stats};
    CHECK(strata_pool_get_stats(pool, &stats));
    return stats;
}

static strata_queue *make_queue(void) {
    strata_queue *made = NULL;
    CHECK(strata_queue_create(device, NULL, &made));
    return made;
}

/* Long enough to be seen at work; the answer tells whether its input stayed as it was. llvmpipe leaves loops after
 * 65,535 rounds in all. */
static const char source[] = "__kernel void slow(__global uint *out, __global const uint *in, uint rounds) {\n"
                             "    uint sum = 0;\n"
                             "    for (uint i = 0; i < rounds; i++)\n"
                             "        for (uint j = 0; j < 1000; j++)\n"
                             "            sum = sum * 3 + in[(i + j * 7) % 1024];\n"
                             "    out[0] = sum;\n"
                             "}\n";

static uint32_t expected_sum(uint32_t value, uint32_t rounds) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < rounds * 1000; i++)
        sum = sum * 3 + value;
    return sum;
}

static uint32_t rounds(void) {
    bool bounded = strstr(strata_device_get_info(device)->platform, "rusticl") != NULL;
    return contract_is_slow(device) ? 2 : bounded ? 60 : 20000;
}

/* Given back on one queue while a kernel there reads it, handed out again and written by another queue: the write comes
 * after the kernel, without the caller doing anything (pyopencl#447). */
static void test_another_queue_comes_after(void **state) {
    (void)state;
    strata_pool *pool = make_pool(STRATA_POOL(.limit_bytes = 8 * KIB, .block_bytes = 8 * KIB, .dedicated_bytes = MIB));
    strata_program *program = build_text(device, source);
    strata_queue *other = make_queue();
    for (uint32_t i = 1; i <= 3; i++) {
        strata_buffer *in = take_for(pool, 4096, queue), *out = take_for(pool, 4, queue);
        CHECK(strata_fill(queue, strata_all(in), &i, sizeof i));
        CHECK(strata_launch(queue, kernel_of(program, "slow"), strata_grid_1d(1),
                            STRATA_ARGS(whole(out), whole(in), strata_arg_u32(rounds()))));
        strata_buffer_destroy(&in);
        strata_buffer *again = take_for(pool, 4096, other); /* the same place: the pool has no other */
        uint32_t zero = 0;
        CHECK(strata_fill(other, strata_all(again), &zero, sizeof zero));
        assert_int_equal(word(queue, out, 0), expected_sum(i, rounds()));
        assert_int_equal(word(other, again, 1023), 0);
        strata_buffer_destroy(&again);
        strata_buffer_destroy(&out);
    }
    CHECK(strata_pool_validate(pool));
    strata_queue_destroy(&other);
    strata_program_destroy(&program);
    strata_pool_destroy(&pool);
}

/* On the queue that used it, it is handed out at once; and the wait for others is not paid where there is room. */
static void test_same_queue_reuses_at_once(void **state) {
    (void)state;
    strata_pool *pool = make_pool(NULL);
    strata_program *program = build_text(device, source);
    strata_queue *other = make_queue();
    strata_buffer *out = take_for(pool, 256, queue), *in = take_for(pool, 4096, queue);
    uint32_t value = 5;
    CHECK(strata_fill(queue, strata_all(in), &value, sizeof value));
    CHECK(strata_launch(queue, kernel_of(program, "slow"), strata_grid_1d(1),
                        STRATA_ARGS(whole(out), whole(in), strata_arg_u32(rounds()))));
    strata_buffer_destroy(&in);
    uint64_t reused = stats_of(pool).reused_buffers;
    strata_buffer *same = take_for(pool, 4096, queue);
    assert_int_equal(stats_of(pool).reused_buffers, reused + 1);
    strata_buffer_destroy(&same);
    strata_buffer *apart = take_for(pool, 4096, other);
    value = 9;
    CHECK(strata_fill(other, strata_all(apart), &value, sizeof value));
    assert_int_equal(word(queue, out, 0), expected_sum(5, rounds()));
    strata_buffer_destroy(&apart);
    strata_buffer_destroy(&out);
    strata_queue_destroy(&other);
    strata_program_destroy(&program);
    CHECK(strata_pool_validate(pool));
    strata_pool_destroy(&pool);
}

static void *open_later(void *user) {
    usleep(50000);
    contract_gate_open(user);
    return NULL;
}

/* All that is missing has been given back and is waited for: then the pool is searched again (pytorch#189504). */
static void test_waits_and_searches_again(void **state) {
    (void)state;
    strata_pool *pool = make_pool(STRATA_POOL(.limit_bytes = 4 * MIB));
    struct contract_gate gate;
    pthread_t thread;
    contract_gate_init(&gate);
    contract_gate_put(&gate, queue);
    strata_buffer *held = take_for(pool, 4 * MIB, queue);
    unsigned char byte = 7;
    CHECK(strata_fill_async(queue, strata_all(held), &byte, 1, NULL));
    strata_buffer_destroy(&held);
    assert_int_equal(stats_of(pool).pending_bytes, 4 * MIB);
    assert_int_equal(pthread_create(&thread, NULL, open_later, &gate), 0);
    held = take_for(pool, 3 * MIB, NULL);
    assert_true(stats_of(pool).waited >= 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(stats_of(pool).pending_bytes, 0);
    strata_buffer_destroy(&held);
    contract_gate_release(&gate);
    CHECK(strata_pool_validate(pool));
    strata_pool_destroy(&pool);
}

/* Work behind host work, which may wait for the caller: another queue must not be put behind it. */
static void test_host_work_is_not_waited_for(void **state) {
    (void)state;
    strata_pool *pool = make_pool(NULL);
    strata_queue *stopped = make_queue();
    struct contract_gate gate;
    contract_gate_init(&gate);
    strata_buffer *before = take_for(pool, 8192, stopped), *behind = take_for(pool, 4096, stopped);
    uint32_t value = 3;
    CHECK(strata_fill_async(stopped, strata_all(before), &value, sizeof value, NULL));
    contract_gate_put(&gate, stopped);
    CHECK(strata_fill_async(stopped, strata_all(behind), &value, sizeof value, NULL));
    strata_buffer_destroy(&before);
    strata_buffer_destroy(&behind);
    /* Both sizes again, on the default queue, with the gate closed. */
    before = take_for(pool, 8192, NULL);
    behind = take_for(pool, 4096, NULL);
    value = 4;
    CHECK(strata_fill(queue, strata_all(before), &value, sizeof value));
    CHECK(strata_fill(queue, strata_all(behind), &value, sizeof value));
    contract_gate_open(&gate);
    CHECK(strata_queue_finish(stopped));
    assert_int_equal(word(queue, before, 2047), 4);
    assert_int_equal(word(queue, behind, 1023), 4);
    strata_buffer_destroy(&before);
    strata_buffer_destroy(&behind);
    strata_queue_destroy(&stopped);
    contract_gate_release(&gate);
    strata_pool_destroy(&pool);
}

/* Queues that used memory end before it is given back, and after. */
static void test_queues_end_first(void **state) {
    (void)state;
    strata_pool *pool = make_pool(NULL);
    for (uint32_t i = 0; i < 20; i++) {
        strata_queue *brief = make_queue();
        strata_buffer *early = take_for(pool, 4096, brief), *late = take_for(pool, 4096, brief);
        CHECK(strata_fill_async(brief, strata_all(early), &i, sizeof i, NULL));
        CHECK(strata_fill_async(brief, strata_all(late), &i, sizeof i, NULL));
        strata_buffer_destroy(&early);
        strata_queue_destroy(&brief);
        assert_int_equal(word(queue, late, 1023), i);
        strata_buffer_destroy(&late);
        CHECK(strata_pool_validate(pool));
    }
    strata_pool_destroy(&pool);
}

/* The caller's context and queue are released by the caller before strata's device and its pools are. */
static void test_context_is_released_first(void **state) {
    (void)state;
    cl_context context = strata_opencl_context(device);
    cl_device_id id = strata_opencl_device(device);
    cl_int code = CL_SUCCESS;
    for (int i = 0; i < 5; i++) {
        cl_context own = clCreateContext(NULL, 1, &id, NULL, NULL, &code);
        assert_int_equal(code, CL_SUCCESS);
        assert_ptr_not_equal(own, context);
        cl_command_queue native = clCreateCommandQueue(own, id, 0, &code);
        assert_int_equal(code, CL_SUCCESS);
        strata_device *adopted = NULL;
        strata_buffer *buffer = NULL;
        uint32_t value = 77;
        CHECK(strata_opencl_device_open(own, id, native, NULL, &adopted));
        CHECK(strata_buffer_create(adopted, STRATA_BUFFER(.bytes = 10000), &buffer));
        CHECK(strata_fill(strata_device_queue(adopted), strata_all(buffer), &value, sizeof value));
        clReleaseCommandQueue(native);
        clReleaseContext(own);
        assert_int_equal(word(strata_device_queue(adopted), buffer, 2499), 77);
        strata_buffer_destroy(&buffer);
        strata_device_close(&adopted);
    }
}

/* A loop that gives back faster than the device works holds a bounded amount (pocl#812). */
static void test_given_back_in_a_loop(void **state) {
    (void)state;
    strata_pool *pool = make_pool(NULL);
    strata_program *program = build_text(device, source);
    for (uint32_t i = 0; i < 200; i++) {
        strata_buffer *in = take_for(pool, 64 * KIB, queue), *out = take_for(pool, 64 * KIB, queue);
        CHECK(strata_fill_async(queue, strata_all(in), &i, sizeof i, NULL));
        CHECK(strata_launch(queue, kernel_of(program, "slow"), strata_grid_1d(1),
                            STRATA_ARGS(whole(out), whole(in), strata_arg_u32(1))));
        strata_buffer_destroy(&in);
        strata_buffer_destroy(&out);
    }
    struct strata_pool_stats stats = stats_of(pool);
    assert_true(stats.peak_reserved_bytes <= 4 * MIB);
    CHECK(strata_queue_finish(queue));
    assert_int_equal(stats_of(pool).pending_bytes, 0);
    strata_program_destroy(&program);
    strata_pool_destroy(&pool);
}

#define THREADS 4
#define SHARED_PLACES 16

struct crowd {
    strata_pool *pool;
    pthread_mutex_t lock;
    strata_buffer *places[SHARED_PLACES];
    uint32_t values[SHARED_PLACES];
    unsigned repetitions;
};

struct member {
    struct crowd *crowd;
    uint64_t seed;
    bool right;
};

/* Takes, writes, and swaps with what another thread left in a place, which it checks and gives back. */
static void *mingle(void *user) {
    struct member *member = user;
    struct crowd *crowd = member->crowd;
    strata_queue *own = make_queue();
    member->right = true;
    for (unsigned i = 0; i < crowd->repetitions && member->right; i++) {
        member->seed = member->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t bytes = (member->seed >> 40) % 16 * 1024 + 1024;
        unsigned place = (unsigned)(member->seed >> 33) % SHARED_PLACES;
        uint32_t value = (uint32_t)(member->seed >> 17);
        strata_buffer *mine = take_for(crowd->pool, bytes, own);
        strata_event *written = NULL;
        CHECK(strata_fill_async(own, strata_all(mine), &value, sizeof value, &written));
        CHECK(strata_event_wait(written));
        strata_event_destroy(&written);
        pthread_mutex_lock(&crowd->lock);
        strata_buffer *theirs = crowd->places[place];
        uint32_t expected = crowd->values[place];
        crowd->places[place] = mine;
        crowd->values[place] = value;
        pthread_mutex_unlock(&crowd->lock);
        if (!theirs)
            continue;
        uint64_t last = strata_buffer_get_info(theirs)->bytes / 4 - 1;
        member->right = word(own, theirs, 0) == expected && word(own, theirs, last) == expected;
        strata_buffer_destroy(&theirs);
    }
    strata_queue_destroy(&own);
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    struct crowd crowd = {.repetitions = contract_is_slow(device) ? 20 : 300};
    struct member members[THREADS];
    pthread_t threads[THREADS];
    crowd.pool = make_pool(STRATA_POOL(.block_bytes = MIB, .max_block_bytes = MIB, .dedicated_bytes = 12 * KIB));
    pthread_mutex_init(&crowd.lock, NULL);
    for (unsigned i = 0; i < THREADS; i++) {
        members[i] = (struct member){&crowd, i + 1, false};
        assert_int_equal(pthread_create(&threads[i], NULL, mingle, &members[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(members[i].right);
    }
    for (unsigned i = 0; i < SHARED_PLACES; i++)
        strata_buffer_destroy(&crowd.places[i]);
    CHECK(strata_pool_validate(crowd.pool));
    assert_int_equal(stats_of(crowd.pool).live_buffers, 0);
    assert_int_equal(stats_of(crowd.pool).total_buffers, THREADS * crowd.repetitions);
    pthread_mutex_destroy(&crowd.lock);
    strata_pool_destroy(&crowd.pool);
}

/* Resident memory does not grow over many short lives of a pool and its buffers. */
static void test_many_lives(void **state) {
    (void)state;
    unsigned lives = contract_is_slow(device) ? 200 : 10000;
    uint64_t before = 0;
    for (unsigned i = 0; i < lives; i++) {
        strata_pool *pool = make_pool(STRATA_POOL(.block_bytes = 64 * KIB));
        strata_buffer *buffer = take_for(pool, 4096, queue);
        CHECK(strata_fill_async(queue, strata_all(buffer), &i, sizeof i, NULL));
        if (i % 2)
            CHECK(strata_queue_finish(queue));
        strata_buffer_destroy(&buffer);
        strata_pool_destroy(&pool);
        if (i == lives / 2)
            before = contract_resident_bytes();
    }
    uint64_t after = contract_resident_bytes();
    assert_true(after <= before + 4 * MIB);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_another_queue_comes_after),
        cmocka_unit_test(test_same_queue_reuses_at_once),
        cmocka_unit_test(test_waits_and_searches_again),
        cmocka_unit_test(test_host_work_is_not_waited_for),
        cmocka_unit_test(test_queues_end_first),
        cmocka_unit_test(test_context_is_released_first),
        cmocka_unit_test(test_given_back_in_a_loop),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_many_lives),
    };
    device = contract_open();
    if (!device)
        return CONTRACT_SKIPPED;
    queue = strata_device_queue(device);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    strata_device_close(&device);
    return failed;
}
