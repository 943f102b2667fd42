// SPDX-License-Identifier: MIT
#pragma once

// Tokenizers from files built in memory, and files that must be refused.

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "gguf_builder.hpp"
#include "mini_model/gguf.hpp"
#include "mini_model/tokenizer.hpp"

namespace mini_test {

inline mini::expected<mini::tokenizer> load(const gguf_builder& builder) {
  const auto file = mini::gguf_file::parse(builder.build());
  REQUIRE_MESSAGE(bool(file), file.error());
  return mini::tokenizer::load(*file);  // owns its text: the file ends here
}

inline mini::tokenizer loaded(const gguf_builder& builder) {
  auto words = load(builder);
  REQUIRE_MESSAGE(bool(words), words.error());
  return *std::move(words);
}

inline void check_refused(const gguf_builder& builder, const std::vector<std::string>& parts) {
  const auto words = load(builder);
  CHECK(!words);
  CAPTURE(words.error());
  for (const std::string& part : parts) {
    CHECK_MESSAGE(words.error().find(part) != std::string::npos, part);
  }
}

}  // namespace mini_test
