// SPDX-License-Identifier: MIT

// Does generation under a budget stay within it, in memory that is really that small, and does a
// keep-set that fits the model still solve the task?

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "eval/reasoning.hpp"
#include "eval/runner.hpp"
#include "report/summary.hpp"
#include "shared_model.hpp"

namespace {

using eval_test::shipped;

// Sanitizers make a problem take seconds.
#if defined(NDEBUG)
constexpr std::size_t problems = 12;
#else
constexpr std::size_t problems = 2;
#endif

std::vector<report::arm> run(const std::vector<eval::arm>& arms, std::int32_t budget,
                             const eval::reasoning_options& options) {
  const auto task = eval::make_reasoning_task(options, shipped());
  REQUIRE_MESSAGE(bool(task), task.error());
  const auto records = eval::run_task(**task, {arms, {budget}}, shipped());
  REQUIRE_MESSAGE(bool(records), records.error());
  return report::summarize(*records).arms;
}

const report::arm& arm_of(const std::vector<report::arm>& all, const std::string& preset) {
  for (const report::arm& each : all) {
    if (each.preset == preset) return each;
  }
  FAIL("no arm ", preset);
  return all.front();
}

}  // namespace

TEST_CASE("every preset generates within its budget, in a cache that has no room for more") {
  const auto arms =
      eval::preset_arms("tau=16 buffer=0 recent=32 segment=32 tiers=16,8,2 protect_prompt=true");
  REQUIRE_MESSAGE(bool(arms), arms.error());
  REQUIRE(arms->size() == epikv::presets.size() - 1);
  const std::int64_t budget = 160;
  const auto row = static_cast<std::int64_t>(2 * sizeof(float) * shipped().model.shape.kv_size() *
                                             shipped().model.shape.layers);
  const auto found = run(*arms, budget, {.first_seed = 2'000'000, .problems = 1});
  REQUIRE(found.size() == arms->size());
  for (const report::arm& each : found) {
    CAPTURE(each.preset);
    if (each.preset == "lag-kv") continue;  // has no budget
    CHECK(each.peak_tokens <= budget + 16);
    CHECK(each.peak_bytes <= row * (budget + 16));
    CHECK(each.generated > 100);
  }
}

TEST_CASE(
    "the epiphany score with fitted bands answers like the full cache in 37 % of its tokens") {
  const auto found = run({{"full", "none", ""},
                          {"fitted", "epikv-flat", "tau=16 recent=32 band_a=4 band_b=3"},
                          {"default", "epikv-flat", "tau=16 recent=32"}},
                         200, {.first_seed = 3'000'000, .problems = problems});
  const report::arm& full = arm_of(found, "full");
  const report::arm& fitted = arm_of(found, "fitted");
  const auto characters = [](const report::arm& of) { return of.numbers.front().second.mean; };
  CHECK(full.right == problems);
  CHECK(full.peak_tokens == 546);
  CHECK(fitted.right + 1 >= static_cast<std::int64_t>(problems));
  CHECK(characters(fitted) > 0.99);
  CHECK(fitted.peak_tokens == 216);
  // The bands are what makes the difference, not the budget.
  CHECK(characters(arm_of(found, "default")) < characters(fitted) - 0.05);
}
