// SPDX-License-Identifier: MIT
#pragma once

#include "epikv/policies/value_reserve.hpp"
#include "epikv/policy.hpp"

namespace epikv::inline v0 {

/// Tiered selection by segments (EpiKV-Seg of arXiv 2606.26472): segments of the cache are classed
/// by key variance into reasoning, execution and transition and keep up to 64, 32 and 8 of their
/// tokens by score. `tiers.fill` spends what is left on the best of the rest; without it the length
/// saw-tooths between about 0.3 of the budget and the budget. A value reserve exchanges the evicted
/// tokens with the largest values for the lowest-scored kept ones. O(length) expected.
struct segmented {
  using epikv_policy = void;
  static constexpr bool evicts = true;

  segment_tiers tiers{};
  value_reserve reserve{};

  [[nodiscard]] std::tuple<key_statistic, value_statistic> auxiliary() const noexcept {
    return {key_statistic{.statistic = row_statistic::variance}, reserve.score()};
  }
  [[nodiscard]] status check(const cache_shape&) const noexcept {
    if (tiers.segment < 1) {
      return {errc::invalid_argument, "segment", detail::short_text{tiers.segment}, "1 or more"};
    }
    for (const std::int32_t quota : tiers.quota) {
      if (quota < 0) {
        return {errc::invalid_argument, "tiers", detail::short_text{quota}, "quotas of 0 or more"};
      }
    }
    return reserve.check();
  }

  template <Backend B>
  void select(B& backend, const selection_row& row) const noexcept {
    backend.run(tiered_job{&row, row.auxiliary[0], tiers});
    if (reserve.tokens > 0) {
      backend.run(exchange_job{&row, row.auxiliary[1], reserve.tokens});
    }
  }
};

}  // namespace epikv::inline v0
