// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "epikv/detail/array.hpp"
#include "epikv/score.hpp"

namespace epikv::inline v0 {

/// LagKV as compared in arXiv 2606.26472, recomputed over the cached slots at each selection: keys
/// (and values) averaged over the layers, per KV head; slots cut into chunks from slot 0; each
/// channel of a chunk scaled by its least and largest number over the chunk before, (x - min) /
/// (max - min + 1e-9), the first chunk as it is; a token's number is the mean over heads of the
/// sample deviation over head_dim, of keys plus of values. One keep-set per sequence. A token of
/// which no layer was shown has no number. The authors' own LagKV is lag_relative. Complexity:
/// O(length * kv_heads * head_dim) at a selection. Columns: kv_heads * head_dim floats, twice with
/// values. State: 4 bytes per token of a step.
struct lag_normalised {
  using epikv_score = void;
  using signals = signal_list<signals::keys, signals::values>;
  static constexpr granularity finest = granularity::sequence;
  static constexpr int column_count = 2;

  std::int32_t chunk = 128;
  bool with_values = true;

  [[nodiscard]] column_form column(const model_shape& shape, std::int32_t c) const noexcept {
    return {.width = c == 0 || with_values ? shape.kv_heads * shape.head_dim : 0,
            .start = cell_start::zero};
  }
  [[nodiscard]] status check(const model_shape&) const noexcept {
    if (chunk >= 1) return {};
    return {errc::invalid_argument, "chunk", detail::short_text{chunk}, "1 or more"};
  }
  [[nodiscard]] signal_set wants(const model_shape&, std::int32_t) const noexcept {
    return with_values ? signal_set{signal_id::keys, signal_id::values}
                       : signal_set{signal_id::keys};
  }

  template <class B>
  struct state {
    detail::host_array<std::int32_t> layers;  // [step tokens]: layers shown
    detail::buffer<float, B> bounds;          // [2, head_dim]
  };
  template <Backend B>
  status prepare(B& backend, const model_shape& shape, state<B>& s,
                 const state_sizes& sizes) const noexcept {
    EPIKV_RETURN_IF_ERROR(
        s.bounds.grow(backend, 2 * static_cast<std::size_t>(shape.head_dim), "lag.bounds"));
    return s.layers.grow(static_cast<std::size_t>(sizes.step_tokens), "lag.step");
  }

  template <Backend B>
  void observe(B& backend, const model_shape& shape, state<B>& s,
               const observation<signals>& seen) const noexcept {
    for (std::int32_t i = 0; i < seen.progress().new_tokens; ++i) {
      if (seen.row(i) < 0) continue;
      add_layer(backend, shape, seen.template view<epikv::signals::keys>(), seen, i, 0);
      if (with_values) {
        add_layer(backend, shape, seen.template view<epikv::signals::values>(), seen, i, 1);
      }
      ++s.layers[static_cast<std::size_t>(i)];
    }
  }
  template <Backend B>
  void finish(B& backend, const model_shape& shape, state<B>& s, const sequence_progress& progress,
              token_columns columns) const noexcept {
    for (std::int32_t i = 0; i < progress.new_tokens; ++i) {
      std::int32_t& shown = s.layers[static_cast<std::size_t>(i)];
      for (std::int32_t c = 0; c < 2 && shown == 0; ++c) {
        backend.run(unscored_job{columns.at(c, columns.length() + i),
                                 static_cast<std::size_t>(column(shape, c).width)});
      }
      shown = 0;
    }
  }

  template <Backend B>
  const float* evaluate(B& backend, const model_shape& shape, state<B>& s,
                        const evaluation& asked) const noexcept {
    const std::int64_t stride = std::int64_t{shape.kv_heads} * shape.head_dim;
    for (std::int32_t begin = 0; begin < asked.length; begin += chunk) {
      bool add = false;
      for (std::int32_t c = 0; c < (with_values ? 2 : 1); ++c) {
        for (std::int32_t h = 0; h < shape.kv_heads; ++h) {
          const std::int64_t head = std::int64_t{h} * shape.head_dim;
          const float* const before =
              begin == 0 ? nullptr : asked.columns.at(c, begin - chunk) + head;
          backend.run(lag_job{.rows = asked.columns.at(c, begin) + head,
                              .reference = before,
                              .stride = stride,
                              .count = std::min(chunk, asked.length - begin),
                              .reference_count = chunk,
                              .width = shape.head_dim,
                              .epsilon = 1e-9F,
                              .weight = 1.0F / static_cast<float>(shape.kv_heads),
                              .add = add,
                              .out = asked.out + begin,
                              .bounds = s.bounds.data()});
          add = true;
        }
      }
    }
    return asked.out;
  }

  template <Backend B>
  static std::size_t state_bytes(const state<B>& s) noexcept {
    return s.layers.bytes() + s.bounds.bytes();
  }
  template <Backend B>
  static void reset(B&, state<B>& s) noexcept {
    std::fill_n(s.layers.data(), s.layers.size(), 0);
  }

 private:
  // Adds new token i's rows of one layer to its mean over the model's layers.
  template <Backend B>
  static void add_layer(B& backend, const model_shape& shape, const tensor_view& view,
                        const observation<signals>& seen, std::int32_t i,
                        std::int32_t column) noexcept {
    float* const mean = seen.columns().at(column, seen.columns().length() + i);
    for (std::int32_t h = 0; h < shape.kv_heads; ++h) {
      backend.run(accumulate_job{.row = row_of(view, seen.row(i), h),
                                 .width = shape.head_dim,
                                 .weight = 1.0F / static_cast<float>(shape.layers),
                                 .out = mean + std::int64_t{h} * shape.head_dim});
    }
  }
};

}  // namespace epikv::inline v0
