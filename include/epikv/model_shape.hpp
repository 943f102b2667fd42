// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "epikv/index.hpp"
#include "epikv/status.hpp"

namespace epikv::inline v0 {

/// The sizes of a decoder that scores and policies need to know.
struct model_shape {
  std::int32_t layers = 0;       ///< transformer blocks
  std::int32_t query_heads = 0;  ///< query heads per layer
  std::int32_t kv_heads = 0;     ///< key/value heads per layer; divides query_heads (GQA)
  std::int32_t head_dim = 0;     ///< channels of one head
  std::int32_t hidden = 0;       ///< channels of the residual stream

  friend constexpr bool operator==(const model_shape&, const model_shape&) = default;

  /// The largest extent accepted, so that group counts and offsets stay far from overflow.
  static constexpr std::int32_t max_extent = 1 << 20;

  /// Ok when every size is in [1, max_extent], the products layers x KV heads (groups) and query
  /// heads x head_dim (channels of a row) too, and the KV heads divide the query heads.
  [[nodiscard]] status check() const noexcept {
    const auto extent = [](const char* name, std::int32_t value) noexcept -> status {
      if (value >= 1 && value <= max_extent) return {};
      return {errc::invalid_argument, name, detail::short_text{value}, "1 to 1048576"};
    };
    EPIKV_RETURN_IF_ERROR(extent("shape.layers", layers));
    EPIKV_RETURN_IF_ERROR(extent("shape.query_heads", query_heads));
    EPIKV_RETURN_IF_ERROR(extent("shape.kv_heads", kv_heads));
    EPIKV_RETURN_IF_ERROR(extent("shape.head_dim", head_dim));
    EPIKV_RETURN_IF_ERROR(extent("shape.hidden", hidden));
    if (query_heads % kv_heads != 0) {
      return {errc::invalid_argument, "shape.query_heads", detail::short_text{query_heads},
              detail::short_text{"a multiple of the ", kv_heads, " KV heads"}};
    }
    if (std::int64_t{query_heads} * head_dim > max_extent) {
      return {errc::invalid_argument, "shape",
              detail::short_text{query_heads, " query heads x ", head_dim},
              "at most 1048576 query heads times head_dim"};
    }
    if (std::int64_t{layers} * kv_heads > max_extent) {
      return {errc::invalid_argument, "shape", detail::short_text{layers, " x ", kv_heads},
              "at most 1048576 layers times KV heads"};
    }
    return {};
  }

  /// Keep-sets of one sequence at granularity `g`.
  [[nodiscard]] constexpr std::int32_t groups(granularity g) const noexcept {
    switch (g) {
      case granularity::sequence: return 1;
      case granularity::layer: return layers;
      case granularity::kv_head: return layers * kv_heads;
    }
    return 1;
  }

  /// Layer and KV head of group `index`; groups run over layers, then KV heads.
  [[nodiscard]] constexpr group_key key_of(granularity g, std::int32_t index) const noexcept {
    switch (g) {
      case granularity::sequence: return {};
      case granularity::layer: return {index, -1};
      case granularity::kv_head: return {index / kv_heads, index % kv_heads};
    }
    return {};
  }

  /// The group that decides for (layer, KV head).
  [[nodiscard]] constexpr std::int32_t group_of(granularity g, std::int32_t layer,
                                                std::int32_t kv_head) const noexcept {
    switch (g) {
      case granularity::sequence: return 0;
      case granularity::layer: return layer;
      case granularity::kv_head: return layer * kv_heads + kv_head;
    }
    return 0;
  }
};

/// What a score works with: the model's sizes and what shares a keep-set. A group of keep-sets
/// spans `members()` pairs of layer and KV head.
struct cache_shape : model_shape {
  granularity keep_sets = granularity::sequence;

  [[nodiscard]] constexpr std::int32_t groups() const noexcept {
    return model_shape::groups(keep_sets);
  }
  [[nodiscard]] constexpr std::int32_t members() const noexcept {
    return layers * kv_heads / groups();
  }
  /// The group that decides for (layer, KV head), and which of its members that pair is.
  [[nodiscard]] constexpr std::int32_t group_of(std::int32_t layer,
                                                std::int32_t kv_head) const noexcept {
    return model_shape::group_of(keep_sets, layer, kv_head);
  }
  [[nodiscard]] constexpr std::int32_t member_of(std::int32_t layer,
                                                 std::int32_t kv_head) const noexcept {
    return (layer * kv_heads + kv_head) % members();
  }
};

}  // namespace epikv::inline v0
