// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "epikv/cpu/rows.hpp"
#include "epikv/detail/canonical.hpp"
#include "epikv/primitives.hpp"

namespace epikv::inline v0::cpu {

/// q.k of one head by the canonical reduction.
inline float dot(const float* q, const float* k, std::int32_t width) noexcept {
  alignas(64) float sums[detail::lanes];
  const std::int32_t used = std::min(detail::lanes, width);
  std::fill_n(sums, std::min(detail::lanes, 2 * used), 0.0F);  // the fold reads below 2 * used
  for (std::int32_t begin = 0; begin < width; begin += detail::lanes) {
    const std::int32_t count = std::min(detail::lanes, width - begin);
    for (std::int32_t j = 0; j < count; ++j) {
      sums[j] = std::fma(q[begin + j], k[begin + j], sums[j]);
    }
  }
  return detail::fold_lanes(sums, used);
}

/// Adds softmax(dots * scale) over the slots whose dot is marked visible to `out`.
inline void add_softmax(std::span<float> dots, float scale, float* out) noexcept {
  float highest = detail::unscored();
  for (const float x : dots) {
    if (detail::is_unscored(x)) continue;
    // A NaN dot makes the whole row NaN, as it would in any softmax.
    if (detail::is_unscored(highest) || x > highest || x != x) highest = x;
    if (highest != highest) break;
  }
  if (detail::is_unscored(highest)) return;
  block sums = block::Zero();
  for (std::size_t s = 0; s < dots.size(); ++s) {
    if (detail::is_unscored(dots[s])) continue;
    const float centred = dots[s] - highest;
    dots[s] = detail::canonical(detail::exp_nonpositive(scale * centred));
    sums[static_cast<Eigen::Index>(s) % detail::lanes] += dots[s];
  }
  const float total = detail::fold_lanes(sums.data());
  for (std::size_t s = 0; s < dots.size(); ++s) {
    if (!detail::is_unscored(dots[s])) out[s] += dots[s] / total;
  }
}

inline void query_relevance(const relevance_job& job) noexcept {
  auto* const dots = reinterpret_cast<float*>(job.scratch);
  const std::int64_t key_floats = std::int64_t{job.kv_heads} * job.head_dim;
  const std::int32_t group = job.query_heads / job.kv_heads;
  const float scale = 1.0F / std::sqrt(static_cast<float>(job.head_dim));
  std::fill_n(job.out, job.length, 0.0F);
  for (std::size_t q = 0; q < job.queries.size(); ++q) {
    for (std::int32_t head = 0; head < job.query_heads; ++head) {
      const float* const query = job.queries[q] + std::int64_t{head} * job.head_dim;
      const std::int64_t key_offset = std::int64_t{head / group} * job.head_dim;
      for (std::int32_t s = 0; s < job.length; ++s) {
        const float* const key = job.keys + s * key_floats;
        const bool visible =
            to_int(job.positions[s]) <= job.query_positions[q] && !detail::is_unscored(key[0]);
        dots[s] = visible ? detail::canonical(dot(query, key + key_offset, job.head_dim))
                          : detail::unscored();
      }
      add_softmax({dots, static_cast<std::size_t>(job.length)}, scale, job.out);
    }
  }
  const auto rows = static_cast<float>(job.queries.size()) * static_cast<float>(job.query_heads);
  for (std::int32_t s = 0; s < job.length; ++s) {
    const bool known = !job.queries.empty() && !detail::is_unscored(job.keys[s * key_floats]);
    job.out[s] = known ? detail::canonical(job.out[s] / rows) : detail::unscored();
  }
}

/// Mean and sample deviation of the finite numbers of x[first, length), by canonical reductions in
/// double.
struct moments {
  double mean = 0.0;
  double deviation = 0.0;
  std::int32_t count = 0;
};

inline moments moments_of(const float* x, std::int32_t first, std::int32_t length) noexcept {
  double sums[detail::lanes] = {};
  moments m;
  for (std::int32_t s = first; s < length; ++s) {
    if (!detail::is_finite(x[s])) continue;
    sums[(s - first) % detail::lanes] += x[s];
    ++m.count;
  }
  if (m.count < 2) return m;
  m.mean = detail::fold_lanes(sums) / m.count;
  std::fill_n(sums, detail::lanes, 0.0);
  for (std::int32_t s = first; s < length; ++s) {
    if (!detail::is_finite(x[s])) continue;
    const double centred = x[s] - m.mean;
    double& sum = sums[(s - first) % detail::lanes];
    sum = std::fma(centred, centred, sum);
  }
  m.deviation = std::sqrt(detail::fold_lanes(sums) / (m.count - 1));
  return m;
}

inline double standardised(const moments& m, float x) noexcept {
  if (m.count < 2 && detail::is_finite(x)) return 0.0;
  return (x - m.mean) / (m.deviation + 1e-6);
}

inline void blend(const blend_job& job) noexcept {
  const moments of_a = job.a != nullptr ? moments_of(job.a, job.first, job.length) : moments{};
  const moments of_b = moments_of(job.b, job.first, job.length);
  for (std::int32_t s = 0; s < job.length; ++s) {
    const bool missing = s < job.first || detail::is_unscored(job.b[s]) ||
                         (job.a != nullptr && detail::is_unscored(job.a[s]));
    if (missing) {
      job.out[s] = detail::unscored();
      continue;
    }
    const double a = job.a != nullptr ? standardised(of_a, job.a[s]) : 0.0;
    job.out[s] = detail::canonical(static_cast<float>(
        std::fma(static_cast<double>(job.weight), standardised(of_b, job.b[s]), a)));
  }
}

}  // namespace epikv::inline v0::cpu
