// SPDX-License-Identifier: MIT
#include "runner.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <tuple>
#include <utility>

namespace eval {
namespace {

using mini::expected;

// Calls visit(arm, budget) for every run of a problem.
template <class Visit>
void each_run(const run_plan& plan, Visit visit) {
  for (const arm& each : plan.arms) {
    if (each.is_full()) {
      visit(each, 0);
      continue;
    }
    for (const std::int32_t budget : plan.budgets) visit(each, budget);
  }
}

report::record_key key_of_run(const task& what, const arm& each, std::int32_t budget,
                              std::size_t problem) {
  return {what.name(), each.name, each.settings, budget, static_cast<std::int64_t>(problem)};
}

// One past the plan's last problem.
std::size_t end_of(const task& what, const run_plan& plan) {
  const std::size_t first = std::min(plan.first, what.problems());
  return first + std::min(plan.at_most, what.problems() - first);
}

}  // namespace

void record_store::keep_in(report::results_file file) { file_ = std::move(file); }

bool record_store::contains(const report::record_key& key) const {
  if (file_) return file_->contains(key);
  const std::scoped_lock lock{mutex_};
  return kept_keys_.contains(key);
}

expected<void> record_store::append(const report::record& r) {
  if (file_) return file_->append(r);
  const std::scoped_lock lock{mutex_};
  kept_.push_back(r);
  kept_keys_.insert(report::key_of(r));
  return {};
}

std::vector<report::record> record_store::records() const {
  if (file_) return file_->records();
  const std::scoped_lock lock{mutex_};
  return kept_;
}

std::size_t run_plan::runs() const noexcept {
  std::size_t count = 0;
  each_run(*this, [&](const arm&, std::int32_t) { ++count; });
  return count;
}

std::size_t missing_runs(const task& what, const run_plan& plan, const record_store& store) {
  std::size_t missing = 0;
  for (std::size_t i = plan.first; i < end_of(what, plan); ++i) {
    each_run(plan, [&](const arm& each, std::int32_t budget) {
      missing += store.contains(key_of_run(what, each, budget, i)) ? 0 : 1;
    });
  }
  return missing;
}

expected<void> run_shown(task& what, const run_plan& plan, const mini::loaded_model& model,
                         record_store& store, std::string label) {
  const std::size_t problems = end_of(what, plan) - std::min(plan.first, what.problems());
  const std::size_t all = problems * plan.runs();
  auto options = report::progress_on_stderr(std::move(label), static_cast<std::int64_t>(all));
  options.already = static_cast<std::int64_t>(all - missing_runs(what, plan, store));
  report::progress shown{std::move(options)};
  return run_task(what, plan, model, store, shown);
}

expected<void> run_task(task& what, const run_plan& plan, const mini::loaded_model& model,
                        record_store& store, report::progress& shown) {
  const std::size_t end = end_of(what, plan);
  std::atomic<std::size_t> next{plan.first};
  std::atomic<bool> stopped{false};
  std::mutex mutex;
  std::optional<mini::failure> problem_found;
  const auto stop = [&](mini::failure why) {
    const std::scoped_lock lock{mutex};
    if (!problem_found) problem_found = std::move(why);
    stopped = true;
  };

  const auto work = [&] {
    session with{model};
    while (!stopped) {
      const std::size_t i = next++;
      if (i >= end) return;
      std::unique_ptr<trial> prepared;  // once a run of the problem is missing
      each_run(plan, [&](const arm& each, std::int32_t budget) {
        report::record_key key = key_of_run(what, each, budget, i);
        if (stopped || store.contains(key)) return;
        if (prepared == nullptr) {
          with.begin_problem(i);
          auto made = what.prepare(with, i);
          if (!made) return stop(made.reason());
          prepared = *std::move(made);
        }
        auto outcome = prepared->run(with, each, budget);
        if (!outcome) return stop(outcome.reason());
        outcome->task = std::move(key.task);
        outcome->preset = std::move(key.preset);
        outcome->options = std::move(key.options);
        outcome->budget = key.budget;
        outcome->problem = key.problem;
        if (const auto written = store.append(*outcome); !written) return stop(written.reason());
        shown.advance();
      });
    }
  };
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < plan.jobs; ++i) others.emplace_back(work);
  work();
  for (std::thread& each : others) each.join();
  if (problem_found) return *std::move(problem_found);
  return {};
}

expected<std::vector<report::record>> run_task(task& what, const run_plan& plan,
                                               const mini::loaded_model& model) {
  record_store store;
  report::progress unseen{{}};
  if (auto done = run_task(what, plan, model, store, unseen); !done) return done.reason();
  return store.records();
}

void sort_records(std::vector<report::record>& records, const std::vector<std::string>& tasks,
                  const run_plan& plan) {
  const auto rank = [&](const report::record& r) {
    const auto task = std::find(tasks.begin(), tasks.end(), r.task) - tasks.begin();
    const auto arm_at = std::find_if(plan.arms.begin(), plan.arms.end(),
                                     [&](const arm& each) {
                                       return each.name == r.preset && each.settings == r.options;
                                     }) -
                        plan.arms.begin();
    const auto budget =
        std::find(plan.budgets.begin(), plan.budgets.end(), r.budget) - plan.budgets.begin();
    return std::tuple{task, arm_at, budget, r.problem};
  };
  std::stable_sort(
      records.begin(), records.end(),
      [&](const report::record& a, const report::record& b) { return rank(a) < rank(b); });
}

}  // namespace eval
