/* How busy the machine is beside this process: figures of a CPU device that others disturbed are no figures. */
#include "cli/bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

uint64_t strata_bench_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static double seconds_of(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

/* Processor time of all processes since the machine came up. What a hypervisor gave to others counts, too. */
static bool machine_seconds(double *seconds) {
    uint64_t user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft_irq = 0, steal = 0;
    long ticks = sysconf(_SC_CLK_TCK);
    FILE *file = fopen("/proc/stat", "re");
    if (file == NULL)
        return false;
    int read =
        fscanf(file, "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
               &user, &nice, &system, &idle, &wait, &irq, &soft_irq, &steal);
    fclose(file);
    *seconds = (double)(user + nice + system + irq + soft_irq + steal) / (double)(ticks > 0 ? ticks : 100);
    return read == 8;
}

struct strata_bench_load strata_bench_load_now(void) {
    struct strata_bench_load load = {.wall = (double)strata_bench_now() / 1e9};
    struct rusage usage;
    load.known = machine_seconds(&load.machine) && getrusage(RUSAGE_SELF, &usage) == 0;
    if (load.known)
        load.own = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    return load;
}

double strata_bench_other_cores(const struct strata_bench_load *before) {
    struct strata_bench_load now = strata_bench_load_now();
    double wall = now.wall - before->wall;
    if (!before->known || !now.known || wall <= 0)
        return -1;
    double others = (now.machine - before->machine - (now.own - before->own)) / wall;
    return others > 0 ? others : 0;
}

double strata_bench_core_count(void) {
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (double)count : 1;
}
