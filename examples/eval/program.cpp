// SPDX-License-Identifier: MIT
#include "program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <thread>
#include <utility>

#include "report/results_file.hpp"

namespace eval {

using mini::expected;

expected<void> write_file(const std::string& path, const std::string& content) {
  if (path.empty()) return {};
  std::ofstream out{path, std::ios::binary};
  out << content;
  out.close();
  if (!out) return mini::fail(path, " cannot be written");
  return {};
}

expected<void> keep_results(record_store& store, const std::string& path,
                            const report::configuration& settings) {
  if (path.empty()) return {};
  auto file = report::results_file::open(path, settings);
  if (!file) return file.reason();
  if (!file->notice().empty()) fmt::print(stderr, "{}\n", file->notice());
  store.keep_in(*std::move(file));
  return {};
}

std::size_t thread_count(std::size_t asked) noexcept {
  return asked == 0 ? std::max(1U, std::thread::hardware_concurrency()) : asked;
}

}  // namespace eval
