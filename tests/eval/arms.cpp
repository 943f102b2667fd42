// SPDX-License-Identifier: MIT

// Do arms get the settings that their presets understand, and is everything else refused?

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "eval/arm.hpp"
#include "model/program.hpp"

namespace {

constexpr epikv::model_shape shape{
    .layers = 6, .query_heads = 4, .kv_heads = 2, .head_dim = 8, .hidden = 32};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

eval::arm read(std::string_view text, std::string_view common = {}) {
  auto made = eval::parse_arm(text, common);
  REQUIRE_MESSAGE(bool(made), made.error());
  return *std::move(made);
}

}  // namespace

TEST_CASE("common settings go to the presets that understand them") {
  const auto arms = eval::preset_arms("tau=9 tiers=3,2,1 seed=4");
  REQUIRE_MESSAGE(bool(arms), arms.error());
  CHECK(arms->size() + 1 == epikv::presets.size());
  bool seen_random = false;
  for (const eval::arm& each : *arms) {
    CAPTURE(each.name);
    CHECK_FALSE(each.is_full());
    CHECK(contains(each.settings, "tau=9"));
    const bool segments = each.preset == "epikv-q" || each.preset == "epikv-seg";
    CHECK(contains(each.settings, "tiers=3,2,1") == segments);
    CHECK(contains(each.settings, "seed=4") ==
          (each.preset.find("random") == 0 || each.preset == "epikv-mix" || each.preset == "vase"));
    seen_random = seen_random || each.preset == "random";
    const auto evictor = eval::make_evictor(each, shape, 77);
    REQUIRE_MESSAGE(bool(evictor), evictor.error());
    CHECK(evictor->options().budget == 77);
    CHECK(evictor->options().tau == 9);
  }
  CHECK(seen_random);
  const auto wrong = eval::preset_arms("tau=9 tao=3");
  REQUIRE_FALSE(bool(wrong));
  CHECK(contains(wrong.error(), "'tao'"));
}

TEST_CASE("an arm's own settings win over common ones, forced ones over both") {
  const eval::arm each = read("mine: epikv-flat tau=3 recent=5", "tau=9 recent=7 window=11 seed=1");
  CHECK(each.name == "mine");
  CHECK(each.preset == "epikv-flat");
  CHECK(each.settings == "tau=3 recent=5 window=11");
  const eval::arm forced = eval::with_settings(each, "recent=2 tiers=1,1,1");
  CHECK(forced.name == "mine");
  CHECK(forced.settings == "recent=2 tau=3 window=11");
  const auto evictor = eval::make_evictor(forced, shape, 50);
  REQUIRE_MESSAGE(bool(evictor), evictor.error());
  CHECK(evictor->options().tau == 3);
  CHECK(evictor->options().recent == 2);

  CHECK(read("random").name == "random");
  CHECK(read("  random   seed=3 ").settings == "seed=3");
  CHECK(read("none").is_full());
}

TEST_CASE("what is no arm is refused with what there is") {
  const auto unknown = eval::parse_arm("epikv-x tau=1", "");
  REQUIRE_FALSE(bool(unknown));
  CHECK(contains(unknown.error(), "'epikv-x'"));
  CHECK(contains(unknown.error(), "epikv-q, epikv-seg"));
  CHECK_FALSE(bool(eval::parse_arm("", "")));
  CHECK_FALSE(bool(eval::parse_arm("name: ", "")));
  CHECK(contains(eval::parse_arm("random seed", "").error(), "'seed'"));
  // Values are the evictor's business, and it names the arm.
  const auto made = eval::make_evictor(read("mine: random seed=x"), shape, 50);
  REQUIRE_FALSE(bool(made));
  CHECK(contains(made.error(), "mine: invalid_argument: seed: got x"));
}

TEST_CASE("a preset file is an arm, for its model alone") {
  const mini_test::scratch_folder folder{"arms"};
  const std::string_view text = "preset=epikv-flat layers=6 tau=4 # c\nband_a=4 band_b=3";
  const std::string path = folder.write("a.preset", text.data(), text.size());
  const auto each = eval::arm_of_file(path, shape, "tau=9 recent=7");
  REQUIRE_MESSAGE(bool(each), each.error());
  CHECK(each->name == "calibrated");
  CHECK(each->settings == "tau=4 band_a=4 band_b=3 recent=7");

  epikv::model_shape other = shape;
  other.layers = 7;
  CHECK(contains(eval::arm_of_file(path, other, "").error(), "layers"));
  CHECK(contains(eval::arm_of_file(folder.file("none"), shape, "").error(), "none"));
}
