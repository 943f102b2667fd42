// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "epikv/cpu.hpp"
#include "golden_inputs.hpp"
#include "replay_case.hpp"

// Cases made with other groups' implementations: one cache of `slots` tokens of one layer, scores
// and keep-sets per KV head. tests/golden_peers/README.md states inputs and fields.

namespace replay {

struct peer_case {
  replay_case inputs;  ///< seed, heads, head_dim
  std::string name;
  std::string method;
  std::int32_t layer = 0;
  std::int32_t slots = 0;
  std::int32_t budget = 0;
  std::int32_t window = 1;
  std::int32_t pool = 1;
  std::int32_t lag = 128;
  std::int32_t sinks = 0;
  double ratio = 0.25;
  double value_weight = 1.0;
  double lambda = 0.1;
  double threshold = 0.5;
};

/// Is this the text of a peer case? They count slots, the others steps.
inline bool is_peer_case(const nlohmann::json& object) {
  return object.is_object() && object.contains("slots");
}

/// Reads a case; on failure returns what is wrong with it, else "".
inline std::string parse_peer_case(const nlohmann::json& object, peer_case& c) {
  field_reader read{object};
  constexpr std::int64_t many = 1 << 16;
  read.text("name", c.name);
  read.text("method", c.method, true);
  read.unsigned_integer("seed", c.inputs.seed);
  read.integer("layer", c.layer, 0, 62, true);
  read.integer("slots", c.slots, 1, many, true);
  read.integer("kv_heads", c.inputs.heads, 1, 1024, true);
  read.integer("query_heads", c.inputs.query_heads, 1, 1024, true);
  read.integer("head_dim", c.inputs.head_dim, 1, 4096, true);
  read.integer("budget", c.budget, 0, many);
  read.integer("window", c.window, 1, many);
  read.integer("pool", c.pool, 1, many);
  read.integer("lag", c.lag, 1, many);
  read.integer("sinks", c.sinks, 0, many);
  read.number("ratio", c.ratio);
  read.number("value_weight", c.value_weight);
  read.number("lambda", c.lambda);
  read.number("threshold", c.threshold);
  c.inputs.hidden = 1;
  return read.complaint();
}

/// What a case's method gives, per KV head; empty where the method has no such field.
struct peer_outcome {
  std::vector<std::vector<std::int32_t>> kept;
  std::vector<std::vector<float>> scores;
  std::vector<std::vector<float>> importance;
  std::vector<std::vector<float>> redundancy;
  std::vector<std::vector<float>> first_chunk_scores;
};

/// How a method is run: tokens at once or one by one, and which slots have scores to report.
struct peer_method {
  std::string preset;
  std::string settings;
  bool one_by_one = false;
  std::int32_t first_slot = 0;  ///< of the scores reported
  std::int32_t scored_slots = 0;
  bool has_parts = false;
};

/// Returns false for a method that is not built.
inline bool peer_method_of(const peer_case& c, peer_method& out) {
  const auto common = [&](std::int32_t recent) {
    return fmt::format("budget={} tau=1 sinks=0 recent={}", c.budget, recent);
  };
  out.scored_slots = c.slots;
  if (c.method == "knorm" || c.method == "keydiff") {
    out.preset = c.method;
    out.settings = common(0);
  } else if (c.method == "tova") {
    out.preset = "tova";
    out.settings = common(1);
    out.scored_slots = c.slots - 1;
  } else if (c.method == "snapkv") {
    out.preset = "snapkv";
    out.settings = fmt::format("{} query_window={} kernel={}", common(c.window), c.window, c.pool);
    out.scored_slots = c.slots - c.window;
  } else if (c.method == "r_kv_exact") {
    out.preset = "r-kv";
    out.settings = fmt::format("{} buffer=0 query_window={} kernel={} lambda={} threshold={}",
                               common(c.window), c.window, c.pool, c.lambda, c.threshold);
    out.scored_slots = c.slots - c.window;
    out.has_parts = true;
  } else if (c.method == "lag_kv_original") {
    out.preset = "lag-kv";
    out.settings = fmt::format("lag={} ratio={} sinks={} value_weight={}", c.lag, c.ratio, c.sinks,
                               c.value_weight);
    out.one_by_one = true;
    out.first_slot = c.sinks;
    out.scored_slots = c.lag;
  } else if (c.method == "lag_kv_rank") {
    out.settings = fmt::format("lag={} sinks={}", c.lag, c.sinks);
  } else {
    return false;
  }
  return true;
}

/// Runs the case through the public API, as one layer of one sequence without a prompt.
inline epikv::status run_peer_case(const peer_case& c, const peer_method& method,
                                   peer_outcome& out) {
  using namespace epikv;
  const model_shape shape{.layers = 1,
                          .query_heads = c.inputs.query_heads,
                          .kv_heads = c.inputs.heads,
                          .head_dim = c.inputs.head_dim,
                          .hidden = 1};
  // The rank of every token is no preset: a score and a policy composed at run time.
  const lag_relative rank{.lag = c.lag, .sinks = c.sinks, .rank_all = true};
  auto made =
      method.preset.empty()
          ? make_evictor(shape, any_score<cpu_backend>{rank}, any_policy<cpu_backend>{top_k{}},
                         cpu_backend{}, {.budget = c.slots, .keep_sets = granularity::kv_head})
          : make_evictor(method.preset, shape, method.settings);
  if (!made) return made.status();
  any_evictor& evictor = *made;
  constexpr sequence_id sequence{0};
  EPIKV_RETURN_IF_ERROR(evictor.add(sequence, 0));
  const granularity sets = evictor.options().keep_sets;

  const auto numbers = [&](const char* part, std::int32_t first, std::int32_t count,
                           std::vector<std::vector<float>>& of_heads) -> status {
    of_heads.clear();
    for (std::int32_t head = 0; head < shape.kv_heads; ++head) {
      const std::int32_t group = shape.group_of(sets, 0, head);
      const auto length = evictor.length(sequence, group);
      if (!length) return length.status();
      std::vector<float> all(static_cast<std::size_t>(*length));
      EPIKV_RETURN_IF_ERROR(evictor.scores(sequence, group, part, all).status());
      of_heads.emplace_back(all.begin() + first, all.begin() + first + count);
    }
    return {};
  };

  const std::int32_t step = method.one_by_one ? 1 : c.slots;
  for (std::int32_t first = 0; first < c.slots; first += step) {
    const layer_inputs in{c.inputs, c.layer, first, step};
    EPIKV_RETURN_IF_ERROR(evictor.begin_step(sequence, step));
    EPIKV_RETURN_IF_ERROR(evictor.observe(
        0, {.keys = {in.keys.data(), {step, shape.kv_heads, shape.head_dim}},
            .values = {in.values.data(), {step, shape.kv_heads, shape.head_dim}},
            .queries = {in.queries.data(), {step, shape.query_heads, shape.head_dim}}}));
    const auto selected = evictor.select();
    if (!selected) return selected.status();
    const bool last = first + step >= c.slots;
    if (method.one_by_one && !selected->empty() && out.first_chunk_scores.empty()) {
      EPIKV_RETURN_IF_ERROR(
          numbers("score", method.first_slot, method.scored_slots, out.first_chunk_scores));
    } else if (!method.one_by_one && last) {
      EPIKV_RETURN_IF_ERROR(numbers("score", 0, method.scored_slots, out.scores));
      if (method.has_parts) {
        EPIKV_RETURN_IF_ERROR(numbers("first", 0, method.scored_slots, out.importance));
        EPIKV_RETURN_IF_ERROR(numbers("second", 0, method.scored_slots, out.redundancy));
      }
    }
    EPIKV_RETURN_IF_ERROR(evictor.commit(*selected));
  }
  if (method.preset.empty()) return {};
  for (std::int32_t head = 0; head < shape.kv_heads; ++head) {
    const auto positions = evictor.positions(sequence, shape.group_of(sets, 0, head));
    if (!positions) return positions.status();
    std::vector<std::int32_t>& kept = out.kept.emplace_back();
    for (const position p : *positions) kept.push_back(to_int(p));
  }
  return {};
}

/// The outcome in the fields of the files.
inline nlohmann::ordered_json fields_of(const peer_case& c, const peer_outcome& found) {
  nlohmann::ordered_json json;
  json["name"] = c.name;
  json["method"] = c.method;
  const auto put = [&](const char* field, const auto& values) {
    if (!values.empty()) json[field] = values;
  };
  put("importance", found.importance);
  put("redundancy", found.redundancy);
  put("scores", found.scores);
  put("first_chunk_scores", found.first_chunk_scores);
  put("kept", found.kept);
  if (c.method == "lag_kv_original") {
    std::vector<std::size_t> lengths;
    for (const auto& kept : found.kept) lengths.push_back(kept.size());
    json["length_per_head"] = lengths;
  }
  return json;
}

}  // namespace replay
