// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "epikv/model_shape.hpp"

namespace epikv::inline v0::detail {

// What one layer means to one keep-set: which KV heads of it the set holds.
struct layer_part {
  std::int32_t group = 0;
  std::int32_t first_head = 0;  // KV head
  std::int32_t heads = 0;
};

// Calls f(layer_part) for every keep-set that holds KV heads of `layer`.
template <class F>
void for_each_part(const cache_shape& shape, std::int32_t layer, F&& f) noexcept {
  if (shape.keep_sets != granularity::kv_head) {
    f(layer_part{shape.group_of(layer, 0), 0, shape.kv_heads});
    return;
  }
  for (std::int32_t head = 0; head < shape.kv_heads; ++head) {
    f(layer_part{shape.group_of(layer, head), head, 1});
  }
}

// Calls f(layer, first KV head, KV heads) for every layer that keep-set `group` holds.
template <class F>
void for_each_layer_of(const cache_shape& shape, std::int32_t group, F&& f) noexcept {
  switch (shape.keep_sets) {
    case granularity::sequence:
      for (std::int32_t layer = 0; layer < shape.layers; ++layer) f(layer, 0, shape.kv_heads);
      return;
    case granularity::layer: f(group, 0, shape.kv_heads); return;
    case granularity::kv_head: f(group / shape.kv_heads, group % shape.kv_heads, 1); return;
  }
}

}  // namespace epikv::inline v0::detail
