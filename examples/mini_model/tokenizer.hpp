// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gguf.hpp"
#include "result.hpp"
#include "tokenizer_bpe.hpp"
#include "tokenizer_spm.hpp"
#include "tokenizer_vocabulary.hpp"
#include "types.hpp"

namespace mini {

/// What the texts of control and user-defined tokens mean where they occur in a text.
enum class special : std::uint8_t {
  ignore,  ///< text like any other: what a user writes cannot become a control token
  parse    ///< the token, the longest where several start; for prompts that a program put together
};

/// The vocabulary of a model: text to tokens and back. Two families are read from the metadata of a
/// file: `tokenizer.ggml.model` "llama", pieces that merge by their scores (spm_merger), of which
/// one character per token is a simple case, and "gpt2", pieces over bytes that merge by a list
/// (bpe_merger). A file that does not name its model is read as "llama".
class tokenizer {
 public:
  /// Reads a vocabulary. Metadata that is missing, contradicts itself or names what is not read is
  /// an error that names the key or the token. Linear in the vocabulary.
  static expected<tokenizer> load(const gguf_file& file);

  /// The tokens of a text, without the one that begins a text (see add_bos()). A character for
  /// which the vocabulary has neither a piece nor bytes is an error that names it and its place.
  /// O(n log n).
  expected<std::vector<token>> encode(std::string_view text,
                                      special handling = special::ignore) const;

  /// The exact bytes of one token, which may be part of a character (utf8_stream puts them
  /// together); of a special token its text, of a number outside of the vocabulary nothing.
  std::string_view token_bytes(token id) const noexcept {
    return knows(id) ? std::string_view(words_.bytes[index(id)]) : std::string_view();
  }

  /// The same; of a number outside of the vocabulary U+FFFD.
  std::string_view decode(token id) const noexcept {
    return knows(id) ? token_bytes(id) : "\xEF\xBF\xBD";
  }

  /// The text of several tokens, one after the other. Where a vocabulary puts a space before every
  /// text it is there: whether a text begins here only the caller knows.
  std::string decode(std::span<const token> ids) const {
    std::string text;
    for (const token id : ids) text += decode(id);
    return text;
  }

  /// Is it a control token, which no reader of the text wants to see?
  bool is_control(token id) const noexcept {
    return knows(id) && words_.kinds[index(id)] == token_kind::control;
  }

  /// The token that ends a text.
  token eos() const noexcept { return words_.eos; }

  /// Does the token end a text or a turn of a conversation? True for eos() and for what the file
  /// marks, by a key or by a usual text, as the end of a turn.
  bool ends(token id) const noexcept {
    return std::binary_search(words_.ends.begin(), words_.ends.end(), id);
  }

  /// The tokens for which ends() is true, in order; eos() is one of them.
  std::span<const token> ends() const noexcept { return words_.ends; }

  /// The token that begins a text, where there is one.
  std::optional<token> bos() const noexcept { return words_.bos; }

  /// Does the model expect bos() before a text? Then there is one.
  bool add_bos() const noexcept { return words_.add_bos; }

  /// The number of tokens in the vocabulary.
  std::size_t size() const noexcept { return words_.size(); }

 private:
  using merger = std::variant<spm_merger, bpe_merger>;

  tokenizer(vocabulary words, merger how) : words_(std::move(words)), merger_(std::move(how)) {}

  static std::size_t index(token id) noexcept { return static_cast<std::size_t>(id); }
  bool knows(token id) const noexcept { return id >= 0 && index(id) < words_.size(); }

  template <class Merger>
  static expected<tokenizer> load_as(const gguf_file& file, token_spelling spelling,
                                     bool bos_by_default);

  vocabulary words_;
  merger merger_;
};

template <class Merger>
expected<tokenizer> tokenizer::load_as(const gguf_file& file, token_spelling spelling,
                                       bool bos_by_default) {
  auto words = load_vocabulary(file, spelling, bos_by_default);
  if (!words) return words.reason();
  auto how = Merger::load(file, *words);
  if (!how) return how.reason();
  return tokenizer(*std::move(words), *std::move(how));
}

inline expected<tokenizer> tokenizer::load(const gguf_file& file) {
  constexpr std::string_view key = "tokenizer.ggml.model";
  const auto model = file.get_or<std::string_view>(key, "llama");
  if (!model) return model.reason();
  if (*model == "llama") return load_as<spm_merger>(file, spm_spelling, file.contains(key));
  if (*model == "gpt2") {
    // The one family whose texts begin with a token unless the file says otherwise.
    const auto rules = file.get_or<std::string_view>("tokenizer.ggml.pre", "");
    return load_as<bpe_merger>(file, bpe_spelling, rules && *rules == "llama-bpe");
  }
  return fail(key, " is ", in_quotes(*model), "; only llama and gpt2 are read");
}

inline expected<std::vector<token>> tokenizer::encode(std::string_view text,
                                                      special handling) const {
  std::vector<token> ids;
  const auto append = [&](std::size_t begin, std::size_t end) {
    return std::visit(
        [&](const auto& how) {
          return how.encode(words_, text.substr(begin, end - begin), begin, ids);
        },
        merger_);
  };
  std::size_t done = 0;
  for (std::size_t at = 0; handling == special::parse && at < text.size();) {
    const token id = words_.special_at(text.substr(at));
    if (id == no_token) {
      ++at;
      continue;
    }
    if (auto added = append(done, at); !added) return added.reason();
    ids.push_back(id);
    at += words_.bytes[index(id)].size();
    done = at;
  }
  if (auto added = append(done, text.size()); !added) return added.reason();
  return ids;
}

}  // namespace mini
