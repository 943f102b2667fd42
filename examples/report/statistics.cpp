// SPDX-License-Identifier: MIT
#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace report {

namespace {

std::vector<outcome> by_problem(std::span<const outcome> run) {
  std::vector<outcome> sorted(run.begin(), run.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const outcome& a, const outcome& b) { return a.problem < b.problem; });
  return sorted;
}

}  // namespace

comparison compare(std::span<const outcome> first, std::span<const outcome> second) {
  const std::vector<outcome> a = by_problem(first);
  const std::vector<outcome> b = by_problem(second);
  comparison out;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (a[i].problem < b[j].problem) {
      ++i;
      ++out.unpaired;
    } else if (b[j].problem < a[i].problem) {
      ++j;
      ++out.unpaired;
    } else {
      if (a[i].right == b[j].right) {
        ++out.ties;
      } else {
        ++(a[i].right ? out.wins : out.losses);
      }
      ++i;
      ++j;
    }
  }
  out.unpaired += static_cast<std::int64_t>((a.size() - i) + (b.size() - j));
  out.p = mcnemar_p(out.wins, out.losses);
  return out;
}

double mcnemar_p(std::int64_t wins, std::int64_t losses) noexcept {
  wins = std::max<std::int64_t>(wins, 0);
  losses = std::max<std::int64_t>(losses, 0);
  const std::int64_t n = wins + losses;
  const std::int64_t k = std::min(wins, losses);
  // Binomial coefficients relative to the middle one, from there down: each step is one rounded
  // multiplication and division, nothing overflows, and what underflows does not matter.
  double weight = 1;
  double tail = 0;
  double below_middle = 0;
  const std::int64_t middle = n / 2;
  const bool has_centre = n % 2 == 0;
  for (std::int64_t i = middle; i >= 0 && weight > 0; --i) {
    if (i <= k) tail += weight;
    if (i < middle || !has_centre) below_middle += weight;
    weight *= static_cast<double>(i) / static_cast<double>(n - i + 1);
  }
  const double total = 2 * below_middle + (has_centre ? 1 : 0);
  return std::min(1.0, 2 * tail / total);
}

interval wilson(std::int64_t right, std::int64_t total, double z) noexcept {
  if (total <= 0) return {};
  const double n = static_cast<double>(total);
  const double share = static_cast<double>(right) / n;
  const double z2 = z * z;
  const double centre = (share + z2 / (2 * n)) / (1 + z2 / n);
  const double half = z / (1 + z2 / n) * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n));
  // At the ends the formula gives exactly 0 and 1, apart from rounding.
  return {right <= 0 ? 0.0 : std::max(0.0, centre - half),
          right >= total ? 1.0 : std::min(1.0, centre + half)};
}

mean_estimate estimate_mean(std::span<const double> values) noexcept {
  mean_estimate out;
  double mean = 0;
  double squares = 0;
  for (const double value : values) {
    ++out.count;
    const double step = value - mean;
    mean += step / static_cast<double>(out.count);
    squares += step * (value - mean);
  }
  if (out.count > 0) out.mean = mean;
  if (out.count > 1) {
    const double n = static_cast<double>(out.count);
    out.standard_error = std::sqrt(squares / (n - 1) / n);
  }
  return out;
}

}  // namespace report
