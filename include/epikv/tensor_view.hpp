// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include "epikv/status.hpp"

namespace epikv::inline v0 {

/// Element types that signals may have. All are widened to f32 exactly.
enum class dtype : std::uint8_t { f32, f16, bf16 };

constexpr const char* to_string(dtype t) noexcept {
  switch (t) {
    case dtype::f32: return "f32";
    case dtype::f16: return "f16";
    case dtype::bf16: return "bf16";
  }
  return "unknown";
}

/// Bytes of one element.
constexpr std::int64_t size_of(dtype t) noexcept { return t == dtype::f32 ? 4 : 2; }

/// Where memory lives. The numbers are DLPack's.
enum class device_kind : std::int32_t { cpu = 1, cuda = 2, cuda_host = 3, cuda_managed = 13 };

/// A device: its kind and, where there are several, its index.
struct device {
  device_kind kind = device_kind::cpu;
  std::int32_t index = 0;
  friend constexpr bool operator==(const device&, const device&) = default;
};

/// A read-only view of up to four dimensions of someone else's memory: pointer, byte offset, dtype,
/// extents, strides in elements, device. Owns nothing and checks nothing until it is used; any
/// strides are allowed, rows need not be contiguous. A default-constructed view stands for
/// "not given".
class tensor_view {
 public:
  static constexpr int max_rank = 4;
  using extents = std::array<std::int64_t, max_rank>;

  /// Not given.
  // Field by field: arrays that are cleared as a whole stay in memory (see EPIKV_ALWAYS_INLINE).
  EPIKV_ALWAYS_INLINE constexpr tensor_view() noexcept {
    shape_[0] = shape_[1] = shape_[2] = shape_[3] = 0;
    strides_[0] = strides_[1] = strides_[2] = strides_[3] = 0;
  }

  /// A view of `shape` over `data` with row-major strides.
  EPIKV_ALWAYS_INLINE tensor_view(const void* data, dtype type,
                                  std::initializer_list<std::int64_t> shape, device where = {},
                                  std::int64_t byte_offset = 0) noexcept
      : tensor_view{data, type, shape, {}, where, byte_offset} {}

  /// A view of `shape` with `strides` in elements; empty strides mean row-major. A rank over
  /// `max_rank` or strides of another rank are kept as an invalid rank that every use refuses.
  EPIKV_ALWAYS_INLINE tensor_view(const void* data, dtype type,
                                  std::initializer_list<std::int64_t> shape,
                                  std::initializer_list<std::int64_t> strides, device where = {},
                                  std::int64_t byte_offset = 0) noexcept
      : tensor_view{data,
                    type,
                    static_cast<int>(shape.size()),
                    shape.begin(),
                    strides.size() == shape.size() ? strides.begin() : nullptr,
                    where,
                    byte_offset} {
    if (strides.size() != 0 && strides.size() != shape.size()) rank_ = invalid_rank;
  }

  /// The form for extents known only at run time: `rank` extents, `rank` strides or null.
  EPIKV_ALWAYS_INLINE tensor_view(const void* data, dtype type, int rank, const std::int64_t* shape,
                                  const std::int64_t* strides, device where = {},
                                  std::int64_t byte_offset = 0) noexcept
      : data_{data}, byte_offset_{byte_offset}, device_{where}, dtype_{type} {
    const bool valid = rank >= 0 && rank <= max_rank;
    const bool strided = valid && strides != nullptr;
    rank_ = valid ? static_cast<std::int8_t>(rank) : invalid_rank;
    // Axis by axis: a loop would keep the arrays in memory (see EPIKV_ALWAYS_INLINE). An axis
    // beyond the rank has one element.
    shape_[0] = valid && rank > 0 ? shape[0] : 1;
    shape_[1] = valid && rank > 1 ? shape[1] : 1;
    shape_[2] = valid && rank > 2 ? shape[2] : 1;
    shape_[3] = valid && rank > 3 ? shape[3] : 1;
    strides_[3] = strided && rank > 3 ? strides[3] : 1;
    strides_[2] = strided && rank > 2 ? strides[2] : span_of(3);
    strides_[1] = strided && rank > 1 ? strides[1] : span_of(2);
    strides_[0] = strided && rank > 0 ? strides[0] : span_of(1);
  }

  /// Floats on the CPU, row-major.
  EPIKV_ALWAYS_INLINE tensor_view(const float* data,
                                  std::initializer_list<std::int64_t> shape) noexcept
      : tensor_view{data, dtype::f32, shape} {}

  /// False for a default-constructed view. A view of no rows is given, whatever its address.
  [[nodiscard]] bool given() const noexcept { return data_ != nullptr || rank_ != 0; }
  [[nodiscard]] const void* data() const noexcept { return data_; }
  /// Address of element 0: data plus byte offset.
  [[nodiscard]] const std::byte* origin() const noexcept {
    return static_cast<const std::byte*>(data_) + byte_offset_;
  }
  [[nodiscard]] std::int64_t byte_offset() const noexcept { return byte_offset_; }
  [[nodiscard]] dtype type() const noexcept { return dtype_; }
  [[nodiscard]] epikv::device device() const noexcept { return device_; }
  /// Number of dimensions, or -1 for a view built with a rank that cannot be.
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] std::int64_t extent(int axis) const noexcept {
    return shape_[static_cast<std::size_t>(axis)];
  }
  /// Distance in elements between neighbours along `axis`.
  [[nodiscard]] std::int64_t stride(int axis) const noexcept {
    return strides_[static_cast<std::size_t>(axis)];
  }

 private:
  static constexpr std::int8_t invalid_rank = -1;

  // Elements from one entry of the axis before `axis` to the next in row-major order. Wraps for
  // extents that no memory has, which the checks refuse.
  [[nodiscard]] EPIKV_ALWAYS_INLINE std::int64_t span_of(std::size_t axis) const noexcept {
    const std::int64_t extent = shape_[axis] > 0 ? shape_[axis] : 1;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(extent) *
                                     static_cast<std::uint64_t>(strides_[axis]));
  }

  const void* data_ = nullptr;
  std::int64_t byte_offset_ = 0;
  extents shape_;
  extents strides_;
  epikv::device device_{};
  dtype dtype_ = dtype::f32;
  std::int8_t rank_ = 0;
};

namespace detail {

inline short_text shape_text(const tensor_view& view) noexcept {
  short_text out{"["};
  for (int axis = 0; axis < view.rank(); ++axis) {
    if (axis > 0) out.append(", ");
    out.append(view.extent(axis));
  }
  out.append("]");
  return out;
}

// Ok when `view` can be addressed: a rank, natural alignment, no zero stride over several elements
// (every row would be the same memory) and byte offsets that fit 64 bits.
inline status check_addressing(const char* name, const tensor_view& view) noexcept {
  if (view.rank() < 0) {
    return {errc::wrong_shape, name, "a rank that does not fit",
            "1 to 4 dimensions, as many strides as extents"};
  }
  if (view.type() != dtype::f32 && view.type() != dtype::f16 && view.type() != dtype::bf16) {
    return {errc::wrong_dtype, name, short_text{"dtype code ", static_cast<int>(view.type())},
            "f32, f16 or bf16"};
  }
  if (view.byte_offset() < 0) {
    return {errc::wrong_stride, name, short_text{"byte offset ", view.byte_offset()}, "0 or more"};
  }
  bool empty = false;
  for (int axis = 0; axis < view.rank(); ++axis) empty = empty || view.extent(axis) == 0;
  if (view.data() == nullptr && !empty) {
    return {errc::invalid_argument, name, "a null address", "the address of the first row"};
  }
  const auto address = reinterpret_cast<std::uintptr_t>(view.origin());
  if (address % static_cast<std::uintptr_t>(size_of(view.type())) != 0) {
    return {
        errc::wrong_stride, name, "a misaligned first element",
        short_text{"a multiple of ", size_of(view.type()), " bytes for ", to_string(view.type())}};
  }
  constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max() / 64;
  for (int axis = 0; axis < view.rank(); ++axis) {
    const std::int64_t extent = view.extent(axis);
    const std::int64_t stride = view.stride(axis);
    if (extent < 0) {
      return {errc::wrong_shape, name, shape_text(view), "extents of 0 or more"};
    }
    if (extent > 1 && stride == 0) {
      return {errc::wrong_stride, name, short_text{"stride 0 over extent ", extent},
              "distinct rows"};
    }
    if (extent > 1 && (stride > far / extent || stride < -(far / extent))) {
      return {errc::wrong_stride, name, short_text{"stride ", stride, " over extent ", extent},
              "offsets that fit 64 bits"};
    }
  }
  return {};
}

}  // namespace detail
}  // namespace epikv::inline v0
