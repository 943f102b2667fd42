// SPDX-License-Identifier: MIT
#pragma once

// Rules the whole library is compiled under.
//
// Scores and keep-sets are defined to the bit, so the compiler may not re-associate sums or drop
// NaN. Contraction of a*b+c is tolerated: in every formula a product that meets a sum is written as
// an explicit fma, so there is nothing left to contract.

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "EpiKV needs IEEE arithmetic: compile the files that include it without -ffast-math"
#endif

#if !defined(__cplusplus) || \
    (__cplusplus < 202002L && !(defined(_MSVC_LANG) && _MSVC_LANG >= 202002L))
#error "EpiKV needs C++20"
#endif

// Marks the few formulas that host code and device kernels share word for word.
#if defined(__CUDACC__)
#define EPIKV_HOST_DEVICE __host__ __device__
#else
#define EPIKV_HOST_DEVICE
#endif

// Marks what a host calls for every layer of every step. Once inlined, the views it made for a
// layer that no score wants are plain values nobody reads, and the compiler drops them; the
// optimiser's own budget would leave them calls.
#if defined(__GNUC__)
#define EPIKV_ALWAYS_INLINE __attribute__((always_inline))
#else
#define EPIKV_ALWAYS_INLINE
#endif
