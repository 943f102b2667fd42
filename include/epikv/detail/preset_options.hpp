// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

#include "epikv/evictor_options.hpp"
#include "epikv/options.hpp"
#include "epikv/policies/segmented.hpp"
#include "epikv/policies/top_k.hpp"
#include "epikv/scores/blend.hpp"
#include "epikv/scores/channel_statistic.hpp"
#include "epikv/scores/random.hpp"

// Every setting that a preset can be given by name: one table, from which the checks and the texts
// of errors and documentation follow.

namespace epikv::inline v0::detail {

// All that presets are made of; each takes what concerns it.
struct preset_settings {
  evictor_options evictor{};
  epiphany_with_relevance scored{};
  std::int32_t window = 64;  // of every rolling score
  segment_tiers tiers{};
  value_reserve reserve{};
  std::uint64_t seed = 0;
};

// What a setting concerns; a preset understands some of these.
enum option_topic : unsigned {
  topic_common = 1U,
  topic_keep_sets = 2U,
  topic_seed = 4U,
  topic_window = 8U,
  topic_epiphany = 16U,
  topic_reserve = 32U,
  topic_segments = 64U,
  topic_query = 128U,
};

struct option_entry {
  const char* name;
  option_topic topic;
  const char* expected;  // what values it takes
  bool (*set)(preset_settings&, const option&) noexcept;
};

inline bool set_int(const option& given, std::int32_t& out) noexcept {
  std::int64_t value = 0;
  if (!given.read(value) || value < std::numeric_limits<std::int32_t>::min() ||
      value > std::numeric_limits<std::int32_t>::max()) {
    return false;
  }
  out = static_cast<std::int32_t>(value);
  return true;
}

template <class Enum, std::size_t N>
bool set_word(const option& given, Enum& out,
              const std::array<std::pair<std::string_view, Enum>, N>& words) noexcept {
  for (const auto& [word, value] : words) {
    if (given.word() == word) {
      out = value;
      return true;
    }
  }
  return false;
}

inline bool set_band(const option& given, layer_band& out) noexcept {
  std::array<std::int32_t, layer_band::max_layers> layers{};
  const std::ptrdiff_t count = given.read(layers);
  if (count < 1) return false;
  out = layer_band{std::span{layers}.first(static_cast<std::size_t>(count))};
  return true;
}

inline bool set_tiers(const option& given, segment_tiers& out) noexcept {
  std::array<std::int32_t, 4> quota{};
  if (given.read(quota) != 3) return false;
  for (std::size_t i = 0; i < 3; ++i) out.quota[i] = quota[i];
  return true;
}

using settings = preset_settings;

inline constexpr std::array option_table{
    option_entry{
        "budget", topic_common, "tokens a keep-set may hold after an eviction",
        [](settings& s, const option& o) noexcept { return set_int(o, s.evictor.budget); }},
    option_entry{"tau", topic_common, "decode tokens between evictions, 1 or more",
                 [](settings& s, const option& o) noexcept { return set_int(o, s.evictor.tau); }},
    option_entry{"cadence", topic_common, "elapsed or aligned",
                 [](settings& s, const option& o) noexcept {
                   return set_word<cadence, 2>(
                       o, s.evictor.when,
                       {{{"elapsed", cadence::elapsed}, {"aligned", cadence::aligned}}});
                 }},
    option_entry{
        "protect_prompt", topic_common, "true or false",
        [](settings& s, const option& o) noexcept { return o.read(s.evictor.protect_prompt); }},
    option_entry{"sinks", topic_common, "first positions to protect, 0 or more",
                 [](settings& s, const option& o) noexcept { return set_int(o, s.evictor.sinks); }},
    option_entry{
        "recent", topic_common, "last positions to protect, or -1 for min(128, budget/4)",
        [](settings& s, const option& o) noexcept { return set_int(o, s.evictor.recent); }},
    option_entry{"on_overflow", topic_common, "keep or refuse",
                 [](settings& s, const option& o) noexcept {
                   return set_word<overflow, 2>(
                       o, s.evictor.on_overflow,
                       {{{"keep", overflow::keep}, {"refuse", overflow::refuse}}});
                 }},
    option_entry{
        "step_tokens", topic_common, "tokens a step may bring without allocating, 1 or more",
        [](settings& s, const option& o) noexcept { return set_int(o, s.evictor.step_tokens); }},
    option_entry{"keep_sets", topic_keep_sets, "sequence, layer or kv_head",
                 [](settings& s, const option& o) noexcept {
                   return set_word<granularity, 3>(o, s.evictor.keep_sets,
                                                   {{{"sequence", granularity::sequence},
                                                     {"layer", granularity::layer},
                                                     {"kv_head", granularity::kv_head}}});
                 }},
    option_entry{"seed", topic_seed, "an integer of 0 or more",
                 [](settings& s, const option& o) noexcept {
                   std::int64_t value = 0;
                   if (!o.read(value) || value < 0) return false;
                   s.seed = static_cast<std::uint64_t>(value);
                   return true;
                 }},
    option_entry{"window", topic_window, "tokens of the rolling window, 1 or more",
                 [](settings& s, const option& o) noexcept {
                   return set_int(o, s.window) && s.window >= 1;
                 }},
    option_entry{
        "band_a", topic_epiphany, "a layer, or up to 64 ascending layers as 7,8,9",
        [](settings& s, const option& o) noexcept { return set_band(o, s.scored.base.band_a); }},
    option_entry{
        "band_b", topic_epiphany, "a layer, or up to 64 ascending layers as 18,19",
        [](settings& s, const option& o) noexcept { return set_band(o, s.scored.base.band_b); }},
    option_entry{
        "weight_a", topic_epiphany, "a finite number",
        [](settings& s, const option& o) noexcept { return o.read(s.scored.base.weight_a); }},
    option_entry{
        "weight_b", topic_epiphany, "a finite number",
        [](settings& s, const option& o) noexcept { return o.read(s.scored.base.weight_b); }},
    option_entry{"change", topic_epiphany, "temporal or block",
                 [](settings& s, const option& o) noexcept {
                   return set_word<hidden_change, 2>(
                       o, s.scored.base.change,
                       {{{"temporal", hidden_change::temporal}, {"block", hidden_change::block}}});
                 }},
    option_entry{"form", topic_epiphany, "difference, a_only, b_only or raw",
                 [](settings& s, const option& o) noexcept {
                   return set_word<epiphany_form, 4>(o, s.scored.base.form,
                                                     {{{"difference", epiphany_form::difference},
                                                       {"a_only", epiphany_form::a_only},
                                                       {"b_only", epiphany_form::b_only},
                                                       {"raw", epiphany_form::raw}}});
                 }},
    option_entry{
        "track_bands", topic_epiphany, "true or false",
        [](settings& s, const option& o) noexcept { return o.read(s.scored.base.track_bands); }},
    option_entry{
        "value_reserve", topic_reserve, "tokens kept for their values, 0 or more",
        [](settings& s, const option& o) noexcept { return set_int(o, s.reserve.tokens); }},
    option_entry{"value_stat", topic_reserve, "range, variance or norm",
                 [](settings& s, const option& o) noexcept {
                   return set_word<row_statistic, 3>(o, s.reserve.statistic,
                                                     {{{"range", row_statistic::range},
                                                       {"variance", row_statistic::variance},
                                                       {"norm", row_statistic::norm}}});
                 }},
    option_entry{"segment", topic_segments, "slots per segment, 1 or more",
                 [](settings& s, const option& o) noexcept { return set_int(o, s.tiers.segment); }},
    option_entry{"tiers", topic_segments, "three quotas as 64,32,8",
                 [](settings& s, const option& o) noexcept { return set_tiers(o, s.tiers); }},
    option_entry{"fill", topic_segments, "true or false",
                 [](settings& s, const option& o) noexcept { return o.read(s.tiers.fill); }},
    option_entry{"segment_order", topic_segments, "high or low: which key variance marks reasoning",
                 [](settings& s, const option& o) noexcept {
                   return set_word<bool, 2>(o, s.tiers.high_is_reasoning,
                                            {{{"high", true}, {"low", false}}});
                 }},
    option_entry{
        "query_layer", topic_query, "a layer, or -1 for the one after band a",
        [](settings& s, const option& o) noexcept { return set_int(o, s.scored.query.layer); }},
    option_entry{
        "query_window", topic_query, "last tokens whose queries are read, 1 to 64",
        [](settings& s, const option& o) noexcept { return set_int(o, s.scored.query.window); }},
    option_entry{"query_mode", topic_query, "replace or add",
                 [](settings& s, const option& o) noexcept {
                   return set_word<query_mode, 2>(
                       o, s.scored.mode,
                       {{{"replace", query_mode::replace}, {"add", query_mode::add}}});
                 }},
    option_entry{"query_weight", topic_query, "a finite number",
                 [](settings& s, const option& o) noexcept { return o.read(s.scored.weight); }},
    option_entry{
        "track_epiphany", topic_query, "true or false",
        [](settings& s, const option& o) noexcept { return o.read(s.scored.track_epiphany); }},
};

// The names of the options of some topics, separated by ", ", as text that lives for ever.
template <unsigned Topics>
inline constexpr auto option_names = [] {
  constexpr std::size_t size = [] {
    std::size_t total = 0;
    for (const option_entry& entry : option_table) {
      if ((entry.topic & Topics) != 0) total += std::string_view{entry.name}.size() + 2;
    }
    return total;
  }();
  std::array<char, size> text{};
  std::size_t at = 0;
  for (const option_entry& entry : option_table) {
    if ((entry.topic & Topics) == 0) continue;
    if (at > 0) text[at++] = ',', text[at++] = ' ';
    for (const char c : std::string_view{entry.name}) text[at++] = c;
  }
  return text;
}();

template <unsigned Topics>
constexpr std::string_view known_options() noexcept {
  return {option_names<Topics>.data(), option_names<Topics>.size() - 2};
}

// Applies the options to the settings; those outside `topics` are unknown.
inline status apply_options(const option_list& given, unsigned topics, std::string_view known,
                            preset_settings& out) noexcept {
  EPIKV_RETURN_IF_ERROR(given.check());
  for (const option& each : given.all()) {
    const option_entry* entry = nullptr;
    for (const option_entry& candidate : option_table) {
      if (each.name() == candidate.name && (candidate.topic & topics) != 0) entry = &candidate;
    }
    if (entry == nullptr) return {errc::unknown_option, "options", each.name(), known};
    if (!entry->set(out, each)) {
      return {errc::invalid_argument, entry->name, each.got(), std::string_view{entry->expected}};
    }
  }
  return {};
}

}  // namespace epikv::inline v0::detail
