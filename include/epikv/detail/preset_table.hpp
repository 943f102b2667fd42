// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "epikv/detail/preset_options.hpp"

// The presets: what each is called, made of and described by. docs/methods.md is printed from here.

namespace epikv::inline v0 {

/// A preset by name, with the line that describes it and the options it understands.
struct preset_info {
  std::string_view name{};
  std::string_view summary{};
  std::string_view options{};     ///< names, separated by ", "
  std::string_view formula{};     ///< the score
  std::string_view complexity{};  ///< of a selection, per keep-set of n slots; d = head_dim
  std::string_view source{};
  std::string_view
      differs{};  ///< from the authors' method, or from the preset of the other reading
};

namespace detail {

// Which score and policy a preset is made of.
enum class preset_kind : std::uint8_t {
  query,
  segments,
  flat,
  key_variance,
  value_variance,
  newest,
  drawn,
  everything,
  mixed,
  mass,
  last_row,
  recency,
  row_times_value,
  mass_and_hidden,
  attended,
  sampled,
  key_difference,
  key_norm,
  redundancy,
  redundancy_rows,
  lag,
  lag_slots,
};

// A preset: what it is made of, the topics of the settings it understands, its own defaults.
struct preset_entry {
  preset_info info;
  preset_kind kind;
  unsigned topics;
  void (*set_defaults)(preset_settings&) noexcept;
};

template <unsigned Topics>
constexpr preset_entry make_preset(preset_info info, preset_kind kind,
                                   void (*set_defaults)(preset_settings&) noexcept) noexcept {
  info.options = known_options<Topics>();
  return {info, kind, Topics, set_defaults};
}

inline constexpr unsigned topics_sets = topic_common | topic_keep_sets;
inline constexpr unsigned topics_statistic = topics_sets | topic_window;
inline constexpr unsigned topics_flat = topics_statistic | topic_epiphany | topic_reserve;
inline constexpr unsigned topics_seg = topics_flat | topic_segments;
// One layer's relevance serves one keep-set, so there is no choice of keep-sets.
inline constexpr unsigned topics_q = (topics_seg | topic_query) & ~unsigned{topic_keep_sets};

// The common beginnings of defaults: when to act, what to share, what to protect.
inline void every_token(preset_settings& s) noexcept { s.evictor.tau = 1; }
inline void per_head(preset_settings& s) noexcept { s.evictor.keep_sets = granularity::kv_head; }
inline void unprotected(preset_settings& s, std::int32_t sinks, std::int32_t recent) noexcept {
  s.evictor.protect_prompt = false;
  s.evictor.sinks = sinks;
  s.evictor.recent = recent;
}

inline constexpr std::string_view paper = "arXiv 2606.26472";

inline constexpr std::array preset_table{
    make_preset<topics_q>(
        {.name = "epikv-q",
         .summary = "EpiKV-Seg with fill, ranked by the last queries' relevance: the default",
         .formula =
             "softmax(q.k / sqrt(d)) of one layer, mean over the last 8 queries and the heads",
         .complexity = "O(8 heads n d)",
         .source = paper},
        preset_kind::query, [](preset_settings& s) noexcept { s.tiers.fill = true; }),
    make_preset<topics_seg>(
        {.name = "epikv-seg",
         .summary = "epiphany score under segment tiers by key variance",
         .formula = "z of |h(t) - h(t-1)| in band a minus z in band b, over the last 64 tokens",
         .complexity = "O(n)",
         .source = paper},
        preset_kind::segments, [](preset_settings&) noexcept {}),
    make_preset<topics_flat>(
        {.name = "epikv-flat",
         .summary = "epiphany score, flat top-k",
         .formula = "z of |h(t) - h(t-1)| in band a minus z in band b, over the last 64 tokens",
         .complexity = "O(n)",
         .source = paper},
        preset_kind::flat, every_token),
    make_preset<topic_common | topic_attended | topic_mix | topic_seed | topic_keep_sets>(
        {.name = "epikv-mix",
         .summary =
             "half by each KV head's own relevance, half drawn: for hosts with a keep-set per head",
         .formula =
             "softmax(q.k / sqrt(d)) of the head, mean over the last 8 queries and the group",
         .complexity = "O(8 heads n d)",
         .source = "this project"},
        preset_kind::mixed, per_head),
    make_preset<topics_statistic>({.name = "key-variance",
                                   .summary = "rolling mean of the keys' variance, flat top-k",
                                   .formula = "mean over the last 64 tokens of var(k) over d",
                                   .complexity = "O(n)",
                                   .source = paper},
                                  preset_kind::key_variance, every_token),
    make_preset<topics_statistic>({.name = "value-variance",
                                   .summary = "rolling mean of the values' variance, flat top-k",
                                   .formula = "mean over the last 64 tokens of var(v) over d",
                                   .complexity = "O(n)",
                                   .source = paper},
                                  preset_kind::value_variance, every_token),
    make_preset<topics_sets>({.name = "streaming",
                              .summary = "StreamingLLM: four sinks and the newest tokens",
                              .formula = "the position",
                              .complexity = "O(n)",
                              .source = "arXiv 2309.17453",
                              .differs = "positions stay: keys are not rotated again"},
                             preset_kind::newest,
                             [](preset_settings& s) noexcept {
                               every_token(s);
                               unprotected(s, 4, -1);
                             }),
    make_preset<topics_sets | topic_mass>(
        {.name = "h2o",
         .summary = "H2O: the attention received from every query, per KV head",
         .formula = "sum over queries of a, mean over the group's query heads",
         .complexity = "O(n)",
         .source = "arXiv 2306.14048",
         .differs = "per_query=true takes away the advantage of early tokens"},
        preset_kind::mass,
        [](preset_settings& s) noexcept {
          every_token(s);
          per_head(s);
          unprotected(s, 0, -1);
        }),
    make_preset<topics_sets | topic_mass>(
        {.name = "h2o-global",
         .summary = "H2O as compared with EpiKV: decode queries, one keep-set, four sinks",
         .formula = "sum over decode queries of a, mean over layers and heads",
         .complexity = "O(layers n)",
         .source = paper,
         .differs = "h2o counts the prompt's queries too, decides per KV head and keeps no sinks"},
        preset_kind::mass,
        [](preset_settings& s) noexcept {
          every_token(s);
          unprotected(s, 4, -1);
          s.mass.queries = attended_by::decode_queries;
        }),
    make_preset<topics_sets | topic_attended>(
        {.name = "tova",
         .summary = "TOVA: the newest query's attention, per layer, computed from queries and keys",
         .formula = "softmax(q.k / sqrt(d)) of the newest query, mean over heads",
         .complexity = "O(heads n d)",
         .source = "arXiv 2401.06104"},
        preset_kind::attended,
        [](preset_settings& s) noexcept {
          every_token(s);
          unprotected(s, 0, 1);
          s.evictor.keep_sets = granularity::layer;
          s.attended.window = 1;
        }),
    make_preset<topics_sets>({.name = "tova-rows",
                              .summary = "TOVA from the host's attention rows",
                              .formula = "a of the newest query, mean over heads",
                              .complexity = "O(n)",
                              .source = "arXiv 2401.06104"},
                             preset_kind::last_row,
                             [](preset_settings& s) noexcept {
                               every_token(s);
                               unprotected(s, 0, 1);
                               s.evictor.keep_sets = granularity::layer;
                             }),
    make_preset<topics_sets | topic_attended>(
        {.name = "snapkv",
         .summary = "SnapKV: the last 32 queries' attention, pooled, per KV head",
         .formula =
             "softmax(q.k / sqrt(d)), mean over 32 queries, average pool of 5, mean over the group",
         .complexity = "O(32 heads n d)",
         .source = "arXiv 2404.14469",
         .differs = "applied again at every eviction, not to the prompt alone"},
        preset_kind::attended,
        [](preset_settings& s) noexcept {
          per_head(s);
          unprotected(s, 0, 32);
          s.attended.window = 32;
          s.attended.pool = pool_kind::average;
          s.attended.kernel = 5;
        }),
    make_preset<topics_sets>(
        {.name = "keydiff",
         .summary = "KeyDiff: keys that point away from the others, per KV head",
         .formula = "-cos(k, mean of k / |k|)",
         .complexity = "O(n d)",
         .source = "arXiv 2504.15364"},
        preset_kind::key_difference,
        [](preset_settings& s) noexcept {
          per_head(s);
          unprotected(s, 4, -1);
        }),
    make_preset<topics_sets>({.name = "knorm",
                              .summary = "Knorm: keys of small norm, per KV head",
                              .formula = "-|k|",
                              .complexity = "O(n)",
                              .source = "arXiv 2406.11430"},
                             preset_kind::key_norm,
                             [](preset_settings& s) noexcept {
                               per_head(s);
                               unprotected(s, 4, -1);
                             }),
    make_preset<topics_sets | topic_attended | topic_redundancy>(
        {.name = "r-kv",
         .summary = "R-KV: important and unlike the others, per KV head, in rounds of 128",
         .formula = "lambda I - (1 - lambda) R; I: max of the group's logits, softmax, mean over 8 "
                    "queries, max pool of 7; R: softmax of the mean cosine to the other keys",
         .complexity = "O(n^2 d), linear: O(n d)",
         .source = "arXiv 2505.24133"},
        preset_kind::redundancy,
        [](preset_settings& s) noexcept {
          every_token(s);
          per_head(s);
          unprotected(s, 0, 8);
          s.evictor.buffer = 128;
          s.attended.reduction = query_reduction::max_logits;
          s.attended.pool = pool_kind::max;
          s.attended.kernel = 7;
          s.attended.before_window = true;
        }),
    make_preset<topic_common | topic_attended | topic_redundancy>(
        {.name = "r-kv-global",
         .summary = "R-KV as compared with EpiKV: one keep-set, linear redundancy, standardised",
         .formula = "lambda z(I) - (1 - lambda) z(R); I: the last 8 attention rows, max pool of 7",
         .complexity = "O(layers heads n d)",
         .source = paper,
         .differs =
             "r-kv decides per KV head, leaves out near neighbours and does not standardise"},
        preset_kind::redundancy_rows,
        [](preset_settings& s) noexcept {
          every_token(s);
          unprotected(s, 0, 8);
          s.evictor.buffer = 128;
          s.attended.kernel = 7;
          s.redundancy.form = redundancy_form::linear;
        }),
    make_preset<topic_common | topic_keep_sets | topic_lag>(
        {.name = "lag-kv",
         .summary =
             "LagKV: each chunk scored once against the next one, a ratio of it kept, per KV head",
         .formula =
             "softmax over the chunk of std((k - min) / (max - min)), min and max of the next "
             "chunk; the same of values added",
         .complexity = "O(d) per arriving token",
         .source = "arXiv 2504.04704",
         .differs = "a channel that does not vary is only centred; there is no budget"},
        preset_kind::lag,
        [](preset_settings& s) noexcept {
          per_head(s);
          unprotected(s, 16, 0);
        }),
    make_preset<topic_common | topic_lag_slots>(
        {.name = "lag-kv-global",
         .summary = "LagKV as compared with EpiKV: over cached slots, against the chunk before",
         .formula =
             "std((k - min) / (max - min + 1e-9)), min and max of the chunk before; the same "
             "of values added",
         .complexity = "O(heads n d)",
         .source = paper,
         .differs = "lag-kv looks at the next chunk, scores each once and has no budget"},
        preset_kind::lag_slots, every_token),
    make_preset<topic_common>({.name = "raas",
                               .summary = "RaaS: the step at which a token last mattered",
                               .formula = "last decode step at which a was in the better half",
                               .complexity = "O(n)",
                               .source = "arXiv 2502.11147",
                               .differs = "ties go to the newer token"},
                              preset_kind::recency, every_token),
    make_preset<topics_sets>({.name = "longflow",
                              .summary = "LongFlow: current attention times the size of the value",
                              .formula = "a of the newest query * |v|_1",
                              .complexity = "O(n)",
                              .source = "arXiv 2603.11504"},
                             preset_kind::row_times_value,
                             [](preset_settings& s) noexcept {
                               every_token(s);
                               unprotected(s, 0, 0);
                             }),
    make_preset<topics_sets | topic_attended | topic_sample | topic_seed | topic_reserve>(
        {.name = "vase",
         .summary = "VaSE: the largest value ranges, the rest sampled by the window's attention",
         .formula = "window attention, drawn in proportion; range(v) for the reserve",
         .complexity = "O(8 heads n d)",
         .source = "arXiv 2606.03928"},
        preset_kind::sampled,
        [](preset_settings& s) noexcept {
          per_head(s);
          unprotected(s, 4, 64);
          s.reserve = {.tokens = 32, .each_keep_set = true};
        }),
    make_preset<topics_statistic | topic_epiphany>(
        {.name = "attention-hidden",
         .summary = "cumulative attention plus the residual stream's change, one keep-set",
         .formula = "min-max of the attention received + min-max of z in band a",
         .complexity = "O(layers n)",
         .source = paper},
        preset_kind::mass_and_hidden,
        [](preset_settings& s) noexcept {
          every_token(s);
          s.evictor.sinks = 4;
          s.mass.queries = attended_by::decode_queries;
          s.scored.base.form = epiphany_form::a_only;
        }),
    make_preset<topics_sets | topic_seed>(
        {.name = "random",
         .summary = "seeded uniform draws, one keep-set per sequence",
         .formula = "a uniform draw",
         .complexity = "O(n)",
         .source = "arXiv 2609.03430"},
        preset_kind::drawn, [](preset_settings&) noexcept {}),
    make_preset<topic_common | topic_seed>(
        {.name = "random-head",
         .summary = "seeded uniform draws, one keep-set per layer and KV head",
         .formula = "a uniform draw",
         .complexity = "O(n)",
         .source = "arXiv 2609.03430"},
        preset_kind::drawn, per_head),
    make_preset<topic_common>({.name = "none",
                               .summary = "nothing is evicted",
                               .formula = "none",
                               .complexity = "O(1)",
                               .source = "for comparison"},
                              preset_kind::everything, [](preset_settings&) noexcept {}),
};

// The names of all presets, separated by ", ", as text that lives for ever.
inline constexpr auto preset_name_text = [] {
  constexpr std::size_t size = [] {
    std::size_t total = 0;
    for (const preset_entry& each : preset_table) total += each.info.name.size() + 2;
    return total;
  }();
  std::array<char, size> text{};
  std::size_t at = 0;
  for (const preset_entry& each : preset_table) {
    if (at > 0) text[at++] = ',', text[at++] = ' ';
    for (const char c : each.info.name) text[at++] = c;
  }
  return text;
}();

}  // namespace detail
}  // namespace epikv::inline v0
