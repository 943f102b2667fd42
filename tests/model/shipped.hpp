// SPDX-License-Identifier: MIT
#pragma once

// The shipped model, read once.

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "mini_model/loaded_model.hpp"

namespace mini_test {

inline const std::string shipped_path = EPIKV_SOURCE_DIR "/examples/mini_model/weights/ledger.gguf";

inline const mini::loaded_model& shipped() {
  static const mini::loaded_model loaded = [] {
    auto made = mini::loaded_model::load(shipped_path);
    REQUIRE_MESSAGE(bool(made), made.error());
    return *std::move(made);
  }();
  return loaded;
}

}  // namespace mini_test
