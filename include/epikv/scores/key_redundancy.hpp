// SPDX-License-Identifier: MIT
#pragma once

#include "epikv/detail/array.hpp"
#include "epikv/detail/canonical.hpp"
#include "epikv/detail/key_column.hpp"
#include "epikv/score.hpp"

namespace epikv::inline v0 {

/// R-KV's redundancy (arXiv 2505.24133): how much a key resembles the others of its head, as a
/// softmax over the cached tokens, averaged over the keep-set's layers and KV heads. Higher means
/// more redundant, so it enters a score with a negative weight. `exact` as the authors run it, with
/// each key's newest near neighbour left out; `linear` without. Complexity: exact O(length^2 *
/// head_dim) per KV head, linear O(length * head_dim). Columns: the keep-set's keys, f32.
struct key_redundancy {
  using epikv_score = void;
  using signals = signal_list<signals::keys>;
  static constexpr granularity finest = granularity::kv_head;
  static constexpr int column_count = 1;

  redundancy_form form = redundancy_form::exact;
  double threshold = 0.5;

  static column_form column(const cache_shape& shape, std::int32_t) noexcept {
    return detail::key_column(shape);
  }
  [[nodiscard]] status check(const cache_shape&) const noexcept {
    if (detail::is_finite(threshold)) return {};
    return {errc::invalid_argument, "threshold", detail::short_text{threshold}, "a finite number"};
  }
  static signal_set wants(const model_shape&, std::int32_t) noexcept { return {signal_id::keys}; }

  template <class B>
  struct state {
    detail::buffer<double, B> anchor;  // [head_dim]
  };
  template <Backend B>
  status prepare(B& backend, const cache_shape& shape, state<B>& s,
                 const state_sizes&) const noexcept {
    return s.anchor.grow(backend, static_cast<std::size_t>(shape.head_dim), "redundancy.anchor");
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
  const float* evaluate(B& backend, const cache_shape& shape, state<B>& s,
                        const evaluation& asked) const noexcept {
    const std::int32_t members = shape.members();
    for (std::int32_t m = 0; m < members; ++m) {
      backend.run(redundancy_job{.keys = asked.columns.at(0, 0) + std::int64_t{m} * shape.head_dim,
                                 .stride = detail::key_column(shape).width,
                                 .head_dim = shape.head_dim,
                                 .length = asked.length,
                                 .form = form,
                                 .threshold = static_cast<float>(threshold),
                                 .weight = 1.0F / static_cast<float>(members),
                                 .add = m > 0,
                                 .out = asked.out,
                                 .anchor = s.anchor.data(),
                                 .scratch = asked.scratch});
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
