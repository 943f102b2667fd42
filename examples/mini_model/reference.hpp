// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "result.hpp"
#include "types.hpp"
#include "weights.hpp"

namespace mini {

// The model a second time, written for the eye: all tokens at once, no cache, plain loops, double
// precision. It shares no arithmetic with decoder.hpp, because it is the oracle of that file and of
// whoever evicts tokens from its cache.
namespace reference {

using row = std::vector<double>;

/// y[i] = sum over j of w[i, j] * x[j].
inline row multiply(const matrix& w, const row& x) {
  row y(static_cast<std::size_t>(w.rows()), 0.0);
  for (std::size_t i = 0; i < y.size(); ++i) {
    for (std::size_t j = 0; j < x.size(); ++j) {
      const auto weight = w(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
      y[i] += static_cast<double>(weight) * x[j];
    }
  }
  return y;
}

/// y[i] = gain[i] * x[i] / sqrt(mean of the squares + eps).
inline row normalise(const row& x, const vector& gain, double eps) {
  double squares = 0.0;
  for (const double value : x) squares += value * value;
  const double rms = std::sqrt(squares / static_cast<double>(x.size()) + eps);
  row y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    y[i] = static_cast<double>(gain(static_cast<Eigen::Index>(i))) * x[i] / rms;
  }
  return y;
}

/// Turns pair i of every head by the angle p / base^(2i / head_dim).
inline row turn(row x, position p, const config& s) {
  for (std::size_t head = 0; head < x.size(); head += s.head_dim) {
    for (std::size_t i = 0; i < s.head_dim / 2; ++i) {
      const double share = 2.0 * static_cast<double>(i) / static_cast<double>(s.head_dim);
      const double angle = p / std::pow(s.rope_base, share);
      double& real = x[head + (s.turns_halves() ? i : 2 * i)];
      double& imaginary = x[head + (s.turns_halves() ? i + s.head_dim / 2 : 2 * i + 1)];
      const double was = real;
      real = was * std::cos(angle) - imaginary * std::sin(angle);
      imaginary = imaginary * std::cos(angle) + was * std::sin(angle);
    }
  }
  return x;
}

/// Normalises every head by itself, if there is a gain for it.
inline row normalise_heads(row x, const vector& gain, double eps) {
  const auto size = static_cast<std::size_t>(gain.size());
  for (std::size_t head = 0; size > 0 && head < x.size(); head += size) {
    const auto begin = x.begin() + static_cast<std::ptrdiff_t>(head);
    const row y = normalise({begin, begin + static_cast<std::ptrdiff_t>(size)}, gain, eps);
    std::copy(y.begin(), y.end(), begin);
  }
  return x;
}

/// w * x + bias, if there is one.
inline row multiply(const matrix& w, const vector& bias, const row& x) {
  row y = multiply(w, x);
  for (Eigen::Index i = 0; i < bias.size(); ++i) {
    y[static_cast<std::size_t>(i)] += static_cast<double>(bias(i));
  }
  return y;
}

inline void add(row& x, const row& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
}

}  // namespace reference

/// The logits of every token, [tokens, vocab], from one pass over the whole sequence.
///
/// `visible(layer, kv_head, query_index, key_index)` says whether the token at query_index sees the
/// key of the token at key_index; it is asked for key_index <= query_index only. Indices count
/// through `tokens`, positions only rotate. A query that sees no key gets an attention of zero.
/// Decoding with evictions must give these logits if key j is invisible to query i exactly where j
/// left the (layer, KV head)'s cache before i was computed.
template <class Visible>
expected<std::vector<float>> reference_logits(const weights& model, std::span<const token> tokens,
                                              std::span<const position> positions,
                                              Visible&& visible) {
  using reference::row;
  const config& s = model.shape;
  const std::size_t n = tokens.size();
  if (positions.size() != n) return fail(n, " tokens with ", positions.size(), " positions");

  std::vector<row> hidden;
  for (const token id : tokens) {
    if (id < 0 || static_cast<std::size_t>(id) >= s.vocab) return fail("unknown token ", id);
    row& x = hidden.emplace_back();
    for (Eigen::Index i = 0; i < model.token_embd.cols(); ++i) {
      x.push_back(static_cast<double>(model.token_embd(id, i)));
    }
  }

  for (std::size_t layer = 0; layer < s.layers; ++layer) {
    const layer_weights& w = model.layers[layer];
    std::vector<row> queries, keys, values;
    for (std::size_t i = 0; i < n; ++i) {
      const row x = reference::normalise(hidden[i], w.attn_norm, s.rms_eps);
      const row q = reference::multiply(w.attn_q, w.attn_q_bias, x);
      const row k = reference::multiply(w.attn_k, w.attn_k_bias, x);
      queries.push_back(reference::turn(reference::normalise_heads(q, w.attn_q_norm, s.rms_eps),
                                        positions[i], s));
      keys.push_back(reference::turn(reference::normalise_heads(k, w.attn_k_norm, s.rms_eps),
                                     positions[i], s));
      values.push_back(reference::multiply(w.attn_v, w.attn_v_bias, x));
    }

    for (std::size_t i = 0; i < n; ++i) {
      row mixed(s.query_heads * s.head_dim, 0.0);
      for (std::size_t head = 0; head < s.query_heads; ++head) {
        const std::size_t kv_head = head / (s.query_heads / s.kv_heads);
        row exponentials(i + 1, 0.0);
        double total = 0.0;
        double largest = 0.0;
        bool any = false;
        row dots(i + 1, 0.0);
        std::vector<char> seen(i + 1, 0);
        for (std::size_t j = 0; j <= i; ++j) {
          if (!visible(layer, kv_head, i, j)) continue;
          for (std::size_t d = 0; d < s.head_dim; ++d) {
            dots[j] += queries[i][head * s.head_dim + d] * keys[j][kv_head * s.head_dim + d];
          }
          dots[j] /= std::sqrt(static_cast<double>(s.head_dim));
          largest = any && largest > dots[j] ? largest : dots[j];
          any = true;
          seen[j] = 1;
        }
        for (std::size_t j = 0; j <= i; ++j) {
          if (seen[j] != 0) exponentials[j] = std::exp(dots[j] - largest);
          total += exponentials[j];
        }
        for (std::size_t j = 0; j <= i && any; ++j) {
          for (std::size_t d = 0; d < s.head_dim; ++d) {
            mixed[head * s.head_dim + d] +=
                exponentials[j] / total * values[j][kv_head * s.head_dim + d];
          }
        }
      }
      reference::add(hidden[i], reference::multiply(w.attn_output, mixed));
    }

    for (std::size_t i = 0; i < n; ++i) {
      const row x = reference::normalise(hidden[i], w.ffn_norm, s.rms_eps);
      row gate = reference::multiply(w.ffn_gate, x);
      const row up = reference::multiply(w.ffn_up, x);
      for (std::size_t f = 0; f < gate.size(); ++f) {
        gate[f] = gate[f] / (1.0 + std::exp(-gate[f])) * up[f];
      }
      reference::add(hidden[i], reference::multiply(w.ffn_down, gate));
    }
  }

  std::vector<float> logits;
  for (const row& x : hidden) {
    const row y = reference::normalise(x, model.output_norm, s.rms_eps);
    for (const double logit : reference::multiply(model.head(), y)) {
      logits.push_back(static_cast<float>(logit));
    }
  }
  return logits;
}

/// The same with ordinary causal attention.
inline expected<std::vector<float>> reference_logits(const weights& model,
                                                     std::span<const token> tokens,
                                                     std::span<const position> positions) {
  const auto everything = [](std::size_t, std::size_t, std::size_t, std::size_t) { return true; };
  return reference_logits(model, tokens, positions, everything);
}

}  // namespace mini
