// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "epikv/detail/array.hpp"
#include "epikv/primitives.hpp"
#include "epikv/score.hpp"

namespace epikv::inline v0::detail {

// What is known of every cached token of one sequence: position[slot] and the scores' columns, for
// each keep-set group. Follows the cache: append() as tokens arrive, prune() as they leave.
template <Backend B, std::size_t Columns>
class slot_table {
 public:
  // Sizes for `groups` groups; `forms` say what each column holds and outlive this.
  [[nodiscard]] status create(B& backend, std::int32_t groups, const column_form* forms,
                              std::int32_t capacity) noexcept {
    groups_ = groups;
    forms_ = forms;
    EPIKV_RETURN_IF_ERROR(lengths_.grow(static_cast<std::size_t>(groups), "slots"));
    EPIKV_RETURN_IF_ERROR(reserve(backend, capacity));
    adopt(backend);
    return {};
  }

  // Allocates room for `capacity` slots in every group beside the room in use, which stays as it is
  // until adopt().
  [[nodiscard]] status reserve(B& backend, std::int32_t capacity) noexcept {
    if (capacity <= now_.capacity) return {};
    room wider;
    wider.capacity = capacity;
    EPIKV_RETURN_IF_ERROR(wider.positions.grow(elements(capacity, 1), "slots.positions"));
    for (std::size_t c = 0; c < Columns; ++c) {
      EPIKV_RETURN_IF_ERROR(
          wider.columns[c].grow(backend, elements(capacity, width(c)), "slots.columns"));
    }
    wider_ = std::move(wider);
    return {};
  }

  // Moves into the room that reserve() made, if it made any. No step may be open: what its tokens
  // wrote behind each group's length would be left behind.
  void adopt(B& backend) noexcept {
    const std::int32_t capacity = wider_.capacity;
    if (capacity == 0) return;
    for (std::int32_t g = 0; g < groups_; ++g) {
      const auto used = static_cast<std::size_t>(length(g));
      if (used == 0) continue;
      std::copy_n(positions(g), used, wider_.positions.data() + offset(g, capacity, 1));
      for (std::size_t c = 0; c < Columns; ++c) {
        if (width(c) == 0) continue;
        backend.copy(wider_.columns[c].data() + offset(g, capacity, width(c)), column(c, g),
                     used * row_bytes(c));
      }
    }
    now_ = std::move(wider_);
    discard();
  }

  // Gives back what reserve() made.
  void discard() noexcept { wider_ = {}; }

  // `count` tokens are about to arrive: their cells start as their column says. Needs the room.
  void expect(B& backend, std::int32_t count) noexcept {
    for (std::size_t c = 0; c < Columns; ++c) {
      if (forms_[c].start == cell_start::anything || width(c) == 0) continue;
      for (std::int32_t g = 0; g < (forms_[c].per_group ? groups_ : 1); ++g) {
        float* const cells = column(c, g) + std::int64_t{length(g)} * width(c);
        const auto size = static_cast<std::size_t>(count) * static_cast<std::size_t>(width(c));
        if (forms_[c].start == cell_start::unscored) {
          backend.run(unscored_job{cells, size});
        } else {
          backend.clear(cells, size * sizeof(float));
        }
      }
    }
  }

  // The `count` tokens from `first` on are cached now. What they wrote to group 0 of a column that
  // all groups share reaches the others here. Needs the room.
  void append(B& backend, std::int32_t first, std::int32_t count) noexcept {
    const std::int32_t source = length(0);
    for (std::int32_t g = 0; g < groups_; ++g) {
      const std::int32_t begin = length(g);
      for (std::int32_t i = 0; i < count; ++i) positions(g)[begin + i] = position{first + i};
      if (g > 0) {
        for (std::size_t c = 0; c < Columns; ++c) {
          if (width(c) == 0 || forms_[c].per_group) continue;
          backend.copy(column(c, g) + std::int64_t{begin} * width(c),
                       column(c, 0) + std::int64_t{source} * width(c),
                       static_cast<std::size_t>(count) * row_bytes(c));
        }
      }
      lengths_[static_cast<std::size_t>(g)] = begin + count;
    }
  }

  // Group `g` keeps the slots listed, in this order, as its slots 0, 1, ...
  void prune(B& backend, std::int32_t g, std::span<const slot> kept) noexcept {
    position* const p = positions(g);
    for (std::size_t i = 0; i < kept.size(); ++i) p[i] = p[to_int(kept[i])];
    for (std::size_t c = 0; c < Columns; ++c) {
      const auto bytes = static_cast<std::int64_t>(row_bytes(c));
      if (bytes > 0) backend.run(compact_job{{column(c, g), bytes, bytes}, kept});
    }
    lengths_[static_cast<std::size_t>(g)] = static_cast<std::int32_t>(kept.size());
  }

  void clear() noexcept { std::fill_n(lengths_.data(), lengths_.size(), 0); }

  [[nodiscard]] std::int32_t groups() const noexcept { return groups_; }
  [[nodiscard]] std::int32_t capacity() const noexcept { return now_.capacity; }
  [[nodiscard]] std::int32_t length(std::int32_t g) const noexcept {
    return lengths_[static_cast<std::size_t>(g)];
  }
  [[nodiscard]] std::int32_t longest() const noexcept {
    return *std::max_element(lengths_.data(), lengths_.data() + lengths_.size());
  }
  [[nodiscard]] position* positions(std::int32_t g) noexcept {
    return now_.positions.data() + offset(g, now_.capacity, 1);
  }
  [[nodiscard]] const position* positions(std::int32_t g) const noexcept {
    return now_.positions.data() + offset(g, now_.capacity, 1);
  }
  // The columns from `first` on as group `g` sees them; `pointers` has room for every column and
  // outlives the result.
  [[nodiscard]] token_columns columns(std::size_t first, std::int32_t g,
                                      float** pointers) noexcept {
    for (std::size_t c = first; c < Columns; ++c) pointers[c] = column(c, 0);
    return {{.first = pointers + first,
             .forms = forms_ + first,
             .lengths = lengths_.data(),
             .positions = positions(0),
             .capacity = now_.capacity},
            g};
  }
  [[nodiscard]] std::size_t bytes() const noexcept {
    std::size_t total = lengths_.bytes() + now_.positions.bytes();
    for (const auto& c : now_.columns) total += c.bytes();
    return total;
  }

 private:
  struct room {
    std::int32_t capacity = 0;
    host_array<position> positions;
    std::array<buffer<float, B>, Columns> columns;
  };

  [[nodiscard]] std::size_t elements(std::int32_t capacity, std::int32_t width) const noexcept {
    return static_cast<std::size_t>(groups_) * static_cast<std::size_t>(capacity) *
           static_cast<std::size_t>(width);
  }
  static std::size_t offset(std::int32_t g, std::int32_t capacity, std::int32_t width) noexcept {
    return static_cast<std::size_t>(g) * static_cast<std::size_t>(capacity) *
           static_cast<std::size_t>(width);
  }
  [[nodiscard]] float* column(std::size_t c, std::int32_t g) noexcept {
    return now_.columns[c].data() + offset(g, now_.capacity, width(c));
  }
  [[nodiscard]] std::int32_t width(std::size_t c) const noexcept { return forms_[c].width; }
  [[nodiscard]] std::size_t row_bytes(std::size_t c) const noexcept {
    return static_cast<std::size_t>(width(c)) * sizeof(float);
  }

  std::int32_t groups_ = 0;
  const column_form* forms_ = nullptr;
  host_array<std::int32_t> lengths_;
  room now_;
  room wider_;  // empty but for the time between reserve() and adopt() or discard()
};

}  // namespace epikv::inline v0::detail
