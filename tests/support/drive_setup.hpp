// SPDX-License-Identifier: MIT
#pragma once

// Random presets, settings, models and inputs for properties that need no oracle.

#include <fmt/format.h>

#include <string>

#include "epikv/cpu.hpp"
#include "support/drive_dice.hpp"
#include "support/drive_inputs.hpp"

namespace drive {

struct setup {
  std::string preset;
  std::string settings;
  epikv::model_shape shape;
  drive::inputs inputs;
  int budget = 0;
  int tau = 1;
  int recent = 0;
  bool aligned = false;
  bool protect_prompt = true;
  int sinks = 0;
};

inline std::string random_layers(dice& d, int layers) {
  std::string text;
  for (int layer = 0; layer < layers; ++layer) {
    if (!d.chance(40)) continue;
    if (!text.empty()) text += ',';
    text += fmt::format("{}", layer);
  }
  return text.empty() ? fmt::format("{}", d.between(0, layers - 1)) : text;
}

// What concerns the scores and the policy of a preset.
inline std::string method_settings(dice& d, const std::string& preset, int layers) {
  std::string text;
  const bool epiphany = preset == "epikv-q" || preset == "epikv-seg" || preset == "epikv-flat";
  if (epiphany) {
    text += fmt::format(" band_a={} band_b={}", random_layers(d, layers), random_layers(d, layers));
    text += fmt::format(" form={}", d.one_of({"difference", "a_only", "b_only", "raw"}));
    text += fmt::format(" change={}", d.one_of({"temporal", "temporal", "block"}));
    text += fmt::format(" value_reserve={}", d.one_of({0, 2, 5}));
    text += fmt::format(" value_stat={}", d.one_of({"range", "variance", "norm"}));
  }
  if (epiphany || preset == "key-variance" || preset == "value-variance") {
    text += fmt::format(" window={}", d.one_of({1, 3, 16, 64}));
  }
  if (preset == "epikv-q" || preset == "epikv-seg") {
    text += fmt::format(" segment={} tiers={},{},{} fill={} segment_order={}", d.one_of({1, 5, 8}),
                        d.between(2, 6), d.between(1, 4), d.between(0, 2), d.chance(50),
                        d.one_of({"high", "low"}));
  }
  if (preset == "epikv-q") {
    text += fmt::format(" query_window={} query_layer={} query_mode={} track_epiphany={}",
                        d.between(1, 6), d.between(0, layers - 1), d.one_of({"add", "replace"}),
                        d.chance(50));
  }
  const bool any_sets = preset != "epikv-q" && preset != "random-head" && preset != "none";
  if (any_sets) {
    text += fmt::format(" keep_sets={}", d.one_of({"sequence", "layer", "kv_head"}));
  }
  if (preset == "random" || preset == "random-head") {
    text += fmt::format(" seed={}", d.next() >> 1);
  }
  return text;
}

inline setup random_setup(std::uint64_t seed) {
  dice d{seed * 31 + 7};
  setup s;
  s.preset = d.one_of({"epikv-q", "epikv-q", "epikv-seg", "epikv-seg", "epikv-flat", "epikv-flat",
                       "key-variance", "value-variance", "streaming", "random", "random-head"});
  const int kv_heads = d.between(1, 3);
  s.shape = {.layers = d.between(1, 4),
             .query_heads = kv_heads * d.between(1, 2),
             .kv_heads = kv_heads,
             .head_dim = d.one_of({1, 2, 5, 8}),
             .hidden = d.one_of({1, 7, 16, 140})};
  s.inputs.seed = d.next();
  s.inputs.kind = d.one_of({input_kind::varied, input_kind::varied, input_kind::grid});
  s.inputs.bad_per_mille = d.one_of({0, 0, 0, 20});
  s.inputs.hidden_per_mille = d.one_of({0, 0, 0, 80});
  s.budget = d.between(10, 30);
  s.tau = d.one_of({1, 1, 2, 4, 8});
  s.aligned = d.chance(40);
  s.protect_prompt = d.chance(80);
  s.sinks = d.one_of({0, 0, 3});
  s.recent = d.between(6, 9);
  s.settings =
      fmt::format("budget={} tau={} cadence={} protect_prompt={} sinks={} recent={}", s.budget,
                  s.tau, s.aligned ? "aligned" : "elapsed", s.protect_prompt, s.sinks, s.recent) +
      method_settings(d, s.preset, s.shape.layers);
  return s;
}

inline std::string describe(std::uint64_t seed, const setup& s) {
  return fmt::format("seed {}: {} {} (layers {}, heads {}/{}, head_dim {}, hidden {})", seed,
                     s.preset, s.settings, s.shape.layers, s.shape.query_heads, s.shape.kv_heads,
                     s.shape.head_dim, s.shape.hidden);
}

}  // namespace drive
