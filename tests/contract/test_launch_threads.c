/* One kernel launched by many threads at once: each launch has its own arguments (case 13 of clFFT#146 and its kin). */
#include "launching.h"

#include <pthread.h>

#define THREADS 8
#define WORDS 64

static strata_device *device;
static strata_program *program;
static strata_kernel *put;
static unsigned launches;

struct worker {
    pthread_t thread;
    strata_queue *queue;
    strata_buffer *buffer;
    uint32_t id;
    unsigned wrong;
};

/* Values above 16 bytes go another way than small ones, so both are used. */
struct ids {
    uint32_t id[8];
};

static bool holds_only(struct worker *worker, uint32_t expected) {
    uint32_t found[WORDS];
    if (strata_read(worker->queue, strata_all(worker->buffer), found) != STRATA_OK)
        return false;
    for (size_t i = 0; i < WORDS; i++)
        if (found[i] != expected)
            return false;
    return true;
}

static void *launch_again_and_again(void *user) {
    struct worker *worker = user;
    for (unsigned i = 0; i < launches; i++) {
        uint32_t id = worker->id * 100000 + i;
        struct ids ids = {{0, 0, 0, 0, 0, 0, 0, id}};
        strata_arg args[] = {strata_arg_slice(strata_all(worker->buffer)), strata_arg_value(&ids, sizeof ids),
                             strata_arg_u32(id), strata_arg_local(16 + worker->id * 16)};
        worker->wrong += strata_launch(worker->queue, put, strata_grid_1d(WORDS), args, 4) != STRATA_OK;
        memset(&ids, 0xff, sizeof ids);
        if (i % 10 == 9)
            worker->wrong += !holds_only(worker, id);
    }
    worker->wrong += !holds_only(worker, worker->id * 100000 + launches - 1);
    return NULL;
}

static void run(bool own_queues) {
    struct worker workers[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] =
            (struct worker){.queue = strata_device_queue(device), .buffer = words(device, WORDS, 0), .id = i + 1};
        if (own_queues)
            CHECK(strata_queue_create(device, NULL, &workers[i].queue));
    }
    CHECK(strata_queue_finish(strata_device_queue(device)));
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, launch_again_and_again, &workers[i]), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (size_t i = 0; i < THREADS; i++) {
        if (own_queues)
            strata_queue_destroy(&workers[i].queue);
        strata_buffer_destroy(&workers[i].buffer);
    }
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(workers[i].wrong, 0);
}

static void on_queues_of_their_own(void **state) {
    (void)state;
    run(true);
}

static void on_one_queue(void **state) {
    (void)state;
    run(false);
}

static void *take_kernels(void *user) {
    struct worker *worker = user;
    for (unsigned i = 0; i < 50; i++) {
        strata_kernel *kernel = NULL;
        worker->wrong += strata_program_kernel(program, i % 2 ? "put" : "other", &kernel) != STRATA_OK || !kernel ||
                         strata_kernel_get_info(kernel)->max_group_items == 0;
    }
    return NULL;
}

static void kernels_are_taken_at_once(void **state) {
    (void)state;
    struct worker workers[THREADS] = {{.wrong = 0}};
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, take_kernels, &workers[i]), 0);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].wrong, 0);
    }
}

int main(void) {
    static const char source[] = "typedef struct { uint id[8]; } ids;\n"
                                 "__kernel void put(__global uint *out, ids large, uint small, __local uint *room) {\n"
                                 "    if (get_local_id(0) == 0) room[3] = large.id[7];\n"
                                 "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                                 "    out[get_global_id(0)] = room[3] == small ? small : 0xdeadbeef;\n"
                                 "}\n"
                                 "__kernel void other(__global uint *out) { out[0] = 1; }\n";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_taken_at_once),
        cmocka_unit_test(on_queues_of_their_own),
        cmocka_unit_test(on_one_queue),
    };
    device = contract_open();
    if (!device)
        return CONTRACT_SKIPPED;
    launches = contract_is_slow(device) ? 50 : 300;
    if (strata_program_build(device, STRATA_PROGRAM(.source = source), &program) != STRATA_OK ||
        strata_program_kernel(program, "put", &put) != STRATA_OK) {
        fprintf(stderr, "%s\n%s\n", strata_last_error()->message, strata_last_error()->log);
        return 1;
    }
    int failed = cmocka_run_group_tests_name("launch threads", tests, NULL, NULL);
    strata_program_destroy(&program);
    strata_device_close(&device);
    return failed;
}
