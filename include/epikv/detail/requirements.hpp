// SPDX-License-Identifier: MIT
#pragma once

#include "epikv/policy.hpp"
#include "epikv/score.hpp"

// One full sentence per broken requirement, so that a wrong type fails at the evictor with words
// and not with the depths of a template. The sentences are matched by tests/compile_fail.

namespace epikv::inline v0::detail {

template <class B>
consteval bool require_backend() {
  static_assert(
      requires { typename B::epikv_backend; },
      "a backend opts in with the tag alias epikv_backend");
  static_assert(
      requires(B& b, const compact_job& job) { b.run(job); },
      "a backend must run every job of epikv/primitives.hpp: compact_job is missing");
  static_assert(Backend<B>,
                "a backend must model epikv::Backend: epikv/backend.hpp lists what it needs");
  return true;
}

template <class S, class B>
consteval bool require_score() {
  static_assert(
      requires { typename S::epikv_score; }, "a score opts in with the tag alias epikv_score");
  static_assert(
      requires { typename S::signals; },
      "a score declares the signals it reads as a signal_list named signals");
  static_assert(Score<S>, "a score must model epikv::Score: epikv/score.hpp lists what it needs");
  if constexpr (Score<S>) {
    using state = score_state_t<S, B>;
    using seen = observation<typename S::signals>;
    constexpr bool observes = S::signals::set != signal_set{};
    static_assert(
        !observes || requires(const S& s, B& b, const cache_shape& m, state& t, const seen& o) {
          s.observe(b, m, t, o);
        }, "a score's observe() takes (backend, cache_shape, state, observation<signals>)");
    if constexpr (requires(const S& s, B& b, const cache_shape& m, state& t, const seen& o) {
                    s.observe(b, m, t, o);
                  }) {
      static_assert(
          requires(const S& s, B& b, const cache_shape& m, state& t, const seen& o) {
            { s.observe(b, m, t, o) } noexcept;
          }, "a score's observe() must be noexcept");
    }
    static_assert(ScoreOn<S, B>,
                  "a score must model epikv::ScoreOn for this backend: epikv/score.hpp lists what "
                  "it needs");
  }
  return true;
}

template <class P, class B>
consteval bool require_policy() {
  static_assert(
      requires { typename P::epikv_policy; }, "a policy opts in with the tag alias epikv_policy");
  static_assert(Policy<P>,
                "a policy must model epikv::Policy: epikv/policy.hpp lists what it needs");
  if constexpr (Policy<P>) {
    static_assert(
        requires(const P& p, B& b, const selection_row& row) { p.select(b, row); },
        "a policy's select() takes (backend, selection_row)");
    if constexpr (requires(const P& p, B& b, const selection_row& row) { p.select(b, row); }) {
      static_assert(
          requires(const P& p, B& b, const selection_row& row) {
            { p.select(b, row) } noexcept;
          }, "a policy's select() must be noexcept");
    }
  }
  return true;
}

}  // namespace epikv::inline v0::detail
