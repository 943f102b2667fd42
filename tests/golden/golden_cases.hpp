// SPDX-License-Identifier: MIT
#pragma once

// The golden cases in their folder, and what the library makes of one.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "replay/replay.hpp"

namespace golden_test {

inline const std::filesystem::path golden_folder =
    std::filesystem::path{EPIKV_SOURCE_DIR} / "tests" / "golden";

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream{file, std::ios::binary};
  REQUIRE(stream.good());
  return {std::istreambuf_iterator<char>{stream}, std::istreambuf_iterator<char>{}};
}

inline std::vector<std::filesystem::path> golden_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator{golden_folder}) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// The case through the public API.
inline replay::outcome replayed(const replay::replay_case& c, const replay::method_preset& method) {
  replay::outcome found;
  const epikv::status done = replay::run_case(
      c, method,
      [](const std::string& preset, const epikv::model_shape& shape, const std::string& settings) {
        return epikv::make_evictor(preset, shape, settings);
      },
      found);
  REQUIRE_MESSAGE(done.ok(), done.message());
  return found;
}

}  // namespace golden_test
