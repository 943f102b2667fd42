// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mini_model/chat.hpp"
#include "prompts.hpp"
#include "task.hpp"

namespace eval {

/// The number that an answer to a word problem comes to, without its thousands separators and
/// trailing zeros behind the point: the one after the last "####" where there is one, else the last
/// number of the text. Empty: there is none.
[[nodiscard]] std::string final_number(std::string_view answer);

struct gsm8k_options {
  std::size_t problems = 100;
  std::size_t answer_tokens = 512;
  std::string chat{};  ///< form of the prompts; empty: the model's own
};

/// Word problems of a file in the form of GSM8K (see read_prompts; arXiv 2110.14168), asked without
/// examples, with a request to end in "#### number". Right: final_number() of the answer is that of
/// the file's. A problem without a number in its answer is an error.
[[nodiscard]] mini::expected<std::unique_ptr<task>> make_gsm8k_task(
    const std::string& path, const gsm8k_options& options, const mini::loaded_model& model);

}  // namespace eval
