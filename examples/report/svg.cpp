// SPDX-License-Identifier: MIT
#include "svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "text.hpp"

namespace report::svg {

namespace {

// Okabe and Ito's palette, which people with the usual kinds of colour blindness can tell apart,
// darker on light ground and lighter on dark ground where its contrast needs it.
constexpr std::array<std::string_view, series_styles> light{
    "#0072b2", "#c44e00", "#00805c", "#a8487f", "#8a6a00", "#2f7fb5", "#5b4bb0", "#555555"};
constexpr std::array<std::string_view, series_styles> dark{
    "#56b4e9", "#ff9149", "#2fc79b", "#ea9cc8", "#e6b422", "#9cd3f5", "#b5a8f5", "#b8b8b8"};

constexpr std::string_view style_start =
    ".epikv-chart{--ground:#fff;--ink:#1b1f24;--soft:#59636e;--grid:#e3e6ea;--axis:#8c959f;"
    "--missing:#9aa3ad;font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',"
    "Arial,sans-serif;font-size:13px}"
    ".epikv-chart .ground{fill:var(--ground)}"
    ".epikv-chart text{fill:var(--ink)}"
    ".epikv-chart text.soft{fill:var(--soft)}"
    ".epikv-chart text.title{font-size:16px;font-weight:600}"
    ".epikv-chart text.small{font-size:12px}"
    ".epikv-chart text.tabular{font-variant-numeric:tabular-nums}"
    ".epikv-chart .grid{stroke:var(--grid);stroke-width:1}"
    ".epikv-chart .axis{stroke:var(--axis);stroke-width:1}"
    ".epikv-chart .line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}"
    ".epikv-chart .bar{fill:none;stroke-width:1.5;opacity:.75}"
    ".epikv-chart .mark{stroke:var(--ground);stroke-width:1.25}"
    ".epikv-chart .reference{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:6 4;fill:none}"
    ".epikv-chart .reference-band{fill:var(--ink);opacity:.07}"
    ".epikv-chart .hatch{stroke:var(--missing);stroke-width:1.5}"
    ".epikv-chart .missing{stroke:var(--grid);stroke-width:1}"
    ".epikv-chart .best{fill:none;stroke:var(--ink);stroke-width:2.5}"
    ".epikv-chart .best-inner{fill:none;stroke:var(--ground);stroke-width:1.5}"
    ".epikv-chart text.on-light{fill:#14181d}"
    ".epikv-chart text.on-dark{fill:#fff}";

constexpr std::string_view dark_start =
    "@media (prefers-color-scheme:dark){"
    ".epikv-chart{--ground:#14181d;--ink:#e8ebee;--soft:#a3adb8;--grid:#2a3038;--axis:#6b7682;"
    "--missing:#66717d}";

std::string colour_rules(const std::array<std::string_view, series_styles>& palette) {
  std::string out;
  for (std::size_t i = 0; i < palette.size(); ++i) {
    out += fmt::format(
        ".epikv-chart .s{0}{{stroke:{1}}}.epikv-chart .mark.s{0}{{fill:{1};stroke:var(--ground)}}",
        i, palette[i]);
  }
  return out;
}

}  // namespace

std::string number(double value) {
  if (!std::isfinite(value)) return "0";
  std::string text = fixed(value, 2);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::vector<double> ticks(double low, double high, int count) {
  if (!std::isfinite(low) || !std::isfinite(high) || high < low) return {};
  if (high == low) return {low};
  const double raw = (high - low) / std::max(1, count);
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double lead = raw / power;
  const double step = power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
  std::vector<double> out;
  // Counted, not added up: the sum of many steps would drift, and a tiny step would stand still.
  const double first = std::ceil(low / step - 1e-9);
  const double last = std::floor(high / step + 1e-9);
  for (double i = 0; first + i <= last && i < 1000; ++i) out.push_back((first + i) * step);
  return out;
}

int decimals_for(double step) noexcept {
  if (!(step > 0) || !std::isfinite(step)) return 0;
  return std::clamp(static_cast<int>(-std::floor(std::log10(step) + 1e-9)), 0, 12);
}

double text_width(std::string_view text, double size) noexcept {
  return 0.6 * size * static_cast<double>(columns_of(text));
}

std::string text(double x, double y, std::string_view content, anchor where,
                 std::string_view classes) {
  if (content.empty()) return {};
  std::string out = fmt::format("<text x=\"{}\" y=\"{}\"", number(x), number(y));
  if (where != anchor::start) {
    out += where == anchor::middle ? " text-anchor=\"middle\"" : " text-anchor=\"end\"";
  }
  if (!classes.empty()) out += fmt::format(" class=\"{}\"", classes);
  return out + ">" + escape_xml(content) + "</text>\n";
}

std::string upright_text(double x, double y, std::string_view content, anchor where,
                         std::string_view classes) {
  std::string out = text(x, y, content, where, classes);
  if (out.empty()) return out;
  constexpr std::string_view tag = "<text";
  return out.insert(tag.size(),
                    fmt::format(" transform=\"rotate(-90 {} {})\"", number(x), number(y)));
}

std::string series_class(std::size_t index) { return fmt::format("s{}", index % series_styles); }

std::string mark(std::size_t index, double x, double y) {
  const std::string classes = "class=\"mark " + series_class(index) + "\"";
  const auto path = [&](std::initializer_list<std::array<double, 2>> points) {
    std::string d;
    for (const auto& p : points) {
      d += fmt::format("{}{} {}", d.empty() ? "M" : "L", number(x + p[0]), number(y + p[1]));
    }
    return fmt::format("<path {} d=\"{}Z\"/>", classes, d);
  };
  switch (index % series_styles) {
    case 0:
      return fmt::format("<circle {} cx=\"{}\" cy=\"{}\" r=\"4.5\"/>", classes, number(x),
                         number(y));
    case 1: return path({{-4, -4}, {4, -4}, {4, 4}, {-4, 4}});
    case 2: return path({{0, -5.5}, {5.2, 4}, {-5.2, 4}});
    case 3: return path({{0, -5.8}, {5.8, 0}, {0, 5.8}, {-5.8, 0}});
    case 4: return path({{0, 5.5}, {5.2, -4}, {-5.2, -4}});
    case 5:
      return path({{-1.8, -5.5},
                   {1.8, -5.5},
                   {1.8, -1.8},
                   {5.5, -1.8},
                   {5.5, 1.8},
                   {1.8, 1.8},
                   {1.8, 5.5},
                   {-1.8, 5.5},
                   {-1.8, 1.8},
                   {-5.5, 1.8},
                   {-5.5, -1.8},
                   {-1.8, -1.8}});
    case 6: return path({{-5.5, 0}, {-2.7, -4.8}, {2.7, -4.8}, {5.5, 0}, {2.7, 4.8}, {-2.7, 4.8}});
    default: return path({{-6, -2.4}, {6, -2.4}, {6, 2.4}, {-6, 2.4}});
  }
}

std::string open(double width, double height, std::string_view id, std::string_view title,
                 std::string_view description) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"epikv-chart\" role=\"img\" "
      "viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "style=\"max-width:100%;height:auto\" aria-labelledby=\"{2}-title {2}-desc\">\n"
      "<title id=\"{2}-title\">{3}</title>\n<desc id=\"{2}-desc\">{4}</desc>\n"
      "<style>{5}{6}{7}{8}}}</style>\n"
      "<rect class=\"ground\" width=\"{0}\" height=\"{1}\"/>\n",
      number(width), number(height), id, escape_xml(title), escape_xml(description), style_start,
      colour_rules(light), dark_start, colour_rules(dark));
}

}  // namespace report::svg
