// SPDX-License-Identifier: MIT
#pragma once

#include "epikv/policy.hpp"

namespace epikv::inline v0 {

/// Policy that never evicts: the full cache as a preset, for comparisons.
struct keep_all {
  using epikv_policy = void;
  static constexpr bool evicts = false;

  static std::tuple<> auxiliary() noexcept { return {}; }
  static status check(const cache_shape&) noexcept { return {}; }
  template <Backend B>
  static void select(B&, const selection_row&) noexcept {}
};

}  // namespace epikv::inline v0
