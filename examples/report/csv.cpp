// SPDX-License-Identifier: MIT
#include "csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace report {

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
  return out;
}

std::string to_csv(std::span<const record> records) {
  std::vector<std::string> names;
  for (const record& r : records) {
    for (const named_number& each : r.numbers) {
      if (std::find(names.begin(), names.end(), each.first) == names.end()) {
        names.push_back(each.first);
      }
    }
  }
  std::string out =
      "task,preset,options,budget,problem,graded,right,capped,prompt_tokens,generated,peak_tokens,"
      "peak_bytes,seconds";
  for (const std::string& name : names) out += ',' + csv_field(name);
  out += "\r\n";
  for (const record& r : records) {
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}", csv_field(r.task),
                       csv_field(r.preset), csv_field(r.options), r.budget, r.problem,
                       r.graded ? 1 : 0, r.right ? 1 : 0, r.capped ? 1 : 0, r.prompt_tokens,
                       r.generated, r.peak_tokens, r.peak_bytes, r.seconds);
    for (const std::string& name : names) {
      const std::optional<double> value = number_of(r, name);
      out += value ? fmt::format(",{}", *value) : ",";
    }
    out += "\r\n";
  }
  return out;
}

}  // namespace report
