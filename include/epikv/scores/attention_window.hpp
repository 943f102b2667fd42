// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "epikv/detail/array.hpp"
#include "epikv/score.hpp"

namespace epikv::inline v0 {

/// The importance of R-KV as compared in arXiv 2606.26472: the attention rows of the last `window`
/// decode tokens, mean over layers and heads, 0 for slots newer than the row, each max-pooled, then
/// their mean. Rows that were not shown are left out; without any no token has a number. One
/// keep-set per sequence. Needs attention rows.
/// Complexity: one pass over the rows; O(window * length * kernel) at a selection. Columns:
/// `window` floats. State: two rows of slots.
struct attention_window {
  using epikv_score = void;
  using signals = signal_list<signals::attention>;
  static constexpr granularity finest = granularity::sequence;
  static constexpr int column_count = 1;
  static constexpr std::int32_t max_window = 64;

  std::int32_t window = 8;
  std::int32_t kernel = 7;

  [[nodiscard]] column_form column(const model_shape&, std::int32_t) const noexcept {
    return {.width = window, .start = cell_start::zero};
  }
  [[nodiscard]] status check(const model_shape&) const noexcept {
    if (window < 1 || window > max_window) {
      return {errc::invalid_argument, "query_window", detail::short_text{window}, "1 to 64"};
    }
    if (kernel < 1 || kernel > 65 || kernel % 2 == 0) {
      return {errc::invalid_argument, "kernel", detail::short_text{kernel}, "odd, 1 to 65"};
    }
    return {};
  }
  static signal_set wants(const model_shape&, std::int32_t) noexcept {
    return {signal_id::attention};
  }
  [[nodiscard]] std::int32_t least_recent() const noexcept { return window; }
  static row_cadence cadence(signal_id) noexcept { return row_cadence::last_tokens; }

  template <class B>
  struct state {
    detail::host_array<std::int32_t> positions;  // [window]: position + 1, 0 for empty
    detail::host_array<std::int32_t> layers;     // [window]: layers that went into the row
    detail::buffer<float, B> row;                // [slots]
    detail::buffer<float, B> pooled;             // [slots]
  };

  template <Backend B>
  status prepare(B& backend, const model_shape&, state<B>& s,
                 const state_sizes& sizes) const noexcept {
    const auto rows = static_cast<std::size_t>(window);
    const auto slots = static_cast<std::size_t>(sizes.slots);
    EPIKV_RETURN_IF_ERROR(s.row.grow(backend, slots, "attention_window.row"));
    EPIKV_RETURN_IF_ERROR(s.pooled.grow(backend, slots, "attention_window.row"));
    EPIKV_RETURN_IF_ERROR(s.positions.grow(rows, "attention_window.rows"));
    return s.layers.grow(rows, "attention_window.rows");
  }

  template <Backend B>
  void observe(B& backend, const model_shape& shape, state<B>& s,
               const observation<signals>& seen) const noexcept {
    const sequence_progress& progress = seen.progress();
    for (std::int32_t i = std::max(0, progress.new_tokens - window); i < progress.new_tokens; ++i) {
      const std::int32_t at = progress.first_position + i;
      if (seen.row(i) < 0 || at < progress.prompt_length) continue;
      const auto place = static_cast<std::size_t>(at % window);
      const bool first = s.positions[place] != at + 1;
      if (first) s.layers[place] = 0;
      backend.run(attention_job{.view = &seen.template view<epikv::signals::attention>(),
                                .row = seen.row(i),
                                .heads = shape.query_heads,
                                .count = seen.columns().length() + i + 1,
                                .add = !first,
                                .cells = seen.columns().at(0, 0) + place,
                                .stride = window});
      s.positions[place] = at + 1;
      ++s.layers[place];
    }
  }
  template <Backend B>
  static void finish(B&, const model_shape&, state<B>&, const sequence_progress&,
                     token_columns) noexcept {}

  template <Backend B>
  const float* evaluate(B& backend, const model_shape&, state<B>& s,
                        const evaluation& asked) const noexcept {
    const auto length = static_cast<std::size_t>(asked.length);
    const std::int32_t end = asked.progress.first_position + asked.progress.new_tokens;
    const auto held = [&](std::int32_t at) noexcept {
      return s.positions[static_cast<std::size_t>(at % window)] == at + 1;
    };
    std::int32_t rows = 0;
    for (std::int32_t at = std::max(0, end - window); at < end; ++at) rows += held(at) ? 1 : 0;
    if (rows == 0) {
      backend.run(unscored_job{asked.out, length});
      return asked.out;
    }
    backend.clear(asked.out, length * sizeof(float));
    for (std::int32_t at = std::max(0, end - window); at < end; ++at) {
      if (!held(at)) continue;
      const auto place = static_cast<std::size_t>(at % window);
      backend.run(cell_sum_job{.cells = asked.columns.at(0, 0) + place,
                               .stride = window,
                               .length = asked.length,
                               .divisor = static_cast<double>(s.layers[place]),
                               .out = s.row.data()});
      backend.run(pool_job{.in = s.row.data(),
                           .length = asked.length,
                           .kernel = kernel,
                           .kind = pool_kind::max,
                           .out = s.pooled.data()});
      backend.run(accumulate_job{
          .row = {reinterpret_cast<const std::byte*>(s.pooled.data()), dtype::f32, 1},
          .width = asked.length,
          .weight = 1.0F / static_cast<float>(rows),
          .out = asked.out});
    }
    return asked.out;
  }

  template <Backend B>
  static std::size_t state_bytes(const state<B>& s) noexcept {
    return s.positions.bytes() + s.layers.bytes() + s.row.bytes() + s.pooled.bytes();
  }
  template <Backend B>
  static void reset(B&, state<B>& s) noexcept {
    std::fill_n(s.positions.data(), s.positions.size(), 0);
  }
};

}  // namespace epikv::inline v0
