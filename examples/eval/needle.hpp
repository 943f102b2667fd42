// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "mini_model/loaded_model.hpp"
#include "task.hpp"

namespace eval {

/// A text with one sentence to remember, and a question about it.
struct needle_text {
  std::string text;      ///< sentences, the needle among them
  std::string question;  ///< "What is the secret number of Ada?"
  std::string answer;    ///< five digits, which are nowhere else in the text
};

/// Draws a text of `sentences` sentences with the needle at `depth`, 0 = first to 1 = last. The
/// same seed gives the same sentences, wherever the needle is.
[[nodiscard]] needle_text make_needle_text(std::uint64_t seed, std::size_t sentences, double depth);

struct needle_options {
  std::size_t problems = 20;      ///< spread over all depths
  std::size_t text_tokens = 480;  ///< about; whole sentences
  std::size_t kept_tokens = 32;   ///< first tokens that count as prompt; the rest may be evicted
  std::size_t answer_tokens = 32;
  std::uint64_t first_seed = 1'000'000;
  std::string chat{};  ///< form of the prompt; empty: the model's own
};

/// Needle retrieval: a long text with a number in it is read under the budget, tau tokens at a
/// time, and then asked for. Right: the answer contains the number. Numbers: `depth`.
[[nodiscard]] mini::expected<std::unique_ptr<task>> make_needle_task(
    const needle_options& options, const mini::loaded_model& model);

}  // namespace eval
