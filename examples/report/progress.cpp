// SPDX-License-Identifier: MIT
#include "progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/ioctl.h>
#include <unistd.h>
#endif

#include "text.hpp"

namespace report {

namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// At most `width` columns, and nothing that moves the cursor.
std::string clipped(std::string_view raw, std::size_t width) {
  std::string out;
  std::size_t columns = 0;
  for (const char c : valid_utf8(raw)) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0U) != 0x80U && ++columns > width) break;
    out += byte < 0x20 || byte == 0x7F ? ' ' : c;
  }
  return out;
}

std::string bar(double share, std::size_t width) {
  const auto full = static_cast<std::size_t>(share * static_cast<double>(width));
  return "[" + std::string(full, '#') + std::string(width - full, '.') + "]";
}

}  // namespace

progress_options progress_on_stderr(std::string label, std::int64_t total) {
  progress_options out;
  out.label = std::move(label);
  out.total = total;
  out.sink = [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  };
#if defined(__unix__) || defined(__APPLE__)
  out.terminal = isatty(STDERR_FILENO) == 1;
  winsize size{};
  if (out.terminal && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    out.columns = size.ws_col;
  }
#endif
  return out;
}

struct progress::state {
  progress_options options;
  mutable std::mutex mutex;  // guards what follows and the calls of the sink
  std::int64_t done = 0;
  std::string note;
  double start = 0;
  double last_shown = 0;
  std::int64_t last_done = -1;
  bool finished = false;
  bool bar_shown = false;

  // "12/80 15% 3.4/s, 20 s left" and the note.
  std::string numbers(double now) const {
    std::string text = fmt::format("{}", done);
    if (options.total > 0) {
      text += fmt::format("/{} {:.0f}%", options.total, 100 * share());
    }
    const double seconds = now - start;
    const std::int64_t fresh = done - options.already;
    if (fresh > 0 && seconds > 0) {
      const double rate = static_cast<double>(fresh) / seconds;
      text += rate >= 1 ? fmt::format(" {:.1f}/s", rate) : fmt::format(" {:.1f} s each", 1 / rate);
      const std::int64_t left = options.total - done;
      if (left > 0) text += ", " + duration(static_cast<double>(left) / rate) + " left";
    }
    if (done >= options.total) text += ", " + duration(seconds);
    if (!note.empty()) text += "  " + note;
    return text;
  }

  double share() const {
    return std::clamp(static_cast<double>(done) / static_cast<double>(options.total), 0.0, 1.0);
  }

  void show(double now) {
    last_shown = now;
    last_done = done;
    const std::string label = options.label.empty() ? "" : options.label + " ";
    if (!options.terminal) {
      emit(clipped(label + numbers(now), std::string::npos) + "\n");
      return;
    }
    std::string text = label;
    // A narrow terminal shows the numbers alone. The last column stays free: some terminals wrap.
    constexpr std::size_t bar_width = 20;
    if (options.total > 0 && options.columns >= 60) text += bar(share(), bar_width) + " ";
    text += numbers(now);
    emit("\r\x1b[K" + clipped(text, std::max<std::size_t>(options.columns, 2) - 1));
    bar_shown = true;
  }

  void emit(const std::string& text) const {
    if (options.sink) options.sink(text);
  }
};

progress::progress(progress_options options) : state_(std::make_unique<state>()) {
  if (!options.clock) options.clock = steady_seconds;
  state_->done = options.already;
  state_->options = std::move(options);
  state_->start = state_->options.clock();
  const std::lock_guard lock(state_->mutex);
  state_->show(state_->start);
}

progress::~progress() { finish(); }

void progress::advance(std::int64_t count, std::string_view note) {
  state& s = *state_;
  const std::lock_guard lock(s.mutex);
  if (s.finished) return;
  s.done += count;
  if (!note.empty()) s.note = note;
  const double now = s.options.clock();
  const double pause =
      s.options.terminal ? s.options.seconds_between : s.options.seconds_between_lines;
  if (now - s.last_shown >= pause) s.show(now);
}

void progress::message(std::string_view line) {
  state& s = *state_;
  const std::lock_guard lock(s.mutex);
  const bool redraw = s.bar_shown && !s.finished;
  s.emit((redraw ? "\r\x1b[K" : "") + clipped(line, std::string::npos) + "\n");
  if (redraw) s.show(s.options.clock());
}

void progress::finish() {
  state& s = *state_;
  const std::lock_guard lock(s.mutex);
  if (s.finished) return;
  s.finished = true;
  if (s.options.terminal || s.done != s.last_done) s.show(s.options.clock());
  if (s.options.terminal) s.emit("\n");
}

std::int64_t progress::done() const {
  const std::lock_guard lock(state_->mutex);
  return state_->done;
}

}  // namespace report
