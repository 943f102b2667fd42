// SPDX-License-Identifier: MIT
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "eval/plan.hpp"
#include "eval/session.hpp"
#include "mini_model/ledger.hpp"
#include "model/shipped.hpp"

namespace eval_test {

using mini_test::shipped;

inline std::vector<mini::token> ledger_prompt(std::uint64_t seed, std::size_t steps) {
  const auto problem = mini::make_ledger_problem(seed, 4, steps);
  REQUIRE(bool(problem));
  auto prompt = shipped().words.encode(problem->prompt);
  REQUIRE(bool(prompt));
  return *std::move(prompt);
}

/// All arms at settings that make them evict early in short answers.
inline std::vector<eval::arm> short_arms() {
  auto arms = eval::preset_arms(
      "tau=8 recent=16 segment=16 tiers=8,4,2 query_window=8 buffer=0 "
      "lag=16 cadence=aligned");
  REQUIRE_MESSAGE(bool(arms), arms.error());
  return *std::move(arms);
}

}  // namespace eval_test
