// SPDX-License-Identifier: MIT

// Are sizes that cannot be a model refused by the name of the size, and do groups of keep-sets
// number each layer and KV head once?

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "epikv/model_shape.hpp"

namespace {

using namespace epikv;

constexpr model_shape good{
    .layers = 28, .query_heads = 28, .kv_heads = 4, .head_dim = 128, .hidden = 3584};
constexpr std::int32_t most = 1048576;
constexpr granularity all[] = {granularity::sequence, granularity::layer, granularity::kv_head};

// Usable at compile time, where hosts size tables.
static_assert(good.groups(granularity::kv_head) == 112);
static_assert(good.group_of(granularity::kv_head, 27, 3) == 111);
static_assert(good.key_of(granularity::kv_head, 111) == group_key{27, 3});

struct named_size {
  std::string_view name;
  std::int32_t model_shape::*size;
};
constexpr named_size sizes[] = {{"shape.layers", &model_shape::layers},
                                {"shape.query_heads", &model_shape::query_heads},
                                {"shape.kv_heads", &model_shape::kv_heads},
                                {"shape.head_dim", &model_shape::head_dim},
                                {"shape.hidden", &model_shape::hidden}};

void expect(const status& s, std::string_view argument, std::string_view got,
            std::string_view expected) {
  CHECK_MESSAGE(s.code() == errc::invalid_argument, s.message());
  CHECK_MESSAGE(s.argument() == argument, s.message());
  CHECK_MESSAGE(s.got() == got, s.message());
  CHECK_MESSAGE(s.expected() == expected, s.message());
}

TEST_CASE("models that exist pass") {
  CHECK(good.check().ok());
  CHECK(model_shape{32, 32, 8, 128, 4096}.check().ok());  // grouped queries
  CHECK(model_shape{24, 16, 16, 64, 1024}.check().ok());  // one KV head per query head
  CHECK(model_shape{18, 8, 1, 256, 2048}.check().ok());   // one KV head for all
  CHECK(model_shape{1, 1, 1, 1, 1}.check().ok());
}

TEST_CASE("a default shape is no model") {
  expect(model_shape{}.check(), "shape.layers", "0", "1 to 1048576");
}

TEST_CASE("every size has to be 1 to 1048576") {
  CHECK(model_shape::max_extent == most);
  for (const named_size& each : sizes) {
    CAPTURE(each.name);
    for (const std::int32_t bad : {0, -1, -28, std::numeric_limits<std::int32_t>::min(), most + 1,
                                   std::numeric_limits<std::int32_t>::max()}) {
      model_shape shape = good;
      shape.*each.size = bad;
      expect(shape.check(), each.name, std::to_string(bad), "1 to 1048576");
    }
  }
}

TEST_CASE("each size may reach its limit alone") {
  for (const named_size& each : sizes) {
    CAPTURE(each.name);
    // A million KV heads need as many query heads.
    const bool heads = each.size == &model_shape::kv_heads;
    model_shape shape{
        .layers = 1, .query_heads = heads ? most : 1, .kv_heads = 1, .head_dim = 1, .hidden = 1};
    shape.*each.size = most;
    const status outcome = shape.check();
    CHECK_MESSAGE(outcome.ok(), outcome.message());
  }
}

TEST_CASE("the KV heads divide the query heads") {
  for (std::int32_t query_heads = 1; query_heads <= 40; ++query_heads) {
    for (std::int32_t kv_heads = 1; kv_heads <= 48; ++kv_heads) {
      model_shape shape = good;
      shape.query_heads = query_heads;
      shape.kv_heads = kv_heads;
      // By counting up, not by a remainder.
      std::int32_t multiple = kv_heads;
      while (multiple < query_heads) multiple += kv_heads;
      const status outcome = shape.check();
      if (multiple == query_heads) {
        CHECK_MESSAGE(outcome.ok(), outcome.message());
      } else {
        expect(outcome, "shape.query_heads", std::to_string(query_heads),
               "a multiple of the " + std::to_string(kv_heads) + " KV heads");
      }
    }
  }
}

TEST_CASE("the count of groups has a limit of its own, taken without overflow") {
  const auto with = [](std::int32_t layers, std::int32_t heads) {
    return model_shape{layers, heads, heads, 1, 1}.check();
  };
  const std::string_view limit = "at most 1048576 layers times KV heads";
  CHECK(with(1024, 1024).ok());
  CHECK(with(most / 8, 8).ok());
  expect(with(1025, 1024), "shape", "1025 x 1024", limit);
  expect(with(2, most), "shape", "2 x 1048576", limit);
  // Products that are 0, 0 and -1 in 32 bits.
  expect(with(65536, 65536), "shape", "65536 x 65536", limit);
  expect(with(most, most), "shape", "1048576 x 1048576", limit);
  expect(with(983055, 4369), "shape", "983055 x 4369", limit);
}

TEST_CASE("the channels of a row have a limit of their own, taken without overflow") {
  const auto with = [](std::int32_t query_heads, std::int32_t head_dim) {
    return model_shape{1, query_heads, 1, head_dim, 1}.check();
  };
  const std::string_view limit = "at most 1048576 query heads times head_dim";
  CHECK(with(1024, 1024).ok());
  CHECK(with(8192, 128).ok());
  expect(with(1025, 1024), "shape", "1025 query heads x 1024", limit);
  expect(with(2, most), "shape", "2 query heads x 1048576", limit);
  expect(with(65536, 65536), "shape", "65536 query heads x 65536", limit);
  expect(with(983055, 4369), "shape", "983055 query heads x 4369", limit);
}

TEST_CASE("the first size at fault is the one reported") {
  expect(model_shape{32, 0, 0, 0, 0}.check(), "shape.query_heads", "0", "1 to 1048576");
  expect(model_shape{32, 7, 0, 0, 0}.check(), "shape.kv_heads", "0", "1 to 1048576");
  expect(model_shape{32, 7, 2, 0, 0}.check(), "shape.head_dim", "0", "1 to 1048576");
  expect(model_shape{32, 7, 2, 1, 0}.check(), "shape.hidden", "0", "1 to 1048576");
  expect(model_shape{most, 7, 2, 1, 1}.check(), "shape.query_heads", "7",
         "a multiple of the 2 KV heads");
}

TEST_CASE("groups are one per model, layer, or layer and KV head") {
  CHECK(good.groups(granularity::sequence) == 1);
  CHECK(good.groups(granularity::layer) == 28);
  CHECK(good.groups(granularity::kv_head) == 28 * 4);
}

TEST_CASE("groups run over layers, then KV heads, and back") {
  for (const granularity g : all) {
    CAPTURE(std::string_view{to_string(g)});
    // What each group stands for, by walking the model in order.
    std::vector<group_key> keys;
    for (std::int32_t layer = 0; layer < good.layers; ++layer) {
      for (std::int32_t head = 0; head < good.kv_heads; ++head) {
        group_key key;
        if (g != granularity::sequence) key.layer = layer;
        if (g == granularity::kv_head) key.kv_head = head;
        if (keys.empty() || keys.back() != key) keys.push_back(key);
        const auto group = static_cast<std::int32_t>(keys.size()) - 1;
        CHECK(good.group_of(g, layer, head) == group);
      }
    }
    REQUIRE(good.groups(g) == static_cast<std::int32_t>(keys.size()));
    for (std::int32_t i = 0; i < good.groups(g); ++i) {
      CHECK(good.key_of(g, i) == keys[static_cast<std::size_t>(i)]);
    }
  }
}

TEST_CASE("shapes compare by every size") {
  for (const named_size& each : sizes) {
    model_shape other = good;
    CHECK(other == good);
    ++(other.*each.size);
    CHECK(other != good);
  }
}

}  // namespace
