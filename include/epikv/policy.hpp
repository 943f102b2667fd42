// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>
#include <tuple>

#include "epikv/primitives.hpp"
#include "epikv/score.hpp"

namespace epikv::inline v0 {

namespace detail {
template <class T>
inline constexpr bool is_score_tuple = false;
template <Score... S>
inline constexpr bool is_score_tuple<std::tuple<S...>> = true;
}  // namespace detail

/// @concept Policy
/// Purpose: from scores, what is protected and a budget, the keep-set of one group.
///
/// Syntax: (1) tag alias `epikv_policy`; (2) `auxiliary()`: a tuple of scores whose numbers the
/// policy wants beside the main score (empty tuple for none); (3) `check(shape)`: ok when the
/// parameters fit; (4) `evicts`, false only for a policy that never evicts.
///
/// May be there, together: (5) `budgeted`, false for a policy that decides itself how much stays;
/// and `due(tokens at the last eviction, tokens)`: whether it is to act after so many positions,
/// the prompt's included. The budget and tau then do not count.
///
/// Semantics: (1) deterministic; (2) total: any row is decided, NaN included; (3) a pure function
/// of the row: results do not depend on other rows.
/// Threads: a policy object is immutable once in an evictor.
/// Smallest model: policies/top_k.hpp.
template <class P>
concept Policy = requires(const P& p, const cache_shape& shape) {
  typename P::epikv_policy;                                  // (1)
  requires detail::is_score_tuple<decltype(p.auxiliary())>;  // (2)
  { p.auxiliary() } noexcept;                                // (2)
  { p.check(shape) } noexcept -> std::same_as<status>;       // (3)
  { p.evicts } -> std::convertible_to<bool>;                 // (4)
} && (!requires(const P& p) { p.budgeted; } || requires(const P& p, std::int32_t n) {  // (5)
  { p.budgeted } -> std::convertible_to<bool>;
  { p.due(n, n) } noexcept -> std::same_as<bool>;
});

namespace detail {
// Does the policy's keep-set have a budget?
template <class P>
constexpr bool is_budgeted(const P& policy) noexcept {
  if constexpr (requires { policy.budgeted; }) return policy.budgeted;
  static_cast<void>(policy);
  return true;
}
template <class P>
bool acts(const P& policy, std::int32_t tokens_at_last, std::int32_t tokens) noexcept {
  if constexpr (requires { policy.budgeted; }) return policy.due(tokens_at_last, tokens);
  static_cast<void>(policy), static_cast<void>(tokens_at_last), static_cast<void>(tokens);
  return false;
}
}  // namespace detail

/// @concept PolicyOn
/// Purpose: a policy on one backend.
/// Syntax: `select(backend, row)` turns verdicts of `row` from evict to keep.
/// Semantics: (1) verdicts protect stay; (2) at most `row.room` tokens are kept beside them; (3) no
/// allocation. Complexity: O(length) expected, in the backend's scratch.
template <class P, class B>
concept PolicyOn = Policy<P> && Backend<B> && requires(const P& p, B& b, const selection_row& row) {
  { p.select(b, row) } noexcept;
};

}  // namespace epikv::inline v0
