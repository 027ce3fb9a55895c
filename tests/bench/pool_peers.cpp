// CUDA's stream-ordered allocator and RMM's pool and arena, on the default stream of the first GPU.
#include "pool_peers.h"

#include <cstddef>

#ifdef STRATA_BENCH_CUDA
#include <cuda_runtime_api.h>
#endif
#ifdef STRATA_BENCH_RMM
#include <rmm/mr/arena_memory_resource.hpp>
#include <rmm/mr/cuda_memory_resource.hpp>
#include <rmm/mr/pool_memory_resource.hpp>

#include <optional>
#endif

namespace {

pool_peer peers[8];

#ifdef STRATA_BENCH_CUDA
void *take_async(std::size_t bytes) {
    void *memory = nullptr;
    return cudaMallocAsync(&memory, bytes, nullptr) == cudaSuccess ? memory : nullptr;
}

void give_async(void *memory, std::size_t) {
    cudaFreeAsync(memory, nullptr);
}

// Freed memory stays with the pool, as it does in the others; by default it goes back at each synchronisation.
bool open_async() {
    cudaMemPool_t pool;
    unsigned long long all = ~0ull;
    return cudaDeviceGetDefaultMemPool(&pool, 0) == cudaSuccess &&
           cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all) == cudaSuccess;
}
#endif

#ifdef STRATA_BENCH_RMM
const std::size_t rmm_bytes = std::size_t(20) << 30;
std::optional<rmm::mr::pool_memory_resource> rmm_pool;
std::optional<rmm::mr::arena_memory_resource> rmm_arena;

template <typename Resource> void *take_rmm(Resource &resource, std::size_t bytes) {
    try {
        return resource.allocate(cuda::stream_ref{cudaStream_t{}}, bytes, 256);
    } catch (...) {
        return nullptr;
    }
}

void *take_pool(std::size_t bytes) {
    return take_rmm(*rmm_pool, bytes);
}

void give_pool(void *memory, std::size_t bytes) {
    rmm_pool->deallocate(cuda::stream_ref{cudaStream_t{}}, memory, bytes, 256);
}

void *take_arena(std::size_t bytes) {
    return take_rmm(*rmm_arena, bytes);
}

void give_arena(void *memory, std::size_t bytes) {
    rmm_arena->deallocate(cuda::stream_ref{cudaStream_t{}}, memory, bytes, 256);
}
#endif

} // namespace

extern "C" size_t pool_peers_open(const struct pool_peer **result) {
    std::size_t count = 0;
    *result = peers;
#ifdef STRATA_BENCH_CUDA
    if (open_async())
        peers[count++] = {"cudaMallocAsync", take_async, give_async};
#endif
#ifdef STRATA_BENCH_RMM
    try {
        rmm_pool.emplace(rmm::mr::cuda_memory_resource{}, rmm_bytes, rmm_bytes);
        rmm_arena.emplace(rmm::mr::cuda_memory_resource{}, rmm_bytes);
        peers[count++] = {"RMM pool", take_pool, give_pool};
        peers[count++] = {"RMM arena", take_arena, give_arena};
    } catch (...) {
    }
#endif
    return count;
}
