// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

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

/// A program: reads its arguments, whose --help prints `usage`, and runs. An error is printed after
/// the program's name. Returns the exit status.
template <class Parse, class Run>
[[nodiscard]] int run_program(const char* name, int argc, char** argv, std::string (*usage)(),
                              Parse parse, Run run) {
  const std::vector<std::string_view> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  const auto asked = parse(words);
  if (asked && asked->help) {
    fmt::print("{}", usage());
    return 0;
  }
  const mini::expected<void> done = asked ? run(*asked) : mini::expected<void>{asked.reason()};
  if (done) return 0;
  fmt::print(stderr, "{}: {}\n", name, done.error());
  return 2;
}

}  // namespace eval
