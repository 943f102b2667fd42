// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "arm.hpp"
#include "mini_model/loaded_model.hpp"
#include "mini_model/types.hpp"
#include "report/viewer.hpp"

namespace eval {

/// What an arm kept of a greedy continuation: every selection with the scores it went by.
[[nodiscard]] mini::expected<report::retention_trace> trace_retention(
    const mini::loaded_model& model, const arm& each, std::int32_t budget,
    std::span<const mini::token> prompt, std::size_t most_tokens, std::string title);

}  // namespace eval
