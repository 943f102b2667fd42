// SPDX-License-Identifier: MIT

// Does the reader refuse what it cannot read, with a sentence that says what is wrong?

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gguf_builder.hpp"
#include "gguf_cases.hpp"
#include "mini_model/gguf.hpp"
#include "program.hpp"

namespace {

using mini_test::byte_string;
using mini_test::byte_writer;
using mini_test::check_says;
using mini_test::gguf_builder;
using mini_test::huge;
using mini_test::parsed;
using mini_test::refusal;
using mini_test::small_file;

}  // namespace

TEST_CASE("a value of another kind than asked for is refused by its key") {
  gguf_builder builder;
  builder.set("minus", std::int8_t{-1}).set("large", huge).set("real", 2.0);
  builder.set_text("text", "7").set("truth", true).set_array("list", std::vector<float>{1, 2});
  const auto file = parsed(builder);
  check_says(file.get<std::uint64_t>("minus").error(), {"'minus'", "out of range"});
  check_says(file.get<std::int64_t>("large").error(), {"'large'", "out of range"});
  CHECK(*file.get<double>("minus") == -1.0);
  for (const char* key : {"real", "text", "truth"}) {
    const std::string quoted = "'" + std::string{key} + "'";
    check_says(file.get<std::uint64_t>(key).error(), {quoted, "another type"});
    check_says(file.get<std::int64_t>(key).error(), {quoted, "another type"});
  }
  check_says(file.get<double>("text").error(), {"'text'", "another type"});
  check_says(file.get<double>("truth").error(), {"'truth'", "another type"});
  check_says(file.get<bool>("large").error(), {"'large'", "another type"});
  check_says(file.get<std::string_view>("real").error(), {"'real'", "another type"});
  check_says(file.get<double>("list").error(), {"'list'", "is an array"});
  check_says(file.get<double>("absent").error(), {"'absent'", "missing"});
  check_says(file.get_array<double>("absent").error(), {"'absent'", "missing"});
  check_says(file.get_array<double>("real").error(), {"'real'", "not a plain array"});
  check_says(file.get_array<std::uint64_t>("list").error(), {"'list'", "another type"});
  CHECK(*file.get_or<std::uint64_t>("absent", 3) == 3);
  CHECK(!file.get_or<std::uint64_t>("minus", 3));
}

TEST_CASE("a file cut short is refused wherever the cut is") {
  for (const std::uint32_t alignment : {32u, 256u}) {
    CAPTURE(alignment);
    mini_test::gguf_layout end;
    const byte_string whole = small_file().align(alignment).build(&end);
    REQUIRE(refusal(whole).empty());
    for (std::size_t size = 0; size < whole.size(); ++size) {
      CAPTURE(size);
      const std::string message =
          refusal(byte_string(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
      if (size < 4) {
        check_says(message, {"not a GGUF file"});
      } else if (size < end.header) {
        check_says(message, {"truncated", "header"});
      } else if (size < end.metadata) {
        check_says(message, {"truncated", "metadata key"});
      } else if (size < end.descriptions) {
        check_says(message, {"truncated", "tensor"});
      } else if (size < end.gap) {
        check_says(message, {"truncated before the tensor data"});
      } else {
        check_says(message, {"tensor '", "past the end"});
      }
    }
  }
}

TEST_CASE("another magic, another version and the other byte order are refused") {
  for (const std::uint32_t magic : {0x46554746u, 0x66756767u, 0x47475546u, 0u}) {
    gguf_builder builder = small_file();
    builder.magic = magic;
    CHECK(refusal(builder) == "not a GGUF file");
  }
  for (const std::uint32_t version : {0u, 1u, 4u, 0x02000000u, 0x03000000u}) {
    gguf_builder builder = small_file();
    builder.version = version;
    check_says(refusal(builder), {"version " + std::to_string(version) + " ", "2 and 3"});
  }
}

TEST_CASE("counts and lengths that no file can hold are refused, not believed") {
  for (const std::uint64_t count : {huge, huge / 2 + 1, huge / 8, std::uint64_t{1} << 33}) {
    CAPTURE(count);
    gguf_builder builder = small_file();
    builder.metadata_count = count;
    CHECK(!refusal(builder).empty());  // it takes the tensors for metadata
    gguf_builder no_tensors;
    no_tensors.set("a", 1.0f);
    no_tensors.metadata_count = count;
    check_says(refusal(no_tensors), {"truncated", "metadata key 2 of " + std::to_string(count)});
    builder = gguf_builder{};
    builder.tensor_count = count;
    check_says(refusal(builder), {"truncated", "tensor 1 of " + std::to_string(count)});

    for (const std::uint32_t element :
         {mini_test::type_number<std::uint8_t>(), mini_test::type_number<double>(),
          mini_test::text_type, mini_test::array_type}) {
      builder = small_file();
      builder.set_raw("long", mini_test::array_type,
                      byte_writer{}.number(element).number(count).bytes());
      check_says(refusal(builder), {"'long'", "damaged or truncated"});
    }
    builder = small_file();
    builder.set_raw("text", mini_test::text_type, byte_writer{}.number(count).bytes());
    check_says(refusal(builder), {"'text'", "damaged or truncated"});
    // A key of that length.
    builder = small_file();
    byte_string bytes = builder.build();
    byte_string length = byte_writer{}.number(count).bytes();
    std::copy(length.begin(), length.end(), bytes.begin() + 24);
    check_says(refusal(bytes), {"truncated at metadata key 1 of 4"});

    builder = small_file();
    builder.find("first")->shape = {count, 2};
    check_says(refusal(builder), {"tensor 'first'"});
    builder.find("first")->shape = {2, 3, count, count};
    check_says(refusal(builder), {"tensor 'first'"});
  }
  // A product of exactly 2^64 must not pass as 0.
  gguf_builder builder = small_file();
  builder.find("first")->shape = {std::uint64_t{1} << 31, std::uint64_t{1} << 31};
  check_says(refusal(builder), {"tensor 'first'", "impossible shape"});
}

TEST_CASE("metadata of an unknown type or with an impossible value is refused by its key") {
  for (const std::uint32_t type : {13u, 14u, 255u, 0xFFFFFFFFu}) {
    check_says(refusal(small_file().set_raw("odd", type, byte_string(16))),
               {"'odd'", "unknown type " + std::to_string(type)});
    for (const std::uint64_t count : {0u, 1u}) {
      check_says(refusal(small_file().set_raw(
                     "odd", mini_test::array_type,
                     byte_writer{}.number(type).number(count).raw(byte_string(8 * count)).bytes())),
                 {"'odd'", "damaged"});
    }
  }
  for (const int value : {2, 255}) {
    check_says(refusal(small_file().set_raw(
                   "truth", mini_test::type_number<bool>(),
                   byte_writer{}.number(static_cast<std::uint8_t>(value)).bytes())),
               {"'truth'", "damaged"});
  }
  gguf_builder twice = small_file();
  twice.metadata.push_back(twice.metadata.front());
  check_says(refusal(twice), {"'general.name'", "twice"});
}

TEST_CASE("an alignment that is none is refused") {
  for (const std::uint32_t alignment : {0u, 3u, 33u, 48u}) {
    check_says(refusal(small_file().set("general.alignment", alignment)),
               {"general.alignment", std::to_string(alignment), "power of two"});
  }
  check_says(refusal(small_file().set_text("general.alignment", "32")),
             {"'general.alignment'", "another type"});
  check_says(refusal(small_file().set("general.alignment", std::int32_t{-32})),
             {"'general.alignment'", "out of range"});
  // The largest there is; nothing is as far away.
  gguf_builder far = small_file();
  far.set("general.alignment", std::uint64_t{1} << 63);
  check_says(refusal(far), {"tensor 'second'", "not aligned"});
  far.tensors.pop_back();
  check_says(refusal(far), {"truncated before the tensor data"});
}

TEST_CASE("a tensor of a type that is not read is refused by its name and the type's") {
  struct unread {
    std::uint32_t number;
    const char* name;
  };
  const std::vector<unread> types{
      {4, "type 4"},   {5, "type 5"},   {9, "Q8_1"},       {15, "Q8_K"},
      {16, "IQ2_XXS"}, {17, "IQ2_XS"},  {18, "IQ3_XXS"},   {19, "IQ1_S"},
      {20, "IQ4_NL"},  {21, "IQ3_S"},   {22, "IQ2_S"},     {23, "IQ4_XS"},
      {24, "I8"},      {25, "I16"},     {26, "I32"},       {27, "I64"},
      {28, "F64"},     {29, "IQ1_M"},   {31, "type 31"},   {32, "type 32"},
      {33, "type 33"}, {34, "TQ1_0"},   {35, "TQ2_0"},     {36, "type 36"},
      {37, "type 37"}, {38, "type 38"}, {39, "MXFP4"},     {40, "NVFP4"},
      {41, "Q1_0"},    {42, "type 42"}, {255, "type 255"}, {0xFFFFFFFF, "type 4294967295"}};
  for (const unread& type : types) {
    gguf_builder builder = small_file();
    builder.find("second")->type = type.number;
    check_says(refusal(builder),
               {"tensor 'second' is stored as " + std::string{type.name} + "; only F32, F16, BF16",
                "Q8_0, Q4_0, Q4_1, Q5_0, Q5_1 and Q2_K to Q6_K are read"});
  }
}

TEST_CASE("a row that is not a whole number of blocks is refused with both numbers") {
  for (const mini_test::stored_type& type : mini_test::stored_types) {
    if (type.elements == 1) continue;
    CAPTURE(type.name);
    for (const std::size_t length : {std::size_t{1}, type.elements / 2, type.elements - 1,
                                     type.elements + 1, 3 * type.elements - 16}) {
      gguf_builder builder;
      // The elements of all rows together are whole blocks, and there are bytes enough for them.
      builder.add_stored("odd", {length, type.elements}, type.number,
                         byte_string(length * type.bytes));
      check_says(refusal(builder), {"tensor 'odd' has rows of " + std::to_string(length) +
                                    " elements, not a multiple of " +
                                    std::to_string(type.elements) + " as " + type.name + " needs"});
    }
    gguf_builder whole;
    whole.add_stored("even", {type.elements, 3, 1, 2}, type.number, byte_string(6 * type.bytes));
    CHECK(refusal(whole).empty());
    whole.find("even")->shape = {3 * type.elements, 2};
    CHECK(refusal(whole).empty());
    whole.find("even")->shape = {2 * type.elements, 4};
    check_says(refusal(whole), {"tensor 'even'", "past the end"});
  }
}

TEST_CASE("a quantised tensor of no shape or of an impossible one is refused by its name") {
  for (const mini_test::stored_type& type : mini_test::stored_types) {
    CAPTURE(type.name);
    const auto refused_as = [&](const std::vector<std::uint64_t>& shape) {
      gguf_builder builder;
      builder.add_stored("odd", shape, type.number, byte_string(2 * type.bytes));
      return refusal(builder);
    };
    const std::uint64_t block = type.elements;
    check_says(refused_as({0}), {"'odd' has a dimension of 0"});
    check_says(refused_as({block, 0}), {"'odd' has a dimension of 0"});
    check_says(refused_as({0, huge, huge}), {"'odd' has a dimension of 0"});
    check_says(refused_as({block, 3}), {"'odd' reaches past the end"});
    check_says(refused_as({huge / block / 4 * block}), {"'odd'"});
    check_says(refused_as({block, huge}), {"'odd' has an impossible shape"});
    check_says(refused_as({std::uint64_t{1} << 63, 256}), {"'odd' has an impossible shape"});
    // 2^64 elements and 2^64 bytes must not pass as 0.
    const std::uint64_t two_32 = std::uint64_t{1} << 32;
    check_says(refused_as({two_32, two_32}), {"'odd'"});
    check_says(refused_as({block << 16, two_32, std::uint64_t{1} << 16}),
               {"'odd' has an impossible shape"});
  }
}

TEST_CASE("a file of quantised tensors cut short is refused wherever the cut is") {
  mini_test::gguf_layout end;
  const byte_string whole = mini_test::quantised_file().build(&end);
  REQUIRE(refusal(whole).empty());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    const std::string message =
        refusal(byte_string(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
    if (size >= end.gap) {
      check_says(message, {"tensor '", "past the end"});
    } else {
      CHECK(!message.empty());
    }
  }
}

TEST_CASE("a tensor of no shape or of the wrong place is refused by its name") {
  gguf_builder builder = small_file();
  builder.find("first")->shape = {};
  check_says(refusal(builder), {"tensor 'first'", "0 dimensions"});
  builder.find("first")->shape = {1, 1, 1, 1, 6};
  check_says(refusal(builder), {"tensor 'first'", "5 dimensions"});
  builder.find("first")->shape = {3, 0};
  check_says(refusal(builder), {"tensor 'first'", "dimension of 0"});

  for (const std::uint64_t offset : {1u, 4u, 16u, 31u, 33u}) {
    builder = small_file();
    builder.find("second")->offset = offset;
    check_says(refusal(builder), {"tensor 'second'", "not aligned"});
  }
  // The data of small_file has 32 + 10 bytes.
  builder = small_file();
  builder.find("second")->offset = 32;
  CHECK(refusal(builder).empty());
  for (const std::uint64_t offset : {std::uint64_t{64}, std::uint64_t{1} << 40, huge - 31}) {
    builder.find("second")->offset = offset;
    check_says(refusal(builder), {"tensor 'second'", "past the end"});
  }
  builder = small_file();
  builder.find("second")->shape = {6};  // one element too many
  check_says(refusal(builder), {"tensor 'second'", "past the end"});
  builder.find("second")->shape = {4};  // bytes that nobody names do no harm
  CHECK(refusal(builder).empty());

  builder = small_file();
  builder.tensors.push_back(builder.tensors.front());
  check_says(refusal(builder), {"tensor 'first'", "twice"});
}

TEST_CASE("an alignment of the file moves the data and forbids offsets between") {
  gguf_builder builder = small_file().align(256);
  builder.find("second")->offset = 32;
  check_says(refusal(builder), {"tensor 'second'", "not aligned"});
}

TEST_CASE("names from a file cannot break the line of a message nor fill the screen") {
  gguf_builder builder = small_file();
  builder.find("first")->name = "a\nb\x1B[31m\x7F" + std::string(100'000, 'x');
  builder.find("a\nb\x1B[31m\x7F" + std::string(100'000, 'x'))->type = 15;
  const std::string message = refusal(builder);
  check_says(message, {"tensor 'a?b?[31m?xxx", "...'", "Q8_K"});
  CHECK(message.size() < 200);
}

TEST_CASE("a path that cannot be read is refused with the path") {
  const mini_test::scratch_folder folder{"gguf"};
  const auto opened = [](const std::string& path) { return mini::gguf_file::open(path).error(); };
  check_says(opened(folder.file("absent.gguf")), {folder.file("absent.gguf"), "is not a file"});
  check_says(opened(folder.path()), {folder.path(), "is not a file"});
  check_says(opened(""), {"is not a file"});
  const std::string empty = folder.write("empty.gguf", "", 0);
  check_says(opened(empty), {empty, "not a GGUF file"});
  byte_string bytes = small_file().build();
  const std::string whole = folder.write("whole.gguf", bytes.data(), bytes.size());
  CHECK(opened(whole).empty());
  const std::string cut = folder.write("cut.gguf", bytes.data(), bytes.size() - 1);
  check_says(opened(cut), {cut, "tensor 'second'", "past the end"});
}
