// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace report {

/// A measured number with its name, e.g. "nll" or "same_top". Names are unique in a record.
using named_number = std::pair<std::string, double>;

/// What came of one problem under one policy at one budget.
struct record {
  std::string task;
  std::string preset;
  std::string options;       ///< of the preset, as text; distinguishes runs of the same preset
  std::int32_t budget = 0;   ///< tokens a keep-set may hold; 0 or less: no limit
  std::int64_t problem = 0;  ///< identifies the problem within the task
  bool graded = true;        ///< there is an answer to be right; else the next two mean nothing
  bool right = false;        ///< the answer was correct
  bool capped = false;       ///< generation stopped at its limit instead of by itself
  std::vector<named_number> numbers;
  std::int64_t prompt_tokens = 0;
  std::int64_t generated = 0;    ///< tokens after the prompt
  std::int64_t peak_tokens = 0;  ///< most tokens that the cache held at once
  std::int64_t peak_bytes = 0;   ///< and the bytes of their rows
  double seconds = 0;            ///< wall-clock time

  friend bool operator==(const record&, const record&) = default;
};

/// The number called `name`, if the record has it.
[[nodiscard]] std::optional<double> number_of(const record& r, std::string_view name);

/// What must not occur twice in one set of results.
struct record_key {
  std::string task;
  std::string preset;
  std::string options;
  std::int32_t budget = 0;
  std::int64_t problem = 0;

  friend auto operator<=>(const record_key&, const record_key&) = default;
};

[[nodiscard]] record_key key_of(const record& r);

/// What results depend on besides a record's own key: model file, seed, lengths. In the order in
/// which a person should read it; names are unique.
using configuration = std::vector<std::pair<std::string, std::string>>;

/// 16 hexadecimal digits that are equal for equal configurations, whatever the order of the names.
/// Broken UTF-8 counts as repaired.
[[nodiscard]] std::string fingerprint(const configuration& settings);

}  // namespace report
