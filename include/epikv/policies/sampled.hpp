// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "epikv/detail/canonical.hpp"
#include "epikv/policies/value_reserve.hpp"
#include "epikv/policy.hpp"
#include "epikv/scores/random.hpp"

namespace epikv::inline v0 {

/// Sampling without replacement in proportion to score^beta, for any non-negative score: the top of
/// beta * ln(score + 1e-9) plus Gumbel noise, from a counter-based generator, for each keep-set on
/// its own. With a reserve the tokens with the largest values are kept first (VaSE, arXiv
/// 2606.03928, with the window's attention as the score). NaN is drawn last. O(length) expected.
struct sampled {
  using epikv_policy = void;
  static constexpr bool evicts = true;

  double beta = 1.0;
  std::uint64_t seed = 0;
  value_reserve reserve{};

  [[nodiscard]] std::tuple<random_score, value_statistic> auxiliary() const noexcept {
    return {random_score{.seed = seed}, reserve.score()};
  }
  [[nodiscard]] status check(const model_shape&) const noexcept {
    if (!detail::is_finite(beta)) {
      return {errc::invalid_argument, "beta", detail::short_text{beta}, "a finite number"};
    }
    return reserve.check();
  }

  template <Backend B>
  void select(B& backend, const selection_row& row) const noexcept {
    const std::int32_t reserved = std::min(reserve.tokens, row.room);
    if (reserved > 0) {
      backend.run(keep_best_job{&row, row.auxiliary[1], 0, row.length, reserved, false});
    }
    backend.run(gumbel_job{.scores = row.scores,
                           .draws = row.auxiliary[0],
                           .beta = beta,
                           .length = row.length,
                           .out = row.spare});
    backend.run(keep_best_job{&row, row.spare, 0, row.length, row.room, true});
  }
};

}  // namespace epikv::inline v0
