// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace epikv::inline v0 {

/// What one sequence has been through. Token counts of `evicted`, `nan_scores` and
/// `unscored_tokens` add up over keep-set groups.
struct sequence_statistics {
  std::int64_t tokens_seen = 0;      ///< prompt and decode tokens that arrived
  std::int32_t cached_tokens = 0;    ///< slots in use by the fullest group now
  std::int32_t peak_tokens = 0;      ///< the most there ever were
  std::int32_t over_budget = 0;      ///< by how much the last eviction stayed over the budget
  std::uint32_t evictions = 0;       ///< rounds committed
  std::int64_t evicted = 0;          ///< tokens that left
  std::int64_t nan_scores = 0;       ///< candidates ranked lowest for a NaN, over committed rounds
  std::int64_t unscored_tokens = 0;  ///< candidates ranked as the median, over committed rounds
  std::size_t state_bytes = 0;       ///< memory the library holds for the sequence
};

/// Totals of an evictor.
struct evictor_statistics {
  std::int32_t sequences = 0;
  std::uint64_t steps = 0;
  std::uint64_t evictions = 0;  ///< rounds committed, removed sequences included
  std::int64_t evicted = 0;     ///< tokens that left, removed sequences included
  std::size_t state_bytes = 0;  ///< of all sequences and the evictor's own scratch
};

}  // namespace epikv::inline v0
