// SPDX-License-Identifier: MIT
#include "distribution.hpp"

#include <algorithm>
#include <cmath>

namespace eval {

double log_sum_exp(std::span<const float> logits) noexcept {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float x : logits) sum += std::exp(x - top);
  return top + std::log(sum);
}

double surprise(std::span<const float> logits, mini::token id) noexcept {
  return log_sum_exp(logits) - logits[static_cast<std::size_t>(id)];
}

double divergence(std::span<const float> p, std::span<const float> q) noexcept {
  const double p_total = log_sum_exp(p);
  const double q_total = log_sum_exp(q);
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double log_p = p[i] - p_total;
    sum += std::exp(log_p) * (log_p - (q[i] - q_total));
  }
  // Of two equal rows rounding may leave a little less than nothing.
  return std::max(sum, 0.0);
}

}  // namespace eval
