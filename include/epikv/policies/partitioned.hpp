// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "epikv/policy.hpp"

namespace epikv::inline v0 {

/// LagKV's keep-set (arXiv 2504.04704): behind `sinks` positions, chunks of `lag` positions; a
/// chunk keeps floor(ratio * lag) of its tokens, the best by score, once the chunk after it is
/// complete. The last full chunk and what follows stay. There is no budget: a cache grows by the
/// ratio. Acts when a chunk can be cut, of the prompt too. O(length) expected.
struct partitioned {
  using epikv_policy = void;
  static constexpr bool evicts = true;
  static constexpr bool budgeted = false;

  std::int32_t lag = 128;
  std::int32_t sinks = 16;
  double ratio = 0.25;

  static std::tuple<> auxiliary() noexcept { return {}; }
  [[nodiscard]] status check(const model_shape&) const noexcept {
    if (lag < 1 || lag > 1 << 20) {
      return {errc::invalid_argument, "lag", detail::short_text{lag}, "1 to 1048576"};
    }
    if (!(ratio >= 0.0 && ratio <= 1.0)) {
      return {errc::invalid_argument, "ratio", detail::short_text{ratio}, "0 to 1"};
    }
    return {};
  }

  /// Chunks that may be cut once `tokens` positions have been seen.
  [[nodiscard]] std::int32_t closed(std::int32_t tokens) const noexcept {
    return std::max(0, (tokens - sinks) / lag - 1);
  }
  [[nodiscard]] bool due(std::int32_t tokens_at_last, std::int32_t tokens) const noexcept {
    return closed(tokens) > closed(tokens_at_last);
  }

  template <Backend B>
  void select(B& backend, const selection_row& row) const noexcept {
    const auto per_chunk = static_cast<std::int32_t>(ratio * lag);
    const auto slot_of = [&](std::int32_t p) noexcept {
      return static_cast<std::int32_t>(
          std::lower_bound(row.positions, row.positions + row.length, p,
                           [](position at, std::int32_t wanted) { return to_int(at) < wanted; }) -
          row.positions);
    };
    const std::int32_t chunks = closed(row.tokens);
    std::int32_t begin = slot_of(sinks);
    backend.run(keep_best_job{&row, row.scores, 0, begin, begin, false});
    for (std::int32_t c = 0; c < chunks; ++c) {
      const std::int32_t end = slot_of(sinks + (c + 1) * lag);
      backend.run(keep_best_job{&row, row.scores, begin, end, per_chunk, false});
      begin = end;
    }
    backend.run(keep_best_job{&row, row.scores, begin, row.length, row.length - begin, false});
  }
};

}  // namespace epikv::inline v0
