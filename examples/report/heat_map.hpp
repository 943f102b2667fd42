// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace report {

/// What an SVG heat map shows: a value for each pair of a row and a column. Texts may hold
/// anything; they are escaped.
struct heat_map {
  std::string title;
  std::string subtitle;      ///< may be empty
  std::string description;   ///< for those who cannot see it; empty: made from the data
  std::string row_label;     ///< e.g. "band a"
  std::string column_label;  ///< e.g. "band b"
  std::string value_label;   ///< what the numbers are, e.g. "accuracy"
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  /// rows x columns, row by row; a cell without a value, with one that is not finite, or beyond the
  /// end of the vector is missing and drawn hatched.
  std::vector<std::optional<double>> values;
  bool percent = false;          ///< values are shares and shown in percent
  int decimals = 1;              ///< digits after the point
  bool higher_is_better = true;  ///< which end the best cell is at
};

/// The position of the best value, the first of equal ones; empty without values.
[[nodiscard]] std::optional<std::size_t> best_cell(const heat_map& map);

/// The heat map as an SVG document of its own that can also stand inline in a page. All cells that
/// share the best value are marked. Numbers are written in the cells as long as they fit.
[[nodiscard]] std::string to_svg(const heat_map& map);

}  // namespace report
