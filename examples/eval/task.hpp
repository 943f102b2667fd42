// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "arm.hpp"
#include "mini_model/result.hpp"
#include "report/record.hpp"
#include "session.hpp"

namespace eval {

/// One problem of a task, prepared: what all arms share, such as the full cache's answer, is there
/// once.
class trial {
 public:
  trial() = default;
  trial(const trial&) = delete;
  trial& operator=(const trial&) = delete;
  virtual ~trial() = default;

  /// What becomes of the problem under an arm and a budget. The record's task, arm, budget and
  /// problem are filled in by the caller.
  [[nodiscard]] virtual mini::expected<report::record> run(session& with, const arm& each,
                                                           std::int32_t budget) = 0;
};

/// A set of problems with a measure. Any thread may prepare problems.
class task {
 public:
  task() = default;
  task(const task&) = delete;
  task& operator=(const task&) = delete;
  virtual ~task() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::size_t problems() const = 0;

  /// What results depend on, for the results file.
  [[nodiscard]] virtual report::configuration configuration() const = 0;

  [[nodiscard]] virtual mini::expected<std::unique_ptr<trial>> prepare(session& with,
                                                                       std::size_t problem) = 0;
};

/// Puts what a run cost into a record.
inline void add_cost(report::record& to, const run_cost& cost) {
  to.peak_tokens = static_cast<std::int64_t>(cost.peak_tokens);
  to.peak_bytes = static_cast<std::int64_t>(cost.peak_bytes);
  to.seconds = cost.seconds;
}

}  // namespace eval
