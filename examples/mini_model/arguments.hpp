// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "result.hpp"

namespace mini {

/// What epikv-mini is asked to do.
struct arguments {
  std::string weights;
  std::vector<std::int32_t> budgets{200, 140};
  std::size_t problems = 40;
  std::size_t steps = 12;
  std::uint64_t seed = 1'000'000;
  std::string preset;    // one arm instead of the table
  std::string settings;  // of that arm
  bool help = false;
};

inline constexpr std::string_view usage =
    "usage: epikv-mini [options]\n\n"
    "Generates worked answers to held-out ledger problems with a small llama model, with the full\n"
    "cache and with its cache evicted by EpiKV presets, and prints how each of them does.\n\n"
    "  --problems N       problems per line of the table (default 40)\n"
    "  --budgets K[,K]    tokens a keep-set may hold (default 200,140)\n"
    "  --steps N          steps of a problem, 1 to 20 (default 12)\n"
    "  --seed N           number of the first problem (default 1000000)\n"
    "  --preset NAME      compare this preset alone with the full cache\n"
    "  --settings TEXT    its settings, e.g. \"band_a=4 band_b=3 tau=16 recent=32\"\n"
    "  --weights FILE     a GGUF model that solves the task (default: the one shipped)\n";

namespace detail {

template <class Integer>
bool parse_integer(std::string_view text, Integer least, Integer most, Integer& out) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), out);
  return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size() && out >= least &&
         out <= most;
}

inline bool parse_budgets(std::string_view text, std::vector<std::int32_t>& out) {
  out.clear();
  while (true) {
    const std::size_t comma = text.find(',');
    std::int32_t budget = 0;
    if (!parse_integer(text.substr(0, comma), 1, 1 << 20, budget)) return false;
    out.push_back(budget);
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace detail

/// Reads the command line; `default_weights` is the shipped model.
inline expected<arguments> parse_arguments(const std::vector<std::string_view>& words,
                                           std::string default_weights) {
  arguments out;
  out.weights = std::move(default_weights);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view name = words[i];
    if (name == "--help" || name == "-h") {
      out.help = true;
      return out;
    }
    const bool known = name == "--problems" || name == "--budgets" || name == "--steps" ||
                       name == "--seed" || name == "--preset" || name == "--settings" ||
                       name == "--weights";
    if (!known) return fail("unknown option ", in_quotes(name), "; --help lists the known ones");
    if (i + 1 == words.size()) return fail(name, " needs a value");
    const std::string_view value = words[++i];
    bool fits = true;
    if (name == "--problems") {
      fits = detail::parse_integer<std::size_t>(value, 1, 1'000'000, out.problems);
    } else if (name == "--budgets") {
      fits = detail::parse_budgets(value, out.budgets);
    } else if (name == "--steps") {
      fits = detail::parse_integer<std::size_t>(value, 1, 20, out.steps);
    } else if (name == "--seed") {
      fits = detail::parse_integer<std::uint64_t>(value, 0, ~std::uint64_t{0} / 2, out.seed);
    } else if (name == "--preset") {
      out.preset = value;
      fits = !value.empty();
    } else if (name == "--settings") {
      out.settings = value;
    } else {
      out.weights = value;
    }
    if (!fits) return fail(name, " cannot be ", in_quotes(value), "; --help says what it takes");
  }
  if (out.preset.empty() && !out.settings.empty()) return fail("--settings needs --preset");
  if ((" " + out.settings).find(" budget=") != std::string::npos) {
    return fail("--settings has a budget; --budgets gives it");
  }
  return out;
}

}  // namespace mini
