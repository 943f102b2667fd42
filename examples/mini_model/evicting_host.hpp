// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "decoder.hpp"
#include "epikv/cpu.hpp"
#include "generate.hpp"
#include "kv_cache.hpp"

namespace mini {

/// The model's sizes as EpiKV names them.
inline epikv::model_shape shape_of(const config& c) noexcept {
  return {.layers = static_cast<std::int32_t>(c.layers),
          .query_heads = static_cast<std::int32_t>(c.query_heads),
          .kv_heads = static_cast<std::int32_t>(c.kv_heads),
          .head_dim = static_cast<std::int32_t>(c.head_dim),
          .hidden = static_cast<std::int32_t>(c.hidden)};
}

/// What a layer shows its observers, as EpiKV takes it: rows are the step's tokens.
inline epikv::layer_signals signals_of(const layer_tap& tap,
                                       const epikv::model_shape& shape) noexcept {
  const auto rows = static_cast<std::int64_t>(tap.tokens);
  const auto view = [](std::span<const float> data, std::initializer_list<std::int64_t> extents) {
    return epikv::tensor_view{data.data(), extents};
  };
  epikv::layer_signals out{.hidden_in = view(tap.hidden_in, {rows, shape.hidden}),
                           .hidden_out = view(tap.hidden_out, {rows, shape.hidden}),
                           .keys = view(tap.keys, {rows, shape.kv_heads, shape.head_dim}),
                           .values = view(tap.values, {rows, shape.kv_heads, shape.head_dim}),
                           .queries = view(tap.queries, {rows, shape.query_heads, shape.head_dim})};
  if (!tap.probabilities.empty()) {
    out.attention =
        view(tap.probabilities, {rows, shape.query_heads, static_cast<std::int64_t>(tap.slots)});
  }
  return out;
}

/// Must the decoder show attention probabilities to serve this evictor?
inline bool wants_attention(const epikv::any_evictor& evictor) noexcept {
  for (std::int32_t layer = 0; layer < evictor.shape().layers; ++layer) {
    if (evictor.wants(layer).contains(epikv::signal_id::attention)) return true;
  }
  return false;
}

/// The cache's K or V, which begin at `data`, as opaque rows.
inline epikv::contiguous_cache rows_of(const kv_cache& cache, float* data) noexcept {
  const auto bytes = [](std::size_t floats) {
    return static_cast<std::int64_t>(floats * sizeof(float));
  };
  return {.data = data,
          .row_bytes = bytes(cache.head_dim()),
          .slot_stride = bytes(cache.slot_stride()),
          .head_stride = bytes(cache.head_stride()),
          .layer_stride = bytes(cache.layer_stride()),
          .layers = static_cast<std::int32_t>(cache.layers()),
          .kv_heads = static_cast<std::int32_t>(cache.kv_heads()),
          .slots = static_cast<std::int32_t>(cache.capacity())};
}

/// Moves the rows that a selection keeps to the front of each group, and shortens the groups.
inline epikv::status evict(kv_cache& cache, const epikv::sequence_selection& chosen) noexcept {
  EPIKV_RETURN_IF_ERROR(epikv::compact(rows_of(cache, cache.keys(0, 0)), chosen));
  EPIKV_RETURN_IF_ERROR(epikv::compact(rows_of(cache, cache.values(0, 0)), chosen));
  for (std::size_t layer = 0; layer < cache.layers(); ++layer) {
    for (std::size_t head = 0; head < cache.kv_heads(); ++head) {
      const epikv::group_selection& group =
          chosen.group(static_cast<std::int32_t>(layer), static_cast<std::int32_t>(head));
      cache.set_length(layer, head, static_cast<std::size_t>(group.length_after()));
    }
  }
  return {};
}

/// A host of EpiKV in three calls a step: announces the tokens, shows each layer that a score
/// wants, and moves the cache's rows as the selection says. New tokens keep their logical
/// positions; the decoder rotates by those and never by slots.
class evicting_host {
 public:
  /// The evictor must know the sequence and outlive the host.
  evicting_host(epikv::any_evictor& evictor, epikv::sequence_id sequence) noexcept
      : evictor_{&evictor}, sequence_{sequence} {}

  /// Makes room where the cache has none: how much an evictor keeps is its own business.
  bool before(std::span<const token> tokens, position, kv_cache& cache) {
    cache.make_room(tokens.size());
    return keep(evictor_->begin_step(sequence_, static_cast<std::int32_t>(tokens.size())));
  }

  /// Tokens the next step may bring so that no eviction comes later than with one token a step.
  std::size_t most_tokens() const noexcept {
    const auto most = evictor_->tokens_until_due(sequence_);
    return most ? static_cast<std::size_t>(*most) : 1;
  }

  void observe(std::size_t layer, const layer_tap& tap) noexcept {
    const auto index = static_cast<std::int32_t>(layer);
    if (!status_.ok() || evictor_->wants(index).empty()) return;
    keep(evictor_->observe(index, signals_of(tap, evictor_->shape())));
  }

  bool after(kv_cache& cache) noexcept {
    if (!status_.ok()) return false;
    const auto selection = evictor_->select();
    if (!selection) return keep(selection.status());
    for (const epikv::sequence_selection& chosen : *selection) {
      if (!keep(evict(cache, chosen))) return false;
    }
    return keep(evictor_->commit(*selection));
  }

  /// The first thing that went wrong.
  const epikv::status& status() const noexcept { return status_; }

 private:
  bool keep(const epikv::status& outcome) noexcept {
    if (status_.ok() && !outcome.ok()) status_ = outcome;
    return status_.ok();
  }

  epikv::any_evictor* evictor_;
  epikv::sequence_id sequence_;
  epikv::status status_;
};

}  // namespace mini
