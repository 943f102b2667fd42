// SPDX-License-Identifier: MIT
#pragma once

// A llama model a third time, for the tests: all that its layers compute, in double precision. It
// shares nothing with the engine nor with its reference but the weights, and rotates by complex
// multiplication.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <vector>

#include "mini_model/types.hpp"
#include "mini_model/weights.hpp"

namespace mini_test {

using numbers = std::vector<double>;

/// What a layer sees and computes for each token.
struct layer_story {
  std::vector<numbers> hidden_in;
  std::vector<numbers> hidden_out;
  std::vector<numbers> keys;                        // [token][kv_heads * head_dim], rotated
  std::vector<numbers> values;                      // [token][kv_heads * head_dim]
  std::vector<numbers> queries;                     // [token][query_heads * head_dim], rotated
  std::vector<std::vector<numbers>> probabilities;  // [token][query head][tokens up to it]
};

struct model_story {
  std::vector<layer_story> layers;
  std::vector<numbers> logits;
};

namespace oracle {

inline double dot(const mini::matrix& m, std::size_t row, const numbers& x) {
  double sum = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    sum += x[j] * static_cast<double>(
                      m.coeff(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(j)));
  }
  return sum;
}

inline numbers times(const mini::matrix& m, const numbers& x) {
  numbers out;
  for (Eigen::Index i = 0; i < m.rows(); ++i) {
    out.push_back(dot(m, static_cast<std::size_t>(i), x));
  }
  return out;
}

inline numbers rms_normed(const numbers& x, const mini::vector& gain, double eps) {
  double mean = 0;
  for (const double value : x) mean += value * value / static_cast<double>(x.size());
  numbers out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    out.push_back(x[i] * std::pow(mean + eps, -0.5) *
                  static_cast<double>(gain.coeff(static_cast<Eigen::Index>(i))));
  }
  return out;
}

/// Two numbers of a head as one complex number, multiplied by exp(i * angle): neighbours, or of
/// each half one.
inline numbers rotated(const numbers& x, const mini::config& s, double position) {
  numbers out(x.size());
  const bool halves = s.kind != mini::architecture::llama;
  for (std::size_t pair = 0; pair < x.size() / 2; ++pair) {
    const std::size_t head = pair / (s.head_dim / 2);
    const std::size_t in_head = pair % (s.head_dim / 2);
    const std::size_t first = head * s.head_dim + (halves ? in_head : 2 * in_head);
    const std::size_t second = halves ? first + s.head_dim / 2 : first + 1;
    const double share = 2.0 * static_cast<double>(in_head) / static_cast<double>(s.head_dim);
    const auto turned = std::complex<double>{x[first], x[second]} *
                        std::polar(1.0, position * std::exp(-std::log(s.rope_base) * share));
    out[first] = turned.real();
    out[second] = turned.imag();
  }
  return out;
}

inline numbers plus(numbers x, const mini::vector& bias) {
  for (std::size_t i = 0; i < x.size() && bias.size() > 0; ++i) {
    x[i] += static_cast<double>(bias.coeff(static_cast<Eigen::Index>(i)));
  }
  return x;
}

/// Each head by itself; nothing where there is no gain.
inline numbers normed_heads(const numbers& x, const mini::vector& gain, double eps) {
  if (gain.size() == 0) return x;
  numbers out;
  const auto size = static_cast<std::ptrdiff_t>(gain.size());
  for (auto at = x.begin(); at != x.end(); at += size) {
    const numbers head = rms_normed({at, at + size}, gain, eps);
    out.insert(out.end(), head.begin(), head.end());
  }
  return out;
}

inline void accumulate(numbers& x, const numbers& y, double factor = 1) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += factor * y[i];
}

}  // namespace oracle

inline model_story tell(const mini::weights& model, const std::vector<mini::token>& tokens,
                        const std::vector<mini::position>& positions) {
  const mini::config& s = model.shape;
  model_story out;
  std::vector<numbers> hidden;
  for (const mini::token id : tokens) {
    numbers& x = hidden.emplace_back();
    for (Eigen::Index i = 0; i < model.token_embd.cols(); ++i) {
      x.push_back(static_cast<double>(model.token_embd.coeff(id, i)));
    }
  }
  for (const mini::layer_weights& w : model.layers) {
    layer_story& layer = out.layers.emplace_back();
    layer.hidden_in = hidden;
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      const numbers x = oracle::rms_normed(hidden[t], w.attn_norm, s.rms_eps);
      const auto place = static_cast<double>(positions[t]);
      const numbers q = oracle::plus(oracle::times(w.attn_q, x), w.attn_q_bias);
      const numbers k = oracle::plus(oracle::times(w.attn_k, x), w.attn_k_bias);
      layer.queries.push_back(
          oracle::rotated(oracle::normed_heads(q, w.attn_q_norm, s.rms_eps), s, place));
      layer.keys.push_back(
          oracle::rotated(oracle::normed_heads(k, w.attn_k_norm, s.rms_eps), s, place));
      layer.values.push_back(oracle::plus(oracle::times(w.attn_v, x), w.attn_v_bias));
    }
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      auto& shares = layer.probabilities.emplace_back();
      numbers mixed;
      for (std::size_t kv = 0; kv < s.kv_heads; ++kv) {
        // The query heads of a KV head follow each other.
        for (std::size_t each = 0; each < s.query_heads / s.kv_heads; ++each) {
          const std::size_t q = shares.size();
          numbers& share = shares.emplace_back();
          double total = 0;
          for (std::size_t j = 0; j <= t; ++j) {
            double product = 0;
            for (std::size_t d = 0; d < s.head_dim; ++d) {
              product += layer.queries[t][q * s.head_dim + d] * layer.keys[j][kv * s.head_dim + d];
            }
            share.push_back(std::exp(product / std::sqrt(static_cast<double>(s.head_dim))));
            total += share.back();
          }
          numbers head(s.head_dim, 0.0);
          for (std::size_t j = 0; j <= t; ++j) {
            share[j] /= total;
            for (std::size_t d = 0; d < s.head_dim; ++d) {
              head[d] += share[j] * layer.values[j][kv * s.head_dim + d];
            }
          }
          mixed.insert(mixed.end(), head.begin(), head.end());
        }
      }
      oracle::accumulate(hidden[t], oracle::times(w.attn_output, mixed));
      const numbers x = oracle::rms_normed(hidden[t], w.ffn_norm, s.rms_eps);
      numbers gate = oracle::times(w.ffn_gate, x);
      const numbers up = oracle::times(w.ffn_up, x);
      for (std::size_t i = 0; i < gate.size(); ++i) gate[i] *= up[i] / (1 + std::exp(-gate[i]));
      oracle::accumulate(hidden[t], oracle::times(w.ffn_down, gate));
    }
    layer.hidden_out = hidden;
  }
  for (const numbers& x : hidden) {
    const mini::matrix& head = model.output.size() == 0 ? model.token_embd : model.output;
    out.logits.push_back(oracle::times(head, oracle::rms_normed(x, model.output_norm, s.rms_eps)));
  }
  return out;
}

}  // namespace mini_test
