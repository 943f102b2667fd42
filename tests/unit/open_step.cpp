// SPDX-License-Identifier: MIT

// Is a step that the host does not end by select() ended by the next one, with nothing lost, also
// when storage has to grow in between? And does a step of no rows count as shown?

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "epikv/cpu.hpp"

namespace {

constexpr epikv::model_shape shape{
    .layers = 3, .query_heads = 4, .kv_heads = 2, .head_dim = 4, .hidden = 16};
constexpr epikv::sequence_id sequence{2};

enum class host { selects_every_step, selects_at_the_end };

// Every part of the score after prompts and decode tokens in steps larger than announced.
std::vector<float> numbers_after(host kind) {
  auto evictor = epikv::make_evictor(
      "epikv-q", shape, "budget=32 recent=8 tau=1 step_tokens=1 track_epiphany=true query_layer=1");
  REQUIRE_MESSAGE(evictor.ok(), evictor.status().message());
  REQUIRE(evictor->add(sequence, 4).ok());
  std::mt19937 random{3};
  for (const std::int32_t n : {4, 40, 300, 1, 2000, 7}) {
    REQUIRE(evictor->begin_step(sequence, n).ok());
    std::vector<float> data(static_cast<std::size_t>(n * 16));
    for (float& x : data) x = static_cast<float>(random() % 1001) / 500.0F - 1.0F;
    for (std::int32_t layer = 0; layer < shape.layers; ++layer) {
      REQUIRE(evictor
                  ->observe(layer, {.hidden_in = {data.data(), {n, 16}},
                                    .hidden_out = {data.data(), {n, 16}},
                                    .keys = {data.data(), {n, 2, 4}},
                                    .values = {data.data(), {n, 2, 4}},
                                    .queries = {data.data(), {n, 4, 4}}})
                  .ok());
    }
    if (kind == host::selects_every_step) REQUIRE(evictor->select().ok());
  }
  REQUIRE(evictor->select().ok());
  const auto length = evictor->length(sequence);
  REQUIRE(length.ok());
  CHECK(*length == 2352);
  std::vector<float> all;
  for (const char* part : {"epiphany", "relevance"}) {
    std::vector<float> numbers(static_cast<std::size_t>(*length));
    REQUIRE(evictor->scores(sequence, 0, part, numbers).ok());
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  return all;
}

}  // namespace

TEST_CASE("begin_step ends an open step and keeps what it had shown while storage grows") {
  const std::vector<float> ended = numbers_after(host::selects_every_step);
  const std::vector<float> open = numbers_after(host::selects_at_the_end);
  REQUIRE(open.size() == ended.size());
  CHECK(std::memcmp(open.data(), ended.data(), ended.size() * sizeof(float)) == 0);
}

TEST_CASE("a view of no rows is given, whatever its address; rows without an address are not") {
  auto evictor = epikv::make_evictor("epikv-flat", shape, "band_a=0 band_b=1 recent=4");
  REQUIRE(evictor.ok());
  REQUIRE(evictor->add(sequence, 0).ok());
  REQUIRE(evictor->begin_step(sequence, 0).ok());
  const epikv::tensor_view none{static_cast<const float*>(nullptr), {0, 16}};
  CHECK(none.given());
  CHECK(evictor->observe(0, none, none).ok());

  REQUIRE(evictor->begin_step(sequence, 2).ok());
  const epikv::tensor_view nowhere{static_cast<const float*>(nullptr), {2, 16}};
  const epikv::status refused = evictor->observe(0, nowhere, nowhere);
  CHECK(refused.code() == epikv::errc::invalid_argument);
  CHECK(refused.argument() == "hidden_out");
  CHECK(evictor->observe(0, epikv::tensor_view{}, epikv::tensor_view{}).code() ==
        epikv::errc::missing_signal);
}
