/* Side by side measurement. */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define FOREIGN_SHARE 0.05
#define MOST_ROUNDS 256

double measure_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double own_cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

/* Of all cores together; idle and waiting for input do not count. */
static double machine_cpu_seconds(void) {
    unsigned long long field[8] = {0};
    FILE *file = fopen("/proc/stat", "re");
    if (!file)
        return 0;
    int got = fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &field[0], &field[1], &field[2], &field[3],
                     &field[4], &field[5], &field[6], &field[7]);
    fclose(file);
    unsigned long long busy = got == 8 ? field[0] + field[1] + field[2] + field[5] + field[6] + field[7] : 0;
    return (double)busy / (double)sysconf(_SC_CLK_TCK);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct summary summarise(double *seconds, size_t count) {
    qsort(seconds, count, sizeof *seconds, by_value);
    size_t edge = (count - 1) / 20;
    return (struct summary){count, seconds[count / 2], seconds[edge], seconds[count - 1 - edge]};
}

/* After a run that does not count: the contender before has left its own data in the caches. */
static bool sample(const struct contender *contender, size_t runs, double *seconds) {
    if (!contender->run(contender->user))
        return false;
    double begin = measure_seconds();
    for (size_t i = 0; i < runs; i++)
        if (!contender->run(contender->user))
            return false;
    *seconds = (measure_seconds() - begin) / (double)runs;
    return true;
}

static void print(const char *title, const struct contender *contenders, size_t count, const struct summary *summaries,
                  size_t rejected) {
    printf("%s (%zu rounds, %zu rejected)\n", title, summaries[0].rounds, rejected);
    for (size_t i = 0; i < count; i++)
        printf("  %-34s %10.1f us  [%.1f .. %.1f]  %8.2f GB/s  %5.2f\n", contenders[i].name, summaries[i].median * 1e6,
               summaries[i].low * 1e6, summaries[i].high * 1e6, contenders[i].bytes / summaries[i].median * 1e-9,
               (contenders[i].bytes / summaries[i].median) / (contenders[0].bytes / summaries[0].median));
    fflush(stdout);
}

bool measure(const char *title, const struct contender *contenders, size_t count, size_t rounds, size_t runs,
             bool guard, struct summary *summaries) {
    static double seconds[MEASURE_CONTENDERS][MOST_ROUNDS];
    struct summary own[MEASURE_CONTENDERS] = {{0}};
    size_t accepted = 0, rejected = 0;
    if (count < 1 || count > MEASURE_CONTENDERS || rounds > MOST_ROUNDS)
        return false;
    for (size_t round = 0; accepted < rounds && round < 2 + 3 * rounds; round++) {
        double wall = measure_seconds(), busy = machine_cpu_seconds(), mine = own_cpu_seconds();
        for (size_t i = 0; i < count; i++) {
            if (!sample(&contenders[i], runs, &seconds[i][accepted])) {
                printf("%s: %s gave a wrong result\n", title, contenders[i].name);
                return false;
            }
        }
        wall = measure_seconds() - wall;
        double foreign = (machine_cpu_seconds() - busy) - (own_cpu_seconds() - mine);
        bool quiet = !guard || foreign / wall < FOREIGN_SHARE;
        if (round >= 2 && quiet)
            accepted++;
        else if (round >= 2)
            rejected++;
    }
    if (accepted == 0) {
        printf("%s: no round was free of other work on this machine\n", title);
        return true;
    }
    for (size_t i = 0; i < count; i++)
        own[i] = summarise(seconds[i], accepted);
    print(title, contenders, count, own, rejected);
    for (size_t i = 0; summaries && i < count; i++)
        summaries[i] = own[i];
    return true;
}

void measure_fill_f32(float *values, size_t count, uint64_t seed) {
    uint64_t state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    for (size_t i = 0; i < count; i++) {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        values[i] = (float)((state * UINT64_C(0x2545F4914F6CDD1D)) >> 40) * 0x1p-24f;
    }
}
