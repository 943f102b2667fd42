// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "epikv/detail/array.hpp"
#include "epikv/layer_band.hpp"
#include "epikv/score.hpp"

namespace epikv::inline v0 {

/// Query relevance (q.K of arXiv 2606.26472): at an eviction, the softmax of the last `window`
/// tokens' queries of one layer against that layer's cached post-RoPE keys, averaged over queries
/// and heads. Asks no attention matrix: the fused kernel stays untouched. The keys are kept in a
/// column of their own (f32), which is one layer's K of the cache again, so that hosts that cannot
/// show their cache (llama.cpp) have it too.
///
/// One number for the whole layer, so it serves one keep-set per sequence. A token whose key was
/// not shown stays unscored; queries that were not shown are left out.
/// Complexity: O(window * query_heads * length * head_dim) per eviction. State: `window` rows of
/// queries; per token kv_heads * head_dim floats.
struct relevance {
  using epikv_score = void;
  using signals = signal_list<signals::keys, signals::queries>;
  static constexpr granularity finest = granularity::sequence;
  static constexpr int column_count = 1;
  static constexpr std::int32_t max_window = 64;

  std::int32_t layer = -1;  ///< -1: the block after round(0.31 L), the default band a
  std::int32_t window = 8;

  [[nodiscard]] std::int32_t resolved_layer(const model_shape& shape) const noexcept {
    if (layer >= 0) return layer;
    const std::int32_t after = layer_at_depth(shape, 0.31) + 1;
    return after < shape.layers ? after : shape.layers - 1;
  }

  static column_form column(const model_shape& shape, std::int32_t) noexcept {
    return {.width = shape.kv_heads * shape.head_dim};
  }
  [[nodiscard]] status check(const model_shape& shape) const noexcept {
    if (layer < -1 || layer >= shape.layers) {
      return {errc::invalid_argument, "query_layer", detail::short_text{layer},
              detail::short_text{"layers 0 to ", shape.layers - 1, ", or -1 for the default"}};
    }
    if (window < 1 || window > max_window) {
      return {errc::invalid_argument, "query_window", detail::short_text{window}, "1 to 64"};
    }
    return {};
  }
  [[nodiscard]] signal_set wants(const model_shape& shape, std::int32_t at) const noexcept {
    if (at != resolved_layer(shape)) return {};
    return {signal_id::keys, signal_id::queries};
  }

  /// The window's own tokens must still be cached when it is read.
  [[nodiscard]] std::int32_t least_recent() const noexcept { return window; }
  static row_cadence cadence(signal_id id) noexcept {
    return id == signal_id::queries ? row_cadence::last_tokens : row_cadence::every_token;
  }

  template <class B>
  struct state {
    detail::buffer<float, B> queries;  // [window, query_heads, head_dim] at position mod window
    detail::host_array<std::int32_t> positions;  // [window]: position + 1, 0 for empty
    detail::host_array<std::uint8_t> step_keys;  // [step tokens]: key stored
  };

  template <Backend B>
  status prepare(B& backend, const model_shape& shape, state<B>& s,
                 const state_sizes& sizes) const noexcept {
    const auto rows = static_cast<std::size_t>(window);
    EPIKV_RETURN_IF_ERROR(s.queries.grow(backend, rows * query_floats(shape), "relevance.queries"));
    EPIKV_RETURN_IF_ERROR(s.positions.grow(rows, "relevance.queries"));
    return s.step_keys.grow(static_cast<std::size_t>(sizes.step_tokens), "relevance.step");
  }

  template <Backend B>
  void observe(B& backend, const model_shape& shape, state<B>& s,
               const observation<signals>& seen) const noexcept {
    if (seen.layer() != resolved_layer(shape)) return;
    const tensor_view& keys = seen.template view<epikv::signals::keys>();
    const tensor_view& queries = seen.template view<epikv::signals::queries>();
    const sequence_progress& progress = seen.progress();
    for (std::int32_t i = 0; i < progress.new_tokens; ++i) {
      const std::int32_t row = seen.row(i);
      if (row < 0) continue;
      store_heads(backend, keys, row, shape.kv_heads, shape.head_dim,
                  seen.columns().at(0, seen.columns().length() + i));
      s.step_keys[static_cast<std::size_t>(i)] = 1;
      // Later tokens of this step will push this one out of the window: do not store it.
      if (i + window < progress.new_tokens) continue;
      const std::int32_t at = progress.first_position + i;
      const auto place = static_cast<std::size_t>(at % window);
      store_heads(backend, queries, row, shape.query_heads, shape.head_dim,
                  s.queries.data() + place * query_floats(shape));
      s.positions[place] = at + 1;
    }
  }

  template <Backend B>
  void finish(B& backend, const model_shape& shape, state<B>& s, const sequence_progress& progress,
              token_columns columns) const noexcept {
    const auto width = static_cast<std::size_t>(column(shape, 0).width);
    for (std::int32_t i = 0; i < progress.new_tokens; ++i) {
      std::uint8_t& stored = s.step_keys[static_cast<std::size_t>(i)];
      if (stored == 0) backend.run(unscored_job{columns.at(0, columns.length() + i), width});
      stored = 0;
    }
  }

  template <Backend B>
  const float* evaluate(B& backend, const model_shape& shape, state<B>& s,
                        const evaluation& asked) const noexcept {
    const float* rows[max_window];
    std::int32_t positions[max_window];
    std::size_t count = 0;
    const std::int32_t end = asked.progress.first_position + asked.progress.new_tokens;
    for (std::int32_t at = end > window ? end - window : 0; at < end; ++at) {
      const auto place = static_cast<std::size_t>(at % window);
      if (s.positions[place] != at + 1) continue;  // this token's queries were not shown
      rows[count] = s.queries.data() + place * query_floats(shape);
      positions[count++] = at;
    }
    backend.run(relevance_job{.queries = std::span{rows, count},
                              .query_positions = std::span{positions, count},
                              .keys = asked.columns.at(0, 0),
                              .stride = column(shape, 0).width,
                              .positions = asked.positions,
                              .length = asked.length,
                              .limit = asked.length,
                              .query_heads = shape.query_heads,
                              .kv_heads = shape.kv_heads,
                              .head_dim = shape.head_dim,
                              .out = asked.out,
                              .scratch = asked.scratch});
    return asked.out;
  }

  template <Backend B>
  static std::size_t state_bytes(const state<B>& s) noexcept {
    return s.queries.bytes() + s.positions.bytes() + s.step_keys.bytes();
  }

  template <Backend B>
  static void reset(B&, state<B>& s) noexcept {
    std::fill_n(s.positions.data(), s.positions.size(), 0);
    std::fill_n(s.step_keys.data(), s.step_keys.size(), std::uint8_t{0});
  }

 private:
  static std::size_t query_floats(const model_shape& shape) noexcept {
    return static_cast<std::size_t>(shape.query_heads) * static_cast<std::size_t>(shape.head_dim);
  }
  template <class B>
  static void store_heads(B& backend, const tensor_view& view, std::int32_t row, std::int32_t heads,
                          std::int32_t head_dim, float* out) noexcept {
    for (std::int32_t head = 0; head < heads; ++head) {
      backend.run(
          store_job{row_of(view, row, head), head_dim, out + std::int64_t{head} * head_dim});
    }
  }
};

}  // namespace epikv::inline v0
