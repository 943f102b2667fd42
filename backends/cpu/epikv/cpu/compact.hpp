// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "epikv/primitives.hpp"

namespace epikv::inline v0::cpu {

/// Moves row kept[i] to row i. Ascending, so a source is always at or after its destination and no
/// row is overwritten before it was read; runs of neighbours move as one block where rows touch.
inline void compact_rows(const compact_job& job) noexcept {
  auto* const base = static_cast<std::byte*>(job.rows.data);
  const std::int64_t stride = job.rows.stride_bytes;
  const auto row_bytes = static_cast<std::size_t>(job.rows.row_bytes);
  const std::span<const slot> kept = job.kept;
  for (std::size_t i = 0; i < kept.size();) {
    std::size_t run = 1;
    while (i + run < kept.size() &&
           to_int(kept[i + run]) == to_int(kept[i]) + static_cast<std::int32_t>(run)) {
      ++run;
    }
    const std::int64_t from = to_int(kept[i]);
    const auto to = static_cast<std::int64_t>(i);
    if (from != to) {
      if (stride == job.rows.row_bytes) {
        std::memmove(base + to * stride, base + from * stride, run * row_bytes);
      } else {
        for (std::size_t j = 0; j < run; ++j) {
          const auto step = static_cast<std::int64_t>(j);
          std::memmove(base + (to + step) * stride, base + (from + step) * stride, row_bytes);
        }
      }
    }
    i += run;
  }
}

}  // namespace epikv::inline v0::cpu
