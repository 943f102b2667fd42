// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mini_model/result.hpp"

namespace eval {

/// One option of a program whose arguments are an `Arguments`.
template <class Arguments>
struct option_line {
  std::string_view name;   ///< with its dashes
  std::string_view value;  ///< what it takes; empty for an option that takes nothing
  std::string_view help;
  bool (*read)(std::string_view value, Arguments& to);  ///< false: the value is refused
};

/// Two tables of options as one.
template <class Line, std::size_t N, std::size_t M>
[[nodiscard]] constexpr std::array<Line, N + M> joined(const std::array<Line, N>& first,
                                                       const std::array<Line, M>& second) {
  std::array<Line, N + M> out{};
  std::copy(second.begin(), second.end(), std::copy(first.begin(), first.end(), out.begin()));
  return out;
}

/// The lines of --help.
template <class Arguments>
[[nodiscard]] std::string describe(std::span<const option_line<Arguments>> options) {
  constexpr std::size_t column = 26;
  std::string out;
  for (const auto& each : options) {
    std::string left = "  " + std::string{each.name} + " " + std::string{each.value};
    left.resize(std::max(column, left.size() + 2), ' ');
    out += left + std::string{each.help} + "\n";
  }
  return out;
}

/// Reads a command line, the program's name left out, into `to`. With --help or -h among the words
/// `to.help` is set and the rest is not looked at. An error names the option.
template <class Arguments>
[[nodiscard]] mini::expected<void> parse_options(std::span<const option_line<Arguments>> options,
                                                 const std::vector<std::string_view>& words,
                                                 Arguments& to) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view name = words[i];
    if (name == "--help" || name == "-h") {
      to.help = true;
      return {};
    }
    const auto known = std::find_if(options.begin(), options.end(),
                                    [&](const auto& each) { return each.name == name; });
    if (known == options.end()) {
      return mini::fail("unknown option ", mini::in_quotes(name), "; --help lists the known ones");
    }
    if (known->value.empty()) {
      known->read({}, to);
      continue;
    }
    if (i + 1 == words.size()) return mini::fail(name, " needs a value: ", known->value);
    if (!known->read(words[++i], to)) {
      return mini::fail(name, " cannot be ", mini::in_quotes(words[i]),
                        "; --help says what it takes");
    }
  }
  return {};
}

/// Readers for options: each returns false for a text that does not fit.
template <class Integer>
[[nodiscard]] bool read_number(std::string_view text, Integer least, Integer most, Integer& to) {
  const auto end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, to);
  return parsed.ec == std::errc{} && parsed.ptr == end && to >= least && to <= most;
}

[[nodiscard]] inline bool read_text(std::string_view text, std::string& to) {
  to = text;
  return !text.empty();
}

/// "a,b,c", with `read(part)` for each part.
template <class Read>
[[nodiscard]] bool read_list(std::string_view text, Read read) {
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    if (part.empty() || !read(part)) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

[[nodiscard]] inline bool read_names(std::string_view text, std::vector<std::string>& to) {
  to.clear();
  return read_list(text, [&](std::string_view part) {
    to.emplace_back(part);
    return true;
  });
}

/// Budgets in tokens, each once.
[[nodiscard]] inline bool read_budgets(std::string_view text, std::vector<std::int32_t>& to) {
  to.clear();
  return read_list(text, [&](std::string_view part) {
    const bool fits = read_number(part, 1, 1 << 24, to.emplace_back());
    return fits && std::count(to.begin(), to.end(), to.back()) == 1;
  });
}

}  // namespace eval
