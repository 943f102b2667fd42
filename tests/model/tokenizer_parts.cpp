// SPDX-License-Identifier: MIT

// Do the parts of the tokenizer keep their promises one by one: characters, the stream of bytes,
// merging, and the time that hostile texts take?

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gguf_builder.hpp"
#include "mini_model/tokenizer.hpp"

namespace {

using mini_test::gguf_builder;

// The encoding of a code point by the definition of UTF-8.
std::string spelled(std::uint32_t code) {
  const auto tail = [&](unsigned shift) {
    return static_cast<char>(0x80 | (code >> shift & 0x3F));
  };
  const auto lead = [&](unsigned mark, unsigned shift) {
    return static_cast<char>(mark | code >> shift);
  };
  if (code < 0x80) return {lead(0, 0)};
  if (code < 0x800) return {lead(0xC0, 6), tail(0)};
  if (code < 0x10000) return {lead(0xE0, 12), tail(6), tail(0)};
  return {lead(0xF0, 18), tail(12), tail(6), tail(0)};
}

bool whole(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const mini::utf8_character next = mini::first_character(std::string_view(text).substr(at));
    if (next.code == mini::no_code_point) return false;
    at += next.size;
  }
  return true;
}

using pair_costs = std::map<std::pair<mini::token, mini::token>, mini::merge_result>;

// Merges by looking at all pairs again after every merge.
std::vector<mini::token> merged_slowly(std::vector<mini::token> ids, const pair_costs& known) {
  for (;;) {
    std::optional<std::size_t> best;
    double cost = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto found = known.find({ids[i], ids[i + 1]});
      if (found == known.end() || (best && found->second.cost >= cost)) continue;
      best = i;
      cost = found->second.cost;
    }
    if (!best) return ids;
    ids[*best] = known.at({ids[*best], ids[*best + 1]}).id;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(*best) + 1);
  }
}

// Powers of two of the letter a, and the byte tokens that the rest needs.
gguf_builder doubling(bool by_scores) {
  gguf_builder file;
  std::vector<std::string> tokens;
  std::vector<std::string> merges;
  std::vector<std::int32_t> types;
  std::vector<float> scores;
  for (std::size_t size = 1; size <= 1024; size *= 2) {
    tokens.emplace_back(size, 'a');
    types.push_back(1);
    scores.push_back(-static_cast<float>(size));
    if (size > 1) merges.push_back(std::string(size / 2, 'a') + " " + std::string(size / 2, 'a'));
  }
  for (const char c : std::string{"b1!'\n"}) {
    tokens.push_back(c == '\n' && !by_scores ? "\xC4\x8A" : std::string(1, c));
    types.push_back(1);
    scores.push_back(-1);
  }
  tokens.push_back(by_scores ? "\xE2\x96\x81" : "\xC4\xA0");
  tokens.push_back("<x>");
  types.insert(types.end(), {1, 3});
  scores.insert(scores.end(), {-1, 0});
  file.set_text("tokenizer.ggml.model", by_scores ? "llama" : "gpt2");
  file.set_texts("tokenizer.ggml.tokens", tokens).set_array("tokenizer.ggml.token_type", types);
  file.set_array("tokenizer.ggml.scores", scores).set_texts("tokenizer.ggml.merges", merges);
  file.set_text("tokenizer.ggml.pre", "qwen2").set("tokenizer.ggml.eos_token_id", std::uint32_t{0});
  return file.set("tokenizer.ggml.add_space_prefix", false);
}

}  // namespace

TEST_CASE("every code point is read from its bytes, and from no part of them") {
  for (std::uint32_t code = 0; code < 0x110000; ++code) {
    const std::string text = spelled(code);
    const mini::utf8_character next = mini::first_character(text + "a");
    const bool surrogate = code >= 0xD800 && code < 0xE000;
    const bool right = surrogate ? next.code == mini::no_code_point && next.size == 1
                                 : next.code == code && next.size == text.size();
    if (!right) FAIL_CHECK(code);
    if (surrogate) continue;
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      const std::string start = text.substr(0, cut);
      if (mini::first_character(start).size != 1) FAIL_CHECK(code);
      if (mini::incomplete_end("x" + start) != cut) FAIL_CHECK(code);
    }
    if (mini::incomplete_end(text) != 0) FAIL_CHECK(code);
  }
  CHECK(mini::first_character("").size == 0);
  for (const char* bad : {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF",
                          "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF",
                          "\xE2\x82"
                          "a",
                          "\xC3"
                          "a"}) {
    const mini::utf8_character next = mini::first_character(bad);
    CHECK(next.code == mini::no_code_point);
    CHECK(next.size == 1);
  }
  CHECK(mini::incomplete_end("\xE0\x9F") == 0);  // can no longer become a character
  CHECK(mini::incomplete_end("\xED\xA0") == 0);
  CHECK(mini::incomplete_end("\x80\x80\x80") == 0);
}

TEST_CASE("a stream gives whole characters and in the end all bytes") {
  std::mt19937 random{5};
  const std::vector<std::uint32_t> codes{'a', '\n', 0xE9, 0x7FF, 0x20AC, 0xFFFD, 0x1F600, 0x10FFFF};
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (std::size_t n = random() % 12; n > 0; --n) text += spelled(codes[random() % codes.size()]);
    mini::utf8_stream stream;
    std::string out;
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t size = random() % 4;
      const std::string part = text.substr(at, size);
      const std::string given = stream.push(part);
      CHECK(whole(given));
      out += given;
      at += part.size();
      CHECK(at - out.size() <= 3);
    }
    CHECK(stream.finish().empty());
    CHECK(out == text);
  }
  mini::utf8_stream stream;
  CHECK(stream.push("\xF0\x9F") == "");
  CHECK(stream.push("\x98") == "");
  CHECK(stream.push("\x80!") == "\xF0\x9F\x98\x80!");
  CHECK(stream.push("a\xE2\x82") == "a");
  CHECK(stream.push("b") ==
        "\xE2\x82"
        "b");  // what cannot be completed waits no longer
  CHECK(stream.push("\xC3") == "");
  CHECK(stream.finish() == "\xC3");
  CHECK(stream.finish() == "");
  CHECK(stream.push("\xFF\x80") == "\xFF\x80");
}

TEST_CASE("merging by a queue gives what looking at all pairs again and again gives") {
  std::mt19937 random{11};
  for (int round = 0; round < 3000; ++round) {
    const auto kinds = static_cast<mini::token>(2 + random() % 3);
    pair_costs known;
    mini::token next = kinds;
    for (std::size_t n = random() % 12; n > 0; --n) {
      const auto any = [&] { return static_cast<mini::token>(random()) % next; };
      const std::pair<mini::token, mini::token> pair{std::abs(any()), std::abs(any())};
      // Few costs, so that ties are common.
      const bool is_new =
          known.emplace(pair, mini::merge_result{static_cast<double>(random() % 4), next}).second;
      next += is_new ? 1 : 0;
    }
    std::vector<mini::token> ids;
    std::vector<mini::merge_symbol> symbols;
    for (std::size_t n = random() % 24; n > 0; --n) {
      ids.push_back(static_cast<mini::token>(random() % static_cast<unsigned>(kinds)));
      symbols.push_back({symbols.size(), 1, ids.back()});
    }
    mini::merge_cheapest_first(
        symbols,
        [&](const mini::merge_symbol& l,
            const mini::merge_symbol& r) -> std::optional<mini::merge_result> {
          const auto found = known.find({l.id, r.id});
          if (found == known.end()) return {};
          return found->second;
        });
    std::vector<mini::token> left;
    std::size_t covered = 0;
    for (const mini::merge_symbol& symbol : symbols) {
      if (symbol.size == 0) continue;
      CHECK(symbol.begin == covered);
      covered += symbol.size;
      left.push_back(symbol.id);
    }
    CHECK(covered == ids.size());
    CHECK(left == merged_slowly(ids, known));
  }
}

TEST_CASE("a hundred thousand characters take no quadratic time, whatever they are") {
  const std::size_t size = 100000;
  std::string mixed;
  for (std::size_t i = 0; i < size; ++i) mixed += "aab 1!'\n"[i * i % 8];
  const std::vector<std::string> texts{std::string(size, 'a'),
                                       std::string(size, ' ') + "a",
                                       std::string(size, '\n'),
                                       std::string(size, '1'),
                                       std::string(size, '!'),
                                       std::string(size, '\''),
                                       mixed};
  for (const bool by_scores : {false, true}) {
    const auto file = mini::gguf_file::parse(doubling(by_scores).build());
    REQUIRE_MESSAGE(bool(file), file.error());
    const auto words = mini::tokenizer::load(*file);
    REQUIRE_MESSAGE(bool(words), words.error());
    for (const std::string& text : texts) {
      const auto start = std::chrono::steady_clock::now();
      const auto ids = words->encode(text, mini::special::parse);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      REQUIRE_MESSAGE(bool(ids), ids.error());
      CHECK(words->decode(*ids) == text);
      CHECK(took.count() < 10.0);  // a tenth of a second is usual; quadratic is minutes
    }
    // 97 of 1024, then 672 as its powers of two.
    CHECK(words->encode(texts[0])->size() == 97 + 3);
  }
}
