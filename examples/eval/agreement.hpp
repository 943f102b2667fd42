// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "passage.hpp"
#include "task.hpp"

namespace eval {

/// Agreement with the full cache by teacher forcing: the passage's text is fed under an arm, and
/// each next-token distribution compared with the full cache's. Numbers: `kl`, the mean
/// KL(full || arm) in nats per token, and `same_top`, the share of tokens with the same most likely
/// one. Keeps a passage's logits: text tokens x vocabulary floats per thread.
[[nodiscard]] std::unique_ptr<task> make_agreement_task(std::unique_ptr<passage_source> source);

/// Perplexity of the passages' texts under an arm. Number: `nll`, the mean -log p of a token in
/// nats; the perplexity is its exponential.
[[nodiscard]] std::unique_ptr<task> make_perplexity_task(std::unique_ptr<passage_source> source);

}  // namespace eval
