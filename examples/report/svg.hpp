// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace report::svg {

/// A coordinate: at most two decimals, no exponent, no "-0"; 0 for what is not finite.
[[nodiscard]] std::string number(double value);

/// Round values inside [low, high], about `count` of them, ascending. Empty if the range is not
/// finite or reversed; one value if it is a point.
[[nodiscard]] std::vector<double> ticks(double low, double high, int count);

/// Decimals that tell the ticks of such a step apart.
[[nodiscard]] int decimals_for(double step) noexcept;

/// The width of `text` in the charts' font, in units of the font's size times `size`. An estimate
/// from above, since the reader's font is not known.
[[nodiscard]] double text_width(std::string_view text, double size) noexcept;

/// Where a text stands relative to its point.
enum class anchor { start, middle, end };

/// A <text> element, escaped; nothing for no content. `classes` are class names in the charts'
/// style.
[[nodiscard]] std::string text(double x, double y, std::string_view content, anchor where,
                               std::string_view classes = {});

/// The same, turned to be read from below.
[[nodiscard]] std::string upright_text(double x, double y, std::string_view content, anchor where,
                                       std::string_view classes = {});

/// The outline of the mark of series `index` around a point. Marks differ in shape, so that no
/// series is told by its colour alone.
[[nodiscard]] std::string mark(std::size_t index, double x, double y);

/// The class of the colour of series `index`.
[[nodiscard]] std::string series_class(std::size_t index);

/// Number of different colours and marks.
inline constexpr std::size_t series_styles = 8;

/// The start of a document: size, accessible name and description, style for light and dark.
/// `id` makes the ids in the document unique where several stand in one page.
[[nodiscard]] std::string open(double width, double height, std::string_view id,
                               std::string_view title, std::string_view description);

}  // namespace report::svg
