// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "epikv/detail/array.hpp"
#include "epikv/detail/canonical.hpp"
#include "epikv/layer_band.hpp"
#include "epikv/score.hpp"

namespace epikv::inline v0 {

/// Which change of the residual stream the epiphany score reads.
enum class hidden_change : std::uint8_t {
  temporal,  ///< || hidden_out(t) - hidden_out(t - 1) ||: the default
  block,     ///< || hidden_out(t) - hidden_in(t) ||: what the block itself adds at one token
};

/// Which bands enter the epiphany score.
enum class epiphany_form : std::uint8_t {
  difference,  ///< weight_a * z_a - weight_b * z_b
  a_only,      ///< weight_a * z_a
  b_only,      ///< -weight_b * z_b
  raw,         ///< weight_a * mean_a - weight_b * mean_b, rolling means without the division
};

/// The epiphany score of EpiKV (arXiv 2606.26472): the causal rolling z of the residual stream's
/// step-to-step change in a lower-mid band of layers minus the same in an upper-mid band. Needs
/// only hidden states; fixed when the token arrives. Decode tokens alone are scored: the prompt's
/// last state seeds the first difference and nothing else of it is read.
///
/// Numbers: change in the units of the hidden states; z without unit. A token whose predecessor was
/// not shown is left unscored and does not enter the window; with no state at all before it (a
/// resumed sequence, an empty prompt) the change is 0, and that 0 enters.
/// Complexity per token: one pass over `hidden` per band layer, O(window). State: 2 windows of
/// doubles, one f32 row per band layer, 24 bytes per token of a step; 4 bytes per cached token, 12
/// with the parts.
struct epiphany {
  using epikv_score = void;
  using signals = signal_list<signals::hidden_in, signals::hidden_out>;
  static constexpr granularity finest = granularity::kv_head;
  static constexpr int column_count = 3;  // the score, what band a gives, what band b gives

  layer_band band_a{};  ///< empty: round(0.31 L)
  layer_band band_b{};  ///< empty: round(0.66 L)
  std::int32_t window = 64;
  hidden_change change = hidden_change::temporal;
  epiphany_form form = epiphany_form::difference;
  double weight_a = 1.0;
  double weight_b = 1.0;
  bool track_bands = false;  ///< keep what each band gives, for reports; selections are the same

  /// The bands in use for `shape`: those given, or the ones the depth rule picks.
  [[nodiscard]] layer_band resolved_a(const model_shape& shape) const noexcept {
    return band_a.empty() ? layer_band{layer_at_depth(shape, 0.31)} : band_a;
  }
  [[nodiscard]] layer_band resolved_b(const model_shape& shape) const noexcept {
    return band_b.empty() ? layer_band{layer_at_depth(shape, 0.66)} : band_b;
  }
  [[nodiscard]] bool uses_a() const noexcept { return form != epiphany_form::b_only; }
  [[nodiscard]] bool uses_b() const noexcept { return form != epiphany_form::a_only; }

  [[nodiscard]] column_form column(const model_shape&, std::int32_t c) const noexcept {
    return {.width = c == 0 || track_bands ? 1 : 0};
  }

  [[nodiscard]] status check(const model_shape& shape) const noexcept {
    EPIKV_RETURN_IF_ERROR(band_a.check("band_a", shape));
    EPIKV_RETURN_IF_ERROR(band_b.check("band_b", shape));
    if (window < 1 || window > 1 << 20) {
      return {errc::invalid_argument, "window", detail::short_text{window}, "1 to 1048576"};
    }
    if (!detail::is_finite(weight_a)) {
      return {errc::invalid_argument, "weight_a", detail::short_text{weight_a}, "a finite number"};
    }
    if (!detail::is_finite(weight_b)) {
      return {errc::invalid_argument, "weight_b", detail::short_text{weight_b}, "a finite number"};
    }
    return {};
  }

  [[nodiscard]] signal_set wants(const model_shape& shape, std::int32_t layer) const noexcept {
    const bool in_a = uses_a() && resolved_a(shape).index_of(layer) >= 0;
    const bool in_b = uses_b() && resolved_b(shape).index_of(layer) >= 0;
    if (!in_a && !in_b) return {};
    if (change == hidden_change::block) return {signal_id::hidden_in, signal_id::hidden_out};
    return {signal_id::hidden_out};
  }

  static row_cadence cadence(signal_id) noexcept { return row_cadence::decode_tokens; }

  // One band of one sequence.
  template <class B>
  struct band_state {
    layer_band layers;
    detail::buffer<float, B> previous;                       // [band layers, hidden]
    std::int32_t previous_position[layer_band::max_layers];  // -1: none yet
    detail::buffer<double, B> ring;                          // [window]
    detail::buffer<std::int32_t, B> header;                  // {count, next}
    detail::buffer<double, B> step_sum;            // [step tokens]: changes summed over the band
    detail::host_array<std::int32_t> step_layers;  // [step tokens]: layers that went in

    [[nodiscard]] rolling_window window(std::int32_t size) noexcept {
      return {ring.data(), header.data(), size};
    }
    [[nodiscard]] std::size_t bytes() const noexcept {
      return previous.bytes() + ring.bytes() + header.bytes() + step_sum.bytes() +
             step_layers.bytes();
    }
  };

  template <class B>
  struct state {
    band_state<B> a;
    band_state<B> b;
  };

  template <Backend B>
  status prepare(B& backend, const model_shape& shape, state<B>& s,
                 const state_sizes& sizes) const noexcept {
    if (uses_a()) {
      EPIKV_RETURN_IF_ERROR(prepare_band(backend, shape, s.a, resolved_a(shape), sizes));
    }
    if (uses_b()) {
      EPIKV_RETURN_IF_ERROR(prepare_band(backend, shape, s.b, resolved_b(shape), sizes));
    }
    return {};
  }

  template <Backend B>
  void observe(B& backend, const model_shape& shape, state<B>& s,
               const observation<signals>& seen) const noexcept {
    observe_band(backend, shape, s.a, seen);
    observe_band(backend, shape, s.b, seen);
  }

  template <Backend B>
  void finish(B& backend, const model_shape&, state<B>& s, const sequence_progress& progress,
              token_columns columns) const noexcept {
    for (std::int32_t i = 0; i < progress.new_tokens; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::int32_t slot = columns.length() + i;
      float* const out = columns.at(0, slot);
      float* const out_a = track_bands ? columns.at(1, slot) : nullptr;
      float* const out_b = track_bands ? columns.at(2, slot) : nullptr;
      const bool decode = progress.first_position + i >= progress.prompt_length;
      const bool complete =
          (!uses_a() || s.a.step_layers[at] > 0) && (!uses_b() || s.b.step_layers[at] > 0);
      if (decode && complete) {
        rolling_job job = rolling(s, at, out);
        job.out_a = out_a;
        job.out_b = out_b;
        backend.run(job);
      } else {
        backend.run(unscored_job{out, 1});
        if (track_bands) backend.run(unscored_job{out_a, 1});
        if (track_bands) backend.run(unscored_job{out_b, 1});
      }
      clear_step(backend, s.a, at);
      clear_step(backend, s.b, at);
    }
  }

  template <Backend B>
  static const float* evaluate(B&, const model_shape&, state<B>&,
                               const evaluation& asked) noexcept {
    return asked.columns.at(0, 0);
  }

  static std::string_view part_name(std::size_t i) noexcept {
    return i == 0 ? "a" : i == 1 ? "b" : "";
  }

  /// What each band gave before weights: its z, or its mean with the form `raw`; 0 for a band that
  /// the form does not use. Null unless tracked.
  template <Backend B>
  const float* evaluate_part(B&, const model_shape&, state<B>&, const evaluation& asked,
                             std::size_t part) const noexcept {
    return track_bands ? asked.columns.at(static_cast<std::int32_t>(part) + 1, 0) : nullptr;
  }

  template <Backend B>
  static std::size_t state_bytes(const state<B>& s) noexcept {
    return s.a.bytes() + s.b.bytes();
  }

  template <Backend B>
  static void reset(B& backend, state<B>& s) noexcept {
    reset_band(backend, s.a);
    reset_band(backend, s.b);
  }

 private:
  template <class B>
  status prepare_band(B& backend, const model_shape& shape, band_state<B>& band,
                      const layer_band& layers, const state_sizes& sizes) const noexcept {
    const auto tokens = static_cast<std::size_t>(sizes.step_tokens);
    const std::size_t rows =
        static_cast<std::size_t>(layers.size()) * static_cast<std::size_t>(shape.hidden);
    if (change == hidden_change::temporal) {
      EPIKV_RETURN_IF_ERROR(band.previous.grow(backend, rows, "epiphany.previous"));
    }
    EPIKV_RETURN_IF_ERROR(
        band.ring.grow(backend, static_cast<std::size_t>(window), "epiphany.window"));
    EPIKV_RETURN_IF_ERROR(band.header.grow(backend, 2, "epiphany.window"));
    EPIKV_RETURN_IF_ERROR(band.step_sum.grow(backend, tokens, "epiphany.step"));
    EPIKV_RETURN_IF_ERROR(band.step_layers.grow(tokens, "epiphany.step"));
    if (band.layers.empty()) {
      band.layers = layers;
      for (std::int32_t& p : band.previous_position) p = -1;
    }
    return {};
  }

  template <class B>
  void observe_band(B& backend, const model_shape& shape, band_state<B>& band,
                    const observation<signals>& seen) const noexcept {
    const std::int32_t index = band.layers.index_of(seen.layer());
    if (index < 0) return;
    const tensor_view& out = seen.template view<epikv::signals::hidden_out>();
    const sequence_progress& progress = seen.progress();
    const std::size_t previous_row =
        static_cast<std::size_t>(index) * static_cast<std::size_t>(shape.hidden);
    // The block's own change needs no earlier state, and there is no memory for one.
    float* const previous =
        change == hidden_change::temporal ? band.previous.data() + previous_row : nullptr;
    std::int32_t& previous_position = band.previous_position[index];
    std::int32_t last = -1;
    for (std::int32_t i = 0; i < progress.new_tokens; ++i) {
      const std::int32_t row = seen.row(i);
      const std::int32_t at = progress.first_position + i;
      // Nothing of the prompt matters but its last state.
      if (row < 0 || at + 1 < progress.prompt_length) continue;
      if (at >= progress.prompt_length) {
        const auto token = static_cast<std::size_t>(i);
        distance_job job{row_of(out, row), {}, shape.hidden, band.step_sum.data() + token};
        if (change == hidden_change::block) {
          job.b = row_of(seen.template view<epikv::signals::hidden_in>(), row);
        } else if (last >= 0 && last == i - 1) {
          job.b = row_of(out, seen.row(last));
        } else if (last < 0 && previous_position == at - 1 && at > 0) {
          job.b = {reinterpret_cast<const std::byte*>(previous), dtype::f32, 1};
        } else if (last < 0 && previous_position < 0) {
          job.b = job.a;  // no state before this token: the change is 0
        }
        if (job.b.data != nullptr) {
          backend.run(job);
          ++band.step_layers[token];
        }
      }
      last = i;
    }
    if (last >= 0 && change == hidden_change::temporal) {
      backend.run(store_job{row_of(out, seen.row(last)), shape.hidden, previous});
      previous_position = progress.first_position + last;
    }
  }

  template <class B>
  rolling_job rolling(state<B>& s, std::size_t token, float* out) const noexcept {
    rolling_job job{.form = form == epiphany_form::raw ? rolling_form::mean : rolling_form::z,
                    .out = out};
    if (uses_a()) {
      job.a = s.a.window(window);
      job.sum_a = s.a.step_sum.data() + token;
      job.divisor_a = s.a.step_layers[token];
      job.weight_a = weight_a;
    }
    if (uses_b()) {
      job.b = s.b.window(window);
      job.sum_b = s.b.step_sum.data() + token;
      job.divisor_b = s.b.step_layers[token];
      job.weight_b = weight_b;
    }
    return job;
  }

  template <class B>
  static void reset_band(B& backend, band_state<B>& band) noexcept {
    if (band.layers.empty()) return;
    for (std::int32_t& p : band.previous_position) p = -1;
    backend.clear(band.header.data(), band.header.bytes());
    backend.clear(band.step_sum.data(), band.step_sum.bytes());
    std::fill_n(band.step_layers.data(), band.step_layers.size(), 0);
  }

  template <class B>
  static void clear_step(B& backend, band_state<B>& band, std::size_t token) noexcept {
    if (band.step_layers.size() == 0 || band.step_layers[token] == 0) return;
    backend.clear(band.step_sum.data() + token, sizeof(double));
    band.step_layers[token] = 0;
  }
};

}  // namespace epikv::inline v0
