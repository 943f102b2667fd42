// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "epikv/cpu/rows.hpp"
#include "epikv/detail/canonical.hpp"
#include "epikv/primitives/numbers.hpp"

namespace epikv::inline v0::cpu {

inline void accumulate(const accumulate_job& job) noexcept {
  alignas(64) float x[detail::lanes];
  for (std::int32_t begin = 0; begin < job.width; begin += detail::lanes) {
    const std::int32_t count = std::min(detail::lanes, job.width - begin);
    load(job.row, begin, count, x);
    for (std::int32_t j = 0; j < count; ++j) {
      float& out = job.out[begin + j];
      out = detail::canonical(std::fma(job.weight, x[j], out));
    }
  }
}

inline void sum_cells(const cell_sum_job& job) noexcept {
  for (std::int32_t s = 0; s < job.length; ++s) {
    const float* const cells = job.cells + s * job.stride;
    if (detail::is_unscored(cells[0])) {
      job.out[s] = detail::unscored();
      continue;
    }
    double sum = 0.0;
    for (std::int32_t w = 0; w < job.width; ++w) sum += cells[w];
    job.out[s] = detail::canonical(static_cast<float>(sum / job.divisor));
  }
}

/// softmax(scale * x) over the numbers of x that are not marked unscored, by the canonical
/// reduction, in place; false if there are none. A NaN makes all of it NaN.
inline bool softmax(float* x, std::int32_t count, float scale) noexcept {
  float highest = detail::unscored();
  for (std::int32_t s = 0; s < count; ++s) {
    if (detail::is_unscored(x[s])) continue;
    // A NaN makes the whole row NaN, as it would in any softmax.
    if (detail::is_unscored(highest) || x[s] > highest || x[s] != x[s]) highest = x[s];
    if (highest != highest) break;
  }
  if (detail::is_unscored(highest)) return false;
  block sums = block::Zero();
  for (std::int32_t s = 0; s < count; ++s) {
    if (detail::is_unscored(x[s])) continue;
    const float centred = x[s] - highest;
    x[s] = detail::canonical(detail::exp_nonpositive(scale * centred));
    sums[s % detail::lanes] += x[s];
  }
  const float total = detail::fold_lanes(sums.data());
  for (std::int32_t s = 0; s < count; ++s) {
    if (!detail::is_unscored(x[s])) x[s] = detail::canonical(x[s] / total);
  }
  return true;
}

inline void softmax(const softmax_job& job) noexcept {
  auto* const shares = reinterpret_cast<float*>(job.scratch);
  std::copy_n(job.in, job.count, shares);
  softmax(shares, job.count, 1.0F);
  for (std::int32_t s = 0; s < job.count; ++s) {
    const bool known = !detail::is_unscored(shares[s]);
    if (!job.add) {
      job.out[s] = known ? job.weight * shares[s] : detail::unscored();
    } else if (known) {
      job.out[s] = detail::canonical(std::fma(job.weight, shares[s], job.out[s]));
    }
  }
}

inline void pool(const pool_job& job) noexcept {
  const auto width = static_cast<float>(job.kernel);
  for (std::int32_t s = 0; s < job.length; ++s) {
    job.out[s] = job.in[s];
    if (job.kind == pool_kind::none || detail::is_unscored(job.in[s])) continue;
    const std::int32_t begin = s - job.kernel / 2;
    float sum = 0.0F;
    float most = job.in[s];
    for (std::int32_t t = std::max(begin, 0); t < std::min(begin + job.kernel, job.length); ++t) {
      if (detail::is_unscored(job.in[t])) continue;
      sum += job.in[t];
      most = job.in[t] > most || job.in[t] != job.in[t] ? job.in[t] : most;
    }
    job.out[s] = detail::canonical(job.kind == pool_kind::max ? most : sum / width);
  }
}

/// What a scaling is made of: mean and sample deviation, or least number and range, of the finite
/// numbers of x[first, length), by canonical reductions in double.
struct spread {
  double centre = 0.0;
  double width = 0.0;
  std::int32_t count = 0;
};

inline spread spread_of(const float* x, std::int32_t first, std::int32_t length) noexcept {
  double sums[detail::lanes] = {};
  spread m;
  for (std::int32_t s = first; s < length; ++s) {
    if (!detail::is_finite(x[s])) continue;
    sums[(s - first) % detail::lanes] += x[s];
    ++m.count;
  }
  if (m.count < 2) return m;
  m.centre = detail::fold_lanes(sums) / m.count;
  std::fill_n(sums, detail::lanes, 0.0);
  for (std::int32_t s = first; s < length; ++s) {
    if (!detail::is_finite(x[s])) continue;
    const double centred = x[s] - m.centre;
    double& sum = sums[(s - first) % detail::lanes];
    sum = std::fma(centred, centred, sum);
  }
  m.width = std::sqrt(detail::fold_lanes(sums) / (m.count - 1));
  return m;
}

inline spread range_of(const float* x, std::int32_t first, std::int32_t length) noexcept {
  spread m;
  double most = 0.0;
  for (std::int32_t s = first; s < length; ++s) {
    if (!detail::is_finite(x[s])) continue;
    const double value = x[s];
    m.centre = m.count == 0 || value < m.centre ? value : m.centre;
    most = m.count == 0 || value > most ? value : most;
    ++m.count;
  }
  m.width = most - m.centre;
  return m;
}

inline void blend(const blend_job& job) noexcept {
  const auto measure = [&](const float* x) noexcept -> spread {
    if (x == nullptr || job.scale == scaling::none) return {};
    return job.scale == scaling::standard ? spread_of(x, job.first, job.length)
                                          : range_of(x, job.first, job.length);
  };
  const spread of_a = measure(job.a);
  const spread of_b = measure(job.b);
  const auto scaled = [&](const spread& m, float x) noexcept -> double {
    if (job.scale == scaling::none) return x;
    if (job.scale == scaling::standard && m.count < 2 && detail::is_finite(x)) return 0.0;
    return (x - m.centre) / (m.width + job.epsilon);
  };
  for (std::int32_t s = 0; s < job.length; ++s) {
    const bool missing = s < job.first || detail::is_unscored(job.b[s]) ||
                         (job.a != nullptr && detail::is_unscored(job.a[s]));
    if (missing) {
      job.out[s] = detail::unscored();
      continue;
    }
    const double a = job.a != nullptr ? job.weight_a * scaled(of_a, job.a[s]) : 0.0;
    job.out[s] =
        detail::canonical(static_cast<float>(std::fma(job.weight_b, scaled(of_b, job.b[s]), a)));
  }
}

inline void replace_unscored(const replace_unscored_job& job) noexcept {
  for (std::int32_t s = 0; s < job.length; ++s) {
    if (detail::is_unscored(job.x[s])) job.x[s] = job.number;
  }
}

inline void product(const product_job& job) noexcept {
  for (std::int32_t s = 0; s < job.length; ++s) {
    const bool known = !detail::is_unscored(job.a[s]) && !detail::is_unscored(job.b[s]);
    job.out[s] = known ? detail::canonical(job.a[s] * job.b[s]) : detail::unscored();
  }
}

}  // namespace epikv::inline v0::cpu
