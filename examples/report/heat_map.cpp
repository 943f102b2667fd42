// SPDX-License-Identifier: MIT
#include "heat_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "svg.hpp"
#include "text.hpp"

namespace report {

namespace {

using svg::anchor;
using svg::number;

constexpr double font = 13;
constexpr double margin = 24;

std::optional<double> value_at(const heat_map& map, std::size_t index) {
  if (index >= map.values.size() || !map.values[index] || !std::isfinite(*map.values[index])) {
    return std::nullopt;
  }
  return map.values[index];
}

std::string value_text(const heat_map& map, double value) {
  return map.percent ? fixed(100 * value, map.decimals) + "%" : fixed(value, map.decimals);
}

struct colour {
  double red;
  double green;
  double blue;
};

// Dark blue over teal to pale yellow: rises in lightness all the way, so order survives in grey and
// with any colour vision.
colour colour_of(double share) {
  constexpr std::array<colour, 6> stops{{{31, 42, 104},
                                         {34, 87, 142},
                                         {35, 131, 143},
                                         {66, 171, 124},
                                         {154, 206, 96},
                                         {247, 231, 121}}};
  const double at = std::clamp(share, 0.0, 1.0) * static_cast<double>(stops.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(at), stops.size() - 2);
  const double t = at - static_cast<double>(below);
  const auto mix = [t](double a, double b) { return a + t * (b - a); };
  return {mix(stops[below].red, stops[below + 1].red),
          mix(stops[below].green, stops[below + 1].green),
          mix(stops[below].blue, stops[below + 1].blue)};
}

std::string hex(const colour& c) {
  return fmt::format("#{:02x}{:02x}{:02x}", static_cast<int>(std::lround(c.red)),
                     static_cast<int>(std::lround(c.green)), static_cast<int>(std::lround(c.blue)));
}

// Relative luminance as WCAG defines it; black and white text have equal contrast at 0.18.
bool is_light(const colour& c) {
  const auto linear = [](double v) {
    v /= 255;
    return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(c.red) + 0.7152 * linear(c.green) + 0.0722 * linear(c.blue) > 0.19;
}

struct range {
  double low = 0;
  double high = 0;
  bool empty = true;

  double share(double v) const { return high > low ? (v - low) / (high - low) : 1; }
};

range range_of(const heat_map& map) {
  range out;
  for (std::size_t i = 0; i < map.rows.size() * map.columns.size(); ++i) {
    if (const auto value = value_at(map, i)) {
      out.low = out.empty ? *value : std::min(out.low, *value);
      out.high = out.empty ? *value : std::max(out.high, *value);
      out.empty = false;
    }
  }
  return out;
}

double widest(const std::vector<std::string>& texts) {
  double out = 0;
  for (const std::string& each : texts) out = std::max(out, svg::text_width(each, font));
  return out;
}

struct layout {
  double cell_width = 0;
  double cell_height = 0;
  double left = 0;  // of the cells
  double top = 0;
  double width = 0;  // of the document
  double height = 0;
  bool numbers = true;
  bool turned = false;       // column names upright
  std::size_t row_step = 1;  // every how many-th row has its name
  std::size_t column_step = 1;

  double x(std::size_t column) const { return left + static_cast<double>(column) * cell_width; }
  double y(std::size_t row) const { return top + static_cast<double>(row) * cell_height; }
};

layout make_layout(const heat_map& map, const range& r) {
  layout out;
  const auto rows = static_cast<double>(std::max<std::size_t>(map.rows.size(), 1));
  const auto columns = static_cast<double>(std::max<std::size_t>(map.columns.size(), 1));
  const double number_width = r.empty ? 0
                                      : std::max(svg::text_width(value_text(map, r.low), font),
                                                 svg::text_width(value_text(map, r.high), font)) +
                                            8;
  // Small maps get large cells; large ones small cells, in the end without numbers.
  constexpr double most_width = 900;
  out.cell_width = std::clamp(std::min(72.0, most_width / columns), 10.0, 72.0);
  out.numbers = out.cell_width >= number_width;
  out.cell_height = std::clamp(std::min(40.0, most_width / rows), 10.0, 40.0);
  if (out.cell_height < 18) out.numbers = false;
  out.row_step = out.cell_height >= 15 ? 1 : 2;
  out.turned = widest(map.columns) + 6 > out.cell_width;
  out.column_step = !out.turned || out.cell_width >= 15 ? 1 : 2;
  out.left = margin + 26 + widest(map.rows) + 10;
  out.top = (map.subtitle.empty() ? 44 : 66) + 26 + (out.turned ? widest(map.columns) : 16) + 8;
  const double legend = 240;
  const double head = std::max(svg::text_width(map.title, 16), svg::text_width(map.subtitle, font));
  out.width = std::max({out.left + columns * out.cell_width + margin, out.left + legend + 190,
                        margin + head + margin});
  out.height = out.top + rows * out.cell_height + 74;
  return out;
}

std::string draw_names(const heat_map& map, const layout& l) {
  std::string out;
  const double grid_width = static_cast<double>(map.columns.size()) * l.cell_width;
  const double grid_height = static_cast<double>(map.rows.size()) * l.cell_height;
  const double names_top = map.subtitle.empty() ? 44 : 66;
  out += svg::text(l.left + grid_width / 2, names_top + 16, map.column_label, anchor::middle);
  for (std::size_t c = 0; c < map.columns.size(); c += l.column_step) {
    const double x = l.x(c) + l.cell_width / 2;
    if (!l.turned) {
      out += svg::text(x, l.top - 8, map.columns[c], anchor::middle, "soft tabular");
      continue;
    }
    out += svg::upright_text(x + 4.5, l.top - 6, map.columns[c], anchor::start, "soft tabular");
  }
  for (std::size_t r = 0; r < map.rows.size(); r += l.row_step) {
    out += svg::text(l.left - 10, l.y(r) + l.cell_height / 2 + 4.5, map.rows[r], anchor::end,
                     "soft tabular");
  }
  out += svg::upright_text(margin + 8, l.top + grid_height / 2, map.row_label, anchor::middle);
  return out;
}

std::string draw_cell(const heat_map& map, const layout& l, const range& r, std::size_t row,
                      std::size_t column, const std::string& hatch) {
  const auto value = value_at(map, row * map.columns.size() + column);
  const std::string name =
      escape_xml(fmt::format("{} {}, {} {}: {}", map.row_label, map.rows[row], map.column_label,
                             map.columns[column], value ? value_text(map, *value) : "missing"));
  const double gap = l.cell_width >= 24 && l.cell_height >= 24 ? 1 : 0.5;
  const std::string box = fmt::format(
      "x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"2\"", number(l.x(column) + gap),
      number(l.y(row) + gap), number(l.cell_width - 2 * gap), number(l.cell_height - 2 * gap));
  std::string out = "<g><title>" + name + "</title>";
  if (!value) {
    return out + fmt::format("<rect class=\"missing\" {} fill=\"url(#{})\"/></g>\n", box, hatch);
  }
  const colour c = colour_of(r.share(*value));
  out += fmt::format("<rect {} fill=\"{}\"/>", box, hex(c));
  if (l.numbers) {
    out += svg::text(l.x(column) + l.cell_width / 2, l.y(row) + l.cell_height / 2 + 4.5,
                     value_text(map, *value), anchor::middle,
                     is_light(c) ? "tabular on-light" : "tabular on-dark");
  }
  return out + "</g>\n";
}

std::string draw_best(const layout& l, std::size_t row, std::size_t column) {
  // Two frames, so that the mark stands out from any colour on either ground.
  const auto frame = [&](double inset, std::string_view name) {
    return fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"2\"/>",
                       name, number(l.x(column) + inset), number(l.y(row) + inset),
                       number(l.cell_width - 2 * inset), number(l.cell_height - 2 * inset));
  };
  return frame(2.25, "best-inner") + frame(0.25, "best") + "\n";
}

std::string draw_legend(const heat_map& map, const layout& l, const range& r,
                        const std::string& hatch) {
  constexpr double bar = 160;
  const double y = l.height - 34;
  std::string out;
  double x = l.left;
  if (!r.empty) {
    out += svg::text(x, y - 8, map.value_label, anchor::start, "soft small");
    constexpr int steps = 32;
    for (int i = 0; i < steps; ++i) {
      // A little overlap, or thin lines show between the pieces.
      out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"12\" fill=\"{}\"/>",
                         number(x + bar * i / steps), number(y), number(bar / steps + 0.4),
                         hex(colour_of((i + 0.5) / steps)));
    }
    out += "\n" + svg::text(x, y + 27, value_text(map, r.low), anchor::start, "soft small tabular");
    out += svg::text(x + bar, y + 27, value_text(map, r.high), anchor::end, "soft small tabular");
    x += bar + 28;
    out += fmt::format(
        "<rect class=\"best\" x=\"{}\" y=\"{}\" width=\"16\" height=\"14\" "
        "rx=\"2\"/>",
        number(x), number(y - 1));
    out += svg::text(x + 24, y + 10.5, "best", anchor::start, "soft small");
    x += 72;
  }
  out += fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"16\" height=\"14\" rx=\"2\" "
      "fill=\"url(#{})\"/>",
      number(x), number(y - 1), hatch);
  return out + svg::text(x + 24, y + 10.5, "not measured", anchor::start, "soft small");
}

}  // namespace

std::optional<std::size_t> best_cell(const heat_map& map) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < map.rows.size() * map.columns.size(); ++i) {
    const auto value = value_at(map, i);
    if (!value) continue;
    const double now = best ? *map.values[*best] : *value;
    if (!best || (map.higher_is_better ? *value > now : *value < now)) best = i;
  }
  return best;
}

std::string to_svg(const heat_map& map) {
  const range r = range_of(map);
  const layout l = make_layout(map, r);
  const std::string title = map.title.empty() ? "Heat map" : map.title;
  const std::string id = identifier(title + map.subtitle);
  const auto best = best_cell(map);
  const std::size_t columns = map.columns.size();

  std::string description = map.description;
  if (description.empty()) {
    description = fmt::format("{} by {} ({}) and {} ({}).", map.value_label, map.row_label,
                              map.rows.size(), map.column_label, columns);
    if (best) {
      description += fmt::format(
          " Best: {} at {} {}, {} {}; values from {} to {}.", value_text(map, *map.values[*best]),
          map.row_label, map.rows[*best / columns], map.column_label, map.columns[*best % columns],
          value_text(map, r.low), value_text(map, r.high));
    }
  }
  std::string out = svg::open(l.width, l.height, id, title, description);
  out += fmt::format(
      "<defs><pattern id=\"{}-hatch\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" "
      "patternTransform=\"rotate(45)\"><path class=\"hatch\" d=\"M0 0V7\"/></pattern></defs>\n",
      id);
  const std::string hatch = id + "-hatch";
  out += svg::text(margin, 28, title, anchor::start, "title");
  if (!map.subtitle.empty()) out += svg::text(margin, 50, map.subtitle, anchor::start, "soft");
  if (map.rows.empty() || map.columns.empty()) {
    out += svg::text(l.width / 2, l.top + 24, "no data", anchor::middle, "soft");
    return out + "</svg>\n";
  }
  out += draw_names(map, l);
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      out += draw_cell(map, l, r, row, column, hatch);
    }
  }
  for (std::size_t i = 0; best && i < map.rows.size() * columns; ++i) {
    const auto value = value_at(map, i);
    if (value && *value == *map.values[*best]) out += draw_best(l, i / columns, i % columns);
  }
  return out + draw_legend(map, l, r, hatch) + "</svg>\n";
}

}  // namespace report
