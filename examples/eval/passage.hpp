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

  /// Passage number `i`; the text may be what the model itself says with its full cache.
  [[nodiscard]] virtual mini::expected<passage> draw(session& with, std::size_t i) = 0;
};

/// Ledger problems with the model's own answers.
[[nodiscard]] std::unique_ptr<passage_source> ledger_passages(std::uint64_t first_seed,
                                                              std::size_t count, std::size_t steps);

/// How a text is cut into passages.
struct window_options {
  std::size_t prompt = 32;   ///< tokens; the prompt of a passage
  std::size_t text = 480;    ///< tokens that follow it
  std::size_t at_most = 16;  ///< passages
};

/// Passages of a text file, one after the other; the rest that fills no passage is left out. A text
/// too short for one passage is an error.
[[nodiscard]] mini::expected<std::unique_ptr<passage_source>> text_passages(
    const std::string& path, const window_options& options, const mini::loaded_model& model);

}  // namespace eval
