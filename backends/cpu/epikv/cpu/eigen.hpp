// SPDX-License-Identifier: MIT
#pragma once

// Eigen without GCC 12's false alarm: it takes a variable of its own AVX-512 header for
// uninitialised wherever Eigen uses it, and reports it at the place where the headers are read.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <Eigen/Core>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
