// SPDX-License-Identifier: MIT
#pragma once

#include "epikv/any_policy.hpp"
#include "epikv/any_score.hpp"
#include "epikv/detail/preset_table.hpp"
#include "epikv/policies/keep_all.hpp"
#include "epikv/scores/attention_recency.hpp"
#include "epikv/scores/combined.hpp"
#include "epikv/scores/key_difference.hpp"
#include "epikv/scores/last_attention.hpp"
#include "epikv/scores/none.hpp"

// From a preset and its settings to a score and a policy.

namespace epikv::inline v0::detail {

template <Backend B>
struct preset_parts {
  any_score<B> score;
  any_policy<B> policy;
};

template <Backend B>
preset_parts<B> parts_of(preset_kind kind, preset_settings s) noexcept {
  s.scored.base.window = s.window;
  s.lag.sinks = s.evictor.sinks;
  const segmented tiered{.tiers = s.tiers, .reserve = s.reserve};
  const double redundant = s.importance_share - 1.0;
  switch (kind) {
    case preset_kind::query: return {s.scored, tiered};
    case preset_kind::segments: return {s.scored.base, tiered};
    case preset_kind::flat: return {s.scored.base, top_k{s.reserve}};
    case preset_kind::key_variance: return {key_statistic{.window = s.window}, top_k{}};
    case preset_kind::value_variance: return {value_statistic{.window = s.window}, top_k{}};
    case preset_kind::newest: return {no_score{}, top_k{}};
    case preset_kind::drawn: return {random_score{.seed = s.seed}, top_k{}};
    case preset_kind::everything: return {no_score{}, keep_all{}};
    case preset_kind::mixed: return {s.attended, mix{.share = s.mix_share, .seed = s.seed}};
    case preset_kind::mass: return {s.mass, top_k{}};
    case preset_kind::last_row: return {last_attention{}, top_k{}};
    case preset_kind::recency: return {attention_recency{}, top_k{}};
    case preset_kind::row_times_value:
      return {combined<last_attention, value_statistic>{
                  .b = {.statistic = row_statistic::l1, .each_keep_set = true},
                  .how = combination::product},
              top_k{}};
    case preset_kind::mass_and_hidden:
      return {combined<attention_mass, epiphany>{
                  .a = s.mass, .b = s.scored.base, .scale = scaling::min_max, .epsilon = 1e-9},
              top_k{}};
    case preset_kind::attended: return {s.attended, top_k{}};
    case preset_kind::sampled:
      return {s.attended, sampled{.beta = s.beta, .seed = s.seed, .reserve = s.reserve}};
    case preset_kind::key_difference: return {key_difference{}, top_k{}};
    case preset_kind::key_norm:
      return {key_statistic{.statistic = row_statistic::norm, .each_keep_set = true, .sign = -1.0},
              top_k{}};
    case preset_kind::redundancy:
      return {combined<window_attention, key_redundancy>{.a = s.attended,
                                                         .b = s.redundancy,
                                                         .weight_a = s.importance_share,
                                                         .weight_b = redundant,
                                                         .scale = scaling::none,
                                                         .over_prompt = true},
              top_k{}};
    case preset_kind::redundancy_rows:
      return {combined<attention_window, key_redundancy>{
                  .a = {.window = s.attended.window, .kernel = s.attended.kernel},
                  .b = s.redundancy,
                  .weight_a = s.importance_share,
                  .weight_b = redundant,
                  .epsilon = 1e-8,
                  .over_prompt = true},
              top_k{}};
    case preset_kind::lag:
      return {s.lag, partitioned{.lag = s.lag.lag, .sinks = s.lag.sinks, .ratio = s.lag_ratio}};
    case preset_kind::lag_slots: return {s.lag_slots, top_k{}};
  }
  return {};
}

}  // namespace epikv::inline v0::detail
