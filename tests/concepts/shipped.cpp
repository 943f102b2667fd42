// SPDX-License-Identifier: MIT

// Does all that is shipped model its concept, on the shipped backend and on a host's own?

#include <doctest/doctest.h>

#include <type_traits>

#include "concepts/archetypes.hpp"

namespace {

using epikv::cpu_backend;
using epikv_test::minimal_backend;

template <class... S>
struct types {
  static constexpr int count = sizeof...(S);
};

// Those that leave fused attention untouched, and those that need the attention of the queries.
using fused_scores = types<epikv::no_score, epikv::random_score, epikv::epiphany, epikv::relevance,
                           epikv::epiphany_with_relevance, epikv::key_statistic,
                           epikv::value_statistic, epikv::window_attention, epikv::key_difference,
                           epikv::key_redundancy, epikv::lag_normalised, epikv::lag_relative>;
using attention_scores =
    types<epikv::attention_mass, epikv::last_attention, epikv::attention_recency,
          epikv::attention_window, epikv::combined<epikv::last_attention, epikv::value_statistic>>;
using policies = types<epikv::keep_all, epikv::top_k, epikv::segmented, epikv::partitioned,
                       epikv::mix, epikv::sampled, epikv::chunked>;
using signals = types<epikv::signals::hidden_in, epikv::signals::hidden_out, epikv::signals::keys,
                      epikv::signals::values, epikv::signals::queries, epikv::signals::attention,
                      epikv::signals::lse>;

template <class... S>
consteval bool all_signals(types<S...>) {
  return (epikv::Signal<S> && ...) && epikv::signal_list<S...>::set == [] {
    epikv::signal_set all;
    for (int i = 0; i < epikv::signal_count; ++i) all.insert(static_cast<epikv::signal_id>(i));
    return all;
  }();
}
static_assert(signals::count == epikv::signal_count);
static_assert(all_signals(signals{}));

static_assert(epikv::Backend<cpu_backend>);

template <class... S>
consteval bool all_scores(types<S...>) {
  return (epikv::Score<S> && ...) && (epikv::ScoreOn<S, cpu_backend> && ...) &&
         (epikv::ScoreOn<S, minimal_backend> && ...);
}
static_assert(all_scores(fused_scores{}) && all_scores(attention_scores{}));

template <class... P>
consteval bool all_policies(types<P...>) {
  return (epikv::Policy<P> && ...) && (epikv::PolicyOn<P, cpu_backend> && ...) &&
         (epikv::PolicyOn<P, minimal_backend> && ...);
}
static_assert(all_policies(policies{}));

template <class S>
constexpr bool has_parts =
    epikv::ScoreWithParts<S, cpu_backend> && epikv::ScoreWithParts<S, minimal_backend>;
static_assert(has_parts<epikv::epiphany_with_relevance>);
static_assert(has_parts<epikv::epiphany>);
static_assert(!has_parts<epikv::relevance>);

// The README's promise: which scores a fused attention kernel can serve follows from their types.
template <class... S>
consteval int fused(types<S...>) {
  return (int{epikv::works_with_fused_attention<S>} + ... + 0);
}
static_assert(fused(fused_scores{}) == fused_scores::count);
static_assert(fused(attention_scores{}) == 0);
static_assert(epikv::works_with_fused_attention<epikv_test::minimal_score>);
static_assert(epikv::ScoreOn<epikv_test::score_of_attention, minimal_backend>);
static_assert(!epikv::works_with_fused_attention<epikv_test::score_of_attention>);
static_assert(epikv::signal_list<>::fused_attention);
// The log-sum-exp comes out of a fused kernel; the matrix does not.
static_assert(epikv::signal_list<epikv::signals::lse>::fused_attention);
static_assert(!epikv::signal_list<epikv::signals::attention, epikv::signals::lse>::fused_attention);

// An evictor's storage refers to its backend, so it stays where it is; the handle moves.
template <class E>
constexpr bool stays = !std::is_copy_constructible_v<E> && !std::is_copy_assignable_v<E> &&
                       !std::is_move_constructible_v<E> && !std::is_move_assignable_v<E>;
static_assert(stays<epikv::evictor<epikv::epiphany, epikv::top_k, cpu_backend>>);
static_assert(std::is_nothrow_move_constructible_v<epikv::any_evictor>);
static_assert(!std::is_copy_constructible_v<epikv::any_evictor>);

// What a score may read there is part of its type: it wants nothing outside its list.
template <class S>
void check_wants() {
  constexpr epikv::cache_shape shape{
      {.layers = 6, .query_heads = 4, .kv_heads = 2, .head_dim = 8, .hidden = 16}};
  const S score{};
  for (std::int32_t layer = 0; layer < shape.layers; ++layer) {
    CHECK((score.wants(shape, layer) | S::signals::set) == S::signals::set);
  }
}
template <class... S>
void check_all_wants(types<S...>) {
  (check_wants<S>(), ...);
}

}  // namespace

TEST_CASE("a shipped score wants only what its type declares") {
  check_all_wants(fused_scores{});
  check_all_wants(attention_scores{});
}
