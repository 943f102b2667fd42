// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "record.hpp"

namespace report {

/// `text` as one field by RFC 4180: in quotes, with quotes doubled, when it holds a comma, a quote
/// or a line break.
[[nodiscard]] std::string csv_field(std::string_view text);

/// The records as a table with a header row, lines ended by CRLF. Behind the fields of a record
/// there is one column for each name of a number, in the order in which the names first occur,
/// empty where a record lacks it. Doubles are written so that reading them gives the same bits.
[[nodiscard]] std::string to_csv(std::span<const record> records);

}  // namespace report
