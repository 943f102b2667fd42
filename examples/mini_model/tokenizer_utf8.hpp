// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace mini {

/// Stands for a byte that belongs to no UTF-8 character; above every code point.
inline constexpr char32_t no_code_point = 0xFFFFFFFF;

/// The character that starts a text: its code point and its number of bytes.
struct utf8_character {
  char32_t code = no_code_point;
  std::size_t size = 0;
};

/// How many bytes a character has by its first byte; 0 where no character starts so.
constexpr std::size_t utf8_size(char first) noexcept {
  const auto lead = static_cast<unsigned char>(first);
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;  // the middle of a character, or an ASCII character in two bytes
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 0;
}

/// Can `next` be the second byte of the character that `first` starts? Refuses what is spelled
/// longer than needed, the surrogates and all above U+10FFFF.
constexpr bool utf8_continues(char first, char next) noexcept {
  const auto lead = static_cast<unsigned char>(first);
  const auto byte = static_cast<unsigned char>(next);
  const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  return byte >= low && byte <= high;
}

/// The first character of a text. Where no valid one starts it is a single byte and
/// `no_code_point`; of an empty text, no byte at all.
constexpr utf8_character first_character(std::string_view text) noexcept {
  if (text.empty()) return {};
  const std::size_t size = utf8_size(text.front());
  const auto lead = static_cast<unsigned char>(text.front());
  if (size == 1) return {lead, 1};
  if (size == 0 || size > text.size() || !utf8_continues(text[0], text[1])) {
    return {no_code_point, 1};
  }
  char32_t code = lead & (0x7Fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0u) != 0x80u) return {no_code_point, 1};
    code = (code << 6) | (byte & 0x3Fu);
  }
  return {code, size};
}

/// How many bytes at the end of a text start a character that is not complete: 0 to 3.
constexpr std::size_t incomplete_end(std::string_view text) noexcept {
  for (std::size_t held = 1; held <= 3 && held <= text.size(); ++held) {
    const std::string_view end = text.substr(text.size() - held);
    if ((static_cast<unsigned char>(end[0]) & 0xC0u) == 0x80u) continue;
    const bool fits = held == 1 || utf8_continues(end[0], end[1]);
    return utf8_size(end[0]) > held && fits ? held : 0;
  }
  return 0;
}

/// Puts text together that arrives in bytes, as from the tokens of a model: what comes out never
/// ends within a character. The bytes are those that came in, also where they are no UTF-8.
class utf8_stream {
 public:
  /// Takes bytes and returns all that is complete; at most three bytes wait for the next call.
  std::string push(std::string_view bytes) {
    std::string text = std::exchange(waiting_, {});
    text += bytes;
    const std::size_t held = incomplete_end(text);
    waiting_.assign(text, text.size() - held, held);
    text.resize(text.size() - held);
    return text;
  }

  /// Returns what still waits: the start of a character that never came.
  std::string finish() { return std::exchange(waiting_, {}); }

 private:
  std::string waiting_;
};

}  // namespace mini
