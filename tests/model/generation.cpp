// SPDX-License-Identifier: MIT

// Does greedy decoding solve the task, and does a host stand where it should around the steps?

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mini_model/decoder.hpp"
#include "mini_model/generate.hpp"
#include "mini_model/ledger.hpp"
#include "shipped.hpp"

namespace {

using mini_test::shipped;

// Sanitizers make a problem take seconds.
#if defined(NDEBUG)
constexpr std::size_t problems = 20;
#else
constexpr std::size_t problems = 3;
#endif

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::vector<mini::token> prompt_of(std::uint64_t seed, std::size_t steps, std::string* trace) {
  const auto problem = mini::make_ledger_problem(seed, 4, steps);
  REQUIRE(bool(problem));
  const auto tokens = shipped().words.encode(problem->prompt);
  REQUIRE(bool(tokens));
  *trace = problem->trace;
  return *tokens;
}

// Writes down what happens to it.
struct noting_host {
  struct step {
    std::vector<mini::token> tokens;
    mini::position first;
    std::size_t length_before;
    std::size_t length_after;
    std::size_t layers;
  };
  std::vector<step> steps;
  std::size_t stop_before = ~std::size_t{0};
  std::size_t stop_after = ~std::size_t{0};

  bool before(std::span<const mini::token> tokens, mini::position first, mini::kv_cache& cache) {
    if (steps.size() == stop_before) return false;
    steps.push_back({{tokens.begin(), tokens.end()}, first, cache.length(), 0, 0});
    return true;
  }
  void observe(std::size_t layer, const mini::layer_tap& tap) {
    CHECK(layer == steps.back().layers);
    CHECK(tap.tokens == steps.back().tokens.size());
    ++steps.back().layers;
  }
  bool after(mini::kv_cache& cache) {
    steps.back().length_after = cache.length();
    return steps.size() - 1 != stop_after;
  }
};

}  // namespace

TEST_CASE("with its full cache the shipped model solves held-out problems of 12 steps") {
  mini::decoder engine{shipped().model};
  std::size_t right = 0;
  for (std::size_t i = 0; i < problems; ++i) {
    std::string trace;
    const auto prompt = prompt_of(1'000'000 + i, 12, &trace);
    mini::kv_cache cache{shipped().model.shape, prompt.size() + trace.size()};
    const auto answer = mini::generate(
        engine, cache, prompt,
        {.most_tokens = trace.size(), .ends = shipped().words.ends(), .prompt_chunk = 32});
    REQUIRE_MESSAGE(bool(answer), answer.error());
    const std::string text = shipped().words.decode(*answer);
    right += text == trace ? 1 : 0;  // not the answer alone: every character
    CHECK(text == trace);
    // The last token is returned and not fed to the model.
    CHECK(cache.length() == prompt.size() + answer->size() - 1);
  }
  CHECK(right == problems);
}

TEST_CASE("the prompt may come in chunks, and the answer is the same") {
  std::string trace;
  const auto prompt = prompt_of(11, 2, &trace);
  for (const std::size_t chunk : {0u, 1u, 7u, 26u, 27u, 1000u}) {
    CAPTURE(chunk);
    mini::decoder engine{shipped().model};
    mini::kv_cache cache{shipped().model.shape, prompt.size() + trace.size()};
    noting_host host;
    const auto answer = mini::generate(
        engine, cache, prompt,
        {.most_tokens = trace.size(), .ends = shipped().words.ends(), .prompt_chunk = chunk}, host);
    REQUIRE_MESSAGE(bool(answer), answer.error());
    CHECK(shipped().words.decode(*answer) == trace);

    // The steps are the prompt's chunks and then each token but the last, in order.
    std::vector<mini::token> fed;
    for (const auto& step : host.steps) {
      CHECK(step.first == static_cast<mini::position>(fed.size()));
      CHECK(step.length_before == fed.size());
      fed.insert(fed.end(), step.tokens.begin(), step.tokens.end());
      CHECK(step.length_after == fed.size());
      CHECK(step.layers == 6);
      const std::size_t most = chunk == 0 ? prompt.size() : chunk;
      CHECK(step.tokens.size() <= (fed.size() <= prompt.size() ? most : 1));
    }
    std::vector<mini::token> expected = prompt;
    expected.insert(expected.end(), answer->begin(), answer->end() - 1);
    CHECK(fed == expected);
    const std::size_t chunks = chunk == 0 ? 1 : (prompt.size() + chunk - 1) / chunk;
    CHECK(host.steps.size() == chunks + answer->size() - 1);
  }
}

TEST_CASE("generation ends with the end token, the number asked for, or the host's word") {
  std::string trace;
  const auto prompt = prompt_of(12, 1, &trace);
  mini::decoder engine{shipped().model};
  const auto generated = [&](const mini::generate_options& options, noting_host& host) {
    mini::kv_cache cache{shipped().model.shape, 200};
    const auto answer = mini::generate(engine, cache, prompt, options, host);
    REQUIRE_MESSAGE(bool(answer), answer.error());
    return shipped().words.decode(*answer);
  };
  const auto ends = shipped().words.ends();
  noting_host plain;
  CHECK(generated({.most_tokens = 100, .ends = ends}, plain) == trace);
  plain = {};
  CHECK(generated({.most_tokens = 5, .ends = ends}, plain) == trace.substr(0, 5));
  CHECK(plain.steps.size() == 5);
  plain = {};
  CHECK(generated({.most_tokens = 0, .ends = ends}, plain).empty());
  CHECK(plain.steps.empty());
  plain = {};
  CHECK(generated({.most_tokens = trace.size() + 3}, plain).size() == trace.size() + 3);
  // Any token can be the end; it is part of what is returned.
  const auto colon = shipped().words.encode(":");
  REQUIRE(bool(colon));
  plain = {};
  CHECK(generated({.most_tokens = 100, .ends = *colon}, plain) ==
        trace.substr(0, trace.find(':') + 1));

  noting_host stops;
  stops.stop_before = 3;
  CHECK(generated({.most_tokens = 100, .ends = ends}, stops) == trace.substr(0, 3));
  CHECK(stops.steps.size() == 3);
  stops = {};
  stops.stop_after = 3;  // what this step computed is not used
  CHECK(generated({.most_tokens = 100, .ends = ends}, stops) == trace.substr(0, 3));
  CHECK(stops.steps.size() == 4);
}

TEST_CASE("generation hands on the decoder's errors") {
  std::string trace;
  const auto prompt = prompt_of(13, 1, &trace);
  mini::decoder engine{shipped().model};
  mini::kv_cache cache{shipped().model.shape, prompt.size() + 4};
  const auto full = mini::generate(engine, cache, prompt, {.most_tokens = 100});
  REQUIRE(!full);
  CHECK(contains(full.error(), "the cache is full"));
  CHECK(cache.length() == cache.capacity());
  cache.clear();
  CHECK(mini::generate(engine, cache, prompt, {.most_tokens = 5}));
  cache.clear();
  CHECK(!mini::generate(engine, cache, {}, {.most_tokens = 5}));
  const std::vector<mini::token> unknown{47};
  CHECK(!mini::generate(engine, cache, unknown, {.most_tokens = 5}));
}

TEST_CASE("of equal logits the first wins") {
  CHECK(mini::argmax(std::vector<float>{1, 3, 2, 3}) == 1);
  CHECK(mini::argmax(std::vector<float>{-1}) == 0);
  CHECK(mini::argmax(std::vector<float>{-2, -2, -1}) == 2);
}
