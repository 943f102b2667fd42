// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "epikv/cpu/rows.hpp"
#include "epikv/detail/canonical.hpp"
#include "epikv/primitives/attention.hpp"

namespace epikv::inline v0::cpu {

/// out[0, count) = the heads' rows at slots [begin, begin + count), reduced.
inline void reduce_heads(const attention_job& job, std::int32_t begin, std::int32_t count,
                         float* out) noexcept {
  alignas(64) float x[detail::lanes];
  for (std::int32_t h = 0; h < job.heads; ++h) {
    load(row_of(*job.view, job.row, job.first_head + h), begin, count, h == 0 ? out : x);
    if (h == 0) continue;
    for (std::int32_t j = 0; j < count; ++j) {
      const float larger = out[j] >= x[j] || out[j] != out[j] ? out[j] : x[j];
      out[j] = job.reduction == head_reduction::max ? larger : out[j] + x[j];
    }
  }
  if (job.reduction != head_reduction::mean) return;
  const auto heads = static_cast<float>(job.heads);
  for (std::int32_t j = 0; j < count; ++j) out[j] /= heads;
}

inline void take_attention(const attention_job& job) noexcept {
  alignas(64) float reduced[detail::lanes];
  for (std::int32_t begin = 0; begin < job.count; begin += detail::lanes) {
    const std::int32_t count = std::min(detail::lanes, job.count - begin);
    reduce_heads(job, begin, count, reduced);
    float* const cells = job.cells + begin * job.stride;
    for (std::int32_t j = 0; j < count; ++j) {
      float& cell = cells[j * job.stride];
      cell = detail::canonical(job.add ? std::fma(job.weight, reduced[j], cell)
                                       : job.weight * reduced[j]);
    }
  }
}

inline void divide_by_age(const age_job& job) noexcept {
  for (std::int32_t s = 0; s < job.length; ++s) {
    if (detail::is_unscored(job.x[s])) continue;
    const std::int32_t first = std::max(to_int(job.positions[s]), job.first_query);
    job.x[s] /= static_cast<float>(std::max(1, job.end - first));
  }
}

inline void stamp(const stamp_job& job) noexcept {
  auto* const keys = reinterpret_cast<std::uint64_t*>(job.scratch);
  const std::int32_t count = std::min(job.count, job.length);
  if (count <= 0) return;
  for (std::int32_t s = 0; s < job.length; ++s) keys[s] = detail::selection_key(job.x[s], s);
  std::nth_element(keys, keys + (count - 1), keys + job.length, std::greater<>{});
  const std::uint64_t cut = keys[count - 1];
  for (std::int32_t s = 0; s < job.length; ++s) {
    if (detail::selection_key(job.x[s], s) >= cut) job.out[s] = job.stamp;
  }
}

}  // namespace epikv::inline v0::cpu
