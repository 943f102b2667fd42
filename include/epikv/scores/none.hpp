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

  static signal_set wants(const cache_shape&, std::int32_t) noexcept { return {}; }
  template <Backend B>
  static const float* evaluate(B& backend, const cache_shape&, no_state&,
                               const evaluation& asked) noexcept {
    backend.clear(asked.out, static_cast<std::size_t>(asked.length) * sizeof(float));
    return asked.out;
  }
};

}  // namespace epikv::inline v0
