// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "epikv/detail/array.hpp"
#include "epikv/score.hpp"

namespace epikv::inline v0 {

/// RaaS (arXiv 2502.11147): the decode step at which a token was last among the better half
/// (rounded up) of what a decode query attended to, by the mean over layers and heads; at first the
/// step at which it arrived, 0 for the prompt. A query whose rows were not shown stamps nothing.
/// One keep-set per sequence. Needs attention rows. Complexity: O(length) expected per decode
/// token, and one pass over its rows. Columns: one float. State: a row of slots per decode token of
/// a step.
struct attention_recency {
  using epikv_score = void;
  using signals = signal_list<signals::attention>;
  static constexpr granularity finest = granularity::sequence;
  static constexpr int column_count = 1;

  static column_form column(const model_shape&, std::int32_t) noexcept {
    return {.width = 1, .start = cell_start::zero};
  }
  static signal_set wants(const model_shape&, std::int32_t) noexcept {
    return {signal_id::attention};
  }
  static row_cadence cadence(signal_id) noexcept { return row_cadence::decode_tokens; }

  template <class B>
  struct state {
    detail::buffer<float, B> rows;           // [decode tokens of a step, stride]
    std::int32_t stride = 0;                 // slots
    detail::host_array<std::int32_t> shown;  // [decode tokens]: layers that went into the row
    detail::buffer<std::byte, B> scratch;
  };

  template <Backend B>
  status prepare(B& backend, const model_shape&, state<B>& s,
                 const state_sizes& sizes) const noexcept {
    const std::size_t used = s.shown.size();
    const auto tokens = static_cast<std::size_t>(sizes.decode_tokens);
    const std::int32_t stride = std::max(s.stride, sizes.slots);
    detail::buffer<float, B> wider;
    if (stride > s.stride || tokens > used) {
      EPIKV_RETURN_IF_ERROR(wider.grow(
          backend, std::max(tokens, used) * static_cast<std::size_t>(stride), "raas.rows"));
    }
    EPIKV_RETURN_IF_ERROR(s.scratch.grow(backend, backend.scratch_bytes(stride), "raas.scratch"));
    EPIKV_RETURN_IF_ERROR(s.shown.grow(tokens, "raas.rows"));
    if (wider.size() == 0) return {};
    // An open step's rows come along.
    for (std::size_t i = 0; i < used; ++i) {
      backend.copy(wider.data() + i * static_cast<std::size_t>(stride),
                   s.rows.data() + i * static_cast<std::size_t>(s.stride),
                   static_cast<std::size_t>(s.stride) * sizeof(float));
    }
    s.rows = std::move(wider);
    s.stride = stride;
    return {};
  }

  template <Backend B>
  void observe(B& backend, const model_shape& shape, state<B>& s,
               const observation<signals>& seen) const noexcept {
    const sequence_progress& progress = seen.progress();
    for (std::int32_t i = first_decode(progress); i < progress.new_tokens; ++i) {
      if (seen.row(i) < 0) continue;
      const auto token = static_cast<std::size_t>(i - first_decode(progress));
      backend.run(
          attention_job{.view = &seen.template view<epikv::signals::attention>(),
                        .row = seen.row(i),
                        .heads = shape.query_heads,
                        .count = seen.columns().length() + i + 1,
                        .add = s.shown[token] > 0,
                        .cells = s.rows.data() + token * static_cast<std::size_t>(s.stride)});
      ++s.shown[token];
    }
  }

  template <Backend B>
  void finish(B& backend, const model_shape&, state<B>& s, const sequence_progress& progress,
              token_columns columns) const noexcept {
    for (std::int32_t i = first_decode(progress); i < progress.new_tokens; ++i) {
      const auto token = static_cast<std::size_t>(i - first_decode(progress));
      const float* const row = s.rows.data() + token * static_cast<std::size_t>(s.stride);
      const std::int32_t length = columns.length() + i + 1;
      const auto step =
          static_cast<float>(progress.first_position + i - progress.prompt_length + 1);
      const auto stamp = [&](const float* x, std::int32_t among, std::int32_t count,
                             float* out) noexcept {
        backend.run(stamp_job{.x = x,
                              .length = among,
                              .count = count,
                              .stamp = step,
                              .out = out,
                              .scratch = s.scratch.data()});
      };
      stamp(row, 1, 1, columns.at(0, length - 1));
      if (s.shown[token] > 0) stamp(row, length, (length + 1) / 2, columns.at(0, 0));
      s.shown[token] = 0;
    }
  }

  template <Backend B>
  static const float* evaluate(B&, const model_shape&, state<B>&,
                               const evaluation& asked) noexcept {
    return asked.columns.at(0, 0);
  }

  template <Backend B>
  static std::size_t state_bytes(const state<B>& s) noexcept {
    return s.rows.bytes() + s.shown.bytes() + s.scratch.bytes();
  }
  template <Backend B>
  static void reset(B&, state<B>& s) noexcept {
    std::fill_n(s.shown.data(), s.shown.size(), 0);
  }

 private:
  // First new token behind the prompt.
  static std::int32_t first_decode(const sequence_progress& progress) noexcept {
    return std::min(progress.new_tokens,
                    std::max(0, progress.prompt_length - progress.first_position));
  }
};

}  // namespace epikv::inline v0
