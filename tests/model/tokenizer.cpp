// SPDX-License-Identifier: MIT

// Is every character of the vocabulary one token and back, and is what the tokenizer cannot read
// refused by place?

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gguf_builder.hpp"
#include "mini_model/ledger.hpp"
#include "mini_model/tokenizer.hpp"
#include "shipped.hpp"
#include "tokenizer_support.hpp"

namespace {

using mini_test::check_refused;
using mini_test::gguf_builder;
using mini_test::load;
using mini_test::loaded;

constexpr const char* tokens_key = "tokenizer.ggml.tokens";
constexpr const char* types_key = "tokenizer.ggml.token_type";
constexpr const char* eos_key = "tokenizer.ggml.eos_token_id";

// The unknown token, ASCII, the stand-in of the space, and characters of two, three and four bytes.
gguf_builder vocabulary() {
  gguf_builder file;
  file.set_texts(tokens_key, {"<unk>", "a", "\xE2\x96\x81", "\n", "\xC3\xA9", "\xE2\x82\xAC",
                              "\xF0\x9F\x98\x80", "<"});
  file.set_array(types_key, std::vector<std::int32_t>{2, 1, 1, 1, 1, 1, 1, 1});
  file.set(eos_key, std::uint32_t{3});
  return file;
}

}  // namespace

TEST_CASE("characters of one to four bytes are one token each and come back") {
  const mini::tokenizer words = loaded(vocabulary());
  CHECK(words.size() == 8);
  CHECK(words.eos() == 3);
  const std::string text = "a \xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\na<";
  const auto ids = words.encode(text);
  REQUIRE_MESSAGE(bool(ids), ids.error());
  CHECK(*ids == std::vector<mini::token>{1, 2, 4, 5, 6, 3, 1, 7});
  CHECK(words.decode(*ids) == text);
  REQUIRE(bool(words.encode("")));
  CHECK(words.encode("")->empty());
  CHECK(words.decode(std::vector<mini::token>{}).empty());
}

TEST_CASE("the vocabulary of the shipped model is that of its task") {
  const mini::tokenizer& words = mini_test::shipped().words;
  const std::string characters = "\n #+-.0123456789:;=?abcdefghijklmnopqrstuvwxyz";
  REQUIRE(characters.size() == 46);
  CHECK(words.size() == 47);
  CHECK(words.decode(0) == "<unk>");
  CHECK(words.decode(words.eos()) == "\n");
  const auto ids = words.encode(characters);
  REQUIRE_MESSAGE(bool(ids), ids.error());
  for (std::size_t i = 0; i < ids->size(); ++i) {
    CHECK((*ids)[i] == static_cast<mini::token>(i + 1));  // in the order of their codes
    CHECK(words.decode((*ids)[i]) == characters.substr(i, 1));
  }
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto problem = mini::make_ledger_problem(seed);
    REQUIRE(bool(problem));
    const std::string text = problem->prompt + problem->trace;
    const auto encoded = words.encode(text);
    REQUIRE_MESSAGE(bool(encoded), encoded.error());
    CHECK(encoded->size() == text.size());
    CHECK(words.decode(*encoded) == text);
  }
}

TEST_CASE("an unknown character is refused with itself and its place") {
  const mini::tokenizer words = loaded(vocabulary());
  const auto error = [&](const std::string& text) { return words.encode(text).error(); };
  CHECK(error("b") == "the vocabulary has no character 'b' (byte 0)");
  CHECK(error("a aB") == "the vocabulary has no character 'B' (byte 3)");
  CHECK(error("\xC3\xA9\xE2\x82\xACx") == "the vocabulary has no character 'x' (byte 5)");
  CHECK(error("\xC3\xA8").find("'\xC3\xA8' (byte 0)") != std::string::npos);
  // The stand-in of the space is no text, and no text spells a special token.
  CHECK(error("a\xE2\x96\x81").find("(byte 1)") != std::string::npos);
  CHECK(error("<unk>") == "the vocabulary has no character 'u' (byte 1)");
}

TEST_CASE("bytes that are no UTF-8 are refused, not read past") {
  const mini::tokenizer words = loaded(vocabulary());
  for (const std::string text : {"\xA9", "a\xC3", "\xE2", "\xE2\x82", "\xF0\x9F\x98", "\xFF",
                                 "\xC3"
                                 "a",
                                 "\xF0\x9F"
                                 "aa",
                                 "\x80\x80", "\xC3\xC3"}) {
    CAPTURE(text);
    CHECK(!words.encode(text));
  }
  CHECK(!words.encode(std::string(1, '\0')));
  std::mt19937 random{3};
  const std::string pieces = std::string{"a \xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\n<"} + '\0';
  std::size_t understood = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (std::size_t n = random() % 6; n > 0; --n) text += pieces[random() % pieces.size()];
    const auto ids = words.encode(text);
    if (ids) {
      ++understood;
      CHECK(words.decode(*ids) == text);
    } else {
      CHECK(!ids.error().empty());
    }
  }
  CHECK(understood > 500);
}

TEST_CASE("a number outside of the vocabulary decodes to the replacement character") {
  const mini::tokenizer words = loaded(vocabulary());
  for (const mini::token id : {-1, -2147483647 - 1, 8, 2147483647}) {
    CHECK(words.decode(id) == "\xEF\xBF\xBD");
  }
  CHECK(words.decode(std::vector<mini::token>{1, 8, 0}) == "a\xEF\xBF\xBD<unk>");
}

TEST_CASE("without types every token is text, and pieces longer than a character need scores") {
  gguf_builder file = vocabulary();
  check_refused(file.erase(types_key), {"token 0", "not one character", "tokenizer.ggml.scores"});
  file.set_texts(tokens_key, {"a", "b", "\xE2\x96\x81", "c"});
  CHECK(loaded(file).size() == 4);
  file.set_texts(tokens_key, {"a", "b", "", "c"});
  check_refused(file, {"token 2", "is empty"});
  for (const std::string piece : {"ab",
                                  "\xC3\xA9"
                                  "a",
                                  "\xE2\x82\xAC\xE2\x82\xAC",
                                  "\xE2\x96\x81"
                                  "a"}) {
    CAPTURE(piece);
    file.set_texts(tokens_key, {"a", "b", piece, "c"});
    check_refused(file, {"token 2", "not one character"});
  }
  for (const std::string piece : {"b", " "}) {  // the second is the stand-in's space
    file.set_texts(tokens_key, {"b", "\xE2\x96\x81", "a", piece});
    check_refused(file, {"token 3", "twice"});
  }
}

TEST_CASE("a damaged vocabulary is refused by its key") {
  check_refused(vocabulary().erase(tokens_key), {tokens_key, "missing"});
  check_refused(vocabulary().set_text(tokens_key, "abc"), {tokens_key, "not a plain array"});
  check_refused(vocabulary().set_array(tokens_key, std::vector<std::int32_t>{1}),
                {tokens_key, "another type"});
  check_refused(vocabulary().set_array(types_key, std::vector<std::int32_t>(7, 1)),
                {types_key, "7", "8"});
  check_refused(vocabulary().set_text(types_key, ""), {types_key, "not a plain array"});
  check_refused(vocabulary().set_texts(types_key, std::vector<std::string>(8, "1")),
                {types_key, "another type"});
  check_refused(vocabulary().erase(eos_key), {eos_key, "missing"});
  check_refused(vocabulary().set(eos_key, std::uint32_t{8}), {eos_key, "outside"});
  check_refused(vocabulary().set(eos_key, std::int32_t{-1}), {eos_key, "out of range"});
  check_refused(vocabulary().set_text(eos_key, "3"), {eos_key, "another type"});
  // An empty vocabulary has no end either.
  gguf_builder empty;
  empty.set_texts(tokens_key, {}).set(eos_key, std::uint32_t{0});
  check_refused(empty, {eos_key, "outside"});
}
