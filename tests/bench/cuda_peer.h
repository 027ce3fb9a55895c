/* CUDA's own calls, for benchmarks that measure strata beside them; every function is 0 on success. */
#ifndef STRATA_BENCH_CUDA_PEER_H
#define STRATA_BENCH_CUDA_PEER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Device memory of `bytes` and page-locked host memory of the same size, and a stream. */
int cuda_peer_open(size_t bytes);
void cuda_peer_close(void);

void *cuda_peer_pinned(void);
int cuda_peer_driver(int *version);

/* cudaMemcpy between `host` and the device memory: blocking. */
int cuda_peer_write(const void *host, size_t bytes);
int cuda_peer_read(void *host, size_t bytes);

/* cub::DeviceReduce::Sum over the first `count` floats; the result stays on the device, the stream is waited for. */
int cuda_peer_sum(size_t count);
int cuda_peer_sum_result(float *result);

/* The same `times` times, waited for once. */
int cuda_peer_sums(size_t count, int times);

#ifdef __cplusplus
}
#endif
#endif
