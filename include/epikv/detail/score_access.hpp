// SPDX-License-Identifier: MIT
#pragma once

#include "epikv/score.hpp"

// A score's members as the library calls them: what a score leaves out has its default here.

namespace epikv::inline v0::detail {

template <class S>
inline constexpr int column_count_of = 0;
template <class S>
  requires has_columns<S>
inline constexpr int column_count_of<S> = S::column_count;

template <class S>
column_form column_of(const S& score, const cache_shape& shape, std::int32_t c) noexcept {
  if constexpr (has_columns<S>) return score.column(shape, c);
  static_cast<void>(score), static_cast<void>(shape), static_cast<void>(c);
  return {};
}

// Ok when the score's parameters fit and its numbers serve the keep-sets.
template <class S>
status check_of(const S& score, const cache_shape& shape) noexcept {
  constexpr granularity finest = S::finest;
  if (shape.keep_sets > finest) {
    return {errc::unsupported, "keep_sets", to_string(shape.keep_sets),
            short_text{to_string(finest),
                       " or coarser: the finest keep-sets this score's numbers serve"}};
  }
  if constexpr (has_check<S>) return score.check(shape);
  static_cast<void>(score);
  return {};
}

template <class S>
std::int32_t least_recent_of(const S& score) noexcept {
  if constexpr (has_least_recent<S>) return score.least_recent();
  static_cast<void>(score);
  return 0;
}

template <class S>
row_cadence cadence_of(const S& score, signal_id id) noexcept {
  if constexpr (has_cadence<S>) return score.cadence(id);
  static_cast<void>(score), static_cast<void>(id);
  return row_cadence::every_token;
}

template <class S, class B>
status prepare_score(const S& score, B& backend, const cache_shape& shape,
                     score_state_t<S, B>& state, const state_sizes& sizes) noexcept {
  if constexpr (has_state<S, B>) return score.prepare(backend, shape, state, sizes);
  static_cast<void>(score), static_cast<void>(backend), static_cast<void>(shape);
  static_cast<void>(state), static_cast<void>(sizes);
  return {};
}

template <class S, class B>
void observe_score(const S& score, B& backend, const cache_shape& shape, score_state_t<S, B>& state,
                   const observation<typename S::signals>& seen) noexcept {
  if constexpr (S::signals::set != signal_set{}) score.observe(backend, shape, state, seen);
}

template <class S, class B>
void finish_score(const S& score, B& backend, const cache_shape& shape, score_state_t<S, B>& state,
                  const sequence_progress& progress, token_columns columns) noexcept {
  if constexpr (has_columns<S>) score.finish(backend, shape, state, progress, columns);
}

template <class S, class B>
std::size_t state_bytes_of(const S& score, const score_state_t<S, B>& state) noexcept {
  if constexpr (has_state<S, B>) return score.state_bytes(state);
  static_cast<void>(score), static_cast<void>(state);
  return 0;
}

template <class S, class B>
void reset_score(const S& score, B& backend, score_state_t<S, B>& state) noexcept {
  if constexpr (has_state<S, B>) score.reset(backend, state);
}

}  // namespace epikv::inline v0::detail
