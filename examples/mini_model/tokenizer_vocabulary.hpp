// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gguf.hpp"
#include "result.hpp"
#include "tokenizer_merge.hpp"
#include "tokenizer_utf8.hpp"
#include "types.hpp"

namespace mini {

/// What a token is for; the numbers are those of `tokenizer.ggml.token_type`.
enum class token_kind : std::uint8_t {
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6
};

/// Texts to tokens, found without a copy of the text.
class token_map {
 public:
  /// False, and nothing changes, where the text has a token already.
  bool add(std::string text, token id) { return ids_.emplace(std::move(text), id).second; }

  /// The token of a text or `no_token`.
  token find(std::string_view text) const {
    const auto found = ids_.find(text);
    return found == ids_.end() ? no_token : found->second;
  }

 private:
  struct hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  std::unordered_map<std::string, token, hash, std::equal_to<>> ids_;
};

/// The tokens of a file and what each is for, whatever the way in which text becomes tokens.
struct vocabulary {
  std::vector<std::string> bytes;          ///< what each token stands for in a text
  std::vector<token_kind> kinds;           ///< of each token
  token_map pieces;                        ///< the normal tokens by their bytes
  token_map specials;                      ///< the control and user-defined tokens by their texts
  std::vector<std::size_t> special_sizes;  ///< the lengths of the specials, longest first
  std::array<bool, 256> special_starts{};  ///< the first bytes of the specials
  token eos = 0;
  std::optional<token> bos;
  std::vector<token> ends;  ///< after which a text is over, in order
  bool add_bos = false;

  std::size_t size() const noexcept { return bytes.size(); }

  /// The special token that starts a text, the longest if there are several, or `no_token`.
  token special_at(std::string_view text) const {
    if (text.empty() || !special_starts[static_cast<unsigned char>(text.front())]) return no_token;
    for (const std::size_t size : special_sizes) {
      if (size > text.size()) continue;
      if (const token found = specials.find(text.substr(0, size)); found != no_token) return found;
    }
    return no_token;
  }
};

/// Why the byte of a text at `at` has no token: names the character that it is part of and its
/// place. The text lies at `place` in the one that the caller knows.
inline failure no_character(std::string_view text, std::size_t at, std::size_t place) {
  for (std::size_t back = 0; back <= at && back < 4; ++back) {
    const std::string_view from = text.substr(at - back);
    const utf8_character character = first_character(from);
    if (character.code == no_code_point || character.size <= back || character.code < 0x20)
      continue;
    return fail("the vocabulary has no character '", from.substr(0, character.size), "' (byte ",
                place + at - back, ")");
  }
  constexpr std::string_view digits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(text[at]);
  return fail("the vocabulary has no byte 0x", digits.substr(byte / 16, 1),
              digits.substr(byte % 16, 1), " (byte ", place + at, ")");
}

/// Undoes a family's spelling of a token of some kind; fails where the spelling is impossible.
using token_spelling = expected<std::string> (*)(std::string_view stored, token_kind kind);

/// The types of so many tokens; without the key every token is normal.
inline expected<std::vector<token_kind>> token_kinds(const gguf_file& file, std::size_t count) {
  constexpr std::string_view key = "tokenizer.ggml.token_type";
  std::vector<token_kind> kinds(count, token_kind::normal);
  if (!file.contains(key)) return kinds;
  const auto stored = file.get_array<std::int64_t>(key);
  if (!stored) return stored.reason();
  if (stored->size() != count) {
    return fail(key, " has ", stored->size(), " entries for ", count, " tokens");
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t type = (*stored)[i];
    if (type < 1 || type > 6) return fail("token ", i, " has the unknown type ", type);
    kinds[i] = static_cast<token_kind>(type);
  }
  return kinds;
}

/// A token that a key names; an absent key is none, and a number without a token is an error.
inline expected<std::optional<token>> named_token(const gguf_file& file, std::string_view key,
                                                  std::size_t count) {
  if (!file.contains(key)) return std::optional<token>{};
  const auto id = file.get<std::uint64_t>(key);
  if (!id) return id.reason();
  if (*id >= count) return fail(key, " is outside of the vocabulary");
  return std::optional<token>{static_cast<token>(*id)};
}

/// Which tokens begin and end a text. Tokens that end a turn of a conversation are known by their
/// keys or, as many files lack those, by their usual texts.
inline expected<void> read_ends(const gguf_file& file, bool bos_by_default, vocabulary& out) {
  constexpr std::string_view eos_key = "tokenizer.ggml.eos_token_id";
  constexpr std::string_view bos_key = "tokenizer.ggml.bos_token_id";
  constexpr std::string_view add_bos_key = "tokenizer.ggml.add_bos_token";
  const auto eos = file.get<std::uint64_t>(eos_key);
  if (!eos) return eos.reason();
  for (const std::string_view key : {eos_key, std::string_view("tokenizer.ggml.eot_token_id"),
                                     std::string_view("tokenizer.ggml.eom_token_id")}) {
    const auto id = named_token(file, key, out.size());
    if (!id) return id.reason();
    if (*id) out.ends.push_back(**id);
  }
  out.eos = out.ends.front();
  for (const std::string_view text : {"<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>",
                                      "<|end_of_text|>", "<|end|>", "<end_of_turn>", "</s>"}) {
    if (const token id = out.specials.find(text); id != no_token) out.ends.push_back(id);
  }
  std::sort(out.ends.begin(), out.ends.end());
  out.ends.erase(std::unique(out.ends.begin(), out.ends.end()), out.ends.end());

  const auto bos = named_token(file, bos_key, out.size());
  if (!bos) return bos.reason();
  out.bos = *bos;
  const auto add_bos = file.get_or<bool>(add_bos_key, bos_by_default && out.bos.has_value());
  if (!add_bos) return add_bos.reason();
  if (*add_bos && !out.bos) return fail(add_bos_key, " is set, but ", bos_key, " is missing");
  out.add_bos = *add_bos;
  return {};
}

/// Reads the tokens, their types and the tokens that begin and end a text. Every text may occur
/// once among the normal tokens and once among the special ones, and none of these is empty.
inline expected<vocabulary> load_vocabulary(const gguf_file& file, token_spelling spelling,
                                            bool bos_by_default) {
  const auto stored = file.get_array<std::string_view>("tokenizer.ggml.tokens");
  if (!stored) return stored.reason();
  auto kinds = token_kinds(file, stored->size());
  if (!kinds) return kinds.reason();

  vocabulary out;
  out.kinds = *std::move(kinds);
  for (std::size_t i = 0; i < stored->size(); ++i) {
    const token_kind kind = out.kinds[i];
    auto text = spelling((*stored)[i], kind);
    if (!text) return fail("token ", i, " ", in_quotes((*stored)[i]), " ", text.error());
    const bool special = kind == token_kind::control || kind == token_kind::user_defined;
    if (special || kind == token_kind::normal) {
      if (text->empty()) return fail("token ", i, " is empty");
      token_map& known = special ? out.specials : out.pieces;
      if (!known.add(*text, static_cast<token>(i))) {
        return fail("token ", i, " ", in_quotes(*text), " occurs twice in the vocabulary");
      }
    }
    if (special) {
      out.special_starts[static_cast<unsigned char>(text->front())] = true;
      out.special_sizes.push_back(text->size());
    }
    out.bytes.push_back(*std::move(text));
  }
  auto& sizes = out.special_sizes;
  std::sort(sizes.begin(), sizes.end(), std::greater<>{});
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  if (auto read = read_ends(file, bos_by_default, out); !read) return read.reason();
  return out;
}

}  // namespace mini
