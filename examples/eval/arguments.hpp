// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mini_model/result.hpp"

namespace eval {

/// What epikv-eval is asked to do.
struct arguments {
  std::string model;  ///< empty: the shipped one
  std::vector<std::string> tasks{"reasoning"};
  std::vector<std::string> presets;  ///< empty: all, unless there are arms
  std::vector<std::string> arms;     ///< as parse_arm() reads them
  std::string calibrated;            ///< a preset file; empty: the model's own; "none"
  std::string settings;              ///< of all arms that understand them; empty: the model's own
  std::vector<std::int32_t> budgets{260, 200, 160};
  std::size_t problems = 100;
  std::size_t steps = 12;
  std::uint64_t seed = 1'000'000;
  std::string text;  ///< a file for perplexity and agreement
  std::size_t prompt_tokens = 32;
  std::size_t text_tokens = 480;
  std::size_t jobs = 0;  ///< 0: one for each core
  std::string out, json, csv, svg, view;
  bool times = false;
  bool help = false;
};

/// The text of --help.
[[nodiscard]] std::string usage();

/// Reads the command line, the program's name left out.
[[nodiscard]] mini::expected<arguments> parse_arguments(const std::vector<std::string_view>& words);

}  // namespace eval
