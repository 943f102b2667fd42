// SPDX-License-Identifier: MIT

// Does compact() move exactly the kept rows of every layer and head, in caches of any layout, touch
// nothing else, and refuse caches that cannot be what the selection is of, before a row has moved?

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "epikv/cpu.hpp"

namespace {

using namespace epikv;

constexpr model_shape shape{
    .layers = 3, .query_heads = 4, .kv_heads = 2, .head_dim = 4, .hidden = 8};
constexpr sequence_id sequence{11};
constexpr std::int32_t cached = 40;

// An evictor with a selection pending over 40 cached tokens.
struct pending {
  any_evictor evictor;
  selection chosen;

  explicit pending(const char* preset, const char* settings = "")
      : evictor{[&] {
          auto made = make_evictor(
              preset, shape, std::string{"budget=17 tau=1 recent=3 step_tokens=64 "} + settings);
          REQUIRE_MESSAGE(made.ok(), made.status().message());
          return *std::move(made);
        }()} {
    REQUIRE(evictor.add(sequence, 2).ok());
    REQUIRE(evictor.begin_step(sequence, cached).ok());
    const auto selected = evictor.select();
    REQUIRE(selected.ok());
    REQUIRE(selected->size() == 1);
    chosen = *selected;
  }
  [[nodiscard]] const sequence_selection& of() const { return chosen[0]; }
};

// A cache whose every byte is known; padding bytes are 0xEE.
struct cache_image {
  contiguous_cache cache;
  std::vector<unsigned char> bytes;

  cache_image(std::int64_t row, std::int64_t slot_stride, std::int64_t head_stride,
              std::int64_t layer_stride, std::int32_t heads) {
    cache = {.row_bytes = row,
             .slot_stride = slot_stride,
             .head_stride = head_stride,
             .layer_stride = layer_stride,
             .layers = shape.layers,
             .kv_heads = heads,
             .slots = cached + 2};
    bytes.assign(static_cast<std::size_t>(layer_stride * shape.layers), 0xEE);
    cache.data = bytes.data();
    for (std::int32_t layer = 0; layer < shape.layers; ++layer) {
      for (std::int32_t head = 0; head < heads; ++head) {
        for (std::int32_t s = 0; s < cached; ++s) {
          for (std::int64_t b = 0; b < row; ++b)
            at(layer, head, s, b) = original(layer, head, s, b);
        }
      }
    }
  }
  unsigned char& at(std::int32_t layer, std::int32_t head, std::int32_t s, std::int64_t b) {
    return bytes[static_cast<std::size_t>(layer * cache.layer_stride + head * cache.head_stride +
                                          s * cache.slot_stride + b)];
  }
  static unsigned char original(std::int32_t layer, std::int32_t head, std::int32_t s,
                                std::int64_t b) {
    return static_cast<unsigned char>(layer * 71 + head * 37 + s * 5 + b);
  }
};

void check_compacted(cache_image image, const sequence_selection& chosen) {
  const std::vector<unsigned char> before = image.bytes;
  REQUIRE(compact(image.cache, chosen).ok());
  std::vector<bool> may_change(before.size(), false);
  for (std::int32_t layer = 0; layer < shape.layers; ++layer) {
    for (std::int32_t head = 0; head < image.cache.kv_heads; ++head) {
      const group_selection& group = chosen.group(layer, head);
      for (std::size_t i = 0; i < group.kept().size(); ++i) {
        for (std::int64_t b = 0; b < image.cache.row_bytes; ++b) {
          CHECK(image.at(layer, head, static_cast<std::int32_t>(i), b) ==
                cache_image::original(layer, head, to_int(group.kept()[i]), b));
          may_change[static_cast<std::size_t>(
              &image.at(layer, head, static_cast<std::int32_t>(i), b) - image.bytes.data())] = true;
        }
      }
    }
  }
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!may_change[i]) CHECK(image.bytes[i] == before[i]);
  }
}

}  // namespace

TEST_CASE("every layout of separate heads is compacted by each head's own keep-set") {
  const pending heads{"random-head"};
  bool differ = false;
  for (const group_selection& g : heads.of().groups()) {
    CHECK(g.length_after() == 17);
    differ = differ || g.kept()[5] != heads.of().groups()[0].kept()[5];
  }
  CHECK(differ);
  const std::int64_t slots = cached + 2;
  check_compacted({8, 8, 8 * slots, 16 * slots, 2}, heads.of());  // [layer][head][slot]
  check_compacted({8, 16, 8, 16 * slots, 2}, heads.of());         // [layer][slot][head]
  check_compacted({3, 7, 7 * slots + 5, 2 * (7 * slots + 5), 2}, heads.of());  // odd and padded
  check_compacted({1, 1, slots, 2 * slots, 2}, heads.of());
}

TEST_CASE("rows that hold all heads of a slot move by one keep-set for the model or per layer") {
  const std::int64_t slots = cached + 2;
  for (const char* keep : {"keep_sets=sequence", "keep_sets=layer"}) {
    const pending merged{"random", keep};
    check_compacted({12, 12, 0, 12 * slots, 1}, merged.of());
    check_compacted({8, 8, 8 * slots, 16 * slots, 2}, merged.of());
  }
}

TEST_CASE("a cache that cannot be the selection's is refused before a row moves") {
  const pending heads{"random-head"};
  const std::int64_t slots = cached + 2;
  const auto refuse = [&](auto change, errc code, const char* argument) {
    cache_image image{8, 8, 8 * slots, 16 * slots, 2};
    const std::vector<unsigned char> before = image.bytes;
    change(image.cache);
    const status refused = compact(image.cache, heads.of());
    CHECK(refused.code() == code);
    CHECK(refused.argument() == argument);
    CHECK(!refused.expected().empty());
    CHECK(image.bytes == before);
  };
  refuse([](auto& c) { c.data = nullptr; }, errc::invalid_argument, "cache.data");
  refuse([](auto& c) { c.row_bytes = 0; }, errc::wrong_stride, "cache.slot_stride");
  refuse([](auto& c) { c.slot_stride = 7; }, errc::wrong_stride, "cache.slot_stride");
  refuse([](auto& c) { c.layers = 2; }, errc::wrong_shape, "cache.layers");
  refuse([](auto& c) { c.kv_heads = 1; }, errc::wrong_shape, "cache.kv_heads");
  refuse([](auto& c) { c.kv_heads = 4; }, errc::wrong_shape, "cache.kv_heads");
  refuse([](auto& c) { c.slots = cached - 1; }, errc::wrong_shape, "cache.slots");
}
