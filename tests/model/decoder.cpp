// SPDX-License-Identifier: MIT

// Does the decoder compute the model, and the same numbers in whatever chunks the tokens arrive?
// Does an error change nothing?

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "decoder_support.hpp"
#include "mini_model/reference.hpp"

using namespace mini_test;

TEST_CASE("the reference is the model: it agrees with a third implementation") {
  for (const bool tied : {false, true}) {
    llama_sizes sizes;
    sizes.tied = tied;
    const mini::weights model = tiny(sizes);
    const auto tokens = any_tokens(15, sizes.vocab);
    std::vector<mini::position> positions = counted(15);
    positions[14] = 40;
    const auto logits = mini::reference_logits(model, tokens, positions);
    REQUIRE_MESSAGE(bool(logits), logits.error());
    const auto story = mini_test::tell(model, tokens, positions);
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      CHECK(distance(story.logits[t], row(*logits, t, sizes.vocab)) < 1e-6);
    }
  }
}

TEST_CASE("the reference refuses what it cannot compute") {
  const mini::weights model = tiny();
  const std::vector<mini::token> tokens{1, 2};
  CHECK(!mini::reference_logits(model, tokens, counted(3)));
  for (const mini::token unknown : {-1, 11}) {
    const std::vector<mini::token> wrong{1, unknown};
    const auto logits = mini::reference_logits(model, wrong, counted(2));
    REQUIRE(!logits);
    CHECK(logits.error() == "unknown token " + std::to_string(unknown));
  }
}

TEST_CASE("prefill in chunks and decoding step by step give the reference's logits") {
  std::size_t prompt = 0;
  const auto tokens = ledger_tokens(1'000'000, 4, &prompt);
  const auto expected = mini::reference_logits(shipped().model, tokens, counted(tokens.size()));
  REQUIRE_MESSAGE(bool(expected), expected.error());
  const auto one_by_one = chunked(shipped().model, tokens, prompt, 1);
  CHECK(distance(one_by_one, *expected) < tolerance);
  for (const std::size_t chunk : {std::size_t{7}, prompt}) {
    CAPTURE(chunk);
    CHECK(chunked(shipped().model, tokens, prompt, chunk) == one_by_one);  // every bit
  }
  CHECK(chunked(shipped().model, tokens, tokens.size(), 16) == one_by_one);
  CHECK(chunked(shipped().model, tokens, tokens.size(), tokens.size()) == one_by_one);
}

TEST_CASE("models of any sizes give the same bits in any chunks, and the reference's logits") {
  std::vector<llama_sizes> shapes(4);
  shapes[1].hidden = 17;
  shapes[1].head_dim = 2;
  shapes[1].feed_forward = 5;
  shapes[2].query_heads = 3;  // each with keys of its own
  shapes[2].kv_heads = 3;
  shapes[3].query_heads = 5;  // all with the same keys
  shapes[3].kv_heads = 1;
  shapes[3].head_dim = 10;
  shapes[3].hidden = 33;
  shapes[3].layers = 1;
  for (std::size_t i = 0; i < 3 * shapes.size(); ++i) {
    llama_sizes sizes = shapes[i / 3];
    sizes.architecture = architectures[i % 3];
    CAPTURE(sizes.hidden);
    CAPTURE(sizes.architecture);
    const mini::weights model = tiny(sizes, 7);
    const auto tokens = any_tokens(40, sizes.vocab);
    const auto expected = mini::reference_logits(model, tokens, counted(tokens.size()));
    REQUIRE_MESSAGE(bool(expected), expected.error());
    const auto one_by_one = chunked(model, tokens, 0, 1);
    CHECK(distance(one_by_one, *expected) < tolerance);
    for (const std::size_t chunk : {2u, 3u, 5u, 7u, 16u, 40u}) {
      CAPTURE(chunk);
      CHECK(chunked(model, tokens, tokens.size(), chunk) == one_by_one);
    }
  }
}

TEST_CASE("one decoder serves many caches in turn, with the bits of a decoder each") {
  const mini::weights model = tiny();
  const auto tokens = any_tokens(30, model.shape.vocab);
  const auto alone = chunked(model, tokens, 0, 1);
  mini::decoder engine{model};
  mini::kv_cache first{model.shape, 30};
  mini::kv_cache second{model.shape, 77};  // other strides
  mini::kv_cache third{model.shape, 1000};
  CHECK(chunked(engine, third, tokens, 30, 30) == alone);
  std::vector<float> of_first;
  std::vector<float> of_second;
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    for (auto& [cache, logits] : {std::pair{&first, &of_first}, std::pair{&second, &of_second}}) {
      const auto next =
          engine.forward(std::span{tokens}.subspan(t, 1), static_cast<mini::position>(t), *cache);
      REQUIRE_MESSAGE(bool(next), next.error());
      logits->insert(logits->end(), next->begin(), next->end());
    }
  }
  CHECK(of_first == alone);
  CHECK(of_second == alone);

  // Room asked for in advance, too little or too much, changes nothing either.
  mini::decoder prepared{model};
  prepared.reserve(3, 2000);
  mini::kv_cache fourth{model.shape, 30};
  CHECK(chunked(prepared, fourth, tokens, 30, 10) == alone);
}

TEST_CASE("the last token's logits are the last of every token's") {
  const mini::weights model = tiny();
  const auto tokens = any_tokens(9, model.shape.vocab);
  mini::decoder engine{model};
  mini::kv_cache cache{model.shape, 9};
  const auto every = chunked(engine, cache, tokens, 9, 9);
  REQUIRE(every.size() == 9 * model.shape.vocab);
  cache.clear();
  const auto last = engine.forward(tokens, 0, cache);
  REQUIRE_MESSAGE(bool(last), last.error());
  REQUIRE(last->size() == model.shape.vocab);
  CHECK(std::equal(last->begin(), last->end(), every.end() - 11));
}

TEST_CASE("a token of a chunk does not see its successors") {
  const mini::weights model = tiny();
  auto tokens = any_tokens(12, model.shape.vocab);
  const auto before = chunked(model, tokens, 12, 12);
  for (std::size_t changed = 0; changed < 12; ++changed) {
    auto other = tokens;
    other[changed] = (other[changed] + 1) % static_cast<mini::token>(model.shape.vocab);
    const auto after = chunked(model, other, 12, 12);
    for (std::size_t t = 0; t < 12; ++t) {
      const auto a = row(before, t, model.shape.vocab);
      const auto b = row(after, t, model.shape.vocab);
      CHECK(std::equal(a.begin(), a.end(), b.begin()) == (t < changed));
    }
  }
}

TEST_CASE("positions rotate, and need not follow each other") {
  const mini::weights model = tiny();
  const auto tokens = any_tokens(10, model.shape.vocab);
  mini::decoder engine{model};
  mini::kv_cache cache{model.shape, 10};
  const auto forward = [&](const std::vector<mini::position>& positions) {
    cache.clear();
    const auto logits =
        engine.forward(tokens, positions, cache, mini::no_observer{}, mini::logits_of::every_token);
    REQUIRE_MESSAGE(bool(logits), logits.error());
    return std::vector<float>(logits->begin(), logits->end());
  };
  const auto plain = forward(counted(10));
  CHECK(plain == chunked(model, tokens, 10, 10));
  for (const std::vector<mini::position>& positions :
       {std::vector<mini::position>{0, 1, 5, 6, 7, 20, 21, 40, 41, 1000},
        {3, 2, 1, 0, 9, 8, 7, 6, 5, 4}}) {
    const auto expected = mini::reference_logits(model, tokens, positions);
    REQUIRE_MESSAGE(bool(expected), expected.error());
    const auto got = forward(positions);
    CHECK(distance(got, *expected) < tolerance);
    CHECK(distance(got, plain) > 100 * tolerance);
  }
  // Only distances between positions matter.
  CHECK(distance(forward(counted(10, 500)), plain) < tolerance);
}

TEST_CASE("groups of different lengths are attended to as long as each is") {
  const mini::weights model = tiny();
  const mini::config& s = model.shape;
  const auto tokens = any_tokens(12, s.vocab);
  mini::decoder engine{model};
  engine.show_probabilities(true);
  mini::kv_cache cache{s, 12};
  REQUIRE(bool(engine.forward(std::span{tokens}.first(9), 0, cache)));
  // The newest tokens of two groups go.
  cache.set_length(0, 1, 4);
  cache.set_length(1, 0, 7);
  const auto visible = [](std::size_t layer, std::size_t head, std::size_t q, std::size_t k) {
    if (q < 9 || k >= 9) return true;
    return k < (layer == 0 && head == 1 ? 4u : layer == 1 && head == 0 ? 7u : 9u);
  };
  const auto expected = mini::reference_logits(model, tokens, counted(12), visible);
  REQUIRE_MESSAGE(bool(expected), expected.error());
  const auto got = engine.forward(
      std::span{tokens}.last(3), 9, cache,
      [&](std::size_t, const auto& tap) {
        for (std::size_t i = 0; i < tap.probabilities.size(); i += tap.slots) {
          const auto shares = tap.probabilities.subspan(i, tap.slots);
          CHECK(std::accumulate(shares.begin(), shares.end(), 0.0) == doctest::Approx(1.0));
        }
      },
      mini::logits_of::every_token);
  REQUIRE_MESSAGE(bool(got), got.error());
  CHECK(distance(std::vector<float>(got->begin(), got->end()),
                 std::vector<float>(expected->end() - 3 * 11, expected->end())) < tolerance);
  CHECK(cache.length(0, 0) == 12);
  CHECK(cache.length(0, 1) == 7);
  CHECK(cache.length(1, 0) == 10);
  CHECK(cache.length(1, 1) == 12);
}

TEST_CASE("an error says why and changes nothing") {
  const mini::weights model = tiny();
  const mini::config& s = model.shape;
  const auto tokens = any_tokens(10, s.vocab);
  mini::decoder engine{model};
  mini::kv_cache cache{s, 8};
  REQUIRE(bool(engine.forward(std::span{tokens}.first(6), 0, cache)));
  const cache_copy before{cache};
  std::size_t observed = 0;
  const auto count = [&](std::size_t, const mini::layer_tap&) { ++observed; };
  const auto check_error = [&](const std::vector<mini::token>& chunk,
                               const std::vector<mini::position>& positions,
                               const std::string& part) {
    const auto logits = engine.forward(chunk, positions, cache, count);
    REQUIRE(!logits);
    CHECK_MESSAGE(logits.error().find(part) != std::string::npos, logits.error());
    CHECK(cache_copy{cache} == before);
  };
  check_error({}, {}, "at least one token");
  check_error({1}, {}, "1 tokens with 0 positions");
  check_error({1}, {6, 7}, "1 tokens with 2 positions");
  check_error({1, 11}, {6, 7}, "token 11 is outside of the vocabulary of 11");
  check_error({-1}, {6}, "token -1 is outside");
  check_error({1, std::numeric_limits<mini::token>::min()}, {6, 7}, "outside");
  check_error({1, 2, 3}, {6, 7, 8}, "the cache is full: 6 of 8 slots are live and 3 tokens arrive");
  CHECK(!engine.forward(std::span<const mini::token>{}, 6, cache, count));
  CHECK(cache_copy{cache} == before);

  // One group is enough to be full.
  mini::kv_cache one{s, 8};
  one.set_length(1, 1, 8);
  const cache_copy full{one};
  CHECK(!engine.forward(std::span{tokens}.first(1), 0, one, count));
  CHECK(cache_copy{one} == full);
  mini::kv_cache none{s, 0};
  CHECK(!engine.forward(std::span{tokens}.first(1), 0, none, count));

  for (mini::kv_cache foreign : {mini::kv_cache{s.layers + 1, s.kv_heads, s.head_dim, 8},
                                 mini::kv_cache{s.layers - 1, s.kv_heads, s.head_dim, 8},
                                 mini::kv_cache{s.layers, s.query_heads, s.head_dim, 8},
                                 mini::kv_cache{s.layers, 1, s.head_dim, 8},
                                 mini::kv_cache{s.layers, s.kv_heads, s.head_dim + 2, 8}}) {
    const cache_copy old{foreign};
    const auto logits = engine.forward(std::span{tokens}.first(1), 0, foreign, count);
    REQUIRE(!logits);
    CHECK(logits.error() == "the cache was made for a model of another shape");
    CHECK(cache_copy{foreign} == old);
  }
  CHECK(observed == 0);

  // After all of that the sequence goes on as if nothing had happened, to the last slot.
  const auto rest = engine.forward(std::span{tokens}.subspan(6, 2), 6, cache);
  REQUIRE_MESSAGE(bool(rest), rest.error());
  const auto expected = chunked(model, {tokens.begin(), tokens.begin() + 8}, 8, 8);
  CHECK(std::equal(rest->begin(), rest->end(), expected.end() - 11));
}
