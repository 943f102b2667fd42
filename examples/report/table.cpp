// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "summary.hpp"
#include "text.hpp"

namespace report {

namespace {

enum class align { left, right };

struct column {
  std::string head;
  align side;
  std::vector<std::string> cells;
};

std::string padded(const std::string& text, std::size_t width, align side) {
  const std::size_t used = columns_of(text);
  const std::string space(width > used ? width - used : 0, ' ');
  return side == align::left ? text + space : space + text;
}

// One line, at most `width` columns: control characters would break the table.
std::string one_line(std::string_view raw, std::size_t width) {
  std::string text = valid_utf8(raw);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  if (columns_of(text) <= width) return text;
  std::string out;
  std::size_t columns = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U && ++columns >= width) break;
    out += c;
  }
  return out + "…";
}

std::string percent(double share) {
  std::string text = fixed(100 * share, 1);
  return text == "-" ? text : text + "%";
}

void print(std::string& out, const std::vector<column>& columns) {
  std::vector<std::size_t> widths;
  for (const column& c : columns) {
    std::size_t width = columns_of(c.head);
    for (const std::string& cell : c.cells) width = std::max(width, columns_of(cell));
    widths.push_back(width);
  }
  const auto line = [&](const auto& text_of) {
    std::string text;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) text += "  ";
      text += padded(text_of(columns[i]), widths[i], columns[i].side);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  line([](const column& c) { return c.head; });
  for (std::size_t row = 0; row < columns.front().cells.size(); ++row) {
    line([row](const column& c) { return c.cells[row]; });
  }
}

std::string against(const arm& a, std::int64_t comparison::*count) {
  return a.against_reference ? fmt::format("{}", (*a.against_reference).*count) : "";
}

}  // namespace

std::string table(const summary& s, const table_style& style) {
  std::string out;
  for (const std::string& task : s.tasks()) {
    std::vector<const arm*> arms;
    for (const arm& each : s.arms) {
      if (each.task == task) arms.push_back(&each);
    }
    std::vector<column> columns;
    const auto add = [&](std::string head, align side, const auto& cell) {
      column c{std::move(head), side, {}};
      for (const arm* a : arms) c.cells.push_back(cell(*a));
      columns.push_back(std::move(c));
    };
    const auto any = [&arms](const auto& has) {
      return std::any_of(arms.begin(), arms.end(), [&has](const arm* a) { return has(*a); });
    };

    add("preset", align::left, [](const arm& a) { return one_line(a.preset, 32); });
    if (any([](const arm& a) { return !a.options.empty(); })) {
      add("options", align::left,
          [&style](const arm& a) { return one_line(a.options, style.options_width); });
    }
    add("budget", align::right,
        [](const arm& a) { return a.budget > 0 ? fmt::format("{}", a.budget) : "-"; });
    const bool graded = any([](const arm& a) { return a.graded; });
    if (graded) {
      add("right", align::right,
          [](const arm& a) { return fmt::format("{}/{}", a.right, a.problems); });
      add("accuracy", align::right, [](const arm& a) { return percent(a.accuracy()); });
      add("95 % interval", align::right, [](const arm& a) {
        return fmt::format("{} to {}", percent(a.accuracy_95.low), percent(a.accuracy_95.high));
      });
      add("capped", align::right, [](const arm& a) { return percent(a.cap_rate()); });
    }
    for (const std::string& name : s.number_names(task)) {
      add(one_line(name, 24), align::right, [&name](const arm& a) {
        for (const auto& number : a.numbers) {
          if (number.first == name) return compact_number(number.second.mean);
        }
        return std::string();
      });
    }
    add("peak tokens", align::right, [](const arm& a) { return fmt::format("{}", a.peak_tokens); });
    add("peak bytes", align::right,
        [](const arm& a) { return byte_size(static_cast<double>(a.peak_bytes)); });
    if (style.times)
      add("tokens/s", align::right, [](const arm& a) { return fixed(a.tokens_per_second(), 1); });
    if (graded && any([](const arm& a) { return a.against_reference.has_value(); })) {
      add("wins", align::right, [](const arm& a) { return against(a, &comparison::wins); });
      add("losses", align::right, [](const arm& a) { return against(a, &comparison::losses); });
      add("p", align::right, [](const arm& a) {
        return a.against_reference ? p_value(a.against_reference->p) : std::string();
      });
    }
    if (any([](const arm& a) {
          return a.against_reference && a.against_reference->unpaired > 0;
        })) {
      add("unpaired", align::right, [](const arm& a) { return against(a, &comparison::unpaired); });
    }
    if (!out.empty()) out += "\n";
    out += one_line(task, 100) + "\n";
    print(out, columns);
  }
  return out;
}

}  // namespace report
