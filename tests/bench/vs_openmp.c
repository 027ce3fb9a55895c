/* strata on a CPU device beside an OpenMP `simd` reduction of the same memory size, in one process: f32 sums.
 * Usage: vs_openmp [DEVICE] [LOG2_COUNT]. Do not set OMP_PROC_BIND: the runtime's threads would inherit one core. */
#include "measure.h"

#include "strata/primitives.h"
#include "strata/transfer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define ROUNDS 31

/* Of the sum. A float has 24 bits, and 2^26 of them are added in vectors of 16 by two threads or more. */
#define TOLERANCE 1e-3

struct bench {
    strata_queue *queue;
    strata_buffer *data;
    float *host;
    size_t count;
    double expected;
};

static bool is_right(const struct bench *bench, float sum) {
    return fabs((double)sum - bench->expected) <= TOLERANCE * bench->expected;
}

static bool run_openmp(void *user) {
    const struct bench *bench = user;
    const float *values = bench->host;
    float sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
    for (size_t i = 0; i < bench->count; i++)
        sum += values[i];
    return is_right(bench, sum);
}

static bool run_strata(void *user) {
    const struct bench *bench = user;
    float sum = 0;
    return strata_reduce(bench->queue,
                         STRATA_REDUCE(.op = STRATA_SUM, .type = STRATA_F32, .input = strata_all(bench->data)),
                         &sum) == STRATA_OK &&
           is_right(bench, sum);
}

int main(int argc, char **argv) {
    struct bench bench = {.count = (size_t)1 << (argc > 2 ? atoi(argv[2]) : 26)};
    strata_device *device = NULL;
    size_t bytes = bench.count * sizeof(float);
    bench.host = aligned_alloc((size_t)2 << 20, bytes);
    if (!bench.host || strata_device_open(argc > 1 ? argv[1] : "cpu", NULL, &device) != STRATA_OK ||
        strata_buffer_create(device, STRATA_BUFFER(.bytes = bytes, .name = "data"), &bench.data) != STRATA_OK) {
        fprintf(stderr, "vs_openmp: %s\n", strata_last_error()->message);
        return 1;
    }
    bench.queue = strata_device_queue(device);
#ifdef MADV_HUGEPAGE
    madvise(bench.host, bytes, MADV_HUGEPAGE); /* as strata's own memory on PoCL: the peer is not to lose by its pages */
#endif
    measure_fill_f32(bench.host, bench.count, 1);
    for (size_t i = 0; i < bench.count; i++)
        bench.expected += (double)bench.host[i];
    if (strata_write(bench.queue, strata_all(bench.data), bench.host) != STRATA_OK)
        return 1;
    const struct strata_device_info *info = strata_device_get_info(device);
    printf("%s, %s, strata %s\n", info->name, info->driver_version, strata_version());
    const struct contender contenders[] = {{"OpenMP simd, -O3 -march=native", run_openmp, &bench, (double)bytes},
                                           {"strata_reduce", run_strata, &bench, (double)bytes}};
    bool right = measure("sum of f32", contenders, 2, ROUNDS, 1, true, NULL);
    strata_buffer_destroy(&bench.data);
    strata_device_close(&device);
    free(bench.host);
    return right ? 0 : 1;
}
