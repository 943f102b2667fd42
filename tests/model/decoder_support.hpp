// SPDX-License-Identifier: MIT
#pragma once

// What the tests of the decoder share: models, tokens, logits in chunks, copies of what was seen.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "llama_oracle.hpp"
#include "mini_model/decoder.hpp"
#include "mini_model/ledger.hpp"
#include "shipped.hpp"
#include "tiny_llama.hpp"

namespace mini_test {

inline mini::weights tiny(const llama_sizes& sizes = {}, unsigned seed = 1) {
  const auto file = mini::gguf_file::parse(llama_file(sizes, seed).build());
  REQUIRE_MESSAGE(bool(file), file.error());
  auto model = mini::weights::load(*file);
  REQUIRE_MESSAGE(bool(model), model.error());
  return *std::move(model);
}

// Prompt and trace of a problem as tokens.
inline std::vector<mini::token> ledger_tokens(std::uint64_t seed, std::size_t steps,
                                              std::size_t* prompt = nullptr) {
  const auto problem = mini::make_ledger_problem(seed, 4, steps);
  REQUIRE(bool(problem));
  const auto tokens = shipped().words.encode(problem->prompt + problem->trace);
  REQUIRE_MESSAGE(bool(tokens), tokens.error());
  if (prompt != nullptr) *prompt = problem->prompt.size();
  return *tokens;
}

inline std::vector<mini::token> any_tokens(std::size_t count, std::size_t vocab) {
  std::vector<mini::token> out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back(static_cast<mini::token>((i * i + 3 * i + 1) % vocab));
  }
  return out;
}

inline std::vector<mini::position> counted(std::size_t count, mini::position first = 0) {
  std::vector<mini::position> out(count);
  std::iota(out.begin(), out.end(), first);
  return out;
}

// All logits of tokens given in chunks: `chunk` at a time up to `prompt`, then one by one.
inline std::vector<float> chunked(mini::decoder& engine, mini::kv_cache& cache,
                                  const std::vector<mini::token>& tokens, std::size_t prompt,
                                  std::size_t chunk) {
  std::vector<float> out;
  for (std::size_t first = 0; first < tokens.size();) {
    const std::size_t count = first < prompt ? std::min(chunk, prompt - first) : 1;
    const auto logits =
        engine.forward(std::span{tokens}.subspan(first, count), static_cast<mini::position>(first),
                       cache, mini::no_observer{}, mini::logits_of::every_token);
    REQUIRE_MESSAGE(bool(logits), logits.error());
    out.insert(out.end(), logits->begin(), logits->end());
    first += count;
  }
  return out;
}

inline std::vector<float> chunked(const mini::weights& model,
                                  const std::vector<mini::token>& tokens, std::size_t prompt,
                                  std::size_t chunk) {
  mini::decoder engine{model};
  mini::kv_cache cache{model.shape, tokens.size()};
  return chunked(engine, cache, tokens, prompt, chunk);
}

inline double distance(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double off = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    largest = off <= largest ? largest : off;  // NaN stays
  }
  return largest;
}

inline double distance(const numbers& expected, std::span<const float> got) {
  if (expected.size() != got.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double off = std::abs(expected[i] - static_cast<double>(got[i]));
    largest = off <= largest ? largest : off;
  }
  return largest;
}

inline constexpr double tolerance = 1e-4;

// A copy of what an observer was shown.
struct tapped {
  std::size_t layer;
  std::size_t tokens;
  std::size_t slots;
  std::vector<mini::position> positions;
  std::vector<float> hidden_in, hidden_out, keys, values, queries, probabilities;
};

inline tapped copy_of(std::size_t layer, const mini::layer_tap& tap) {
  const auto copied = [](auto view) { return std::vector(view.begin(), view.end()); };
  return {layer,
          tap.tokens,
          tap.slots,
          copied(tap.positions),
          copied(tap.hidden_in),
          copied(tap.hidden_out),
          copied(tap.keys),
          copied(tap.values),
          copied(tap.queries),
          copied(tap.probabilities)};
}

inline std::span<const float> row(const std::vector<float>& data, std::size_t index,
                                  std::size_t size) {
  return std::span{data}.subspan(index * size, size);
}

// All that a cache says of itself and holds.
struct cache_copy {
  std::vector<std::size_t> lengths;
  std::vector<float> rows;
  std::size_t peak_tokens, peak_bytes, bytes, capacity;

  explicit cache_copy(const mini::kv_cache& cache)
      : peak_tokens{cache.peak_tokens()},
        peak_bytes{cache.peak_bytes()},
        bytes{cache.bytes()},
        capacity{cache.capacity()} {
    for (std::size_t layer = 0; layer < cache.layers(); ++layer) {
      for (std::size_t head = 0; head < cache.kv_heads(); ++head) {
        lengths.push_back(cache.length(layer, head));
        const std::size_t size = cache.capacity() * cache.head_dim();
        rows.insert(rows.end(), cache.keys(layer, head), cache.keys(layer, head) + size);
        rows.insert(rows.end(), cache.values(layer, head), cache.values(layer, head) + size);
      }
    }
  }
  bool operator==(const cache_copy&) const = default;
};

}  // namespace mini_test
