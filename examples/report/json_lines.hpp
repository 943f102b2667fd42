// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "mini_model/result.hpp"
#include "record.hpp"

namespace report {

/// A record as one line of JSON, without the line break. Text that is not UTF-8 is repaired, so
/// that a reader of the file sees what is there; numbers that are not finite are the strings
/// "nan", "inf" and "-inf". Other doubles come back bit for bit.
[[nodiscard]] std::string to_json_line(const record& r);

/// Reads such a line. Fails on anything else: a field that is missing, unknown, given twice, of the
/// wrong type or out of range.
[[nodiscard]] mini::expected<record> parse_record(std::string_view line);

/// The first line of a results file.
[[nodiscard]] std::string header_line(const configuration& settings);

/// Reads a first line; fails if it is not one, is of another version, or its fingerprint is not
/// that of the settings it lists.
[[nodiscard]] mini::expected<configuration> parse_header(std::string_view line);

}  // namespace report
