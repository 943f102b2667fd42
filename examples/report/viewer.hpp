// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mini_model/result.hpp"

namespace report {

/// A token of the sequence.
struct retention_token {
  std::string text;           ///< any bytes; what is not UTF-8 is shown as U+FFFD
  std::int64_t position = 0;  ///< in the sequence
  bool generated = false;     ///< false: it belongs to the prompt
};

/// What one selection saw and decided, for one keep-set.
struct selection_step {
  std::int64_t step = 0;         ///< of the generation; ascending within a group
  std::int64_t tokens_seen = 0;  ///< tokens of the trace, from the front, that existed by then
  /// Positions of the scored tokens, in any order; tokens without an entry had no score.
  std::vector<std::int64_t> positions;
  std::vector<std::int32_t> slots;  ///< where each was before the eviction; empty: not recorded
  std::vector<float> scores;        ///< one for each position; infinite: protected, NaN: none
  /// The named parts of each score, token by token: positions x part_names.
  std::vector<float> parts;
  std::vector<std::int64_t> evicted;  ///< positions that this selection evicted
};

/// A keep-set and its selections: the whole sequence's, a layer's, or a KV head's.
struct retention_group {
  std::string name;  ///< e.g. "layer 3, head 1"
  std::vector<selection_step> steps;
};

/// All that the viewer shows.
struct retention_trace {
  std::string title;
  std::string preset;
  std::string options;
  std::int32_t budget = 0;              ///< tokens; 0 or less: no limit
  std::vector<retention_token> tokens;  ///< by strictly ascending position
  std::vector<std::string> part_names;  ///< e.g. {"a", "b", "z"}
  std::vector<retention_group> groups;
};

/// A page of its own, without anything from a network: the text, each token coloured by its score
/// at a selection that the reader picks, evicted ones struck through; where, when and with which
/// score and parts. Numbers keep about 4 significant digits. Fails, naming group and step, if
/// sizes do not fit together, a position is not in the trace or not yet seen, a token is scored or
/// evicted twice in a step or after its eviction, or the order is not ascending. O(n log n) in the
/// number of entries.
[[nodiscard]] mini::expected<std::string> to_html(const retention_trace& trace);

}  // namespace report
