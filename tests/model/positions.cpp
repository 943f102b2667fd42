// SPDX-License-Identifier: MIT

// Is position really not slot? Evict-then-decode must equal one forward pass over all tokens at
// their original positions, under a mask that hides from each query, per layer and KV head, exactly
// the tokens that had been evicted before it. A host that rewinds positions must not.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "mini_model/evicting_host.hpp"
#include "mini_model/ledger.hpp"
#include "mini_model/reference.hpp"
#include "shipped.hpp"

namespace {

using mini_test::shipped;

enum class rotate_at { logical_position, cache_length };

// What a teacher-forced run under a preset saw and computed.
struct forced_run {
  std::vector<mini::token> tokens;
  std::vector<float> logits;  // [tokens, vocab]
  // visible[layer][head][query] = positions cached for that head when the query ran, chunk
  // included.
  std::vector<std::vector<std::vector<std::set<std::int32_t>>>> visible;
  std::size_t evictions = 0;
  bool heads_differ = false;

  [[nodiscard]] bool sees(std::size_t layer, std::size_t head, std::size_t q, std::size_t k) const {
    return visible[layer][head][q].count(static_cast<std::int32_t>(k)) > 0;
  }
};

// Feeds prompt and trace of a problem: the prompt in chunks of `prompt_chunk`, then `step` tokens a
// forward pass, with the cache evicted between passes.
forced_run run_forced(const std::string& preset, const std::string& settings, std::size_t step,
                      rotate_at rotation = rotate_at::logical_position,
                      std::size_t prompt_chunk = 1000) {
  const mini::config& shape = shipped().model.shape;
  const auto problem = mini::make_ledger_problem(77, 4, 5);
  REQUIRE(bool(problem));
  const auto tokens = shipped().words.encode(problem->prompt + problem->trace);
  REQUIRE(bool(tokens));
  const std::size_t prompt = problem->prompt.size();

  auto evictor = epikv::make_evictor(preset, mini::shape_of(shape), settings);
  REQUIRE_MESSAGE(evictor.ok(), evictor.status().message());
  constexpr epikv::sequence_id sequence{3};
  REQUIRE(evictor->add(sequence, static_cast<std::int32_t>(prompt)).ok());
  mini::evicting_host host{*evictor, sequence};
  mini::kv_cache cache{shape, tokens->size()};
  mini::decoder engine{shipped().model};
  const auto group_count = evictor->shape().groups(evictor->options().keep_sets);

  forced_run out;
  out.tokens = *tokens;
  out.visible.assign(shape.layers, {});
  for (auto& layer : out.visible) {
    layer.assign(shape.kv_heads, std::vector<std::set<std::int32_t>>(tokens->size()));
  }
  for (std::size_t first = 0; first < tokens->size();) {
    const std::size_t count = first < prompt ? std::min(prompt_chunk, prompt - first)
                                             : std::min(step, tokens->size() - first);
    for (std::size_t layer = 0; layer < shape.layers; ++layer) {
      for (std::size_t head = 0; head < shape.kv_heads; ++head) {
        const auto group = evictor->shape().group_of(evictor->options().keep_sets,
                                                     static_cast<std::int32_t>(layer),
                                                     static_cast<std::int32_t>(head));
        std::set<std::int32_t> cached;
        for (const epikv::position p : *evictor->positions(sequence, group)) {
          cached.insert(epikv::to_int(p));
        }
        REQUIRE(cached.size() == cache.length(layer, head));
        for (std::size_t q = first; q < first + count; ++q) {
          cached.insert(static_cast<std::int32_t>(q));
          out.visible[layer][head][q] = cached;
        }
      }
    }
    const std::span<const mini::token> chunk{tokens->data() + first, count};
    std::vector<mini::position> positions;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at =
          rotation == rotate_at::logical_position ? first + i : cache.length() + i;
      positions.push_back(static_cast<mini::position>(at));
    }
    REQUIRE(host.before(chunk, static_cast<mini::position>(first), cache));
    const auto logits = engine.forward(
        chunk, positions, cache,
        [&](std::size_t layer, const mini::layer_tap& tap) { host.observe(layer, tap); },
        mini::logits_of::every_token);
    REQUIRE_MESSAGE(bool(logits), logits.error());
    out.logits.insert(out.logits.end(), logits->begin(), logits->end());
    REQUIRE_MESSAGE(host.after(cache), host.status().message());
    first += count;

    const auto one = evictor->positions(sequence, 0);
    for (std::int32_t g = 1; g < group_count; ++g) {
      const auto other = evictor->positions(sequence, g);
      out.heads_differ =
          out.heads_differ || !std::equal(one->begin(), one->end(), other->begin(), other->end());
    }
  }
  out.evictions = evictor->statistics(sequence)->evictions;
  return out;
}

// Largest difference to the masked forward pass over all tokens at their original positions.
double distance_to_masked_forward(const forced_run& run) {
  std::vector<mini::position> positions(run.tokens.size());
  for (std::size_t i = 0; i < positions.size(); ++i) {
    positions[i] = static_cast<mini::position>(i);
  }
  const auto expected =
      mini::reference_logits(shipped().model, run.tokens, positions,
                             [&](std::size_t layer, std::size_t head, std::size_t q,
                                 std::size_t k) { return run.sees(layer, head, q, k); });
  REQUIRE_MESSAGE(bool(expected), expected.error());
  REQUIRE(expected->size() == run.logits.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < run.logits.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>((*expected)[i]) -
                                         static_cast<double>(run.logits[i])));
  }
  return largest;
}

constexpr double tolerance = 1e-4;
const std::string tight = "budget=100 tau=8 recent=16";

}  // namespace

TEST_CASE("evict-then-decode equals the masked forward pass, one keep-set for the model") {
  for (const auto& arm : std::vector<std::pair<std::string, std::string>>{
           {"epikv-q", tight + " segment=16 tiers=8,4,1"},
           {"epikv-seg", tight + " segment=16 tiers=8,4,1 band_a=4 band_b=3"},
           {"epikv-flat", tight + " value_reserve=4"},
           {"random", tight},
           {"streaming", "budget=60 tau=1 recent=16"}}) {
    // Names, not bindings: clang 14 cannot capture those.
    const std::string& preset = arm.first;
    const std::string& settings = arm.second;
    CAPTURE(preset);
    const forced_run run = run_forced(preset, settings, 1);
    CHECK(run.evictions > 5);
    CHECK(distance_to_masked_forward(run) < tolerance);
  }
}

TEST_CASE("evict-then-decode equals the masked forward pass, keep-sets per layer and per head") {
  for (const auto& arm : std::vector<std::pair<std::string, std::string>>{
           {"random-head", tight},
           {"random-head", "budget=50 tau=4 recent=8 protect_prompt=false"},
           {"random", tight + " keep_sets=layer"},
           {"epikv-seg", tight + " segment=16 tiers=8,4,1 keep_sets=kv_head"}}) {
    // Names, not bindings: clang 14 cannot capture those.
    const std::string& preset = arm.first;
    const std::string& settings = arm.second;
    CAPTURE(preset);
    CAPTURE(settings);
    const forced_run run = run_forced(preset, settings, 1);
    CHECK(run.evictions > 5);
    CHECK(run.heads_differ == (preset != "epikv-seg"));  // its scores are the same for every head
    CHECK(distance_to_masked_forward(run) < tolerance);
  }
}

TEST_CASE("prompts in chunks and several tokens a pass see what was not evicted before the pass") {
  for (const char* preset : {"epikv-q", "random-head"}) {
    const std::string name = preset;
    const std::string settings = name == "epikv-q" ? tight + " segment=16 tiers=8,4,1" : tight;
    const forced_run run = run_forced(name, settings, 8, rotate_at::logical_position, 7);
    CHECK(run.evictions > 5);
    CHECK(distance_to_masked_forward(run) < tolerance);
  }
}

TEST_CASE("a host that rewinds positions fails the same comparison") {
  for (const char* preset : {"epikv-flat", "random-head"}) {
    const forced_run run = run_forced(preset, tight, 1, rotate_at::cache_length);
    CHECK(distance_to_masked_forward(run) > 100 * tolerance);
  }
}

TEST_CASE("a mask that forgets one eviction fails the same comparison") {
  // The oracle itself must be sharp: one token more than the cache held, for one head, shows.
  forced_run run = run_forced("random-head", tight, 1);
  const std::size_t last = run.tokens.size() - 1;
  std::set<std::int32_t>& seen = run.visible[0][0][last];
  std::int32_t hidden = 0;
  while (seen.count(hidden) > 0) ++hidden;
  REQUIRE(hidden < static_cast<std::int32_t>(last));
  seen.insert(hidden);
  CHECK(distance_to_masked_forward(run) > tolerance);
}
