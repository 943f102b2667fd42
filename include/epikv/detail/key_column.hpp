// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "epikv/detail/groups.hpp"
#include "epikv/score.hpp"

// A column that holds the keys (or values) of every layer and KV head of its keep-set, f32, member
// after member: the cache's own rows again, for hosts that cannot show their cache.

namespace epikv::inline v0::detail {

inline column_form key_column(const cache_shape& shape) noexcept {
  return {
      .width = shape.members() * shape.head_dim, .per_group = true, .start = cell_start::unscored};
}

// Stores the rows that one observe() call shows in column `column`.
template <Signal S, Backend B, class Signals>
void store_rows(B& backend, const cache_shape& shape, const observation<Signals>& seen,
                std::int32_t column) noexcept {
  for_each_part(shape, seen.layer(), [&](const layer_part& part) noexcept {
    const token_columns columns = seen.columns().of(part.group);
    for (std::int32_t i = 0; i < seen.progress().new_tokens; ++i) {
      if (seen.row(i) < 0) continue;
      float* const cells = columns.at(column, columns.length() + i);
      for (std::int32_t h = part.first_head; h < part.first_head + part.heads; ++h) {
        backend.run(
            store_job{row_of(seen.template view<S>(), seen.row(i), h), shape.head_dim,
                      cells + std::int64_t{shape.member_of(seen.layer(), h)} * shape.head_dim});
      }
    }
  });
}

}  // namespace epikv::inline v0::detail
