// SPDX-License-Identifier: MIT
// The text of messages: what every kind of part looks like, and what happens at the end of the
// room.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>

#include "epikv/detail/text.hpp"

namespace {

using epikv::detail::text;
using small = text<8>;
using large = text<120>;

// Usable where a message is put together at compile time.
static_assert(large{"layers 0 to ", 31}.view() == "layers 0 to 31");
static_assert(large{}.view().empty());

TEST_CASE("parts follow one another") {
  CHECK(large{"a", 1, " ", true, false, std::string_view{"z"}}.view() == "a1 truefalsez");
}

TEST_CASE("integers of every width and sign are exact") {
  CHECK(large{0}.view() == "0");
  CHECK(large{-1}.view() == "-1");
  CHECK(large{std::numeric_limits<std::int8_t>::min()}.view() == "-128");
  CHECK(large{std::numeric_limits<std::int32_t>::min()}.view() == "-2147483648");
  CHECK(large{std::numeric_limits<std::int64_t>::min()}.view() == "-9223372036854775808");
  CHECK(large{std::numeric_limits<std::int64_t>::max()}.view() == "9223372036854775807");
  CHECK(large{std::numeric_limits<std::uint64_t>::max()}.view() == "18446744073709551615");
}

TEST_CASE("numbers with a fraction come back as they were") {
  CHECK(large{0.5}.view() == "0.5");
  CHECK(large{-1e300}.view() == "-1e+300");
  CHECK(std::strtod(std::string{large{0.1}.view()}.c_str(), nullptr) == 0.1);
  const double least = std::numeric_limits<double>::denorm_min();
  CHECK(std::strtod(std::string{large{least}.view()}.c_str(), nullptr) == least);
  CHECK(large{std::numeric_limits<double>::infinity()}.view() == "inf");
  CHECK(large{std::numeric_limits<double>::quiet_NaN()}.view() == "nan");
}

TEST_CASE("text that just fits is kept; one character more ends in dots") {
  CHECK(small{"12345678"}.view() == "12345678");
  CHECK(small{"123456789"}.view() == "12345...");
  CHECK(small{"1234", "5678"}.view() == "12345678");
  CHECK(small{"1234", "56789"}.view() == "12345...");
  CHECK(small{"12345678", ""}.view() == "12345678");
  CHECK(small{"12345678", 9}.view() == "12345...");
  CHECK(small{"12345678", "9", "0"}.view() == "12345...");
  CHECK(small{1234567, -5}.view() == "12345...");
}

TEST_CASE("a copy is a copy") {
  large a{"first"};
  const large b{a};
  a.append(" and more");
  CHECK(b.view() == "first");
  CHECK(a.view() == "first and more");
}

}  // namespace
