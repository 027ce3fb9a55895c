/* The words in which strata's kernels are written, so that an OpenCL compiler and NVRTC take the same files.
 *
 * A kernel uses KERNEL, GLOBAL, LOCAL, LOCAL_ARRAY, FUNCTION and the functions below instead of the language's own
 * words; vectors have two or four members, reached by .x .y .z .w; pointers to local memory are always marked LOCAL.
 * Wider vectors, .lo, .even and swizzles belong in files for OpenCL alone (the forms for CPU devices). Whoever needs
 * doubles defines STRATA_USE_DOUBLE first: nothing else may hold that word, for devices that do not know it. */
#ifndef STRATA_PORTABLE_H
#define STRATA_PORTABLE_H

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)

typedef unsigned char uchar;
typedef unsigned int uint;
typedef unsigned long long ulong;
typedef long long strata_long;
typedef uint4 strata_uint4;
typedef ulonglong2 strata_ulong2;
typedef longlong2 strata_long2;

#define KERNEL extern "C" __global__
#define FUNCTION static __device__ __forceinline__
#define GLOBAL
#define LOCAL
#define LOCAL_ARRAY(type, name, count) __shared__ type name[count]

FUNCTION void local_barrier(void) {
    __syncthreads();
}
FUNCTION uint group_index(void) {
    return blockIdx.x;
}
FUNCTION uint local_index(void) {
    return threadIdx.x;
}
FUNCTION uint local_count(void) {
    return blockDim.x;
}
FUNCTION ulong global_index(void) {
    return (ulong)blockIdx.x * blockDim.x + threadIdx.x;
}
FUNCTION uint take_ticket(uint *counter) {
    return atomicAdd(counter, 1u);
}

FUNCTION float float_of_bits(uint bits) {
    return __uint_as_float(bits);
}
FUNCTION uint bits_of_float(float value) {
    return __float_as_uint(value);
}
#ifdef STRATA_USE_DOUBLE
FUNCTION double double_of_bits(ulong bits) {
    return __longlong_as_double((long long)bits);
}
FUNCTION ulong bits_of_double(double value) {
    return (ulong)__double_as_longlong(value);
}
#endif

#else

typedef long strata_long;
typedef uint4 strata_uint4;
typedef ulong2 strata_ulong2;
typedef long2 strata_long2;

#define KERNEL __kernel
/* Always, because rusticl 25.0 crashes on functions with pointers to local memory that Clang has left as they are. */
#define FUNCTION static inline __attribute__((always_inline))
#define GLOBAL __global
#define LOCAL __local
#define LOCAL_ARRAY(type, name, count) __local type name[count]

FUNCTION void local_barrier(void) {
    barrier(CLK_LOCAL_MEM_FENCE);
}
FUNCTION uint group_index(void) {
    return (uint)get_group_id(0);
}
FUNCTION uint local_index(void) {
    return (uint)get_local_id(0);
}
FUNCTION uint local_count(void) {
    return (uint)get_local_size(0);
}
FUNCTION ulong global_index(void) {
    return (ulong)get_global_id(0);
}
/* Counts up, and answers what was there. */
FUNCTION uint take_ticket(__global uint *counter) {
    return atomic_inc((volatile __global uint *)counter);
}

FUNCTION float float_of_bits(uint bits) {
    return as_float(bits);
}
FUNCTION uint bits_of_float(float value) {
    return as_uint(value);
}
#ifdef STRATA_USE_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
FUNCTION double double_of_bits(ulong bits) {
    return as_double(bits);
}
FUNCTION ulong bits_of_double(double value) {
    return as_ulong(value);
}
#endif

#endif
#endif
