// SPDX-License-Identifier: MIT
#pragma once

// GCC before 12.3 takes a variable in its own AVX-512 header for uninitialised wherever Eigen uses
// it; a diagnostic follows the place where the headers are read.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <Eigen/Core>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#include <cstddef>
#include <cstdint>

namespace mini {

/// The number of a token in the vocabulary.
using token = std::int32_t;

/// The place of a token in its sequence, counted from 0; an eviction does not change it.
using position = std::int32_t;

/// A row-major float32 matrix; as a weight [out, in] it maps a vector of `in` to one of `out`.
using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// A column vector of float32.
using vector = Eigen::VectorXf;

/// Row-major memory seen as a matrix [rows, columns] or as a vector [size], without a copy.
inline Eigen::Map<const matrix> as_matrix(const float* data, std::size_t rows,
                                          std::size_t columns) noexcept {
  return {data, static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns)};
}
inline Eigen::Map<const vector> as_vector(const float* data, std::size_t size) noexcept {
  return {data, static_cast<Eigen::Index>(size)};
}
inline Eigen::Map<vector> as_vector(float* data, std::size_t size) noexcept {
  return {data, static_cast<Eigen::Index>(size)};
}

}  // namespace mini
