// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace report {

/// `text` with every byte that is not part of well-formed UTF-8 replaced by U+FFFD (one for each
/// maximal broken piece). Text without such bytes comes back unchanged. O(n).
[[nodiscard]] std::string valid_utf8(std::string_view text);

/// Columns that `text` takes on a terminal, one per code point. Precondition: valid UTF-8.
[[nodiscard]] std::size_t columns_of(std::string_view text) noexcept;

/// `text` for XML and HTML content and for attribute values in either kind of quotes. Characters
/// that XML 1.0 forbids and broken UTF-8 become U+FFFD.
[[nodiscard]] std::string escape_xml(std::string_view text);

/// `value` with `decimals` digits after the point; "-" when it is not a number, "inf" or "-inf"
/// when it is infinite. Never "-0.0".
[[nodiscard]] std::string fixed(double value, int decimals);

/// `value` with about four significant digits, for numbers of any magnitude; "-" when it is not a
/// number.
[[nodiscard]] std::string compact_number(double value);

/// A number of bytes with its binary unit: "512 B", "1.50 MiB". Negative values keep their sign.
[[nodiscard]] std::string byte_size(double bytes);

/// A span of time for people: "4 s", "3 m 20 s", "2 h 05 m", "3 d 04 h"; "-" if it is negative or
/// not finite.
[[nodiscard]] std::string duration(double seconds);

/// A p value: "0.0312", "<0.0001".
[[nodiscard]] std::string p_value(double p);

/// A name of letters, digits and '-' that is the same for the same text: an id in a document.
[[nodiscard]] std::string identifier(std::string_view text);

/// The 64-bit FNV-1a hash of `text`.
[[nodiscard]] std::uint64_t hash_of(std::string_view text) noexcept;

}  // namespace report
