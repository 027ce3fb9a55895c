/* RMM's benchmark of random allocations as a list of events. */
#ifndef STRATA_BENCH_RANDOM_ALLOCATIONS_H
#define STRATA_BENCH_RANDOM_ALLOCATIONS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* bytes of 0 is a free of the live allocation at this place, into which the last one then moves. */
struct random_event {
    uint64_t bytes;
    size_t place;
};

/* `count` allocations of up to `most` MiB and as many frees, with at most `cap` bytes alive; the number of events, in
 * *events, which is to be freed. 0 when there is no memory. The sequence is that of cpp/benchmarks/random_allocations
 * with libstdc++'s generators: engine and distributions are the C++ library's own. */
size_t random_allocations(size_t count, size_t most, uint64_t cap, struct random_event **events);

#ifdef __cplusplus
}
#endif
#endif
