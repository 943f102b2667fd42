// SPDX-License-Identifier: MIT
#pragma once

#include "epikv/score.hpp"

namespace epikv::inline v0 {

/// Score that draws a uniform number per token, keep-set and eviction round from a counter-based
/// generator keyed by (seed, sequence, round, layer, KV head, position): the same on every backend
/// and whatever else is in the batch. One keep-set per sequence is the baseline Random; one per KV
/// head is random_head (Random Attention, arXiv 2609.03430). No signals, no state; O(length).
struct random_score {
  using epikv_score = void;
  using signals = signal_list<>;
  static constexpr granularity finest = granularity::kv_head;

  std::uint64_t seed = 0;

  static signal_set wants(const cache_shape&, std::int32_t) noexcept { return {}; }
  template <Backend B>
  const float* evaluate(B& backend, const cache_shape&, no_state&,
                        const evaluation& asked) const noexcept {
    backend.run(draw_job{.seed = seed,
                         .sequence = asked.progress.sequence,
                         .round = asked.round,
                         .group = asked.group,
                         .positions = asked.positions,
                         .length = asked.length,
                         .out = asked.out});
    return asked.out;
  }
};

}  // namespace epikv::inline v0
