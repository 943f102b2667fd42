// SPDX-License-Identifier: MIT

// Does the cache keep each group's rows in their slots, and count what it holds?

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include "mini_model/kv_cache.hpp"

namespace {

constexpr std::size_t layers = 3;
constexpr std::size_t heads = 2;
constexpr std::size_t head_dim = 4;
constexpr std::size_t row_bytes = 2 * head_dim * 4;  // a key and a value in float32

// A number that names its place.
float number_of(std::size_t layer, std::size_t head, std::size_t token, std::size_t d) {
  return static_cast<float>(((layer * heads + head) * 100 + token) * 10 + d);
}

void append(mini::kv_cache& cache, std::size_t layer, std::size_t head, std::size_t token) {
  std::vector<float> key(head_dim);
  std::vector<float> value(head_dim);
  for (std::size_t d = 0; d < head_dim; ++d) {
    key[d] = number_of(layer, head, token, d);
    value[d] = -key[d] - 0.5f;
  }
  cache.append(layer, head, key.data(), value.data());
}

// Slots whose row is not that of the named tokens.
std::size_t wrong_rows(const mini::kv_cache& cache, std::size_t layer, std::size_t head,
                       const std::vector<std::size_t>& tokens) {
  std::size_t wrong = cache.length(layer, head) == tokens.size() ? 0 : 1000;
  for (std::size_t slot = 0; slot < tokens.size(); ++slot) {
    const float* const key = cache.keys(layer, head) + slot * cache.slot_stride();
    const float* const value = cache.values(layer, head) + slot * cache.slot_stride();
    bool same = true;
    for (std::size_t d = 0; d < head_dim; ++d) {
      const float number = number_of(layer, head, tokens[slot], d);
      same = same && key[d] == number && value[d] == -number - 0.5f;
    }
    wrong += same ? 0 : 1;
  }
  return wrong;
}

std::vector<std::size_t> first_tokens(std::size_t count) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(i);
  return out;
}

}  // namespace

TEST_CASE("an empty cache has room, strides and no bytes") {
  const mini::kv_cache cache{layers, heads, head_dim, 10};
  CHECK(cache.layers() == layers);
  CHECK(cache.kv_heads() == heads);
  CHECK(cache.head_dim() == head_dim);
  CHECK(cache.capacity() == 10);
  CHECK(cache.length() == 0);
  CHECK(cache.bytes() == 0);
  CHECK(cache.peak_bytes() == 0);
  CHECK(cache.peak_tokens() == 0);
  CHECK(cache.bytes_per_token() == layers * heads * row_bytes);
  CHECK(cache.slot_stride() == head_dim);
  CHECK(cache.head_stride() == 10 * head_dim);
  CHECK(cache.layer_stride() == heads * 10 * head_dim);
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (std::size_t head = 0; head < heads; ++head) {
      const std::size_t offset = layer * cache.layer_stride() + head * cache.head_stride();
      CHECK(cache.keys(layer, head) == cache.keys(0, 0) + offset);
      CHECK(cache.values(layer, head) == cache.values(0, 0) + offset);
      CHECK(cache.length(layer, head) == 0);
    }
  }

  mini::config shape;
  shape.layers = 6;
  shape.kv_heads = 2;
  shape.head_dim = 16;
  const mini::kv_cache of_model{shape, 7};
  CHECK(of_model.layers() == 6);
  CHECK(of_model.kv_heads() == 2);
  CHECK(of_model.head_dim() == 16);
  CHECK(of_model.capacity() == 7);
  CHECK(of_model.bytes_per_token() == 1536);  // as the shipped model's documentation says

  const mini::kv_cache none{0, 0, 0, 0};
  CHECK(none.length() == 0);
  CHECK(none.bytes() == 0);
}

TEST_CASE("every group has a length and rows of its own, up to the last slot") {
  mini::kv_cache cache{layers, heads, head_dim, 5};
  std::size_t rows = 0;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (std::size_t head = 0; head < heads; ++head) {
      const std::size_t count = layer * heads + head;  // 0 to 5: the last group is full
      for (std::size_t token = 0; token < count; ++token) append(cache, layer, head, token);
      rows += count;
    }
  }
  CHECK(cache.length() == 5);
  CHECK(cache.length() == cache.capacity());
  CHECK(cache.bytes() == rows * row_bytes);
  CHECK(cache.peak_tokens() == 5);
  CHECK(cache.peak_bytes() == rows * row_bytes);
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (std::size_t head = 0; head < heads; ++head) {
      CHECK(wrong_rows(cache, layer, head, first_tokens(layer * heads + head)) == 0);
    }
  }
}

TEST_CASE("a row that moved is where it was put, and the next token comes behind it") {
  mini::kv_cache cache{layers, heads, head_dim, 6};
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (std::size_t head = 0; head < heads; ++head) {
      for (std::size_t token = 0; token < 6; ++token) append(cache, layer, head, token);
    }
  }
  // Tokens 1 and 3 leave one group.
  for (float* const data : {cache.keys(1, 1), cache.values(1, 1)}) {
    const std::size_t row = cache.slot_stride();
    std::copy_n(data + 2 * row, row, data + 1 * row);
    std::copy_n(data + 4 * row, 2 * row, data + 2 * row);
  }
  cache.set_length(1, 1, 4);
  append(cache, 1, 1, 6);
  CHECK(wrong_rows(cache, 1, 1, {0, 2, 4, 5, 6}) == 0);
  CHECK(cache.length() == 6);
  CHECK(cache.bytes() == (layers * heads * 6 - 1) * row_bytes);
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (std::size_t head = 0; head < heads; ++head) {
      if (layer != 1 || head != 1) CHECK(wrong_rows(cache, layer, head, first_tokens(6)) == 0);
    }
  }
}

TEST_CASE("room that grows keeps all rows, room that would shrink stays") {
  mini::kv_cache cache{layers, heads, head_dim, 5};
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (std::size_t head = 0; head < heads; ++head) {
      for (std::size_t token = 0; token < layer * heads + head; ++token) {
        append(cache, layer, head, token);
      }
    }
  }
  const std::size_t bytes = cache.bytes();
  for (const std::size_t capacity : {0u, 4u, 5u, 6u, 3u, 64u}) {
    const std::size_t expected = std::max(cache.capacity(), std::size_t{capacity});
    cache.reserve(capacity);
    CHECK(cache.capacity() == expected);
    CHECK(cache.head_stride() == expected * head_dim);
    CHECK(cache.bytes() == bytes);
    CHECK(cache.peak_bytes() == bytes);
    CHECK(cache.peak_tokens() == 5);
    for (std::size_t layer = 0; layer < layers; ++layer) {
      for (std::size_t head = 0; head < heads; ++head) {
        CHECK(wrong_rows(cache, layer, head, first_tokens(layer * heads + head)) == 0);
      }
    }
  }
  // The new room is usable in every group.
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (std::size_t head = 0; head < heads; ++head) {
      for (std::size_t token = cache.length(layer, head); token < 64; ++token) {
        append(cache, layer, head, token);
      }
    }
  }
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (std::size_t head = 0; head < heads; ++head) {
      CHECK(wrong_rows(cache, layer, head, first_tokens(64)) == 0);
    }
  }
}

TEST_CASE("peaks are the most there ever was, of the longest group and of all together") {
  mini::kv_cache cache{layers, heads, head_dim, 20};
  cache.set_length(0, 0, 10);
  cache.set_length(0, 0, 2);
  cache.set_length(2, 1, 7);  // 9 rows together, fewer than the 10 before
  CHECK(cache.length() == 7);
  CHECK(cache.peak_tokens() == 10);
  CHECK(cache.bytes() == 9 * row_bytes);
  CHECK(cache.peak_bytes() == 10 * row_bytes);
  cache.set_length(1, 0, 2);
  CHECK(cache.peak_tokens() == 10);
  CHECK(cache.peak_bytes() == 11 * row_bytes);
  cache.reset_peak();
  CHECK(cache.peak_tokens() == 7);
  CHECK(cache.peak_bytes() == 11 * row_bytes);
  cache.set_length(20);
  CHECK(cache.length() == 20);
  CHECK(cache.bytes() == 20 * cache.bytes_per_token());
  cache.clear();
  CHECK(cache.length() == 0);
  CHECK(cache.bytes() == 0);
  CHECK(cache.capacity() == 20);
  CHECK(cache.peak_tokens() == 20);
  CHECK(cache.peak_bytes() == 20 * cache.bytes_per_token());
  cache.reset_peak();
  CHECK(cache.peak_tokens() == 0);
  CHECK(cache.peak_bytes() == 0);
}

TEST_CASE("a thousand random operations agree with lists of tokens") {
  std::mt19937 random{11};
  mini::kv_cache cache{layers, heads, head_dim, 4};
  std::vector<std::vector<std::size_t>> lists(layers * heads);
  std::size_t peak_tokens = 0;
  std::size_t peak_rows = 0;
  std::size_t next = 0;
  std::size_t wrong = 0;
  for (int round = 0; round < 1500; ++round) {
    const std::size_t layer = random() % layers;
    const std::size_t head = random() % heads;
    std::vector<std::size_t>& list = lists[layer * heads + head];
    if (random() % 3 != 0) {
      if (list.size() == cache.capacity()) cache.reserve(cache.capacity() + 1 + random() % 3);
      append(cache, layer, head, next % 100);
      list.push_back(next++ % 100);
    } else if (!list.empty()) {  // the last row takes the place of one that leaves
      const std::size_t slot = random() % list.size();
      for (float* const data : {cache.keys(layer, head), cache.values(layer, head)}) {
        std::copy_n(data + (list.size() - 1) * head_dim, head_dim, data + slot * head_dim);
      }
      list[slot] = list.back();
      list.pop_back();
      cache.set_length(layer, head, list.size());
    }
    std::size_t rows = 0;
    std::size_t longest = 0;
    for (const auto& each : lists) {
      rows += each.size();
      longest = std::max(longest, each.size());
    }
    peak_tokens = std::max(peak_tokens, longest);
    peak_rows = std::max(peak_rows, rows);
    wrong += cache.bytes() == rows * row_bytes ? 0 : 1;
    wrong += cache.length() == longest ? 0 : 1;
    wrong += cache.peak_tokens() == peak_tokens ? 0 : 1;
    wrong += cache.peak_bytes() == peak_rows * row_bytes ? 0 : 1;
    for (std::size_t l = 0; l < layers; ++l) {
      for (std::size_t h = 0; h < heads; ++h)
        wrong += wrong_rows(cache, l, h, lists[l * heads + h]);
    }
  }
  CHECK(wrong == 0);
  CHECK(cache.capacity() > 20);
}
