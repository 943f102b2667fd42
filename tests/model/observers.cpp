// SPDX-License-Identifier: MIT

// Do the observers of the decoder see what its layers did?

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

using namespace mini_test;

TEST_CASE("observers see, layer by layer, what an independent computation computes") {
  for (const char* const architecture : architectures) {
    CAPTURE(std::string{architecture});
    llama_sizes sizes;
    sizes.architecture = architecture;
    const mini::weights model = tiny(sizes);
    const mini::config& s = model.shape;
    const std::size_t n = 13;
    const auto tokens = any_tokens(n, s.vocab);
    std::vector<mini::position> positions = counted(n);
    for (std::size_t t = 6; t < n; ++t) positions[t] += 30;
    const auto story = mini_test::tell(model, tokens, positions);

    mini::decoder engine{model};
    engine.show_probabilities(true);
    mini::kv_cache cache{s, 20};
    std::size_t first = 0;
    for (const std::size_t count : {5u, 1u, 1u, 6u}) {
      std::vector<tapped> taps;
      const auto logits = engine.forward(
          std::span{tokens}.subspan(first, count), std::span{positions}.subspan(first, count),
          cache, [&](std::size_t layer, const mini::layer_tap& tap) {
            // The cache holds the chunk of this layer already, and none of the later ones.
            for (std::size_t l = 0; l < s.layers; ++l) {
              CHECK(cache.length(l, 0) == first + (l <= layer ? count : 0));
              CHECK(cache.length(l, 1) == first + (l <= layer ? count : 0));
            }
            taps.push_back(copy_of(layer, tap));
          });
      REQUIRE_MESSAGE(bool(logits), logits.error());
      CHECK(distance(story.logits[first + count - 1], *logits) < tolerance);
      REQUIRE(taps.size() == s.layers);
      for (std::size_t layer = 0; layer < s.layers; ++layer) {
        CAPTURE(layer);
        const tapped& tap = taps[layer];
        const mini_test::layer_story& expected = story.layers[layer];
        CHECK(tap.layer == layer);
        REQUIRE(tap.tokens == count);
        REQUIRE(tap.hidden_in.size() == count * s.hidden);
        REQUIRE(tap.hidden_out.size() == count * s.hidden);
        REQUIRE(tap.keys.size() == count * s.kv_size());
        REQUIRE(tap.values.size() == count * s.kv_size());
        REQUIRE(tap.queries.size() == count * s.query_size());
        REQUIRE(tap.slots >= first + count);
        REQUIRE(tap.probabilities.size() == count * s.query_heads * tap.slots);
        if (layer > 0) CHECK(tap.hidden_in == taps[layer - 1].hidden_out);
        for (std::size_t i = 0; i < count; ++i) {
          const std::size_t t = first + i;
          CAPTURE(t);
          CHECK(tap.positions[i] == positions[t]);
          CHECK(distance(expected.hidden_in[t], row(tap.hidden_in, i, s.hidden)) < 1e-5);
          CHECK(distance(expected.hidden_out[t], row(tap.hidden_out, i, s.hidden)) < 1e-5);
          CHECK(distance(expected.keys[t], row(tap.keys, i, s.kv_size())) < 1e-5);
          CHECK(distance(expected.values[t], row(tap.values, i, s.kv_size())) < 1e-5);
          CHECK(distance(expected.queries[t], row(tap.queries, i, s.query_size())) < 1e-5);
          for (std::size_t head = 0; head < s.query_heads; ++head) {
            const auto shares = row(tap.probabilities, i * s.query_heads + head, tap.slots);
            CHECK(distance(expected.probabilities[t][head], shares.first(t + 1)) < 1e-5);
            const auto unseen = shares.subspan(t + 1);
            CHECK(std::count(unseen.begin(), unseen.end(), 0.0f) ==
                  static_cast<std::ptrdiff_t>(unseen.size()));
          }
          // What the observer is shown is what the cache holds, bit by bit.
          for (std::size_t head = 0; head < s.kv_heads; ++head) {
            const std::size_t at = i * s.kv_heads + head;
            const auto key = row(tap.keys, at, s.head_dim);
            const auto value = row(tap.values, at, s.head_dim);
            CHECK(std::equal(key.begin(), key.end(), cache.keys(layer, head) + t * s.head_dim));
            CHECK(
                std::equal(value.begin(), value.end(), cache.values(layer, head) + t * s.head_dim));
          }
        }
      }
      first += count;
    }
    CHECK(first == n);
  }
}

TEST_CASE("each KV head serves the query heads that follow each other") {
  // A KV head whose keys are all zero is attended to evenly, by its three query heads alone.
  for (std::size_t flat = 0; flat < 2; ++flat) {
    mini::weights model = tiny();
    const mini::config& s = model.shape;
    auto& keys = model.layers[0].attn_k;
    keys.middleRows(static_cast<Eigen::Index>(flat * s.head_dim),
                    static_cast<Eigen::Index>(s.head_dim))
        .setZero();
    mini::decoder engine{model};
    engine.show_probabilities(true);
    mini::kv_cache cache{s, 8};
    const auto tokens = any_tokens(8, s.vocab);
    const auto logits =
        engine.forward(tokens, 0, cache, [&](std::size_t layer, const mini::layer_tap& tap) {
          if (layer != 0) return;
          for (std::size_t head = 0; head < 6; ++head) {
            const auto shares = tap.probabilities.subspan((7 * 6 + head) * tap.slots, 8);
            const bool even = std::all_of(shares.begin(), shares.end(),
                                          [](float p) { return std::abs(p - 0.125f) < 1e-6f; });
            CHECK(even == (head / 3 == flat));
          }
        });
    CHECK(bool(logits));
  }
}
