// SPDX-License-Identifier: MIT

// epikv-eval: what a model's answers lose when its cache is evicted, policy by policy.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "plan.hpp"
#include "program.hpp"
#include "report/csv.hpp"
#include "report/line_chart.hpp"
#include "report/summary.hpp"
#include "retention.hpp"
#include "runner.hpp"

namespace {

using mini::expected;

report::configuration configuration_of(const std::string& weights,
                                       const std::vector<std::unique_ptr<eval::task>>& tasks) {
  // By its content the model would take long to name; its size and name tell models apart.
  std::error_code ignored;
  report::configuration all{
      {"model", std::filesystem::path(weights).filename().string()},
      {"model.bytes", std::to_string(std::filesystem::file_size(weights, ignored))}};
  for (const auto& each : tasks) {
    for (auto& setting : each->configuration()) {
      const bool there = std::any_of(
          all.begin(), all.end(), [&](const auto& other) { return other.first == setting.first; });
      if (!there) all.push_back(std::move(setting));
    }
  }
  return all;
}

expected<void> write_reports(const eval::arguments& asked, const report::summary& found,
                             const std::vector<report::record>& records,
                             const report::configuration& settings) {
  const auto write = [](const std::string& path, const auto& content) -> expected<void> {
    if (path.empty()) return {};
    return eval::write_file(path, content());
  };
  if (auto w = write(asked.json, [&] { return report::to_json(found, settings); }); !w) return w;
  if (auto w = write(asked.csv, [&] { return report::to_csv(records); }); !w) return w;
  return write(asked.svg,
               [&] { return report::to_svg(report::budget_chart(found, asked.tasks.front())); });
}

expected<void> write_view(const eval::arguments& asked, const mini::loaded_model& model,
                          const eval::run_plan& plan) {
  const auto prompt = eval::plan_viewed_prompt(asked, model);
  if (!prompt) return prompt.reason();
  const eval::arm& shown = plan.arms.back();
  const std::int32_t budget = plan.budgets.front();
  const auto trace =
      eval::trace_retention(model, shown, budget, *prompt,
                            std::max(asked.passages.text_tokens, asked.passages.answer_tokens),
                            shown.name + " at " + std::to_string(budget));
  if (!trace) return trace.reason();
  const auto page = report::to_html(*trace);
  if (!page) return page.reason();
  return eval::write_file(asked.view, *page);
}

expected<void> run(const eval::arguments& asked) {
  const std::string weights = asked.model.empty() ? eval::shipped().weights : asked.model;
  const auto loaded = mini::loaded_model::load(weights);
  if (!loaded) return loaded.reason();
  const epikv::model_shape shape = mini::shape_of(loaded->model.shape);

  auto arms = eval::plan_arms(asked, shape);
  if (!arms) return arms.reason();
  auto tasks = eval::plan_tasks(asked, *loaded);
  if (!tasks) return tasks.reason();
  const eval::run_plan plan{*std::move(arms), asked.budgets, eval::thread_count(asked.jobs)};

  const report::configuration settings = configuration_of(weights, *tasks);
  eval::record_store store;
  if (auto kept = eval::keep_results(store, asked.out, settings); !kept) return kept;
  for (const auto& each : *tasks) {
    auto done = eval::run_shown(*each, plan, *loaded, store, each->name());
    if (!done) return done;
  }

  std::vector<report::record> records = store.records();
  eval::sort_records(records, asked.tasks, plan);
  const report::summary found = report::summarize(records, "full");
  fmt::print("{}", report::table(found, {.options_width = 60, .times = asked.times}));
  if (auto written = write_reports(asked, found, records, settings); !written) return written;
  if (asked.view.empty()) return {};
  return write_view(asked, *loaded, plan);
}

}  // namespace

int main(int argc, char** argv) {
  return eval::run_program("epikv-eval", argc, argv, eval::usage, eval::parse_arguments, run);
}
