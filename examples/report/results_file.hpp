// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mini_model/result.hpp"
#include "record.hpp"

namespace report {

/// What a results file holds.
struct results {
  configuration settings;
  std::vector<record> records;  ///< in the order of the file
  std::string notice;           ///< what was left out, as a sentence; empty if nothing was
};

/// Reads a results file and leaves it as it is. A last line without its line break, which an
/// interrupted run leaves behind, is left out with a notice. Everything else that is not a record,
/// and a record whose key was there before, is a failure that names the line. O(n log n).
[[nodiscard]] mini::expected<results> load_results(const std::string& path);

/// The results of a run that may be interrupted and started again: a file in the JSON Lines format
/// whose first line holds the configuration. Every record is written with one call and handed to
/// the system before append() returns, so whatever ends the process leaves whole lines and at most
/// one piece of a line. One process at a time may write to a file.
class results_file {
 public:
  /// Creates the file, or goes on with it. Fails if it holds results of another configuration (the
  /// message says what differs), is not a results file, is damaged, or cannot be written; then it
  /// is left as it was. A half-written last line is cut off and mentioned in notice().
  [[nodiscard]] static mini::expected<results_file> open(const std::string& path,
                                                         const configuration& settings);

  results_file(results_file&&) noexcept;
  results_file& operator=(results_file&&) noexcept;
  ~results_file();

  /// Whether a record with this key is there. Any thread, O(log n).
  [[nodiscard]] bool contains(const record_key& key) const;

  /// Writes a record. Fails, and writes nothing, if its key is there already or a name occurs twice
  /// in its numbers. After a failed write the file takes no more records. Any thread.
  [[nodiscard]] mini::expected<void> append(const record& r);

  /// A copy of all records, loaded and appended. Any thread.
  [[nodiscard]] std::vector<record> records() const;

  /// What open() cut off, as a sentence; empty if nothing.
  [[nodiscard]] const std::string& notice() const noexcept;

 private:
  struct state;
  explicit results_file(std::unique_ptr<state> s) noexcept;
  std::unique_ptr<state> state_;
};

}  // namespace report
