// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "epikv/detail/array.hpp"
#include "epikv/detail/groups.hpp"
#include "epikv/score.hpp"

namespace epikv::inline v0 {

/// A number per token from its own key or value rows: the mean over the layers shown and the KV
/// heads of a statistic over head_dim, times `sign`. Computed once, when the rows arrive.
///
/// With `window` > 0 the number is the rolling mean over the last `window` decode tokens, this one
/// included, and prompt tokens are left unscored (the kv_key and kv_val scores of the arXiv
/// 2606.26472 comparison); with `window` = 0 every token, prompt included, gets its own number
/// (what segments and the value reserve read). With `each_keep_set` a keep-set's number is the mean
/// over its own layers and heads alone; Knorm (arXiv 2406.11430) is the L2 norm of the keys in that
/// form with sign -1. Units: the statistic's. Complexity per token: one pass over its rows. State:
/// the window, 12 bytes per token of a step.
template <Signal S>
  requires(S::id == signal_id::keys || S::id == signal_id::values)
struct channel_statistic {
  using epikv_score = void;
  using signals = signal_list<S>;
  static constexpr granularity finest = granularity::kv_head;
  static constexpr int column_count = 1;

  row_statistic statistic = row_statistic::variance;
  std::int32_t window = 0;
  bool enabled = true;  ///< false: reads nothing, stores nothing, numbers are absent
  bool each_keep_set = false;
  double sign = 1.0;

  /// Several keep-sets with numbers of their own, each from a single layer.
  [[nodiscard]] bool split(const cache_shape& shape) const noexcept {
    return each_keep_set && shape.keep_sets != granularity::sequence;
  }
  [[nodiscard]] column_form column(const cache_shape& shape, std::int32_t) const noexcept {
    return {.width = enabled ? 1 : 0,
            .per_group = split(shape),
            .start = split(shape) ? cell_start::unscored : cell_start::anything};
  }
  [[nodiscard]] status check(const cache_shape& shape) const noexcept {
    if (window < 0 || window > 1 << 20) {
      return {errc::invalid_argument, "window", detail::short_text{window}, "0 to 1048576"};
    }
    if (window > 0 && split(shape)) {
      return {errc::unsupported, "window", detail::short_text{window},
              "0 with numbers of each keep-set's own"};
    }
    return {};
  }
  [[nodiscard]] signal_set wants(const model_shape&, std::int32_t) const noexcept {
    return enabled ? signal_set{S::id} : signal_set{};
  }

  [[nodiscard]] row_cadence cadence(signal_id) const noexcept {
    return window > 0 ? row_cadence::decode_tokens : row_cadence::every_token;
  }

  template <class B>
  struct state {
    detail::buffer<double, B> ring;                // [window]
    detail::buffer<std::int32_t, B> header;        // {count, next}
    detail::buffer<double, B> step_sum;            // [step tokens]
    detail::host_array<std::int32_t> step_layers;  // [step tokens]
  };

  template <Backend B>
  status prepare(B& backend, const cache_shape& shape, state<B>& s,
                 const state_sizes& sizes) const noexcept {
    if (!enabled) return {};
    const std::size_t tokens = split(shape) ? 1 : static_cast<std::size_t>(sizes.step_tokens);
    EPIKV_RETURN_IF_ERROR(
        s.ring.grow(backend, static_cast<std::size_t>(window), "channel_statistic.window"));
    EPIKV_RETURN_IF_ERROR(s.header.grow(backend, 2, "channel_statistic.window"));
    EPIKV_RETURN_IF_ERROR(s.step_sum.grow(backend, tokens, "channel_statistic.step"));
    return s.step_layers.grow(tokens, "channel_statistic.step");
  }

  template <Backend B>
  void observe(B& backend, const cache_shape& shape, state<B>& s,
               const observation<signals>& seen) const noexcept {
    if (!enabled) return;
    const sequence_progress& progress = seen.progress();
    for (std::int32_t i = 0; i < progress.new_tokens; ++i) {
      const std::int32_t row = seen.row(i);
      if (row < 0 || !scores(progress, i)) continue;
      if (split(shape)) {
        write_parts(backend, shape, s, seen, i);
        continue;
      }
      const auto token = static_cast<std::size_t>(i);
      backend.run(statistic_job{.view = &seen.template view<S>(),
                                .row = row,
                                .heads = shape.kv_heads,
                                .statistic = statistic,
                                .sum = s.step_sum.data() + token});
      ++s.step_layers[token];
    }
  }

  template <Backend B>
  void finish(B& backend, const cache_shape& shape, state<B>& s, const sequence_progress& progress,
              token_columns columns) const noexcept {
    if (!enabled || split(shape)) return;
    for (std::int32_t i = 0; i < progress.new_tokens; ++i) {
      const auto token = static_cast<std::size_t>(i);
      float* const out = columns.at(0, columns.length() + i);
      const std::int32_t layers = s.step_layers[token];
      if (layers == 0) {
        backend.run(unscored_job{out, 1});
        continue;
      }
      const double* const sum = s.step_sum.data() + token;
      const double rows = sign * static_cast<double>(layers) * shape.kv_heads;
      if (window > 0) {
        backend.run(rolling_job{.a = {s.ring.data(), s.header.data(), window},
                                .sum_a = sum,
                                .divisor_a = rows,
                                .form = rolling_form::mean,
                                .out = out});
      } else {
        backend.run(mean_job{sum, rows, out});
      }
      backend.clear(s.step_sum.data() + token, sizeof(double));
      s.step_layers[token] = 0;
    }
  }

  template <Backend B>
  const float* evaluate(B&, const cache_shape&, state<B>&, const evaluation& asked) const noexcept {
    return enabled ? asked.columns.at(0, 0) : nullptr;
  }

  template <Backend B>
  static std::size_t state_bytes(const state<B>& s) noexcept {
    return s.ring.bytes() + s.header.bytes() + s.step_sum.bytes() + s.step_layers.bytes();
  }

  template <Backend B>
  static void reset(B& backend, state<B>& s) noexcept {
    if (s.header.size() == 0) return;
    backend.clear(s.header.data(), s.header.bytes());
    backend.clear(s.step_sum.data(), s.step_sum.bytes());
    std::fill_n(s.step_layers.data(), s.step_layers.size(), 0);
  }

 private:
  // New token i in one layer, for each keep-set of that layer.
  template <Backend B>
  void write_parts(B& backend, const cache_shape& shape, state<B>& s,
                   const observation<signals>& seen, std::int32_t i) const noexcept {
    detail::for_each_part(shape, seen.layer(), [&](const detail::layer_part& part) noexcept {
      const token_columns columns = seen.columns().of(part.group);
      backend.run(statistic_job{.view = &seen.template view<S>(),
                                .row = seen.row(i),
                                .first_head = part.first_head,
                                .heads = part.heads,
                                .statistic = statistic,
                                .sum = s.step_sum.data()});
      backend.run(
          mean_job{s.step_sum.data(), sign * part.heads, columns.at(0, columns.length() + i)});
      backend.clear(s.step_sum.data(), sizeof(double));
    });
  }
  [[nodiscard]] bool scores(const sequence_progress& progress, std::int32_t i) const noexcept {
    return window == 0 || progress.first_position + i >= progress.prompt_length;
  }
};

using key_statistic = channel_statistic<signals::keys>;
using value_statistic = channel_statistic<signals::values>;

}  // namespace epikv::inline v0
