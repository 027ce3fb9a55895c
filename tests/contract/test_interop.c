/* strata over the caller's OpenCL objects: order, reference counts, parts of one parent, and what does not fit. */
#include "contract.h"

#include "strata/opencl.h"
#include "strata/transfer.h"

#include <time.h>

static cl_device_id id;
static cl_context context;
static cl_mem watched;

static cl_uint context_references(void) {
    cl_uint count = 0;
    assert_int_equal(clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, NULL), CL_SUCCESS);
    return count;
}

static cl_uint watched_references(void) {
    cl_uint count = 0;
    assert_int_equal(clGetMemObjectInfo(watched, CL_MEM_REFERENCE_COUNT, sizeof count, &count, NULL), CL_SUCCESS);
    return count;
}

/* A runtime's own thread may still hold an event, and by it the context, for a moment after the event is complete:
 * rusticl does. What is never given back stays above the count for as long as is waited. */
static bool comes_down(cl_uint (*count)(void), cl_uint least) {
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    for (int i = 0; i < 1000; i++) {
        if (count() <= least)
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

static cl_command_queue make_queue(cl_command_queue_properties properties) {
    cl_int code = CL_SUCCESS;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    cl_command_queue queue = clCreateCommandQueue(context, id, properties, &code);
#pragma GCC diagnostic pop
    return code == CL_SUCCESS ? queue : NULL;
}

/* Over the caller's context and queue, in order and out of order where the runtime has that. */
static void test_over_the_callers_queue(void **state) {
    (void)state;
    static const cl_command_queue_properties properties[] = {0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE};
    for (int i = 0; i < 2; i++) {
        cl_command_queue native = make_queue(properties[i]);
        if (!native)
            continue;
        cl_uint before = context_references();
        cl_int code = CL_SUCCESS;
        cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &code);
        assert_int_equal(code, CL_SUCCESS);
        strata_device *device = NULL;
        strata_buffer *buffer = NULL;
        unsigned char found[4096];
        CHECK(strata_opencl_device_open(context, id, native, NULL, &device));
        strata_queue *queue = strata_device_queue(device);
        assert_ptr_equal(strata_opencl_context(device), context);
        assert_ptr_equal(strata_opencl_device(device), id);
        CHECK(strata_opencl_buffer_wrap(device, memory, "theirs", &buffer));
        assert_ptr_equal(strata_opencl_mem(buffer), memory);
        assert_int_equal(strata_buffer_get_info(buffer)->bytes, 4096);
        for (unsigned char byte = 0; byte < 50; byte++) {
            CHECK(strata_fill_async(queue, strata_all(buffer), &byte, 1, NULL));
            CHECK(strata_copy_async(queue, strata_sub(strata_all(buffer), 0, 2048),
                                    strata_sub(strata_all(buffer), 2048, 2048), NULL));
        }
        /* The caller's own command comes after strata's, on the same queue. */
        assert_ptr_equal(strata_opencl_queue(queue), native);
        assert_int_equal(
            clEnqueueReadBuffer(strata_opencl_queue(queue), memory, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL),
            CL_SUCCESS);
        assert_int_equal(found[0], 49);
        assert_int_equal(found[4095], 49);
        /* The caller lets go first. */
        clReleaseCommandQueue(native);
        CHECK(strata_fill(queue, strata_all(buffer), "e", 1));
        strata_buffer_destroy(&buffer);
        strata_device_close(&device);
        watched = memory;
        assert_true(comes_down(watched_references, 1));
        clReleaseMemObject(memory);
        assert_true(comes_down(context_references, before));
    }
}

static void test_parts_of_one_parent(void **state) {
    (void)state;
    enum { BYTES = 1 << 16, PART = 1 << 15 };
    static unsigned char host[BYTES], found[BYTES];
    cl_int code = CL_SUCCESS;
    cl_mem parent = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &code), parts[2];
    assert_int_equal(code, CL_SUCCESS);
    for (int i = 0; i < 2; i++) {
        cl_buffer_region region = {(size_t)i * 4096, PART};
        parts[i] = clCreateSubBuffer(parent, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
        assert_int_equal(code, CL_SUCCESS);
    }
    strata_device *device = NULL;
    strata_buffer *buffers[2] = {0}, *whole = NULL;
    CHECK(strata_opencl_device_open(context, id, NULL, NULL, &device));
    strata_queue *queue = strata_device_queue(device);
    CHECK(strata_opencl_buffer_wrap(device, parent, NULL, &whole));
    CHECK(strata_opencl_buffer_wrap(device, parts[0], "first", &buffers[0]));
    CHECK(strata_opencl_buffer_wrap(device, parts[1], "second", &buffers[1]));
    contract_random(host, BYTES, 2);
    CHECK(strata_write(queue, strata_all(whole), host));
    CHECK(strata_copy(queue, strata_all(buffers[1]), strata_all(buffers[0]))); /* they overlap: as by memmove */
    memmove(host + 4096, host, PART);
    CHECK(strata_read(queue, strata_all(whole), found));
    assert_memory_equal(found, host, BYTES);
    strata_buffer_destroy(&buffers[0]);
    strata_buffer_destroy(&buffers[1]);
    strata_buffer_destroy(&whole);
    strata_device_close(&device);
    clReleaseMemObject(parts[1]); /* the newer one first: NVIDIA's runtime crashes otherwise */
    clReleaseMemObject(parts[0]);
    watched = parent;
    assert_true(comes_down(watched_references, 1));
    clReleaseMemObject(parent);
}

static void test_what_does_not_fit(void **state) {
    (void)state;
    cl_int code = CL_SUCCESS;
    cl_context other = clCreateContext(NULL, 1, &id, NULL, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    cl_mem foreign = clCreateBuffer(other, CL_MEM_READ_WRITE, 64, NULL, &code);
    cl_command_queue native = make_queue(0);
    strata_device *device = NULL, *wrong = NULL;
    strata_buffer *buffer = NULL;
    strata_queue *queue = NULL;
    CHECK(strata_opencl_device_open(context, id, NULL, NULL, &device));
    EXPECT(strata_opencl_device_open(other, id, native, NULL, &wrong), STRATA_INVALID_ARGUMENT, "another context");
    EXPECT(strata_opencl_device_open(NULL, id, NULL, NULL, &wrong), STRATA_INVALID_ARGUMENT, "cl_context");
    EXPECT(strata_opencl_buffer_wrap(device, foreign, NULL, &buffer), STRATA_INVALID_ARGUMENT, "another context");
    EXPECT(strata_opencl_buffer_wrap(device, NULL, NULL, &buffer), STRATA_INVALID_ARGUMENT, "NULL");
    EXPECT(strata_opencl_queue_wrap(device, NULL, &queue), STRATA_INVALID_ARGUMENT, "NULL");
    CHECK(strata_opencl_queue_wrap(device, native, &queue));
    CHECK(strata_queue_finish(queue));
    strata_queue_destroy(&queue);
    assert_null(strata_opencl_mem(NULL));
    assert_null(strata_opencl_queue(NULL));
    strata_device_close(&device);
    clReleaseCommandQueue(native);
    clReleaseMemObject(foreign);
    clReleaseContext(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_over_the_callers_queue),
                                       cmocka_unit_test(test_parts_of_one_parent),
                                       cmocka_unit_test(test_what_does_not_fit)};
    strata_device *device = contract_open();
    if (!device)
        return CONTRACT_SKIPPED;
    cl_int code = CL_SUCCESS;
    id = strata_opencl_device(device);
    context = clCreateContext(NULL, 1, &id, NULL, NULL, &code);
    if (code != CL_SUCCESS)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    clReleaseContext(context);
    strata_device_close(&device);
    return failed;
}
