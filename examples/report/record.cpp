// SPDX-License-Identifier: MIT
#include "record.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text.hpp"

namespace report {

std::optional<double> number_of(const record& r, std::string_view name) {
  for (const named_number& each : r.numbers) {
    if (each.first == name) return each.second;
  }
  return std::nullopt;
}

record_key key_of(const record& r) { return {r.task, r.preset, r.options, r.budget, r.problem}; }

std::string fingerprint(const configuration& settings) {
  configuration sorted;
  for (const auto& [name, value] : settings) {
    sorted.emplace_back(valid_utf8(name), valid_utf8(value));
  }
  std::sort(sorted.begin(), sorted.end());
  std::string text;
  // With the lengths in front, no two lists give the same text.
  for (const auto& [name, value] : sorted) {
    text += fmt::format("{}:{}{}:{}", name.size(), name, value.size(), value);
  }
  return fmt::format("{:016x}", hash_of(text));
}

}  // namespace report
