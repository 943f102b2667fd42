// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mini_model/result.hpp"

namespace comparison {

/// What epikv-mini is asked to do.
struct arguments {
  std::string weights;  ///< empty: the shipped ones
  std::vector<std::int32_t> budgets{200, 140};
  std::size_t problems = 40;
  std::size_t steps = 12;
  std::uint64_t seed = 1'000'000;
  std::string preset;    ///< one arm instead of the table
  std::string settings;  ///< of that arm
  bool help = false;
};

/// The text of --help.
[[nodiscard]] std::string usage();

/// Reads the command line, the program's name left out.
[[nodiscard]] mini::expected<arguments> parse_arguments(const std::vector<std::string_view>& words);

}  // namespace comparison
