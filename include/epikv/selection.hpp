// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

#include "epikv/index.hpp"
#include "epikv/model_shape.hpp"

namespace epikv::inline v0 {

/// A run of neighbouring slots in an ascending list: `count` slots from `first`, which stand at
/// `index` in the list.
struct slot_run {
  slot first{};
  std::int32_t count = 0;
  std::int32_t index = 0;
};

/// The runs of an ascending slot list, made as they are read; stores nothing.
class slot_runs {
 public:
  class iterator {
   public:
    using iterator_concept = std::forward_iterator_tag;
    using iterator_category = std::input_iterator_tag;
    using value_type = slot_run;
    using difference_type = std::ptrdiff_t;
    using pointer = const slot_run*;
    using reference = slot_run;

    iterator() noexcept = default;
    iterator(std::span<const slot> list, std::size_t at) noexcept : list_{list}, at_{at} {
      measure();
    }
    slot_run operator*() const noexcept {
      return {list_[at_], static_cast<std::int32_t>(count_), static_cast<std::int32_t>(at_)};
    }
    iterator& operator++() noexcept {
      at_ += count_;
      measure();
      return *this;
    }
    iterator operator++(int) noexcept {
      iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const iterator& a, const iterator& b) noexcept { return a.at_ == b.at_; }

   private:
    void measure() noexcept {
      count_ = 0;
      while (at_ + count_ < list_.size() &&
             to_int(list_[at_ + count_]) ==
                 to_int(list_[at_]) + static_cast<std::int32_t>(count_)) {
        ++count_;
      }
    }
    std::span<const slot> list_;
    std::size_t at_ = 0;
    std::size_t count_ = 0;
  };

  explicit slot_runs(std::span<const slot> list) noexcept : list_{list} {}
  [[nodiscard]] iterator begin() const noexcept { return {list_, 0}; }
  [[nodiscard]] iterator end() const noexcept { return {list_, list_.size()}; }

 private:
  std::span<const slot> list_;
};

/// The decision for one keep-set group. Lists are ascending; kept and evicted together are the
/// slots before the eviction.
class group_selection {
 public:
  group_selection() noexcept = default;
  group_selection(group_key key, std::span<const slot> kept, std::span<const slot> evicted,
                  const position* positions) noexcept
      : key_{key}, kept_{kept}, evicted_{evicted}, positions_{positions} {}

  /// Layer and KV head this decides for; -1 where it spans all.
  [[nodiscard]] group_key key() const noexcept { return key_; }
  /// Kept slots, ascending. Slot kept()[i] becomes slot i after a compaction.
  [[nodiscard]] std::span<const slot> kept() const noexcept { return kept_; }
  /// Evicted slots, ascending.
  [[nodiscard]] std::span<const slot> evicted() const noexcept { return evicted_; }
  /// position[slot] before the eviction, for every slot.
  [[nodiscard]] std::span<const position> positions() const noexcept {
    return {positions_, kept_.size() + evicted_.size()};
  }
  /// Cached tokens before and after.
  [[nodiscard]] std::int32_t length_before() const noexcept {
    return static_cast<std::int32_t>(kept_.size() + evicted_.size());
  }
  [[nodiscard]] std::int32_t length_after() const noexcept {
    return static_cast<std::int32_t>(kept_.size());
  }

  /// Calls f(position_range) for the evicted positions, ascending, in as few half-open ranges as
  /// hold no kept token (positions that were evicted earlier may lie inside one).
  template <class F>
  void for_each_evicted_range(F&& f) const {
    for (const slot_run run : slot_runs{evicted_}) {
      const auto first = static_cast<std::size_t>(to_int(run.first));
      const auto last = first + static_cast<std::size_t>(run.count) - 1;
      f(position_range{positions_[first], positions_[last] + 1});
    }
  }

  /// Calls f(source slot, destination slot, count) for the moves of a compaction, ascending; a
  /// source is always behind its destination, so the moves may be done in place in this order.
  template <class F>
  void for_each_move(F&& f) const {
    for (const slot_run run : slot_runs{kept_}) {
      if (to_int(run.first) != run.index) f(run.first, slot{run.index}, run.count);
    }
  }

 private:
  group_key key_;
  std::span<const slot> kept_;
  std::span<const slot> evicted_;
  const position* positions_ = nullptr;
};

/// The decision for one sequence: one `group_selection` per keep-set.
class sequence_selection {
 public:
  sequence_selection() noexcept = default;
  sequence_selection(sequence_id sequence, std::uint64_t epoch, granularity keep_sets,
                     const model_shape& shape, std::span<const group_selection> groups,
                     std::int32_t over_budget, const void* issuer = nullptr) noexcept
      : sequence_{sequence},
        epoch_{epoch},
        issuer_{issuer},
        shape_{shape},
        groups_{groups},
        over_budget_{over_budget},
        keep_sets_{keep_sets} {}

  [[nodiscard]] sequence_id sequence() const noexcept { return sequence_; }
  [[nodiscard]] granularity keep_sets() const noexcept { return keep_sets_; }
  /// The model the sequence runs on.
  [[nodiscard]] const model_shape& shape() const noexcept { return shape_; }
  /// One entry for the model, per layer, or per layer and KV head.
  [[nodiscard]] std::span<const group_selection> groups() const noexcept { return groups_; }
  /// The entry that decides for (layer, KV head), whatever the granularity.
  [[nodiscard]] const group_selection& group(std::int32_t layer,
                                             std::int32_t kv_head) const noexcept {
    return groups_[static_cast<std::size_t>(shape_.group_of(keep_sets_, layer, kv_head))];
  }
  /// Tokens by which the fullest group stays over its budget because its protected tokens alone
  /// exceed it; 0 normally.
  [[nodiscard]] std::int32_t over_budget() const noexcept { return over_budget_; }

  /// Slots really freed: those no group needs any more, counted from the end of the cache.
  [[nodiscard]] std::int32_t freed_slots() const noexcept {
    return longest(&group_selection::length_before) - longest(&group_selection::length_after);
  }
  /// Whole blocks of `block_size` slots really freed; 0 for a size below 1.
  [[nodiscard]] std::int32_t freed_blocks(std::int32_t block_size) const noexcept {
    if (block_size < 1) return 0;
    const auto blocks = [block_size](std::int32_t slots) noexcept {
      return slots / block_size + (slots % block_size != 0 ? 1 : 0);
    };
    return blocks(longest(&group_selection::length_before)) -
           blocks(longest(&group_selection::length_after));
  }
  /// Which select() call this is of; commit() refuses any but the latest.
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }
  /// Which evictor it is from; commit() of any other refuses it.
  [[nodiscard]] const void* issuer() const noexcept { return issuer_; }

 private:
  [[nodiscard]] std::int32_t longest(std::int32_t (group_selection::*length)()
                                         const noexcept) const noexcept {
    std::int32_t most = 0;
    for (const group_selection& g : groups_) {
      const std::int32_t n = (g.*length)();
      most = n > most ? n : most;
    }
    return most;
  }

  sequence_id sequence_{};
  std::uint64_t epoch_ = 0;
  const void* issuer_ = nullptr;
  model_shape shape_;
  std::span<const group_selection> groups_;
  std::int32_t over_budget_ = 0;
  granularity keep_sets_ = granularity::sequence;
};

/// What one select() decided: the sequences that lose tokens, in batch order; empty most of the
/// time. A view of the evictor's storage: valid until the next call that changes the evictor.
class selection {
 public:
  selection() noexcept = default;
  selection(std::span<const sequence_selection> sequences, std::uint64_t epoch,
            const void* issuer = nullptr) noexcept
      : sequences_{sequences}, epoch_{epoch}, issuer_{issuer} {}

  [[nodiscard]] bool empty() const noexcept { return sequences_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return sequences_.size(); }
  [[nodiscard]] const sequence_selection& operator[](std::size_t i) const noexcept {
    return sequences_[i];
  }
  [[nodiscard]] auto begin() const noexcept { return sequences_.begin(); }
  [[nodiscard]] auto end() const noexcept { return sequences_.end(); }
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }
  [[nodiscard]] const void* issuer() const noexcept { return issuer_; }

 private:
  std::span<const sequence_selection> sequences_;
  std::uint64_t epoch_ = 0;
  const void* issuer_ = nullptr;
};

}  // namespace epikv::inline v0
