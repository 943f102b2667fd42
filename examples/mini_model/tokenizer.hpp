// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gguf.hpp"
#include "result.hpp"
#include "types.hpp"

namespace mini {

/// A vocabulary in which every character is one token. Special tokens such as `<unk>` have a
/// number, but no text encodes to them.
class tokenizer {
 public:
  /// Reads `tokenizer.ggml.tokens`, where U+2581 stands for the space. A vocabulary with longer
  /// pieces is refused: it needs a merging tokenizer.
  static expected<tokenizer> load(const gguf_file& file);

  /// The tokens of a text; an unknown character is an error that names it and its place.
  expected<std::vector<token>> encode(std::string_view text) const;

  /// The text of one token; of a number outside of the vocabulary U+FFFD.
  std::string_view decode(token id) const noexcept {
    const bool known = id >= 0 && static_cast<std::size_t>(id) < pieces_.size();
    return known ? std::string_view(pieces_[static_cast<std::size_t>(id)]) : "\xEF\xBF\xBD";
  }

  /// The text of several tokens.
  std::string decode(std::span<const token> ids) const {
    std::string text;
    for (const token id : ids) text += decode(id);
    return text;
  }

  /// The token that ends a text.
  token eos() const noexcept { return eos_; }

  /// The number of tokens in the vocabulary.
  std::size_t size() const noexcept { return pieces_.size(); }

 private:
  // Bytes of the UTF-8 character that starts a text; 1 where it does not start a valid one.
  static std::size_t character_length(std::string_view text) noexcept {
    const auto lead = static_cast<unsigned char>(text.front());
    const std::size_t length = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    return length <= text.size() ? length : 1;
  }

  std::vector<std::string> pieces_;
  std::map<std::string, token, std::less<>> ids_;
  token eos_ = 0;
};

inline expected<tokenizer> tokenizer::load(const gguf_file& file) {
  constexpr std::int64_t normal = 1;  // the token type of ordinary text
  auto pieces = file.get_array<std::string_view>("tokenizer.ggml.tokens");
  if (!pieces) return pieces.reason();
  std::vector<std::int64_t> types(pieces->size(), normal);
  if (file.contains("tokenizer.ggml.token_type")) {
    auto stored = file.get_array<std::int64_t>("tokenizer.ggml.token_type");
    if (!stored) return stored.reason();
    if (stored->size() != types.size()) {
      return fail("tokenizer.ggml.token_type has ", stored->size(), " entries for ", types.size(),
                  " tokens");
    }
    types = *std::move(stored);
  }

  tokenizer out;
  for (std::size_t i = 0; i < pieces->size(); ++i) {
    std::string piece((*pieces)[i]);
    if (piece == "\xE2\x96\x81") piece = " ";
    if (types[i] == normal) {
      if (piece.empty() || character_length(piece) != piece.size()) {
        return fail("token ", i, " is not one character: this tokenizer cannot read it");
      }
      if (!out.ids_.emplace(piece, static_cast<token>(i)).second) {
        return fail("token ", i, " occurs twice in the vocabulary");
      }
    }
    out.pieces_.push_back(std::move(piece));
  }
  const auto eos = file.get<std::uint64_t>("tokenizer.ggml.eos_token_id");
  if (!eos) return eos.reason();
  if (*eos >= out.size()) return fail("tokenizer.ggml.eos_token_id is outside of the vocabulary");
  out.eos_ = static_cast<token>(*eos);
  return out;
}

inline expected<std::vector<token>> tokenizer::encode(std::string_view text) const {
  std::vector<token> ids;
  for (std::size_t at = 0; at < text.size();) {
    const auto rest = text.substr(at);
    const auto character = rest.substr(0, character_length(rest));
    const auto found = ids_.find(character);
    if (found == ids_.end()) {
      return fail("the vocabulary has no character '", character, "' (byte ", at, ")");
    }
    ids.push_back(found->second);
    at += character.size();
  }
  return ids;
}

}  // namespace mini
