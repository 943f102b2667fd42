// SPDX-License-Identifier: MIT

// Does any damage to a file do worse than a sentence? Run under the address sanitizer, these cases
// also show that nothing makes the reader read outside of the file.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "gguf_builder.hpp"
#include "gguf_cases.hpp"
#include "mini_model/gguf.hpp"
#include "mini_model/tokenizer.hpp"
#include "mini_model/weights.hpp"
#include "tiny_llama.hpp"

namespace {

using mini_test::byte_string;
using mini_test::byte_writer;
using mini_test::gguf_builder;
using mini_test::huge;
using mini_test::refusal;
using mini_test::small_file;

// What became of an input.
struct outcome {
  bool refused = false;
  bool sound = true;  // each answer is a value or a sentence, and the values agree
  std::size_t answers = 0;
};

// Do all rows of a tensor, one by one, have the bits of the whole?
bool rows_agree(const mini::gguf_tensor& tensor) {
  const std::vector<float> whole = mini::gguf_file::floats(tensor);
  std::vector<float> row(tensor.row_length());
  if (whole.size() != tensor.size() || row.size() * tensor.rows() != whole.size()) return false;
  for (std::size_t i = 0; i < tensor.rows(); ++i) {
    mini::gguf_file::row(tensor, i, row);
    const std::size_t size = row.size() * sizeof(float);
    if (std::memcmp(row.data(), whole.data() + i * row.size(), size) != 0) return false;
  }
  return true;
}

// Reads all that a file offers, in every way there is.
outcome read_everything(const mini::gguf_file& file) {
  outcome out;
  const auto count = [&](const auto& answer) {
    out.sound = out.sound && (static_cast<bool>(answer) || !answer.error().empty());
    ++out.answers;
  };
  for (const auto& entry : file.metadata()) {
    const std::string_view key = entry.first;
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
  for (const auto& entry : file.tensors()) {
    out.sound = out.sound && entry.second.size() > 0 && rows_agree(entry.second);
    ++out.answers;
  }
  count(mini::weights::load(file));
  count(mini::tokenizer::load(file));
  return out;
}

outcome offer(byte_string bytes) {
  const auto file = mini::gguf_file::parse(std::move(bytes));
  if (file) return read_everything(*file);
  return {.refused = true, .sound = !file.error().empty()};
}

// Offers copies of `whole` in which single bits before `end` are flipped, and counts.
void flip_bits(const byte_string& whole, std::size_t end, int rounds, std::size_t& refused,
               std::size_t& answers) {
  std::mt19937 random{20};
  for (int round = 0; round < rounds; ++round) {
    byte_string bytes = whole;
    for (auto flips = 1 + random() % 3; flips > 0; --flips) {
      bytes[random() % end] ^= static_cast<std::byte>(1u << (random() % 8));
    }
    const outcome result = offer(std::move(bytes));
    CHECK(result.sound);
    refused += result.refused ? 1 : 0;
    answers += result.answers;
  }
}

// Offers copies of `whole` with an extreme number at every place from `begin` to `end`, and counts.
void replace_numbers(const byte_string& whole, std::size_t begin, std::size_t end,
                     std::size_t& refused) {
  for (std::size_t at = begin; at + 8 <= end; ++at) {
    for (const std::uint64_t number :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{9}, std::uint64_t{1} << 31,
          std::uint64_t{1} << 32, std::uint64_t{1} << 63, huge - 7, huge - 31, huge}) {
      for (const std::size_t size : {std::size_t{4}, std::size_t{8}}) {
        byte_string bytes = whole;
        std::memcpy(bytes.data() + at, &number, size);
        const outcome result = offer(std::move(bytes));
        CHECK(result.sound);
        refused += result.refused ? 1 : 0;
      }
    }
  }
}

}  // namespace

// The same for a fuzzer that makes up its inputs:
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -DDOCTEST_CONFIG_DISABLE
//     -Itests -Iexamples -I<Eigen> -I<doctest> tests/model/gguf_damage.cpp -o gguf-fuzz
//   ./gguf-fuzz <folder for inputs> tests/model/fixtures
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span{data, size});
  if (!offer(byte_string(bytes.begin(), bytes.end())).sound) std::abort();
  return 0;
}

TEST_CASE("flipped bits give a file or a sentence, never a crash") {
  mini_test::gguf_layout end;
  mini_test::llama_sizes sizes;
  sizes.layers = 1;
  gguf_builder builder = mini_test::llama_file(sizes);
  builder.set_array("numbers", std::vector<std::int16_t>{1, -2, 3});
  const byte_string whole = builder.build(&end);
  REQUIRE(refusal(whole).empty());
  std::size_t refused = 0;
  std::size_t answers = 0;
  // What is behind the descriptions are only weights.
  flip_bits(whole, end.descriptions, 4000, refused, answers);
  CHECK(refused > 500);
  CHECK(answers > 10'000);
}

TEST_CASE("flipped bits in quantised tensors give a file or a sentence, never a crash") {
  mini_test::gguf_layout end;
  const byte_string whole = mini_test::quantised_file().build(&end);
  std::size_t refused = 0;
  std::size_t answers = 0;
  flip_bits(whole, end.descriptions, 4000, refused, answers);
  CHECK(refused > 500);
  CHECK(answers > 1'000);
}

TEST_CASE("numbers replaced by extreme ones give a file or a sentence, never a crash") {
  mini_test::gguf_layout end;
  const byte_string whole = small_file().build(&end);
  std::size_t refused = 0;
  replace_numbers(whole, 0, end.descriptions, refused);
  CHECK(refused > 1000);
  const byte_string quantised = mini_test::quantised_file().build(&end);
  refused = 0;
  replace_numbers(quantised, end.metadata, end.descriptions, refused);
  CHECK(refused > 1000);
}

TEST_CASE("a tensor whose type is changed is read as the other type or refused") {
  for (const mini_test::stored_type& from : mini_test::stored_types) {
    for (std::uint32_t to = 0; to < 64; ++to) {
      gguf_builder builder = mini_test::quantised_file();
      builder.find(from.name)->type = to;
      CHECK(offer(builder.build()).sound);
    }
  }
}

TEST_CASE("bytes that are no file at all give a sentence, never a crash") {
  std::mt19937 random{21};
  for (int round = 0; round < 2000; ++round) {
    byte_writer out;
    if (round % 2 == 0) out.number(0x46554747u).number(std::uint32_t{3});
    for (auto n = random() % 200; n > 0; --n) {
      out.number(static_cast<std::uint8_t>(random() % 4 == 0 ? random() % 256 : random() % 3));
    }
    CHECK(offer(out.bytes()).sound);
  }
}
