// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "epikv/detail/array.hpp"
#include "epikv/detail/groups.hpp"
#include "epikv/detail/key_column.hpp"
#include "epikv/score.hpp"

namespace epikv::inline v0 {

/// What the last `window` tokens' queries attend to, computed from queries and keys so that the
/// fused kernel stays untouched: softmax(q.k / sqrt(head_dim)), mean over the window's queries, the
/// query heads of a KV head reduced by `reduction`, pooled over neighbouring slots, mean over the
/// keep-set's KV heads and layers.
///
/// SnapKV (arXiv 2404.14469): window 32, average pool of 5, per KV head. TOVA (2401.06104): window
/// 1, per layer. R-KV's importance (2505.24133): window 8, max_logits, `before_window`, max pool of
/// 7. The relevance of the mixed keep-sets: window 8. With a pool the window's own tokens have no
/// number and what is pooled ends before them; with `before_window` they are left out of the
/// softmax as well.
/// Complexity: O(window * query heads * length * head_dim) per keep-set. Columns: the keep-set's
/// keys, f32, which is the K cache again. State: `window` rows of every layer's queries.
struct window_attention {
  using epikv_score = void;
  using signals = signal_list<signals::keys, signals::queries>;
  static constexpr granularity finest = granularity::kv_head;
  static constexpr int column_count = 1;
  static constexpr std::int32_t max_window = 64;
  static constexpr std::int32_t max_kernel = 65;

  std::int32_t window = 8;
  query_reduction reduction = query_reduction::mean;
  pool_kind pool = pool_kind::none;
  std::int32_t kernel = 1;
  bool before_window = false;

  static column_form column(const cache_shape& shape, std::int32_t) noexcept {
    return detail::key_column(shape);
  }
  [[nodiscard]] status check(const cache_shape&) const noexcept {
    if (window < 1 || window > max_window) {
      return {errc::invalid_argument, "query_window", detail::short_text{window}, "1 to 64"};
    }
    if (kernel < 1 || kernel > max_kernel || kernel % 2 == 0) {
      return {errc::invalid_argument, "kernel", detail::short_text{kernel}, "odd, 1 to 65"};
    }
    return {};
  }
  static signal_set wants(const model_shape&, std::int32_t) noexcept {
    return {signal_id::keys, signal_id::queries};
  }
  /// The window's own tokens must still be cached when it is read.
  [[nodiscard]] std::int32_t least_recent() const noexcept { return window; }
  static row_cadence cadence(signal_id id) noexcept {
    return id == signal_id::queries ? row_cadence::last_tokens : row_cadence::every_token;
  }

  template <class B>
  struct state {
    detail::buffer<float, B> queries;  // [layers, window, query_heads, head_dim], by position mod
    detail::host_array<std::int32_t> positions;  // [layers, window]: position + 1, 0 for empty
  };

  template <Backend B>
  status prepare(B& backend, const cache_shape& shape, state<B>& s,
                 const state_sizes&) const noexcept {
    const auto rows = static_cast<std::size_t>(window) * static_cast<std::size_t>(shape.layers);
    EPIKV_RETURN_IF_ERROR(s.queries.grow(backend, rows * query_floats(shape), "window.queries"));
    return s.positions.grow(rows, "window.queries");
  }

  template <Backend B>
  void observe(B& backend, const cache_shape& shape, state<B>& s,
               const observation<signals>& seen) const noexcept {
    detail::store_rows<epikv::signals::keys>(backend, shape, seen, 0);
    const tensor_view& queries = seen.template view<epikv::signals::queries>();
    const sequence_progress& progress = seen.progress();
    for (std::int32_t i = 0; i < progress.new_tokens; ++i) {
      // Later tokens of this step will push this one out of the window: do not store it.
      if (seen.row(i) < 0 || i + window < progress.new_tokens) continue;
      const std::int32_t at = progress.first_position + i;
      const std::size_t place = place_of(seen.layer(), at);
      for (std::int32_t h = 0; h < shape.query_heads; ++h) {
        backend.run(store_job{
            row_of(queries, seen.row(i), h), shape.head_dim,
            s.queries.data() + place * query_floats(shape) + std::int64_t{h} * shape.head_dim});
      }
      s.positions[place] = at + 1;
    }
  }
  template <Backend B>
  static void finish(B&, const cache_shape&, state<B>&, const sequence_progress&,
                     token_columns) noexcept {}

  template <Backend B>
  const float* evaluate(B& backend, const cache_shape& shape, state<B>& s,
                        const evaluation& asked) const noexcept {
    const std::int32_t end = asked.progress.first_position + asked.progress.new_tokens;
    const std::int32_t before = slots_before(asked, end - window);
    // Behind what a relevance job uses of the scratch.
    float* const raw = pool == pool_kind::none
                           ? asked.out
                           : reinterpret_cast<float*>(asked.scratch) + 2 * asked.length;
    attend(backend, shape, s, asked, end, before_window ? before : asked.length, raw);
    if (pool == pool_kind::none) return raw;
    backend.run(
        pool_job{.in = raw, .length = before, .kernel = kernel, .kind = pool, .out = asked.out});
    backend.run(unscored_job{asked.out + before, static_cast<std::size_t>(asked.length - before)});
    return asked.out;
  }

  template <Backend B>
  static std::size_t state_bytes(const state<B>& s) noexcept {
    return s.queries.bytes() + s.positions.bytes();
  }
  template <Backend B>
  static void reset(B&, state<B>& s) noexcept {
    std::fill_n(s.positions.data(), s.positions.size(), 0);
  }

 private:
  static std::size_t query_floats(const model_shape& shape) noexcept {
    return static_cast<std::size_t>(shape.query_heads) * static_cast<std::size_t>(shape.head_dim);
  }
  [[nodiscard]] std::size_t place_of(std::int32_t layer, std::int32_t position) const noexcept {
    return static_cast<std::size_t>(layer) * static_cast<std::size_t>(window) +
           static_cast<std::size_t>(position % window);
  }
  static std::int32_t slots_before(const evaluation& asked, std::int32_t position) noexcept {
    const auto* const end = asked.positions + asked.length;
    return static_cast<std::int32_t>(std::lower_bound(asked.positions, end, position,
                                                      [](epikv::position p, std::int32_t wanted) {
                                                        return to_int(p) < wanted;
                                                      }) -
                                     asked.positions);
  }

  // The mean over the keep-set's layers and KV heads, before any pool.
  template <Backend B>
  void attend(B& backend, const cache_shape& shape, state<B>& s, const evaluation& asked,
              std::int32_t end, std::int32_t limit, float* out) const noexcept {
    const std::int32_t shared = shape.query_heads / shape.kv_heads;
    const float weight =
        shape.keep_sets == granularity::sequence ? 1.0F / static_cast<float>(shape.layers) : 1.0F;
    bool add = false;
    detail::for_each_layer_of(
        shape, asked.group_index,
        [&](std::int32_t layer, std::int32_t first_head, std::int32_t heads) noexcept {
          const float* rows[max_window];
          std::int32_t positions[max_window];
          std::size_t count = 0;
          for (std::int32_t at = std::max(0, end - window); at < end; ++at) {
            const std::size_t place = place_of(layer, at);
            if (s.positions[place] != at + 1) continue;  // this token's queries were not shown
            rows[count] = s.queries.data() + place * query_floats(shape) +
                          std::int64_t{first_head} * shared * shape.head_dim;
            positions[count++] = at;
          }
          backend.run(relevance_job{
              .queries = std::span{rows, count},
              .query_positions = std::span{positions, count},
              .keys = asked.columns.at(0, 0) +
                      std::int64_t{shape.member_of(layer, first_head)} * shape.head_dim,
              .stride = detail::key_column(shape).width,
              .positions = asked.positions,
              .length = asked.length,
              .limit = limit,
              .query_heads = heads * shared,
              .kv_heads = heads,
              .head_dim = shape.head_dim,
              .reduction = reduction,
              .weight = weight,
              .add = add,
              .out = out,
              .scratch = asked.scratch});
          add = true;
        });
  }
};

}  // namespace epikv::inline v0
