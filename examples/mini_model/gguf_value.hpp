// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "byte_reader.hpp"
#include "result.hpp"

namespace mini {

/// The type of a metadata value; the numbers are those of the file format.
enum class gguf_type : std::uint32_t {
  u8 = 0,
  i8 = 1,
  u16 = 2,
  i16 = 3,
  u32 = 4,
  i32 = 5,
  f32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  u64 = 10,
  i64 = 11,
  f64 = 12
};

/// A metadata value that is not an array, widened to the largest type of its kind.
using gguf_scalar = std::variant<std::uint64_t, std::int64_t, double, bool, std::string_view>;

/// A metadata value. An array keeps its encoded bytes and is decoded when asked for, so that no
/// count in the file decides how much memory the reader takes.
struct gguf_value {
  gguf_type type = gguf_type::u8;
  gguf_scalar scalar;                 // unless type is array
  gguf_type element = gguf_type::u8;  // of an array
  std::uint64_t count = 0;            // of an array
  std::span<const std::byte> bytes;   // of an array
};

/// Reads one value that is not an array; false when it is truncated or malformed.
inline bool read_scalar(byte_reader& in, gguf_type type, gguf_scalar& out) noexcept {
  const auto number = [&]<class Stored, class Wide>(Stored stored, Wide) {
    if (!in.read(stored)) return false;
    out = static_cast<Wide>(stored);
    return true;
  };
  switch (type) {
    case gguf_type::u8: return number(std::uint8_t{}, std::uint64_t{});
    case gguf_type::u16: return number(std::uint16_t{}, std::uint64_t{});
    case gguf_type::u32: return number(std::uint32_t{}, std::uint64_t{});
    case gguf_type::u64: return number(std::uint64_t{}, std::uint64_t{});
    case gguf_type::i8: return number(std::int8_t{}, std::int64_t{});
    case gguf_type::i16: return number(std::int16_t{}, std::int64_t{});
    case gguf_type::i32: return number(std::int32_t{}, std::int64_t{});
    case gguf_type::i64: return number(std::int64_t{}, std::int64_t{});
    case gguf_type::f32: return number(float{}, double{});
    case gguf_type::f64: return number(double{}, double{});
    case gguf_type::boolean: {
      std::uint8_t stored = 0;
      if (!in.read(stored) || stored > 1) return false;
      out = stored == 1;
      return true;
    }
    case gguf_type::string: {
      std::string_view text;
      if (!in.read(text)) return false;
      out = text;
      return true;
    }
    case gguf_type::array: break;
  }
  return false;
}

/// Walks over an array and notes where its bytes are; false when it is truncated or malformed.
/// Every element takes at least one byte, so the walk ends with the file however large the count.
inline bool read_array(byte_reader& in, gguf_value& out, int depth = 0) noexcept {
  constexpr int deepest = 4;  // arrays of arrays are legal, but recursion must end
  std::uint32_t element = 0;
  if (depth == deepest || !in.read(element) || !in.read(out.count)) return false;
  if (element > static_cast<std::uint32_t>(gguf_type::f64)) return false;
  out.element = static_cast<gguf_type>(element);
  byte_reader start = in;
  for (std::uint64_t i = 0; i < out.count; ++i) {
    gguf_value nested;
    const bool complete = out.element == gguf_type::array
                              ? read_array(in, nested, depth + 1)
                              : read_scalar(in, out.element, nested.scalar);
    if (!complete) return false;
  }
  return start.take(in.position() - start.position(), out.bytes);
}

/// The value as T: std::uint64_t, std::int64_t, double (from any number), bool or std::string_view.
template <class T>
expected<T> convert_scalar(std::string_view key, const gguf_scalar& scalar) {
  const auto from = [key](auto held) -> expected<T> {
    using held_type = decltype(held);
    constexpr bool to_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;
    constexpr bool from_integer = std::is_integral_v<held_type> && !std::is_same_v<held_type, bool>;
    if constexpr (std::is_same_v<held_type, T>) {
      return held;
    } else if constexpr (std::is_same_v<T, double> && from_integer) {
      return static_cast<T>(held);
    } else if constexpr (to_integer && from_integer) {
      if (!std::in_range<T>(held)) return fail("metadata key ", in_quotes(key), " is out of range");
      return static_cast<T>(held);
    } else {
      return fail("metadata key ", in_quotes(key), " is of another type than expected");
    }
  };
  return std::visit(from, scalar);
}

}  // namespace mini
