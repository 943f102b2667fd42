// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mini_model/types.hpp"

namespace eval {

/// log sum exp of a row of logits, in double precision; NaN if a logit is.
[[nodiscard]] double log_sum_exp(std::span<const float> logits) noexcept;

/// -log p(id) under a row of logits, in nats. Precondition: id is in the row.
[[nodiscard]] double surprise(std::span<const float> logits, mini::token id) noexcept;

/// KL(p || q) in nats of two rows of logits of the same length; at least 0.
[[nodiscard]] double divergence(std::span<const float> p, std::span<const float> q) noexcept;

}  // namespace eval
