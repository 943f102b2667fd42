// SPDX-License-Identifier: MIT

// Is the CSV that of RFC 4180? Read back by a parser that was written from its grammar.

#include "report/csv.hpp"

#include <doctest/doctest.h>

#include <charconv>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "sample_records.hpp"

namespace {

using row = std::vector<std::string>;

// file = record *(CRLF record) [CRLF]; record = field *(COMMA field). `ok` is false if the text is
// not in the grammar.
struct csv_reader {
  std::string_view text;
  bool ok = true;
  std::size_t at = 0;

  bool take(std::string_view what) {
    if (text.substr(at, what.size()) != what) return false;
    at += what.size();
    return true;
  }

  std::string field() {
    std::string out;
    if (!take("\"")) {
      while (at < text.size() && text[at] != ',' && text[at] != '\r') {
        if (text[at] == '"' || text[at] == '\n') ok = false;
        out += text[at++];
      }
      return out;
    }
    while (at < text.size()) {
      if (take("\"\"")) {
        out += '"';
      } else if (take("\"")) {
        return out;
      } else {
        out += text[at++];
      }
    }
    ok = false;
    return out;
  }

  std::vector<row> rows() {
    std::vector<row> out;
    while (ok && at < text.size()) {
      row fields{field()};
      while (take(",")) fields.push_back(field());
      if (!take("\r\n")) ok = false;
      out.push_back(std::move(fields));
    }
    return out;
  }
};

std::vector<row> parsed(const std::string& text) {
  csv_reader reader{text};
  std::vector<row> out = reader.rows();
  CHECK(reader.ok);
  return out;
}

TEST_CASE("a field is quoted when it has to be, and only then") {
  CHECK(report::csv_field("plain text") == "plain text");
  CHECK(report::csv_field("") == "");
  CHECK(report::csv_field("a,b") == "\"a,b\"");
  CHECK(report::csv_field("say \"x\"") == "\"say \"\"x\"\"\"");
  CHECK(report::csv_field("two\nlines") == "\"two\nlines\"");
  CHECK(report::csv_field("\r") == "\"\r\"");
}

TEST_CASE("every record comes back, whatever its texts hold") {
  std::vector<report::record> records = report_test::sample_records(2);
  records[0].task = "comma, \"quote\"\r\nbreak";
  records[1].options = "\"";
  records[2].preset = ",,\n,";
  records[3].numbers = {{"odd, name", 0.1}, {"nll", std::numeric_limits<double>::infinity()}};
  records[4].numbers.clear();
  records[5].seconds = 1.0 / 3;
  records[6].graded = false;

  const std::vector<row> rows = parsed(report::to_csv(records));
  REQUIRE(rows.size() == records.size() + 1);
  const row head{"task",          "preset",    "options",     "budget",
                 "problem",       "graded",    "right",       "capped",
                 "prompt_tokens", "generated", "peak_tokens", "peak_bytes",
                 "seconds",       "nll",       "kl",          "odd, name"};
  CHECK(rows[0] == head);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const report::record& r = records[i];
    const row& got = rows[i + 1];
    REQUIRE(got.size() == head.size());
    CHECK(got[0] == r.task);
    CHECK(got[1] == r.preset);
    CHECK(got[2] == r.options);
    CHECK(got[3] == std::to_string(r.budget));
    CHECK(got[4] == std::to_string(r.problem));
    CHECK(got[5] == (r.graded ? "1" : "0"));
    CHECK(got[6] == (r.right ? "1" : "0"));
    CHECK(got[7] == (r.capped ? "1" : "0"));
    CHECK(got[8] == std::to_string(r.prompt_tokens));
    CHECK(got[9] == std::to_string(r.generated));
    CHECK(got[10] == std::to_string(r.peak_tokens));
    CHECK(got[11] == std::to_string(r.peak_bytes));
    const auto is = [&got](std::size_t column, double expected) {
      double value = 0;
      const std::string& text = got[column];
      std::from_chars(text.data(), text.data() + text.size(), value);
      CHECK(value == expected);
    };
    is(12, r.seconds);
    for (std::size_t column = 13; column < head.size(); ++column) {
      const auto value = report::number_of(r, head[column]);
      CHECK(got[column].empty() == !value.has_value());
      if (value) is(column, *value);
    }
  }
  CHECK(parsed(report::to_csv({})).size() == 1);
}

}  // namespace
