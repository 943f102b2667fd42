// SPDX-License-Identifier: MIT
#pragma once

#include "epikv/evictor.hpp"

// The verbs of the evictor, in the order a host calls them.

namespace epikv::inline v0 {

template <class S, class P, class B>
status evictor<S, P, B>::set_up() noexcept {
  EPIKV_RETURN_IF_ERROR(shape_.check());
  EPIKV_RETURN_IF_ERROR(options_.check());
  EPIKV_RETURN_IF_ERROR(policy_.check(shape_));
  const auto set_up_score = [&](auto i) noexcept -> status {
    const auto& score = std::get<i>(scores_);
    EPIKV_RETURN_IF_ERROR(score.check(shape_));
    using score_type = std::tuple_element_t<i, typename set::scores>;
    if (options_.keep_sets > score_type::finest) {
      return {errc::unsupported, "keep_sets", to_string(options_.keep_sets),
              detail::short_text{to_string(score_type::finest),
                                 " or coarser: the finest keep-sets this score's numbers serve"}};
    }
    for (std::int32_t c = 0; c < score_type::column_count; ++c) {
      widths_[static_cast<std::size_t>(set::first_column[i] + c)] = score.column_width(shape_, c);
    }
    return {};
  };
  EPIKV_RETURN_IF_ERROR(detail::first_error<set::size>(set_up_score));
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
  const std::int32_t least = std::get<0>(scores_).least_recent();
  const std::int32_t recent = recent_window(options_, budget);
  if (!P::evicts || recent >= least) return {};
  return {errc::invalid_argument, "recent", detail::short_text{recent},
          detail::short_text{"at least the ", least, " tokens whose queries the score reads"}};
}

// With overflow::refuse: ok when the protected tokens, `extra` more included, fit the budget.
template <class S, class P, class B>
status evictor<S, P, B>::check_protected(const record& r, std::int64_t extra) const noexcept {
  if (options_.on_overflow == overflow::keep || !P::evicts) return {};
  const std::int64_t prompt = options_.protect_prompt ? r.prompt_length : 0;
  std::int64_t total = std::max<std::int64_t>(prompt, options_.sinks) + r.recent + extra;
  for (const position_range range : r.host_ranges.all()) {
    total += to_int(range.last) - to_int(range.first);
  }
  if (total <= r.budget) return {};
  return {errc::over_budget, "budget", detail::short_text{r.budget},
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

  std::unique_ptr<record> fresh{new (std::nothrow) record};
  if (fresh == nullptr) return detail::out_of_memory("sequence", sizeof(record));
  record& r = *fresh;
  r.id = sequence;
  r.prompt_length = wanted.prompt_length;
  r.budget = budget;
  r.recent = recent_window(options_, budget);
  EPIKV_RETURN_IF_ERROR(check_protected(r, 0));

  const std::int32_t held = std::max(budget, r.prompt_length + options_.sinks + r.recent);
  const std::int32_t capacity = P::evicts ? held + options_.tau + options_.step_tokens
                                          : r.prompt_length + options_.step_tokens;
  EPIKV_RETURN_IF_ERROR(
      r.slots.create(backend_, shape_.groups(options_.keep_sets), widths_.data(), capacity));
  EPIKV_RETURN_IF_ERROR(reserve(r, capacity, std::max(r.prompt_length, options_.step_tokens)));
  const std::size_t count = sequences_.size() + 1;
  EPIKV_RETURN_IF_ERROR(step_.reserve(count * static_cast<std::size_t>(options_.step_tokens) +
                                      static_cast<std::size_t>(r.prompt_length)));
  EPIKV_RETURN_IF_ERROR(batch_.grow_amortised(count, "batch"));
  EPIKV_RETURN_IF_ERROR(selected_.grow_amortised(count, "selection"));
  EPIKV_RETURN_IF_ERROR(sequences_.reserve_one());
  sequences_.insert(std::move(fresh));
  ++epoch_;
  return {};
}

// Room for `capacity` slots and steps of `step_tokens` tokens.
template <class S, class P, class B>
status evictor<S, P, B>::reserve(record& r, std::int32_t capacity,
                                 std::int32_t step_tokens) noexcept {
  EPIKV_RETURN_IF_ERROR(detail::first_error<set::size>([&](auto i) noexcept {
    return std::get<i>(scores_).prepare(backend_, shape_, std::get<i>(r.states), step_tokens);
  }));
  EPIKV_RETURN_IF_ERROR(r.slots.reserve(backend_, capacity));
  if (!P::evicts) return {};
  EPIKV_RETURN_IF_ERROR(r.reserve_selection(capacity));
  return reserve_scratch(capacity);
}

template <class S, class P, class B>
status evictor<S, P, B>::reserve_scratch(std::int32_t capacity) noexcept {
  if (capacity <= scratch_length_) return {};
  const auto slots = static_cast<std::size_t>(capacity);
  EPIKV_RETURN_IF_ERROR(verdicts_.grow(backend_, slots, "scratch"));
  EPIKV_RETURN_IF_ERROR(numbers_.grow(backend_, slots * (set::size + 1), "scratch"));
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
  detail::for_each_index<set::size>(
      [&](auto i) noexcept { std::get<i>(scores_).reset(backend_, std::get<i>(r.states)); });
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
  EPIKV_RETURN_IF_ERROR(check_protected(r, std::int64_t{to_int(range.last)} - to_int(range.first)));
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

template <class S, class P, class B>
status evictor<S, P, B>::begin_step(std::span<const step_sequence> batch) noexcept {
  EPIKV_RETURN_IF_ERROR(health_);
  ++batch_mark_;
  std::int64_t total = 0;
  for (const step_sequence& part : batch) {
    const result<record*> found = find(part.sequence);
    if (!found) return found.status();
    record& r = **found;
    if (r.batch_mark == batch_mark_) {
      return {errc::duplicate_sequence, "batch",
              detail::short_text{to_int(part.sequence), " twice"}, "each sequence at most once"};
    }
    r.batch_mark = batch_mark_;
    const std::int64_t room = std::int64_t{evictor_options::max_tokens} - r.tokens - r.step_tokens;
    if (part.new_tokens < 0 || part.new_tokens > room) {
      return {errc::invalid_argument, "new_tokens", detail::short_text{part.new_tokens},
              detail::short_text{"0 to ", room}};
    }
    total += part.new_tokens;
  }
  if (total > evictor_options::max_tokens) {
    return {errc::invalid_argument, "batch", detail::short_text{total, " tokens"},
            detail::short_text{"at most ", evictor_options::max_tokens}};
  }
  for (const step_sequence& part : batch) {
    record& r = **find(part.sequence);
    const std::int32_t needed = r.slots.longest() + r.step_tokens + part.new_tokens;
    const std::int32_t now = r.slots.capacity();
    const std::int32_t capacity = needed <= now ? now : std::max(needed, now + now / 2);
    EPIKV_RETURN_IF_ERROR(reserve(r, capacity, part.new_tokens));
  }
  EPIKV_RETURN_IF_ERROR(step_.reserve(static_cast<std::size_t>(total)));
  EPIKV_RETURN_IF_ERROR(batch_.grow_amortised(batch.size(), "batch"));

  finish_step();
  ++epoch_;
  ++steps_;
  step_.begin(static_cast<std::int32_t>(total));
  std::int32_t first = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    record& r = **find(batch[i].sequence);
    r.step_tokens = batch[i].new_tokens;
    r.in_step = true;
    batch_[i] = {&r, first, batch[i].new_tokens};
    first += batch[i].new_tokens;
  }
  batch_size_ = batch.size();
  step_open_ = true;
  return {};
}

// The wanted signals of one layer: all there, of the right form, with one row count. Returns it.
template <class S, class P, class B>
result<std::int64_t> evictor<S, P, B>::check_signals(std::int32_t layer,
                                                     const layer_signals& given) const noexcept {
  const signal_set wanted = wants_[static_cast<std::size_t>(layer)];
  std::int64_t rows = -1;
  const status outcome = detail::for_each_signal([&]<Signal W>() noexcept -> status {
    if (!wanted.contains(W::id)) return {};
    const tensor_view& view = W::view(given);
    if (!view.given()) {
      return {errc::missing_signal, W::name, "nothing",
              detail::short_text{"the rows of layer ", layer, ", which a score reads"}};
    }
    EPIKV_RETURN_IF_ERROR(detail::check_addressing(W::name, view));
    if (rows < 0 && view.rank() > 0) rows = view.extent(0);
    EPIKV_RETURN_IF_ERROR(detail::check_signal<W>(given, shape_, rows, backend_.device()));
    return backend_.supports(view.type());
  });
  if (!outcome) return outcome;
  return rows;
}

template <class S, class P, class B>
status evictor<S, P, B>::observe_wanted(std::int32_t layer, const layer_signals& given) noexcept {
  EPIKV_RETURN_IF_ERROR(health_);
  if (layer < 0 || layer >= shape_.layers) {
    return {errc::invalid_argument, "layer", detail::short_text{layer},
            detail::short_text{"0 to ", shape_.layers - 1}};
  }
  if (!step_open_) {
    return {errc::wrong_order, "observe", "no open step", "begin_step() first"};
  }
  const result<std::int64_t> rows = check_signals(layer, given);
  if (!rows) return rows.status();
  EPIKV_RETURN_IF_ERROR(step_.map_rows(layer, *rows, given.row_to_token));

  detail::for_each_index<set::size>([&](auto i) noexcept {
    using score_type = std::tuple_element_t<i, typename set::scores>;
    const score_type& score = std::get<i>(scores_);
    if (score.wants(shape_, layer).empty()) return;
    for (std::size_t b = 0; b < batch_size_; ++b) {
      const batch_entry& part = batch_[b];
      if (part.sequence == nullptr) continue;
      record& r = *part.sequence;
      column_array columns{};
      r.slots.column_pointers(0, columns.data());
      score.observe(backend_, shape_, std::get<i>(r.states),
                    observation<typename score_type::signals>{
                        layer, given, step_.rows(part.first, part.count), progress_of(r),
                        columns_of(i, columns), r.slots.length(0)});
    }
  });
  return {};
}

// The open step's tokens become cached tokens.
template <class S, class P, class B>
void evictor<S, P, B>::finish_step() noexcept {
  if (!step_open_) return;
  step_open_ = false;
  for (std::size_t b = 0; b < batch_size_; ++b) {
    if (batch_[b].sequence == nullptr) continue;
    record& r = *batch_[b].sequence;
    column_array columns{};
    r.slots.column_pointers(0, columns.data());
    const std::int32_t first_slot = r.slots.length(0);
    detail::for_each_index<set::size>([&](auto i) noexcept {
      std::get<i>(scores_).finish(backend_, shape_, std::get<i>(r.states), progress_of(r),
                                  columns_of(i, columns), first_slot);
    });
    r.slots.append(backend_, r.tokens, r.step_tokens);
    r.decoded_before_step = r.decoded();
    r.tokens += r.step_tokens;
    r.step_tokens = 0;
    r.in_step = false;
    r.peak = std::max(r.peak, r.slots.longest());
  }
}

template <class S, class P, class B>
bool evictor<S, P, B>::due(const record& r) const noexcept {
  if (!P::evicts || r.decoded() == 0 || r.slots.longest() <= r.budget) return false;
  if (options_.when == cadence::elapsed) {
    return r.decoded() - r.decoded_at_eviction >= options_.tau;
  }
  return r.decoded() / options_.tau > r.decoded_before_step / options_.tau;
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
    selected_[selected_count_++] =
        sequence_selection{r.id, epoch_, options_.keep_sets, shape_, groups, r.pending_over_budget};
  }
  return selection{selected_.first(selected_count_), epoch_};
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
  if (length <= r.budget) {
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
                            .prompt_slots = r.slot_of(g, r.prompt_length),
                            .recent_begin = r.slot_of(g, std::int64_t{r.tokens} - r.recent),
                            .room = std::max(0, r.budget - protected_count),
                            .verdicts = verdicts,
                            .scratch = scratch_.data()};
    policy_.select(backend_, row);
  }
  slot* const list = r.selected.data() +
                     static_cast<std::size_t>(g) * static_cast<std::size_t>(r.slots.capacity());
  // The evicted slots are written behind the longest possible kept list and then closed up.
  split_job split{.verdicts = verdicts, .length = length, .kept = list, .evicted = spare_.data()};
  backend_.run(split);
  std::copy_n(spare_.data(), split.evicted_count, list + split.kept_count);
  r.decisions[static_cast<std::size_t>(g)] = group_selection{
      shape_.key_of(options_.keep_sets, g),
      std::span<const slot>{list, static_cast<std::size_t>(split.kept_count)},
      std::span<const slot>{list + split.kept_count, static_cast<std::size_t>(split.evicted_count)},
      r.slots.positions(g)};
  r.pending_over_budget = std::max(r.pending_over_budget, split.kept_count - r.budget);
}

template <class S, class P, class B>
status evictor<S, P, B>::commit(const selection& applied) noexcept {
  EPIKV_RETURN_IF_ERROR(health_);
  // The epoch comes first: the lists of an older selection may not exist any more.
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
  r.over_budget = r.pending_over_budget;
  ++r.evictions;
  r.evicted += evicted;
  r.counts.nan += r.pending_counts.nan;
  r.counts.unscored += r.pending_counts.unscored;
  ++evictions_;
  evicted_ += evicted;
}

}  // namespace epikv::inline v0

#include "epikv/detail/evictor_reports.hpp"
