// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "epikv/cpu/eigen.hpp"
#include "epikv/detail/canonical.hpp"
#include "epikv/primitives.hpp"

// Rows of any supported dtype and stride, read in blocks of `lanes` floats.

namespace epikv::inline v0::cpu {

using block = Eigen::Array<float, detail::lanes, 1>;

template <class Scalar>
void load_as(const row_ref& row, std::int32_t begin, std::int32_t count, float* out) noexcept {
  using source = Eigen::Array<Scalar, Eigen::Dynamic, 1>;
  const auto* data = reinterpret_cast<const Scalar*>(row.data) + begin * row.stride;
  Eigen::Map<Eigen::ArrayXf> target{out, count};
  if (row.stride == 1) {
    target = Eigen::Map<const source>{data, count}.template cast<float>();
  } else {
    for (std::int32_t i = 0; i < count; ++i) out[i] = static_cast<float>(data[i * row.stride]);
  }
}

/// out[0, count) = row[begin, begin + count) as f32; exact for every dtype.
inline void load(const row_ref& row, std::int32_t begin, std::int32_t count, float* out) noexcept {
  switch (row.type) {
    case dtype::f32: return load_as<float>(row, begin, count, out);
    case dtype::f16: return load_as<Eigen::half>(row, begin, count, out);
    case dtype::bf16: return load_as<Eigen::bfloat16>(row, begin, count, out);
  }
}

/// Calls f(values, count) for the row cut into blocks of at most `lanes` floats.
template <class F>
void for_each_block(const row_ref& row, std::int32_t width, F&& f) noexcept {
  alignas(64) float values[detail::lanes];
  for (std::int32_t begin = 0; begin < width; begin += detail::lanes) {
    const std::int32_t count = std::min(detail::lanes, width - begin);
    load(row, begin, count, values);
    f(static_cast<const float*>(values), count);
  }
}

/// || a - b ||_2 by the canonical reduction.
inline float distance(const row_ref& a, const row_ref& b, std::int32_t width) noexcept {
  alignas(64) float x[detail::lanes];
  alignas(64) float y[detail::lanes];
  block squares = block::Zero();
  for (std::int32_t begin = 0; begin < width; begin += detail::lanes) {
    const std::int32_t count = std::min(detail::lanes, width - begin);
    load(a, begin, count, x);
    load(b, begin, count, y);
    for (std::int32_t j = 0; j < count; ++j) {
      const float change = x[j] - y[j];
      squares[j] = std::fma(change, change, squares[j]);
    }
  }
  return std::sqrt(detail::fold_lanes(squares.data(), width));
}

/// Sum of f(x) over the row by the canonical reduction; f returns the addend.
template <class F>
float reduce(const row_ref& row, std::int32_t width, F&& add) noexcept {
  block sums = block::Zero();
  for_each_block(row, width, [&](const float* values, std::int32_t count) noexcept {
    for (std::int32_t j = 0; j < count; ++j) sums[j] = add(sums[j], values[j]);
  });
  return detail::fold_lanes(sums.data(), width);
}

inline float sample_variance(const row_ref& row, std::int32_t width) noexcept {
  if (width < 2) return 0.0F;
  const float total = reduce(row, width, [](float sum, float x) noexcept { return sum + x; });
  const float mean = total / static_cast<float>(width);
  const float squares = reduce(row, width, [mean](float sum, float x) noexcept {
    const float centred = x - mean;
    return std::fma(centred, centred, sum);
  });
  return squares / static_cast<float>(width - 1);
}

inline float value_range(const row_ref& row, std::int32_t width) noexcept {
  float low = 0.0F;
  float high = 0.0F;
  bool first = true;
  bool nan = false;
  for_each_block(row, width, [&](const float* values, std::int32_t count) noexcept {
    for (std::int32_t j = 0; j < count; ++j) {
      nan = nan || values[j] != values[j];
      low = first || values[j] < low ? values[j] : low;
      high = first || values[j] > high ? values[j] : high;
      first = false;
    }
  });
  return nan ? std::bit_cast<float>(detail::canonical_nan_bits) : high - low;
}

inline float norm(const row_ref& row, std::int32_t width) noexcept {
  return std::sqrt(
      reduce(row, width, [](float sum, float x) noexcept { return std::fma(x, x, sum); }));
}

inline float statistic(row_statistic kind, const row_ref& row, std::int32_t width) noexcept {
  switch (kind) {
    case row_statistic::variance: return sample_variance(row, width);
    case row_statistic::range: return value_range(row, width);
    case row_statistic::norm: return norm(row, width);
    case row_statistic::l1:
      return reduce(row, width, [](float sum, float x) noexcept { return sum + std::fabs(x); });
  }
  return 0.0F;
}

}  // namespace epikv::inline v0::cpu
