// SPDX-License-Identifier: MIT
#pragma once

#include "epikv/detail/array.hpp"
#include "epikv/detail/key_column.hpp"
#include "epikv/score.hpp"

namespace epikv::inline v0 {

/// KeyDiff (arXiv 2504.15364): how far a key points away from the others of its head, -cos(key,
/// mean of the keys' directions), averaged over the keep-set's layers and KV heads. Made anew at
/// each selection. Complexity: O(length * head_dim) per KV head. Columns: the keep-set's keys, f32.
struct key_difference {
  using epikv_score = void;
  using signals = signal_list<signals::keys>;
  static constexpr granularity finest = granularity::kv_head;
  static constexpr int column_count = 1;

  static column_form column(const cache_shape& shape, std::int32_t) noexcept {
    return detail::key_column(shape);
  }
  static signal_set wants(const model_shape&, std::int32_t) noexcept { return {signal_id::keys}; }

  template <class B>
  struct state {
    detail::buffer<double, B> anchor;  // [head_dim]
  };
  template <Backend B>
  status prepare(B& backend, const cache_shape& shape, state<B>& s,
                 const state_sizes&) const noexcept {
    return s.anchor.grow(backend, static_cast<std::size_t>(shape.head_dim), "keydiff.anchor");
  }
  template <Backend B>
  static void observe(B& backend, const cache_shape& shape, state<B>&,
                      const observation<signals>& seen) noexcept {
    detail::store_rows<epikv::signals::keys>(backend, shape, seen, 0);
  }
  template <Backend B>
  static void finish(B&, const cache_shape&, state<B>&, const sequence_progress&,
                     token_columns) noexcept {}

  template <Backend B>
  static const float* evaluate(B& backend, const cache_shape& shape, state<B>& s,
                               const evaluation& asked) noexcept {
    const std::int32_t members = shape.members();
    for (std::int32_t m = 0; m < members; ++m) {
      backend.run(
          key_difference_job{.keys = asked.columns.at(0, 0) + std::int64_t{m} * shape.head_dim,
                             .stride = detail::key_column(shape).width,
                             .head_dim = shape.head_dim,
                             .length = asked.length,
                             .weight = 1.0F / static_cast<float>(members),
                             .add = m > 0,
                             .out = asked.out,
                             .anchor = s.anchor.data()});
    }
    return asked.out;
  }

  template <Backend B>
  static std::size_t state_bytes(const state<B>& s) noexcept {
    return s.anchor.bytes();
  }
  template <Backend B>
  static void reset(B&, state<B>&) noexcept {}
};

}  // namespace epikv::inline v0
