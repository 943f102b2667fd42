// SPDX-License-Identifier: MIT

// Does the reader give back what a GGUF file holds, and refuse every damaged one with a sentence
// that says what is wrong? Run under the address sanitizer, the last cases also show that no
// damage makes it read outside of the file.

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "gguf_builder.hpp"
#include "mini_model/gguf.hpp"
#include "mini_model/tokenizer.hpp"
#include "mini_model/weights.hpp"
#include "program.hpp"
#include "shipped.hpp"
#include "tiny_llama.hpp"

namespace {

using mini_test::byte_string;
using mini_test::byte_writer;
using mini_test::gguf_builder;
using mini_test::shipped_path;
using namespace std::string_view_literals;

constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Why a file is refused; empty if it is not.
std::string refusal(byte_string bytes) { return mini::gguf_file::parse(std::move(bytes)).error(); }
std::string refusal(const gguf_builder& file) { return refusal(file.build()); }

// A sentence for a terminal: not empty, one line, and all of `parts` in it.
void check_says(const std::string& message, const std::vector<std::string>& parts) {
  CAPTURE(message);
  REQUIRE(!message.empty());
  for (const char c : message) CHECK(static_cast<unsigned char>(c) >= 0x20);
  for (const std::string& part : parts) CHECK_MESSAGE(contains(message, part), part);
}

mini::gguf_file parsed(const gguf_builder& file) {
  auto out = mini::gguf_file::parse(file.build());
  REQUIRE_MESSAGE(bool(out), out.error());
  return *std::move(out);
}

// Two tensors with a gap between them, metadata of several kinds.
gguf_builder small_file() {
  gguf_builder file;
  file.set_text("general.name", "small");
  file.set("count", std::uint32_t{7});
  file.set_texts("words", {"one", "", "three"});
  file.set("last", true);
  file.add_floats("first", {3, 2}, {1, 2, 3, 4, 5, 6});
  file.add_halves("second", {5}, {0x3C00, 0xC000, 0, 0x7BFF, 1});
  return file;
}

// Reads all that a file offers, in every way there is; each answer is a value or a sentence.
std::size_t read_everything(const mini::gguf_file& file) {
  std::size_t answers = 0;
  bool told = true;
  const auto count = [&](const auto& answer) {
    told = told && (static_cast<bool>(answer) || !answer.error().empty());
    ++answers;
  };
  for (const auto& [key, value] : file.metadata()) {
    count(file.get<std::uint64_t>(key));
    count(file.get<std::int64_t>(key));
    count(file.get<double>(key));
    count(file.get<bool>(key));
    count(file.get<std::string_view>(key));
    count(file.get_array<std::uint64_t>(key));
    count(file.get_array<std::int64_t>(key));
    count(file.get_array<double>(key));
    count(file.get_array<bool>(key));
    count(file.get_array<std::string_view>(key));
  }
  for (const auto& [name, tensor] : file.tensors()) {
    answers += mini::gguf_file::floats(tensor).size() > 0 ? 1 : 0;
  }
  count(mini::weights::load(file));
  count(mini::tokenizer::load(file));
  CHECK(told);
  return answers;
}

}  // namespace

TEST_CASE("a file spelled out byte by byte") {
  const std::string_view spelled =
      "GGUF"
      "\x03\0\0\0"
      "\x01\0\0\0\0\0\0\0"
      "\x02\0\0\0\0\0\0\0"
      // A number and a text.
      "\x01\0\0\0\0\0\0\0"
      "n"
      "\x05\0\0\0"
      "\xFE\xFF\xFF\xFF"
      "\x02\0\0\0\0\0\0\0"
      "ab"
      "\x08\0\0\0"
      "\x03\0\0\0\0\0\0\0"
      "xyz"
      // A float32 matrix of one row and two columns, padded to byte 128: 1.0 and -2.0.
      "\x01\0\0\0\0\0\0\0"
      "t"
      "\x02\0\0\0"
      "\x02\0\0\0\0\0\0\0"
      "\x01\0\0\0\0\0\0\0"
      "\0\0\0\0"
      "\0\0\0\0\0\0\0\0"
      "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
      "\0\0\x80\x3F"
      "\0\0\0\xC0"sv;
  REQUIRE(spelled.size() == 136);
  byte_string bytes;
  for (const char c : spelled) bytes.push_back(static_cast<std::byte>(c));
  const auto file = mini::gguf_file::parse(bytes);
  REQUIRE_MESSAGE(bool(file), file.error());
  CHECK(file->version() == 3);
  CHECK(*file->get<std::int64_t>("n") == -2);
  CHECK(*file->get<std::string_view>("ab") == "xyz");
  REQUIRE(file->tensors().size() == 1);
  const mini::gguf_tensor& tensor = file->tensors().at("t");
  CHECK(tensor.shape == std::vector<std::uint64_t>{2, 1});
  CHECK(!tensor.half);
  CHECK(mini::gguf_file::floats(tensor) == std::vector<float>{1.0f, -2.0f});
}

TEST_CASE_TEMPLATE("the extremes of a metadata type come back", T, std::uint8_t, std::int8_t,
                   std::uint16_t, std::int16_t, std::uint32_t, std::int32_t, std::uint64_t,
                   std::int64_t, float, double) {
  using limits = std::numeric_limits<T>;
  using wide =
      std::conditional_t<std::is_floating_point_v<T>, double,
                         std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;
  const std::vector<T> values{limits::lowest(), T{0}, T{1}, static_cast<T>(limits::max() / 3),
                              limits::max()};
  gguf_builder builder;
  for (std::size_t i = 0; i < values.size(); ++i) {
    builder.set("scalar." + std::to_string(i), values[i]);
  }
  builder.set_array("array", values);
  builder.set_array("empty", std::vector<T>{});
  const auto file = parsed(builder);
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(*file.get<wide>("scalar." + std::to_string(i)) == static_cast<wide>(values[i]));
    CHECK(*file.get<double>("scalar." + std::to_string(i)) == static_cast<double>(values[i]));
  }
  const auto array = file.get_array<wide>("array");
  REQUIRE(bool(array));
  REQUIRE(array->size() == values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK((*array)[i] == static_cast<wide>(values[i]));
  }
  REQUIRE(bool(file.get_array<wide>("empty")));
  CHECK(file.get_array<wide>("empty")->empty());
}

TEST_CASE("texts and truth values come back, alone and in arrays") {
  gguf_builder builder;
  builder.set_text("empty", "").set_text("text", std::string_view{"a\0b\xFF", 4});
  builder.set("yes", true).set("no", false);
  builder.set_texts("texts", {"", "x", "\xE2\x96\x81"});
  builder.set_raw("bools", mini_test::array_type,
                  byte_writer{}
                      .number(mini_test::type_number<bool>())
                      .number(std::uint64_t{2})
                      .number(true)
                      .number(false)
                      .bytes());
  const auto file = parsed(builder);
  CHECK(file.get<std::string_view>("empty")->empty());
  CHECK(*file.get<std::string_view>("text") == std::string_view{"a\0b\xFF", 4});
  CHECK(*file.get<bool>("yes"));
  CHECK(!*file.get<bool>("no"));
  CHECK(*file.get_array<std::string_view>("texts") ==
        std::vector<std::string_view>{"", "x", "\xE2\x96\x81"});
  CHECK(*file.get_array<bool>("bools") == std::vector<bool>{true, false});
}

TEST_CASE("versions 2 and 3, alignments and kinds of tensors read alike") {
  for (const std::uint32_t version : {2u, 3u}) {
    for (const std::uint32_t alignment : {0u, 8u, 32u, 64u, 256u}) {  // 0: not stated, so 32
      CAPTURE(version);
      CAPTURE(alignment);
      gguf_builder builder = small_file();
      builder.version = version;
      if (alignment != 0) builder.align(alignment);
      builder.add_floats("four.dimensions", {1, 2, 1, 2}, {-1, 0, 0.5f, 3e38f});
      const auto file = parsed(builder);
      CHECK(file.version() == version);
      CHECK(*file.get<std::string_view>("general.name") == "small");
      CHECK(*file.get<std::uint64_t>("count") == 7);
      CHECK(*file.get<bool>("last"));
      REQUIRE(file.tensors().size() == 3);
      const auto& first = file.tensors().at("first");
      CHECK(!first.half);
      CHECK(first.shape == std::vector<std::uint64_t>{3, 2});
      CHECK(mini::gguf_file::floats(first) == std::vector<float>{1, 2, 3, 4, 5, 6});
      const auto& second = file.tensors().at("second");
      CHECK(second.half);
      CHECK(second.shape == std::vector<std::uint64_t>{5});
      CHECK(mini::gguf_file::floats(second) == std::vector<float>{1, -2, 0, 65504, 0x1p-24f});
      const auto& third = file.tensors().at("four.dimensions");
      CHECK(third.shape == std::vector<std::uint64_t>{1, 2, 1, 2});
      CHECK(mini::gguf_file::floats(third) == std::vector<float>{-1, 0, 0.5f, 3e38f});
    }
  }
}

TEST_CASE("a file without tensors or without anything is a file") {
  CHECK(parsed(gguf_builder{}).tensors().empty());
  const auto file = parsed(gguf_builder{}.set("a", 1.5f));
  CHECK(file.metadata().size() == 1);
  CHECK(file.contains("a"));
  CHECK(!file.contains("b"));
}

TEST_CASE("what was read stays readable after the file object moved") {
  auto first = parsed(small_file());
  const mini::gguf_file second = std::move(first);
  CHECK(*second.get<std::string_view>("general.name") == "small");
  CHECK(mini::gguf_file::floats(second.tensors().at("first")).back() == 6.0f);
}

TEST_CASE("arrays in arrays are passed over, down to a depth that ends") {
  const auto nested = [](int depth) {
    byte_string inner = byte_writer{}
                            .number(mini_test::type_number<std::int16_t>())
                            .number(std::uint64_t{2})
                            .number(std::int16_t{-5})
                            .number(std::int16_t{6})
                            .bytes();
    for (int i = 1; i < depth; ++i) {
      inner = byte_writer{}
                  .number(mini_test::array_type)
                  .number(std::uint64_t{2})
                  .raw(inner)
                  .raw(inner)
                  .bytes();
    }
    return inner;
  };
  for (int depth = 1; depth <= 4; ++depth) {
    CAPTURE(depth);
    gguf_builder builder;
    builder.set_raw("nested", mini_test::array_type, nested(depth));
    builder.set("after", std::uint8_t{9});
    const auto file = parsed(builder);
    CHECK(*file.get<std::uint64_t>("after") == 9);
    const auto array = file.get_array<std::int64_t>("nested");
    if (depth == 1) {
      CHECK(*array == std::vector<std::int64_t>{-5, 6});
    } else {
      check_says(array.error(), {"'nested'", "not a plain array"});
    }
  }
  check_says(refusal(gguf_builder{}.set_raw("deep", mini_test::array_type, nested(5))),
             {"'deep'", "damaged or truncated"});
}

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

TEST_CASE("a tensor of another type is refused by its name and the type's") {
  const std::vector<std::string> names{"",     "",     "Q4_0", "Q4_1", "type 4", "type 5",
                                       "Q5_0", "Q5_1", "Q8_0", "Q8_1", "Q2_K",   "Q3_K",
                                       "Q4_K", "Q5_K", "Q6_K", "Q8_K", "type 16"};
  for (std::uint32_t type = 2; type < names.size(); ++type) {
    gguf_builder builder = small_file();
    builder.find("second")->type = type;
    check_says(refusal(builder), {"tensor 'second'", names[type], "F32 and F16"});
  }
  for (const std::uint32_t type : {30u, 39u, 0xFFFFFFFFu}) {  // 30 is BF16
    gguf_builder builder = small_file();
    builder.find("first")->type = type;
    check_says(refusal(builder), {"tensor 'first'", "type " + std::to_string(type)});
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
  builder.find("a\nb\x1B[31m\x7F" + std::string(100'000, 'x'))->type = 8;
  const std::string message = refusal(builder);
  check_says(message, {"tensor 'a?b?[31m?xxx", "...'", "Q8_0"});
  CHECK(message.size() < 200);
}

TEST_CASE("all 65,536 half-precision numbers become the float32 of the same value") {
  std::vector<std::uint16_t> halves;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    halves.push_back(static_cast<std::uint16_t>(bits));
  }
  const auto file = parsed(gguf_builder{}.add_halves("all", {256, 256}, halves));
  const auto floats = mini::gguf_file::floats(file.tensors().at("all"));
  REQUIRE(floats.size() == halves.size());
  std::size_t wrong = 0;
  for (const std::uint16_t half : halves) {
    const double value = mini_test::value_of_half(half);
    const float got = mini::half_to_float(half);
    const bool same = std::isnan(value) ? std::isnan(got)
                                        : static_cast<double>(got) == value &&
                                              std::signbit(got) == (half >= 0x8000);
    const bool as_in_file =
        std::bit_cast<std::uint32_t>(got) == std::bit_cast<std::uint32_t>(floats[half]);
    wrong += same && as_in_file ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("the shipped weights have the stated sizes") {
  const auto file = mini::gguf_file::open(shipped_path);
  REQUIRE_MESSAGE(bool(file), file.error());
  CHECK(file->version() == 3);
  CHECK(mini_test::text_of(shipped_path).size() == 610'368);
  CHECK(*file->get<std::string_view>("general.architecture") == "llama");
  CHECK(*file->get<std::string_view>("general.license") == "MIT");
  CHECK(file->tensors().size() == 6 * 9 + 3);
  std::size_t parameters = 0;
  bool finite = true;
  for (const auto& [name, tensor] : file->tensors()) {
    CHECK(tensor.half == (tensor.shape.size() == 2));
    const auto values = mini::gguf_file::floats(tensor);
    parameters += values.size();
    for (const float x : values) finite = finite && std::isfinite(x);
  }
  CHECK(parameters == 301'760);
  CHECK(finite);
  const auto model = mini::weights::load(*file);
  REQUIRE_MESSAGE(bool(model), model.error());
  const mini::config& shape = model->shape;
  CHECK(shape.layers == 6);
  CHECK(shape.hidden == 64);
  CHECK(shape.query_heads == 4);
  CHECK(shape.kv_heads == 2);
  CHECK(shape.head_dim == 16);
  CHECK(shape.feed_forward == 192);
  CHECK(shape.vocab == 47);
  CHECK(shape.context == 2048);
  CHECK(shape.rope_base == 10000.0);
  CHECK(shape.rms_eps == doctest::Approx(1e-5));
  CHECK(shape.query_size() == 64);
  CHECK(shape.kv_size() == 32);
  CHECK(shape.group_size() == 2);
  CHECK(model->output.size() > 0);  // not tied
  const auto words = mini::tokenizer::load(*file);
  REQUIRE_MESSAGE(bool(words), words.error());
  CHECK(words->size() == 47);
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

TEST_CASE("flipped bits give a file or a sentence, never a crash") {
  mini_test::gguf_layout end;
  mini_test::llama_sizes sizes;
  sizes.layers = 1;
  gguf_builder builder = mini_test::llama_file(sizes);
  builder.set_array("numbers", std::vector<std::int16_t>{1, -2, 3});
  const byte_string whole = builder.build(&end);
  REQUIRE(refusal(whole).empty());
  std::mt19937 random{20};
  std::size_t refused = 0;
  std::size_t answers = 0;
  for (int round = 0; round < 4000; ++round) {
    byte_string bytes = whole;
    for (auto flips = 1 + random() % 3; flips > 0; --flips) {
      // What is behind the descriptions are only weights.
      bytes[random() % end.descriptions] ^= static_cast<std::byte>(1u << (random() % 8));
    }
    const auto file = mini::gguf_file::parse(std::move(bytes));
    if (!file) {
      ++refused;
      CHECK(!file.error().empty());
    } else {
      answers += read_everything(*file);
    }
  }
  CHECK(refused > 500);
  CHECK(answers > 10'000);
}

TEST_CASE("numbers replaced by extreme ones give a file or a sentence, never a crash") {
  mini_test::gguf_layout end;
  const byte_string whole = small_file().build(&end);
  std::size_t refused = 0;
  for (std::size_t at = 0; at + 8 <= end.descriptions; ++at) {
    for (const std::uint64_t number :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{9}, std::uint64_t{1} << 31,
          std::uint64_t{1} << 32, std::uint64_t{1} << 63, huge - 7, huge - 31, huge}) {
      for (const std::size_t size : {std::size_t{4}, std::size_t{8}}) {
        byte_string bytes = whole;
        std::memcpy(bytes.data() + at, &number, size);
        const auto file = mini::gguf_file::parse(std::move(bytes));
        if (file) {
          read_everything(*file);
        } else {
          ++refused;
        }
      }
    }
  }
  CHECK(refused > 1000);
}

TEST_CASE("bytes that are no file at all give a sentence, never a crash") {
  std::mt19937 random{21};
  for (int round = 0; round < 2000; ++round) {
    byte_writer out;
    if (round % 2 == 0) out.number(0x46554747u).number(std::uint32_t{3});
    for (auto n = random() % 200; n > 0; --n) {
      out.number(static_cast<std::uint8_t>(random() % 4 == 0 ? random() % 256 : random() % 3));
    }
    const auto file = mini::gguf_file::parse(out.bytes());
    if (file) {
      read_everything(*file);
    } else {
      CHECK(!file.error().empty());
    }
  }
}
