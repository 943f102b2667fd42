// SPDX-License-Identifier: MIT
#pragma once

#include "epikv/evictor.hpp"

// How an evictor is set up, and how sequences join, leave and are protected.

namespace epikv::inline v0 {

template <class S, class P, class B>
status evictor<S, P, B>::set_up() noexcept {
  EPIKV_RETURN_IF_ERROR(shape_.check());
  EPIKV_RETURN_IF_ERROR(options_.check());
  EPIKV_RETURN_IF_ERROR(policy_.check(shape_));
  const auto set_up_score = [&](auto i) noexcept -> status {
    const auto& score = std::get<i>(scores_);
    EPIKV_RETURN_IF_ERROR(detail::check_of(score, shape_));
    using score_type = std::tuple_element_t<i, typename set::scores>;
    for (std::int32_t c = 0; c < detail::column_count_of<score_type>; ++c) {
      forms_[static_cast<std::size_t>(set::first_column[i] + c)] =
          detail::column_of(score, shape_, c);
    }
    return {};
  };
  EPIKV_RETURN_IF_ERROR(detail::first_error<set::size>(set_up_score));
  if constexpr (requires(const S& score) { score.enabled; }) {
    // Without a number for any token it can serve a policy, but not rank.
    if (!std::get<0>(scores_).enabled) {
      return {errc::invalid_argument, "score.enabled", "false", "true for the score that ranks"};
    }
  }
  EPIKV_RETURN_IF_ERROR(check_recent(options_.budget));
  EPIKV_RETURN_IF_ERROR(wants_.grow(static_cast<std::size_t>(shape_.layers), "wants"));
  for (std::int32_t layer = 0; layer < shape_.layers; ++layer) {
    detail::for_each_index<set::size>([&](auto i) noexcept {
      wants_[static_cast<std::size_t>(layer)] |= std::get<i>(scores_).wants(shape_, layer);
    });
  }
  wanted_layers_ = shape_.layers;
  return {};
}

// A score that reads the last tokens' signals needs those tokens to be cached still.
template <class S, class P, class B>
status evictor<S, P, B>::check_recent(std::int32_t budget) const noexcept {
  const std::int32_t least = detail::least_recent_of(std::get<0>(scores_));
  const std::int32_t recent = recent_window(options_, budget);
  if (!policy_.evicts || recent >= least) return {};
  return {errc::invalid_argument, "recent", detail::short_text{recent},
          detail::short_text{"at least the ", least, " tokens whose queries the score reads"}};
}

// With overflow::refuse: ok when the protected tokens, `extra` more included, fit the budget.
template <class S, class P, class B>
status evictor<S, P, B>::check_protected(std::int32_t prompt_length, std::int32_t budget,
                                         std::int64_t extra) const noexcept {
  if (options_.on_overflow == overflow::keep || !policy_.evicts) return {};
  const std::int64_t total =
      protected_front(prompt_length) + recent_window(options_, budget) + extra;
  if (total <= budget) return {};
  return {errc::over_budget, "budget", detail::short_text{budget},
          detail::short_text{"at least the ", total, " protected tokens"}};
}

template <class S, class P, class B>
status evictor<S, P, B>::add(sequence_id sequence, const sequence_options& wanted) noexcept {
  EPIKV_RETURN_IF_ERROR(health_);
  constexpr std::int32_t most = evictor_options::max_tokens;
  if (sequences_.find(sequence) != nullptr) {
    return {errc::duplicate_sequence, "sequence", detail::short_text{to_int(sequence)},
            "a sequence that was not added yet"};
  }
  if (wanted.prompt_length < 0 || wanted.prompt_length > most) {
    return {errc::invalid_argument, "prompt_length", detail::short_text{wanted.prompt_length},
            detail::short_text{"0 to ", most}};
  }
  if (wanted.budget < -1 || wanted.budget > most) {
    return {errc::invalid_argument, "budget", detail::short_text{wanted.budget},
            detail::short_text{"0 to ", most, ", or -1 for the evictor's"}};
  }
  const std::int32_t budget = wanted.budget < 0 ? options_.budget : wanted.budget;
  EPIKV_RETURN_IF_ERROR(check_recent(budget));
  EPIKV_RETURN_IF_ERROR(check_protected(wanted.prompt_length, budget, 0));

  std::unique_ptr<record> fresh{new (std::nothrow) record};
  if (fresh == nullptr) return detail::out_of_memory("sequence", sizeof(record));
  record& r = *fresh;
  r.id = sequence;
  r.prompt_length = wanted.prompt_length;
  r.budget = budget;
  r.recent = recent_window(options_, budget);

  const std::int32_t held = std::max(budget, r.prompt_length + options_.sinks + r.recent);
  const std::int32_t capacity =
      policy_.evicts ? held + std::max(options_.tau, options_.buffer) + options_.step_tokens
                     : r.prompt_length + options_.step_tokens;
  EPIKV_RETURN_IF_ERROR(r.slots.create(backend_, shape_.groups(), forms_.data(), capacity));
  const auto longest_step = [&](const record& each) noexcept {
    return std::max(each.prompt_length, options_.step_tokens);
  };
  EPIKV_RETURN_IF_ERROR(reserve(
      r,
      {.step_tokens = longest_step(r), .decode_tokens = options_.step_tokens, .slots = capacity}));
  r.adopt(backend_);
  // All prompts may come in one step.
  auto step_tokens = static_cast<std::size_t>(longest_step(r));
  for (const record* each : sequences_.records()) {
    step_tokens += static_cast<std::size_t>(longest_step(*each));
  }
  EPIKV_RETURN_IF_ERROR(step_.reserve(step_tokens));
  const std::size_t count = sequences_.size() + 1;
  EPIKV_RETURN_IF_ERROR(batch_.grow_amortised(count, "batch"));
  EPIKV_RETURN_IF_ERROR(sequences_.reserve_one());
  // Last, because a selection that the host still holds refers to it: if an allocation fails, that
  // selection stays as it is.
  EPIKV_RETURN_IF_ERROR(selected_.grow_amortised(count, "selection"));
  sequences_.insert(std::move(fresh));
  ++epoch_;
  return {};
}

// Room for what `sizes` says; that for slots is taken into use by the record's adopt().
template <class S, class P, class B>
status evictor<S, P, B>::reserve(record& r, const state_sizes& sizes) noexcept {
  EPIKV_RETURN_IF_ERROR(detail::first_error<set::size>([&](auto i) noexcept {
    return detail::prepare_score(std::get<i>(scores_), backend_, shape_, std::get<i>(r.states),
                                 sizes);
  }));
  if (policy_.evicts) EPIKV_RETURN_IF_ERROR(reserve_scratch(sizes.slots));
  return r.reserve(backend_, sizes.slots, policy_.evicts);
}

template <class S, class P, class B>
status evictor<S, P, B>::reserve_scratch(std::int32_t capacity) noexcept {
  if (capacity <= scratch_length_) return {};
  const auto slots = static_cast<std::size_t>(capacity);
  EPIKV_RETURN_IF_ERROR(verdicts_.grow(backend_, slots, "scratch"));
  EPIKV_RETURN_IF_ERROR(numbers_.grow(backend_, slots * (set::size + 2), "scratch"));
  EPIKV_RETURN_IF_ERROR(scratch_.grow(backend_, backend_.scratch_bytes(capacity), "scratch"));
  EPIKV_RETURN_IF_ERROR(spare_.grow(backend_, slots, "scratch"));
  scratch_length_ = capacity;
  return {};
}

template <class S, class P, class B>
result<typename evictor<S, P, B>::record*> evictor<S, P, B>::find(
    sequence_id sequence) const noexcept {
  EPIKV_RETURN_IF_ERROR(health_);
  auto* const found = const_cast<detail::sequence_map<record>&>(sequences_).find(sequence);
  if (found != nullptr) return found;
  return status{errc::unknown_sequence, "sequence", detail::short_text{to_int(sequence)},
                detail::short_text{"one of the ", sequences_.size(), " sequences added"}};
}

template <class S, class P, class B>
result<const typename evictor<S, P, B>::record*> evictor<S, P, B>::find(
    sequence_id sequence, std::int32_t group) const noexcept {
  const result<record*> found = find(sequence);
  if (!found) return found.status();
  const std::int32_t groups = (*found)->slots.groups();
  if (group >= 0 && group < groups) return static_cast<const record*>(*found);
  return status{errc::invalid_argument, "group", detail::short_text{group},
                detail::short_text{"0 to ", groups - 1}};
}

template <class S, class P, class B>
status evictor<S, P, B>::remove(sequence_id sequence) noexcept {
  const result<record*> found = find(sequence);
  if (!found) return found.status();
  for (std::size_t i = 0; i < batch_size_; ++i) {
    if (batch_[i].sequence == *found) batch_[i].sequence = nullptr;
  }
  sequences_.erase(sequence);
  ++epoch_;
  return {};
}

template <class S, class P, class B>
status evictor<S, P, B>::reset(sequence_id sequence) noexcept {
  const result<record*> found = find(sequence);
  if (!found) return found.status();
  record& r = **found;
  if (r.in_step) {
    return {errc::wrong_order, "reset", "a sequence of the open step", "select() first"};
  }
  r.restart();
  detail::for_each_index<set::size>([&](auto i) noexcept {
    detail::reset_score(std::get<i>(scores_), backend_, std::get<i>(r.states));
  });
  for (std::size_t i = 0; i < batch_size_; ++i) {
    if (batch_[i].sequence == &r) batch_[i].sequence = nullptr;
  }
  ++epoch_;
  return {};
}

template <class S, class P, class B>
status evictor<S, P, B>::protect(sequence_id sequence, position_range range) noexcept {
  const result<record*> found = find(sequence);
  if (!found) return found.status();
  record& r = **found;
  if (to_int(range.first) < 0 || range.last <= range.first) {
    return {errc::invalid_argument, "range",
            detail::short_text{"[", to_int(range.first), ", ", to_int(range.last), ")"},
            "a range of positions that is not empty"};
  }
  if (r.host_ranges.full()) {
    return {errc::invalid_argument, "range", "one range more",
            detail::short_text{"at most ", detail::protected_ranges::capacity, " ranges"}};
  }
  const std::int64_t extra = r.host_ranges.length_with(range, protected_front(r.prompt_length));
  EPIKV_RETURN_IF_ERROR(check_protected(r.prompt_length, r.budget, extra));
  r.host_ranges.add(range);
  ++epoch_;
  return {};
}

template <class S, class P, class B>
status evictor<S, P, B>::clear_protection(sequence_id sequence) noexcept {
  const result<record*> found = find(sequence);
  if (!found) return found.status();
  (*found)->host_ranges.clear();
  ++epoch_;
  return {};
}

}  // namespace epikv::inline v0
