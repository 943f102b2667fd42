// SPDX-License-Identifier: MIT

// Does generation under a budget stay within it, in memory that is really that small, and does a
// keep-set that fits the model still solve the task?

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "mini_model/experiment.hpp"

namespace {

const mini::loaded_model& shipped() {
  static const auto loaded =
      mini::loaded_model::load(EPIKV_SOURCE_DIR "/examples/mini_model/weights/ledger.gguf");
  REQUIRE_MESSAGE(bool(loaded), loaded.error());
  return *loaded;
}

// Sanitizers make a problem take seconds.
#if defined(NDEBUG)
constexpr std::size_t problems = 12;
#else
constexpr std::size_t problems = 2;
#endif

}  // namespace

TEST_CASE("every preset generates within its budget, in a cache that has no room for more") {
  const std::vector<mini::arm> arms{
      {"streaming", "streaming", "tau=16 recent=32"},
      {"random", "random", "tau=16 recent=32"},
      {"random-head", "random-head", "tau=16 recent=32"},
      {"epikv-q", "epikv-q", "tau=16 recent=32 segment=32 tiers=16,8,2"},
      {"epikv-seg", "epikv-seg", "tau=16 recent=32 segment=32 tiers=16,8,2"},
      {"epikv-flat", "epikv-flat", "tau=16 recent=32"},
      {"key-variance", "key-variance", "tau=16 recent=32"},
      {"value-variance", "value-variance", "tau=16 recent=32"}};
  const std::int32_t budget = 160;
  const std::size_t row =
      2 * sizeof(float) * shipped().model.shape.kv_size() * shipped().model.shape.layers;
  for (const mini::arm& each : arms) {
    CAPTURE(each.label);
    const auto found = mini::run_arm(shipped(), each, budget, {2'000'000, 1, 12});
    REQUIRE_MESSAGE(bool(found), found.error());
    CHECK(found->peak_tokens <= static_cast<std::size_t>(budget) + 16);
    CHECK(found->peak_bytes <= row * (static_cast<std::size_t>(budget) + 16));
    CHECK(found->generated > 100);
  }
}

TEST_CASE(
    "the epiphany score with fitted bands answers like the full cache in 37 % of its tokens") {
  const mini::problem_set set{3'000'000, problems, 12};
  const auto full = mini::run_arm(shipped(), {"none", "none", ""}, 1 << 20, set);
  const auto fitted = mini::run_arm(
      shipped(), {"fitted", "epikv-flat", "tau=16 recent=32 band_a=4 band_b=3"}, 200, set);
  const auto depth =
      mini::run_arm(shipped(), {"default", "epikv-flat", "tau=16 recent=32"}, 200, set);
  REQUIRE_MESSAGE(bool(full), full.error());
  REQUIRE_MESSAGE(bool(fitted), fitted.error());
  REQUIRE_MESSAGE(bool(depth), depth.error());
  CHECK(full->right == problems);
  CHECK(full->peak_tokens == 546);
  CHECK(fitted->right + 1 >= problems);
  CHECK(fitted->characters > 0.99);
  CHECK(fitted->peak_tokens == 216);
  // The bands are what makes the difference, not the budget.
  CHECK(depth->characters < fitted->characters - 0.05);
}

TEST_CASE("a preset or a setting that does not exist is an error with its name") {
  const auto unknown = mini::run_arm(shipped(), {"x", "no-such-preset", ""}, 200, {1, 1, 4});
  REQUIRE(!unknown);
  CHECK(unknown.error().find("no-such-preset") != std::string::npos);
  const auto setting = mini::run_arm(shipped(), {"x", "random", "speed=9"}, 200, {1, 1, 4});
  REQUIRE(!setting);
  CHECK(setting.error().find("speed") != std::string::npos);
}
