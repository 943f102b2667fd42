// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace report {

/// What progress shows and where it goes.
struct progress_options {
  std::string label;
  std::int64_t total = 0;             ///< 0 or less: not known, so no bar and no time left
  std::int64_t already = 0;           ///< done by an earlier run: counted, but not part of the rate
  bool terminal = false;              ///< redraw one line; otherwise whole lines, now and then
  std::size_t columns = 80;           ///< of the terminal
  double seconds_between = 0.1;       ///< redraws of a terminal
  double seconds_between_lines = 30;  ///< lines where there is no terminal
  /// Takes what is printed. Called by one thread at a time; must not call the progress back.
  std::function<void(std::string_view)> sink;
  /// Seconds that never go backwards.
  std::function<double()> clock;
};

/// Options that print to standard error and find out whether it is a terminal and how wide.
[[nodiscard]] progress_options progress_on_stderr(std::string label, std::int64_t total);

/// A progress bar on a terminal, occasional lines in a log. All functions may be called from any
/// thread.
class progress {
 public:
  /// Shows the first state. Without a sink nothing is shown; without a clock, the steady clock.
  explicit progress(progress_options options);
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  /// Calls finish().
  ~progress();

  /// `count` more are done. `note`, if not empty, is shown behind the numbers from now on.
  void advance(std::int64_t count = 1, std::string_view note = {});

  /// Prints a line of its own, above the bar if there is one.
  void message(std::string_view line);

  /// Shows the last state and ends the line. Later calls of any function but message() do nothing.
  void finish();

  [[nodiscard]] std::int64_t done() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace report
