// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "epikv/detail/array.hpp"
#include "epikv/detail/groups.hpp"
#include "epikv/score.hpp"

namespace epikv::inline v0 {

/// The newest token's attention to each cached token, averaged over the keep-set's query heads and
/// those of its layers that were shown: TOVA (arXiv 2401.06104) with one keep-set per layer. If the
/// newest token's rows were not shown, no token has a number. Needs attention rows.
/// Complexity: one pass over the newest rows. Columns: one float. State: 2 integers per layer.
struct last_attention {
  using epikv_score = void;
  using signals = signal_list<signals::attention>;
  static constexpr granularity finest = granularity::kv_head;
  static constexpr int column_count = 1;

  std::int32_t last_layers = 0;  ///< reads the model's last so many layers; 0: all

  static column_form column(const model_shape&, std::int32_t) noexcept {
    return {.width = 1, .per_group = true};
  }
  [[nodiscard]] status check(const cache_shape& shape) const noexcept {
    if (last_layers < 0 || last_layers > shape.layers) {
      return {errc::invalid_argument, "classifier_layers", detail::short_text{last_layers},
              detail::short_text{"0 to ", shape.layers}};
    }
    if (last_layers > 0 && shape.keep_sets != granularity::sequence) {
      return {errc::unsupported, "keep_sets", to_string(shape.keep_sets),
              "sequence, for attention of the last layers"};
    }
    return {};
  }
  [[nodiscard]] signal_set wants(const model_shape& shape, std::int32_t layer) const noexcept {
    const bool read = last_layers == 0 || layer >= shape.layers - last_layers;
    return read ? signal_set{signal_id::attention} : signal_set{};
  }
  static row_cadence cadence(signal_id) noexcept { return row_cadence::last_tokens; }

  template <class B>
  struct state {
    detail::host_array<std::uint8_t> now;    // [layers]: shown of the open step's newest token
    detail::host_array<std::uint8_t> shown;  // [layers]: of the newest cached token
  };

  template <Backend B>
  status prepare(B&, const model_shape& shape, state<B>& s, const state_sizes&) const noexcept {
    const auto layers = static_cast<std::size_t>(shape.layers);
    EPIKV_RETURN_IF_ERROR(s.now.grow(layers, "last_attention.layers"));
    return s.shown.grow(layers, "last_attention.layers");
  }

  template <Backend B>
  void observe(B& backend, const cache_shape& shape, state<B>& s,
               const observation<signals>& seen) const noexcept {
    const std::int32_t newest = seen.progress().new_tokens - 1;
    if (newest < 0 || seen.row(newest) < 0) return;
    if (wants(shape, seen.layer()).empty()) return;
    const bool whole = shape.keep_sets == granularity::sequence;
    const bool first = !whole || std::find(s.now.data(), s.now.data() + s.now.size(), 1) ==
                                     s.now.data() + s.now.size();
    const std::int32_t shared = shape.query_heads / shape.kv_heads;
    detail::for_each_part(shape, seen.layer(), [&](const detail::layer_part& part) noexcept {
      const token_columns columns = seen.columns().of(part.group);
      backend.run(attention_job{.view = &seen.template view<epikv::signals::attention>(),
                                .row = seen.row(newest),
                                .first_head = part.first_head * shared,
                                .heads = part.heads * shared,
                                .count = columns.length() + newest + 1,
                                .add = !first,
                                .cells = columns.at(0, 0)});
    });
    s.now[static_cast<std::size_t>(seen.layer())] = 1;
  }

  template <Backend B>
  void finish(B& backend, const cache_shape& shape, state<B>& s, const sequence_progress& progress,
              token_columns columns) const noexcept {
    if (progress.new_tokens == 0) return;
    std::copy_n(s.now.data(), s.now.size(), s.shown.data());
    std::fill_n(s.now.data(), s.now.size(), std::uint8_t{0});
    for (std::int32_t g = 0; g < shape.groups(); ++g) {
      if (layers_shown(shape, s, g) > 0) continue;
      const token_columns own = columns.of(g);
      backend.run(
          unscored_job{own.at(0, 0), static_cast<std::size_t>(own.length() + progress.new_tokens)});
    }
  }

  template <Backend B>
  const float* evaluate(B& backend, const cache_shape& shape, state<B>& s,
                        const evaluation& asked) const noexcept {
    const std::int32_t layers = layers_shown(shape, s, asked.group_index);
    if (layers < 2) return asked.columns.at(0, 0);
    backend.run(cell_sum_job{.cells = asked.columns.at(0, 0),
                             .length = asked.length,
                             .divisor = static_cast<double>(layers),
                             .out = asked.out});
    return asked.out;
  }

  template <Backend B>
  static std::size_t state_bytes(const state<B>& s) noexcept {
    return s.now.bytes() + s.shown.bytes();
  }
  template <Backend B>
  static void reset(B&, state<B>& s) noexcept {
    std::fill_n(s.now.data(), s.now.size(), std::uint8_t{0});
    std::fill_n(s.shown.data(), s.shown.size(), std::uint8_t{0});
  }

 private:
  // Layers of the group whose rows of the newest token were shown.
  template <class State>
  static std::int32_t layers_shown(const cache_shape& shape, const State& s,
                                   std::int32_t group) noexcept {
    std::int32_t count = 0;
    detail::for_each_layer_of(shape, group, [&](std::int32_t layer, auto, auto) noexcept {
      count += s.shown[static_cast<std::size_t>(layer)];
    });
    return count;
  }
};

}  // namespace epikv::inline v0
