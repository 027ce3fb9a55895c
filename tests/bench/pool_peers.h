/* Other allocators of device memory, for benchmarks that run strata's pools beside them. */
#ifndef STRATA_BENCH_POOL_PEERS_H
#define STRATA_BENCH_POOL_PEERS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pool_peer {
    const char *name;
    void *(*take)(size_t bytes); /* NULL when there is none */
    void (*give)(void *memory, size_t bytes);
};

/* Those of this build that work here, each with what it takes beforehand taken; how many. */
size_t pool_peers_open(const struct pool_peer **peers);

#ifdef __cplusplus
}
#endif
#endif
