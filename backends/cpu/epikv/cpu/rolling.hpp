// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>

#include "epikv/detail/canonical.hpp"
#include "epikv/primitives.hpp"

namespace epikv::inline v0::cpu {

// Pushes `value` and returns what `form` makes of the window; NaN, without a push, for a value
// that is not finite.
inline double roll(const rolling_window& window, double value, rolling_form form) noexcept {
  if (!detail::is_finite(value)) return value - value;
  std::int32_t& count = window.header[0];
  std::int32_t& next = window.header[1];
  window.ring[next] = value;
  next = next + 1 == window.window ? 0 : next + 1;
  if (count < window.window) ++count;
  return form == rolling_form::mean
             ? detail::ring_mean(window.ring, window.window, count, next)
             : detail::ring_z(window.ring, window.window, count, next, value);
}

inline void rolling_score(const rolling_job& job) noexcept {
  double score = 0.0;
  if (job.a.ring != nullptr) {
    score = job.weight_a * roll(job.a, *job.sum_a / job.divisor_a, job.form);
  }
  if (job.b.ring != nullptr) {
    score = std::fma(-job.weight_b, roll(job.b, *job.sum_b / job.divisor_b, job.form), score);
  }
  *job.out = detail::canonical(static_cast<float>(score));
}

}  // namespace epikv::inline v0::cpu
