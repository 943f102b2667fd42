// SPDX-License-Identifier: MIT

// Does the trace of what a cache kept hold what the evictor went by, part by part?

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "eval/retention.hpp"
#include "shared_model.hpp"

namespace {

using eval_test::ledger_prompt;
using eval_test::shipped;

report::retention_trace trace_of(const eval::arm& each, std::size_t most = 120) {
  auto trace = eval::trace_retention(shipped(), each, 80, ledger_prompt(7, 5), most, "a title");
  REQUIRE_MESSAGE(bool(trace), trace.error());
  return *std::move(trace);
}

}  // namespace

TEST_CASE("an epiphany score is shown with the z of both its bands") {
  const auto trace = trace_of({"mine", "epikv-flat", "tau=8 recent=16 band_a=4 band_b=3"});
  CHECK(trace.part_names == std::vector<std::string>{"a", "b"});
  CHECK(trace.tokens.size() == ledger_prompt(7, 5).size() + 120);
  REQUIRE(trace.groups.size() == 1);
  REQUIRE_FALSE(trace.groups[0].steps.empty());
  std::size_t compared = 0;
  for (const auto& step : trace.groups[0].steps) {
    REQUIRE(step.parts.size() == 2 * step.scores.size());
    CHECK(step.positions.size() == step.scores.size());
    for (std::size_t i = 0; i < step.scores.size(); ++i) {
      if (std::isnan(step.scores[i])) continue;  // of the prompt
      ++compared;
      CHECK(step.scores[i] == doctest::Approx(step.parts[2 * i] - step.parts[2 * i + 1]));
    }
  }
  CHECK(compared > 300);
}

TEST_CASE("what leaves is gone from the next step, and every group has its own") {
  for (const char* preset : {"epikv-flat", "random-head"}) {
    CAPTURE(preset);
    const auto trace = trace_of({"mine", preset, "tau=8 recent=16"});
    CHECK(trace.groups.size() == (std::string{preset} == "random-head" ? 12 : 1));
    for (const auto& group : trace.groups) {
      std::set<std::int64_t> gone;
      REQUIRE(group.steps.size() > 5);
      for (const auto& step : group.steps) {
        for (const auto position : step.positions) CHECK(gone.count(position) == 0);
        CHECK_FALSE(step.evicted.empty());
        for (const auto position : step.evicted) {
          CHECK(std::count(step.positions.begin(), step.positions.end(), position) == 1);
          gone.insert(position);
        }
      }
    }
  }
}

TEST_CASE("relevance and epiphany are shown where both are computed") {
  const auto trace =
      trace_of({"mine", "epikv-q", "tau=8 recent=16 segment=16 tiers=8,4,2 band_a=4 band_b=3"});
  CHECK(trace.part_names == std::vector<std::string>{"epiphany", "relevance", "a", "b"});
  const auto& step = trace.groups.at(0).steps.back();
  // The newest token has all of them.
  const auto* const last = &step.parts[4 * (step.scores.size() - 1)];
  for (std::size_t part = 0; part < 4; ++part) CHECK(std::isfinite(last[part]));
  CHECK(last[0] == doctest::Approx(last[2] - last[3]));
}
