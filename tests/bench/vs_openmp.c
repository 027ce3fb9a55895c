/* strata on a CPU device beside an OpenMP `simd` reduction of the same memory, in one process: f32 sums.
 * Usage: vs_openmp [DEVICE] [LOG2_COUNT]. Do not set OMP_PROC_BIND: the runtime's threads would inherit one core. */
#include "measure.h"

#include "strata/primitives.h"
#include "strata/transfer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ROUNDS 31
#define RUNS 4 /* per sample */

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

/* Random data in the buffer, and what it should add up to; then the buffer's own memory, which OpenMP is to read. */
static enum strata_status fill(struct bench *bench) {
    void *memory = NULL;
    enum strata_status status = strata_map(bench->queue, strata_all(bench->data), STRATA_MAP_OVERWRITE, &memory);
    if (status != STRATA_OK)
        return status;
    measure_fill_f32(memory, bench->count, 1);
    for (size_t i = 0; i < bench->count; i++)
        bench->expected += (double)((const float *)memory)[i];
    status = strata_unmap(bench->queue, bench->data, memory);
    if (status == STRATA_OK)
        status = strata_map(bench->queue, strata_all(bench->data), STRATA_MAP_READ, &memory);
    bench->host = memory;
    return status;
}

/* OpenMP's threads would spin after their work and take the processor from what runs next, whose time would double. The
 * variable counts at the start of a process only. */
static void let_threads_sleep(char **argv) {
    if (!getenv("OMP_WAIT_POLICY") && setenv("OMP_WAIT_POLICY", "passive", 1) == 0)
        execv("/proc/self/exe", argv);
}

int main(int argc, char **argv) {
    let_threads_sleep(argv);
    struct bench bench = {.count = (size_t)1 << (argc > 2 ? atoi(argv[2]) : 26)};
    strata_device *device = NULL;
    size_t bytes = bench.count * sizeof(float);
    enum strata_status status = strata_device_open(argc > 1 ? argv[1] : "cpu", NULL, &device);
    if (status == STRATA_OK)
        status = strata_buffer_create(device, STRATA_BUFFER(.bytes = bytes, .name = "data"), &bench.data);
    bench.queue = strata_device_queue(device);
    if (status == STRATA_OK)
        status = fill(&bench);
    if (status != STRATA_OK) {
        fprintf(stderr, "vs_openmp: %s\n", strata_last_error()->message);
        return 1;
    }
    const struct strata_device_info *info = strata_device_get_info(device);
    printf("%s, %s, strata %s\n", info->name, info->driver_version, strata_version());
    const struct contender contenders[] = {{"OpenMP simd, -O3 -march=native", run_openmp, &bench, (double)bytes},
                                           {"strata_reduce", run_strata, &bench, (double)bytes}};
    bool right = measure("sum of f32", contenders, 2, ROUNDS, RUNS, true, NULL);
    strata_unmap(bench.queue, bench.data, bench.host);
    strata_buffer_destroy(&bench.data);
    strata_device_close(&device);
    return right ? 0 : 1;
}
