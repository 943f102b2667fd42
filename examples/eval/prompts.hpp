// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mini_model/loaded_model.hpp"
#include "mini_model/result.hpp"

namespace eval {

/// What a user asks, and the answer where it is known.
struct user_prompt {
  std::string text;
  std::string answer;
};

/// Sixteen requests of everyday life that ask for a long answer, in English.
[[nodiscard]] std::span<const std::string_view> everyday_prompts() noexcept;

/// Reads prompts from a file: JSON objects, one a line, when its name ends in ".jsonl" (the text is
/// in "question", "problem" or "prompt", an "answer" may be there), else one prompt a line. Empty
/// lines are left out. An error names the line.
[[nodiscard]] mini::expected<std::vector<user_prompt>> read_prompts(const std::string& path);

/// The chat form a model takes prompts in: that of a name, or the file's own when it is empty.
[[nodiscard]] mini::expected<mini::chat_format> chat_format_for(std::string_view name,
                                                                const mini::loaded_model& model);

/// The tokens of a request as a model expects them: in its chat form, after the token that begins
/// a text where there is one.
[[nodiscard]] mini::expected<std::vector<mini::token>> encode_prompt(
    std::string_view text, mini::chat_format format, const mini::loaded_model& model);

}  // namespace eval
