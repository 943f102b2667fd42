// SPDX-License-Identifier: MIT
#include "line_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>

#include "svg.hpp"
#include "text.hpp"

namespace report {

namespace {

using svg::anchor;
using svg::number;

constexpr double width = 760;
constexpr double left = 68;
constexpr double right = 24;
constexpr double plot_height = 320;
constexpr double legend_row = 22;
constexpr double font = 13;

bool usable(const chart_point& p) { return std::isfinite(p.x) && std::isfinite(p.y); }

// From data to pixels.
struct axis {
  double low = 0;
  double high = 1;
  double from = 0;
  double to = 1;
  bool logarithmic = false;

  double scaled(double v) const { return logarithmic ? std::log2(v) : v; }
  double operator()(double v) const {
    const double t = (scaled(v) - scaled(low)) / (scaled(high) - scaled(low));
    return from + std::clamp(t, 0.0, 1.0) * (to - from);
  }
};

struct plot {
  axis x;
  axis y;
  std::vector<double> xs;  // different x of the data, ascending
  std::vector<double> y_ticks;
  int y_decimals = 0;
  double top = 0;
  double bottom = 0;
};

std::string y_text(const line_chart& chart, double value, int decimals) {
  return chart.y_is_share ? fixed(100 * value, decimals) + "%" : fixed(value, decimals);
}

plot make_plot(const line_chart& chart, const std::vector<chart_series>& series, double top) {
  plot out;
  out.top = top;
  out.bottom = top + plot_height;
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  const auto cover = [&](double y, interval error) {
    for (const double each : {y, error.low, error.high}) {
      if (!std::isfinite(each)) continue;
      low = std::min(low, each);
      high = std::max(high, each);
    }
  };
  for (const chart_series& s : series) {
    for (const chart_point& p : s.points) {
      out.xs.push_back(p.x);
      cover(p.y, p.error);
    }
  }
  if (chart.reference) cover(chart.reference->y, chart.reference->error);
  std::sort(out.xs.begin(), out.xs.end());
  out.xs.erase(std::unique(out.xs.begin(), out.xs.end()), out.xs.end());

  if (low > high) {
    low = 0;
    high = 1;
  }
  if (low == high) {
    const double margin = chart.y_is_share ? 0.05 : std::max(1e-6, std::fabs(low) * 0.1);
    low -= margin;
    high += margin;
  }
  // To the next round value on each side; a share has no values beyond its ends.
  const std::vector<double> inner = svg::ticks(low, high, 5);
  const double step = inner.size() > 1 ? inner[1] - inner[0] : high - low;
  low = std::floor(low / step + 1e-9) * step;
  high = std::ceil(high / step - 1e-9) * step;
  if (chart.y_is_share) {
    low = std::clamp(low, 0.0, 1.0);
    high = std::clamp(high, 0.0, 1.0);
    if (low == high) {
      low = 0;
      high = 1;
    }
  }
  out.y_ticks = svg::ticks(low, high, static_cast<int>(std::lround((high - low) / step)));
  out.y_decimals = svg::decimals_for(chart.y_is_share ? 100 * step : step);
  out.y = {low, high, out.bottom, out.top, false};

  const double inset = 28;
  out.x = {0, 1, left + inset, width - right - inset, false};
  if (!out.xs.empty()) {
    out.x.low = out.xs.front();
    out.x.high = out.xs.back();
    out.x.logarithmic = out.x.low > 0 && out.x.high / out.x.low >= 8;
    if (out.x.low == out.x.high) {
      out.x.low -= 1;
      out.x.high += 1;
    }
  }
  return out;
}

std::string draw_axes(const line_chart& chart, const plot& p) {
  std::string out;
  for (const double tick : p.y_ticks) {
    const double y = p.y(tick);
    out += fmt::format("<path class=\"grid\" d=\"M{} {}H{}\"/>\n", number(left), number(y),
                       number(width - right));
    out += svg::text(left - 8, y + 4.5, y_text(chart, tick, p.y_decimals), anchor::end,
                     "soft tabular");
  }
  out += fmt::format("<path class=\"axis\" d=\"M{} {}H{}\"/>\n", number(left), number(p.bottom),
                     number(width - right));
  // Where data is, and of labels that would touch, the one further right yields.
  double free_from = left - 20;
  for (const double x : p.xs) {
    const double at = p.x(x);
    out += fmt::format("<path class=\"axis\" d=\"M{} {}v5\"/>\n", number(at), number(p.bottom));
    const std::string label = fmt::format("{}", x);
    const double half = svg::text_width(label, font) / 2;
    if (at - half < free_from) continue;
    free_from = at + half + 8;
    out += svg::text(at, p.bottom + 20, label, anchor::middle, "soft tabular");
  }
  out += svg::text((left + width - right) / 2, p.bottom + 42,
                   chart.x_label + (p.x.logarithmic ? " (logarithmic)" : ""), anchor::middle);
  out += svg::upright_text(16, (p.top + p.bottom) / 2, chart.y_label, anchor::middle);
  return out;
}

std::string draw_reference(const plot& p, const chart_reference& r) {
  if (!std::isfinite(r.y)) return {};
  const double high = p.y(r.error.high);
  return fmt::format(
      "<rect class=\"reference-band\" x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\"/>\n"
      "<path class=\"reference\" d=\"M{0} {4}h{2}\"/>\n",
      number(left), number(high), number(width - right - left), number(p.y(r.error.low) - high),
      number(p.y(r.y)));
}

std::string tooltip(const line_chart& chart, const chart_series& s, const chart_point& p) {
  const auto text = [&chart](double y) { return y_text(chart, y, chart.y_is_share ? 1 : 4); };
  return escape_xml(fmt::format("{}: {} at {}, 95 % interval {} to {}", s.name, text(p.y), p.x,
                                text(p.error.low), text(p.error.high)));
}

// The ninth series has the first one's colour and mark, but its line is dashed.
std::string dashes(std::size_t index) {
  constexpr std::array<std::string_view, 4> patterns{"", "5 4", "2 4", "9 3 2 3"};
  const std::string_view pattern = patterns[index / svg::series_styles % patterns.size()];
  return pattern.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", pattern);
}

// Bars of one budget stand side by side, or they would hide each other.
std::string draw_series(const line_chart& chart, const plot& p, const chart_series& s,
                        std::size_t index, std::size_t count) {
  const double gap = std::min(9.0, 36.0 / static_cast<double>(std::max<std::size_t>(count, 1)));
  const double shift = gap * (static_cast<double>(index) - static_cast<double>(count - 1) / 2);
  const std::string colour = svg::series_class(index);
  std::string line;
  std::string bars;
  std::string marks;
  for (const chart_point& point : s.points) {
    const double x = p.x(point.x) + shift;
    const double y = p.y(point.y);
    line += fmt::format("{}{} {}", line.empty() ? "M" : "L", number(x), number(y));
    if (std::isfinite(point.error.low) && std::isfinite(point.error.high)) {
      bars +=
          fmt::format("M{0} {1}V{2}M{3} {1}h6M{3} {2}h6", number(x), number(p.y(point.error.high)),
                      number(p.y(point.error.low)), number(x - 3));
    }
    marks += fmt::format("<g><title>{}</title>{}</g>\n", tooltip(chart, s, point),
                         svg::mark(index, x, y));
  }
  if (line.empty()) return {};
  std::string out =
      fmt::format("<path class=\"line {}\"{} d=\"{}\"/>\n", colour, dashes(index), line);
  if (!bars.empty()) out += fmt::format("<path class=\"bar {}\" d=\"{}\"/>\n", colour, bars);
  return out + marks;
}

// At most so many characters; cut before one, not in one.
std::string shortened(std::string_view raw, std::size_t longest) {
  std::string text = valid_utf8(raw);
  if (columns_of(text) <= longest) return text;
  std::size_t columns = 0;
  std::size_t end = 0;
  while (end < text.size()) {
    if ((static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U && ++columns == longest) break;
    ++end;
  }
  return text.substr(0, end) + "…";
}

// Entries one behind the other, in as many rows as it takes; gives the height with the elements.
std::pair<std::string, double> draw_legend(const line_chart& chart,
                                           const std::vector<chart_series>& series, double top) {
  constexpr double key = 34;
  std::string out;
  double x = left;
  double y = top + legend_row / 2;
  bool empty = true;
  const auto place = [&](const std::string& raw, const auto& draw_key) {
    const std::string name = shortened(raw, 80);
    const double wide = key + svg::text_width(name, font);
    if (!empty && x + wide > width - right) {
      x = left;
      y += legend_row;
    }
    empty = false;
    out += draw_key();
    out += svg::text(x + key, y + 4.5, name, anchor::start);
    x += wide + 14;
  };
  if (chart.reference) {
    place(chart.reference->name, [&] {
      return fmt::format("<path class=\"reference\" d=\"M{} {}h26\"/>\n", number(x), number(y));
    });
  }
  for (std::size_t i = 0; i < series.size(); ++i) {
    place(series[i].name, [&] {
      return fmt::format("<path class=\"line {}\"{} d=\"M{} {}h26\"/>{}\n", svg::series_class(i),
                         dashes(i), number(x), number(y), svg::mark(i, x + 13, y));
    });
  }
  return {out, empty ? 0 : y + legend_row / 2 - top};
}

std::string describe(const line_chart& chart, const std::vector<chart_series>& series) {
  if (!chart.description.empty()) return chart.description;
  std::string out = chart.y_label + " by " + chart.x_label + ".";
  if (chart.reference) {
    out += fmt::format(" {}: {}.", chart.reference->name, y_text(chart, chart.reference->y, 1));
  }
  for (const chart_series& s : series) {
    out += fmt::format(" {}:", s.name);
    for (const chart_point& p : s.points) {
      out += fmt::format(" {} at {}{}", y_text(chart, p.y, chart.y_is_share ? 1 : 4), p.x,
                         &p == &s.points.back() ? "." : ",");
    }
    if (s.points.empty()) out += " no data.";
  }
  return out;
}

}  // namespace

line_chart budget_chart(const summary& s, const std::string& task) {
  line_chart out;
  const bool graded = std::any_of(s.arms.begin(), s.arms.end(),
                                  [&](const arm& a) { return a.task == task && a.graded; });
  const std::vector<std::string> names = s.number_names(task);
  const std::string number = names.empty() ? "" : names.front();
  out.title = (graded ? "Accuracy" : number) + " by budget: " + task;
  out.x_label = "budget, tokens";
  out.y_label = graded ? "accuracy" : number;
  out.y_is_share = graded;
  // The value of an arm and the ends of its interval.
  const auto value_of = [&](const arm& a) -> std::pair<double, interval> {
    if (graded) return {a.accuracy(), a.accuracy_95};
    for (const auto& each : a.numbers) {
      if (each.first != number) continue;
      const double around = each.second.count > 1 ? z_95 * each.second.standard_error : 0;
      return {each.second.mean, {each.second.mean - around, each.second.mean + around}};
    }
    return {std::numeric_limits<double>::quiet_NaN(), {}};
  };
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = 0;
  const auto several_options = [&](const arm& a) {
    return std::any_of(s.arms.begin(), s.arms.end(), [&](const arm& b) {
      return b.task == task && b.preset == a.preset && b.options != a.options &&
             b.is_reference == a.is_reference;
    });
  };
  for (const arm& a : s.arms) {
    if (a.task != task) continue;
    fewest = std::min(fewest, a.problems);
    most = std::max(most, a.problems);
    if (a.is_reference) {
      const auto level = value_of(a);
      out.reference = chart_reference{"full cache", level.first, level.second};
      continue;
    }
    const std::string name =
        several_options(a) && !a.options.empty() ? a.preset + " (" + a.options + ")" : a.preset;
    const auto found = std::find_if(out.series.begin(), out.series.end(),
                                    [&name](const chart_series& c) { return c.name == name; });
    chart_series& series = found != out.series.end() ? *found : out.series.emplace_back();
    series.name = name;
    const auto value = value_of(a);
    series.points.push_back({static_cast<double>(a.budget), value.first, value.second});
  }
  if (most > 0) {
    out.subtitle = fewest == most ? fmt::format("{} problems", most)
                                  : fmt::format("{} to {} problems", fewest, most);
    out.subtitle += " for each point; bars are 95 % ";
    out.subtitle += graded ? "Wilson intervals" : "intervals of the mean";
  }
  return out;
}

std::string to_svg(const line_chart& chart) {
  std::vector<chart_series> series = chart.series;
  std::size_t points = 0;
  for (chart_series& s : series) {
    std::erase_if(s.points, [](const chart_point& p) { return !usable(p); });
    std::sort(s.points.begin(), s.points.end(),
              [](const chart_point& a, const chart_point& b) { return a.x < b.x; });
    points += s.points.size();
  }
  double top = chart.subtitle.empty() ? 44 : 64;
  const auto legend = draw_legend(chart, series, top);
  top += legend.second + 14;
  const plot p = make_plot(chart, series, top);
  const std::string title = chart.title.empty() ? "Chart" : chart.title;

  std::string out = svg::open(width, p.bottom + 58, identifier(title + chart.subtitle), title,
                              describe(chart, series));
  out += svg::text(left, 28, title, anchor::start, "title");
  if (!chart.subtitle.empty()) out += svg::text(left, 50, chart.subtitle, anchor::start, "soft");
  out += legend.first;
  out += draw_axes(chart, p);
  if (chart.reference) out += draw_reference(p, *chart.reference);
  for (std::size_t i = 0; i < series.size(); ++i) {
    out += draw_series(chart, p, series[i], i, series.size());
  }
  if (points == 0 && !chart.reference) {
    out += svg::text((left + width - right) / 2, (p.top + p.bottom) / 2, "no data", anchor::middle,
                     "soft");
  }
  return out + "</svg>\n";
}

}  // namespace report
