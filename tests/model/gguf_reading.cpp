// SPDX-License-Identifier: MIT

// Does the reader give back what a GGUF file holds?

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "gguf_builder.hpp"
#include "gguf_cases.hpp"
#include "mini_model/gguf.hpp"
#include "mini_model/tokenizer.hpp"
#include "mini_model/weights.hpp"
#include "program.hpp"
#include "shipped.hpp"

namespace {

using mini_test::byte_string;
using mini_test::byte_writer;
using mini_test::check_says;
using mini_test::gguf_builder;
using mini_test::parsed;
using mini_test::refusal;
using mini_test::shipped_path;
using mini_test::small_file;
using namespace std::string_view_literals;

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
  CHECK(tensor.type == mini::tensor_type::f32);
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
      CHECK(first.type == mini::tensor_type::f32);
      CHECK(first.shape == std::vector<std::uint64_t>{3, 2});
      CHECK(mini::gguf_file::floats(first) == std::vector<float>{1, 2, 3, 4, 5, 6});
      const auto& second = file.tensors().at("second");
      CHECK(second.type == mini::tensor_type::f16);
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

TEST_CASE("a vocabulary of 150,000 pieces and 5,000 tensors load in a moment") {
  std::vector<std::string> pieces;
  for (int i = 0; i < 150'000; ++i) pieces.push_back("piece " + std::to_string(i));
  gguf_builder builder;
  builder.set_texts("pieces", pieces);
  builder.set_array("scores", std::vector<float>(pieces.size(), 0.5f));
  for (int i = 0; i < 5'000; ++i) {
    builder.add_floats("tensor " + std::to_string(i), {1}, {static_cast<float>(i)});
  }
  byte_string bytes = builder.build();
  const auto start = std::chrono::steady_clock::now();
  const auto file = mini::gguf_file::parse(std::move(bytes));
  REQUIRE_MESSAGE(bool(file), file.error());
  const auto read = file->get_array<std::string_view>("pieces");
  const auto scores = file->get_array<double>("scores");
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  REQUIRE(bool(read));
  CHECK(std::equal(read->begin(), read->end(), pieces.begin(), pieces.end()));
  REQUIRE(bool(scores));
  CHECK(scores->size() == pieces.size());
  CHECK(mini::gguf_file::floats(file->tensors().at("tensor 4999")).front() == 4999.0f);
  // About 0.01 s; anything that grows with the square of the pieces takes far more than this.
  CHECK(seconds.count() < 3.0);
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
    const bool is_matrix = tensor.shape.size() == 2;
    CHECK(tensor.type == (is_matrix ? mini::tensor_type::f16 : mini::tensor_type::f32));
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
