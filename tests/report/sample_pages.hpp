// SPDX-License-Identifier: MIT
#pragma once

// Maps and traces that look like real ones, for tests and for the pages a browser opens.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "report/heat_map.hpp"
#include "report/viewer.hpp"
#include "sample_records.hpp"

namespace report_test {

inline report::heat_map sample_map(std::size_t rows, std::size_t columns) {
  report::heat_map out;
  out.title = "Accuracy by band pair";
  out.subtitle = "ledger, budget 200, 40 problems";
  out.row_label = "band a";
  out.column_label = "band b";
  out.value_label = "accuracy";
  out.percent = true;
  out.decimals = 0;
  for (std::size_t i = 0; i < rows; ++i) out.rows.push_back(std::to_string(i));
  for (std::size_t i = 0; i < columns; ++i) out.columns.push_back(std::to_string(i));
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      const double x = static_cast<double>(r) / static_cast<double>(rows) - 0.6;
      const double y = static_cast<double>(c) / static_cast<double>(columns) - 0.35;
      if ((r * 7 + c * 3) % 11 == 5) {
        out.values.emplace_back();
      } else {
        out.values.emplace_back(0.9 * std::exp(-3 * (x * x + y * y)) + 0.02 * std::sin(9 * x * y));
      }
    }
  }
  return out;
}

/// A generation whose cache is cut to `budget` every `every` tokens. Some tokens are as unpleasant
/// as a tokenizer can make them.
inline report::retention_trace sample_trace(std::int64_t prompt, std::int64_t generated,
                                            std::int32_t budget, std::int64_t every,
                                            std::size_t groups, std::uint64_t seed = 3) {
  using namespace std::string_literals;
  const std::vector<std::string> words{
      " the",      " cache", " keeps",  " what",   " the",
      " next",     " step",  " needs",  ",",       " and",
      " lets",     " go",    " of",     " old",    " words",
      ".",         "\n",     " A",      " score",  " is",
      " a",        " sum",   " over",   " layers", ":",
      " 3",        " +",     " 4",      " =",      " 7",
      ";",         " so",    " far",    " so",     " good",
      " evic",     "tion",   " budget", " <b>",    "</script>",
      " \"q\"",    " it's",  " &amp;",  "\t",      " \xF0\x9F\x90\x99",
      " \xFF\xC3", "\n\n",   ""};
  dice d(seed);
  report::retention_trace out;
  out.title = "Problem 17: what the cache kept <&>";
  out.preset = "epikv-q";
  out.options = "tau=" + std::to_string(every) + " recent=32 keep=\"head\"";
  out.budget = budget;
  out.part_names = {"a", "b", "z"};
  const std::int64_t total = prompt + generated;
  for (std::int64_t i = 0; i < total; ++i) {
    const auto word = static_cast<std::size_t>(d.share() * static_cast<double>(words.size()));
    out.tokens.push_back({words[word], i, i >= prompt});
  }
  for (std::size_t g = 0; g < groups; ++g) {
    report::retention_group group;
    group.name = "layer " + std::to_string(g / 2) + ", head " + std::to_string(g % 2);
    std::vector<std::pair<std::int64_t, double>> live;  // position, what it is worth
    std::int64_t seen = 0;
    for (std::int64_t length = prompt; length <= total; length += every) {
      for (; seen < length; ++seen) live.emplace_back(seen, d.share());
      report::selection_step s;
      s.step = length - prompt;
      s.tokens_seen = length;
      std::vector<std::pair<float, std::int64_t>> order;
      for (std::size_t slot = 0; slot < live.size(); ++slot) {
        auto& token = live[slot];
        const bool recent = token.first >= length - 8;
        token.second = 0.98 * token.second + 0.02 * d.share();
        const auto score = recent ? std::numeric_limits<float>::infinity()
                                  : static_cast<float>(std::pow(token.second, 3));
        s.positions.push_back(token.first);
        s.slots.push_back(static_cast<std::int32_t>(slot));
        s.scores.push_back(score);
        const auto part = static_cast<float>(token.second);
        s.parts.insert(s.parts.end(), {part, -part / 3, std::nanf("")});
        order.emplace_back(score, token.first);
      }
      std::sort(order.begin(), order.end());
      const auto surplus = std::max<std::int64_t>(0, std::ssize(live) - budget);
      for (std::int64_t i = 0; i < surplus; ++i) {
        s.evicted.push_back(order[static_cast<std::size_t>(i)].second);
      }
      std::sort(s.evicted.begin(), s.evicted.end());
      std::erase_if(live, [&s](const auto& token) {
        return std::binary_search(s.evicted.begin(), s.evicted.end(), token.first);
      });
      group.steps.push_back(std::move(s));
    }
    out.groups.push_back(std::move(group));
  }
  return out;
}

}  // namespace report_test
