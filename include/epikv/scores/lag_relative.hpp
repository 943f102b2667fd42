// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "epikv/detail/array.hpp"
#include "epikv/detail/canonical.hpp"
#include "epikv/detail/groups.hpp"
#include "epikv/score.hpp"

namespace epikv::inline v0 {

/// LagKV (arXiv 2504.04704) in arrival form: behind `sinks` positions, a chunk of `lag` tokens is
/// scored once, when the chunk after it is complete. Per KV head each channel of the chunk is
/// scaled by its least and largest number over that next chunk; the sample deviation over head_dim
/// goes through a softmax over the chunk; keys plus `value_weight` times values, mean over the
/// keep-set's heads. A channel that does not vary is only centred. The number is frozen; tokens
/// that are not scored yet, and sinks, have none (with `rank_all`, 1: they outrank every share, and
/// a number is the mean of keys and values). For one keep-set per layer or per KV head. Complexity:
/// O(head_dim) per token and KV head, whatever the cache holds. Columns: one float. State: keys and
/// values of 2 * lag tokens of every layer.
struct lag_relative {
  using epikv_score = void;
  using signals = signal_list<signals::keys, signals::values>;
  static constexpr granularity finest = granularity::kv_head;
  static constexpr int column_count = 1;

  std::int32_t lag = 128;
  std::int32_t sinks = 16;
  double value_weight = 1.0;
  bool rank_all = false;

  static column_form column(const model_shape&, std::int32_t) noexcept {
    return {.width = 1, .per_group = true, .start = cell_start::unscored};
  }
  [[nodiscard]] status check(const cache_shape& shape) const noexcept {
    if (lag < 1 || lag > 1 << 20) {
      return {errc::invalid_argument, "lag", detail::short_text{lag}, "1 to 1048576"};
    }
    if (sinks < 0 || sinks > 1 << 20) {
      return {errc::invalid_argument, "sinks", detail::short_text{sinks}, "0 to 1048576"};
    }
    if (!detail::is_finite(value_weight)) {
      return {errc::invalid_argument, "value_weight", detail::short_text{value_weight},
              "a finite number"};
    }
    if (shape.keep_sets != granularity::sequence) return {};
    return {errc::unsupported, "keep_sets", to_string(shape.keep_sets),
            "layer or kv_head: a lag score is made within a layer"};
  }
  static signal_set wants(const model_shape&, std::int32_t) noexcept {
    return {signal_id::keys, signal_id::values};
  }

  template <class B>
  struct state {
    // Both by position mod 2 * lag; kind 0 keys, 1 values.
    detail::buffer<float, B> rows;          // [layers, kind, kv_heads, 2 * lag, head_dim]
    detail::host_array<std::int32_t> next;  // [layers]: first position that was not looked at
    detail::buffer<float, B> numbers;       // [lag]
    detail::buffer<float, B> shares;        // [lag]
    detail::buffer<float, B> bounds;        // [2, head_dim]
    detail::buffer<std::byte, B> scratch;
  };

  template <Backend B>
  status prepare(B& backend, const cache_shape& shape, state<B>& s,
                 const state_sizes&) const noexcept {
    const auto chunk = static_cast<std::size_t>(lag);
    const std::size_t rows = static_cast<std::size_t>(shape.layers) * 4 * chunk *
                             static_cast<std::size_t>(shape.kv_heads);
    EPIKV_RETURN_IF_ERROR(
        s.rows.grow(backend, rows * static_cast<std::size_t>(shape.head_dim), "lag.rows"));
    EPIKV_RETURN_IF_ERROR(s.next.grow(static_cast<std::size_t>(shape.layers), "lag.next"));
    EPIKV_RETURN_IF_ERROR(s.numbers.grow(backend, chunk, "lag.numbers"));
    EPIKV_RETURN_IF_ERROR(s.shares.grow(backend, chunk, "lag.numbers"));
    EPIKV_RETURN_IF_ERROR(
        s.bounds.grow(backend, 2 * static_cast<std::size_t>(shape.head_dim), "lag.bounds"));
    return s.scratch.grow(backend, backend.scratch_bytes(lag), "lag.scratch");
  }

  template <Backend B>
  void observe(B& backend, const cache_shape& shape, state<B>& s,
               const observation<signals>& seen) const noexcept {
    std::int32_t& next = s.next[static_cast<std::size_t>(seen.layer())];
    for (std::int32_t i = 0; i < seen.progress().new_tokens; ++i) {
      if (seen.row(i) < 0) continue;
      const std::int32_t at = seen.progress().first_position + i;
      // Tokens that were not shown in between have no rows, and complete chunks all the same.
      for (; next <= at; ++next) {
        if (next < sinks) continue;
        take(backend, shape, s, seen, next, next == at ? seen.row(i) : -1);
        const std::int32_t behind = next + 1 - sinks;
        if (behind % lag == 0 && behind / lag >= 2) {
          score_chunk(backend, shape, s, seen, next + 1 - 2 * lag);
        }
      }
    }
  }
  template <Backend B>
  static void finish(B&, const cache_shape&, state<B>&, const sequence_progress&,
                     token_columns) noexcept {}

  template <Backend B>
  const float* evaluate(B& backend, const cache_shape&, state<B>&,
                        const evaluation& asked) const noexcept {
    if (!rank_all) return asked.columns.at(0, 0);
    backend.run(cell_sum_job{.cells = asked.columns.at(0, 0),
                             .length = asked.length,
                             .divisor = 1.0 + value_weight,
                             .out = asked.out});
    backend.run(replace_unscored_job{asked.out, asked.length, 1.0F});
    return asked.out;
  }

  template <Backend B>
  static std::size_t state_bytes(const state<B>& s) noexcept {
    return s.rows.bytes() + s.next.bytes() + s.numbers.bytes() + s.shares.bytes() +
           s.bounds.bytes() + s.scratch.bytes();
  }
  template <Backend B>
  static void reset(B&, state<B>& s) noexcept {
    std::fill_n(s.next.data(), s.next.size(), 0);
  }

 private:
  // The stored row of a position, of kind 0 keys or 1 values.
  template <class B>
  [[nodiscard]] float* row(const cache_shape& shape, state<B>& s, std::int32_t layer,
                           std::int32_t kind, std::int32_t head,
                           std::int32_t position) const noexcept {
    const std::int64_t place = (std::int64_t{layer} * 2 + kind) * shape.kv_heads + head;
    const std::int32_t turn = (position - sinks) % (2 * lag);
    return s.rows.data() + (place * 2 * lag + turn) * shape.head_dim;
  }

  template <Backend B>
  void take(B& backend, const cache_shape& shape, state<B>& s, const observation<signals>& seen,
            std::int32_t position, std::int32_t from_row) const noexcept {
    for (std::int32_t kind = 0; kind < 2; ++kind) {
      const tensor_view& view = kind == 0 ? seen.template view<epikv::signals::keys>()
                                          : seen.template view<epikv::signals::values>();
      for (std::int32_t h = 0; h < shape.kv_heads; ++h) {
        float* const out = row(shape, s, seen.layer(), kind, h, position);
        if (from_row < 0) {
          backend.run(unscored_job{out, static_cast<std::size_t>(shape.head_dim)});
        } else {
          backend.run(store_job{row_of(view, from_row, h), shape.head_dim, out});
        }
      }
    }
  }

  // Scores the chunk that begins at `first` for every keep-set of the layer.
  template <Backend B>
  void score_chunk(B& backend, const cache_shape& shape, state<B>& s,
                   const observation<signals>& seen, std::int32_t first) const noexcept {
    detail::for_each_part(shape, seen.layer(), [&](const detail::layer_part& part) noexcept {
      for (std::int32_t h = 0; h < part.heads; ++h) {
        for (std::int32_t kind = 0; kind < 2; ++kind) {
          const std::int32_t head = part.first_head + h;
          backend.run(lag_job{.rows = row(shape, s, seen.layer(), kind, head, first),
                              .reference = row(shape, s, seen.layer(), kind, head, first + lag),
                              .stride = shape.head_dim,
                              .count = lag,
                              .reference_count = lag,
                              .width = shape.head_dim,
                              .out = s.numbers.data(),
                              .bounds = s.bounds.data()});
          const double weight = (kind == 0 ? 1.0 : value_weight) / part.heads;
          backend.run(softmax_job{.in = s.numbers.data(),
                                  .count = lag,
                                  .weight = static_cast<float>(weight),
                                  .add = h > 0 || kind > 0,
                                  .out = s.shares.data(),
                                  .scratch = s.scratch.data()});
        }
      }
      deliver(backend, s, seen, part.group, first);
    });
  }

  // Writes the chunk's numbers to the slots that still hold its tokens.
  template <Backend B>
  void deliver(B& backend, state<B>& s, const observation<signals>& seen, std::int32_t group,
               std::int32_t first) const noexcept {
    const token_columns columns = seen.columns().of(group);
    const position* const positions = columns.positions();
    const position* const end = positions + columns.length();
    const position* at = std::lower_bound(positions, end, first,
                                          [](position p, std::int32_t q) { return to_int(p) < q; });
    for (std::int32_t i = 0; i < lag; ++i) {
      const std::int32_t wanted = first + i;
      std::int32_t slot_index = columns.length() + wanted - seen.progress().first_position;
      if (wanted < seen.progress().first_position) {
        while (at != end && to_int(*at) < wanted) ++at;
        if (at == end || to_int(*at) != wanted) continue;
        slot_index = static_cast<std::int32_t>(at - positions);
      }
      backend.copy(columns.at(0, slot_index), s.shares.data() + i, sizeof(float));
    }
  }
};

}  // namespace epikv::inline v0
