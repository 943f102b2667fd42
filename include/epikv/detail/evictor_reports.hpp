// SPDX-License-Identifier: MIT
#pragma once

#include "epikv/evictor.hpp"

// What an evictor tells of itself. Nothing here changes a selection.

namespace epikv::inline v0 {

// What score `i` is asked about group `g`; `pointers` receives the columns' addresses.
template <class S, class P, class B>
evaluation evictor<S, P, B>::ask(record& r, std::int32_t g, std::size_t i,
                                 column_array& pointers) noexcept {
  return {.progress = progress_of(r),
          .group = shape_.key_of(options_.keep_sets, g),
          .group_index = g,
          .length = r.slots.length(g),
          .positions = r.slots.positions(g),
          .prompt_slots = r.slot_of(g, r.prompt_length),
          .recent_begin = r.slot_of(g, std::int64_t{r.tokens} - r.recent),
          .round = r.evictions,
          .columns = columns_of(r, i, g, pointers),
          .out = numbers_.data() + i * static_cast<std::size_t>(scratch_length_),
          .scratch = scratch_.data()};
}

template <class S, class P, class B>
row_cadence evictor<S, P, B>::cadence(signal_id id) const noexcept {
  row_cadence most = row_cadence::last_tokens;
  detail::for_each_index<set::size>([&](auto i) noexcept {
    const auto& score = std::get<i>(scores_);
    for (std::int32_t layer = 0; layer < wanted_layers_; ++layer) {
      if (score.wants(shape_, layer).contains(id))
        most = std::max(most, detail::cadence_of(score, id));
    }
  });
  return most;
}

template <class S, class P, class B>
result<std::int32_t> evictor<S, P, B>::length(sequence_id sequence,
                                              std::int32_t group) const noexcept {
  const result<const record*> found = find(sequence, group);
  if (!found) return found.status();
  return (*found)->slots.length(group);
}

template <class S, class P, class B>
result<std::span<const position>> evictor<S, P, B>::positions(sequence_id sequence,
                                                              std::int32_t group) const noexcept {
  const result<const record*> found = find(sequence, group);
  if (!found) return found.status();
  return std::span<const position>{(*found)->slots.positions(group),
                                   static_cast<std::size_t>((*found)->slots.length(group))};
}

template <class S, class P, class B>
result<std::int32_t> evictor<S, P, B>::scores(sequence_id sequence, std::int32_t group,
                                              std::string_view part,
                                              std::span<float> out) noexcept {
  const result<const record*> found = find(sequence, group);
  if (!found) return found.status();
  record& r = const_cast<record&>(**found);
  const std::int32_t length = r.slots.length(group);
  if (backend_.device() != device_kind::cpu) {
    return status{errc::unsupported, "backend", "memory the host cannot read", "host memory"};
  }
  if (out.size() < static_cast<std::size_t>(length)) {
    return status{errc::invalid_argument, "out", detail::short_text{out.size(), " floats"},
                  detail::short_text{"room for ", length}};
  }
  EPIKV_RETURN_IF_ERROR(reserve_scratch(r.slots.capacity()));
  const S& score = std::get<0>(scores_);
  column_array columns{};
  const evaluation asked = ask(r, group, 0, columns);
  const float* numbers = nullptr;
  if (part == "score") {
    numbers = score.evaluate(backend_, shape_, std::get<0>(r.states), asked);
  } else if constexpr (ScoreWithParts<S, B>) {
    for (std::size_t i = 0; !score.part_name(i).empty() && numbers == nullptr; ++i) {
      if (score.part_name(i) != part) continue;
      numbers = score.evaluate_part(backend_, shape_, std::get<0>(r.states), asked, i);
    }
  }
  if (numbers == nullptr) {
    detail::short_text known{"score"};
    if constexpr (ScoreWithParts<S, B>) {
      for (std::size_t i = 0; !score.part_name(i).empty(); ++i) {
        known.append(", "), known.append(score.part_name(i));
      }
    }
    known.append(" (if tracked)");
    return status{errc::invalid_argument, "part", part, known};
  }
  std::copy_n(numbers, length, out.data());
  return length;
}

template <class S, class P, class B>
std::string_view evictor<S, P, B>::score_part(std::size_t i) const noexcept {
  if constexpr (ScoreWithParts<S, B>) {
    return std::get<0>(scores_).part_name(i);
  }
  static_cast<void>(i);
  return {};
}

template <class S, class P, class B>
result<sequence_statistics> evictor<S, P, B>::statistics(sequence_id sequence) const noexcept {
  const result<record*> found = find(sequence);
  if (!found) return found.status();
  const record& r = **found;
  sequence_statistics seen = r.statistics();
  detail::for_each_index<set::size>([&](auto i) noexcept {
    using score_type = std::tuple_element_t<i, typename set::scores>;
    seen.state_bytes +=
        detail::state_bytes_of<score_type, B>(std::get<i>(scores_), std::get<i>(r.states));
  });
  return seen;
}

template <class S, class P, class B>
evictor_statistics evictor<S, P, B>::statistics() const noexcept {
  evictor_statistics seen{.sequences = static_cast<std::int32_t>(sequences_.size()),
                          .steps = steps_,
                          .evictions = evictions_,
                          .evicted = evicted_};
  seen.state_bytes = sizeof *this + wants_.bytes() + step_.bytes() + batch_.bytes() +
                     selected_.bytes() + verdicts_.bytes() + numbers_.bytes() + scratch_.bytes() +
                     spare_.bytes();
  for (const record* r : sequences_.records()) {
    if (const auto of_sequence = statistics(r->id)) seen.state_bytes += of_sequence->state_bytes;
  }
  return seen;
}

}  // namespace epikv::inline v0
