// SPDX-License-Identifier: MIT
#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace report {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

struct sequence {
  std::size_t bytes = 1;  // of a well-formed character, or of the broken piece
  bool valid = false;
  char32_t code = 0;
};

// Reads the character at the front of `text`, by the table of well-formed byte sequences in the
// Unicode standard. Precondition: text is not empty.
sequence first_character(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {1, true, static_cast<char32_t>(lead)};
  std::size_t length = 0;
  unsigned low = 0x80;  // the range of the second byte
  unsigned high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return {};
  }
  char32_t code = lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if (i >= text.size() || byte(i) < low || byte(i) > high) return {i, false, 0};
    code = (code << 6) | (byte(i) & 0x3FU);
    low = 0x80;
    high = 0xBF;
  }
  return {length, true, code};
}

bool allowed_in_xml(char32_t c) {
  return c == 0x9 || c == 0xA || c == 0xD || (c >= 0x20 && c != 0xFFFE && c != 0xFFFF);
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const sequence next = first_character(text);
    out += next.valid ? text.substr(0, next.bytes) : replacement;
    text.remove_prefix(next.bytes);
  }
  return out;
}

std::size_t columns_of(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string escape_xml(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const sequence next = first_character(text);
    const std::string_view bytes = text.substr(0, next.bytes);
    text.remove_prefix(next.bytes);
    if (!next.valid || !allowed_in_xml(next.code)) {
      out += replacement;
    } else if (next.code == U'&') {
      out += "&amp;";
    } else if (next.code == U'<') {
      out += "&lt;";
    } else if (next.code == U'>') {
      out += "&gt;";
    } else if (next.code == U'"') {
      out += "&quot;";
    } else if (next.code == U'\'') {
      out += "&#39;";
    } else {
      out += bytes;
    }
  }
  return out;
}

std::string fixed(double value, int decimals) {
  if (std::isnan(value)) return "-";
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.front() == '-' && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);
  return text;
}

std::string compact_number(double value) {
  if (std::isnan(value)) return "-";
  const double size = std::fabs(value);
  if (size != 0 && (size < 1e-3 || size >= 1e6)) return fmt::format("{:.3g}", value);
  if (size < 10) return fixed(value, 4);
  if (size < 100) return fixed(value, 3);
  return fixed(value, size < 1000 ? 2 : 1);
}

std::string byte_size(double bytes) {
  if (std::isnan(bytes)) return "-";
  constexpr std::array<std::string_view, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (std::fabs(bytes) >= 1024 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  // Three digits or so: 1.50, 15.0, 150.
  const int decimals = unit == 0 || std::fabs(bytes) >= 100 ? 0 : std::fabs(bytes) >= 10 ? 1 : 2;
  return fmt::format("{} {}", fixed(bytes, decimals), units[unit]);
}

std::string duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e15) return "-";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} m {:02} s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{} h {:02} m", whole / 3600, whole / 60 % 60);
  return fmt::format("{} d {:02} h", whole / 86400, whole / 3600 % 24);
}

std::string p_value(double p) {
  if (std::isnan(p)) return "-";
  return p < 0.0001 ? "<0.0001" : fixed(p, 4);
}

std::string identifier(std::string_view text) { return fmt::format("r{:016x}", hash_of(text)); }

std::uint64_t hash_of(std::string_view text) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001B3U;
  }
  return hash;
}

}  // namespace report
