// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include "epikv/evictor.hpp"

// A step: which tokens come, what their layers show, and how they become cached tokens.

namespace epikv::inline v0 {

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
  if (const status reserved = reserve_step(batch, static_cast<std::size_t>(total)); !reserved) {
    for (const step_sequence& part : batch) (*find(part.sequence))->discard();
    return reserved;
  }

  finish_step();
  ++epoch_;
  ++steps_;
  step_.begin(static_cast<std::int32_t>(total));
  std::int32_t first = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    record& r = **find(batch[i].sequence);
    r.adopt(backend_);
    r.slots.expect(backend_, batch[i].new_tokens);
    r.step_tokens = batch[i].new_tokens;
    r.in_step = true;
    batch_[i] = {&r, first, batch[i].new_tokens};
    step_.begin_sequence(first);
    first += batch[i].new_tokens;
  }
  batch_size_ = batch.size();
  step_open_ = true;
  return {};
}

// Allocates all that a step needs; nothing that anyone can see changes before adopt().
template <class S, class P, class B>
status evictor<S, P, B>::reserve_step(std::span<const step_sequence> batch,
                                      std::size_t tokens) noexcept {
  for (const step_sequence& part : batch) {
    record& r = **find(part.sequence);
    const std::int32_t needed = r.slots.longest() + r.step_tokens + part.new_tokens;
    const std::int32_t now = r.slots.capacity();
    const std::int32_t capacity = needed <= now ? now : std::max(needed, now + now / 2);
    const std::int32_t prompt_left = std::max(0, r.prompt_length - r.tokens - r.step_tokens);
    EPIKV_RETURN_IF_ERROR(reserve(r, {.step_tokens = part.new_tokens,
                                      .decode_tokens = std::max(0, part.new_tokens - prompt_left),
                                      .slots = capacity}));
  }
  EPIKV_RETURN_IF_ERROR(step_.reserve(tokens));
  return batch_.grow_amortised(batch.size(), "batch");
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

// Attention rows have an entry for every slot that their token may see: those cached before the
// step, in the keep-set of each head, and the step's own up to the token.
template <class S, class P, class B>
status evictor<S, P, B>::check_attention(std::int32_t layer,
                                         const layer_signals& given) const noexcept {
  std::int32_t needed = 0;
  for (std::size_t b = 0; b < batch_size_; ++b) {
    const batch_entry& part = batch_[b];
    if (part.sequence == nullptr) continue;
    const std::span<const std::int32_t> rows = step_.rows(part.first, part.count);
    std::int32_t shown = part.count;
    while (shown > 0 && rows[static_cast<std::size_t>(shown - 1)] < 0) --shown;
    if (shown == 0) continue;
    for (std::int32_t head = 0; head < shape_.kv_heads; ++head) {
      needed = std::max(needed, part.sequence->slots.length(shape_.group_of(layer, head)) + shown);
    }
  }
  if (given.attention.extent(2) >= needed) return {};
  return {errc::wrong_shape, "attention", detail::shape_text(given.attention),
          detail::short_text{"rows over the ", needed, " slots that the newest token sees"}};
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
  if (wants_[static_cast<std::size_t>(layer)].contains(signal_id::attention)) {
    EPIKV_RETURN_IF_ERROR(check_attention(layer, given));
  }
  step_.accept(layer);

  detail::for_each_index<set::size>([&](auto i) noexcept {
    using score_type = std::tuple_element_t<i, typename set::scores>;
    const score_type& score = std::get<i>(scores_);
    if (score.wants(shape_, layer).empty()) return;
    for (std::size_t b = 0; b < batch_size_; ++b) {
      const batch_entry& part = batch_[b];
      if (part.sequence == nullptr) continue;
      record& r = *part.sequence;
      column_array pointers{};
      detail::observe_score(score, backend_, shape_, std::get<i>(r.states),
                            observation<typename score_type::signals>{
                                layer, given, step_.rows(part.first, part.count), progress_of(r),
                                columns_of(r, i, 0, pointers)});
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
    column_array pointers{};
    detail::for_each_index<set::size>([&](auto i) noexcept {
      detail::finish_score(std::get<i>(scores_), backend_, shape_, std::get<i>(r.states),
                           progress_of(r), columns_of(r, i, 0, pointers));
    });
    r.slots.append(backend_, r.tokens, r.step_tokens);
    // Steps that begin_step() ends count for the cadence at the next select().
    if (std::exchange(r.asked, false)) r.decoded_before_step = r.decoded();
    r.tokens += r.step_tokens;
    r.step_tokens = 0;
    r.in_step = false;
    r.peak = std::max(r.peak, r.slots.longest());
  }
}

}  // namespace epikv::inline v0
