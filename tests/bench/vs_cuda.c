/* strata on NVIDIA's OpenCL beside CUDA's own calls on the same GPU, in one process: f32 sums against CUB's
 * DeviceReduce::Sum, and copies of page-locked memory against cudaMemcpy. Usage: vs_cuda [DEVICE] [LOG2_COUNT]. */
#include "cuda_peer.h"
#include "measure.h"

#include "strata/primitives.h"
#include "strata/transfer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 31

/* Per sample: the driver changes between its two kinds of context once in each, which costs 100 us. */
#define RUNS 32

/* Relative to the sum of the magnitudes; a plain tree of 2^28 floats stays well below it. */
#define TOLERANCE 1e-5

struct bench {
    strata_device *device;
    strata_queue *queue;
    strata_buffer *data, *result, *pinned;
    float *host;
    size_t count;
    double expected;
};

static int fail(const char *what) {
    fprintf(stderr, "vs_cuda: %s: %s\n", what, strata_last_error()->message);
    return 1;
}

static bool is_right(const struct bench *bench, float sum) {
    return fabs((double)sum - bench->expected) <= TOLERANCE * bench->expected;
}

static bool run_cub(void *user) {
    const struct bench *bench = user;
    return cuda_peer_sum(bench->count) == 0;
}

static const struct strata_reduce_desc *sum_of(const struct bench *bench, struct strata_reduce_desc *desc) {
    strata_reduce_desc_init(desc);
    desc->op = STRATA_SUM;
    desc->type = STRATA_F32;
    desc->input = strata_sub(strata_all(bench->data), 0, bench->count * sizeof(float));
    return desc;
}

static bool run_strata_on_device(void *user) {
    const struct bench *bench = user;
    struct strata_reduce_desc desc;
    return strata_reduce_async(bench->queue, sum_of(bench, &desc), strata_all(bench->result), NULL) == STRATA_OK &&
           strata_queue_finish(bench->queue) == STRATA_OK;
}

static bool run_strata_to_host(void *user) {
    const struct bench *bench = user;
    struct strata_reduce_desc desc;
    float sum = 0;
    return strata_reduce(bench->queue, sum_of(bench, &desc), &sum) == STRATA_OK && is_right(bench, sum);
}

/* One after the other in the queue, and one wait: what a program sees that does not look at each sum. */
static bool run_cub_in_a_row(void *user) {
    const struct bench *bench = user;
    return cuda_peer_sums(bench->count, RUNS) == 0;
}

static bool run_strata_in_a_row(void *user) {
    const struct bench *bench = user;
    struct strata_reduce_desc desc;
    sum_of(bench, &desc);
    for (int i = 0; i < RUNS; i++)
        if (strata_reduce_async(bench->queue, &desc, strata_all(bench->result), NULL) != STRATA_OK)
            return false;
    return strata_queue_finish(bench->queue) == STRATA_OK;
}

static bool check_results(const struct bench *bench) {
    float cub = 0, strata = 0;
    strata_slice result = strata_sub(strata_all(bench->result), 0, sizeof strata);
    if (cuda_peer_sum_result(&cub) != 0 || strata_read(bench->queue, result, &strata) != STRATA_OK)
        return false;
    printf("  sums: CUB %.9g, strata %.9g, expected %.9g\n", (double)cub, (double)strata, bench->expected);
    return is_right(bench, cub) && is_right(bench, strata);
}

static bool measure_sums(struct bench *bench, size_t total) {
    bool right = true;
    for (unsigned power = 10; power <= 63 && ((size_t)1 << power) <= total && right; power += power < 20 ? 5 : 2) {
        char title[64];
        bench->count = (size_t)1 << power;
        bench->expected = 0;
        for (size_t i = 0; i < bench->count; i++)
            bench->expected += (double)bench->host[i];
        snprintf(title, sizeof title, "sum of 2^%u f32", power);
        double bytes = (double)bench->count * sizeof(float);
        const struct contender contenders[] = {{"CUB DeviceReduce::Sum", run_cub, bench, bytes},
                                               {"strata_reduce_async", run_strata_on_device, bench, bytes},
                                               {"strata_reduce (to the host)", run_strata_to_host, bench, bytes}};
        right = measure(title, contenders, 3, ROUNDS, RUNS, false, NULL) && check_results(bench);
        const struct contender rows[] = {{"CUB DeviceReduce::Sum", run_cub_in_a_row, bench, RUNS * bytes},
                                         {"strata_reduce_async", run_strata_in_a_row, bench, RUNS * bytes}};
        snprintf(title, sizeof title, "%d sums of 2^%u f32 in a row", RUNS, power);
        right = right && measure(title, rows, 2, ROUNDS, 1, false, NULL);
    }
    return right;
}

static bool run_cuda_write(void *user) {
    const struct bench *bench = user;
    return cuda_peer_write(cuda_peer_pinned(), bench->count * sizeof(float)) == 0;
}

static bool run_cuda_read(void *user) {
    const struct bench *bench = user;
    return cuda_peer_read(cuda_peer_pinned(), bench->count * sizeof(float)) == 0;
}

static bool run_strata_write(void *user) {
    const struct bench *bench = user;
    return strata_write(bench->queue, strata_all(bench->data), strata_buffer_get_info(bench->pinned)->host_pointer) ==
           STRATA_OK;
}

static bool run_strata_read(void *user) {
    const struct bench *bench = user;
    return strata_read(bench->queue, strata_all(bench->data), strata_buffer_get_info(bench->pinned)->host_pointer) ==
           STRATA_OK;
}

static bool measure_copies(struct bench *bench) {
    size_t bytes = bench->count * sizeof(float);
    void *pinned = strata_buffer_get_info(bench->pinned)->host_pointer;
    memcpy(pinned, bench->host, bytes);
    memcpy(cuda_peer_pinned(), bench->host, bytes);
    const struct contender writes[] = {{"cudaMemcpy, pinned", run_cuda_write, bench, (double)bytes},
                                       {"strata_write from PINNED", run_strata_write, bench, (double)bytes}};
    const struct contender reads[] = {{"cudaMemcpy, pinned", run_cuda_read, bench, (double)bytes},
                                      {"strata_read to PINNED", run_strata_read, bench, (double)bytes}};
    if (!measure("host to device", writes, 2, ROUNDS, 1, false, NULL))
        return false;
    memset(pinned, 0, bytes);
    memset(cuda_peer_pinned(), 0, bytes);
    return measure("device to host", reads, 2, ROUNDS, 1, false, NULL) && memcmp(pinned, bench->host, bytes) == 0 &&
           memcmp(cuda_peer_pinned(), bench->host, bytes) == 0;
}

static int open_bench(struct bench *bench, const char *selector) {
    size_t bytes = bench->count * sizeof(float);
    int driver = 0;
    if (strata_device_open(selector, NULL, &bench->device) != STRATA_OK)
        return fail("no device");
    bench->queue = strata_device_queue(bench->device);
    bench->host = malloc(bytes);
    if (!bench->host || cuda_peer_open(bytes) != 0)
        return fail("CUDA or memory");
    if (strata_buffer_create(bench->device, STRATA_BUFFER(.bytes = bytes, .name = "data"), &bench->data) != STRATA_OK ||
        strata_buffer_create(bench->device, STRATA_BUFFER(.bytes = 16, .name = "result"), &bench->result) !=
            STRATA_OK ||
        strata_buffer_create(bench->device, STRATA_BUFFER(.bytes = bytes, .kind = STRATA_PINNED, .name = "pinned"),
                             &bench->pinned) != STRATA_OK)
        return fail("buffers");
    measure_fill_f32(bench->host, bench->count, 1);
    cuda_peer_driver(&driver);
    const struct strata_device_info *info = strata_device_get_info(bench->device);
    printf("%s, driver %s, CUDA %d.%d, strata %s\n", info->name, info->driver_version, driver / 1000,
           driver % 1000 / 10, strata_version());
    return 0;
}

int main(int argc, char **argv) {
    struct bench bench = {.count = (size_t)1 << (argc > 2 ? atoi(argv[2]) : 28)};
    size_t total = bench.count;
    if (open_bench(&bench, argc > 1 ? argv[1] : "nvidia") != 0)
        return 1;
    bool right = measure_copies(&bench) && measure_sums(&bench, total);
    if (!right)
        fail("a check failed");
    strata_buffer_destroy(&bench.data);
    strata_buffer_destroy(&bench.result);
    strata_buffer_destroy(&bench.pinned);
    strata_device_close(&bench.device);
    cuda_peer_close();
    free(bench.host);
    return right ? 0 : 1;
}
