// SPDX-License-Identifier: MIT
#pragma once

// Small files and short questions to the reader, for the tests of the GGUF reader.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gguf_builder.hpp"
#include "mini_model/gguf.hpp"

namespace mini_test {

inline constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();

inline bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// Why a file is refused; empty if it is not.
inline std::string refusal(byte_string bytes) {
  return mini::gguf_file::parse(std::move(bytes)).error();
}
inline std::string refusal(const gguf_builder& file) { return refusal(file.build()); }

/// A sentence for a terminal: not empty, one line, and all of `parts` in it.
inline void check_says(const std::string& message, const std::vector<std::string>& parts) {
  CAPTURE(message);
  REQUIRE(!message.empty());
  for (const char c : message) CHECK(static_cast<unsigned char>(c) >= 0x20);
  for (const std::string& part : parts) CHECK_MESSAGE(contains(message, part), part);
}

inline mini::gguf_file parsed(const gguf_builder& file) {
  auto out = mini::gguf_file::parse(file.build());
  REQUIRE_MESSAGE(bool(out), out.error());
  return *std::move(out);
}

/// Two tensors with a gap between them, metadata of several kinds.
inline gguf_builder small_file() {
  gguf_builder file;
  file.set_text("general.name", "small");
  file.set("count", std::uint32_t{7});
  file.set_texts("words", {"one", "", "three"});
  file.set("last", true);
  file.add_floats("first", {3, 2}, {1, 2, 3, 4, 5, 6});
  file.add_halves("second", {5}, {0x3C00, 0xC000, 0, 0x7BFF, 1});
  return file;
}

inline byte_string random_bytes(std::mt19937& random, std::size_t count) {
  byte_string out(count);
  for (std::byte& each : out) each = static_cast<std::byte>(random() >> 24);
  return out;
}

/// A tensor of every type that can be read, two rows of two blocks of random bits each.
inline gguf_builder quantised_file(unsigned seed = 1) {
  std::mt19937 random{seed};
  gguf_builder file;
  for (const stored_type& type : stored_types) {
    file.add_stored(type.name, {2 * type.elements, 2}, type.number,
                    random_bytes(random, 4 * type.bytes));
  }
  return file;
}

}  // namespace mini_test
