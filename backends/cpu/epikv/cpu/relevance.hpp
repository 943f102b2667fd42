// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "epikv/cpu/numbers.hpp"
#include "epikv/detail/canonical.hpp"
#include "epikv/primitives/keys.hpp"

namespace epikv::inline v0::cpu {

/// q.k of one head by the canonical reduction.
inline float dot(const float* q, const float* k, std::int32_t width) noexcept {
  alignas(64) float sums[detail::lanes];
  const std::int32_t used = std::min(detail::lanes, width);
  std::fill_n(sums, std::min(detail::lanes, 2 * used), 0.0F);  // the fold reads below 2 * used
  for (std::int32_t begin = 0; begin < width; begin += detail::lanes) {
    const std::int32_t count = std::min(detail::lanes, width - begin);
    for (std::int32_t j = 0; j < count; ++j) {
      sums[j] = std::fma(q[begin + j], k[begin + j], sums[j]);
    }
  }
  return detail::fold_lanes(sums, used);
}

/// Logits of one query head against the keys of one KV head: into `dots`, or with `larger` where
/// they exceed what is there. Slots the query cannot see are marked.
inline void query_dots(const relevance_job& job, std::size_t query, std::int32_t head,
                       std::int32_t kv_head, bool larger, float* dots) noexcept {
  const float* const q = job.queries[query] + std::int64_t{head} * job.head_dim;
  for (std::int32_t s = 0; s < job.length; ++s) {
    const float* const key = job.keys + s * job.stride;
    const bool visible = s < job.limit && to_int(job.positions[s]) <= job.query_positions[query] &&
                         !detail::is_unscored(key[0]);
    if (!visible) {
      dots[s] = detail::unscored();
      continue;
    }
    const float logit =
        detail::canonical(dot(q, key + std::int64_t{kv_head} * job.head_dim, job.head_dim));
    const bool stays = larger && (dots[s] >= logit || dots[s] != dots[s]);
    if (!stays) dots[s] = logit;
  }
}

inline void query_relevance(const relevance_job& job) noexcept {
  auto* const dots = reinterpret_cast<float*>(job.scratch);
  float* const total = dots + job.length;
  const std::int32_t group = job.query_heads / job.kv_heads;
  const bool together = job.reduction == query_reduction::max_logits;
  const float scale = 1.0F / std::sqrt(static_cast<float>(job.head_dim));
  std::fill_n(total, job.length, 0.0F);
  for (std::size_t q = 0; q < job.queries.size(); ++q) {
    for (std::int32_t head = 0; head < job.query_heads; ++head) {
      query_dots(job, q, head, head / group, together && head % group != 0, dots);
      if (together && head % group != group - 1) continue;
      if (!softmax(dots, job.length, scale)) continue;
      for (std::int32_t s = 0; s < job.length; ++s) {
        if (!detail::is_unscored(dots[s])) total[s] += dots[s];
      }
    }
  }
  const std::int32_t heads =
      job.reduction == query_reduction::mean ? job.query_heads : job.kv_heads;
  const auto rows = static_cast<float>(job.queries.size()) * static_cast<float>(heads);
  for (std::int32_t s = 0; s < job.length; ++s) {
    const bool known = !job.queries.empty() && s < job.limit &&
                       !detail::is_unscored(job.keys[s * job.stride]) &&
                       !(job.add && detail::is_unscored(job.out[s]));
    const float share = total[s] / rows;
    const float number = job.add ? std::fma(job.weight, share, job.out[s]) : job.weight * share;
    job.out[s] = known ? detail::canonical(number) : detail::unscored();
  }
}

}  // namespace epikv::inline v0::cpu
