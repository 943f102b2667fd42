// SPDX-License-Identifier: MIT

// Which layers does a band name, what does a score average over them, and which bands are refused?
// A band that is not given lies at a depth of its own model: round(0.31 L) and round(0.66 L).

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "epikv/cpu.hpp"

namespace {

using namespace epikv;

constexpr model_shape llama{
    .layers = 32, .query_heads = 32, .kv_heads = 8, .head_dim = 128, .hidden = 4096};

constexpr model_shape with_layers(std::int32_t layers) {
  model_shape shape = llama;
  shape.layers = layers;
  return shape;
}

static_assert(layer_band{}.empty() && layer_band{}.size() == 0);
static_assert(layer_band{10}.size() == 1 && layer_band{10}[0] == 10);
static_assert(layer_band{7, 8, 9}.index_of(9) == 2 && layer_band{7, 8, 9}.index_of(10) == -1);

void expect(const status& s, std::string_view argument, std::string_view got,
            std::string_view expected) {
  CHECK_MESSAGE(s.code() == errc::invalid_argument, s.message());
  CHECK_MESSAGE(s.argument() == argument, s.message());
  CHECK_MESSAGE(s.got() == got, s.message());
  CHECK_MESSAGE(s.expected() == expected, s.message());
}

// round(percent / 100 * layers) with halves up, in integers, inside the model.
std::int32_t rounded_depth(std::int64_t percent, std::int32_t layers) {
  const std::int64_t layer = (2 * percent * layers + 100) / 200;
  return static_cast<std::int32_t>(layer < layers ? layer : layers - 1);
}

TEST_CASE("a band holds the layers it was given, in every form") {
  const std::int32_t listed[] = {7, 8, 9, 13};
  const layer_band one = 21;
  CHECK(one.size() == 1);
  CHECK(one[0] == 21);
  CHECK_FALSE(one.empty());
  const layer_band from_list{7, 8, 9, 13};
  const layer_band from_span{std::span{listed}};
  for (const layer_band& band : {from_list, from_span}) {
    REQUIRE(band.size() == 4);
    for (std::int32_t i = 0; i < 4; ++i) {
      CHECK(band[i] == listed[i]);
      CHECK(band.index_of(listed[i]) == i);
    }
    for (const std::int32_t other : {-1, 0, 6, 10, 12, 14, 32}) CHECK(band.index_of(other) == -1);
  }
  // Layer 0 is a layer; unused places of the band are not.
  CHECK(layer_band{}.index_of(0) == -1);
  CHECK(layer_band{3}.index_of(0) == -1);
  CHECK(layer_band{0}.index_of(0) == 0);
}

TEST_CASE("bands inside the model pass, up to 64 layers") {
  CHECK(layer_band{}.check("band_a", llama).ok());
  CHECK(layer_band{0}.check("band_a", llama).ok());
  CHECK(layer_band{31}.check("band_a", llama).ok());
  CHECK(layer_band{0, 31}.check("band_a", llama).ok());
  std::array<std::int32_t, 64> most{};
  std::iota(most.begin(), most.end(), 0);
  CHECK(layer_band{most}.check("band_a", with_layers(64)).ok());
  CHECK(layer_band{most}.index_of(63) == 63);
}

TEST_CASE("bands outside the model, not ascending or too long are refused") {
  const auto check = [](const layer_band& band) { return band.check("band_b", llama); };
  expect(check({32}), "band_b", "layer 32", "layers 0 to 31");
  expect(check({-1}), "band_b", "layer -1", "layers 0 to 31");
  expect(check({3, 4, 1000}), "band_b", "layer 1000", "layers 0 to 31");
  expect(check(std::numeric_limits<std::int32_t>::min()), "band_b", "layer -2147483648",
         "layers 0 to 31");
  expect(check({4, 3}), "band_b", "layer 3 after 4", "ascending layers, each once");
  expect(check({3, 3}), "band_b", "layer 3 after 3", "ascending layers, each once");
  expect(check({0, 1, 2, 1}), "band_b", "layer 1 after 2", "ascending layers, each once");
  expect(layer_band{1}.check("band_a", with_layers(1)), "band_a", "layer 1", "layers 0 to 0");
  for (const std::size_t count : {65U, 66U, 1000U}) {
    std::vector<std::int32_t> layers(count);
    std::iota(layers.begin(), layers.end(), 0);
    expect(layer_band{layers}.check("band_a", with_layers(2000)), "band_a",
           std::to_string(count) + " layers", "at most 64 layers");
    // Nor is anything looked for behind the 64 that are stored.
    CHECK(layer_band{layers}.index_of(2000) == -1);
  }
}

TEST_CASE("the depth rule is a rounded share of the layers, inside every model") {
  int wrong = 0;
  for (std::int32_t layers = 1; layers <= model_shape::max_extent; ++layers) {
    const model_shape shape = with_layers(layers);
    for (const std::int32_t percent : {31, 66}) {
      const std::int32_t layer = layer_at_depth(shape, percent == 31 ? 0.31 : 0.66);
      wrong += layer == rounded_depth(percent, layers) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
  // Halves round up, to odd and to even layers.
  CHECK(layer_at_depth(with_layers(10), 0.25) == 3);
  CHECK(layer_at_depth(with_layers(10), 0.5) == 5);
  CHECK(layer_at_depth(with_layers(5), 0.5) == 3);
  CHECK(layer_at_depth(llama, 0.0) == 0);
  CHECK(layer_at_depth(llama, 1.0) == 31);
  CHECK(layer_at_depth(with_layers(1), 0.66) == 0);
}

TEST_CASE("scores without bands take the rule's; given bands stand") {
  for (const std::int32_t layers : {1, 2, 3, 6, 18, 24, 25, 28, 32, 50, 61, 80, 126}) {
    CAPTURE(layers);
    const model_shape shape = with_layers(layers);
    const std::int32_t a = rounded_depth(31, layers);
    const std::int32_t b = rounded_depth(66, layers);
    const epiphany score;
    CHECK(score.resolved_a(shape).size() == 1);
    CHECK(score.resolved_a(shape)[0] == a);
    CHECK(score.resolved_b(shape).size() == 1);
    CHECK(score.resolved_b(shape)[0] == b);
    // The queries are read in the block after band a, or in the last there is.
    const std::int32_t after = a + 1 < layers ? a + 1 : layers - 1;
    CHECK(epiphany_with_relevance{}.resolved_query(shape).layer == after);
    CHECK(relevance{}.resolved_layer(shape) == after);
    for (std::int32_t layer = -1; layer <= layers; ++layer) {
      CHECK(score.wants(shape, layer).contains(signal_id::hidden_out) ==
            (layer == a || layer == b));
    }
  }
  // Llama-8B as the rule has it: the fitted bands (10, 21) are a model's own.
  CHECK(epiphany{}.resolved_a(llama)[0] == 10);
  CHECK(epiphany{}.resolved_b(llama)[0] == 21);

  epiphany given;
  given.band_a = {7, 9};
  given.band_b = {18, 19, 20};
  CHECK(given.resolved_a(llama).size() == 2);
  CHECK(given.resolved_b(llama).size() == 3);
  for (std::int32_t layer = 0; layer < 32; ++layer) {
    const bool in_band = layer == 7 || layer == 9 || (layer >= 18 && layer <= 20);
    CHECK(given.wants(llama, layer).empty() != in_band);
  }
  epiphany_with_relevance queried;
  queried.base = given;
  CHECK(queried.resolved_query(llama).layer == 10);  // after the band's last layer
}

TEST_CASE("a score averages the change over its band's layers") {
  constexpr model_shape small{
      .layers = 6, .query_heads = 2, .kv_heads = 1, .head_dim = 2, .hidden = 3};
  constexpr sequence_id sequence{4};
  // With a window of one the raw form is weight_a * (mean change of a) - weight_b * (that of b).
  const epiphany score{.band_a = {0, 1, 4},
                       .band_b = {3, 5},
                       .window = 1,
                       .form = epiphany_form::raw,
                       .weight_a = 2.0,
                       .weight_b = 0.5};
  evictor flat{small, score, top_k{}, cpu_backend{}};
  REQUIRE(flat.add(sequence, 0).ok());
  // Each step moves a layer along (3, 4) / 5, so that the lengths of the moves are exact.
  const float length[6] = {5, 15, 1000, 10, 40, 20};
  std::vector<float> expected;
  for (std::int32_t step = 0; step < 5; ++step) {
    REQUIRE(flat.begin_step(sequence).ok());
    for (std::int32_t layer = 0; layer < 6; ++layer) {
      // Step s moves by s * length: the layer is at 0, 1, 3, 6, 10 lengths.
      const float at = static_cast<float>(step * (step + 1) / 2) * length[layer] / 5.0F;
      const float hidden[3] = {3.0F * at, 7.0F, 4.0F * at};
      const tensor_view view{hidden, {1, 3}};
      REQUIRE(flat.observe(layer, view, view).ok());
    }
    REQUIRE(flat.select().ok());
    const float times = static_cast<float>(step);
    const float mean_a = times * (5.0F + 15.0F + 40.0F) / 3.0F;
    const float mean_b = times * (10.0F + 20.0F) / 2.0F;
    expected.push_back(2.0F * mean_a - 0.5F * mean_b);
  }
  std::vector<float> found(8);
  const auto count = flat.scores(sequence, 0, "score", found);
  REQUIRE(count.ok());
  found.resize(static_cast<std::size_t>(*count));
  CHECK(found == expected);
}

}  // namespace
