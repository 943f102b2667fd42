// SPDX-License-Identifier: MIT
#pragma once

// The shipped model, read once.

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "mini_model/gguf.hpp"
#include "mini_model/tokenizer.hpp"
#include "mini_model/weights.hpp"

namespace mini_test {

inline const std::string shipped_path = EPIKV_SOURCE_DIR "/examples/mini_model/weights/ledger.gguf";

struct shipped_model {
  mini::weights model;
  mini::tokenizer words;
};

inline const shipped_model& shipped() {
  static const shipped_model loaded = [] {
    const auto file = mini::gguf_file::open(shipped_path);
    REQUIRE_MESSAGE(bool(file), file.error());
    auto model = mini::weights::load(*file);
    REQUIRE_MESSAGE(bool(model), model.error());
    auto words = mini::tokenizer::load(*file);
    REQUIRE_MESSAGE(bool(words), words.error());
    return shipped_model{*std::move(model), *std::move(words)};
  }();
  return loaded;
}

}  // namespace mini_test
