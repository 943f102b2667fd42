// SPDX-License-Identifier: MIT

// Is a given text, fed tau tokens at a time, seen through the same evictions as one generated token
// by token?

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "eval/session.hpp"
#include "mini_model/evicting_host.hpp"
#include "shared_model.hpp"

namespace {

using eval_test::ledger_prompt;
using eval_test::shipped;
using mini::token;

constexpr std::int32_t budget = 90;
constexpr std::size_t steps = 5;
constexpr std::size_t most = 150;

std::vector<float> forced_logits(eval::session& with, const eval::arm& each,
                                 std::span<const token> prompt, std::span<const token> text) {
  std::vector<float> all;
  std::size_t next = 0;
  const auto cost =
      with.force(each, budget, prompt, text, [&](std::size_t i, std::span<const float> logits) {
        CHECK(i == next++);
        all.insert(all.end(), logits.begin(), logits.end());
      });
  REQUIRE_MESSAGE(bool(cost), cost.error());
  CHECK(next == text.size());
  return all;
}

// One token a step, by the engine and the evictor alone.
std::vector<float> stepped_logits(const eval::arm& each, std::span<const token> prompt,
                                  std::span<const token> text) {
  const mini::loaded_model& model = shipped();
  mini::decoder engine{model.model};
  auto evictor = eval::make_evictor(each, mini::shape_of(model.model.shape), budget);
  REQUIRE_MESSAGE(bool(evictor), evictor.error());
  const epikv::sequence_id sequence{3};
  REQUIRE(evictor->add(sequence, static_cast<std::int32_t>(prompt.size())).ok());
  mini::evicting_host host{*evictor, sequence};
  engine.show_probabilities(mini::wants_attention(*evictor));
  mini::kv_cache cache{model.model.shape, prompt.size() + text.size()};
  std::vector<float> all;
  mini::position at = 0;
  const auto step = [&](std::span<const token> tokens) {
    REQUIRE(host.before(tokens, at, cache));
    const auto logits = engine.forward(
        tokens, at, cache,
        [&](std::size_t layer, const mini::layer_tap& tap) { host.observe(layer, tap); });
    REQUIRE(bool(logits));
    all.insert(all.end(), logits->begin(), logits->end());
    REQUIRE_MESSAGE(host.after(cache), host.status().message());
    at += static_cast<mini::position>(tokens.size());
  };
  for (std::span<const token> rest = prompt; !rest.empty();) {
    const std::size_t count = std::min(rest.size(), host.most_tokens());
    step(rest.first(count));
    rest = rest.subspan(count);
    if (!rest.empty()) all.clear();  // the logits behind the prompt are its last token's
  }
  for (std::size_t i = 0; i + 1 < text.size(); ++i) step(text.subspan(i, 1));
  return all;
}

}  // namespace

TEST_CASE("a forced text gives the bits of one token a step, under every preset") {
  eval::session with{shipped()};
  with.begin_problem(3);
  const std::vector<token> prompt = ledger_prompt(7, steps);
  const auto problem = mini::make_ledger_problem(7, 4, steps);
  const auto text = shipped().words.encode(problem->trace.substr(0, most));
  REQUIRE(bool(text));
  std::vector<eval::arm> arms = eval_test::short_arms();
  arms.push_back({"full", "none", ""});
  const std::vector<float> full = forced_logits(with, arms.back(), prompt, *text);
  for (const eval::arm& each : arms) {
    CAPTURE(each.name);
    const std::vector<float> forced = forced_logits(with, each, prompt, *text);
    const std::vector<float> stepped = stepped_logits(each, prompt, *text);
    REQUIRE(forced.size() == stepped.size());
    CHECK(std::memcmp(forced.data(), stepped.data(), forced.size() * sizeof(float)) == 0);
    // An arm that evicts changes what comes after, or the comparison would show nothing.
    CHECK((forced == full) == each.is_full());
  }
}

TEST_CASE("a generated answer is the most likely one when it is forced") {
  eval::session with{shipped()};
  const std::vector<token> prompt = ledger_prompt(11, steps);
  for (const eval::arm& each : eval_test::short_arms()) {
    CAPTURE(each.name);
    const auto answer = with.generate(each, budget, {.prompt = prompt, .most = most});
    REQUIRE_MESSAGE(bool(answer), answer.error());
    // Long enough for several evictions.
    REQUIRE(prompt.size() + answer->tokens.size() > static_cast<std::size_t>(budget) + 32);
    if (each.preset != "lag-kv") {  // which has no budget
      CHECK(answer->cost.peak_tokens <= static_cast<std::size_t>(budget) + 8);
    }
    CHECK(answer->cost.peak_bytes > 0);
    const std::vector<float> forced = forced_logits(with, each, prompt, answer->tokens);
    const std::size_t vocabulary = shipped().model.shape.vocab;
    std::size_t same = 0;
    for (std::size_t i = 0; i < answer->tokens.size(); ++i) {
      const auto row = std::span{forced}.subspan(i * vocabulary, vocabulary);
      same += mini::argmax(row) == answer->tokens[i] ? 1 : 0;
    }
    CHECK(same == answer->tokens.size());
  }
}

TEST_CASE("an answer that does not end by itself is capped") {
  eval::session with{shipped()};
  const std::vector<token> prompt = ledger_prompt(3, 1);
  const auto whole = with.generate({"full", "none", ""}, 0, {.prompt = prompt, .most = 200});
  REQUIRE(bool(whole));
  CHECK_FALSE(whole->capped);
  CHECK(whole->tokens.back() == shipped().words.eos());
  const auto cut =
      with.generate({"full", "none", ""}, 0, {.prompt = prompt, .most = whole->tokens.size() - 1});
  REQUIRE(bool(cut));
  CHECK(cut->capped);
  CHECK(cut->tokens.size() == whole->tokens.size() - 1);
}

TEST_CASE("what cannot run is said") {
  eval::session with{shipped()};
  const std::vector<token> prompt = ledger_prompt(3, 1);
  const auto ignore = [](std::size_t, std::span<const float>) {};
  const eval::arm arm{"mine", "epikv-flat", "tau=0"};
  const auto generated = with.generate(arm, budget, {.prompt = prompt, .most = 5});
  REQUIRE_FALSE(bool(generated));
  CHECK(generated.error().find("mine: ") == 0);
  CHECK(generated.error().find("tau") != std::string::npos);
  CHECK_FALSE(bool(with.force({"a", "random", ""}, budget, {}, prompt, ignore)));
  CHECK_FALSE(bool(with.force({"a", "random", ""}, budget, prompt, {}, ignore)));
}
