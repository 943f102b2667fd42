// SPDX-License-Identifier: MIT
#pragma once

// What the oracle is asked to compute, in its own words. Nothing in oracle_*.hpp includes a header
// of the library: an oracle that shares code with what it judges shares its mistakes.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <vector>

namespace oracle {

struct shape {
  int layers = 1;
  int query_heads = 1;
  int kv_heads = 1;
  int head_dim = 1;
  int hidden = 1;
};

enum class ranks_by { nothing, draw, epiphany, key_variance, value_variance, relevance };
enum class policy { keep_all, flat, segmented };
enum class statistic { variance, range, norm };
enum class epiphany_form { difference, a_only, b_only, raw };
enum class keep_sets { sequence, layer, kv_head };

// A method with every setting it may have; those that do not concern it are not read.
struct method {
  ranks_by score = ranks_by::nothing;
  policy keeps = policy::flat;

  int budget = 1024;
  int tau = 128;
  bool aligned = false;  // cadence: at multiples of tau, or when tau has elapsed
  bool protect_prompt = true;
  int sinks = 0;
  int recent = -1;  // -1: min(128, budget / 4)
  keep_sets sets = keep_sets::sequence;

  int window = 64;
  std::vector<int> band_a;  // empty: by depth
  std::vector<int> band_b;
  double weight_a = 1.0;
  double weight_b = 1.0;
  bool block_change = false;
  epiphany_form form = epiphany_form::difference;

  int query_layer = -1;  // -1: the block after band a
  int query_window = 8;
  bool add_relevance = false;  // added to the epiphany score, or in its place
  double query_weight = 1.0;
  bool track_epiphany = false;

  int segment = 128;
  int tiers[3] = {64, 32, 8};
  bool fill = false;
  bool high_is_reasoning = true;

  int value_reserve = 0;
  statistic value_statistic = statistic::range;

  std::uint64_t seed = 0;

  [[nodiscard]] bool uses_a() const { return form != epiphany_form::b_only; }
  [[nodiscard]] bool uses_b() const { return form != epiphany_form::a_only; }
};

inline std::vector<int> band_or_depth(const std::vector<int>& band, const shape& s, double depth) {
  if (!band.empty()) return band;
  return {std::min(s.layers - 1, static_cast<int>(std::lround(depth * s.layers)))};
}
inline std::vector<int> layers_a(const method& m, const shape& s) {
  return band_or_depth(m.band_a, s, 0.31);
}
inline std::vector<int> layers_b(const method& m, const shape& s) {
  return band_or_depth(m.band_b, s, 0.66);
}
inline int layer_of_queries(const method& m, const shape& s) {
  if (m.query_layer >= 0) return m.query_layer;
  return std::min(s.layers - 1, layers_a(m, s).back() + 1);
}

inline int groups_of(const method& m, const shape& s) {
  switch (m.sets) {
    case keep_sets::sequence: return 1;
    case keep_sets::layer: return s.layers;
    case keep_sets::kv_head: return s.layers * s.kv_heads;
  }
  return 1;
}

// Element `i` of a container by any integer: the tests count in int, containers in size_t.
template <class Container, std::integral Integer>
decltype(auto) at(Container& c, Integer i) {
  return c[static_cast<std::size_t>(i)];
}
template <class Container>
int count_of(const Container& c) {
  return static_cast<int>(c.size());
}

}  // namespace oracle
