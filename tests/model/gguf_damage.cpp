// SPDX-License-Identifier: MIT

// Does any damage to a file do worse than a sentence? Run under the address sanitizer, these cases
// also show that nothing makes the reader read outside of the file.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
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
