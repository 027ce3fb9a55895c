/* Queues and events: one order for host and device work, waits across queues, callbacks, times, and their refusals. */
#include "contract.h"

#include "strata/transfer.h"

#include <pthread.h>

static strata_device *device;
static strata_queue *queue;

static strata_buffer *create(uint64_t bytes) {
    strata_buffer *buffer = NULL;
    CHECK(strata_buffer_create(device, STRATA_BUFFER(.bytes = bytes), &buffer));
    return buffer;
}

struct step {
    unsigned char *memory;
    unsigned char expected, next;
    bool right;
};

static enum strata_status check_and_change(void *user) {
    struct step *step = user;
    step->right = step->memory[0] == step->expected && step->memory[4095] == step->expected;
    memset(step->memory, step->next, 4096);
    return STRATA_OK;
}

/* Device writes, host reads and changes, device copies what the host wrote: in the order in which they were put in. */
static void test_host_work_is_in_order(void **state) {
    (void)state;
    static unsigned char memory[4096], found[4096];
    strata_buffer *buffer = create(4096);
    struct step steps[20];
    for (int i = 0; i < 20; i++) {
        unsigned char filled = (unsigned char)(2 * i), changed = (unsigned char)(2 * i + 1);
        steps[i] = (struct step){memory, filled, changed, false};
        CHECK(strata_fill_async(queue, strata_all(buffer), &filled, 1, NULL));
        CHECK(strata_read_async(queue, strata_all(buffer), memory, NULL));
        CHECK(strata_queue_host(queue, check_and_change, &steps[i], NULL));
        CHECK(strata_write_async(queue, strata_all(buffer), memory, NULL));
    }
    CHECK(strata_read(queue, strata_all(buffer), found));
    assert_int_equal(found[0], 39);
    assert_int_equal(found[4095], 39);
    for (int i = 0; i < 20; i++)
        assert_true(steps[i].right);
    strata_buffer_destroy(&buffer);
}

static enum strata_status refuse(void *user) {
    (void)user;
    return STRATA_IO;
}

static enum strata_status finish_own(void *user) {
    enum strata_status *answers = user;
    strata_queue *own = queue;
    answers[0] = strata_queue_finish(own);
    strata_event *event = NULL;
    CHECK(strata_queue_mark(own, &event));
    answers[1] = strata_event_wait(event);
    strata_event_destroy(&event);
    strata_queue_destroy(&own);
    answers[2] = own ? STRATA_OK : STRATA_INTERNAL;
    return STRATA_OK;
}

static void test_host_work_that_fails(void **state) {
    (void)state;
    strata_event *event = NULL;
    enum strata_status answers[3] = {STRATA_OK, STRATA_OK, STRATA_INTERNAL};
    CHECK(strata_queue_host(queue, refuse, NULL, &event));
    EXPECT(strata_event_wait(event), STRATA_IO, "IO");
    CHECK(strata_queue_finish(queue)); /* the event had reported it */
    strata_event_destroy(&event);
    CHECK(strata_queue_host(queue, refuse, NULL, NULL));
    EXPECT(strata_queue_finish(queue), STRATA_IO, "IO");
    CHECK(strata_queue_finish(queue)); /* once */
    CHECK(strata_queue_host(queue, finish_own, answers, NULL));
    CHECK(strata_queue_finish(queue));
    assert_int_equal(answers[0], STRATA_BUSY);
    assert_int_equal(answers[1], STRATA_BUSY);
    assert_int_equal(answers[2], STRATA_OK);
    EXPECT(strata_queue_host(queue, NULL, NULL, NULL), STRATA_INVALID_ARGUMENT, "function");
}

/* The producer is still behind host work when the consumer waits for it. */
static void test_wait_across_queues(void **state) {
    (void)state;
    for (int other_device = 0; other_device < 2; other_device++) {
        strata_device *second_device = other_device ? contract_open_with(NULL) : NULL;
        strata_queue *second = other_device ? strata_device_queue(second_device) : NULL;
        if (!second)
            CHECK(strata_queue_create(device, STRATA_QUEUE(.name = "second"), &second));
        strata_buffer *buffer = create(256);
        unsigned char found[256] = {0};
        struct contract_gate gate;
        strata_event *event = NULL, *after = NULL;
        bool done = true;
        contract_gate_init(&gate);
        contract_gate_put(&gate, queue);
        CHECK(strata_fill_async(queue, strata_all(buffer), "m", 1, &event));
        CHECK(strata_queue_wait(second, event));
        CHECK(strata_queue_mark(second, &after));
        CHECK(strata_event_is_done(after, &done));
        assert_false(done);
        if (!other_device)
            CHECK(strata_read_async(second, strata_all(buffer), found, NULL));
        contract_gate_open(&gate);
        CHECK(strata_event_wait(after));
        CHECK(strata_queue_finish(second));
        if (other_device) {
            CHECK(strata_event_is_done(event, &done));
            assert_true(done);
        } else {
            assert_int_equal(found[255], 'm');
        }
        contract_gate_release(&gate);
        strata_event_destroy(&event);
        strata_event_destroy(&after);
        if (second_device)
            strata_device_close(&second_device);
        else
            strata_queue_destroy(&second);
        strata_buffer_destroy(&buffer);
    }
}

struct notes {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int count, order[8];
    pthread_t thread;
    enum strata_status status;
    strata_buffer *buffer;
};

static void note(enum strata_status status, void *user) {
    struct notes *notes = user;
    unsigned char byte = 0;
    strata_read(queue, strata_sub(strata_all(notes->buffer), 0, 1), &byte); /* a callback may use strata, and block */
    pthread_mutex_lock(&notes->lock);
    notes->order[notes->count++ % 8] = byte;
    notes->thread = pthread_self();
    notes->status = status;
    pthread_cond_signal(&notes->changed);
    pthread_mutex_unlock(&notes->lock);
}

static void await_notes(struct notes *notes, int count) {
    pthread_mutex_lock(&notes->lock);
    while (notes->count < count)
        pthread_cond_wait(&notes->changed, &notes->lock);
    pthread_mutex_unlock(&notes->lock);
}

static void test_callbacks(void **state) {
    (void)state;
    struct notes notes = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .buffer = create(64)};
    strata_event *event = NULL;
    CHECK(strata_fill_async(queue, strata_all(notes.buffer), "k", 1, &event));
    CHECK(strata_event_on_done(event, note, &notes));
    await_notes(&notes, 1);
    assert_int_equal(notes.order[0], 'k');
    assert_int_equal(notes.status, STRATA_OK);
    assert_false(pthread_equal(notes.thread, pthread_self()));
    CHECK(strata_event_on_done(event, note, &notes)); /* done already */
    strata_event_destroy(&event);                     /* and gone before it is called, perhaps */
    await_notes(&notes, 2);
    CHECK(strata_queue_host(queue, refuse, NULL, &event));
    CHECK(strata_event_on_done(event, note, &notes));
    strata_event_destroy(&event);
    await_notes(&notes, 3);
    assert_int_equal(notes.status, STRATA_IO);
    strata_buffer_destroy(&notes.buffer);
}

static void test_callbacks_before_destroy(void **state) {
    (void)state;
    struct notes notes = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .buffer = create(64)};
    strata_queue *second = NULL;
    CHECK(strata_fill(queue, strata_all(notes.buffer), "v", 1));
    CHECK(strata_queue_create(device, NULL, &second));
    for (int i = 0; i < 8; i++) {
        strata_event *event = NULL;
        CHECK(strata_queue_mark(second, &event));
        CHECK(strata_event_on_done(event, note, &notes));
        strata_event_destroy(&event);
    }
    strata_queue_destroy(&second);
    assert_int_equal(notes.count, 8);
    strata_buffer_destroy(&notes.buffer);
}

static void test_times(void **state) {
    (void)state;
    const struct strata_device_info *info = strata_device_get_info(device);
    strata_queue *timed = NULL;
    strata_event *event = NULL;
    strata_buffer *buffer = create(1 << 20);
    struct strata_event_times times;
    CHECK(strata_queue_create(device, STRATA_QUEUE(.profiling = true), &timed));
    CHECK(strata_copy_async(timed, strata_sub(strata_all(buffer), 0, 1 << 19),
                            strata_sub(strata_all(buffer), 1 << 19, 1 << 19), &event));
    CHECK(strata_event_wait(event));
    if (info->timer_is_reliable) {
        CHECK(strata_event_times(event, &times));
        assert_true(times.queued_ns <= times.started_ns && times.started_ns <= times.ended_ns);
    } else {
        EXPECT(strata_event_times(event, &times), STRATA_UNSUPPORTED, info->timer_note);
    }
    strata_event_destroy(&event);
    strata_queue_destroy(&timed);
    CHECK(strata_fill_async(queue, strata_all(buffer), "t", 1, &event));
    CHECK(strata_event_wait(event));
    EXPECT(strata_event_times(event, &times), STRATA_UNSUPPORTED, "profiling");
    strata_event_destroy(&event);
    strata_buffer_destroy(&buffer);
}

static void test_many_queues(void **state) {
    (void)state;
    strata_queue *queues[64] = {0}, *one_more = NULL, *same = queue;
    unsigned made = 0;
    while (made < 63)
        CHECK(strata_queue_create(device, NULL, &queues[made++]));
    EXPECT(strata_queue_create(device, NULL, &one_more), STRATA_UNSUPPORTED, "64 queues");
    strata_queue_destroy(&queues[--made]);
    CHECK(strata_queue_create(device, NULL, &one_more));
    strata_queue_destroy(&one_more);
    while (made)
        strata_queue_destroy(&queues[--made]);
    strata_queue_destroy(&same); /* the default queue stays */
    CHECK(strata_queue_finish(queue));
    strata_queue_destroy(NULL);
}

struct adder {
    strata_queue *queue;
    long *sum;
};

static enum strata_status add(void *user) {
    ++*(long *)user; /* host work of one queue runs one after the other */
    return STRATA_OK;
}

static void *put_many(void *user) {
    struct adder *adder = user;
    for (int i = 0; i < 200; i++) {
        strata_event *event = NULL;
        if (strata_queue_host(adder->queue, add, adder->sum, i % 10 ? NULL : &event) != STRATA_OK)
            return user;
        if (event && strata_event_wait(event) != STRATA_OK)
            return user;
        strata_event_destroy(&event);
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    long sum = 0;
    struct adder adder = {queue, &sum};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, put_many, &adder), 0);
    for (int i = 0; i < 4; i++) {
        void *answer = NULL;
        pthread_join(threads[i], &answer);
        assert_null(answer);
    }
    CHECK(strata_queue_finish(queue));
    assert_int_equal(sum, 800);
}

static void test_open_and_close(void **state) {
    (void)state;
    int cycles = 30;
    uint64_t before = 0;
    for (int i = 0; i < cycles; i++) {
        strata_device *own = contract_open_with(NULL);
        strata_event *event = NULL;
        CHECK(strata_queue_mark(strata_device_queue(own), &event));
        strata_event_destroy(&event);
        strata_device_close(&own);
        assert_null(own);
        if (i == cycles / 2)
            before = contract_resident_bytes();
    }
    assert_true(contract_resident_bytes() < before + (16u << 20));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_work_is_in_order),
        cmocka_unit_test(test_host_work_that_fails),
        cmocka_unit_test(test_wait_across_queues),
        cmocka_unit_test(test_callbacks),
        cmocka_unit_test(test_callbacks_before_destroy),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_many_queues),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_open_and_close),
    };
    device = contract_open();
    if (!device)
        return CONTRACT_SKIPPED;
    queue = strata_device_queue(device);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    strata_device_close(&device);
    return failed;
}
