// SPDX-License-Identifier: MIT
#include "arguments.hpp"

#include <array>

#include "eval/command_line.hpp"
#include "eval/passage_options.hpp"

namespace calibrate {
namespace {

using eval::read_number;
using eval::read_text;
using line = eval::option_line<arguments>;

constexpr std::size_t million = 1'000'000;

constexpr std::array own_options{
    line{"--model", "FILE", "a GGUF model (default: the shipped reasoning model)",
         [](std::string_view v, arguments& a) { return read_text(v, a.model); }},
    line{"--budget", "K", "tokens a keep-set may hold (default 200)",
         [](std::string_view v, arguments& a) { return read_number(v, 1, 1 << 24, a.budget); }},
    line{"--settings", "TEXT", "settings of all presets that understand them, as \"tau=16\"",
         [](std::string_view v, arguments& a) { return read_text(v, a.settings); }},
    line{"--by", "MEASURE", "kl (teacher-forced, default) or answers (of reasoning problems)",
         [](std::string_view v, arguments& a) {
           a.by = v == "answers" ? measure::answers : measure::kl;
           return v == "answers" || v == "kl";
         }},
    line{"--problems", "N", "problems or passages to choose by (default 8)",
         [](std::string_view v, arguments& a) {
           return read_number<std::size_t>(v, 1, million, a.problems);
         }},
    line{"--held-out", "N", "further ones to confirm the choice on (default 8)",
         [](std::string_view v, arguments& a) {
           return read_number<std::size_t>(v, 0, million, a.held_out);
         }},
    line{"--jobs", "N", "threads (default: one for each core)",
         [](std::string_view v, arguments& a) {
           return read_number<std::size_t>(v, 1, 1024, a.jobs);
         }},
    line{"--out", "FILE", "results, line by line; an interrupted search goes on from it",
         [](std::string_view v, arguments& a) { return read_text(v, a.out); }},
    line{"--svg", "FILE", "a heat map of the pairs of bands",
         [](std::string_view v, arguments& a) { return read_text(v, a.svg); }},
    line{"--preset-file", "FILE", "where the winner goes, for make_evictor and epikv-eval",
         [](std::string_view v, arguments& a) { return read_text(v, a.preset_file); }},
};

const auto options = eval::joined(own_options, eval::passage_option_lines<arguments>);

}  // namespace

std::string usage() {
  return "usage: epikv-calibrate [options]\n\n"
         "Finds by outcome which of a model's layers the epiphany score should read, and whether\n"
         "segments and relevance help, and stores the best as a preset file.\n\n" +
         eval::describe<arguments>(options);
}

mini::expected<arguments> parse_arguments(const std::vector<std::string_view>& words) {
  arguments out;
  if (const auto read = eval::parse_options<arguments>(options, words, out); !read) {
    return read.reason();
  }
  if (out.by == measure::answers && !(out.passages.text + out.passages.prompts).empty()) {
    return mini::fail("--by answers is for reasoning problems, not for a --text or --prompts");
  }
  return out;
}

}  // namespace calibrate
