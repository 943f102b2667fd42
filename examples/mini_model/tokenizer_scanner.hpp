// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "result.hpp"
#include "tokenizer_unicode.hpp"
#include "tokenizer_utf8.hpp"

namespace mini {

/// The rules by which a byte-level vocabulary cuts text before it merges; each is named after the
/// model family that brought it.
enum class pre_tokenizer {
  gpt2,
  smollm,    // as gpt2, but every digit is alone
  qwen2,     // any one character goes with the word that follows; every digit is alone
  llama_bpe  // as qwen2, but up to three digits stay together
};

/// The rules of a name as in `tokenizer.ggml.pre`; an unknown name is an error that lists the
/// known ones.
inline expected<pre_tokenizer> pre_tokenizer_named(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, pre_tokenizer>, 4> known{{
      {"gpt-2", pre_tokenizer::gpt2},
      {"smollm", pre_tokenizer::smollm},
      {"qwen2", pre_tokenizer::qwen2},
      {"llama-bpe", pre_tokenizer::llama_bpe},
  }};
  for (const auto& [spelled, rules] : known) {
    if (spelled == name) return rules;
  }
  return fail("the pre-tokenizer ", in_quotes(name),
              " is not known, only gpt-2, smollm, qwen2 and llama-bpe");
}

/// What the rules tell apart. `end` is the end of the text.
enum class character_class : std::uint8_t { letter, number, space, other, end };

/// The class of a code point by the Unicode Character Database; `no_code_point` is `other`.
/// Logarithmic in the number of ranges, constant for ASCII.
constexpr character_class class_of(char32_t code) noexcept {
  const auto within = [code](std::span<const code_range> ranges) {
    const auto after = std::upper_bound(ranges.begin(), ranges.end(), code,
                                        [](char32_t c, code_range r) { return c < r.first; });
    return after != ranges.begin() && code <= (after - 1)->last;
  };
  if (code < 0x80) {
    if ((code | 0x20u) >= 'a' && (code | 0x20u) <= 'z') return character_class::letter;
    if (code >= '0' && code <= '9') return character_class::number;
    const bool space = code == ' ' || (code >= '\t' && code <= '\r');
    return space ? character_class::space : character_class::other;
  }
  // White_Space, which no general category holds
  if (code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) ||
      code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000) {
    return character_class::space;
  }
  if (within(letter_ranges)) return character_class::letter;
  return within(number_ranges) ? character_class::number : character_class::other;
}

/// Cuts pieces off the front of a text. The rules are those of the families' regular expressions,
/// written out: in every one the first alternative that matches wins.
class piece_scanner {
 public:
  explicit piece_scanner(pre_tokenizer rules) noexcept : rules_(rules) {}

  /// The number of bytes of the first piece of a text that is not empty. Over a whole text each
  /// character is looked at a bounded number of times.
  std::size_t first_piece(std::string_view text) const noexcept {
    assert(!text.empty());
    if (const std::size_t size = contraction(text); size > 0) return size;
    const bool by_gpt2 = rules_ == pre_tokenizer::gpt2 || rules_ == pre_tokenizer::smollm;
    return by_gpt2 ? gpt2_piece(text) : llama_piece(text);
  }

 private:
  using kind = character_class;

  struct seen {
    kind type = kind::end;
    utf8_character character;
  };

  static seen look(std::string_view text, std::size_t at) noexcept {
    if (at >= text.size()) return {};
    const utf8_character character = first_character(text.substr(at));
    return {class_of(character.code), character};
  }

  // Where a run of at most so many characters of one class ends.
  static std::size_t run(std::string_view text, std::size_t at, kind type,
                         std::size_t most = std::string_view::npos) noexcept {
    for (; most > 0; --most) {
      const seen next = look(text, at);
      if (next.type != type) break;
      at += next.character.size;
    }
    return at;
  }

  static bool is_newline(char c) noexcept { return c == '\r' || c == '\n'; }

  // 's 't 'm 'd 're 've 'll; only the later families take capitals.
  std::size_t contraction(std::string_view text) const noexcept {
    if (text.size() < 2 || text[0] != '\'') return 0;
    const bool any_case = rules_ == pre_tokenizer::qwen2 || rules_ == pre_tokenizer::llama_bpe;
    const auto letter = [&](std::size_t at) {
      const char c = at < text.size() ? text[at] : '\0';
      return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    const char first = letter(1);
    const char second = letter(2);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
    if ((first == 'r' || first == 'v') && second == 'e') return 3;
    return first == 'l' && second == 'l' ? 3 : 0;
  }

  // A run of letters, of numbers or of others, with one space before it.
  std::size_t gpt2_piece(std::string_view text) const noexcept {
    const bool single_digits = rules_ == pre_tokenizer::smollm;
    const std::size_t start = text[0] == ' ' ? 1 : 0;
    const seen body = look(text, start);
    if (single_digits && body.type == kind::number) return start == 0 ? body.character.size : 1;
    if (body.type == kind::space || body.type == kind::end) return space_piece(text);
    return run(text, start, body.type);
  }

  std::size_t llama_piece(std::string_view text) const noexcept {
    const seen first = look(text, 0);
    const std::size_t size = first.character.size;
    if (first.type == kind::letter) return run(text, 0, kind::letter);
    if (first.type == kind::number) {
      return run(text, 0, kind::number, rules_ == pre_tokenizer::llama_bpe ? 3 : 1);
    }
    if (!is_newline(text[0]) && look(text, size).type == kind::letter) {
      return run(text, size, kind::letter);
    }
    const std::size_t start = text[0] == ' ' ? 1 : 0;
    if (look(text, start).type == kind::other) {
      std::size_t end = run(text, start, kind::other);
      while (end < text.size() && is_newline(text[end])) ++end;
      return end;
    }
    const std::size_t newline =
        text.substr(0, run(text, 0, kind::space)).find_last_of("\r\n");  // takes all lines at once
    return newline != std::string_view::npos ? newline + 1 : space_piece(text);
  }

  // A run of spaces leaves its last one to the word behind it.
  std::size_t space_piece(std::string_view text) const noexcept {
    std::size_t last = 0;
    std::size_t end = 0;
    seen next = look(text, 0);
    for (; next.type == kind::space; next = look(text, end)) {
      last = end;
      end += next.character.size;
    }
    // Where digits are cut out first, a run ends before one as it does at the end of the text.
    const bool at_end =
        next.type == kind::end || (rules_ == pre_tokenizer::smollm && next.type == kind::number);
    return at_end || last == 0 ? end : last;
  }

  pre_tokenizer rules_;
};

}  // namespace mini
