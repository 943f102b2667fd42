// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "epikv/index.hpp"
#include "epikv/status.hpp"

namespace epikv::inline v0 {

/// When a sequence over its budget is acted on; `tau` counts its decode tokens.
enum class cadence : std::uint8_t {
  elapsed,  ///< at least tau since its last eviction, or since decoding began
  aligned,  ///< whenever the count of decode tokens passes a multiple of tau
};

/// What happens when protected tokens alone exceed a budget.
enum class overflow : std::uint8_t {
  keep,    ///< they are kept and reported as over budget
  refuse,  ///< add() and protect() fail; recent tokens are never dropped for it
};

/// How an evictor works, for all of its sequences.
struct evictor_options {
  std::int32_t budget = 1024;  ///< K: tokens a keep-set may hold after an eviction
  std::int32_t tau = 128;      ///< decode tokens between evictions; the peak is K + tau
  cadence when = cadence::elapsed;
  std::int32_t buffer = 0;     ///< acts when this many tokens over the budget; the peak is K + that
  bool protect_prompt = true;  ///< prompt tokens are never evicted
  std::int32_t sinks = 0;      ///< the first positions, never evicted
  std::int32_t recent = -1;    ///< the last positions, never evicted; -1: min(128, K / 4)
  overflow on_overflow = overflow::keep;
  granularity keep_sets = granularity::sequence;
  /// New tokens one step may bring a sequence, after its prompt, without an allocation.
  std::int32_t step_tokens = 16;

  [[nodiscard]] status check() const noexcept {
    const auto at_least = [](const char* name, std::int32_t value,
                             std::int32_t least) noexcept -> status {
      if (value >= least && value <= max_tokens) return {};
      return {errc::invalid_argument, name, detail::short_text{value},
              detail::short_text{least, " to ", max_tokens}};
    };
    EPIKV_RETURN_IF_ERROR(at_least("budget", budget, 0));
    EPIKV_RETURN_IF_ERROR(at_least("tau", tau, 1));
    EPIKV_RETURN_IF_ERROR(at_least("buffer", buffer, 0));
    EPIKV_RETURN_IF_ERROR(at_least("sinks", sinks, 0));
    EPIKV_RETURN_IF_ERROR(at_least("recent", recent, -1));
    return at_least("step_tokens", step_tokens, 1);
  }

  /// Upper limit of every count of tokens, so that sums of a few stay inside 32 bits.
  static constexpr std::int32_t max_tokens = 1 << 28;
};

/// What add() is told of one sequence.
struct sequence_options {
  std::int32_t prompt_length = 0;  ///< positions below it are the prompt
  std::int32_t budget = -1;        ///< K of this sequence; -1: the evictor's
};

/// The recent window in force under a budget.
constexpr std::int32_t recent_window(const evictor_options& options, std::int32_t budget) noexcept {
  return options.recent >= 0 ? options.recent : std::min(128, budget / 4);
}

}  // namespace epikv::inline v0
