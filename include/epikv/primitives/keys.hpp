// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "epikv/index.hpp"

// Jobs on cached keys and values that the library holds: f32, the rows of neighbouring slots
// `stride` floats apart. A row whose first number is marked unscored is a key that was not shown.

namespace epikv::inline v0 {

/// What the query heads that share a KV head give together.
enum class query_reduction : std::uint8_t {
  mean,        ///< mean of the heads' softmax
  sum,         ///< sum of the heads' softmax
  max_logits,  ///< softmax of the largest logit
};

/// Relevance of every slot to the last queries of one layer: softmax(q.k / sqrt(head_dim)) over the
/// slots of [0, limit) whose position is not after the query's, mean over queries (oldest first)
/// and KV heads, the query heads of a KV head reduced by `reduction`; query head h reads KV head h
/// / (query_heads / kv_heads). out = weight * that, or with `add` out + that. A slot whose key is
/// marked unscored is invisible and gets the mark, as do slots from `limit` on; without queries all
/// do. Source: q.K of arXiv 2606.26472; SnapKV 2404.14469; R-KV 2505.24133. O(queries * heads *
/// length * head_dim).
struct relevance_job {
  std::span<const float* const> queries{};          ///< each [query_heads, head_dim]
  std::span<const std::int32_t> query_positions{};  ///< ascending
  const float* keys = nullptr;                      ///< slot 0: [kv_heads, head_dim]
  std::int64_t stride = 0;                          ///< floats between slots
  const position* positions = nullptr;              ///< [length]
  std::int32_t length = 0;
  std::int32_t limit = 0;
  std::int32_t query_heads = 0;
  std::int32_t kv_heads = 0;
  std::int32_t head_dim = 0;
  query_reduction reduction = query_reduction::mean;
  float weight = 1.0F;
  bool add = false;
  float* out = nullptr;  ///< [length]
  std::byte* scratch = nullptr;
};

/// out[s] (+)= -weight * cos(key of s, mean of the keys' directions); a key of norm 0 gives 0. The
/// mean is made in double, slots ascending. Source: KeyDiff 2504.15364. O(length * head_dim).
struct key_difference_job {
  const float* keys = nullptr;
  std::int64_t stride = 0;
  std::int32_t head_dim = 0;
  std::int32_t length = 0;
  float weight = 1.0F;
  bool add = false;
  float* out = nullptr;
  double* anchor = nullptr;  ///< [head_dim], scratch
};

enum class redundancy_form : std::uint8_t {
  /// Mean over the other keys i of cos(i, s), where each key i leaves out its newest neighbour
  /// nearer than the threshold (the oldest slot if it has none): R-KV as its authors run it.
  exact,
  linear,  ///< (unit key . sum of all unit keys - 1) / length: the same without neighbours,
           ///< O(length)
};

/// out[s] (+)= weight * softmax over all slots of how alike a key is to the others. Unit keys are
/// k / (|k| + 1e-8). Source: R-KV 2505.24133. exact: O(length^2 * head_dim).
struct redundancy_job {
  const float* keys = nullptr;
  std::int64_t stride = 0;
  std::int32_t head_dim = 0;
  std::int32_t length = 0;
  redundancy_form form = redundancy_form::exact;
  float threshold = 0.5F;
  float weight = 1.0F;
  bool add = false;
  float* out = nullptr;
  double* anchor = nullptr;  ///< [head_dim], scratch
  std::byte* scratch = nullptr;
};

/// out[i] (+)= weight * sample deviation over the channels of row i after each channel was scaled
/// by its least and largest number over the reference rows: (x - min) / (max - min + epsilon). A
/// channel that does not vary there is only centred. Without a reference: of the row as it is.
/// Unscored rows are left out of the reference and get the mark. Source: LagKV 2504.04704.
struct lag_job {
  const float* rows = nullptr;
  const float* reference = nullptr;  ///< null for none
  std::int64_t stride = 0;           ///< floats between neighbours of both
  std::int32_t count = 0;
  std::int32_t reference_count = 0;
  std::int32_t width = 0;
  float epsilon = 0.0F;
  float weight = 1.0F;
  bool add = false;
  float* out = nullptr;
  float* bounds = nullptr;  ///< [2, width], scratch
};

}  // namespace epikv::inline v0
