// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "epikv/index.hpp"
#include "epikv/tensor_view.hpp"

// The jobs a backend carries out. Each is a plain description: pointers into the backend's memory,
// sizes known to the host. What each one computes is written here once; every backend does the same
// to the bit (detail/canonical.hpp holds the shared arithmetic).

namespace epikv::inline v0 {

/// One row of elements in a signal: where it starts, what it holds, how far apart its elements are.
struct row_ref {
  const std::byte* data = nullptr;
  dtype type = dtype::f32;
  std::int64_t stride = 1;  ///< elements between neighbours
};

/// Row `row` of a [rows, width] view.
inline row_ref row_of(const tensor_view& view, std::int64_t row) noexcept {
  return {view.origin() + row * view.stride(0) * size_of(view.type()), view.type(), view.stride(1)};
}

/// Row (`row`, `head`) of a [rows, heads, width] view.
inline row_ref row_of(const tensor_view& view, std::int64_t row, std::int64_t head) noexcept {
  return {view.origin() + (row * view.stride(0) + head * view.stride(1)) * size_of(view.type()),
          view.type(), view.stride(2)};
}

/// sum += || a - b ||_2 over `width` elements, by the canonical reduction in f32.
struct distance_job {
  row_ref a{};
  row_ref b{};
  std::int32_t width = 0;
  double* sum = nullptr;
};

/// out[i] = row[i], widened to f32.
struct store_job {
  row_ref row{};
  std::int32_t width = 0;
  float* out = nullptr;
};

/// A number of one row over its channels.
enum class row_statistic : std::uint8_t {
  variance,  ///< sample variance (divides by width - 1; 0 for one channel)
  range,     ///< max - min
  norm,      ///< L2 norm
};

/// sum += the statistic of every head of row `row` of a [rows, heads, width] view, heads ascending.
struct statistic_job {
  const tensor_view* view = nullptr;
  std::int64_t row = 0;
  row_statistic statistic = row_statistic::variance;
  double* sum = nullptr;
};

/// A ring of the last `window` values in time order. `header` = {count, next}, in backend memory.
struct rolling_window {
  double* ring = nullptr;
  std::int32_t* header = nullptr;
  std::int32_t window = 0;
};

/// What a rolling score makes of its window.
enum class rolling_form : std::uint8_t {
  z,     ///< (newest - mean) / (population deviation + 1e-6); 0 with fewer than two values
  mean,  ///< mean of the window
};

/// Pushes value = *sum / divisor into each window and writes
/// out = weight_a * f(a) - weight_b * f(b), f by `form`. A window without a ring counts as 0. A
/// value that is not finite is not pushed (one bad row must not poison the next `window` tokens)
/// and makes the score NaN. Where asked for, f(a) and f(b) themselves are written as well.
struct rolling_job {
  rolling_window a{};
  rolling_window b{};
  const double* sum_a = nullptr;
  const double* sum_b = nullptr;
  double divisor_a = 1.0;
  double divisor_b = 1.0;
  double weight_a = 1.0;
  double weight_b = 1.0;
  rolling_form form = rolling_form::z;
  float* out = nullptr;
  float* out_a = nullptr;  ///< null: not asked for
  float* out_b = nullptr;
};

/// out = *sum / divisor as f32.
struct mean_job {
  const double* sum = nullptr;
  double divisor = 1.0;
  float* out = nullptr;
};

/// count floats become the mark of a token without a number.
struct unscored_job {
  float* out = nullptr;
  std::size_t count = 0;
};

/// Relevance of every slot to the last queries of one layer: softmax(q.k / sqrt(head_dim)) over the
/// slots whose position is not after the query's, mean over queries (oldest first) and query heads;
/// query head h reads KV head h / (query_heads / kv_heads). A slot whose key is marked unscored is
/// invisible and gets the mark. Source: q.K of arXiv 2606.26472. O(queries * heads * length *
/// head_dim).
struct relevance_job {
  std::span<const float* const> queries{};          ///< each [query_heads, head_dim]
  std::span<const std::int32_t> query_positions{};  ///< ascending
  const float* keys = nullptr;                      ///< [length, kv_heads, head_dim]
  const position* positions = nullptr;              ///< [length]
  std::int32_t length = 0;
  std::int32_t query_heads = 0;
  std::int32_t kv_heads = 0;
  std::int32_t head_dim = 0;
  float* out = nullptr;  ///< [length]
  std::byte* scratch = nullptr;
};

/// Joins two numbers per slot after each was standardised over the slots [first, length): (x -
/// mean) / (sample deviation + 1e-6), 0 with fewer than two numbers. out = weight * z(b), plus z(a)
/// when `a` is given. Numbers that are not finite stay out of mean and deviation. Slots before
/// `first` get the mark of a token without a number, as do slots where an input has it.
struct blend_job {
  const float* a = nullptr;  ///< may be null
  const float* b = nullptr;
  float weight = 1.0F;
  std::int32_t first = 0;
  std::int32_t length = 0;
  float* out = nullptr;
};

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
  std::int32_t prompt_slots = 0;              ///< slots [0, prompt_slots) hold prompt tokens
  std::int32_t recent_begin = 0;              ///< slots from here on are the recent window
  std::int32_t room = 0;                      ///< budget left beside the protected tokens
  verdict* verdicts = nullptr;                ///< in: protect or evict; out: the decision
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

/// Kinds of jobs, as a type.
template <class... Jobs>
struct job_list {};

/// Every job a backend runs.
using backend_jobs = job_list<distance_job, store_job, statistic_job, rolling_job, mean_job,
                              unscored_job, relevance_job, blend_job, draw_job, resolve_job,
                              keep_best_job, tiered_job, exchange_job, split_job, compact_job>;

}  // namespace epikv::inline v0
