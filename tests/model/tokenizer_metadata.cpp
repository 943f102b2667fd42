// SPDX-License-Identifier: MIT

// Is metadata that makes no vocabulary refused with its reason, and does what makes one decide what
// begins and ends a text?

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "gguf_builder.hpp"
#include "mini_model/tokenizer.hpp"
#include "tokenizer_support.hpp"

namespace {

using mini_test::check_refused;
using mini_test::gguf_builder;
using mini_test::load;
using mini_test::loaded;
using ids = std::vector<mini::token>;

constexpr const char* model_key = "tokenizer.ggml.model";
constexpr const char* pre_key = "tokenizer.ggml.pre";
constexpr const char* tokens_key = "tokenizer.ggml.tokens";
constexpr const char* types_key = "tokenizer.ggml.token_type";
constexpr const char* scores_key = "tokenizer.ggml.scores";
constexpr const char* merges_key = "tokenizer.ggml.merges";
constexpr const char* prefix_key = "tokenizer.ggml.add_space_prefix";
constexpr const char* bos_key = "tokenizer.ggml.bos_token_id";
constexpr const char* eos_key = "tokenizer.ggml.eos_token_id";
constexpr const char* add_bos_key = "tokenizer.ggml.add_bos_token";

gguf_builder byte_level() {
  gguf_builder file;
  file.set_text(model_key, "gpt2").set_text(pre_key, "gpt-2");
  file.set_texts(tokens_key, {"a", "b", "\xC4\xA0", "ab",
                              "\xC4\xA0"
                              "ab",
                              "<|im_end|>", "<u>", "\xC3\x83", "<pad>"});
  file.set_array(types_key, std::vector<std::int32_t>{1, 1, 1, 1, 1, 3, 4, 1, 5});
  file.set_texts(merges_key, {"a b", "\xC4\xA0 ab"});
  return file.set(eos_key, std::uint32_t{8});
}

gguf_builder scored() {
  gguf_builder file;
  file.set_text(model_key, "llama");
  file.set_texts(tokens_key, {"<unk>", "<s>", "</s>", "<0x0A>", "<0xC3>", "<0xa9>", "\xE2\x96\x81",
                              "a", "b", "ab",
                              "\xE2\x96\x81"
                              "a"});
  file.set_array(types_key, std::vector<std::int32_t>{2, 3, 3, 6, 6, 6, 1, 1, 1, 1, 1});
  file.set_array(scores_key, std::vector<float>{0, 0, 0, 0, 0, 0, -3, -4, -5, -1, -2});
  return file.set(eos_key, std::uint32_t{2}).set(bos_key, std::uint32_t{1});
}

ids encoded(const mini::tokenizer& words, const std::string& text,
            mini::special handling = mini::special::ignore) {
  const auto out = words.encode(text, handling);
  REQUIRE_MESSAGE(bool(out), out.error());
  return *out;
}

}  // namespace

TEST_CASE("a model or rules of another name are refused by name") {
  check_refused(byte_level().set_text(model_key, "bert"), {model_key, "'bert'", "llama", "gpt2"});
  check_refused(byte_level().set(model_key, std::uint32_t{1}), {model_key, "another type"});
  check_refused(byte_level().erase(pre_key), {pre_key, "missing"});
  check_refused(byte_level().set_text(pre_key, "falcon"),
                {pre_key, "'falcon'", "gpt-2", "smollm", "qwen2", "llama-bpe"});
  check_refused(byte_level().set_text(pre_key, ""), {pre_key, "''"});
}

TEST_CASE("merges that are none are refused by number") {
  check_refused(byte_level().erase(merges_key), {merges_key, "missing"});
  for (const std::string bad : {"", "ab", " ", "a ", " b", "a b c",
                                "a \xC3\x83"
                                " b",
                                "a\n b", "a \xFF"}) {
    check_refused(byte_level().set_texts(merges_key, {"a b", bad}), {"merge 1", "not two pieces"});
  }
  for (const std::string bad : {"a a", "b a", "x a", "a x", "<|im_end|> a"}) {
    check_refused(byte_level().set_texts(merges_key, {"a b", bad}),
                  {"merge 1", bad, "not in the vocabulary"});
  }
  check_refused(byte_level().set_texts(merges_key, {"a b", "a b"}), {"merge 1", "twice"});
  CHECK(encoded(loaded(byte_level().set_texts(merges_key, {})), "ab") == ids{0, 1});
}

TEST_CASE("tokens that cannot be are refused by number") {
  gguf_builder file = byte_level();
  const std::vector<std::int32_t> types{1, 1, 3, 4, 1};
  file.set_array(types_key, types).set_texts(merges_key, {}).set(eos_key, std::uint32_t{0});
  const auto with = [&](const std::vector<std::string>& tokens) {
    return gguf_builder(file).set_texts(tokens_key, tokens);
  };
  CHECK(loaded(with({"a", "b", "a", "c", "d"})).size() == 5);  // text and mark may be the same
  check_refused(with({"a", "b", "<x>", "<y>", "a"}), {"token 4", "'a'", "twice"});
  check_refused(with({"a", "b", "<x>", "<x>", "c"}), {"token 3", "'<x>'", "twice"});
  check_refused(with({"a", "b", "", "<x>", "c"}), {"token 2", "empty"});
  check_refused(with({"a", "", "<y>", "<x>", "c"}), {"token 1", "empty"});
  check_refused(with({"a", "b c", "<y>", "<x>", "c"}), {"token 1", "stands for no byte"});
  check_refused(with({"a", "\xE2\x82\xAC", "<y>", "<x>", "c"}), {"token 1", "stands for no byte"});
  check_refused(with({"a", "\xC4", "<y>", "<x>", "c"}), {"token 1", "stands for no byte"});
  for (const std::int32_t type : {0, 7, -1, 2147483647}) {
    file.set_array(types_key, std::vector<std::int32_t>{1, 1, type, 1, 1});
    check_refused(with({"a", "b", "c", "d", "e"}), {"token 2", "type", std::to_string(type)});
  }
}

TEST_CASE("scores that are missing, too few or no numbers are refused") {
  check_refused(scored().erase(scores_key), {"token 9", scores_key, "missing"});
  check_refused(scored().set_array(scores_key, std::vector<float>(10)), {scores_key, "10", "11"});
  check_refused(scored().set_text(scores_key, "x"), {scores_key, "not a plain array"});
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> scores(11);
    scores[4] = bad;
    check_refused(scored().set_array(scores_key, scores), {"token 4", "no number"});
  }
  check_refused(scored().set_text(prefix_key, "yes"), {prefix_key, "another type"});
}

TEST_CASE("byte tokens are of one form and occur once") {
  for (const std::string bad : {"<0x0G>", "<0x0>", "0x0A", "<0x0A", "", "<0X0A>", "<0x0A>>", "a"}) {
    gguf_builder file = scored();
    file.set_texts(tokens_key,
                   {"<unk>", "<s>", "</s>", bad, "<0xC3>", "<0xa9>", "c", "a", "b", "ab", "d"});
    check_refused(file, {"token 3", "<0xNN>"});
  }
  gguf_builder file = scored();
  file.set_texts(tokens_key,
                 {"<unk>", "<s>", "</s>", "<0x0A>", "<0xC3>", "<0x0a>", "c", "a", "b", "ab", "d"});
  check_refused(file, {"token 5", "token 3", "already"});
}

TEST_CASE("pieces merge by score, and what is no piece is spelled in bytes where there are some") {
  const mini::tokenizer words = loaded(scored().set(prefix_key, false));
  CHECK(encoded(words, "ab") == ids{9});
  CHECK(encoded(words, " ab") == ids{6, 9});  // the better score goes first
  CHECK(encoded(words, " a") == ids{10});
  CHECK(encoded(words,
                "a\n\xC3\xA9"
                "b") == ids{7, 3, 4, 5, 8});
  CHECK(words.decode(ids{3, 4, 5, 10}) == "\n\xC3\xA9 a");
  CHECK(words.token_bytes(4) == "\xC3");
  CHECK(words.token_bytes(11).empty());
  CHECK(words.encode("ab\xC3\xA8").error() ==
        "the vocabulary has no character '\xC3\xA8' (byte 2)");
  CHECK(words.encode("ab\xFF").error() == "the vocabulary has no byte 0xFF (byte 2)");
  CHECK(words.encode("ab\x01").error() == "the vocabulary has no byte 0x01 (byte 2)");
  CHECK(encoded(words, "\xC3") == ids{4});
  // The control token is text: its characters are not in this vocabulary.
  CHECK(words.encode("a<s>").error() == "the vocabulary has no character '<' (byte 1)");
  CHECK(encoded(words, "a<s>b", mini::special::parse) == ids{7, 1, 8});
  CHECK(words.encode("a<s>b?", mini::special::parse).error().find("'?' (byte 5)") !=
        std::string::npos);
  CHECK(words.encode("<unk>", mini::special::parse).error().find("'<' (byte 0)") !=
        std::string::npos);
}

TEST_CASE("a space goes in front of every text of a vocabulary that says so or says nothing") {
  for (const bool said : {false, true}) {
    gguf_builder file = scored();
    if (said) file.set(prefix_key, true);
    const mini::tokenizer words = loaded(file);
    CHECK(encoded(words, "a") == ids{10});
    CHECK(encoded(words, "b") == ids{6, 8});
    CHECK(encoded(words, " a") == ids{6, 10});
    CHECK(encoded(words, "") == ids{});
    CHECK(encoded(words, "<s>a<s><s>", mini::special::parse) == ids{1, 10, 1, 1});
    CHECK(words.encode("ab\xC3\xA8").error().find("(byte 2)") != std::string::npos);
  }
}

TEST_CASE("a byte that the byte-level vocabulary lacks is refused with its character") {
  const mini::tokenizer words = loaded(byte_level());
  CHECK(encoded(words, "ab ab") == ids{3, 4});
  CHECK(encoded(words, "<u><|im_end|>ab", mini::special::parse) == ids{6, 5, 3});
  CHECK(encoded(words, "\xC3") == ids{7});
  CHECK(words.token_bytes(7) == "\xC3");
  CHECK(words.token_bytes(8) == "<pad>");
  CHECK(words.encode("ab c").error() == "the vocabulary has no character 'c' (byte 3)");
  CHECK(words.encode("ab \xC3\xA9").error() ==
        "the vocabulary has no character '\xC3\xA9' (byte 3)");
  CHECK(words.encode("ab\xA9").error() == "the vocabulary has no byte 0xA9 (byte 2)");
  CHECK(words.encode("<pad>", mini::special::parse).error().find("'<' (byte 0)") !=
        std::string::npos);
}

TEST_CASE("what begins a text") {
  CHECK(!loaded(byte_level()).bos());
  CHECK(!loaded(byte_level()).add_bos());
  gguf_builder file = byte_level();
  file.set(bos_key, std::uint32_t{0});
  CHECK(loaded(file).bos() == std::optional<mini::token>{0});
  CHECK(!loaded(file).add_bos());
  CHECK(loaded(gguf_builder(file).set_text(pre_key, "llama-bpe")).add_bos());
  CHECK(loaded(gguf_builder(file).set(add_bos_key, true)).add_bos());
  CHECK(loaded(scored()).bos() == std::optional<mini::token>{1});
  CHECK(loaded(scored()).add_bos());
  CHECK(!loaded(scored().set(add_bos_key, false)).add_bos());
  CHECK(!loaded(scored().erase(model_key)).add_bos());
  CHECK(!loaded(scored().erase(bos_key)).add_bos());
  check_refused(scored().erase(bos_key).set(add_bos_key, true), {add_bos_key, bos_key, "missing"});
  check_refused(scored().set(bos_key, std::uint32_t{11}), {bos_key, "outside"});
  check_refused(scored().set(bos_key, std::int32_t{-1}), {bos_key, "out of range"});
  check_refused(scored().set(add_bos_key, std::uint32_t{1}), {add_bos_key, "another type"});
}

TEST_CASE("what ends a text or a turn") {
  const mini::tokenizer words = loaded(byte_level());
  CHECK(words.eos() == 8);
  for (mini::token id = -2; id < 12; ++id) {
    CHECK(words.ends(id) == (id == 8 || id == 5));  // 5 by its text
    CHECK(words.is_control(id) == (id == 5));
  }
  for (const char* key : {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    CHECK(!words.ends(6));
    CHECK(loaded(byte_level().set(key, std::uint32_t{6})).ends(6));
    check_refused(byte_level().set(key, std::uint32_t{9}), {key, "outside"});
  }
  check_refused(byte_level().erase(eos_key), {eos_key, "missing"});
  check_refused(byte_level().set(eos_key, std::uint32_t{9}), {eos_key, "outside"});
}
