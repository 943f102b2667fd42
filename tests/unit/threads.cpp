// SPDX-License-Identifier: MIT

// Are different evictors independent? Several threads, each with an evictor of its own, must decide
// what one thread decides. The tsan preset looks for what they might share.

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <thread>
#include <vector>

#include "epikv/cpu.hpp"

namespace {

constexpr epikv::model_shape shape{
    .layers = 4, .query_heads = 4, .kv_heads = 2, .head_dim = 8, .hidden = 32};

// All positions evicted over a seeded run, every group and step in order.
std::vector<std::int32_t> run(const std::string& preset, std::int64_t id) {
  auto evictor = epikv::make_evictor(preset, shape, "budget=40 tau=4 recent=8");
  if (!evictor) return {-1};
  const epikv::sequence_id sequence{id};
  if (!evictor->add(sequence, 12)) return {-2};
  std::mt19937 random{static_cast<std::mt19937::result_type>(id)};
  std::normal_distribution<float> noise;
  std::vector<std::int32_t> evicted;
  std::vector<float> rows;
  for (int step = 0; step < 120; ++step) {
    const std::int32_t n = step == 0 ? 12 : 1;
    if (!evictor->begin_step(sequence, n)) return {-3};
    for (std::int32_t layer = 0; layer < shape.layers; ++layer) {
      rows.resize(static_cast<std::size_t>(n * shape.hidden));
      for (float& x : rows) x = noise(random);
      const float* const data = rows.data();
      const epikv::status seen =
          evictor->observe(layer, {.hidden_in = {data, {n, shape.hidden}},
                                   .hidden_out = {data, {n, shape.hidden}},
                                   .keys = {data, {n, shape.kv_heads, shape.head_dim}},
                                   .values = {data, {n, shape.kv_heads, shape.head_dim}},
                                   .queries = {data, {n, shape.query_heads, shape.head_dim}}});
      if (!seen) return {-4};
    }
    const auto selection = evictor->select();
    if (!selection) return {-5};
    for (const epikv::sequence_selection& chosen : *selection) {
      for (const epikv::group_selection& group : chosen.groups()) {
        group.for_each_evicted_range([&](epikv::position_range range) {
          evicted.push_back(epikv::to_int(range.first));
          evicted.push_back(epikv::to_int(range.last));
        });
      }
    }
    if (!evictor->commit(*selection)) return {-6};
  }
  return evicted;
}

}  // namespace

TEST_CASE("evictors on different threads decide what they decide alone") {
  const std::vector<std::string> names{"epikv-q", "epikv-seg", "epikv-flat", "random-head"};
  std::vector<std::vector<std::int32_t>> alone;
  for (std::size_t i = 0; i < names.size(); ++i) {
    alone.push_back(run(names[i], static_cast<std::int64_t>(i)));
    REQUIRE(alone.back().size() > 10);
  }
  std::vector<std::vector<std::int32_t>> together(names.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < names.size(); ++i) {
    threads.emplace_back([&, i] { together[i] = run(names[i], static_cast<std::int64_t>(i)); });
  }
  for (std::thread& each : threads) each.join();
  for (std::size_t i = 0; i < names.size(); ++i) {
    CAPTURE(names[i]);
    CHECK(together[i] == alone[i]);
  }
}
