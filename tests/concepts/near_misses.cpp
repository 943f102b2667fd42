// SPDX-License-Identifier: MIT

// Is every line of a concept needed? The archetypes model the concepts, and each near miss fails
// the one concept its flaw belongs to. A line dropped from a concept fails an assertion here.

#include <doctest/doctest.h>

#include "concepts/archetypes.hpp"

namespace {

using namespace epikv_test;
using epikv::Backend;
using epikv::Policy;
using epikv::PolicyOn;
using epikv::Score;
using epikv::ScoreOn;
using epikv::ScoreWithParts;
using epikv::Signal;

static_assert(Signal<minimal_signal>);
static_assert(!Signal<signal_without_tag>);
static_assert(!Signal<signal_without_id>);
static_assert(!Signal<signal_id_is_a_number>);
static_assert(!Signal<signal_without_name>);
static_assert(!Signal<signal_without_needs_attention_matrix>);
static_assert(!Signal<signal_without_view>);
static_assert(!Signal<signal_view_by_value>);
static_assert(!Signal<signal_view_not_noexcept>);
static_assert(!Signal<signal_without_extents>);
static_assert(!Signal<signal_extents_of_three_axes>);
static_assert(!Signal<signal_extents_not_noexcept>);

static_assert(Backend<minimal_backend>);
static_assert(!Backend<backend_without_tag>);
static_assert(!Backend<backend_without_device>);
static_assert(!Backend<backend_device_not_const>);
static_assert(!Backend<backend_without_supports>);
static_assert(!Backend<backend_supports_returns_bool>);
static_assert(!Backend<backend_without_allocate>);
static_assert(!Backend<backend_allocate_not_noexcept>);
static_assert(!Backend<backend_without_deallocate>);
static_assert(!Backend<backend_deallocate_without_bytes>);
static_assert(!Backend<backend_without_clear>);
static_assert(!Backend<backend_without_copy>);
static_assert(!Backend<backend_without_scratch_bytes>);

template <class... Jobs>
consteval bool every_job_is_needed(epikv::job_list<Jobs...>) {
  return (!Backend<backend_without<Jobs>> && ...);
}
template <class... Jobs>
consteval bool no_job_may_throw(epikv::job_list<Jobs...>) {
  return (!Backend<backend_not_noexcept_on<Jobs>> && ...);
}
static_assert(every_job_is_needed(epikv::backend_jobs{}));
static_assert(no_job_may_throw(epikv::backend_jobs{}));
static_assert(Score<minimal_score>);
static_assert(!Score<score_without_tag>);
static_assert(!Score<score_without_signals>);
static_assert(!Score<score_without_finest>);
static_assert(!Score<score_without_column>);
static_assert(!Score<score_column_is_a_width>);
static_assert(!Score<score_check_returns_bool>);
static_assert(!Score<score_without_wants>);
static_assert(!Score<score_wants_not_noexcept>);
static_assert(!Score<score_wants_not_const>);
static_assert(!Score<score_least_recent_of_64_bits>);
static_assert(!Score<score_cadence_without_signal>);

// A near miss of ScoreOn is a score all the same.
template <class S>
constexpr bool fails_score_on_alone = Score<S> && !ScoreOn<S, minimal_backend>;
static_assert(ScoreOn<minimal_score, minimal_backend>);
static_assert(fails_score_on_alone<score_state_not_default_constructible>);
static_assert(fails_score_on_alone<score_state_not_movable>);
static_assert(fails_score_on_alone<score_without_prepare>);
static_assert(fails_score_on_alone<score_prepare_returns_nothing>);
static_assert(fails_score_on_alone<score_without_observe>);
static_assert(fails_score_on_alone<score_observe_not_noexcept>);
static_assert(fails_score_on_alone<score_observe_of_other_signals>);
static_assert(fails_score_on_alone<score_without_finish>);
static_assert(fails_score_on_alone<score_finish_not_noexcept>);
static_assert(fails_score_on_alone<score_without_evaluate>);
static_assert(fails_score_on_alone<score_evaluate_returns_mutable>);
static_assert(fails_score_on_alone<score_without_state_bytes>);
static_assert(fails_score_on_alone<score_without_reset>);
static_assert(fails_score_on_alone<score_reset_not_noexcept>);
// A good score on what is no backend, and on what is no score.
static_assert(!ScoreOn<minimal_score, backend_without<epikv::compact_job>>);
static_assert(!ScoreOn<score_without_tag, minimal_backend>);

template <class S>
constexpr bool fails_parts_alone =
    ScoreOn<S, minimal_backend> && !ScoreWithParts<S, minimal_backend>;
static_assert(ScoreWithParts<minimal_score_with_parts, minimal_backend>);
static_assert(fails_parts_alone<minimal_score>);
static_assert(fails_parts_alone<parts_without_names>);
static_assert(fails_parts_alone<parts_named_by_numbers>);
static_assert(fails_parts_alone<parts_without_evaluate_part>);
static_assert(fails_parts_alone<parts_evaluate_part_not_noexcept>);

static_assert(Policy<minimal_policy>);
static_assert(!Policy<policy_without_tag>);
static_assert(!Policy<policy_without_evicts>);
static_assert(!Policy<policy_without_auxiliary>);
static_assert(!Policy<policy_auxiliary_not_in_a_tuple>);
static_assert(!Policy<policy_auxiliary_not_a_score>);
static_assert(!Policy<policy_auxiliary_not_noexcept>);
static_assert(!Policy<policy_without_check>);

template <class P>
constexpr bool fails_policy_on_alone = Policy<P> && !PolicyOn<P, minimal_backend>;
static_assert(PolicyOn<minimal_policy, minimal_backend>);
static_assert(fails_policy_on_alone<policy_without_select>);
static_assert(fails_policy_on_alone<policy_select_may_throw>);
static_assert(fails_policy_on_alone<policy_select_not_const>);
static_assert(!PolicyOn<minimal_policy, backend_without<epikv::compact_job>>);
static_assert(!PolicyOn<policy_without_tag, minimal_backend>);

}  // namespace

TEST_CASE("near misses fail their concept: this file compiles") {
  // Nothing models two kinds: the tags keep them apart.
  CHECK_FALSE(Score<minimal_policy>);
  CHECK_FALSE(Policy<minimal_score>);
  CHECK_FALSE(Backend<minimal_score>);
  CHECK_FALSE(Signal<minimal_score>);
}
