// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "epikv/detail/array.hpp"
#include "epikv/detail/slot_table.hpp"
#include "epikv/evictor_options.hpp"
#include "epikv/index.hpp"
#include "epikv/selection.hpp"
#include "epikv/statistics.hpp"

namespace epikv::inline v0::detail {

// Ranges of positions that the host itself protects, at most `capacity` per sequence.
class protected_ranges {
 public:
  static constexpr std::size_t capacity = 16;
  [[nodiscard]] bool full() const noexcept { return count_ == capacity; }
  void add(position_range range) noexcept { ranges_[count_++] = range; }
  void clear() noexcept { count_ = 0; }
  [[nodiscard]] std::span<const position_range> all() const noexcept {
    return {ranges_.data(), count_};
  }
  // Positions from `front` on that these ranges and one more cover, each counted once.
  [[nodiscard]] std::int64_t length_with(position_range more, std::int64_t front) const noexcept {
    std::array<position_range, capacity + 1> sorted{};
    std::copy_n(ranges_.begin(), count_, sorted.begin());
    sorted[count_] = more;
    const auto used = sorted.begin() + static_cast<std::ptrdiff_t>(count_ + 1);
    std::sort(sorted.begin(), used, [](const position_range& x, const position_range& y) {
      return to_int(x.first) < to_int(y.first);
    });
    std::int64_t length = 0;
    std::int64_t covered = front;
    for (auto each = sorted.begin(); each != used; ++each) {
      const std::int64_t begin = std::max<std::int64_t>(to_int(each->first), covered);
      covered = std::max<std::int64_t>(covered, to_int(each->last));
      length += std::max<std::int64_t>(covered - begin, 0);
    }
    return length;
  }

 private:
  std::array<position_range, capacity> ranges_{};
  std::size_t count_ = 0;
};

// All an evictor holds of one sequence.
template <Backend B, class ScoreSet>
struct sequence_record {
  sequence_id id{};
  std::int32_t prompt_length = 0;
  std::int32_t budget = 0;
  std::int32_t recent = 0;

  std::int32_t tokens = 0;               // arrived so far, those of the open step excluded
  std::int32_t step_tokens = 0;          // new tokens of the open step
  std::int32_t decoded_at_eviction = 0;  // decode tokens seen at the last committed eviction
  std::int32_t decoded_before_step = 0;  // decode tokens before the steps since the last select()
  std::int32_t tokens_at_eviction = 0;   // tokens seen at the last committed eviction
  bool asked = false;                    // a select() has looked at the latest step
  std::uint64_t batch_mark = 0;          // the last begin_step() call that named the sequence
  bool in_step = false;                  // part of the open step
  std::uint64_t selected_epoch = 0;      // select() that chose from it and was not committed yet

  slot_table<B, ScoreSet::columns> slots;
  typename ScoreSet::template states<B> states;
  protected_ranges host_ranges;

  // The latest selection: per group `kept` then `evicted`, together the group's length.
  host_array<slot> selected;              // [groups, capacity]
  host_array<slot> wider_selected;        // what `selected` becomes by adopt()
  host_array<group_selection> decisions;  // [groups]
  score_counts pending_counts;            // of the latest selection; counted when it is committed
  std::int32_t pending_over_budget = 0;

  std::int32_t peak = 0;
  std::int32_t over_budget = 0;
  std::uint32_t evictions = 0;
  std::int64_t evicted = 0;
  score_counts counts;

  // As just added, with the same options and storage.
  void restart() noexcept {
    tokens = 0;
    step_tokens = 0;
    decoded_at_eviction = 0;
    decoded_before_step = 0;
    tokens_at_eviction = 0;
    asked = false;
    selected_epoch = 0;
    slots.clear();
    host_ranges.clear();
    peak = 0;
    over_budget = 0;
    evictions = 0;
    evicted = 0;
    counts = {};
  }

  [[nodiscard]] std::int32_t decoded() const noexcept {
    return std::max(0, tokens - prompt_length);
  }

  // Storage for `capacity` slots and, if it `selects`, the lists of a selection over them, beside
  // what is in use: should a later allocation of the same call fail, a selection that the host
  // still holds must be as it was.
  [[nodiscard]] status reserve(B& backend, std::int32_t capacity, bool selects) noexcept {
    if (selects) {
      const auto groups = static_cast<std::size_t>(slots.groups());
      const std::size_t size = groups * static_cast<std::size_t>(capacity);
      EPIKV_RETURN_IF_ERROR(decisions.grow(groups, "selection"));
      if (size > selected.size()) EPIKV_RETURN_IF_ERROR(wider_selected.grow(size, "selection"));
    }
    return slots.reserve(backend, capacity);
  }
  // Takes that storage into use; the latest selection ends.
  void adopt(B& backend) noexcept {
    if (wider_selected.size() > 0) selected = std::move(wider_selected);
    slots.adopt(backend);
  }
  void discard() noexcept {
    wider_selected = {};
    slots.discard();
  }

  [[nodiscard]] std::size_t bytes() const noexcept {
    return sizeof *this + slots.bytes() + selected.bytes() + decisions.bytes();
  }

  [[nodiscard]] sequence_statistics statistics() const noexcept {
    return {.tokens_seen = tokens,
            .cached_tokens = slots.longest(),
            .peak_tokens = peak,
            .over_budget = over_budget,
            .evictions = evictions,
            .evicted = evicted,
            .nan_scores = counts.nan,
            .unscored_tokens = counts.unscored,
            .state_bytes = bytes()};
  }

  // First slot of group `g` whose position is not before `p`.
  [[nodiscard]] std::int32_t slot_of(std::int32_t g, std::int64_t p) const noexcept {
    const position* const begin = slots.positions(g);
    const position* const end = begin + slots.length(g);
    return static_cast<std::int32_t>(
        std::lower_bound(begin, end, p,
                         [](position at, std::int64_t wanted) { return to_int(at) < wanted; }) -
        begin);
  }

  // Writes the verdicts of group `g` before the policy: protected slots are taken out of the
  // selection as index ranges. Returns how many there are.
  [[nodiscard]] std::int32_t write_protection(const evictor_options& options, std::int32_t g,
                                              verdict* verdicts) const noexcept {
    const std::int32_t length = slots.length(g);
    std::fill_n(verdicts, length, verdict::evict);
    const auto protect = [&](std::int64_t first, std::int64_t last) noexcept {
      const std::int32_t begin = slot_of(g, first);
      const std::int32_t end = std::max(begin, slot_of(g, last));
      std::fill(verdicts + begin, verdicts + end, verdict::protect);
    };
    if (options.protect_prompt) protect(0, prompt_length);
    protect(0, options.sinks);
    protect(std::int64_t{tokens} - recent, tokens);
    for (const position_range range : host_ranges.all()) {
      protect(to_int(range.first), to_int(range.last));
    }
    return static_cast<std::int32_t>(std::count(verdicts, verdicts + length, verdict::protect));
  }
};

}  // namespace epikv::inline v0::detail
