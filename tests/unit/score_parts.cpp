// SPDX-License-Identifier: MIT

// Are the parts of the epiphany score what its bands give alone, do they follow the cache, and
// does keeping them change nothing else?

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "driver.hpp"
#include "epikv/cpu.hpp"

namespace {

constexpr epikv::model_shape shape{
    .layers = 4, .query_heads = 4, .kv_heads = 2, .head_dim = 4, .hidden = 8};
constexpr epikv::sequence_id sequence{9};
constexpr std::int32_t prompt = 5;
constexpr std::int32_t total = 90;

using numbers = std::map<std::int32_t, std::uint32_t>;  // position to bits

struct seen {
  std::map<std::string, numbers> parts;
  std::size_t state_bytes = 0;
};

// What an evictor says of each token it still has at the end.
seen after_all_tokens(const char* preset, const std::string& settings,
                      const std::vector<std::string>& parts) {
  auto ev = epikv::make_evictor(
      preset, shape, "recent=2 tau=3 step_tokens=2 band_a=0,2 band_b=3 window=7 " + settings);
  REQUIRE_MESSAGE(ev.ok(), ev.status().message());
  REQUIRE(ev->add(sequence, prompt).ok());
  epikv_test::feed source{shape, prompt, 77};
  std::array<std::int32_t, 1> tokens{0};
  while (tokens[0] < total) {
    const std::int32_t n = tokens[0] == 0 ? prompt : 1 + tokens[0] % 2;
    const std::array<epikv::step_sequence, 1> batch{{{sequence, n}}};
    const epikv::status done =
        epikv_test::run_step(*ev, source, batch, tokens, [](const epikv::selection&) {});
    REQUIRE_MESSAGE(done.ok(), done.message());
  }
  seen out;
  const auto positions = ev->positions(sequence, 0);
  REQUIRE(positions.ok());
  for (const std::string& part : parts) {
    std::vector<float> found(positions->size());
    const auto count = ev->scores(sequence, 0, part, found);
    REQUIRE_MESSAGE(count.ok(), count.status().message());
    for (std::size_t i = 0; i < found.size(); ++i) {
      out.parts[part][epikv::to_int((*positions)[i])] = std::bit_cast<std::uint32_t>(found[i]);
    }
  }
  const auto statistics = ev->statistics(sequence);
  REQUIRE(statistics.ok());
  out.state_bytes = statistics->state_bytes;
  return out;
}

// `few` is a part of `all`; returns how many tokens decode tokens among them are.
std::size_t check_within(const numbers& few, const numbers& all, bool negated = false) {
  std::size_t decoded = 0;
  for (const auto& each : few) {
    const std::int32_t position = each.first;
    const float number = std::bit_cast<float>(each.second);
    CAPTURE(position);
    REQUIRE(all.contains(position));
    const float other = std::bit_cast<float>(all.at(position));
    if (position < prompt) {
      CHECK(std::isnan(number));
      CHECK(std::isnan(other));
      continue;
    }
    ++decoded;
    CHECK(number == (negated ? -other : other));
  }
  return decoded;
}

}  // namespace

TEST_CASE("the parts of the epiphany score are what either band gives alone") {
  for (const std::string weights : {"", " weight_a=2 weight_b=0.5"}) {
    CAPTURE(weights);
    const seen tracked =
        after_all_tokens("epikv-flat", "budget=24 track_bands=true" + weights, {"score", "a", "b"});
    const seen plain = after_all_tokens("epikv-flat", "budget=24" + weights, {"score"});
    const seen a = after_all_tokens("epikv-flat", "budget=1000 form=a_only", {"score"});
    const seen b = after_all_tokens("epikv-flat", "budget=1000 form=b_only", {"score"});
    CHECK(a.parts.at("score").size() > 80);
    // A band's number belongs to its token for ever, so what is left after evictions is a part of
    // what there was.
    CHECK(check_within(tracked.parts.at("a"), a.parts.at("score")) >= 19);
    CHECK(check_within(tracked.parts.at("b"), b.parts.at("score"), true) >= 19);
    CHECK(tracked.parts.at("a").size() < 30);
    CHECK(tracked.parts.at("a") != tracked.parts.at("b"));
    CHECK(tracked.parts.at("score") == plain.parts.at("score"));
    CHECK(tracked.state_bytes > plain.state_bytes);
  }
}

TEST_CASE("a band that the form leaves out gives 0, and raw gives the means") {
  const seen only = after_all_tokens("epikv-flat", "budget=1000 form=a_only track_bands=true",
                                     {"score", "a", "b"});
  CHECK(check_within(only.parts.at("a"), only.parts.at("score")) > 80);
  for (const auto& each : only.parts.at("b")) {
    if (each.first >= prompt) CHECK(std::bit_cast<float>(each.second) == 0.0F);
  }
  const seen raw = after_all_tokens(
      "epikv-flat", "budget=1000 form=raw weight_b=0 track_bands=true", {"score", "a", "b"});
  CHECK(check_within(raw.parts.at("a"), raw.parts.at("score")) > 80);
  // Means of distances are not below 0, and z of either sign is.
  for (const auto& each : raw.parts.at("b")) {
    if (each.first >= prompt) CHECK(std::bit_cast<float>(each.second) >= 0.0F);
  }
}

TEST_CASE("epikv-q has the bands beside its two parts, if they are tracked") {
  const std::string settings =
      "budget=1000 segment=8 tiers=4,2,1 track_epiphany=true query_layer=1 query_window=2";
  const seen q = after_all_tokens("epikv-q", settings + " track_bands=true",
                                  {"score", "epiphany", "relevance", "a", "b"});
  const seen plain = after_all_tokens("epikv-q", settings, {"score", "epiphany", "relevance"});
  const seen flat =
      after_all_tokens("epikv-flat", "budget=1000 track_bands=true", {"score", "a", "b"});
  for (const char* part : {"score", "epiphany", "relevance"}) {
    CHECK(q.parts.at(part) == plain.parts.at(part));
  }
  CHECK(check_within(q.parts.at("epiphany"), flat.parts.at("score")) > 80);
  CHECK(check_within(q.parts.at("a"), flat.parts.at("a")) > 80);
  CHECK(check_within(q.parts.at("b"), flat.parts.at("b")) > 80);
}

TEST_CASE("parts that are not tracked are refused by name") {
  for (const char* preset : {"epikv-flat", "epikv-q"}) {
    auto ev = epikv::make_evictor(preset, shape, "budget=8 recent=2 query_window=2");
    if (std::string{preset} == "epikv-flat") ev = epikv::make_evictor(preset, shape, "budget=8");
    REQUIRE_MESSAGE(ev.ok(), ev.status().message());
    REQUIRE(ev->add(sequence, 0).ok());
    std::array<float, 4> room{};
    const auto refused = ev->scores(sequence, 0, "a", room);
    CHECK(refused.status().code() == epikv::errc::invalid_argument);
    CHECK(refused.status().argument() == "part");
    CHECK(refused.status().message().find("a, b (if tracked)") != std::string_view::npos);
  }
}
