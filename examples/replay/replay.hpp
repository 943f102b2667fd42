// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "epikv/cpu.hpp"
#include "golden_inputs.hpp"
#include "replay_case.hpp"

namespace replay {

/// What a replay found, in the fields of the golden files.
struct outcome {
  std::vector<std::vector<std::int32_t>> evicted_per_step;
  std::vector<std::int32_t> length_after_step;
  std::vector<std::int32_t> final_kept;
  std::vector<double> newest_score_per_step;
  std::vector<double> last_relevance;  ///< of the decode slots when the last eviction was decided
  std::vector<double> final_scores;    ///< of all slots after the last step
};

/// The methods of the golden cases that are built, as presets of EpiKV; "" for the others.
struct method_preset {
  std::string preset;
  std::string settings;
  std::string score_part = "score";  ///< the part golden files call the newest token's score
  bool reports_relevance = false;
  /// The field of the scores of all slots after the last step; empty where the method keeps a score
  /// list instead.
  std::string final_scores_field{};
  bool reads_attention = false;
};

/// The same for the methods that EpiKV was compared with, in the form of that comparison.
inline bool peer_preset_of(const replay_case& c, const std::string& aligned,
                           const std::string& bands, method_preset& out) {
  const auto without = [&](std::int32_t recent) {
    return fmt::format("budget={} recent={} tau={} cadence=aligned", c.budget, recent, c.tau);
  };
  const std::string attended = without(std::min(c.keep_recent, c.budget / 4));
  const std::int32_t sinks = std::min(c.sinks, c.budget / 4);
  if (c.method == "lag_kv" || c.method == "lag_kv_key") {
    out = {"lag-kv-global",
           fmt::format("{} chunk={} with_values={}", attended, c.chunk_size, c.method == "lag_kv")};
    out.final_scores_field = "final_scores_per_cached_slot";
  } else if (c.method == "h2o") {
    const std::int32_t recent = std::min(c.keep_recent, c.budget - sinks);
    out = {"h2o-global", fmt::format("{} sinks={}", without(recent), sinks)};
    out.final_scores_field = "final_cumulative_attention_per_cached_slot";
    out.reads_attention = true;
  } else if (c.method == "longflow") {
    out = {"longflow", without(0)};
    out.final_scores_field = "final_scores_per_cached_slot";
    out.reads_attention = true;
  } else if (c.method == "r_kv") {
    out = {"r-kv-global",
           fmt::format("{} buffer={} query_window={} kernel={} lambda={}", without(c.obs_window),
                       c.buffer_size, c.obs_window, c.kernel_size, c.mix_lambda)};
    out.final_scores_field = "final_scores_per_cached_slot";
    out.reads_attention = true;
  } else if (c.method == "attention_hs_sum") {
    out = {"attention-hidden", aligned + bands + fmt::format(" sinks={}", c.sinks)};
    out.final_scores_field = "final_scores_per_cached_slot";
    out.reads_attention = true;
  } else {
    return false;
  }
  return true;
}

/// Which preset, with which settings, a case stands for. Returns false for a method not built.
inline bool preset_of(const replay_case& c, method_preset& out) {
  const std::string common = fmt::format("budget={} recent={} tau={} window={}", c.budget,
                                         std::min(c.keep_recent, c.budget / 4), c.tau, c.window);
  std::string bands = fmt::format(" weight_a={} weight_b={}", c.weight_a, c.weight_b);
  if (!c.band_a.empty()) bands += fmt::format(" band_a={}", fmt::join(c.band_a, ","));
  if (!c.band_b.empty()) bands += fmt::format(" band_b={}", fmt::join(c.band_b, ","));
  const std::string reserve =
      fmt::format(" value_reserve={} value_stat={}", c.value_reserve, c.value_stat);
  const std::string segments = fmt::format(" segment={} tiers={} fill={}", c.segment_size,
                                           fmt::join(c.retain, ","), c.fill_budget);
  const std::string aligned = common + " cadence=aligned";
  if (c.method == "epikv_flat" || c.method == "band_adaptive") {
    out = {"epikv-flat", aligned + bands + reserve};
  } else if (c.method == "hs_variance") {
    out = {"epikv-flat", aligned + bands + " form=raw"};
  } else if (c.method == "kv_key") {
    out = {"key-variance", aligned};
  } else if (c.method == "kv_val") {
    out = {"value-variance", aligned};
  } else if (c.method == "epikv_seg") {
    out = {"epikv-seg", aligned + bands + reserve + segments};
  } else if (c.method == "epikv_q") {
    const std::string query =
        fmt::format(" track_epiphany=true query_mode={} query_weight={} query_window={}",
                    c.query_mode, c.query_weight, c.query_window);
    out = {"epikv-q", common + bands + reserve + segments + query, "epiphany", true};
    if (c.query_layer >= 0) out.settings += fmt::format(" query_layer={}", c.query_layer);
  } else {
    return peer_preset_of(c, aligned, bands, out);
  }
  return true;
}

/// Runs the case on an evictor through the public API: prefill as one step, then one token per
/// step. `make` makes the evictor from (preset name, shape, options).
template <class Make>
epikv::status run_case(const replay_case& c, const method_preset& method, Make&& make,
                       outcome& out) {
  using namespace epikv;
  const model_shape shape{.layers = c.layers,
                          .query_heads = c.query_heads,
                          .kv_heads = c.heads,
                          .head_dim = c.head_dim,
                          .hidden = c.hidden};
  auto made = make(method.preset, shape, method.settings);
  if (!made) return made.status();
  any_evictor& evictor = *made;
  constexpr sequence_id sequence{0};
  EPIKV_RETURN_IF_ERROR(evictor.add(sequence, c.prefill));

  std::vector<std::int32_t> cached;
  const auto forward = [&](std::int32_t first, std::int32_t count) -> status {
    EPIKV_RETURN_IF_ERROR(evictor.begin_step(sequence, count));
    for (std::int32_t layer = 0; layer < c.layers; ++layer) {
      if (evictor.wants(layer).empty()) continue;
      const layer_inputs in{c, layer, first, count};
      // The prompt's own attention is not part of these cases.
      const bool prompt = first < c.prefill;
      std::vector<float> rows(
          prompt ? static_cast<std::size_t>(count) * static_cast<std::size_t>(c.heads * count) : 0);
      if (method.reads_attention && !prompt) {
        cached.clear();
        const auto held = evictor.positions(sequence);
        if (!held) return held.status();
        for (const position p : *held) cached.push_back(to_int(p));
        cached.push_back(first);
        rows = attention_row(c, layer, first, cached);
      }
      const auto slots = static_cast<std::int64_t>(prompt ? count : std::ssize(cached));
      EPIKV_RETURN_IF_ERROR(evictor.observe(
          layer, {.hidden_in = {in.hidden_in.data(), {count, c.hidden}},
                  .hidden_out = {in.hidden_out.data(), {count, c.hidden}},
                  .keys = {in.keys.data(), {count, c.heads, c.head_dim}},
                  .values = {in.values.data(), {count, c.heads, c.head_dim}},
                  .queries = {in.queries.data(), {count, c.query_heads, c.head_dim}},
                  .attention = {rows.data(), {count, c.heads, slots}}}));
    }
    return {};
  };
  const auto numbers = [&](const std::string& part, std::vector<float>& of_part) -> status {
    const auto length = evictor.length(sequence);
    if (!length) return length.status();
    of_part.resize(static_cast<std::size_t>(*length));
    return evictor.scores(sequence, 0, part, of_part).status();
  };

  if (c.prefill > 0) {
    EPIKV_RETURN_IF_ERROR(forward(0, c.prefill));
    if (const auto none = evictor.select(); !none) return none.status();
  }
  std::vector<float> of_slots;
  for (std::int32_t t = 0; t < c.steps; ++t) {
    EPIKV_RETURN_IF_ERROR(forward(c.prefill + t, 1));
    const auto selected = evictor.select();
    if (!selected) return selected.status();
    if (method.final_scores_field.empty()) {
      EPIKV_RETURN_IF_ERROR(numbers(method.score_part, of_slots));
      out.newest_score_per_step.push_back(static_cast<double>(of_slots.back()));
    }

    std::vector<std::int32_t>& evicted = out.evicted_per_step.emplace_back();
    for (const sequence_selection& part : *selected) {
      const group_selection& group = part.groups()[0];
      for (const slot s : group.evicted()) {
        evicted.push_back(to_int(group.positions()[static_cast<std::size_t>(to_int(s))]));
      }
      if (method.reports_relevance) {
        EPIKV_RETURN_IF_ERROR(numbers("relevance", of_slots));
        out.last_relevance.clear();
        for (std::size_t s = 0; s < of_slots.size(); ++s) {
          if (to_int(group.positions()[s]) < c.prefill) continue;
          out.last_relevance.push_back(static_cast<double>(of_slots[s]));
        }
      }
    }
    EPIKV_RETURN_IF_ERROR(evictor.commit(*selected));
    out.length_after_step.push_back(*evictor.length(sequence));
  }
  if (!method.final_scores_field.empty()) {
    EPIKV_RETURN_IF_ERROR(numbers(method.score_part, of_slots));
    out.final_scores.assign(of_slots.begin(), of_slots.end());
  }
  const auto kept = evictor.positions(sequence);
  if (!kept) return kept.status();
  for (const position p : *kept) out.final_kept.push_back(to_int(p));
  return {};
}

}  // namespace replay
