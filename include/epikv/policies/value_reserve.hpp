// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "epikv/scores/channel_statistic.hpp"

namespace epikv::inline v0 {

/// A reserve for tokens with large values, against the repetition loops that follow when they go
/// (arXiv 2606.26472). The statistic is a mean over layers and KV heads. How the reserve enters the
/// keep-set is the policy's: top_k lifts the tokens above every score, segmented exchanges them.
struct value_reserve {
  std::int32_t tokens = 0;  ///< 0: no reserve, values are not read
  row_statistic statistic = row_statistic::range;
  bool each_keep_set = false;  ///< of the keep-set's own layers and heads

  [[nodiscard]] value_statistic score() const noexcept {
    return {.statistic = statistic, .enabled = tokens > 0, .each_keep_set = each_keep_set};
  }
  [[nodiscard]] status check() const noexcept {
    if (tokens >= 0) return {};
    return {errc::invalid_argument, "value_reserve", detail::short_text{tokens}, "0 or more"};
  }
};

}  // namespace epikv::inline v0
