// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "epikv/index.hpp"

// Jobs that turn numbers into keep-sets, and keep-sets into moves.

namespace epikv::inline v0 {

/// out[s] = a uniform draw in [0, 1), keyed by (seed, sequence, round, group, position of s).
struct draw_job {
  std::uint64_t seed = 0;
  sequence_id sequence{};
  std::uint32_t round = 0;
  group_key group{};
  const position* positions = nullptr;
  std::int32_t length = 0;
  float* out = nullptr;
};

/// What a selection says of one slot.
enum class verdict : std::uint8_t {
  evict = 0,
  keep = 1,     ///< chosen by the policy
  protect = 2,  ///< taken out of the selection before the policy saw it
  reserve = 3,  ///< kept by the policy for its value, not its score
};

/// How many numbers a policy could not rank as they were.
struct score_counts {
  std::int64_t nan = 0;       ///< NaN scores among the candidates; they rank lowest
  std::int64_t unscored = 0;  ///< candidates without a score; they rank as the median of the others
};

/// out = in, with candidates that never got a score set to the median of the candidates that did
/// (the lower of the two middle ones by the selection order; 0 if none did).
struct resolve_job {
  const float* in = nullptr;
  const position* positions = nullptr;
  const verdict* verdicts = nullptr;
  std::int32_t length = 0;
  float* out = nullptr;
  score_counts* counts = nullptr;  ///< added to
  std::byte* scratch = nullptr;
};

/// One keep-set to be decided: one group of one sequence, tokens in ascending position order.
struct selection_row {
  std::int32_t length = 0;
  const position* positions = nullptr;        ///< [length]
  const float* scores = nullptr;              ///< [length], resolved; higher = keep
  std::span<const float* const> auxiliary{};  ///< the policy's own numbers, each [length]
  std::int32_t tokens = 0;                    ///< positions [0, tokens) have been seen
  std::int32_t prompt_slots = 0;              ///< slots [0, prompt_slots) hold prompt tokens
  std::int32_t recent_begin = 0;              ///< slots from here on are the recent window
  std::int32_t room = 0;                      ///< budget left beside the protected tokens
  verdict* verdicts = nullptr;                ///< in: protect or evict; out: the decision
  float* spare = nullptr;                     ///< [length], for numbers of the policy's own
  std::byte* scratch = nullptr;               ///< Backend::scratch_bytes(length)
};

/// Marks as kept the `count` best candidates (verdict evict) of slots [begin, end) by
/// (score, newer position); all of them if there are fewer. With `counting_kept`, tokens of the
/// range that the policy kept before count among the `count`. O(end - begin) expected.
struct keep_best_job {
  const selection_row* row = nullptr;
  const float* scores = nullptr;
  std::int32_t begin = 0;
  std::int32_t end = 0;
  std::int32_t count = 0;
  bool counting_kept = false;
};

/// out[s] = beta * ln(scores[s] + 1e-9) - ln(-ln u) for a draw u: the keys of sampling without
/// replacement in proportion to score^beta (detail/canonical.hpp, gumbel_key).
struct gumbel_job {
  const float* scores = nullptr;
  const float* draws = nullptr;
  double beta = 1.0;
  std::int32_t length = 0;
  float* out = nullptr;
};

/// What a chunk is a run of.
enum class chunk_unit : std::uint8_t {
  positions,  ///< positions [i * size, (i + 1) * size), however many of them are cached
  slots,      ///< slots [i * size, (i + 1) * size): a block of the cache
};

/// Keeps or drops candidates by whole chunks: from the best mean score of a chunk's candidates down
/// (NaN lowest, ties by the newer), each chunk is kept whose candidates fit the room that is left.
/// O(length + chunks log chunks).
struct chunk_job {
  const selection_row* row = nullptr;
  std::int32_t size = 16;
  chunk_unit unit = chunk_unit::positions;
};

/// Parameters of the tiered selection of EpiKV-Seg.
struct segment_tiers {
  std::int32_t segment = 128;           ///< slots per segment
  std::int32_t quota[3] = {64, 32, 8};  ///< tokens kept per segment of tier R, E, T
  bool fill = false;                    ///< spend what the tiers leave on the best of the rest
  bool high_is_reasoning = true;        ///< sign of the segment statistic; a property of the model
};

/// The tiered selection: cuts slots [0, recent_begin) into segments, classifies each by the mean of
/// `statistic` over its tokens against the tertiles of all segments (s sorted, m segments:
/// lo = s[floor(m/3)], hi = s[floor(2m/3)]; R if >= hi, else E if >= lo, else T; m = 1 gives R) and
/// keeps, oldest segment first, the best min(quota, candidates, room left) of each; then `fill`.
/// Tokens without a statistic stay out of the mean; a segment without any ranks as the median.
struct tiered_job {
  const selection_row* row = nullptr;
  const float* statistic = nullptr;  ///< [length]
  segment_tiers tiers{};
};

/// Exchanges the `count` evicted candidates of slots [prompt_slots, recent_begin) with the largest
/// `value` for the lowest-scored tokens the policy had kept there; as many as both sides have.
struct exchange_job {
  const selection_row* row = nullptr;
  const float* value = nullptr;  ///< [length]
  std::int32_t count = 0;
};

/// Splits slots [0, length) by verdict into ascending lists and tells how many are kept.
struct split_job {
  const verdict* verdicts = nullptr;
  std::int32_t length = 0;
  slot* kept = nullptr;     ///< room for length
  slot* evicted = nullptr;  ///< room for length
  std::int32_t* kept_count = nullptr;
};

/// Opaque rows of one group: K or V, or a column of the library's own.
struct row_storage {
  void* data = nullptr;
  std::int64_t row_bytes = 0;     ///< bytes of one row
  std::int64_t stride_bytes = 0;  ///< bytes between the rows of neighbouring slots
};

/// Moves row kept[i] to row i, in place, ascending: never overwrites a row still to be read.
struct compact_job {
  row_storage rows{};
  std::span<const slot> kept{};
};

}  // namespace epikv::inline v0
