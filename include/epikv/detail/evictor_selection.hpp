// SPDX-License-Identifier: MIT
#pragma once

#include "epikv/evictor.hpp"

// What leaves the cache: when, by whose decision, and how the layout follows.

namespace epikv::inline v0 {

template <class S, class P, class B>
bool evictor<S, P, B>::due(const record& r) const noexcept {
  if (!policy_.evicts) return false;
  if (!detail::is_budgeted(policy_)) return detail::acts(policy_, r.tokens_at_eviction, r.tokens);
  const std::int64_t full = std::int64_t{r.budget} + std::max(1, options_.buffer);
  if (r.decoded() == 0 || r.slots.longest() < full) return false;
  if (options_.when == cadence::elapsed) {
    return r.decoded() - r.decoded_at_eviction >= options_.tau;
  }
  return r.decoded() / options_.tau > r.decoded_before_step / options_.tau;
}

template <class S, class P, class B>
result<std::int32_t> evictor<S, P, B>::tokens_until_due(sequence_id sequence) const noexcept {
  const result<record*> found = find(sequence);
  if (!found) return found.status();
  const record& r = **found;
  constexpr std::int32_t most = evictor_options::max_tokens;
  if (!policy_.evicts) return most;
  if (!detail::is_budgeted(policy_)) {
    std::int32_t n = 1;
    while (n < most - r.tokens && !detail::acts(policy_, r.tokens_at_eviction, r.tokens + n)) ++n;
    return n;
  }
  const std::int64_t over = std::int64_t{r.budget} + std::max(1, options_.buffer) -
                            r.slots.longest();  // tokens until it is over its budget
  const std::int64_t prompt_left = std::max(0, r.prompt_length - r.tokens);
  std::int64_t n = 0;
  if (options_.when == cadence::elapsed) {
    const std::int64_t elapsed = r.decoded() - r.decoded_at_eviction;
    n = std::max({prompt_left + std::max<std::int64_t>(1, options_.tau - elapsed), over});
  } else {
    const std::int64_t tau = options_.tau;
    n = prompt_left + tau - r.decoded() % tau;
    if (over > n) n += (over - n + tau - 1) / tau * tau;
  }
  return static_cast<std::int32_t>(std::min<std::int64_t>(n, most));
}

template <class S, class P, class B>
result<selection> evictor<S, P, B>::select() noexcept {
  EPIKV_RETURN_IF_ERROR(health_);
  if (steps_ == 0) {
    return status{errc::wrong_order, "select", "no step", "begin_step() first"};
  }
  finish_step();
  ++epoch_;
  selected_count_ = 0;
  for (std::size_t b = 0; b < batch_size_; ++b) {
    if (batch_[b].sequence == nullptr) continue;
    record& r = *batch_[b].sequence;
    r.selected_epoch = 0;
    r.asked = true;
    if (!due(r)) continue;
    decide(r);
    const auto groups = std::span<const group_selection>{
        r.decisions.first(static_cast<std::size_t>(r.slots.groups()))};
    const bool evicts = std::any_of(groups.begin(), groups.end(),
                                    [](const group_selection& g) { return !g.evicted().empty(); });
    if (!evicts) {
      r.over_budget = r.pending_over_budget;  // all that is left is protected
      continue;
    }
    r.selected_epoch = epoch_;
    selected_[selected_count_++] = sequence_selection{
        r.id, epoch_, options_.keep_sets, shape_, groups, r.pending_over_budget, this};
  }
  return selection{selected_.first(selected_count_), epoch_, this};
}

template <class S, class P, class B>
void evictor<S, P, B>::decide(record& r) noexcept {
  r.pending_counts = {};
  r.pending_over_budget = 0;
  for (std::int32_t g = 0; g < r.slots.groups(); ++g) decide_group(r, g);
}

template <class S, class P, class B>
void evictor<S, P, B>::decide_group(record& r, std::int32_t g) noexcept {
  const std::int32_t length = r.slots.length(g);
  verdict* const verdicts = verdicts_.data();
  const std::int32_t protected_count = r.write_protection(options_, g, verdicts);
  if (detail::is_budgeted(policy_) && length <= r.budget) {
    std::fill_n(verdicts, length, verdict::keep);
  } else {
    std::array<const float*, set::size> numbers{};
    column_array columns{};
    detail::for_each_index<set::size>([&](auto i) noexcept {
      numbers[i] = std::get<i>(scores_).evaluate(backend_, shape_, std::get<i>(r.states),
                                                 ask(r, g, i, columns));
    });
    float* const resolved = numbers_.data() + set::size * static_cast<std::size_t>(scratch_length_);
    backend_.run(resolve_job{.in = numbers[0],
                             .positions = r.slots.positions(g),
                             .verdicts = verdicts,
                             .length = length,
                             .out = resolved,
                             .counts = &r.pending_counts,
                             .scratch = scratch_.data()});
    const selection_row row{.length = length,
                            .positions = r.slots.positions(g),
                            .scores = resolved,
                            .auxiliary = std::span<const float* const>{numbers}.subspan(1),
                            .tokens = r.tokens,
                            .prompt_slots = r.slot_of(g, r.prompt_length),
                            .recent_begin = r.slot_of(g, std::int64_t{r.tokens} - r.recent),
                            .room = std::max(0, r.budget - protected_count),
                            .verdicts = verdicts,
                            .spare = resolved + static_cast<std::size_t>(scratch_length_),
                            .scratch = scratch_.data()};
    policy_.select(backend_, row);
  }
  slot* const list = r.selected.data() +
                     static_cast<std::size_t>(g) * static_cast<std::size_t>(r.slots.capacity());
  // The evicted slots are written behind the longest possible kept list and then closed up.
  std::int32_t kept = 0;
  backend_.run(split_job{.verdicts = verdicts,
                         .length = length,
                         .kept = list,
                         .evicted = spare_.data(),
                         .kept_count = &kept});
  std::copy_n(spare_.data(), length - kept, list + kept);
  r.decisions[static_cast<std::size_t>(g)] =
      group_selection{shape_.key_of(options_.keep_sets, g),
                      std::span<const slot>{list, static_cast<std::size_t>(kept)},
                      std::span<const slot>{list + kept, static_cast<std::size_t>(length - kept)},
                      r.slots.positions(g)};
  if (detail::is_budgeted(policy_)) {
    r.pending_over_budget = std::max(r.pending_over_budget, kept - r.budget);
  }
}

template <class S, class P, class B>
status evictor<S, P, B>::commit(const selection& applied) noexcept {
  EPIKV_RETURN_IF_ERROR(health_);
  // Both come first: the lists of another or an older selection may not exist any more.
  EPIKV_RETURN_IF_ERROR(check_issuer(applied.issuer()));
  if (applied.epoch() == 0 || applied.epoch() != epoch_) return stale(applied.epoch());
  for (const sequence_selection& part : applied) {
    const result<record*> found = find(part.sequence());
    if (!found) return found.status();
    if ((*found)->selected_epoch != part.epoch()) return stale(part.epoch());
  }
  for (const sequence_selection& part : applied) commit_record(**find(part.sequence()));
  return {};
}

template <class S, class P, class B>
status evictor<S, P, B>::commit(const sequence_selection& applied) noexcept {
  EPIKV_RETURN_IF_ERROR(health_);
  EPIKV_RETURN_IF_ERROR(check_issuer(applied.issuer()));
  if (applied.epoch() == 0 || applied.epoch() != epoch_) return stale(applied.epoch());
  const result<record*> found = find(applied.sequence());
  if (!found) return found.status();
  if ((*found)->selected_epoch != applied.epoch()) return stale(applied.epoch());
  commit_record(**found);
  return {};
}

template <class S, class P, class B>
void evictor<S, P, B>::commit_record(record& r) noexcept {
  std::int64_t evicted = 0;
  for (std::int32_t g = 0; g < r.slots.groups(); ++g) {
    const group_selection& decision = r.decisions[static_cast<std::size_t>(g)];
    evicted += static_cast<std::int64_t>(decision.evicted().size());
    if (!decision.evicted().empty()) r.slots.prune(backend_, g, decision.kept());
  }
  r.selected_epoch = 0;
  r.decoded_at_eviction = r.decoded();
  r.tokens_at_eviction = r.tokens;
  r.over_budget = r.pending_over_budget;
  ++r.evictions;
  r.evicted += evicted;
  r.counts.nan += r.pending_counts.nan;
  r.counts.unscored += r.pending_counts.unscored;
  ++evictions_;
  evicted_ += evicted;
}

}  // namespace epikv::inline v0
