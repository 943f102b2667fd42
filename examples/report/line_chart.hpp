// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "statistics.hpp"
#include "summary.hpp"

namespace report {

struct chart_point {
  double x = 0;
  double y = 0;
  interval error;  ///< ends of the error bar
};

struct chart_series {
  std::string name;
  std::vector<chart_point> points;  ///< in any order; drawn by ascending x
};

/// A level over the whole width, e.g. the accuracy of the full cache.
struct chart_reference {
  std::string name;
  double y = 0;
  interval error;
};

/// What an SVG line chart shows. Texts may hold anything; they are escaped.
struct line_chart {
  std::string title;
  std::string subtitle;     ///< may be empty
  std::string description;  ///< for those who cannot see the chart; empty: made from the data
  std::string x_label;
  std::string y_label;
  bool y_is_share = true;  ///< y goes from 0 to 1 and is shown in percent
  std::vector<chart_series> series;
  std::optional<chart_reference> reference;
};

/// Each preset of `task` by budget, with 95 % intervals and the reference as a level: the accuracy,
/// or, where nothing is graded, the mean of the task's first number. Presets that occur with
/// several options are one series for each.
[[nodiscard]] line_chart budget_chart(const summary& s, const std::string& task);

/// The chart as an SVG document of its own that can also stand inline in a page. The x axis is
/// logarithmic when the x span a factor of 8 or more. Points that are not finite are left out; a
/// chart without points says so.
[[nodiscard]] std::string to_svg(const line_chart& chart);

}  // namespace report
