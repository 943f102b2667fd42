// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "epikv/policies/value_reserve.hpp"
#include "epikv/policy.hpp"

namespace epikv::inline v0 {

/// Flat selection: the room beside the protected tokens goes to the highest scores (EpiKV-Flat of
/// arXiv 2606.26472, and most published methods). With a value reserve the decode tokens with
/// the largest values are taken before any score counts. O(length) expected.
struct top_k {
  using epikv_policy = void;
  static constexpr bool evicts = true;

  value_reserve reserve{};

  [[nodiscard]] std::tuple<value_statistic> auxiliary() const noexcept { return {reserve.score()}; }
  [[nodiscard]] status check(const cache_shape&) const noexcept { return reserve.check(); }

  template <Backend B>
  void select(B& backend, const selection_row& row) const noexcept {
    const std::int32_t reserved = std::min(reserve.tokens, row.room);
    if (reserved > 0) {
      backend.run(
          keep_best_job{&row, row.auxiliary[0], row.prompt_slots, row.length, reserved, false});
    }
    backend.run(keep_best_job{&row, row.scores, 0, row.length, row.room, true});
  }
};

}  // namespace epikv::inline v0
