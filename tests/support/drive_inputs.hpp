// SPDX-License-Identifier: MIT
#pragma once

// What a made-up model computes: every element is a function of (seed, sequence, signal, layer,
// position, index), so that any layout, order or split of the calls shows the same numbers.

#include <cmath>
#include <cstdint>
#include <limits>

#include "epikv/index.hpp"
#include "epikv/model_shape.hpp"
#include "epikv/signal.hpp"
#include "support/drive_dice.hpp"
#include "support/oracle_scores.hpp"

namespace drive {

enum class input_kind {
  varied,    // hardly ever two equal numbers
  grid,      // few distinct numbers, so that many scores are equal
  constant,  // one number throughout, so that all scores are equal
};

// Multiples of 2^-7 with at most 8 significant bits: exact in f32, f16 and bf16, and so are the
// sums of their squares in f32.
struct inputs {
  std::uint64_t seed = 0;
  input_kind kind = input_kind::varied;
  int bad_per_mille = 0;     // rows with an element that is NaN or infinite
  int hidden_per_mille = 0;  // (token, layer) pairs that the host does not show

  [[nodiscard]] float element(std::int64_t sequence, epikv::signal_id signal, int layer,
                              int position, int index) const {
    const std::uint64_t row = row_hash(sequence, signal, layer, position);
    if (static_cast<int>(row % 1000) < bad_per_mille && index == 0) return bad(row);
    const std::uint64_t h = mix(row + static_cast<std::uint64_t>(index) + 1);
    const auto most = static_cast<std::uint64_t>(kind == input_kind::varied ? 127 : 2);
    const int scale = kind == input_kind::varied ? static_cast<int>((row >> 20) % 3) - 7 : -1;
    int units = static_cast<int>(h % (2 * most + 1)) - static_cast<int>(most);
    if (kind == input_kind::constant) units = 1;
    const bool is_query = signal == epikv::signal_id::queries;
    return std::ldexp(static_cast<float>(units), is_query ? scale - 1 : scale);
  }

  [[nodiscard]] bool shown(std::int64_t sequence, int layer, int position) const {
    const std::uint64_t h = row_hash(sequence, epikv::signal_id::lse, layer, position);
    return static_cast<int>(h % 1000) >= hidden_per_mille;
  }

 private:
  [[nodiscard]] std::uint64_t row_hash(std::int64_t sequence, epikv::signal_id signal, int layer,
                                       int position) const {
    std::uint64_t h = mix(seed);
    h = mix(h + static_cast<std::uint64_t>(sequence));
    h = mix(h + static_cast<std::uint64_t>(signal));
    h = mix(h + static_cast<std::uint64_t>(layer));
    return mix(h + static_cast<std::uint64_t>(position));
  }
  static float bad(std::uint64_t row) {
    const std::uint64_t which = (row >> 32) % 3;
    if (which == 0) return std::numeric_limits<float>::quiet_NaN();
    const float inf = std::numeric_limits<float>::infinity();
    return which == 1 ? inf : -inf;
  }
};

inline oracle::shape oracle_shape(const epikv::model_shape& s) {
  return {s.layers, s.query_heads, s.kv_heads, s.head_dim, s.hidden};
}

// Elements of one row of a signal.
inline int width_of(epikv::signal_id signal, const epikv::model_shape& s) {
  switch (signal) {
    case epikv::signal_id::hidden_in:
    case epikv::signal_id::hidden_out: return s.hidden;
    case epikv::signal_id::keys:
    case epikv::signal_id::values: return s.kv_heads * s.head_dim;
    default: return s.query_heads * s.head_dim;
  }
}

// The same token for the oracle.
inline oracle::token oracle_token(const inputs& in, const epikv::model_shape& s,
                                  std::int64_t sequence, int position) {
  oracle::token t;
  t.layers.resize(static_cast<std::size_t>(s.layers));
  for (int layer = 0; layer < s.layers; ++layer) {
    oracle::token::layer& l = oracle::at(t.layers, layer);
    l.shown = in.shown(sequence, layer, position);
    if (!l.shown) continue;
    const auto fill = [&](epikv::signal_id signal, oracle::row& out) {
      for (int i = 0; i < width_of(signal, s); ++i) {
        out.push_back(static_cast<double>(in.element(sequence, signal, layer, position, i)));
      }
    };
    fill(epikv::signal_id::hidden_in, l.hidden_in);
    fill(epikv::signal_id::hidden_out, l.hidden_out);
    fill(epikv::signal_id::keys, l.keys);
    fill(epikv::signal_id::values, l.values);
    fill(epikv::signal_id::queries, l.queries);
  }
  return t;
}

}  // namespace drive
