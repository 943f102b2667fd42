// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "epikv/primitives/rows.hpp"

// Jobs on numbers that are in the library's own memory: f32, contiguous.

namespace epikv::inline v0 {

/// out[i] += weight * row[i], by fma.
struct accumulate_job {
  row_ref row{};
  std::int32_t width = 0;
  float weight = 1.0F;
  float* out = nullptr;
};

/// out[s] = the sum of `width` cells from cells[s * stride] on, ascending in double, over
/// `divisor`. A slot whose first cell is unscored gets the mark.
struct cell_sum_job {
  const float* cells = nullptr;
  std::int64_t stride = 1;
  std::int32_t width = 1;
  std::int32_t length = 0;
  double divisor = 1.0;
  float* out = nullptr;
};

/// out[i] = weight * softmax(in)[i], or with `add` out[i] + that, over `count` numbers. Unscored
/// ones stay out of the softmax; without `add` they get the mark, with it nothing is added. `out`
/// may be `in` without `add`.
struct softmax_job {
  const float* in = nullptr;
  std::int32_t count = 0;
  float weight = 1.0F;
  bool add = false;
  float* out = nullptr;
  std::byte* scratch = nullptr;  ///< of a selection of `count` slots
};

enum class pool_kind : std::uint8_t {
  none,
  average,  ///< what lies outside counts as 0, and in the divisor
  max,      ///< what lies outside does not count
};

/// out[s] = the pool of in[s - kernel/2, s - kernel/2 + kernel) within [0, length), in f32,
/// ascending; `out` is another array. Unscored numbers count as what lies outside, and stay.
struct pool_job {
  const float* in = nullptr;
  std::int32_t length = 0;
  std::int32_t kernel = 1;
  pool_kind kind = pool_kind::none;
  float* out = nullptr;
};

/// How numbers of different units are made comparable.
enum class scaling : std::uint8_t {
  none,
  standard,  ///< (x - mean) / (sample deviation + epsilon); 0 with fewer than two numbers
  min_max,   ///< (x - min) / (max - min + epsilon)
};

/// Joins two numbers per slot after each was scaled over the slots [first, length), in double:
/// out = weight_a * f(a) + weight_b * f(b), a left out where not given. Numbers that are not finite
/// stay out of what the scaling is made of. Slots before `first` get the mark of a token without a
/// number, as do slots where an input has it. `out` may be an input.
struct blend_job {
  const float* a = nullptr;  ///< may be null
  const float* b = nullptr;
  double weight_a = 1.0;
  double weight_b = 1.0;
  scaling scale = scaling::standard;
  double epsilon = 1e-6;
  std::int32_t first = 0;
  std::int32_t length = 0;
  float* out = nullptr;
};

/// x[s] = number where it is unscored.
struct replace_unscored_job {
  float* x = nullptr;
  std::int32_t length = 0;
  float number = 0.0F;
};

/// out[s] = a[s] * b[s]; unscored where either is.
struct product_job {
  const float* a = nullptr;
  const float* b = nullptr;
  std::int32_t length = 0;
  float* out = nullptr;
};

}  // namespace epikv::inline v0
