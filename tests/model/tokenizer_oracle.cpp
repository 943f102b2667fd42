// SPDX-License-Identifier: MIT

// Does the tokenizer make of nasty strings what the programs make of them by which vocabularies are
// trained? The fixture holds two tiny vocabularies and their answers; its script says how.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gguf_builder.hpp"
#include "mini_model/tokenizer.hpp"

namespace {

using json = nlohmann::json;
using mini_test::gguf_builder;

using texts = std::vector<std::string>;
using id_lists = std::vector<std::vector<mini::token>>;

const std::vector<std::string> rule_names{"gpt-2", "smollm", "qwen2", "llama-bpe"};

const json& fixture() {
  static const json read = [] {
    const auto path = std::filesystem::path{EPIKV_SOURCE_DIR} / "tests/model/fixtures/tokens.json";
    std::ifstream stream{path, std::ios::binary};
    const std::string text{std::istreambuf_iterator<char>{stream},
                           std::istreambuf_iterator<char>{}};
    return json::parse(text, nullptr, false);
  }();
  REQUIRE(read.is_object());
  return read;
}

gguf_builder common(const json& words, const std::string& model) {
  gguf_builder file;
  file.set_text("tokenizer.ggml.model", model);
  file.set_texts("tokenizer.ggml.tokens", words["tokens"].get<texts>());
  file.set_array("tokenizer.ggml.token_type", words["types"].get<std::vector<std::int32_t>>());
  return file;
}

gguf_builder byte_level(const std::string& rules) {
  const json& words = fixture()["byte_level"];
  gguf_builder file = common(words, "gpt2");
  file.set_text("tokenizer.ggml.pre", rules);
  file.set_texts("tokenizer.ggml.merges", words["merges"].get<texts>());
  file.set("tokenizer.ggml.eos_token_id", std::uint32_t{0});
  return file;
}

gguf_builder scored(bool prefix) {
  const json& words = fixture()["scored"];
  gguf_builder file = common(words, "llama");
  file.set_array("tokenizer.ggml.scores", words["scores"].get<std::vector<float>>());
  file.set("tokenizer.ggml.add_space_prefix", prefix);
  file.set("tokenizer.ggml.bos_token_id", words["bos"].get<std::uint32_t>());
  file.set("tokenizer.ggml.eos_token_id", words["eos"].get<std::uint32_t>());
  return file;
}

mini::tokenizer loaded(const gguf_builder& builder) {
  const auto file = mini::gguf_file::parse(builder.build());
  REQUIRE_MESSAGE(bool(file), file.error());
  auto words = mini::tokenizer::load(*file);
  REQUIRE_MESSAGE(bool(words), words.error());
  return *std::move(words);
}

void check_ids(const mini::tokenizer& words, const texts& strings, const id_lists& expected,
               mini::special handling, const std::string& prefix) {
  REQUIRE(strings.size() == expected.size());
  for (std::size_t i = 0; i < strings.size(); ++i) {
    CAPTURE(strings[i]);
    const auto ids = words.encode(strings[i], handling);
    REQUIRE_MESSAGE(bool(ids), ids.error());
    CHECK(*ids == expected[i]);
    CHECK(words.decode(*ids) == (strings[i].empty() ? "" : prefix + strings[i]));
  }
}

}  // namespace

TEST_CASE("every code point is of the class that the regular expressions give it") {
  // Of every class: how many code points, their sum, the sum of their squares.
  std::vector<std::vector<std::uint64_t>> found(5, {0, 0, 0});
  for (std::uint64_t code = 0; code < 0x110000; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;  // no characters
    auto& sums = found[static_cast<std::size_t>(mini::class_of(static_cast<char32_t>(code)))];
    sums[0] += 1;
    sums[1] += code;
    sums[2] += code * code;
  }
  const json& classes = fixture()["classes"];
  const auto of = [&](mini::character_class type) { return found[static_cast<std::size_t>(type)]; };
  CHECK(of(mini::character_class::letter) == classes["letter"].get<std::vector<std::uint64_t>>());
  CHECK(of(mini::character_class::number) == classes["number"].get<std::vector<std::uint64_t>>());
  CHECK(of(mini::character_class::space) == classes["space"].get<std::vector<std::uint64_t>>());
  CHECK(of(mini::character_class::end)[0] == 0);
  CHECK(mini::class_of(mini::no_code_point) == mini::character_class::other);
}

TEST_CASE("each set of rules cuts the strings where its regular expression does") {
  const auto strings = fixture()["strings"].get<texts>();
  for (const std::string& name : rule_names) {
    CAPTURE(name);
    const auto rules = mini::pre_tokenizer_named(name);
    REQUIRE_MESSAGE(bool(rules), rules.error());
    const mini::piece_scanner scanner{*rules};
    const auto expected = fixture()["byte_level"]["expected"][name]["cuts"]
                              .get<std::vector<std::vector<std::size_t>>>();
    REQUIRE(expected.size() == strings.size());
    for (std::size_t i = 0; i < strings.size(); ++i) {
      CAPTURE(strings[i]);
      std::vector<std::size_t> cuts;
      for (std::string_view rest = strings[i]; !rest.empty(); rest.remove_prefix(cuts.back())) {
        cuts.push_back(scanner.first_piece(rest));
        REQUIRE(cuts.back() > 0);
        REQUIRE(cuts.back() <= rest.size());
      }
      CHECK(cuts == expected[i]);
    }
  }
}

TEST_CASE("a byte-level vocabulary gives the tokens that the trainer's own program gives") {
  const auto strings = fixture()["strings"].get<texts>();
  const auto marked = fixture()["marked"].get<texts>();
  for (const std::string& name : rule_names) {
    CAPTURE(name);
    const mini::tokenizer words = loaded(byte_level(name));
    const json& expected = fixture()["byte_level"]["expected"][name];
    check_ids(words, strings, expected["ids"].get<id_lists>(), mini::special::ignore, "");
    check_ids(words, marked, expected["parsed"].get<id_lists>(), mini::special::parse, "");
  }
}

TEST_CASE("special tokens in a text are text unless they are asked for") {
  const mini::tokenizer words = loaded(byte_level("qwen2"));
  const mini::token end = static_cast<mini::token>(words.size()) - 4;
  REQUIRE(words.decode(end) == "<|im_end|>");
  for (const std::string& text : fixture()["marked"].get<texts>()) {
    CAPTURE(text);
    const auto ids = words.encode(text);
    REQUIRE_MESSAGE(bool(ids), ids.error());
    for (const mini::token id : *ids) CHECK(id < end - 1);
    CHECK(words.decode(*ids) == text);
  }
}

TEST_CASE("a vocabulary with scores gives the tokens that the trainer's own program gives") {
  const auto strings = fixture()["strings"].get<texts>();
  const json& expected = fixture()["scored"]["expected"];
  check_ids(loaded(scored(true)), strings, expected["prefix"].get<id_lists>(),
            mini::special::ignore, " ");
  check_ids(loaded(scored(false)), strings, expected["plain"].get<id_lists>(),
            mini::special::ignore, "");
}

TEST_CASE("bytes that are no UTF-8 come back as they were") {
  const texts broken{"\xFF",
                     "a\xC3",
                     "\xE2\x82",
                     "\xF0\x9F\x98",
                     "\x80 \x80",
                     "\xC3\xC3",
                     "\xC0\xAF",
                     "\xED\xA0\x80",
                     "1\xFE"
                     "2",
                     " \xE2\x96",
                     "\xF4\x90\x80\x80",
                     "a\xE2\x96\x81"};
  for (const std::string& name : rule_names) {
    const mini::tokenizer words = loaded(byte_level(name));
    for (const std::string& text : broken) {
      const auto ids = words.encode(text);
      REQUIRE_MESSAGE(bool(ids), ids.error());
      CHECK(words.decode(*ids) == text);
    }
  }
  const mini::tokenizer words = loaded(scored(false));
  for (const std::string& text : broken) {
    const auto ids = words.encode(text);
    REQUIRE_MESSAGE(bool(ids), ids.error());
    CHECK(words.decode(*ids) == text);
  }
}
