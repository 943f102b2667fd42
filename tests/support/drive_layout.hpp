// SPDX-License-Identifier: MIT
#pragma once

// How a host may lay out the rows it shows: element type, strides, offsets.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "epikv/tensor_view.hpp"

namespace drive {

struct layout {
  epikv::dtype type = epikv::dtype::f32;
  int element_stride = 1;  // elements from one channel to the next
  int head_padding = 0;    // elements between the heads of a row
  int row_padding = 0;     // elements between rows
  int byte_offset = 0;     // in elements of the type
  bool upwards = false;    // rows run towards lower addresses: a negative stride
};

// An f32 that f16 can hold as its 16 bits, by the definition of the format.
inline std::uint16_t half_bits(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  if (std::isnan(x)) return static_cast<std::uint16_t>(sign | 0x7e00U);
  if (std::isinf(x)) return static_cast<std::uint16_t>(sign | 0x7c00U);
  if (x == 0.0F) return sign;
  const std::uint32_t exponent = (bits >> 23) & 0xffU;  // normal in both formats
  const std::uint32_t half = ((exponent - 112U) << 10) | ((bits >> 13) & 0x3ffU);
  return static_cast<std::uint16_t>(sign | half);
}
inline std::uint16_t bfloat_bits(float x) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16);
}

// Rows of numbers in memory as a layout says, and the view of them. Gaps hold NaN.
class laid_out {
 public:
  laid_out() = default;
  // `heads` = 0: a [rows, width] tensor; else [rows, heads, width / heads].
  laid_out(const std::vector<std::vector<float>>& rows, int heads, int width, const layout& how)
      : how_{how}, rows_{static_cast<int>(rows.size())}, heads_{heads}, width_{width} {
    const int parts = heads == 0 ? 1 : heads;
    head_stride_ = width / parts * how.element_stride + how.head_padding;
    row_stride_ = parts * head_stride_ + how.row_padding;
    const int elements = rows_ * row_stride_ + how.byte_offset + 1;
    bytes_.resize(static_cast<std::size_t>(elements * size()), std::byte{0xff});
    for (int r = 0; r < rows_; ++r) {
      const std::vector<float>& source = rows[static_cast<std::size_t>(r)];
      for (int i = 0; i < width; ++i) {
        const int head = i / (width / parts);
        const int channel = i % (width / parts);
        put(address_of(r) + head * head_stride_ + channel * how.element_stride,
            source[static_cast<std::size_t>(i)]);
      }
    }
  }

  [[nodiscard]] epikv::tensor_view view() const {
    const std::int64_t row_stride = how_.upwards ? -row_stride_ : row_stride_;
    const std::int64_t offset = std::int64_t{address_of(0)} * size();
    if (heads_ == 0) {
      return {bytes_.data(), how_.type, {rows_, width_}, {row_stride, how_.element_stride}, {},
              offset};
    }
    return {bytes_.data(),
            how_.type,
            {rows_, heads_, width_ / heads_},
            {row_stride, head_stride_, how_.element_stride},
            {},
            offset};
  }

 private:
  [[nodiscard]] int size() const { return how_.type == epikv::dtype::f32 ? 4 : 2; }
  // Element where a row begins.
  [[nodiscard]] int address_of(int row) const {
    return how_.byte_offset + (how_.upwards ? rows_ - 1 - row : row) * row_stride_;
  }
  void put(int element, float x) {
    std::byte* const to = bytes_.data() + element * size();
    if (how_.type == epikv::dtype::f32) {
      std::memcpy(to, &x, sizeof x);
      return;
    }
    const std::uint16_t bits = how_.type == epikv::dtype::f16 ? half_bits(x) : bfloat_bits(x);
    std::memcpy(to, &bits, sizeof bits);
  }

  layout how_;
  int rows_ = 0;
  int heads_ = 0;
  int width_ = 0;
  int head_stride_ = 0;
  int row_stride_ = 0;
  std::vector<std::byte> bytes_;
};

}  // namespace drive
