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

// `roll` of a job's window, also to where its part is asked for; 0 without a ring.
inline double roll_part(const rolling_window& window, const double* sum, double divisor,
                        rolling_form form, float* out) noexcept {
  const double value = window.ring == nullptr ? 0.0 : roll(window, *sum / divisor, form);
  if (out != nullptr) *out = detail::canonical(static_cast<float>(value));
  return value;
}

inline void rolling_score(const rolling_job& job) noexcept {
  const double a = roll_part(job.a, job.sum_a, job.divisor_a, job.form, job.out_a);
  const double b = roll_part(job.b, job.sum_b, job.divisor_b, job.form, job.out_b);
  double score = job.a.ring == nullptr ? 0.0 : job.weight_a * a;
  if (job.b.ring != nullptr) score = std::fma(-job.weight_b, b, score);
  *job.out = detail::canonical(static_cast<float>(score));
}

}  // namespace epikv::inline v0::cpu
