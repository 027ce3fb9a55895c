/* Side by side measurement: contenders take turns in every round, and a round that other work disturbed is thrown away.
 */
#ifndef STRATA_BENCH_MEASURE_H
#define STRATA_BENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One contender: runs its work once, to the end, and tells whether the result was right. */
struct contender {
    const char *name;
    bool (*run)(void *user);
    void *user;
    double bytes; /* what one run moves, by the benchmark's own count */
};

struct summary {
    size_t rounds;
    double median, low, high; /* seconds; the 5th and the 95th percentile */
};

#define MEASURE_CONTENDERS 8

/* Two rounds to warm up, then up to `rounds` accepted ones, each contender once per round in turn; gives up on quiet
 * after three times as many. A sample is the mean of `runs`, after one that does not count. With `guard`, a round
 * counts only when the rest of the machine used less than 5 % of it. Prints a table with the ratio to the first
 * contender; false when a result was wrong, and then no figure is printed. */
bool measure(const char *title, const struct contender *contenders, size_t count, size_t rounds, size_t runs,
             bool guard, struct summary *summaries);

double measure_seconds(void);

/* Numbers from a fixed generator (xorshift64*), so that nothing can be compressed. In [0, 1). */
void measure_fill_f32(float *values, size_t count, uint64_t seed);

#endif
