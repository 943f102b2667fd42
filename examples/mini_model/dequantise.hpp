// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "byte_reader.hpp"
#include "tensor_type.hpp"

namespace mini {

// How one block of each type becomes float32. Every scale times every quantised number has at most
// 24 significant bits and stays in the range of a float, so the only operation here that can round
// is the addition of a minimum, and a compiler that fuses it with the product changes nothing.
namespace blocks {

inline unsigned byte_at(std::span<const std::byte> in, std::size_t at) noexcept {
  return std::to_integer<unsigned>(in[at]);
}
inline std::uint16_t word_at(std::span<const std::byte> in, std::size_t at) noexcept {
  return static_cast<std::uint16_t>(byte_at(in, at) | byte_at(in, at + 1) << 8);
}
inline std::uint32_t double_word_at(std::span<const std::byte> in, std::size_t at) noexcept {
  return word_at(in, at) | std::uint32_t{word_at(in, at + 2)} << 16;
}
inline float half_at(std::span<const std::byte> in, std::size_t at) noexcept {
  return half_to_float(word_at(in, at));
}
/// A signed byte.
inline float signed_at(std::span<const std::byte> in, std::size_t at) noexcept {
  return static_cast<float>(static_cast<std::int8_t>(byte_at(in, at)));
}
/// The number that `code` stands for if `zero` stands for 0.
inline float offset(unsigned code, int zero = 0) noexcept {
  return static_cast<float>(static_cast<int>(code) - zero);
}

/// Decodes one block.
template <tensor_type Type>
void decode(std::span<const std::byte, layout_of(Type).bytes> in,
            std::span<float, layout_of(Type).elements> out) noexcept;

// One number in little-endian order; BF16 is the upper half of a float32.

template <>
inline void decode<tensor_type::f32>(std::span<const std::byte, 4> in,
                                     std::span<float, 1> out) noexcept {
  out[0] = std::bit_cast<float>(double_word_at(in, 0));
}

template <>
inline void decode<tensor_type::f16>(std::span<const std::byte, 2> in,
                                     std::span<float, 1> out) noexcept {
  out[0] = half_at(in, 0);
}

template <>
inline void decode<tensor_type::bf16>(std::span<const std::byte, 2> in,
                                      std::span<float, 1> out) noexcept {
  out[0] = std::bit_cast<float>(std::uint32_t{word_at(in, 0)} << 16);
}

// 32 elements: a float16 scale; in the _1 types a float16 minimum; in Q5 32 bits, the highest bit
// of each element; then the lower four bits, element i in the low half of byte i and element i + 16
// in the high half.

template <>
inline void decode<tensor_type::q4_0>(std::span<const std::byte, 18> in,
                                      std::span<float, 32> out) noexcept {
  const float scale = half_at(in, 0);
  for (std::size_t i = 0; i < 16; ++i) {
    const unsigned packed = byte_at(in, 2 + i);
    out[i] = scale * offset(packed & 15, 8);
    out[i + 16] = scale * offset(packed >> 4, 8);
  }
}

template <>
inline void decode<tensor_type::q4_1>(std::span<const std::byte, 20> in,
                                      std::span<float, 32> out) noexcept {
  const float scale = half_at(in, 0);
  const float minimum = half_at(in, 2);
  for (std::size_t i = 0; i < 16; ++i) {
    const unsigned packed = byte_at(in, 4 + i);
    out[i] = scale * offset(packed & 15) + minimum;
    out[i + 16] = scale * offset(packed >> 4) + minimum;
  }
}

template <>
inline void decode<tensor_type::q5_0>(std::span<const std::byte, 22> in,
                                      std::span<float, 32> out) noexcept {
  const float scale = half_at(in, 0);
  const std::uint32_t fifth = double_word_at(in, 2);
  for (std::size_t i = 0; i < 16; ++i) {
    const unsigned packed = byte_at(in, 6 + i);
    out[i] = scale * offset((packed & 15) | (fifth >> i & 1) << 4, 16);
    out[i + 16] = scale * offset(packed >> 4 | (fifth >> (i + 16) & 1) << 4, 16);
  }
}

template <>
inline void decode<tensor_type::q5_1>(std::span<const std::byte, 24> in,
                                      std::span<float, 32> out) noexcept {
  const float scale = half_at(in, 0);
  const float minimum = half_at(in, 2);
  const std::uint32_t fifth = double_word_at(in, 4);
  for (std::size_t i = 0; i < 16; ++i) {
    const unsigned packed = byte_at(in, 8 + i);
    out[i] = scale * offset((packed & 15) | (fifth >> i & 1) << 4) + minimum;
    out[i + 16] = scale * offset(packed >> 4 | (fifth >> (i + 16) & 1) << 4) + minimum;
  }
}

template <>
inline void decode<tensor_type::q8_0>(std::span<const std::byte, 34> in,
                                      std::span<float, 32> out) noexcept {
  const float scale = half_at(in, 0);
  for (std::size_t i = 0; i < 32; ++i) out[i] = scale * signed_at(in, 2 + i);
}

// 256 elements with two levels of scales: float16 for the block, small integers for its parts.
// Elements that lie 32 or 64 apart share a byte: `part` counts the 32 elements of one bit position.

// 16 bytes with a scale (low half) and a minimum (high half) of 16 elements; 64 bytes of two bits,
// four parts to a byte; the scale of the scales; that of the minima.
template <>
inline void decode<tensor_type::q2_k>(std::span<const std::byte, 84> in,
                                      std::span<float, 256> out) noexcept {
  const float scale = half_at(in, 80);
  const float minimum = half_at(in, 82);
  for (std::size_t part = 0; part < 8; ++part) {
    const auto codes = in.subspan(16 + part / 4 * 32, 32);
    for (std::size_t i = 0; i < 32; ++i) {
      const std::size_t element = part * 32 + i;
      const unsigned factors = byte_at(in, element / 16);
      const unsigned code = byte_at(codes, i) >> (part % 4 * 2) & 3;
      out[element] = scale * offset(factors & 15) * offset(code) - minimum * offset(factors >> 4);
    }
  }
}

// 32 bytes with the third bits, part p in bit p; 64 bytes of two bits, four parts to a byte; 16
// scales of six bits, the lower four as in Q4_0, then the upper two, scale s in byte s % 4; the
// scale of the scales. A scale of 32 and a code of 4 stand for 0.
template <>
inline void decode<tensor_type::q3_k>(std::span<const std::byte, 110> in,
                                      std::span<float, 256> out) noexcept {
  const float scale = half_at(in, 108);
  for (std::size_t group = 0; group < 16; ++group) {
    const unsigned low = byte_at(in, 96 + group % 8) >> (group / 8 * 4) & 15;
    const unsigned high = byte_at(in, 104 + group % 4) >> (group / 4 * 2) & 3;
    const float factor = scale * offset(low | high << 4, 32);
    const std::size_t part = group / 2;
    const auto thirds = in.subspan(group % 2 * 16, 16);
    const auto codes = in.subspan(32 + part / 4 * 32 + group % 2 * 16, 16);
    for (std::size_t i = 0; i < 16; ++i) {
      const unsigned two = byte_at(codes, i) >> (part % 4 * 2) & 3;
      const unsigned third = byte_at(thirds, i) >> part & 1;
      out[group * 16 + i] = factor * offset(two | third << 2, 4);
    }
  }
}

/// The six-bit scale and minimum of a part (0 to 7) of a Q4_K or Q5_K block, out of 12 bytes: four
/// scales and four minima in the lower six bits of bytes 0 to 7; the other four of each in the
/// halves of bytes 8 to 11, with their upper two bits on top of bytes 0 to 7.
struct part_factors {
  part_factors(std::span<const std::byte, 12> in, std::size_t part) noexcept {
    if (part < 4) {
      scale = byte_at(in, part) & 63;
      minimum = byte_at(in, part + 4) & 63;
    } else {
      scale = (byte_at(in, part + 4) & 15) | byte_at(in, part - 4) >> 6 << 4;
      minimum = byte_at(in, part + 4) >> 4 | byte_at(in, part) >> 6 << 4;
    }
  }
  unsigned scale = 0;
  unsigned minimum = 0;
};

// The scale of the scales; that of the minima; 12 bytes of them; 128 bytes of four bits, two parts
// to a byte.
template <>
inline void decode<tensor_type::q4_k>(std::span<const std::byte, 144> in,
                                      std::span<float, 256> out) noexcept {
  for (std::size_t part = 0; part < 8; ++part) {
    const part_factors factors(in.subspan<4, 12>(), part);
    const float scale = half_at(in, 0) * offset(factors.scale);
    const float minimum = half_at(in, 2) * offset(factors.minimum);
    const auto codes = in.subspan(16 + part / 2 * 32, 32);
    for (std::size_t i = 0; i < 32; ++i) {
      const unsigned code = byte_at(codes, i) >> (part % 2 * 4) & 15;
      out[part * 32 + i] = scale * offset(code) - minimum;
    }
  }
}

// As Q4_K, with 32 bytes of fifth bits before the codes, part p in bit p.
template <>
inline void decode<tensor_type::q5_k>(std::span<const std::byte, 176> in,
                                      std::span<float, 256> out) noexcept {
  for (std::size_t part = 0; part < 8; ++part) {
    const part_factors factors(in.subspan<4, 12>(), part);
    const float scale = half_at(in, 0) * offset(factors.scale);
    const float minimum = half_at(in, 2) * offset(factors.minimum);
    const auto fifths = in.subspan(16, 32);
    const auto codes = in.subspan(48 + part / 2 * 32, 32);
    for (std::size_t i = 0; i < 32; ++i) {
      const unsigned four = byte_at(codes, i) >> (part % 2 * 4) & 15;
      const unsigned fifth = byte_at(fifths, i) >> part & 1;
      out[part * 32 + i] = scale * offset(four | fifth << 4) - minimum;
    }
  }
}

// 128 bytes of lower four bits, parts p and p + 2 of a half of the block in one byte; 64 bytes of
// upper two bits, the four parts of a half in one byte; 16 scales in signed bytes; their scale. A
// code of 32 stands for 0.
template <>
inline void decode<tensor_type::q6_k>(std::span<const std::byte, 210> in,
                                      std::span<float, 256> out) noexcept {
  for (std::size_t group = 0; group < 16; ++group) {
    const float factor = half_at(in, 208) * signed_at(in, 192 + group);
    const std::size_t half = group / 8;
    const std::size_t part = group / 2 % 4;
    const auto fours = in.subspan(half * 64 + part % 2 * 32 + group % 2 * 16, 16);
    const auto twos = in.subspan(128 + half * 32 + group % 2 * 16, 16);
    for (std::size_t i = 0; i < 16; ++i) {
      const unsigned four = byte_at(fours, i) >> (part / 2 * 4) & 15;
      const unsigned two = byte_at(twos, i) >> (part * 2) & 3;
      out[group * 16 + i] = factor * offset(four | two << 4, 32);
    }
  }
}

/// Decodes whole blocks, as many as both spans hold.
template <tensor_type Type>
void decode_all(std::span<const std::byte> in, std::span<float> out) noexcept {
  constexpr block_layout layout = layout_of(Type);
  while (in.size() >= layout.bytes && out.size() >= layout.elements) {
    decode<Type>(in.first<layout.bytes>(), out.first<layout.elements>());
    in = in.subspan(layout.bytes);
    out = out.subspan(layout.elements);
  }
}

}  // namespace blocks

/// Writes the elements of consecutive blocks as float32: the exact value of what is stored, rounded
/// once where a minimum is added. Precondition: `in` is a whole number of blocks of the type, and
/// `out` has the size of their elements; nothing outside of either is touched in any case.
inline void dequantise(tensor_type type, std::span<const std::byte> in,
                       std::span<float> out) noexcept {
  [[maybe_unused]] const block_layout layout = layout_of(type);
  assert(in.size() % layout.bytes == 0);
  assert(in.size() / layout.bytes * layout.elements == out.size());
  switch (type) {
    case tensor_type::f32: return blocks::decode_all<tensor_type::f32>(in, out);
    case tensor_type::f16: return blocks::decode_all<tensor_type::f16>(in, out);
    case tensor_type::bf16: return blocks::decode_all<tensor_type::bf16>(in, out);
    case tensor_type::q4_0: return blocks::decode_all<tensor_type::q4_0>(in, out);
    case tensor_type::q4_1: return blocks::decode_all<tensor_type::q4_1>(in, out);
    case tensor_type::q5_0: return blocks::decode_all<tensor_type::q5_0>(in, out);
    case tensor_type::q5_1: return blocks::decode_all<tensor_type::q5_1>(in, out);
    case tensor_type::q8_0: return blocks::decode_all<tensor_type::q8_0>(in, out);
    case tensor_type::q2_k: return blocks::decode_all<tensor_type::q2_k>(in, out);
    case tensor_type::q3_k: return blocks::decode_all<tensor_type::q3_k>(in, out);
    case tensor_type::q4_k: return blocks::decode_all<tensor_type::q4_k>(in, out);
    case tensor_type::q5_k: return blocks::decode_all<tensor_type::q5_k>(in, out);
    case tensor_type::q6_k: return blocks::decode_all<tensor_type::q6_k>(in, out);
  }
}

}  // namespace mini
