// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gguf.hpp"
#include "result.hpp"
#include "tokenizer_merge.hpp"
#include "tokenizer_utf8.hpp"
#include "tokenizer_vocabulary.hpp"
#include "types.hpp"

namespace mini {

/// The bytes of a token as SentencePiece files spell it: U+2581 is the space, and a byte token is
/// <0xNN>.
inline expected<std::string> spm_spelling(std::string_view stored, token_kind kind) {
  constexpr std::string_view space = "\xE2\x96\x81";
  if (kind == token_kind::byte) {
    const auto digit = [&](std::size_t at) {
      constexpr std::string_view digits = "0123456789ABCDEF";
      const char c = stored[at];
      return digits.find(c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c);
    };
    const bool framed = stored.size() == 6 && stored.starts_with("<0x") && stored.back() == '>';
    if (!framed || digit(3) > 15 || digit(4) > 15) return fail("is no byte of the form <0xNN>");
    return std::string(1, static_cast<char>(digit(3) * 16 + digit(4)));
  }
  std::string text(stored);
  if (kind != token_kind::normal && kind != token_kind::user_defined) return text;
  for (std::size_t at = text.find(space); at != std::string::npos; at = text.find(space, at + 1)) {
    text.replace(at, space.size(), " ");
  }
  return text;
}

/// Text to tokens the way SentencePiece does: from single characters on, the two neighbours merge
/// whose piece has the best score. What is no piece in the end is spelled by byte tokens. A
/// vocabulary of single characters is the case in which nothing merges.
///
/// U+2581 is a space only in the file: in a text it is a character like any other, so that it comes
/// back as it was.
class spm_merger {
 public:
  /// Reads `tokenizer.ggml.scores` and `tokenizer.ggml.add_space_prefix`. Scores may be missing
  /// where every normal token is a single character; else they must be finite and as many as
  /// tokens. The vocabulary must be that of the same file in spm_spelling().
  static expected<spm_merger> load(const gguf_file& file, const vocabulary& words);

  /// Appends the tokens of a text. `place` is where it lies in the text that the caller knows, for
  /// errors: a character that has neither a piece nor byte tokens is one. O(n log n).
  expected<void> encode(const vocabulary& words, std::string_view text, std::size_t place,
                        std::vector<token>& out) const;

 private:
  spm_merger() noexcept { byte_tokens_.fill(no_token); }

  std::vector<double> scores_;
  std::array<token, 256> byte_tokens_{};
  std::size_t longest_ = 0;  // no piece has more bytes
  bool space_prefix_ = false;
};

inline expected<spm_merger> spm_merger::load(const gguf_file& file, const vocabulary& words) {
  constexpr std::string_view key = "tokenizer.ggml.scores";
  spm_merger out;
  std::optional<std::size_t> long_piece;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& text = words.bytes[i];
    if (words.kinds[i] == token_kind::normal) {
      out.longest_ = std::max(out.longest_, text.size());
      if (!long_piece && first_character(text).size != text.size()) long_piece = i;
    } else if (words.kinds[i] == token_kind::byte) {
      token& slot = out.byte_tokens_[static_cast<unsigned char>(text.front())];
      if (slot != no_token)
        return fail("token ", i, " is a byte that token ", slot, " has already");
      slot = static_cast<token>(i);
    }
  }
  if (file.contains(key)) {
    auto scores = file.get_array<double>(key);
    if (!scores) return scores.reason();
    if (scores->size() != words.size()) {
      return fail(key, " has ", scores->size(), " entries for ", words.size(), " tokens");
    }
    for (std::size_t i = 0; i < scores->size(); ++i) {
      if (!std::isfinite((*scores)[i])) return fail("token ", i, " has a score that is no number");
    }
    out.scores_ = *std::move(scores);
  } else if (long_piece) {
    return fail("token ", *long_piece, " is not one character, and ", key, " is missing");
  }
  // A file that does not name its model has characters only and asks for nothing more.
  const bool named = file.contains("tokenizer.ggml.model");
  const auto prefix = file.get_or<bool>("tokenizer.ggml.add_space_prefix", named);
  if (!prefix) return prefix.reason();
  out.space_prefix_ = *prefix;
  return out;
}

inline expected<void> spm_merger::encode(const vocabulary& words, std::string_view text,
                                         std::size_t place, std::vector<token>& out) const {
  if (text.empty()) return {};
  std::string prefixed;
  if (space_prefix_) {
    prefixed.reserve(text.size() + 1);
    prefixed += ' ';
    prefixed += text;
    text = prefixed;
  }
  std::vector<merge_symbol> symbols;
  symbols.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = first_character(text.substr(at)).size;
    symbols.push_back({at, size, words.pieces.find(text.substr(at, size))});
    at += size;
  }
  // Looked up by text and not by the two tokens: also characters that are no tokens can merge.
  merge_cheapest_first(
      symbols,
      [&](const merge_symbol& left, const merge_symbol& right) -> std::optional<merge_result> {
        const std::size_t size = left.size + right.size;
        if (size > longest_ || scores_.empty()) return {};
        const token id = words.pieces.find(text.substr(left.begin, size));
        if (id == no_token) return {};
        return merge_result{-scores_[static_cast<std::size_t>(id)], id};
      });
  for (const merge_symbol& symbol : symbols) {
    if (symbol.size == 0) continue;
    if (symbol.id != no_token) {
      out.push_back(symbol.id);
      continue;
    }
    for (const char c : text.substr(symbol.begin, symbol.size)) {
      const token id = byte_tokens_[static_cast<unsigned char>(c)];
      if (id == no_token) {
        const std::size_t before = space_prefix_ && symbol.begin > 0 ? 1 : 0;
        return no_character(text.substr(before), symbol.begin - before, place);
      }
      out.push_back(id);
    }
  }
  return {};
}

}  // namespace mini
