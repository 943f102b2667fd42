// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "epikv/detail/groups.hpp"
#include "epikv/score.hpp"

namespace epikv::inline v0 {

/// Whose attention counts.
enum class attended_by : std::uint8_t {
  every_query,     ///< of the prompt and of decoding
  decode_queries,  ///< of decoding alone
};

/// H2O (arXiv 2306.14048): the attention a token has received so far, summed over the queries that
/// were shown and averaged over the keep-set's layers and query heads. The original is one keep-set
/// per KV head and every query; the form compared in arXiv 2606.26472 is one keep-set per sequence
/// and decode queries. `per_query` divides by the number of queries that could see the token, which
/// takes away the advantage of the early ones. A layer that is not shown adds nothing. Needs
/// attention rows.
/// Complexity: one pass over the rows. Columns: one float, with one keep-set per sequence one per
/// layer, so that sums do not depend on how tokens were split over calls.
struct attention_mass {
  using epikv_score = void;
  using signals = signal_list<signals::attention>;
  static constexpr granularity finest = granularity::kv_head;
  static constexpr int column_count = 1;

  attended_by queries = attended_by::every_query;
  bool per_query = false;
  head_reduction heads = head_reduction::mean;

  static column_form column(const cache_shape& shape, std::int32_t) noexcept {
    return {.width = layers_of_group(shape), .per_group = true, .start = cell_start::zero};
  }
  static signal_set wants(const model_shape&, std::int32_t) noexcept {
    return {signal_id::attention};
  }
  [[nodiscard]] row_cadence cadence(signal_id) const noexcept {
    return queries == attended_by::every_query ? row_cadence::every_token
                                               : row_cadence::decode_tokens;
  }

  template <Backend B>
  void observe(B& backend, const cache_shape& shape, no_state&,
               const observation<signals>& seen) const noexcept {
    const std::int32_t width = layers_of_group(shape);
    const std::int32_t shared = shape.query_heads / shape.kv_heads;
    detail::for_each_part(shape, seen.layer(), [&](const detail::layer_part& part) noexcept {
      const token_columns columns = seen.columns().of(part.group);
      for (std::int32_t i = 0; i < seen.progress().new_tokens; ++i) {
        if (seen.row(i) < 0 || !counts(seen.progress(), i)) continue;
        backend.run(attention_job{.view = &seen.template view<epikv::signals::attention>(),
                                  .row = seen.row(i),
                                  .first_head = part.first_head * shared,
                                  .heads = part.heads * shared,
                                  .reduction = heads,
                                  .count = columns.length() + i + 1,
                                  .add = true,
                                  .cells = columns.at(0, 0) + (width > 1 ? seen.layer() : 0),
                                  .stride = width});
      }
    });
  }
  template <Backend B>
  static void finish(B&, const cache_shape&, no_state&, const sequence_progress&,
                     token_columns) noexcept {}

  template <Backend B>
  const float* evaluate(B& backend, const cache_shape& shape, no_state&,
                        const evaluation& asked) const noexcept {
    const std::int32_t width = layers_of_group(shape);
    backend.run(cell_sum_job{.cells = asked.columns.at(0, 0),
                             .stride = width,
                             .width = width,
                             .length = asked.length,
                             .divisor = static_cast<double>(width),
                             .out = asked.out});
    if (per_query) {
      const bool all = queries == attended_by::every_query;
      backend.run(age_job{.positions = asked.positions,
                          .length = asked.length,
                          .first_query = all ? 0 : asked.progress.prompt_length,
                          .end = asked.progress.first_position + asked.progress.new_tokens,
                          .x = asked.out});
    }
    return asked.out;
  }

 private:
  static std::int32_t layers_of_group(const cache_shape& shape) noexcept {
    return shape.keep_sets == granularity::sequence ? shape.layers : 1;
  }
  [[nodiscard]] bool counts(const sequence_progress& progress, std::int32_t i) const noexcept {
    return queries == attended_by::every_query ||
           progress.first_position + i >= progress.prompt_length;
  }
};

}  // namespace epikv::inline v0
