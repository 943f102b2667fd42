// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace replay {

/// The configuration of a golden case. Fields a method does not use keep their defaults.
struct replay_case {
  std::string name;
  std::string method;
  std::uint64_t seed = 0;
  std::int32_t layers = 0;
  std::int32_t heads = 0;        ///< KV heads
  std::int32_t query_heads = 0;  ///< as many as KV heads unless stated
  std::int32_t head_dim = 0;
  std::int32_t hidden = 0;
  std::int32_t prefill = 0;
  std::int32_t steps = 0;
  std::int32_t budget = 0;
  std::int32_t keep_recent = 128;
  std::int32_t window = 64;
  std::int32_t tau = 1;
  std::vector<std::int32_t> band_a;
  std::vector<std::int32_t> band_b;
  double weight_a = 1.0;
  double weight_b = 1.0;
  std::int32_t segment_size = 128;
  std::vector<std::int32_t> retain{64, 32, 8};
  bool fill_budget = false;
  std::int32_t value_reserve = 0;
  std::string value_stat = "range";
  std::string query_mode = "replace";
  double query_weight = 1.0;
  std::int32_t query_layer = -1;
  std::int32_t query_window = 8;
  std::int32_t sinks = 4;
  std::int32_t chunk_size = 128;
  std::int32_t obs_window = 8;
  std::int32_t kernel_size = 7;
  std::int32_t buffer_size = 128;
  double mix_lambda = 0.1;
};

/// Reads fields of a JSON object with checks instead of exceptions; keeps the first complaint.
class field_reader {
 public:
  explicit field_reader(const nlohmann::json& object) noexcept : object_{object} {}

  [[nodiscard]] const std::string& complaint() const noexcept { return complaint_; }

  void integer(const char* key, std::int32_t& out, std::int64_t least, std::int64_t most,
               bool required = false) {
    const nlohmann::json* const field = find(key, required);
    if (field == nullptr) return;
    const bool fits = field->is_number_integer() && field->get<std::int64_t>() >= least &&
                      field->get<std::int64_t>() <= most;
    if (!fits)
      return complain(key,
                      "an integer from " + std::to_string(least) + " to " + std::to_string(most));
    out = static_cast<std::int32_t>(field->get<std::int64_t>());
  }
  void unsigned_integer(const char* key, std::uint64_t& out) {
    const nlohmann::json* const field = find(key, true);
    if (field == nullptr) return;
    if (!field->is_number_unsigned()) return complain(key, "an integer of 0 or more");
    out = field->get<std::uint64_t>();
  }
  void number(const char* key, double& out) {
    const nlohmann::json* const field = find(key, false);
    if (field == nullptr) return;
    if (!field->is_number()) return complain(key, "a number");
    out = field->get<double>();
  }
  void boolean(const char* key, bool& out) {
    const nlohmann::json* const field = find(key, false);
    if (field == nullptr) return;
    if (!field->is_boolean()) return complain(key, "true or false");
    out = field->get<bool>();
  }
  void text(const char* key, std::string& out, bool required = false) {
    const nlohmann::json* const field = find(key, required);
    if (field == nullptr) return;
    if (!field->is_string()) return complain(key, "a text");
    out = field->get<std::string>();
  }
  /// A list of integers under `key`, or one integer under `single` (null for no such form).
  void integers(const char* key, const char* single, std::vector<std::int32_t>& out) {
    if (single != nullptr && find(single, false) != nullptr) {
      std::int32_t value = 0;
      integer(single, value, 0, std::numeric_limits<std::int32_t>::max());
      out = {value};
    }
    const nlohmann::json* const field = find(key, false);
    if (field == nullptr) return;
    if (!field->is_array()) return complain(key, "a list of integers");
    out.clear();
    for (const nlohmann::json& each : *field) {
      if (!each.is_number_integer() || each.get<std::int64_t>() < 0 ||
          each.get<std::int64_t>() > std::numeric_limits<std::int32_t>::max()) {
        return complain(key, "a list of integers of 0 or more");
      }
      out.push_back(static_cast<std::int32_t>(each.get<std::int64_t>()));
    }
  }

 private:
  const nlohmann::json* find(const char* key, bool required) {
    const auto at = object_.find(key);
    if (at != object_.end()) return &*at;
    if (required) complain(key, "the field to be there");
    return nullptr;
  }
  void complain(const char* key, const std::string& expected) {
    if (complaint_.empty()) complaint_ = std::string{"field "} + key + ": expected " + expected;
  }

  const nlohmann::json& object_;
  std::string complaint_;
};

/// Reads a case from the text of its file; on failure returns what is wrong with it, else "".
inline std::string parse_case(const std::string& text, replay_case& c) {
  const nlohmann::json object = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (object.is_discarded()) return "not a JSON text";
  if (!object.is_object()) return "expected one JSON object";
  field_reader read{object};
  constexpr std::int64_t many = 1 << 16;
  read.text("name", c.name);
  read.text("method", c.method, true);
  read.unsigned_integer("seed", c.seed);
  read.integer("layers", c.layers, 1, 63, true);  // the generator has room for 63 blocks
  read.integer("heads", c.heads, 1, 1024, true);
  read.integer("head_dim", c.head_dim, 1, 4096, true);
  read.integer("hidden", c.hidden, 1, many, true);
  read.integer("prefill", c.prefill, 0, many, true);
  read.integer("steps", c.steps, 0, many, true);
  read.integer("budget", c.budget, 0, many, true);
  c.query_heads = c.heads;
  read.integer("query_heads", c.query_heads, 1, 1024);
  read.integer("keep_recent", c.keep_recent, 0, many);
  read.integer("window", c.window, 1, many);
  read.integer("tau", c.tau, 1, many);
  read.integers("band_a_layers", "band_a_layer", c.band_a);
  read.integers("band_b_layers", "band_b_layer", c.band_b);
  read.number("weight_a", c.weight_a);
  read.number("weight_b", c.weight_b);
  read.integer("segment_size", c.segment_size, 1, many);
  read.integers("retain", nullptr, c.retain);
  read.boolean("fill_budget", c.fill_budget);
  read.integer("value_reserve", c.value_reserve, 0, many);
  read.text("value_stat", c.value_stat);
  read.text("query_mode", c.query_mode);
  read.number("query_weight", c.query_weight);
  read.integer("query_layer", c.query_layer, 0, 62);
  read.integer("query_window", c.query_window, 1, many);
  read.integer("num_sink", c.sinks, 0, many);
  read.integer("chunk_size", c.chunk_size, 1, many);
  read.integer("obs_window", c.obs_window, 1, many);
  read.integer("kernel_size", c.kernel_size, 1, many);
  read.integer("buffer_size", c.buffer_size, 0, many);
  read.number("mix_lambda", c.mix_lambda);
  // They become part of a text of settings.
  constexpr const char* letters = "abcdefghijklmnopqrstuvwxyz_";
  if (c.value_stat.find_first_not_of(letters) != std::string::npos) {
    return "value_stat is not a word";
  }
  if (c.query_mode.find_first_not_of(letters) != std::string::npos) {
    return "query_mode is not a word";
  }
  return read.complaint();
}

}  // namespace replay
