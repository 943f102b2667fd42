// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "epikv/index.hpp"
#include "epikv/tensor_view.hpp"

// Jobs on post-softmax attention rows.

namespace epikv::inline v0 {

/// How the query heads that share a KV head become one number.
enum class head_reduction : std::uint8_t {
  mean,
  sum,
  max,
};

/// Takes one query's attention row into cells that lie `stride` floats apart: cell[s] = r(s), or
/// with `add` cell[s] + r(s), for s in [0, count), where r(s) is `weight` times the reduction of
/// row `row` of a [rows, heads, slots] view over `heads` heads from `first_head`, ascending, in
/// f32. O(heads * count).
struct attention_job {
  const tensor_view* view = nullptr;
  std::int64_t row = 0;
  std::int32_t first_head = 0;
  std::int32_t heads = 0;
  head_reduction reduction = head_reduction::mean;
  float weight = 1.0F;
  std::int32_t count = 0;
  bool add = false;
  float* cells = nullptr;
  std::int64_t stride = 1;
};

/// Divides x[s] by the number of queries from position `first_query` to `end` - 1 that could see
/// the slot, itself included: end - max(position, first_query); at least 1.
struct age_job {
  const position* positions = nullptr;
  std::int32_t length = 0;
  std::int32_t first_query = 0;
  std::int32_t end = 0;
  float* x = nullptr;
};

/// Writes `stamp` to the `count` slots with the largest numbers among x[0, length), ties by the
/// newer. `scratch` as for a selection of `length` slots.
struct stamp_job {
  const float* x = nullptr;
  std::int32_t length = 0;
  std::int32_t count = 0;
  float stamp = 0.0F;
  float* out = nullptr;
  std::byte* scratch = nullptr;
};

}  // namespace epikv::inline v0
