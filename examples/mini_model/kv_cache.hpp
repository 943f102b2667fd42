// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <vector>

#include "config.hpp"

namespace mini {

/// The keys and values of one sequence: two float32 arrays [layer][kv_head][slot][head_dim].
///
/// A (layer, KV head) pair is a group, and each group has its own length, since heads may hold
/// different tokens. Slots 0 to length - 1 of a group are live. The cache knows nothing of
/// positions: keys are stored rotated and attention does not care about the order of slots, so
/// whoever removes tokens moves rows in place through the pointers and then calls set_length.
class kv_cache {
 public:
  /// An empty cache with room for `capacity` tokens in every group.
  kv_cache(std::size_t layers, std::size_t kv_heads, std::size_t head_dim, std::size_t capacity)
      : layers_(layers),
        kv_heads_(kv_heads),
        head_dim_(head_dim),
        capacity_(capacity),
        lengths_(layers * kv_heads),
        keys_(layers * kv_heads * capacity * head_dim),
        values_(keys_.size()) {}

  kv_cache(const config& shape, std::size_t capacity)
      : kv_cache(shape.layers, shape.kv_heads, shape.head_dim, capacity) {}

  std::size_t layers() const noexcept { return layers_; }
  std::size_t kv_heads() const noexcept { return kv_heads_; }
  std::size_t head_dim() const noexcept { return head_dim_; }
  std::size_t capacity() const noexcept { return capacity_; }

  /// Distances in elements between neighbouring slots, heads and layers.
  std::size_t slot_stride() const noexcept { return head_dim_; }
  std::size_t head_stride() const noexcept { return capacity_ * slot_stride(); }
  std::size_t layer_stride() const noexcept { return kv_heads_ * head_stride(); }

  /// The rows of one group, [capacity, head_dim]. Valid until the capacity grows.
  float* keys(std::size_t layer, std::size_t head) noexcept {
    return keys_.data() + offset(layer, head);
  }
  const float* keys(std::size_t layer, std::size_t head) const noexcept {
    return keys_.data() + offset(layer, head);
  }
  float* values(std::size_t layer, std::size_t head) noexcept {
    return values_.data() + offset(layer, head);
  }
  const float* values(std::size_t layer, std::size_t head) const noexcept {
    return values_.data() + offset(layer, head);
  }

  /// Live slots of one group.
  std::size_t length(std::size_t layer, std::size_t head) const noexcept {
    return lengths_[group(layer, head)];
  }

  /// Live slots of the longest group.
  std::size_t length() const noexcept {
    return lengths_.empty() ? 0 : *std::max_element(lengths_.begin(), lengths_.end());
  }

  /// Says that a group's first `n` slots are live. Precondition: n <= capacity().
  void set_length(std::size_t layer, std::size_t head, std::size_t n) noexcept {
    assert(n <= capacity_);
    auto& length = lengths_[group(layer, head)];
    rows_ = rows_ - length + n;
    length = n;
    peak_tokens_ = std::max(peak_tokens_, n);
    peak_rows_ = std::max(peak_rows_, rows_);
  }

  /// The same for every group.
  void set_length(std::size_t n) noexcept {
    for (std::size_t layer = 0; layer < layers_; ++layer) {
      for (std::size_t head = 0; head < kv_heads_; ++head) set_length(layer, head, n);
    }
  }

  /// Writes one token, [head_dim] each, behind a group's live slots. Precondition: there is room.
  void append(std::size_t layer, std::size_t head, const float* key, const float* value) noexcept {
    const std::size_t slot = length(layer, head);
    set_length(layer, head, slot + 1);
    std::copy_n(key, head_dim_, keys(layer, head) + slot * slot_stride());
    std::copy_n(value, head_dim_, values(layer, head) + slot * slot_stride());
  }

  /// Grows the capacity and keeps all live slots; a smaller capacity changes nothing.
  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    kv_cache larger(layers_, kv_heads_, head_dim_, capacity);
    for (std::size_t layer = 0; layer < layers_; ++layer) {
      for (std::size_t head = 0; head < kv_heads_; ++head) {
        const std::size_t live = length(layer, head) * slot_stride();
        std::copy_n(keys(layer, head), live, larger.keys(layer, head));
        std::copy_n(values(layer, head), live, larger.values(layer, head));
      }
    }
    keys_.swap(larger.keys_);
    values_.swap(larger.values_);
    capacity_ = capacity;
  }

  /// Grows where there is no room for `tokens` more in the longest group, by half at least.
  void make_room(std::size_t tokens) {
    const std::size_t needed = length() + tokens;
    if (needed > capacity_) reserve(std::max(needed, capacity_ * 3 / 2));
  }

  /// Forgets all tokens, but not the peaks.
  void clear() noexcept { set_length(0); }

  /// Bytes of one token in all groups together.
  std::size_t bytes_per_token() const noexcept { return layers_ * kv_heads_ * row_bytes(); }

  /// Bytes of all live slots now.
  std::size_t bytes() const noexcept { return rows_ * row_bytes(); }

  /// The most slots a group ever held, and the most bytes all groups ever held together, since
  /// construction or reset_peak().
  std::size_t peak_tokens() const noexcept { return peak_tokens_; }
  std::size_t peak_bytes() const noexcept { return peak_rows_ * row_bytes(); }
  void reset_peak() noexcept {
    peak_tokens_ = length();
    peak_rows_ = rows_;
  }

 private:
  std::size_t group(std::size_t layer, std::size_t head) const noexcept {
    assert(layer < layers_ && head < kv_heads_);
    return layer * kv_heads_ + head;
  }
  std::size_t offset(std::size_t layer, std::size_t head) const noexcept {
    return group(layer, head) * head_stride();
  }
  std::size_t row_bytes() const noexcept { return 2 * head_dim_ * sizeof(float); }

  std::size_t layers_;
  std::size_t kv_heads_;
  std::size_t head_dim_;
  std::size_t capacity_;
  std::size_t rows_ = 0;  // live slots of all groups together
  std::size_t peak_rows_ = 0;
  std::size_t peak_tokens_ = 0;
  std::vector<std::size_t> lengths_;
  std::vector<float> keys_;
  std::vector<float> values_;
};

}  // namespace mini
