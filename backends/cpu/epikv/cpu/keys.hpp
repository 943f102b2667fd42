// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "epikv/cpu/relevance.hpp"
#include "epikv/detail/canonical.hpp"
#include "epikv/primitives/keys.hpp"

namespace epikv::inline v0::cpu {

inline row_ref float_row(const float* x) noexcept {
  return {reinterpret_cast<const std::byte*>(x), dtype::f32, 1};
}

/// out = number, or with `add` out + number; a slot that is unscored on either side stays so.
inline void put(float& out, float weight, float number, bool add, bool known) noexcept {
  if (!known || (add && detail::is_unscored(out))) {
    out = detail::unscored();
    return;
  }
  out = detail::canonical(add ? std::fma(weight, number, out) : weight * number);
}

/// anchor[c] = sum over the slots of key[c] / (|key| + epsilon), ascending, in double; returns how
/// many keys there are. A key of norm 0 with epsilon 0 has no direction and adds nothing.
inline std::int32_t sum_directions(const float* keys, std::int64_t stride, std::int32_t width,
                                   std::int32_t length, float epsilon, double* anchor) noexcept {
  std::fill_n(anchor, width, 0.0);
  std::int32_t known = 0;
  for (std::int32_t s = 0; s < length; ++s) {
    const float* const key = keys + s * stride;
    if (detail::is_unscored(key[0])) continue;
    ++known;
    const float size = norm(float_row(key), width) + epsilon;
    if (size == 0.0F) continue;
    for (std::int32_t c = 0; c < width; ++c) anchor[c] += static_cast<double>(key[c] / size);
  }
  return known;
}

/// key . anchor in double, channels ascending.
inline double dot_anchor(const float* key, const double* anchor, std::int32_t width) noexcept {
  double sum = 0.0;
  for (std::int32_t c = 0; c < width; ++c)
    sum = std::fma(anchor[c], static_cast<double>(key[c]), sum);
  return sum;
}

inline void key_difference(const key_difference_job& job) noexcept {
  const std::int32_t known =
      sum_directions(job.keys, job.stride, job.head_dim, job.length, 0.0F, job.anchor);
  double squares = 0.0;
  for (std::int32_t c = 0; c < job.head_dim; ++c) {
    job.anchor[c] /= std::max(known, 1);
    squares = std::fma(job.anchor[c], job.anchor[c], squares);
  }
  const double anchor_size = std::sqrt(squares);
  for (std::int32_t s = 0; s < job.length; ++s) {
    const float* const key = job.keys + s * job.stride;
    const double size = static_cast<double>(norm(float_row(key), job.head_dim)) * anchor_size;
    // A NaN is not 0 and stays a NaN.
    const double cosine = size == 0.0 ? 0.0 : dot_anchor(key, job.anchor, job.head_dim) / size;
    put(job.out[s], -job.weight, static_cast<float>(cosine), job.add, !detail::is_unscored(key[0]));
  }
}

/// sums[s] = over the other keys i, ascending, of cos(i, s), each i without its newest neighbour
/// above the threshold, or without slot 0 if it has none. `inverse` holds 1 / (|k| + 1e-8).
inline void sum_cosines(const redundancy_job& job, const float* inverse, float* row,
                        double* sums) noexcept {
  std::fill_n(sums, job.length, 0.0);
  for (std::int32_t i = 0; i < job.length; ++i) {
    const float* const key = job.keys + i * job.stride;
    if (detail::is_unscored(key[0])) continue;
    std::int32_t left_out = 0;
    for (std::int32_t s = 0; s < job.length; ++s) {
      const float* const other = job.keys + s * job.stride;
      row[s] = 0.0F;
      if (s == i || detail::is_unscored(other[0])) continue;
      row[s] = dot(key, other, job.head_dim) * inverse[i] * inverse[s];
      if (row[s] > job.threshold) left_out = s;
    }
    row[left_out] = 0.0F;
    for (std::int32_t s = 0; s < job.length; ++s) sums[s] += static_cast<double>(row[s]);
  }
}

inline void redundancy(const redundancy_job& job) noexcept {
  constexpr float epsilon = 1e-8F;
  auto* const sums = reinterpret_cast<double*>(job.scratch);
  auto* const alike = reinterpret_cast<float*>(sums + job.length);
  float* const inverse = alike + job.length;
  if (job.form == redundancy_form::exact) {
    for (std::int32_t s = 0; s < job.length; ++s) {
      inverse[s] = 1.0F / (norm(float_row(job.keys + s * job.stride), job.head_dim) + epsilon);
    }
    sum_cosines(job, inverse, alike, sums);
  } else {
    sum_directions(job.keys, job.stride, job.head_dim, job.length, epsilon, job.anchor);
    for (std::int32_t s = 0; s < job.length; ++s) {
      const float* const key = job.keys + s * job.stride;
      const double size = static_cast<double>(norm(float_row(key), job.head_dim) + epsilon);
      sums[s] = dot_anchor(key, job.anchor, job.head_dim) / size - 1.0;
    }
  }
  for (std::int32_t s = 0; s < job.length; ++s) {
    const bool known = !detail::is_unscored(job.keys[s * job.stride]);
    alike[s] =
        known ? detail::canonical(static_cast<float>(sums[s] / job.length)) : detail::unscored();
  }
  softmax(alike, job.length, 1.0F);
  for (std::int32_t s = 0; s < job.length; ++s) {
    put(job.out[s], job.weight, alike[s], job.add, !detail::is_unscored(alike[s]));
  }
}

inline void lag_deviation(const lag_job& job) noexcept {
  float* const low = job.bounds;
  float* const range = job.bounds + job.width;
  if (job.reference != nullptr) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    std::fill_n(low, job.width, infinity);
    std::fill_n(range, job.width, -infinity);
    for (std::int32_t i = 0; i < job.reference_count; ++i) {
      const float* const row = job.reference + i * job.stride;
      if (detail::is_unscored(row[0])) continue;
      for (std::int32_t c = 0; c < job.width; ++c) {
        low[c] = row[c] < low[c] ? row[c] : low[c];
        range[c] = row[c] > range[c] ? row[c] : range[c];
      }
    }
    for (std::int32_t c = 0; c < job.width; ++c) {
      range[c] = range[c] - low[c] + job.epsilon;
      if (range[c] == 0.0F) range[c] = 1.0F;
    }
  }
  for (std::int32_t i = 0; i < job.count; ++i) {
    const float* const row = job.rows + i * job.stride;
    const auto scaled = [&](std::int32_t c) noexcept {
      return job.reference == nullptr ? row[c] : (row[c] - low[c]) / range[c];
    };
    float deviation = 0.0F;
    if (job.width > 1) {
      block sums = block::Zero();
      for (std::int32_t c = 0; c < job.width; ++c) sums[c % detail::lanes] += scaled(c);
      const float mean = detail::fold_lanes(sums.data(), job.width) / static_cast<float>(job.width);
      sums.setZero();
      for (std::int32_t c = 0; c < job.width; ++c) {
        const float centred = scaled(c) - mean;
        float& sum = sums[c % detail::lanes];
        sum = std::fma(centred, centred, sum);
      }
      deviation =
          std::sqrt(detail::fold_lanes(sums.data(), job.width) / static_cast<float>(job.width - 1));
    }
    put(job.out[i], job.weight, deviation, job.add, !detail::is_unscored(row[0]));
  }
}

}  // namespace epikv::inline v0::cpu
