// SPDX-License-Identifier: MIT

// epikv-mini: a real transformer that generates under a budget, its cache really evicted.

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.hpp"
#include "eval/plan.hpp"
#include "eval/program.hpp"
#include "eval/reasoning.hpp"
#include "eval/runner.hpp"
#include "eval/session.hpp"
#include "mini_model/ledger.hpp"
#include "report/summary.hpp"

namespace {

using eval::arm;
using mini::expected;

const arm full_cache{"none (full cache)", "none", ""};

// Which bands fit the weights is kept beside them, in the file that epikv-calibrate wrote.
expected<std::vector<arm>> table_arms(const epikv::model_shape& shape) {
  const eval::shipped_model own = eval::shipped();
  auto calibrated = eval::arm_of_file(own.preset_file, shape, own.settings);
  if (!calibrated) return calibrated.reason();
  const std::string bands = eval::settings_named("band_", calibrated->settings);
  if (bands.empty()) return mini::fail(own.preset_file, " names no bands");

  std::vector<arm> out;
  for (const std::string& text : {
           std::string{"streaming, prompt kept: streaming protect_prompt=true sinks=0"},
           std::string{"random"},
           std::string{"random-head"},
           std::string{"epikv-q"},
           std::string{"epikv-seg, default bands: epikv-seg"},
           std::string{"epikv-flat, default bands: epikv-flat"},
           "epikv-q add, fitted bands: epikv-q query_mode=add " + bands,
           "epikv-seg, fitted bands: epikv-seg fill=true " + bands,
       }) {
    auto each = eval::parse_arm(text, own.settings);
    if (!each) return each.reason();
    out.push_back(*std::move(each));
  }
  out.push_back(*std::move(calibrated));
  return out;
}

// What cannot work is said before anything is computed or printed.
expected<std::vector<arm>> plan_arms(const comparison::arguments& asked,
                                     const epikv::model_shape& shape) {
  std::vector<arm> arms;
  if (asked.preset.empty()) {
    auto table = table_arms(shape);
    if (!table) return table.reason();
    arms = *std::move(table);
  } else {
    auto only = eval::parse_arm(asked.preset + " " + asked.settings, "");
    if (!only) return only.reason();
    arms = {*std::move(only)};
  }
  if (auto fit = eval::check_arms(arms, asked.budgets, shape); !fit) return fit.reason();
  return arms;
}

// All problems under one arm and budget, one after the other: threads would share the memory's
// speed, and speed is a column.
expected<report::arm> run_arm(eval::task& problems, const mini::loaded_model& model,
                              const arm& each, std::int32_t budget) {
  const auto records = eval::run_task(problems, {{each}, {budget}}, model);
  if (!records) return records.reason();
  return report::summarize(*records).arms.front();
}

void print_head() {
  fmt::print("{:<26} {:>6} {:>11} {:>9} {:>9} {:>7} {:>9} {:>8}\n", "preset", "budget",
             "peak tokens", "peak KiB", "accuracy", "chars", "tokens/s", "vs full");
}

void print_line(const std::string& label, const std::string& budget, const report::arm& r,
                const report::arm& full) {
  fmt::print("{:<26} {:>6} {:>11} {:>9.1f} {:>8.1f}% {:>6.1f}% {:>9.0f} {:>7.2f}x\n", label, budget,
             r.peak_tokens, static_cast<double>(r.peak_bytes) / 1024.0, 100.0 * r.accuracy(),
             100.0 * r.numbers.front().second.mean, r.tokens_per_second(),
             r.tokens_per_second() / full.tokens_per_second());
  std::fflush(stdout);
}

expected<std::string> answer_under(const arm& each, std::int32_t budget,
                                   const mini::ledger_problem& problem,
                                   const mini::loaded_model& model) {
  const auto prompt = model.words.encode(problem.prompt);
  if (!prompt) return prompt.reason();
  eval::session with{model};
  const auto answer =
      with.generate(each, budget, {.prompt = *prompt, .most = problem.trace.size()});
  if (!answer) return answer.reason();
  return model.words.decode(answer->tokens);
}

expected<void> run(const comparison::arguments& asked) {
  const std::string weights = asked.weights.empty() ? eval::shipped().weights : asked.weights;
  const auto loaded = mini::loaded_model::load(weights);
  if (!loaded) return loaded.reason();
  const auto problems = eval::make_reasoning_task(
      {.first_seed = asked.seed, .problems = asked.problems, .steps = asked.steps}, *loaded);
  if (!problems) return mini::fail(weights, ": ", problems.error());
  const auto arms = plan_arms(asked, mini::shape_of(loaded->model.shape));
  if (!arms) return arms.reason();
  const auto sample = mini::make_ledger_problem(asked.seed, 4, asked.steps);
  if (!sample) return sample.reason();

  fmt::print(
      "{} held-out problems of {} steps; the first has a prompt of {} tokens and an answer of "
      "{}:\n\n{}\n\n",
      asked.problems, asked.steps, sample->prompt.size(), sample->trace.size(), sample->prompt);
  print_head();
  const auto full = run_arm(**problems, *loaded, full_cache, 0);
  if (!full) return full.reason();
  print_line(full_cache.name, "-", *full, *full);
  for (const std::int32_t budget : asked.budgets) {
    for (const arm& each : *arms) {
      const auto found = run_arm(**problems, *loaded, each, budget);
      if (!found) return found.reason();
      print_line(each.name, std::to_string(budget), *found, *full);
    }
  }
  const auto whole = answer_under(full_cache, 0, *sample, *loaded);
  if (!whole) return whole.reason();
  const auto last = answer_under(arms->back(), asked.budgets.back(), *sample, *loaded);
  if (!last) return last.reason();
  fmt::print(
      "\nThe first answer with the full cache:\n{}\nand under the last line of the table:\n{}",
      *whole, *last);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  return eval::run_program("epikv-mini", argc, argv, comparison::usage, comparison::parse_arguments,
                           run);
}
