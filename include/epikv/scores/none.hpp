// SPDX-License-Identifier: MIT
#pragma once

#include "epikv/score.hpp"

namespace epikv::inline v0 {

/// Score that reads nothing and ranks every token alike, so that the tie rule decides: the newest
/// tokens stay. With sinks protected it is StreamingLLM (arXiv 2309.17453). No state, O(1).
struct no_score {
  using epikv_score = void;
  using signals = signal_list<>;
  static constexpr granularity finest = granularity::kv_head;
  static constexpr bool frozen = true;
  static constexpr int column_count = 0;

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
  static const float* evaluate(B& backend, const model_shape&, state<B>&,
                               const evaluation& asked) noexcept {
    backend.clear(asked.out, static_cast<std::size_t>(asked.length) * sizeof(float));
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
