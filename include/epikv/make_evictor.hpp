// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <memory>
#include <new>
#include <string_view>

#include "epikv/any_evictor.hpp"
#include "epikv/detail/preset_options.hpp"
#include "epikv/policies/keep_all.hpp"
#include "epikv/policies/segmented.hpp"
#include "epikv/policies/top_k.hpp"
#include "epikv/scores/none.hpp"

namespace epikv::inline v0 {

/// A preset by name, with the line that describes it and the options it understands.
struct preset_info {
  std::string_view name;
  std::string_view summary;
  std::string_view options;  ///< names, separated by ", "
};

namespace detail {

inline constexpr unsigned topics_none = topic_common;
inline constexpr unsigned topics_streaming = topic_common | topic_keep_sets;
inline constexpr unsigned topics_random = topic_common | topic_seed | topic_keep_sets;
inline constexpr unsigned topics_random_head = topic_common | topic_seed;
inline constexpr unsigned topics_statistic = topic_common | topic_keep_sets | topic_window;
inline constexpr unsigned topics_flat = topics_statistic | topic_epiphany | topic_reserve;
inline constexpr unsigned topics_seg = topics_flat | topic_segments;
inline constexpr unsigned topics_q =
    topic_common | topic_window | topic_epiphany | topic_reserve | topic_segments | topic_query;

}  // namespace detail

/// The presets of make_evictor(), the default first.
inline constexpr std::array<preset_info, 9> presets{{
    {"epikv-q", "EpiKV-Seg with fill, ranked by the last queries' relevance: the default",
     detail::known_options<detail::topics_q>()},
    {"epikv-seg", "epiphany score under segment tiers by key variance",
     detail::known_options<detail::topics_seg>()},
    {"epikv-flat", "epiphany score, flat top-k", detail::known_options<detail::topics_flat>()},
    {"key-variance", "rolling mean of the keys' variance, flat top-k",
     detail::known_options<detail::topics_statistic>()},
    {"value-variance", "rolling mean of the values' variance, flat top-k",
     detail::known_options<detail::topics_statistic>()},
    {"streaming", "StreamingLLM: four sinks and the newest tokens",
     detail::known_options<detail::topics_streaming>()},
    {"random", "seeded uniform draws, one keep-set per sequence",
     detail::known_options<detail::topics_random>()},
    {"random-head", "seeded uniform draws, one keep-set per layer and KV head",
     detail::known_options<detail::topics_random_head>()},
    {"none", "nothing is evicted", detail::known_options<detail::topics_none>()},
}};

/// The names of all presets, separated by ", ".
inline constexpr std::string_view preset_names =
    "epikv-q, epikv-seg, epikv-flat, key-variance, value-variance, streaming, random, random-head, "
    "none";

namespace detail {

template <Backend B, class S, class P>
result<any_evictor> build(const model_shape& shape, S score, P policy, B&& backend,
                          const evictor_options& options) noexcept {
  using holder = evictor_holder<S, P, B>;
  std::unique_ptr<holder> made{new (std::nothrow) holder{shape, std::move(score), std::move(policy),
                                                         std::move(backend), options}};
  if (made == nullptr) return out_of_memory("evictor", sizeof(holder));
  EPIKV_RETURN_IF_ERROR(made->check());
  return any_evictor{std::move(made)};
}

}  // namespace detail

/// An evictor by the name of its preset, behind one type-erased handle. Errors: unknown_name and
/// unknown_option, which list the known ones; invalid_argument for a value that does not fit; what
/// the evictor's check() says; out_of_memory.
template <Backend B>
[[nodiscard]] result<any_evictor> make_evictor(std::string_view name, const model_shape& shape,
                                               const option_list& options, B backend) noexcept {
  using namespace detail;
  const preset_info* preset = nullptr;
  for (const preset_info& each : presets) {
    if (each.name == name) preset = &each;
  }
  if (preset == nullptr) return status{errc::unknown_name, "name", name, preset_names};

  preset_settings s;
  unsigned topics = topics_none;
  if (name == "epikv-q") {
    topics = topics_q;
    s.tiers.fill = true;
  } else if (name == "epikv-seg") {
    topics = topics_seg;
  } else if (name == "epikv-flat") {
    topics = topics_flat;
    s.evictor.tau = 1;
  } else if (name == "key-variance" || name == "value-variance") {
    topics = topics_statistic;
    s.evictor.tau = 1;
  } else if (name == "streaming") {
    topics = topics_streaming;
    s.evictor.tau = 1;
    s.evictor.sinks = 4;
    s.evictor.protect_prompt = false;
  } else if (name == "random") {
    topics = topics_random;
  } else if (name == "random-head") {
    topics = topics_random_head;
    s.evictor.keep_sets = granularity::kv_head;
  }
  EPIKV_RETURN_IF_ERROR(apply_options(options, topics, preset->options, s));

  s.scored.base.window = s.window;
  const segmented tiered{.tiers = s.tiers, .reserve = s.reserve};
  if (name == "epikv-q") {
    return build(shape, s.scored, tiered, std::move(backend), s.evictor);
  }
  if (name == "epikv-seg") {
    return build(shape, s.scored.base, tiered, std::move(backend), s.evictor);
  }
  if (name == "epikv-flat") {
    return build(shape, s.scored.base, top_k{s.reserve}, std::move(backend), s.evictor);
  }
  if (name == "key-variance") {
    return build(shape, key_statistic{.window = s.window}, top_k{}, std::move(backend), s.evictor);
  }
  if (name == "value-variance") {
    return build(shape, value_statistic{.window = s.window}, top_k{}, std::move(backend),
                 s.evictor);
  }
  if (name == "streaming") {
    return build(shape, no_score{}, top_k{}, std::move(backend), s.evictor);
  }
  if (name == "none") {
    return build(shape, no_score{}, keep_all{}, std::move(backend), s.evictor);
  }
  return build(shape, random_score{s.seed}, top_k{}, std::move(backend), s.evictor);
}

}  // namespace epikv::inline v0
