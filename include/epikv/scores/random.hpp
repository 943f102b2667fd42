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
  static constexpr bool frozen = false;
  static constexpr int column_count = 0;

  std::uint64_t seed = 0;

  template <class B>
  struct state {};

  static std::int32_t column_width(const model_shape&, std::int32_t) noexcept { return 0; }
  static status check(const model_shape&) noexcept { return {}; }
  static signal_set wants(const model_shape&, std::int32_t) noexcept { return {}; }

  static std::int32_t least_recent() noexcept { return 0; }
  static row_cadence cadence(signal_id) noexcept { return row_cadence::last_tokens; }

  template <Backend B>
  static status prepare(B&, const model_shape&, state<B>&, std::int32_t) noexcept {
    return {};
  }
  template <Backend B>
  static void observe(B&, const model_shape&, state<B>&, const observation<signals>&) noexcept {}
  template <Backend B>
  static void finish(B&, const model_shape&, state<B>&, const sequence_progress&, token_columns,
                     std::int32_t) noexcept {}
  template <Backend B>
  const float* evaluate(B& backend, const model_shape&, state<B>&,
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
  template <Backend B>
  static std::size_t state_bytes(const state<B>&) noexcept {
    return 0;
  }
  template <Backend B>
  static void reset(B&, state<B>&) noexcept {}
};

}  // namespace epikv::inline v0
