// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <span>

namespace report {

/// The answer of one run to one problem.
struct outcome {
  std::int64_t problem = 0;
  bool right = false;
};

/// Two runs over the same problems, seen from the first. `wins`: the first was right where the
/// second was wrong; `losses`: the reverse; `ties`: both right or both wrong.
struct comparison {
  std::int64_t wins = 0;
  std::int64_t losses = 0;
  std::int64_t ties = 0;
  /// Problems that only one of the two runs answered; they count for nothing else.
  std::int64_t unpaired = 0;
  /// Two-sided exact McNemar p of wins against losses; 1 without any.
  double p = 1;

  [[nodiscard]] std::int64_t pairs() const noexcept { return wins + losses + ties; }
};

/// Pairs the answers of two runs by problem, in any order. Precondition: no run holds a problem
/// twice. O(n log n).
[[nodiscard]] comparison compare(std::span<const outcome> first, std::span<const outcome> second);

/// The probability that fair coin tosses split at least as unevenly as `wins` to `losses`: twice
/// the binomial tail, at most 1. Relative error below 1e-9 up to 10^5 tosses; 0 where the value is
/// below the smallest double. Negative counts are taken as 0. O(wins + losses).
[[nodiscard]] double mcnemar_p(std::int64_t wins, std::int64_t losses) noexcept;

/// Both ends belong to the interval.
struct interval {
  double low = 0;
  double high = 1;
};

/// The standard normal quantile of a two-sided 95 % interval.
inline constexpr double z_95 = 1.959963984540054;

/// Wilson's score interval of the share `right / total`; [0, 1] without a total. Precondition:
/// 0 <= right <= total.
[[nodiscard]] interval wilson(std::int64_t right, std::int64_t total, double z = z_95) noexcept;

/// A sample's mean and its standard error (sample standard deviation over the root of the count).
/// NaN stands for what is not known: the mean of nothing, the error of fewer than two values.
struct mean_estimate {
  std::int64_t count = 0;
  double mean = std::numeric_limits<double>::quiet_NaN();
  double standard_error = std::numeric_limits<double>::quiet_NaN();
};

/// One pass without cancellation. A value that is not finite makes the result not finite.
[[nodiscard]] mean_estimate estimate_mean(std::span<const double> values) noexcept;

}  // namespace report
