// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "epikv/backend.hpp"
#include "epikv/selection.hpp"
#include "epikv/status.hpp"

namespace epikv::inline v0 {

/// A contiguous K or V cache of one sequence, as the host lays it out: opaque rows, one per layer,
/// KV head and slot. Slots ascend in memory; layers and heads may lie in any order, inside or
/// outside of the slots, as long as no two rows overlap. A host whose row holds all heads of a slot
/// says kv_heads = 1; it can then keep one set per sequence or per layer, not per head.
struct contiguous_cache {
  void* data = nullptr;
  std::int64_t row_bytes = 0;     ///< bytes of one row
  std::int64_t slot_stride = 0;   ///< bytes between neighbouring slots
  std::int64_t head_stride = 0;   ///< bytes between neighbouring KV heads
  std::int64_t layer_stride = 0;  ///< bytes between neighbouring layers
  std::int32_t layers = 0;
  std::int32_t kv_heads = 0;  ///< KV heads with rows of their own; 1 if a row holds them all
  std::int32_t slots = 0;     ///< room in slots
};

namespace detail {

// No two rows overlap: sorted by stride, each axis steps over all that the axes below it span.
inline status check_strides(const contiguous_cache& cache) noexcept {
  struct axis {
    const char* name;
    std::int64_t stride;
    std::int32_t extent;
  };
  const auto length = [](const axis& a) noexcept { return a.stride < 0 ? -a.stride : a.stride; };
  std::array axes{axis{"cache.slot_stride", cache.slot_stride, cache.slots},
                  axis{"cache.head_stride", cache.head_stride, cache.kv_heads},
                  axis{"cache.layer_stride", cache.layer_stride, cache.layers}};
  std::sort(axes.begin(), axes.end(),
            [&](const axis& x, const axis& y) { return length(x) < length(y); });
  std::int64_t span = cache.row_bytes;
  constexpr std::int64_t most = std::int64_t{1} << 61;
  for (const axis& each : axes) {
    if (each.extent <= 1) continue;
    if (length(each) < span || length(each) > most / each.extent) {
      return {errc::wrong_stride, each.name, short_text{each.stride, " bytes"},
              short_text{"at least the ", span, " bytes that it steps over"}};
    }
    span += length(each) * (each.extent - 1);
  }
  return {};
}

inline status check_cache(const contiguous_cache& cache,
                          const sequence_selection& chosen) noexcept {
  const model_shape& shape = chosen.shape();
  if (cache.data == nullptr) {
    return {errc::invalid_argument, "cache.data", "null", "the address of the first row"};
  }
  if (cache.row_bytes < 1 || cache.slot_stride < cache.row_bytes) {
    return {errc::wrong_stride, "cache.slot_stride",
            short_text{cache.slot_stride, " bytes for rows of ", cache.row_bytes},
            "rows of 1 byte or more that do not overlap"};
  }
  if (cache.layers != shape.layers) {
    return {errc::wrong_shape, "cache.layers", short_text{cache.layers},
            short_text{shape.layers, ", as the model has"}};
  }
  const bool merged = cache.kv_heads == 1 && chosen.keep_sets() != granularity::kv_head;
  if (cache.kv_heads != shape.kv_heads && !merged) {
    return {errc::wrong_shape, "cache.kv_heads", short_text{cache.kv_heads},
            short_text{shape.kv_heads,
                       ", as the model has; 1 if rows hold all heads and no keep-set is per head"}};
  }
  EPIKV_RETURN_IF_ERROR(check_strides(cache));
  for (const group_selection& group : chosen.groups()) {
    if (group.length_before() > cache.slots) {
      return {errc::wrong_shape, "cache.slots", short_text{cache.slots},
              short_text{"at least the ", group.length_before(), " slots in use"}};
    }
  }
  return {};
}

}  // namespace detail

/// Moves the kept rows of every layer and KV head to the front, in place, ascending; each head by
/// its own keep-set. Call it for K and for V, then commit. Allocates nothing. Errors, before any
/// row has moved: invalid_argument, wrong_shape, wrong_stride. O(bytes moved).
template <Backend B>
[[nodiscard]] status compact(B& backend, const contiguous_cache& cache,
                             const sequence_selection& chosen) noexcept {
  EPIKV_RETURN_IF_ERROR(detail::check_cache(cache, chosen));
  for (std::int32_t layer = 0; layer < cache.layers; ++layer) {
    for (std::int32_t head = 0; head < cache.kv_heads; ++head) {
      const group_selection& group = chosen.group(layer, head);
      if (group.evicted().empty()) continue;
      std::byte* const rows = static_cast<std::byte*>(cache.data) + layer * cache.layer_stride +
                              head * cache.head_stride;
      backend.run(compact_job{{rows, cache.row_bytes, cache.slot_stride}, group.kept()});
    }
  }
  return {};
}

}  // namespace epikv::inline v0
