// SPDX-License-Identifier: MIT
#include "arguments.hpp"

#include <array>

#include "eval/command_line.hpp"

namespace comparison {
namespace {

using eval::read_number;
using eval::read_text;
using line = eval::option_line<arguments>;

constexpr std::array options{
    line{"--problems", "N", "problems per line of the table (default 40)",
         [](std::string_view v, arguments& a) {
           return read_number<std::size_t>(v, 1, 1'000'000, a.problems);
         }},
    line{"--budgets", "K[,K]", "tokens a keep-set may hold (default 200,140)",
         [](std::string_view v, arguments& a) { return eval::read_budgets(v, a.budgets); }},
    line{"--steps", "N", "steps of a problem, 1 to 20 (default 12)",
         [](std::string_view v, arguments& a) {
           return read_number<std::size_t>(v, 1, 20, a.steps);
         }},
    line{"--seed", "N", "number of the first problem (default 1000000)",
         [](std::string_view v, arguments& a) {
           return read_number<std::uint64_t>(v, 0, ~std::uint64_t{0} / 2, a.seed);
         }},
    line{"--preset", "NAME", "compare this preset alone with the full cache",
         [](std::string_view v, arguments& a) { return read_text(v, a.preset); }},
    line{"--settings", "TEXT", "its settings, e.g. \"band_a=4 band_b=3 tau=16 recent=32\"",
         [](std::string_view v, arguments& a) { return read_text(v, a.settings); }},
    line{"--weights", "FILE", "a GGUF model that solves the task (default: the one shipped)",
         [](std::string_view v, arguments& a) { return read_text(v, a.weights); }},
};

}  // namespace

std::string usage() {
  return "usage: epikv-mini [options]\n\n"
         "Generates worked answers to held-out ledger problems with a small llama model, with the\n"
         "full cache and with its cache evicted by EpiKV presets, and prints how each of them "
         "does.\n\n" +
         eval::describe<arguments>(options);
}

mini::expected<arguments> parse_arguments(const std::vector<std::string_view>& words) {
  arguments out;
  if (const auto read = eval::parse_options<arguments>(options, words, out); !read) {
    return read.reason();
  }
  if (out.help) return out;
  if (out.preset.empty() && !out.settings.empty()) {
    return mini::fail("--settings needs --preset");
  }
  if ((" " + out.settings).find(" budget=") != std::string::npos) {
    return mini::fail("--settings has a budget; --budgets gives it");
  }
  return out;
}

}  // namespace comparison
