// SPDX-License-Identifier: MIT
#include "arguments.hpp"

#include <array>

#include "command_line.hpp"
#include "passage_options.hpp"

namespace eval {
namespace {

using mini::expected;

using line = option_line<arguments>;

constexpr std::size_t million = 1'000'000;

constexpr std::array own_options{
    line{"--model", "FILE", "a GGUF model (default: the shipped reasoning model)",
         [](std::string_view v, arguments& a) { return read_text(v, a.model); }},
    line{"--task", "NAMES", "reasoning, agreement, perplexity, needle, gsm8k (default reasoning)",
         [](std::string_view v, arguments& a) { return read_names(v, a.tasks); }},
    line{"--presets", "NAMES", "EpiKV presets, or all (default: all, unless --arm is given)",
         [](std::string_view v, arguments& a) { return read_names(v, a.presets); }},
    line{"--arm", "TEXT", "\"[NAME: ]PRESET [SETTINGS]\"; may be given several times",
         [](std::string_view v, arguments& a) {
           a.arms.emplace_back(v);
           return !v.empty();
         }},
    line{"--calibrated", "FILE",
         "a preset file of epikv-calibrate, or none (default: the shipped model's own)",
         [](std::string_view v, arguments& a) { return read_text(v, a.calibrated); }},
    line{"--settings", "TEXT", "settings of all arms that understand them, as \"tau=16\"",
         [](std::string_view v, arguments& a) { return read_text(v, a.settings); }},
    line{"--budgets", "K[,K]", "tokens a keep-set may hold (default 260,200,160)",
         [](std::string_view v, arguments& a) { return read_budgets(v, a.budgets); }},
    line{"--problems", "N", "problems of each task (default 100)",
         [](std::string_view v, arguments& a) {
           return read_number<std::size_t>(v, 1, million, a.problems);
         }},
    line{"--jobs", "N", "threads (default: one for each core)",
         [](std::string_view v, arguments& a) {
           return read_number<std::size_t>(v, 1, 1024, a.jobs);
         }},
    line{"--out", "FILE", "results, line by line; an interrupted run goes on from it",
         [](std::string_view v, arguments& a) { return read_text(v, a.out); }},
    line{"--json", "FILE", "the summary as JSON",
         [](std::string_view v, arguments& a) { return read_text(v, a.json); }},
    line{"--csv", "FILE", "all results as CSV",
         [](std::string_view v, arguments& a) { return read_text(v, a.csv); }},
    line{"--svg", "FILE", "a chart of accuracy against budget",
         [](std::string_view v, arguments& a) { return read_text(v, a.svg); }},
    line{"--view", "FILE", "an HTML page that shows what the last arm kept, at the first budget",
         [](std::string_view v, arguments& a) { return read_text(v, a.view); }},
    line{"--times", "", "print tokens per second too, which a second run will not repeat",
         [](std::string_view, arguments& a) { return a.times = true; }},
};

const auto options = joined(own_options, passage_option_lines<arguments>);

}  // namespace

std::string usage() {
  return "usage: epikv-eval [options]\n\n"
         "Runs a model with its cache evicted by EpiKV presets under budgets, and compares each\n"
         "with the full cache on the same problems.\n\n" +
         describe<arguments>(options);
}

expected<arguments> parse_arguments(const std::vector<std::string_view>& words) {
  arguments out;
  if (const auto read = parse_options<arguments>(options, words, out); !read) {
    return read.reason();
  }
  return out;
}

}  // namespace eval
