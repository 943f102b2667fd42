// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "eval/passage.hpp"
#include "mini_model/result.hpp"
#include "search.hpp"

namespace calibrate {

/// What epikv-calibrate is asked to do.
struct arguments {
  std::string model;     ///< empty: the shipped one
  std::string settings;  ///< of all arms that understand them; empty: the model's own
  std::int32_t budget = 200;
  measure by = measure::kl;
  std::size_t problems = 8;
  std::size_t held_out = 8;
  eval::passage_options passages{.first_seed = 2'000'000};  ///< not the evaluation's problems
  std::size_t jobs = 0;
  std::string out, svg, preset_file;
  bool help = false;
};

[[nodiscard]] std::string usage();

/// Reads the command line, the program's name left out.
[[nodiscard]] mini::expected<arguments> parse_arguments(const std::vector<std::string_view>& words);

}  // namespace calibrate
