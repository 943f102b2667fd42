// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>

#include "epikv/any_evictor.hpp"
#include "epikv/any_policy.hpp"
#include "epikv/any_score.hpp"
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
};

// A preset: what it is made of, the topics of the settings it understands, its own defaults.
struct preset_entry {
  preset_info info;
  preset_kind kind;
  unsigned topics;
  void (*set_defaults)(preset_settings&) noexcept;
};

template <unsigned Topics>
constexpr preset_entry make_preset(std::string_view name, std::string_view summary,
                                   preset_kind kind,
                                   void (*set_defaults)(preset_settings&) noexcept) noexcept {
  return {{name, summary, known_options<Topics>()}, kind, Topics, set_defaults};
}

inline constexpr unsigned topics_statistic = topic_common | topic_keep_sets | topic_window;
inline constexpr unsigned topics_flat = topics_statistic | topic_epiphany | topic_reserve;
inline constexpr unsigned topics_seg = topics_flat | topic_segments;
// One layer's relevance serves one keep-set, so there is no choice of keep-sets.
inline constexpr unsigned topics_q = (topics_seg | topic_query) & ~unsigned{topic_keep_sets};

inline void act_every_token(preset_settings& s) noexcept { s.evictor.tau = 1; }

inline constexpr std::array preset_table{
    make_preset<topics_q>(
        "epikv-q", "EpiKV-Seg with fill, ranked by the last queries' relevance: the default",
        preset_kind::query, [](preset_settings& s) noexcept { s.tiers.fill = true; }),
    make_preset<topics_seg>("epikv-seg", "epiphany score under segment tiers by key variance",
                            preset_kind::segments, [](preset_settings&) noexcept {}),
    make_preset<topics_flat>("epikv-flat", "epiphany score, flat top-k", preset_kind::flat,
                             act_every_token),
    make_preset<topics_statistic>("key-variance", "rolling mean of the keys' variance, flat top-k",
                                  preset_kind::key_variance, act_every_token),
    make_preset<topics_statistic>("value-variance",
                                  "rolling mean of the values' variance, flat top-k",
                                  preset_kind::value_variance, act_every_token),
    make_preset<topic_common | topic_keep_sets>(
        "streaming", "StreamingLLM: four sinks and the newest tokens", preset_kind::newest,
        [](preset_settings& s) noexcept {
          s.evictor.tau = 1;
          s.evictor.sinks = 4;
          s.evictor.protect_prompt = false;
        }),
    make_preset<topic_common | topic_seed | topic_keep_sets>(
        "random", "seeded uniform draws, one keep-set per sequence", preset_kind::drawn,
        [](preset_settings&) noexcept {}),
    make_preset<topic_common | topic_seed>(
        "random-head", "seeded uniform draws, one keep-set per layer and KV head",
        preset_kind::drawn,
        [](preset_settings& s) noexcept { s.evictor.keep_sets = granularity::kv_head; }),
    make_preset<topic_common>("none", "nothing is evicted", preset_kind::everything,
                              [](preset_settings&) noexcept {}),
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

/// The presets of make_evictor(), the default first.
inline constexpr auto presets = [] {
  std::array<preset_info, detail::preset_table.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = detail::preset_table[i].info;
  return all;
}();

/// The names of all presets, separated by ", ".
inline constexpr std::string_view preset_names{detail::preset_name_text.data(),
                                               detail::preset_name_text.size() - 2};

namespace detail {

template <class B>
using any_holder = evictor_holder<any_score<B>, any_policy<B>, B>;

}  // namespace detail

/// An evictor of any score and policy behind one type-erased handle, for methods that are composed
/// at run time. Errors: what the evictor's check() says; out_of_memory.
template <Backend B>
[[nodiscard]] result<any_evictor> make_evictor(const model_shape& shape, const any_score<B>& score,
                                               const any_policy<B>& policy, B backend,
                                               const evictor_options& options = {}) noexcept {
  using holder = detail::any_holder<B>;
  std::unique_ptr<holder> made{new (std::nothrow)
                                   holder{shape, score, policy, std::move(backend), options}};
  if (made == nullptr) return detail::out_of_memory("evictor", sizeof(holder));
  EPIKV_RETURN_IF_ERROR(made->check());
  return any_evictor{std::move(made)};
}

/// An evictor by the name of its preset, behind one type-erased handle. Errors: unknown_name and
/// unknown_option, which list the known ones; invalid_argument for a value that does not fit; what
/// the evictor's check() says; out_of_memory.
template <Backend B>
[[nodiscard]] result<any_evictor> make_evictor(std::string_view name, const model_shape& shape,
                                               const option_list& options, B backend) noexcept {
  const detail::preset_entry* preset = nullptr;
  for (const detail::preset_entry& each : detail::preset_table) {
    if (each.info.name == name) preset = &each;
  }
  if (preset == nullptr) return status{errc::unknown_name, "name", name, preset_names};

  detail::preset_settings s;
  preset->set_defaults(s);
  EPIKV_RETURN_IF_ERROR(detail::apply_options(options, preset->topics, preset->info.options, s));
  s.scored.base.window = s.window;

  const auto build = [&](const any_score<B>& score, const any_policy<B>& policy) noexcept {
    return make_evictor(shape, score, policy, std::move(backend), s.evictor);
  };
  const segmented tiered{.tiers = s.tiers, .reserve = s.reserve};
  switch (preset->kind) {
    case detail::preset_kind::query: return build(s.scored, tiered);
    case detail::preset_kind::segments: return build(s.scored.base, tiered);
    case detail::preset_kind::flat: return build(s.scored.base, top_k{s.reserve});
    case detail::preset_kind::key_variance:
      return build(key_statistic{.window = s.window}, top_k{});
    case detail::preset_kind::value_variance:
      return build(value_statistic{.window = s.window}, top_k{});
    case detail::preset_kind::newest: return build(no_score{}, top_k{});
    case detail::preset_kind::drawn: return build(random_score{.seed = s.seed}, top_k{});
    case detail::preset_kind::everything: break;
  }
  return build(no_score{}, keep_all{});
}

}  // namespace epikv::inline v0
