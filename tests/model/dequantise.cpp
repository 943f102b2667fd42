// SPDX-License-Identifier: MIT

// Is what a quantised tensor becomes the float32 that its bits stand for? The fixture holds what
// another implementation made of the same bits (fixtures/make_quantised.py); equality is exact,
// since every value is one rounding away from its definition (mini_model/dequantise.hpp says why).
// The other cases have values worked out by hand from the layout of the blocks.

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "gguf_builder.hpp"
#include "gguf_cases.hpp"
#include "mini_model/dequantise.hpp"
#include "mini_model/gguf.hpp"
#include "mini_model/weights.hpp"
#include "tiny_llama.hpp"

namespace {

using mini::tensor_type;
using mini_test::byte_string;
using mini_test::byte_writer;
using mini_test::gguf_builder;
using mini_test::stored_type;
using mini_test::stored_types;

bool same_number(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

std::vector<float> decoded(tensor_type type, const byte_string& bytes, std::size_t elements) {
  std::vector<float> out(elements, -12345.0f);
  mini::dequantise(type, bytes, out);
  return out;
}

void put(byte_string& block, std::size_t at, unsigned value) {
  block[at] = static_cast<std::byte>(value);
}
void put_half(byte_string& block, std::size_t at, unsigned bits) {
  put(block, at, bits & 255);
  put(block, at + 1, bits >> 8);
}

// Exactly the stated elements are not 0, and have these values.
void check_elements(const std::vector<float>& got, const std::map<std::size_t, float>& expected) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(got[i] == (expected.contains(i) ? expected.at(i) : 0.0f));
  }
}

}  // namespace

TEST_CASE("every type becomes the float32 of the reference package, bit by bit") {
  const auto file = mini::gguf_file::open(EPIKV_SOURCE_DIR "/tests/model/fixtures/quantised.gguf");
  REQUIRE_MESSAGE(bool(file), file.error());
  CHECK(file->tensors().size() == 2 * std::size(stored_types));
  for (const stored_type& type : stored_types) {
    const std::string name = type.name;
    CAPTURE(name);
    REQUIRE(file->tensors().contains(name));
    REQUIRE(file->tensors().contains(name + ".expected"));
    const mini::gguf_tensor& stored = file->tensors().at(name);
    const mini::gguf_tensor& other = file->tensors().at(name + ".expected");
    CHECK(static_cast<std::uint32_t>(stored.type) == type.number);
    CHECK(other.type == tensor_type::f32);
    CHECK(stored.shape == other.shape);
    const auto got = mini::gguf_file::floats(stored);
    const auto expected = mini::gguf_file::floats(other);
    REQUIRE(got.size() == expected.size());
    std::size_t wrong = 0;
    std::size_t numbers = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      wrong += same_number(got[i], expected[i]) ? 0 : 1;
      numbers += std::isfinite(expected[i]) && expected[i] != 0.0f ? 1 : 0;
    }
    CHECK(wrong == 0);
    CHECK(numbers > got.size() / 3);  // the fixture says something
  }
}

TEST_CASE("a Q4_0 block by hand: 16 bytes of two elements, 8 stands for 0") {
  byte_string block(18, std::byte{0x88});
  put_half(block, 0, 0x3800);  // 0.5
  put(block, 2, 0xF1);         // elements 0 and 16
  put(block, 3, 0x80);
  put(block, 17, 0x7E);  // elements 15 and 31
  check_elements(decoded(tensor_type::q4_0, block, 32),
                 {{0, -3.5f}, {16, 3.5f}, {1, -4.0f}, {15, 3.0f}, {31, -0.5f}});
  put_half(block, 0, 0xC000);  // -2
  check_elements(decoded(tensor_type::q4_0, block, 32),
                 {{0, 14.0f}, {16, -14.0f}, {1, 16.0f}, {15, -12.0f}, {31, 2.0f}});
}

TEST_CASE("a Q5_1 block by hand: the fifth bits of 32 elements come first") {
  byte_string block(24);
  put_half(block, 0, 0x3C00);  // 1
  put_half(block, 2, 0xCC00);  // -16
  put(block, 4, 0xFE);         // all but element 0
  put(block, 5, 0xFF);
  put(block, 6, 0xFF);
  put(block, 7, 0x7F);   // all but element 31
  put(block, 8, 0x3A);   // elements 0 and 16
  put(block, 23, 0xF1);  // elements 15 and 31
  check_elements(decoded(tensor_type::q5_1, block, 32),
                 {{0, -6.0f}, {16, 3.0f}, {15, 1.0f}, {31, -1.0f}});
}

TEST_CASE("a Q4_K block by hand: eight scales and minima of six bits in twelve bytes") {
  byte_string block(144, std::byte{0x21});  // 1 in even parts, 2 in odd ones
  put_half(block, 0, 0x3C00);               // 1
  put_half(block, 2, 0x3800);               // 0.5
  // Scales 1, 2, 3, 4, 21, 38, 55, 63; minima 0, 10, 20, 30, 5, 17, 33, 62.
  const unsigned factors[] = {0x41, 0x82, 0xC3, 0xC4, 0x00, 0x4A,
                              0x94, 0xDE, 0x55, 0x16, 0x17, 0xEF};
  for (std::size_t i = 0; i < 12; ++i) put(block, 4 + i, factors[i]);
  const float parts[] = {1.0f, -1.0f, -7.0f, -7.0f, 18.5f, 67.5f, 38.5f, 95.0f};
  const auto got = decoded(tensor_type::q4_k, block, 256);
  for (std::size_t i = 0; i < 256; ++i) {
    CAPTURE(i);
    CHECK(got[i] == parts[i / 32]);
  }
}

TEST_CASE("a Q6_K block by hand: four and two bits of an element in different places") {
  byte_string block(210);
  for (std::size_t i = 128; i < 192; ++i) put(block, i, 0xAA);  // 32 everywhere, which means 0
  for (std::size_t group = 0; group < 16; ++group) {
    put(block, 192 + group, static_cast<unsigned>(group) + 1);
  }
  put(block, 192 + 5, 0xFD);     // a scale of -3
  put_half(block, 208, 0x4000);  // 2
  put(block, 0, 0xF5);           // elements 0 and 64
  put(block, 33, 0x01);          // element 33
  put(block, 16, 0x10);          // element 80, under the negative scale
  put(block, 128 + 31, 0x2A);    // the upper bits of element 127 are 0
  put(block, 128 + 32, 0xAB);    // those of element 128 are 3
  put(block, 128 + 63, 0x9A);    // those of element 223 are 1
  put(block, 64 + 31, 0x70);     // and its lower ones 7
  check_elements(decoded(tensor_type::q6_k, block, 256), {{0, 2.0f * 1 * 5},
                                                          {64, 2.0f * 5 * 15},
                                                          {33, 2.0f * 3 * 1},
                                                          {80, 2.0f * -3 * 1},
                                                          {127, 2.0f * 8 * -32},
                                                          {128, 2.0f * 9 * 16},
                                                          {223, 2.0f * 14 * -9}});
}

TEST_CASE("all 65,536 BF16 patterns are the upper halves of a float32") {
  byte_writer bytes;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) bytes.number(static_cast<std::uint16_t>(bits));
  const auto floats = decoded(tensor_type::bf16, bytes.bytes(), 65536);
  std::size_t wrong = 0;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    wrong += std::bit_cast<std::uint32_t>(floats[bits]) == bits << 16 ? 0 : 1;
  }
  CHECK(wrong == 0);
  CHECK(floats[0x3F80] == 1.0f);
  CHECK(floats[0xC040] == -3.0f);
}

TEST_CASE("a row is written where the caller wants it, and nothing beside it") {
  const auto file = mini_test::parsed(mini_test::quantised_file());
  for (const stored_type& type : stored_types) {
    CAPTURE(type.name);
    const mini::gguf_tensor& tensor = file.tensors().at(type.name);
    CHECK(tensor.row_length() == 2 * type.elements);
    CHECK(tensor.rows() == 2);
    CHECK(tensor.size() == 4 * type.elements);
    const auto whole = mini::gguf_file::floats(tensor);
    REQUIRE(whole.size() == tensor.size());
    for (std::size_t row = 0; row < 2; ++row) {
      std::vector<float> memory(tensor.row_length() + 2, 0.25f);
      mini::gguf_file::row(tensor, row, std::span{memory}.subspan(1, tensor.row_length()));
      CHECK(memory.front() == 0.25f);
      CHECK(memory.back() == 0.25f);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < tensor.row_length(); ++i) {
        wrong += same_number(memory[i + 1], whole[row * tensor.row_length() + i]) ? 0 : 1;
      }
      CHECK(wrong == 0);
    }
    std::vector<float> memory(tensor.size() + 2, 0.25f);
    mini::gguf_file::floats(tensor, std::span{memory}.subspan(1, tensor.size()));
    CHECK(memory.front() == 0.25f);
    CHECK(memory.back() == 0.25f);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      wrong += same_number(memory[i + 1], whole[i]) ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("a row of a tensor of four dimensions is one run of its first dimension") {
  gguf_builder builder;
  std::vector<float> values(24);
  for (std::size_t i = 0; i < 24; ++i) values[i] = static_cast<float>(i);
  builder.add_floats("four", {3, 2, 1, 4}, values);
  const auto file = mini_test::parsed(builder);
  const mini::gguf_tensor& tensor = file.tensors().at("four");
  CHECK(tensor.row_length() == 3);
  REQUIRE(tensor.rows() == 8);
  std::vector<float> row(3);
  mini::gguf_file::row(tensor, 5, row);
  CHECK(row == std::vector<float>{15, 16, 17});
}

TEST_CASE("a model of quantised matrices is the model of their float32 values") {
  mini_test::llama_sizes sizes;
  sizes.hidden = 32;
  sizes.query_heads = 8;
  sizes.head_dim = 4;
  sizes.feed_forward = 64;
  gguf_builder quantised = mini_test::llama_file(sizes);
  gguf_builder plain = quantised;
  std::mt19937 random{5};
  const stored_type kinds[] = {stored_types[3], stored_types[4], stored_types[5], stored_types[6],
                               stored_types[7]};
  std::size_t next = 0;
  for (gguf_builder::tensor& tensor : quantised.tensors) {
    if (tensor.shape.size() != 2) continue;
    const stored_type& type = kinds[next++ % std::size(kinds)];
    const std::size_t elements = tensor.data.size() / 4;
    tensor.type = type.number;
    tensor.data = mini_test::random_bytes(random, elements / 32 * type.bytes);
    byte_writer as_floats;
    for (const float x : decoded(static_cast<tensor_type>(type.number), tensor.data, elements)) {
      as_floats.number(x);
    }
    plain.find(tensor.name)->data = as_floats.bytes();
  }
  const auto got = mini::weights::load(mini_test::parsed(quantised));
  const auto expected = mini::weights::load(mini_test::parsed(plain));
  REQUIRE_MESSAGE(bool(got), got.error());
  REQUIRE_MESSAGE(bool(expected), expected.error());
  const auto same = [](const mini::matrix& a, const mini::matrix& b) {
    if (a.rows() != b.rows() || a.cols() != b.cols()) return false;
    for (Eigen::Index i = 0; i < a.size(); ++i) {
      if (!same_number(a.data()[i], b.data()[i])) return false;
    }
    return a.size() > 0;
  };
  CHECK(same(got->token_embd, expected->token_embd));
  CHECK(same(got->output, expected->output));
  REQUIRE(got->layers.size() == 2);
  for (std::size_t l = 0; l < 2; ++l) {
    CHECK(same(got->layers[l].attn_k, expected->layers[l].attn_k));
    CHECK(same(got->layers[l].attn_output, expected->layers[l].attn_output));
    CHECK(same(got->layers[l].ffn_down, expected->layers[l].ffn_down));
  }
}
