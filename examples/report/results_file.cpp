// SPDX-License-Identifier: MIT
#include "results_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "json_lines.hpp"
#include "text.hpp"

namespace report {

namespace {

struct file_closer {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using file_handle = std::unique_ptr<std::FILE, file_closer>;

mini::failure io_failure(const std::string& path, std::string_view what) {
  return mini::fail(path, ": ", what, ": ", std::strerror(errno));
}

mini::expected<std::string> read_all(const std::string& path) {
  const file_handle file(std::fopen(path.c_str(), "rb"));
  if (!file) return io_failure(path, "cannot be opened");
  std::string text;
  char chunk[1 << 16];
  for (std::size_t n = 0; (n = std::fread(chunk, 1, sizeof chunk, file.get())) > 0;) {
    text.append(chunk, n);
  }
  if (std::ferror(file.get()) != 0) return io_failure(path, "cannot be read");
  return text;
}

// The text up to and including its last line break, and what follows.
std::pair<std::string_view, std::string_view> split_at_last_break(std::string_view text) {
  const std::size_t end = text.rfind('\n') + 1;  // npos + 1 == 0
  return {text.substr(0, end), text.substr(end)};
}

std::string cut_notice(const std::string& path, std::size_t bytes) {
  return fmt::format("{}: the last line was not finished ({} bytes), so it is left out", path,
                     bytes);
}

mini::expected<results> parse_lines(const std::string& path, std::string_view lines) {
  results out;
  std::map<record_key, std::size_t> line_of;
  for (std::size_t number = 1; !lines.empty(); ++number) {
    const std::size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end + 1);
    const auto refuse = [&path, number](std::string_view why) {
      return mini::fail(path, ":", number, ": the line ", why);
    };
    if (number == 1) {
      auto settings = parse_header(line);
      if (!settings) return refuse(settings.error());
      out.settings = *std::move(settings);
      continue;
    }
    auto parsed = parse_record(line);
    if (!parsed) return refuse(parsed.error());
    const auto added = line_of.emplace(key_of(*parsed), number);
    if (!added.second) {
      return refuse(fmt::format("repeats line {}: the same task, preset, options, budget, problem",
                                added.first->second));
    }
    out.records.push_back(*std::move(parsed));
  }
  return out;
}

// "seed is 1 in the file and 2 now; ...", at most a few of them.
std::string differences(const configuration& file, const configuration& now) {
  using named = std::map<std::string, std::string>;
  const named there(file.begin(), file.end());
  const named here(now.begin(), now.end());
  std::set<std::string> names;
  for (const auto& each : file) names.insert(each.first);
  for (const auto& each : now) names.insert(each.first);
  const auto value = [](const named& from, const std::string& name) {
    const auto found = from.find(name);
    return found == from.end() ? std::string("not set") : mini::in_quotes(found->second);
  };
  std::string text;
  constexpr int most = 4;
  int count = 0;
  for (const std::string& name : names) {
    const std::string a = value(there, name);
    const std::string b = value(here, name);
    const bool same = there.count(name) == here.count(name) &&
                      (there.count(name) == 0 || there.at(name) == here.at(name));
    if (same) continue;
    if (++count > most) continue;
    text += fmt::format("{}{} is {} in the file and {} now", text.empty() ? "" : "; ", name, a, b);
  }
  if (count > most) text += fmt::format("; and {} more", count - most);
  return text;
}

}  // namespace

mini::expected<results> load_results(const std::string& path) {
  auto text = read_all(path);
  if (!text) return text.reason();
  const auto [whole, rest] = split_at_last_break(*text);
  if (whole.empty()) return mini::fail(path, ": is not a results file: it has no header line");
  auto out = parse_lines(path, whole);
  if (out && !rest.empty()) out->notice = cut_notice(path, rest.size());
  return out;
}

struct results_file::state {
  std::string path;
  std::string notice;
  file_handle file;
  mutable std::mutex mutex;  // guards what follows
  std::vector<record> records;
  std::set<record_key> keys;
  bool broken = false;

  // One write: the stream has no buffer that could be flushed half-way.
  bool write(std::string line) {
    line += '\n';
    return std::fwrite(line.data(), 1, line.size(), file.get()) == line.size() &&
           std::fflush(file.get()) == 0;
  }
};

results_file::results_file(std::unique_ptr<state> s) noexcept : state_(std::move(s)) {}
results_file::results_file(results_file&&) noexcept = default;
results_file& results_file::operator=(results_file&&) noexcept = default;
results_file::~results_file() = default;

mini::expected<results_file> results_file::open(const std::string& path,
                                                const configuration& settings) {
  auto s = std::make_unique<state>();
  s->path = path;
  const std::string header = header_line(settings);
  std::string text;
  std::error_code problem;
  if (std::filesystem::exists(path, problem)) {
    auto read = read_all(path);
    if (!read) return read.reason();
    text = *std::move(read);
  }
  const auto [whole, rest] = split_at_last_break(text);
  if (whole.empty()) {
    // Nothing may be cut off that is not the beginning of our own first line.
    if (header.compare(0, rest.size(), rest) != 0) {
      return mini::fail(path, ": is not a results file: it has no header line");
    }
  } else {
    auto loaded = parse_lines(path, whole);
    if (!loaded) return loaded.reason();
    if (fingerprint(loaded->settings) != fingerprint(settings)) {
      return mini::fail(path, ": holds results of another configuration: ",
                        differences(loaded->settings, settings),
                        "; name another file, or delete this one");
    }
    s->records = std::move(loaded->records);
    for (const record& r : s->records) s->keys.insert(key_of(r));
  }
  if (!rest.empty()) {
    std::filesystem::resize_file(path, whole.size(), problem);
    if (problem) return mini::fail(path, ": cannot be shortened: ", problem.message());
    s->notice = cut_notice(path, rest.size());
  }

  s->file.reset(std::fopen(path.c_str(), "ab"));
  if (!s->file) return io_failure(path, "cannot be written");
  std::setvbuf(s->file.get(), nullptr, _IONBF, 0);
  if (whole.empty() && !s->write(header)) return io_failure(path, "cannot be written");
  return results_file(std::move(s));
}

bool results_file::contains(const record_key& key) const {
  // Keys are kept as the file has them.
  const record_key kept{valid_utf8(key.task), valid_utf8(key.preset), valid_utf8(key.options),
                        key.budget, key.problem};
  const std::lock_guard lock(state_->mutex);
  return state_->keys.count(kept) != 0;
}

mini::expected<void> results_file::append(const record& r) {
  // What is written is what a later run reads back: compare and keep that.
  const std::string line = to_json_line(r);
  auto written = parse_record(line);
  std::set<std::string> names;
  for (const named_number& each : r.numbers) names.insert(each.first);
  if (!written || names.size() != r.numbers.size()) {
    return mini::fail(state_->path, ": the record has a number twice");
  }
  const std::lock_guard lock(state_->mutex);
  if (state_->broken) return mini::fail(state_->path, ": an earlier write failed");
  if (!state_->keys.insert(key_of(*written)).second) {
    return mini::fail(state_->path, ": problem ", r.problem, " of ", mini::in_quotes(r.task),
                      " with ", mini::in_quotes(r.preset), " at budget ", r.budget,
                      " is there already");
  }
  if (!state_->write(line)) {
    state_->broken = true;
    return io_failure(state_->path, "cannot be written");
  }
  state_->records.push_back(*std::move(written));
  return {};
}

std::vector<record> results_file::records() const {
  const std::lock_guard lock(state_->mutex);
  return state_->records;
}

const std::string& results_file::notice() const noexcept { return state_->notice; }

}  // namespace report
