// SPDX-License-Identifier: MIT

// epikv-calibrate: does the epiphany score work on a model, and with which bands?

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "eval/agreement.hpp"
#include "eval/passage.hpp"
#include "eval/plan.hpp"
#include "eval/program.hpp"
#include "eval/reasoning.hpp"
#include "report/heat_map.hpp"
#include "search.hpp"

namespace {

using calibrate::arguments;
using calibrate::findings;
using calibrate::measure;
using calibrate::scored_arm;
using calibrate::scored_pair;
using mini::expected;
using mini::fail;

expected<std::unique_ptr<eval::task>> make_task(const arguments& asked,
                                                const mini::loaded_model& model) {
  const std::size_t count = asked.problems + asked.held_out;
  if (asked.by == measure::answers) {
    return eval::make_reasoning_task(
        {.first_seed = asked.passages.first_seed, .problems = count, .steps = asked.passages.steps},
        model);
  }
  eval::passage_options options = asked.passages;
  options.at_most = count;
  auto passages = eval::make_passages(options, model);
  if (!passages) return passages.reason();
  if ((*passages)->count() < count) {
    return fail("there are ", (*passages)->count(), " passages, not the ", count,
                " of --problems and --held-out");
  }
  return eval::make_agreement_task(*std::move(passages));
}

std::string measure_name(measure by) {
  return by == measure::kl ? "KL per token" : "wrong answers";
}

void print_arms(const std::string& title, const std::vector<scored_arm>& arms, measure by) {
  std::size_t width = 0;
  for (const scored_arm& each : arms) width = std::max(width, each.each.name.size());
  fmt::print("\n{}\n{:<{}}  {:>13}  {}\n", title, "", width, measure_name(by), "settings");
  for (const scored_arm& each : arms) {
    fmt::print("{:<{}}  {:>13.3g}  {} {}\n", each.each.name, width, each.loss, each.each.preset,
               each.each.settings);
  }
}

void print_pairs(const std::vector<scored_pair>& pairs, measure by) {
  std::vector<scored_pair> sorted = pairs;
  std::stable_sort(sorted.begin(), sorted.end(), [](const scored_pair& x, const scored_pair& y) {
    return std::pair{y.problems, x.loss} < std::pair{x.problems, y.loss};
  });
  constexpr std::size_t most = 12;
  fmt::print("\nThe best pairs of bands of {}\n{:>3} {:>3}  {:>13}  problems\n", pairs.size(), "a",
             "b", measure_name(by));
  for (std::size_t i = 0; i < std::min(most, sorted.size()); ++i) {
    fmt::print("{:>3} {:>3}  {:>13.3g}  {:>8}\n", sorted[i].a, sorted[i].b, sorted[i].loss,
               sorted[i].problems);
  }
}

report::heat_map heat_map_of(const findings& found, const std::string& model, measure by) {
  std::vector<std::int32_t> as, bs;
  const auto add = [](std::vector<std::int32_t>& to, std::int32_t layer) {
    if (std::find(to.begin(), to.end(), layer) == to.end()) to.push_back(layer);
  };
  for (const scored_pair& each : found.pairs) add(as, each.a), add(bs, each.b);
  std::sort(as.begin(), as.end());
  std::sort(bs.begin(), bs.end());
  report::heat_map map;
  map.title = "Bands of the epiphany score on " + model;
  map.row_label = "band a (layer)";
  map.column_label = "band b (layer)";
  map.value_label = measure_name(by);
  map.decimals = 3;
  map.higher_is_better = false;
  for (const std::int32_t a : as) map.rows.push_back(std::to_string(a));
  for (const std::int32_t b : bs) map.columns.push_back(std::to_string(b));
  map.values.resize(as.size() * bs.size());
  for (const scored_pair& each : found.pairs) {
    const auto row = static_cast<std::size_t>(std::find(as.begin(), as.end(), each.a) - as.begin());
    const auto col = static_cast<std::size_t>(std::find(bs.begin(), bs.end(), each.b) - bs.begin());
    map.values[row * bs.size() + col] = each.loss;
  }
  return map;
}

std::string preset_text(const findings& found, const arguments& asked, const std::string& model,
                        const epikv::model_shape& shape) {
  const scored_arm& best = found.finalists[found.winner];
  std::string out =
      fmt::format("# {}, found by epikv-calibrate: {} {:.3g} over {} problems at a budget of {}.\n",
                  model, measure_name(asked.by), best.loss, best.losses.size(), asked.budget);
  for (const scored_arm& each : found.held_out) {
    out += fmt::format("# held out: {:.3g}  {}\n", each.loss, each.each.name);
  }
  out += fmt::format("preset={}\nlayers={} query_heads={} kv_heads={} head_dim={} hidden={}\n{}\n",
                     best.each.preset, shape.layers, shape.query_heads, shape.kv_heads,
                     shape.head_dim, shape.hidden, best.each.settings);
  return out;
}

expected<void> run(const arguments& asked) {
  const bool own = asked.model.empty();
  const std::string weights = own ? eval::shipped().weights : asked.model;
  const auto loaded = mini::loaded_model::load(weights);
  if (!loaded) return loaded.reason();
  const epikv::model_shape shape = mini::shape_of(loaded->model.shape);
  const auto task = make_task(asked, *loaded);
  if (!task) return task.reason();

  const std::string model = std::filesystem::path(weights).filename().string();
  eval::record_store store;
  report::configuration settings = (*task)->configuration();
  settings.emplace_back("model", model);
  if (auto kept = eval::keep_results(store, asked.out, settings); !kept) return kept;

  calibrate::search_options options;
  options.budget = asked.budget;
  options.settings = asked.settings.empty() && own ? eval::shipped().settings : asked.settings;
  options.by = asked.by;
  options.problems = asked.problems;
  options.jobs = eval::thread_count(asked.jobs);
  if (const auto known = eval::preset_arms(options.settings); !known) return known.reason();
  calibrate::search search{**task, *loaded, store, options,
                           [](const std::string& line) { fmt::print(stderr, "{}\n", line); }};
  const auto found = search.run();
  if (!found) return found.reason();

  print_pairs(found->pairs, asked.by);
  print_arms("Ways to use the best pair", found->finalists, asked.by);
  if (!found->held_out.empty()) {
    print_arms("On problems it was not chosen by", found->held_out, asked.by);
  }
  if (auto w = eval::write_file(asked.svg, report::to_svg(heat_map_of(*found, model, asked.by)));
      !w) {
    return w;
  }
  return eval::write_file(asked.preset_file, preset_text(*found, asked, model, shape));
}

}  // namespace

int main(int argc, char** argv) {
  return eval::run_program("epikv-calibrate", argc, argv, calibrate::usage,
                           calibrate::parse_arguments, run);
}
