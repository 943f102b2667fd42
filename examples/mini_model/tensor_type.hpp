// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mini {

/// How the elements of a tensor are stored; the numbers are those of the file format. A row is a
/// sequence of blocks: of one number (F32, F16, BF16), of 32 elements with one scale (Q4_0 to Q8_0)
/// or of 256 elements with a scale for every 16 or 32 of them (Q2_K to Q6_K).
enum class tensor_type : std::uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q2_k = 10,
  q3_k = 11,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  bf16 = 30
};

/// The types that this engine reads, for a message.
inline constexpr std::string_view types_read =
    "F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1 and Q2_K to Q6_K";

/// The size of one block: how many elements of a row it holds, and in how many bytes.
struct block_layout {
  std::size_t elements = 1;
  std::size_t bytes = 0;
};

/// The block of a type.
[[nodiscard]] constexpr block_layout layout_of(tensor_type type) noexcept {
  switch (type) {
    case tensor_type::f32: return {1, 4};
    case tensor_type::f16: return {1, 2};
    case tensor_type::bf16: return {1, 2};
    case tensor_type::q4_0: return {32, 18};
    case tensor_type::q4_1: return {32, 20};
    case tensor_type::q5_0: return {32, 22};
    case tensor_type::q5_1: return {32, 24};
    case tensor_type::q8_0: return {32, 34};
    case tensor_type::q2_k: return {256, 84};
    case tensor_type::q3_k: return {256, 110};
    case tensor_type::q4_k: return {256, 144};
    case tensor_type::q5_k: return {256, 176};
    case tensor_type::q6_k: return {256, 210};
  }
  return {};
}

/// The type with a number of the file format, if this engine reads it.
[[nodiscard]] constexpr std::optional<tensor_type> type_of_number(std::uint32_t number) noexcept {
  const auto type = static_cast<tensor_type>(number);
  if (layout_of(type).bytes == 0) return std::nullopt;
  return type;
}

/// What the file format calls the type of a number, whether this engine reads it or not; "type 99"
/// for a number without a name.
[[nodiscard]] inline std::string name_of_type(std::uint32_t number) {
  constexpr std::array<std::string_view, 42> names{
      "F32",     "F16",   "Q4_0",   "Q4_1",  "",      "",       "Q5_0", "Q5_1",    "Q8_0",
      "Q8_1",    "Q2_K",  "Q3_K",   "Q4_K",  "Q5_K",  "Q6_K",   "Q8_K", "IQ2_XXS", "IQ2_XS",
      "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS", "I8",   "I16",     "I32",
      "I64",     "F64",   "IQ1_M",  "BF16",  "",      "",       "",     "TQ1_0",   "TQ2_0",
      "",        "",      "",       "MXFP4", "NVFP4", "Q1_0"};
  if (number < names.size() && !names[number].empty()) return std::string(names[number]);
  return "type " + std::to_string(number);
}

/// The name of a type.
[[nodiscard]] inline std::string name_of_type(tensor_type type) {
  return name_of_type(static_cast<std::uint32_t>(type));
}

}  // namespace mini
