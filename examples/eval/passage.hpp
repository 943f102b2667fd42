// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mini_model/result.hpp"
#include "mini_model/types.hpp"
#include "report/record.hpp"
#include "session.hpp"

namespace eval {

/// A prompt and the text that follows it.
struct passage {
  std::vector<mini::token> prompt;
  std::vector<mini::token> text;
};

/// Where prompts and texts come from. Any thread may draw.
class passage_source {
 public:
  passage_source() = default;
  passage_source(const passage_source&) = delete;
  passage_source& operator=(const passage_source&) = delete;
  virtual ~passage_source() = default;

  [[nodiscard]] virtual std::size_t count() const = 0;
  [[nodiscard]] virtual report::configuration configuration() const = 0;

  /// The prompt of passage number `i`.
  [[nodiscard]] virtual mini::expected<std::vector<mini::token>> prompt(
      const mini::loaded_model& model, std::size_t i) = 0;

  /// Passage number `i`; the text may be what the model itself says with its full cache.
  [[nodiscard]] virtual mini::expected<passage> draw(session& with, std::size_t i) = 0;
};

/// Which passages to take. Of a text file: one after the other, the rest that fills no passage left
/// out. Else the model's own answers with the full cache: to the prompts of a file, or without one
/// to everyday prompts, or to ledger problems where the vocabulary cannot spell those.
struct passage_options {
  std::string text{};     ///< a file
  std::string prompts{};  ///< a file, see read_prompts()
  std::string chat{};     ///< form of the prompts; empty: the model's own
  std::size_t at_most = 16;
  std::size_t prompt_tokens = 32;        ///< of a text, before what is measured
  std::size_t text_tokens = 480;         ///< of a text, measured
  std::size_t answer_tokens = 256;       ///< of an answer, at most
  std::uint64_t first_seed = 1'000'000;  ///< of ledger problems
  std::size_t steps = 12;                ///< and their length
};

/// At most options.at_most passages, at least one; a file that cannot be read or has none is an
/// error.
[[nodiscard]] mini::expected<std::unique_ptr<passage_source>> make_passages(
    const passage_options& options, const mini::loaded_model& model);

}  // namespace eval
