// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "epikv/policy.hpp"
#include "epikv/scores/random.hpp"

namespace epikv::inline v0 {

/// Mixed keep-sets: floor(share * room) of the room goes to the best scores, the rest to tokens
/// drawn uniformly without replacement from a counter-based generator, for each keep-set on its
/// own. With one keep-set per KV head, heads keep different tokens, and what one dropped another
/// still has. share 1 is top_k, share 0 random. O(length) expected.
struct mix {
  using epikv_policy = void;
  static constexpr bool evicts = true;

  double share = 0.5;
  std::uint64_t seed = 0;

  [[nodiscard]] std::tuple<random_score> auxiliary() const noexcept {
    return {random_score{.seed = seed}};
  }
  [[nodiscard]] status check(const model_shape&) const noexcept {
    if (share >= 0.0 && share <= 1.0) return {};
    return {errc::invalid_argument, "share", detail::short_text{share}, "0 to 1"};
  }

  template <Backend B>
  void select(B& backend, const selection_row& row) const noexcept {
    const auto best = static_cast<std::int32_t>(share * row.room);
    backend.run(keep_best_job{&row, row.scores, 0, row.length, best, false});
    backend.run(keep_best_job{&row, row.auxiliary[0], 0, row.length, row.room, true});
  }
};

}  // namespace epikv::inline v0
