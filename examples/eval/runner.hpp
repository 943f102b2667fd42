// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "arm.hpp"
#include "mini_model/loaded_model.hpp"
#include "report/progress.hpp"
#include "report/results_file.hpp"
#include "task.hpp"

namespace eval {

/// Records of a run: in memory, and in a results file when there is one. Any thread may use it.
class record_store {
 public:
  record_store() = default;
  record_store(const record_store&) = delete;
  record_store& operator=(const record_store&) = delete;

  /// From now on records are those of the file. Before the first use.
  void keep_in(report::results_file file);

  [[nodiscard]] bool contains(const report::record_key& key) const;
  [[nodiscard]] mini::expected<void> append(const report::record& r);
  [[nodiscard]] std::vector<report::record> records() const;

 private:
  mutable std::mutex mutex_;
  std::optional<report::results_file> file_;
  std::vector<report::record> kept_;  // both without a file
  std::set<report::record_key> kept_keys_;
};

/// Which arms at which budgets, on which problems and how many threads. The full cache is an arm
/// without budgets.
struct run_plan {
  std::vector<arm> arms;
  std::vector<std::int32_t> budgets;
  std::size_t jobs = 1;
  std::size_t first = 0;                  ///< problem
  std::size_t at_most = ~std::size_t{0};  ///< problems, from `first` on

  /// Runs of one problem.
  [[nodiscard]] std::size_t runs() const noexcept;
};

/// Runs of the task that the store does not have yet.
[[nodiscard]] std::size_t missing_runs(const task& what, const run_plan& plan,
                                       const record_store& store);

/// Runs what the store does not have yet, problem by problem. Results do not depend on the number
/// of threads, only the order in which they arrive. After the first failure no new run begins.
[[nodiscard]] mini::expected<void> run_task(task& what, const run_plan& plan,
                                            const mini::loaded_model& model, record_store& store,
                                            report::progress& shown);

/// All records of the plan, none kept elsewhere and no progress shown.
[[nodiscard]] mini::expected<std::vector<report::record>> run_task(task& what, const run_plan& plan,
                                                                   const mini::loaded_model& model);

/// run_task() with its progress on standard error.
[[nodiscard]] mini::expected<void> run_shown(task& what, const run_plan& plan,
                                             const mini::loaded_model& model, record_store& store,
                                             std::string label);

/// Records in the order of the plan: tasks as given, arms, budgets, problems.
void sort_records(std::vector<report::record>& records, const std::vector<std::string>& tasks,
                  const run_plan& plan);

}  // namespace eval
