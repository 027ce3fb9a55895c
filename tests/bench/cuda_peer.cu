/* CUDA's own calls, for benchmarks that measure strata beside them. */
#include "cuda_peer.h"

#include <cub/device/device_reduce.cuh>
#include <cuda_runtime.h>

static float *device_memory, *device_result;
static void *pinned_memory, *scratch;
static size_t scratch_bytes;
static cudaStream_t stream;

extern "C" int cuda_peer_open(size_t bytes) {
    cub::DeviceReduce::Sum(nullptr, scratch_bytes, device_memory, device_result, (long long)(bytes / sizeof(float)));
    return cudaMalloc((void **)&device_memory, bytes) || cudaMalloc((void **)&device_result, sizeof(float)) ||
           cudaMalloc(&scratch, scratch_bytes) || cudaMallocHost(&pinned_memory, bytes) || cudaStreamCreate(&stream);
}

extern "C" void cuda_peer_close(void) {
    cudaFree(device_memory);
    cudaFree(device_result);
    cudaFree(scratch);
    cudaFreeHost(pinned_memory);
    cudaStreamDestroy(stream);
}

extern "C" void *cuda_peer_pinned(void) {
    return pinned_memory;
}

extern "C" int cuda_peer_driver(int *version) {
    return cudaDriverGetVersion(version);
}

extern "C" int cuda_peer_write(const void *host, size_t bytes) {
    return cudaMemcpy(device_memory, host, bytes, cudaMemcpyHostToDevice);
}

extern "C" int cuda_peer_read(void *host, size_t bytes) {
    return cudaMemcpy(host, device_memory, bytes, cudaMemcpyDeviceToHost);
}

extern "C" int cuda_peer_sum(size_t count) {
    size_t bytes = scratch_bytes;
    return cub::DeviceReduce::Sum(scratch, bytes, device_memory, device_result, (long long)count, stream) ||
           cudaStreamSynchronize(stream);
}

extern "C" int cuda_peer_sums(size_t count, int times) {
    int failed = 0;
    for (int i = 0; i < times; i++) {
        size_t bytes = scratch_bytes;
        failed |= cub::DeviceReduce::Sum(scratch, bytes, device_memory, device_result, (long long)count, stream);
    }
    return failed | cudaStreamSynchronize(stream);
}

extern "C" int cuda_peer_sum_result(float *result) {
    return cudaMemcpy(result, device_result, sizeof *result, cudaMemcpyDeviceToHost);
}
