// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

#include "epikv/evictor_options.hpp"
#include "epikv/options.hpp"
#include "epikv/policies/mix.hpp"
#include "epikv/policies/partitioned.hpp"
#include "epikv/policies/sampled.hpp"
#include "epikv/policies/segmented.hpp"
#include "epikv/policies/top_k.hpp"
#include "epikv/scores/attention_mass.hpp"
#include "epikv/scores/attention_window.hpp"
#include "epikv/scores/blend.hpp"
#include "epikv/scores/channel_statistic.hpp"
#include "epikv/scores/key_redundancy.hpp"
#include "epikv/scores/lag_normalised.hpp"
#include "epikv/scores/lag_relative.hpp"
#include "epikv/scores/random.hpp"
#include "epikv/scores/window_attention.hpp"

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
  attention_mass mass{};
  window_attention attended{};  // by the last queries
  key_redundancy redundancy{};
  double importance_share = 0.1;  // R-KV's lambda
  lag_normalised lag_slots{};
  lag_relative lag{};
  double lag_ratio = 0.25;
  double mix_share = 0.5;
  double beta = 1.0;
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
  topic_mass = 256U,
  topic_attended = 512U,
  topic_redundancy = 1024U,
  topic_lag_slots = 2048U,
  topic_lag = 4096U,
  topic_mix = 8192U,
  topic_sample = 16384U,
};

struct option_entry {
  const char* name;
  unsigned topic;        // one or more
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
    option_entry{
        "buffer", topic_common, "tokens over the budget at which it acts, 0 or more",
        [](settings& s, const option& o) noexcept { return set_int(o, s.evictor.buffer); }},
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
    option_entry{"value_stat", topic_reserve, "range, variance, norm or l1",
                 [](settings& s, const option& o) noexcept {
                   return set_word<row_statistic, 4>(o, s.reserve.statistic,
                                                     {{{"range", row_statistic::range},
                                                       {"variance", row_statistic::variance},
                                                       {"norm", row_statistic::norm},
                                                       {"l1", row_statistic::l1}}});
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
    option_entry{"query_window", unsigned{topic_query} | topic_attended,
                 "last tokens whose queries are read, 1 to 64",
                 [](settings& s, const option& o) noexcept {
                   if (!set_int(o, s.attended.window)) return false;
                   s.scored.query.window = s.attended.window;
                   return true;
                 }},
    option_entry{"query_mode", topic_query, "replace or add",
                 [](settings& s, const option& o) noexcept {
                   return set_word<query_mode, 2>(
                       o, s.scored.mode,
                       {{{"replace", query_mode::replace}, {"add", query_mode::add}}});
                 }},
    option_entry{"query_weight", topic_query, "a finite number",
                 [](settings& s, const option& o) noexcept { return o.read(s.scored.weight); }},
    option_entry{"attended_by", topic_mass, "every_query or decode_queries",
                 [](settings& s, const option& o) noexcept {
                   return set_word<attended_by, 2>(
                       o, s.mass.queries,
                       {{{"every_query", attended_by::every_query},
                         {"decode_queries", attended_by::decode_queries}}});
                 }},
    option_entry{"per_query", topic_mass,
                 "true or false: divided by the queries that saw the token",
                 [](settings& s, const option& o) noexcept { return o.read(s.mass.per_query); }},
    option_entry{"heads", topic_mass, "mean, sum or max over the query heads",
                 [](settings& s, const option& o) noexcept {
                   return set_word<head_reduction, 3>(o, s.mass.heads,
                                                      {{{"mean", head_reduction::mean},
                                                        {"sum", head_reduction::sum},
                                                        {"max", head_reduction::max}}});
                 }},
    option_entry{
        "kernel", topic_attended, "slots pooled, odd, 1 to 65",
        [](settings& s, const option& o) noexcept { return set_int(o, s.attended.kernel); }},
    option_entry{"pool", topic_attended, "none, average or max",
                 [](settings& s, const option& o) noexcept {
                   return set_word<pool_kind, 3>(o, s.attended.pool,
                                                 {{{"none", pool_kind::none},
                                                   {"average", pool_kind::average},
                                                   {"max", pool_kind::max}}});
                 }},
    option_entry{"group_queries", topic_attended,
                 "mean, sum or max_logits over the query heads of a KV head",
                 [](settings& s, const option& o) noexcept {
                   return set_word<query_reduction, 3>(
                       o, s.attended.reduction,
                       {{{"mean", query_reduction::mean},
                         {"sum", query_reduction::sum},
                         {"max_logits", query_reduction::max_logits}}});
                 }},
    option_entry{"lambda", topic_redundancy, "the share of importance, 0 to 1",
                 [](settings& s, const option& o) noexcept {
                   return o.read(s.importance_share) && s.importance_share >= 0.0 &&
                          s.importance_share <= 1.0;
                 }},
    option_entry{"redundancy", topic_redundancy, "exact or linear",
                 [](settings& s, const option& o) noexcept {
                   return set_word<redundancy_form, 2>(
                       o, s.redundancy.form,
                       {{{"exact", redundancy_form::exact}, {"linear", redundancy_form::linear}}});
                 }},
    option_entry{
        "threshold", topic_redundancy, "the cosine from which keys are near, a finite number",
        [](settings& s, const option& o) noexcept { return o.read(s.redundancy.threshold); }},
    option_entry{
        "chunk", topic_lag_slots, "slots per chunk, 1 or more",
        [](settings& s, const option& o) noexcept { return set_int(o, s.lag_slots.chunk); }},
    option_entry{
        "with_values", topic_lag_slots, "true or false",
        [](settings& s, const option& o) noexcept { return o.read(s.lag_slots.with_values); }},
    option_entry{"lag", topic_lag, "tokens per chunk, 1 or more",
                 [](settings& s, const option& o) noexcept { return set_int(o, s.lag.lag); }},
    option_entry{"ratio", topic_lag, "the share of a chunk that stays, 0 to 1",
                 [](settings& s, const option& o) noexcept { return o.read(s.lag_ratio); }},
    option_entry{"value_weight", topic_lag, "a finite number",
                 [](settings& s, const option& o) noexcept { return o.read(s.lag.value_weight); }},
    option_entry{"share", topic_mix, "the share of the room that goes to the best scores, 0 to 1",
                 [](settings& s, const option& o) noexcept { return o.read(s.mix_share); }},
    option_entry{"beta", topic_sample, "a finite number: drawn in proportion to score^beta",
                 [](settings& s, const option& o) noexcept { return o.read(s.beta); }},
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
