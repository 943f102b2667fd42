// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "decoder.hpp"
#include "epikv/cpu.hpp"
#include "evicting_host.hpp"
#include "generate.hpp"
#include "kv_cache.hpp"
#include "result.hpp"

namespace mini {

/// Several sequences that decode together under one evictor: one pass over the weights, one
/// begin_step(), one observe() per layer and one select() for all of them in a step.
class evicting_batch {
 public:
  /// A sequence's part of a step: its next tokens, at consecutive positions from `first`.
  struct part {
    epikv::sequence_id sequence;
    std::span<const token> tokens;
    position first = 0;
    kv_cache* cache = nullptr;
  };

  /// The evictor must know the sequences that take part, and both must outlive the batch.
  evicting_batch(decoder& model, epikv::any_evictor& evictor) noexcept
      : model_{&model}, evictor_{&evictor} {}

  /// One step, evictions applied. Returns the logits of each part's last token, [parts, vocab],
  /// valid until the next step. After an error a sequence's cache and the evictor may be a step
  /// apart: remove the sequence.
  expected<std::span<const float>> step(std::span<const part> parts);

 private:
  decoder* model_;
  epikv::any_evictor* evictor_;
  std::vector<epikv::step_sequence> announced_;
  std::vector<position> positions_;
  std::vector<chunk> chunks_;
};

/// A prompt to continue.
struct batch_request {
  epikv::sequence_id sequence;  ///< not known to the evictor yet
  std::vector<token> prompt;
  std::size_t most_tokens = 0;
};

/// What became of it.
struct batch_answer {
  std::vector<token> tokens;  ///< the end-of-text token included
  std::size_t peak_tokens = 0;
  std::size_t peak_bytes = 0;
};

/// Continues all prompts greedily, up to `together` of them in one step; when one ends the next
/// takes its place. The answers are those of each prompt alone. In the order of the requests.
[[nodiscard]] expected<std::vector<batch_answer>> generate_all(
    decoder& model, epikv::any_evictor& evictor, std::span<const batch_request> requests,
    std::size_t together, std::span<const token> ends);

}  // namespace mini
