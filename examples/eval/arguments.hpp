// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mini_model/result.hpp"
#include "passage.hpp"

namespace eval {

/// The tasks that there are, in the words of a message.
inline constexpr std::string_view task_names = "reasoning, agreement, perplexity, needle, gsm8k";

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
  passage_options passages;  ///< what they are drawn from, but for their number
  std::size_t jobs = 0;      ///< 0: one for each core
  std::string out, json, csv, svg, view;
  bool times = false;
  bool help = false;
};

/// The text of --help.
[[nodiscard]] std::string usage();

/// Reads the command line, the program's name left out.
[[nodiscard]] mini::expected<arguments> parse_arguments(const std::vector<std::string_view>& words);

}  // namespace eval
