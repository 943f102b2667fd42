// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gguf.hpp"
#include "result.hpp"
#include "tokenizer_merge.hpp"
#include "tokenizer_scanner.hpp"
#include "tokenizer_utf8.hpp"
#include "tokenizer_vocabulary.hpp"
#include "types.hpp"

namespace mini {

/// The byte that a character stands for in a byte-level vocabulary, or -1. A byte that is a visible
/// character of Latin-1 stands for itself; the 68 others, in order, are U+0100 to U+0143.
constexpr int byte_level_byte(char32_t code) noexcept {
  const bool visible = (code >= 0x21 && code <= 0x7E) || (code >= 0xA1 && code <= 0xAC) ||
                       (code >= 0xAE && code <= 0xFF);
  if (visible) return static_cast<int>(code);
  if (code < 0x100 || code > 0x143) return -1;
  const int rank = static_cast<int>(code) - 0x100;
  if (rank <= 0x20) return rank;                 // the controls and the space
  return rank < 67 ? 0x7F + rank - 0x21 : 0xAD;  // 0x7F to 0xA0, the soft hyphen
}

/// The bytes of a piece of a byte-level vocabulary; an error where a character stands for none.
inline expected<std::string> byte_level_bytes(std::string_view piece) {
  std::string bytes;
  for (std::size_t at = 0; at < piece.size();) {
    const utf8_character character = first_character(piece.substr(at));
    const int byte = byte_level_byte(character.code);
    if (byte < 0) return fail("has a character that stands for no byte");
    bytes += static_cast<char>(byte);
    at += character.size;
  }
  return bytes;
}

/// The bytes of a token as byte-level files spell it: only the normal ones are in characters that
/// stand for bytes.
inline expected<std::string> bpe_spelling(std::string_view stored, token_kind kind) {
  if (kind == token_kind::normal) return byte_level_bytes(stored);
  return std::string(stored);
}

/// Text to tokens the way GPT-2 does: cut into words, and in every word, from single bytes on, the
/// two neighbours merge that come first in the list of merges. Bytes that are no UTF-8 are kept.
class bpe_merger {
 public:
  /// Reads `tokenizer.ggml.merges` and `tokenizer.ggml.pre`. Both are needed; an unknown name of
  /// rules, and a merge that is malformed, occurs twice or names a piece that the vocabulary lacks
  /// are errors. The vocabulary must be that of the same file in bpe_spelling().
  static expected<bpe_merger> load(const gguf_file& file, const vocabulary& words);

  /// Appends the tokens of a text. `place` is where it lies in the text that the caller knows, for
  /// errors: a character with a byte that has no token is one. O(n log n) for n bytes.
  expected<void> encode(const vocabulary& words, std::string_view text, std::size_t place,
                        std::vector<token>& out) const;

 private:
  explicit bpe_merger(pre_tokenizer rules) noexcept : scanner_(rules) {}

  static std::uint64_t pair_key(token left, token right) noexcept {
    return (std::uint64_t{static_cast<std::uint32_t>(left)} << 32) |
           static_cast<std::uint32_t>(right);
  }

  piece_scanner scanner_;
  std::array<token, 256> byte_tokens_{};
  std::unordered_map<std::uint64_t, merge_result> merges_;
  bool whole_words_first_ = false;  // a word that is a token is not built by merges
};

inline expected<bpe_merger> bpe_merger::load(const gguf_file& file, const vocabulary& words) {
  const auto name = file.get<std::string_view>("tokenizer.ggml.pre");
  if (!name) return name.reason();
  const auto rules = pre_tokenizer_named(*name);
  if (!rules) return fail("tokenizer.ggml.pre: ", rules.error());
  const auto merges = file.get_array<std::string_view>("tokenizer.ggml.merges");
  if (!merges) return merges.reason();

  bpe_merger out(*rules);
  out.whole_words_first_ = *rules == pre_tokenizer::llama_bpe;
  for (std::size_t byte = 0; byte < out.byte_tokens_.size(); ++byte) {
    const char text = static_cast<char>(byte);
    out.byte_tokens_[byte] = words.pieces.find({&text, 1});
  }
  out.merges_.reserve(merges->size());
  for (std::size_t i = 0; i < merges->size(); ++i) {
    const std::string_view merge = (*merges)[i];
    const std::size_t space = merge.find(' ');
    if (space == 0 || space == std::string_view::npos || space + 1 == merge.size()) {
      return fail("merge ", i, " ", in_quotes(merge), " is not two pieces");
    }
    const auto left = byte_level_bytes(merge.substr(0, space));
    const auto right = byte_level_bytes(merge.substr(space + 1));
    if (!left || !right) return fail("merge ", i, " ", in_quotes(merge), " is not two pieces");
    const token first = words.pieces.find(*left);
    const token second = words.pieces.find(*right);
    const token both = words.pieces.find(*left + *right);
    if (first == no_token || second == no_token || both == no_token) {
      return fail("merge ", i, " ", in_quotes(merge), " has a piece that is not in the vocabulary");
    }
    const merge_result result{static_cast<double>(i), both};
    if (!out.merges_.emplace(pair_key(first, second), result).second) {
      return fail("merge ", i, " ", in_quotes(merge), " occurs twice");
    }
  }
  return out;
}

inline expected<void> bpe_merger::encode(const vocabulary& words, std::string_view text,
                                         std::size_t place, std::vector<token>& out) const {
  std::vector<merge_symbol> symbols;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view word = text.substr(at, scanner_.first_piece(text.substr(at)));
    const token whole = whole_words_first_ ? words.pieces.find(word) : no_token;
    symbols.clear();
    if (whole != no_token) {
      symbols.push_back({0, word.size(), whole});
    } else {
      for (std::size_t i = 0; i < word.size(); ++i) {
        const token id = byte_tokens_[static_cast<unsigned char>(word[i])];
        if (id == no_token) return no_character(word, i, place + at);
        symbols.push_back({i, 1, id});
      }
    }
    merge_cheapest_first(
        symbols,
        [&](const merge_symbol& left, const merge_symbol& right) -> std::optional<merge_result> {
          const auto found = merges_.find(pair_key(left.id, right.id));
          if (found == merges_.end()) return {};
          return found->second;
        });
    for (const merge_symbol& symbol : symbols) {
      if (symbol.size > 0) out.push_back(symbol.id);
    }
    at += word.size();
  }
  return {};
}

}  // namespace mini
