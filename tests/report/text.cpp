// SPDX-License-Identifier: MIT

// Is text repaired and escaped, and are numbers written, as the headers promise?

#include "report/text.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

namespace {

const std::string r = "\xEF\xBF\xBD";  // U+FFFD

TEST_CASE("valid UTF-8 stays, everything else becomes U+FFFD") {
  const std::string good =
      "a\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF"
      "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF";
  CHECK(report::valid_utf8(good) == good);
  CHECK(report::valid_utf8(std::string("\0x", 2)) == std::string("\0x", 2));
  CHECK(report::valid_utf8("\x80") == r);                          // a lone continuation
  CHECK(report::valid_utf8("\xC0\xAF") == r + r);                  // too long a form
  CHECK(report::valid_utf8("\xE0\x9F\xBF") == r + r + r);          // likewise
  CHECK(report::valid_utf8("\xED\xA0\x80") == r + r + r);          // a surrogate
  CHECK(report::valid_utf8("\xF4\x90\x80\x80") == r + r + r + r);  // beyond U+10FFFF
  CHECK(report::valid_utf8("\xF5 \xFF") == r + " " + r);
  CHECK(report::valid_utf8("\xE2\x82") == r);  // cut off
  CHECK(report::valid_utf8("\xE2\x82z") == r + "z");
  CHECK(report::valid_utf8("\xF0\x9F\x90z") == r + "z");
  CHECK(report::columns_of("a\xC2\x80\xF0\x9F\x90\x99") == 3);
}

TEST_CASE("escape_xml leaves nothing that XML would take for its own") {
  CHECK(report::escape_xml("<a b=\"c\" d='e'>&amp;") ==
        "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;amp;");
  CHECK(report::escape_xml("\t\n\r \x01\x1F\x7F") == "\t\n\r " + r + r + "\x7F");
  CHECK(report::escape_xml("\xEF\xBF\xBE\xFF") == r + r);
  CHECK(report::escape_xml(std::string(1, '\0')) == r);
}

TEST_CASE("numbers for people") {
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(report::fixed(1.25, 1) == "1.2");
  CHECK(report::fixed(-0.04, 1) == "0.0");
  CHECK(report::fixed(-0.06, 1) == "-0.1");
  CHECK(report::fixed(nan, 1) == "-");
  CHECK(report::fixed(-infinity, 1) == "-inf");
  CHECK(report::compact_number(0) == "0.0000");
  CHECK(report::compact_number(0.123456) == "0.1235");
  CHECK(report::compact_number(12.3456) == "12.346");
  CHECK(report::compact_number(1234.56) == "1234.6");
  CHECK(report::compact_number(1.5e-7) == "1.5e-07");
  CHECK(report::byte_size(0) == "0 B");
  CHECK(report::byte_size(1023) == "1023 B");
  CHECK(report::byte_size(1536) == "1.50 KiB");
  CHECK(report::byte_size(15 * 1048576) == "15.0 MiB");
  CHECK(report::byte_size(1e18) == "909495 TiB");
  CHECK(report::duration(0.4) == "0 s");
  CHECK(report::duration(59.6) == "1 m 00 s");
  CHECK(report::duration(3599) == "59 m 59 s");
  CHECK(report::duration(7500) == "2 h 05 m");
  CHECK(report::duration(277200) == "3 d 05 h");
  CHECK(report::duration(-1) == "-");
  CHECK(report::duration(infinity) == "-");
  CHECK(report::p_value(0.03125) == "0.0312");
  CHECK(report::p_value(1e-9) == "<0.0001");
  CHECK(report::hash_of("") == 0xCBF29CE484222325U);  // as published
  CHECK(report::hash_of("a") == 0xAF63DC4C8601EC8CU);
}

}  // namespace
