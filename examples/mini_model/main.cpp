// SPDX-License-Identifier: MIT

// epikv-mini: a real transformer that generates under a budget, its cache really evicted.

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.hpp"
#include "experiment.hpp"

namespace {

// The window and the segments fit the task's lines of 38 characters, as the paper's 128 fit its
// longer thoughts.
constexpr std::string_view common = "tau=16 recent=32";
constexpr std::string_view segments = " segment=32 tiers=16,8,2";

// Which bands fit the weights is kept beside them, in the file that epikv-calibrate wrote.
mini::expected<std::vector<mini::arm>> table_arms(const std::string& preset_path) {
  const auto calibrated = epikv::preset_file::open(preset_path.c_str());
  if (!calibrated) return mini::fail(calibrated.status().message());
  std::string bands;
  std::string all;
  for (const epikv::option& each : calibrated->settings()) {
    const std::string setting = fmt::format(" {}={}", each.name(), each.word());
    if (each.name().substr(0, 5) == "band_") bands += setting;
    all += setting;
  }
  if (bands.empty()) return mini::fail(preset_path, " names no bands");
  const std::string base{common};
  const std::string seg = base + std::string{segments};
  return std::vector<mini::arm>{
      {"streaming, prompt kept", "streaming", base + " protect_prompt=true sinks=0"},
      {"random", "random", base},
      {"random-head", "random-head", base},
      {"epikv-q", "epikv-q", seg},
      {"epikv-seg, default bands", "epikv-seg", seg},
      {"epikv-flat, default bands", "epikv-flat", base},
      {"epikv-q add, fitted bands", "epikv-q", seg + bands + " query_mode=add"},
      {"epikv-seg, fitted bands", "epikv-seg", seg + bands + " fill=true"},
      {"calibrated", std::string{calibrated->name()}, all}};
}

int complain(const std::string& what) {
  fmt::print(stderr, "epikv-mini: {}\n", what);
  return 2;
}

void print_head() {
  fmt::print("{:<26} {:>6} {:>11} {:>9} {:>9} {:>7} {:>9} {:>8}\n", "preset", "budget",
             "peak tokens", "peak KiB", "accuracy", "chars", "tokens/s", "vs full");
}

void print_line(const std::string& label, const std::string& budget, const mini::arm_result& r,
                const mini::arm_result& full) {
  fmt::print("{:<26} {:>6} {:>11} {:>9.1f} {:>8.1f}% {:>6.1f}% {:>9.0f} {:>7.2f}x\n", label, budget,
             r.peak_tokens, static_cast<double>(r.peak_bytes) / 1024.0, 100.0 * r.accuracy(),
             100.0 * r.characters, r.tokens_per_second(),
             r.tokens_per_second() / full.tokens_per_second());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  const auto asked =
      mini::parse_arguments(words, EPIKV_SOURCE_DIR "/examples/mini_model/weights/ledger.gguf");
  if (!asked) return complain(asked.error());
  if (asked->help) {
    fmt::print("{}", mini::usage);
    return 0;
  }
  const auto loaded = mini::loaded_model::load(asked->weights);
  if (!loaded) return complain(loaded.error());

  const mini::problem_set problems{asked->seed, asked->problems, asked->steps};
  const auto sample = mini::make_ledger_problem(problems.first_seed, 4, problems.steps);
  if (!sample) return complain(sample.error());

  // What cannot work is said before anything is computed or printed.
  if (const auto prompt = loaded->words.encode(sample->prompt); !prompt) {
    return complain(asked->weights + ": " + prompt.error());
  }
  std::vector<mini::arm> arms;
  if (!asked->preset.empty()) {
    arms = {{asked->preset, asked->preset, asked->settings}};
  } else {
    auto table = table_arms(EPIKV_SOURCE_DIR "/examples/mini_model/weights/ledger.preset");
    if (!table) return complain(table.error());
    arms = *std::move(table);
  }
  for (const std::int32_t budget : asked->budgets) {
    for (const mini::arm& each : arms) {
      const auto evictor = mini::make_arm_evictor(*loaded, each, budget);
      if (!evictor) return complain(evictor.error());
    }
  }

  fmt::print(
      "{} held-out problems of {} steps; the first has a prompt of {} tokens and an answer of "
      "{}:\n\n{}\n\n",
      problems.count, problems.steps, sample->prompt.size(), sample->trace.size(), sample->prompt);

  print_head();
  const auto full = mini::run_arm(*loaded, {"none", "none", ""}, 1 << 20, problems);
  if (!full) return complain(full.error());
  print_line("none (full cache)", "-", *full, *full);
  std::string last_text;
  for (const std::int32_t budget : asked->budgets) {
    for (const mini::arm& each : arms) {
      const auto found = mini::run_arm(*loaded, each, budget, problems);
      if (!found) return complain(found.error());
      print_line(each.label, std::to_string(budget), *found, *full);
      last_text = found->first_text;
    }
  }
  fmt::print(
      "\nThe first answer with the full cache:\n{}\nand under the last line of the table:\n{}",
      full->first_text, last_text);
  return 0;
}
