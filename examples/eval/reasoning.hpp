// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "task.hpp"

namespace eval {

/// Ledger problems (see mini_model/ledger.hpp) answered freely.
struct reasoning_options {
  std::uint64_t first_seed = 1'000'000;  ///< held out: the training draws from another generator
  std::size_t problems = 100;
  std::size_t steps = 12;
  std::size_t slack = 64;  ///< tokens an answer may be too long before it is cut
};

/// The reasoning task: is the answer right, what share of the worked answer's characters is in
/// place (`characters`), and did the run hit the length cap. Fails for a model whose vocabulary
/// cannot spell the problems.
[[nodiscard]] mini::expected<std::unique_ptr<task>> make_reasoning_task(
    const reasoning_options& options, const mini::loaded_model& model);

}  // namespace eval
