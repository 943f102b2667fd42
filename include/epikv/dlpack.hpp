// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>

#include "epikv/tensor_view.hpp"

namespace epikv::inline v0 {

/// Anything with the field names of DLPack's DLTensor. The header dlpack.h itself is not needed.
template <class T>
concept DlpackTensor = requires(const T& t) {
  { t.data } -> std::convertible_to<const void*>;
  { t.ndim } -> std::convertible_to<std::int64_t>;
  { t.shape[0] } -> std::convertible_to<std::int64_t>;
  { t.strides[0] } -> std::convertible_to<std::int64_t>;
  { t.byte_offset } -> std::convertible_to<std::uint64_t>;
  t.dtype.code;
  t.dtype.bits;
  t.dtype.lanes;
  t.device.device_type;
  t.device.device_id;
};

/// Anything that wraps such a tensor as DLManagedTensor does, in a field `dl_tensor`.
template <class T>
concept DlpackManagedTensor =
    requires(const T& t) { requires DlpackTensor<decltype(t.dl_tensor)>; };

/// A view of a DLPack tensor, copied field by field; null strides mean row-major. The tensor must
/// outlive the view. Errors: wrong_dtype for anything but 32-bit float, 16-bit float and bfloat of
/// one lane; wrong_device for a device EpiKV has no name for; wrong_shape for more than four
/// dimensions; invalid_argument for null data. O(rank), allocates nothing, thread-safe.
template <DlpackTensor T>
[[nodiscard]] result<tensor_view> from_dlpack(const T& t) noexcept {
  constexpr int code_float = 2;
  constexpr int code_bfloat = 4;
  const int code = static_cast<int>(t.dtype.code);
  const int bits = static_cast<int>(t.dtype.bits);
  const int lanes = static_cast<int>(t.dtype.lanes);
  dtype type = dtype::f32;
  if (code == code_float && bits == 32 && lanes == 1) {
    type = dtype::f32;
  } else if (code == code_float && bits == 16 && lanes == 1) {
    type = dtype::f16;
  } else if (code == code_bfloat && bits == 16 && lanes == 1) {
    type = dtype::bf16;
  } else {
    return status{errc::wrong_dtype, "dtype",
                  detail::short_text{"code ", code, ", ", bits, " bits, ", lanes, " lanes"},
                  "f32 (2, 32, 1), f16 (2, 16, 1) or bf16 (4, 16, 1)"};
  }
  const int kind = static_cast<int>(t.device.device_type);
  if (kind != static_cast<int>(device_kind::cpu) && kind != static_cast<int>(device_kind::cuda) &&
      kind != static_cast<int>(device_kind::cuda_host) &&
      kind != static_cast<int>(device_kind::cuda_managed)) {
    return status{errc::wrong_device, "device.device_type", detail::short_text{kind},
                  "1 (CPU), 2 (CUDA), 3 (CUDA host) or 13 (CUDA managed)"};
  }
  const auto rank = static_cast<std::int64_t>(t.ndim);
  if (rank < 0 || rank > tensor_view::max_rank) {
    return status{errc::wrong_shape, "ndim", detail::short_text{rank}, "0 to 4"};
  }
  if (rank > 0 && t.shape == nullptr) {
    return status{errc::invalid_argument, "shape", "null", "the extents of all axes"};
  }
  if (static_cast<const void*>(t.data) == nullptr) {
    return status{errc::invalid_argument, "data", "null", "the address of the first element"};
  }
  std::int64_t shape[tensor_view::max_rank] = {};
  std::int64_t strides[tensor_view::max_rank] = {};
  const bool strided = t.strides != nullptr;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    shape[axis] = static_cast<std::int64_t>(t.shape[axis]);
    if (strided) strides[axis] = static_cast<std::int64_t>(t.strides[axis]);
  }
  return tensor_view{
      static_cast<const void*>(t.data),
      type,
      static_cast<int>(rank),
      shape,
      strided ? strides : nullptr,
      device{static_cast<device_kind>(kind), static_cast<std::int32_t>(t.device.device_id)},
      static_cast<std::int64_t>(t.byte_offset)};
}

/// The same for a managed tensor; its deleter is not touched.
template <DlpackManagedTensor T>
[[nodiscard]] result<tensor_view> from_dlpack(const T& managed) noexcept {
  return from_dlpack(managed.dl_tensor);
}

}  // namespace epikv::inline v0
