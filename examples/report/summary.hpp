// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "record.hpp"
#include "statistics.hpp"

namespace report {

/// All records of one task, preset, options and budget: an arm of the experiment.
struct arm {
  std::string task;
  std::string preset;
  std::string options;
  std::int32_t budget = 0;

  std::int64_t problems = 0;
  bool graded = false;  ///< some record is; else there is nothing to be right
  std::int64_t right = 0;
  std::int64_t capped = 0;
  interval accuracy_95;  ///< Wilson
  /// Mean over the records that have the number, in the order in which the names first occur.
  std::vector<std::pair<std::string, mean_estimate>> numbers;
  std::int64_t prompt_tokens = 0;  ///< sum
  std::int64_t generated = 0;      ///< sum
  std::int64_t peak_tokens = 0;    ///< largest
  std::int64_t peak_bytes = 0;     ///< largest
  double seconds = 0;              ///< sum
  bool is_reference = false;       ///< the full cache arm of its task
  /// Against the reference of the task; empty where there is none and for the reference itself.
  std::optional<comparison> against_reference;

  /// Shares of the problems; NaN without any.
  [[nodiscard]] double accuracy() const noexcept;
  [[nodiscard]] double cap_rate() const noexcept;
  /// Generated tokens per second; NaN without time.
  [[nodiscard]] double tokens_per_second() const noexcept;
};

/// Arms by task, in each task the reference first, then presets and options in the order in which
/// they first occur and budgets from large to small.
struct summary {
  std::string reference_preset;
  std::vector<arm> arms;

  /// The tasks in their order.
  [[nodiscard]] std::vector<std::string> tasks() const;
  /// The names of all numbers in `task`, in the order in which they first occur.
  [[nodiscard]] std::vector<std::string> number_names(const std::string& task) const;
};

/// Groups records. The reference of a task is its arm with preset `reference_preset`; of several,
/// the one whose records come first. Precondition: no key occurs twice. O(n log n).
[[nodiscard]] summary summarize(std::span<const record> records,
                                std::string reference_preset = "full");

/// The summary as JSON, indented: {"schema": "epikv-summary", "version": 1, "fingerprint",
/// "configuration", "reference", "arms": [...]}. What is not known or not finite is null.
[[nodiscard]] std::string to_json(const summary& s, const configuration& settings);

/// How table() prints.
struct table_style {
  std::size_t options_width = 40;  ///< longer options are cut, with an ellipsis
  bool times = true;               ///< with tokens per second, which no second run repeats
};

/// The summary for a terminal: for each task a heading and aligned columns, without trailing
/// spaces. Options, numbers and what is right have columns only where some arm has them.
[[nodiscard]] std::string table(const summary& s, const table_style& style = {});

}  // namespace report
