// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <tuple>

#include "epikv/policy.hpp"

namespace epikv::inline v0 {

/// Keeps or drops whole chunks, by the mean score of a chunk's candidates: runs of `size`
/// positions, so that neighbouring tokens stay together, or of `size` slots, the blocks of a paged
/// cache. A chunk that does not fit the room left is passed over, so fewer tokens than the budget
/// may stay. O(length) and a sort of the chunks.
struct chunked {
  using epikv_policy = void;
  static constexpr bool evicts = true;

  std::int32_t size = 16;
  chunk_unit unit = chunk_unit::positions;

  static std::tuple<> auxiliary() noexcept { return {}; }
  [[nodiscard]] status check(const model_shape&) const noexcept {
    if (size >= 1) return {};
    return {errc::invalid_argument, "chunk", detail::short_text{size}, "1 or more"};
  }
  template <Backend B>
  void select(B& backend, const selection_row& row) const noexcept {
    backend.run(chunk_job{&row, size, unit});
  }
};

}  // namespace epikv::inline v0
