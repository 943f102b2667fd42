// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "epikv/tensor_view.hpp"

// Jobs on the rows a host shows: their differences, copies and statistics, and what rolls over
// them.

namespace epikv::inline v0 {

/// One row of elements in a signal: where it starts, what it holds, how far apart its elements are.
struct row_ref {
  const std::byte* data = nullptr;
  dtype type = dtype::f32;
  std::int64_t stride = 1;  ///< elements between neighbours
};

/// Row `row` of a [rows, width] view.
inline row_ref row_of(const tensor_view& view, std::int64_t row) noexcept {
  return {view.origin() + row * view.stride(0) * size_of(view.type()), view.type(), view.stride(1)};
}

/// Row (`row`, `head`) of a [rows, heads, width] view.
inline row_ref row_of(const tensor_view& view, std::int64_t row, std::int64_t head) noexcept {
  return {view.origin() + (row * view.stride(0) + head * view.stride(1)) * size_of(view.type()),
          view.type(), view.stride(2)};
}

/// sum += || a - b ||_2 over `width` elements, by the canonical reduction in f32.
struct distance_job {
  row_ref a{};
  row_ref b{};
  std::int32_t width = 0;
  double* sum = nullptr;
};

/// out[i] = row[i], widened to f32.
struct store_job {
  row_ref row{};
  std::int32_t width = 0;
  float* out = nullptr;
};

/// A number of one row over its channels.
enum class row_statistic : std::uint8_t {
  variance,  ///< sample variance (divides by width - 1; 0 for one channel)
  range,     ///< max - min
  norm,      ///< L2 norm
  l1,        ///< L1 norm
};

/// sum += the statistic of `heads` heads from `first_head` of row `row` of a [rows, heads, width]
/// view, heads ascending.
struct statistic_job {
  const tensor_view* view = nullptr;
  std::int64_t row = 0;
  std::int32_t first_head = 0;
  std::int32_t heads = 0;
  row_statistic statistic = row_statistic::variance;
  double* sum = nullptr;
};

/// A ring of the last `window` values in time order. `header` = {count, next}, in backend memory.
struct rolling_window {
  double* ring = nullptr;
  std::int32_t* header = nullptr;
  std::int32_t window = 0;
};

/// What a rolling score makes of its window.
enum class rolling_form : std::uint8_t {
  z,     ///< (newest - mean) / (population deviation + 1e-6); 0 with fewer than two values
  mean,  ///< mean of the window
};

/// Pushes value = *sum / divisor into each window and writes
/// out = weight_a * f(a) - weight_b * f(b), f by `form`. A window without a ring counts as 0. A
/// value that is not finite is not pushed (one bad row must not poison the next `window` tokens)
/// and makes the score NaN. Where asked for, f(a) and f(b) themselves are written as well.
struct rolling_job {
  rolling_window a{};
  rolling_window b{};
  const double* sum_a = nullptr;
  const double* sum_b = nullptr;
  double divisor_a = 1.0;
  double divisor_b = 1.0;
  double weight_a = 1.0;
  double weight_b = 1.0;
  rolling_form form = rolling_form::z;
  float* out = nullptr;
  float* out_a = nullptr;  ///< null: not asked for
  float* out_b = nullptr;
};

/// out = *sum / divisor as f32.
struct mean_job {
  const double* sum = nullptr;
  double divisor = 1.0;
  float* out = nullptr;
};

/// count floats become the mark of a token without a number.
struct unscored_job {
  float* out = nullptr;
  std::size_t count = 0;
};

}  // namespace epikv::inline v0
