// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace mini {

/// Reads little-endian numbers from bytes and never past their end: what does not fit is not read,
/// and the answer is false. All lengths are compared with what is left, never added to a position,
/// so that a length of 2^64 - 1 is as harmless as any other that is too large.
class byte_reader {
 public:
  explicit byte_reader(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  std::size_t position() const noexcept { return position_; }
  std::size_t remaining() const noexcept { return bytes_.size() - position_; }

  /// Reads an integer or a floating-point number.
  template <class T>
  [[nodiscard]] bool read(T& out) noexcept {
    static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);
    using bits = unsigned_of<sizeof(T)>;
    if (remaining() < sizeof(T)) return false;
    bits value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      const auto byte = std::to_integer<bits>(bytes_[position_ + i]);
      value = static_cast<bits>(value | static_cast<bits>(byte << (8 * i)));
    }
    out = std::bit_cast<T>(value);
    position_ += sizeof(T);
    return true;
  }

  /// Takes the next `count` bytes.
  [[nodiscard]] bool take(std::uint64_t count, std::span<const std::byte>& out) noexcept {
    if (remaining() < count) return false;
    out = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += static_cast<std::size_t>(count);
    return true;
  }

  /// Reads a string: its length in 64 bits, then its bytes. The view points into the bytes read.
  [[nodiscard]] bool read(std::string_view& out) noexcept {
    std::uint64_t length = 0;
    std::span<const std::byte> text;
    if (!read(length) || !take(length, text)) return false;
    out = {reinterpret_cast<const char*>(text.data()), text.size()};
    return true;
  }

 private:
  template <std::size_t Size>
  using unsigned_of = std::conditional_t<
      Size == 1, std::uint8_t,
      std::conditional_t<Size == 2, std::uint16_t,
                         std::conditional_t<Size == 4, std::uint32_t, std::uint64_t>>>;

  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
};

/// The float32 that equals a float16 given by its bits; exact for every one of the 65,536 patterns.
[[nodiscard]] inline float half_to_float(std::uint16_t half) noexcept {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1Fu;
  const std::uint32_t fraction = half & 0x3FFu;
  if (exponent == 0) {  // zero and subnormal numbers: fraction * 2^-24
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  // Infinity and NaN keep an exponent of all ones; the others move from bias 15 to bias 127.
  const std::uint32_t wide = exponent == 0x1F ? 0xFFu : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

}  // namespace mini
