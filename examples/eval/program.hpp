// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

#include "mini_model/result.hpp"
#include "report/record.hpp"
#include "runner.hpp"

// What the programs around the runner share.

namespace eval {

/// Writes a file; an empty path is none. The error names the path.
[[nodiscard]] mini::expected<void> write_file(const std::string& path, const std::string& content);

/// Keeps a store's records in a results file, new or to be gone on with; an empty path is none.
/// What was cut off a damaged end is said on standard error.
[[nodiscard]] mini::expected<void> keep_results(record_store& store, const std::string& path,
                                                const report::configuration& settings);

/// The threads for `asked` jobs; 0 asks for one on each core.
[[nodiscard]] std::size_t thread_count(std::size_t asked) noexcept;

/// The end of a program: prints an error after the program's name and gives the exit status.
[[nodiscard]] int exit_status(const char* program, const mini::expected<void>& done);

}  // namespace eval
