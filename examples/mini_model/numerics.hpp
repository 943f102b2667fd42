// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>

#include "types.hpp"

namespace mini {

// The arithmetic of one token. Chunks are computed token by token: a matrix product would be faster
// for a prompt, but its sums depend on the number of rows, and here a token's numbers shall not
// depend on the chunk it arrives in.

/// out[size] = x[size] / rms(x) * gain[size].
inline void rms_norm(const float* x, const vector& gain, double eps, float* out) noexcept {
  const auto size = static_cast<std::size_t>(gain.size());
  const auto in = as_vector(x, size);
  const float mean_square = in.squaredNorm() / static_cast<float>(size);
  const float scale = 1.0f / std::sqrt(mean_square + static_cast<float>(eps));
  as_vector(out, size) = (in * scale).cwiseProduct(gain);
}

/// y[out] = w[out, in] * x[in].
inline void project(const matrix& w, const float* x, float* y) noexcept {
  const auto in = as_vector(x, static_cast<std::size_t>(w.cols()));
  as_vector(y, static_cast<std::size_t>(w.rows())).noalias() = w * in;
}

/// y[out] += w[out, in] * x[in].
inline void project_add(const matrix& w, const float* x, float* y) noexcept {
  const auto in = as_vector(x, static_cast<std::size_t>(w.cols()));
  as_vector(y, static_cast<std::size_t>(w.rows())).noalias() += w * in;
}

/// The rotation of a token at position p: pair i turns by p * base^(-2i / head_dim). One entry of
/// cosine and sine per pair, [head_dim / 2].
inline void rotary_angles(position p, double base, std::size_t head_dim, float* cosine,
                          float* sine) noexcept {
  for (std::size_t i = 0; i < head_dim / 2; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(head_dim);
    const double angle = p * std::pow(base, exponent);
    cosine[i] = static_cast<float>(std::cos(angle));
    sine[i] = static_cast<float>(std::sin(angle));
  }
}

/// Rotates x[heads, head_dim] in place. Pairs are adjacent dimensions, 2i and 2i + 1, as GGUF
/// stores them.
inline void rotate(float* x, std::size_t heads, std::size_t head_dim, const float* cosine,
                   const float* sine) noexcept {
  for (std::size_t h = 0; h < heads; ++h, x += head_dim) {
    for (std::size_t i = 0; i < head_dim / 2; ++i) {
      const float a = x[2 * i];
      const float b = x[2 * i + 1];
      x[2 * i] = a * cosine[i] - b * sine[i];
      x[2 * i + 1] = a * sine[i] + b * cosine[i];
    }
  }
}

/// Attention of one query[head_dim] over the first `slots` rows of keys and values
/// [slots, head_dim]. Writes the probabilities [slots] and the result out[head_dim].
inline void attend(const float* query, const float* keys, const float* values, std::size_t slots,
                   std::size_t head_dim, float* probabilities, float* out) noexcept {
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
  auto p = as_vector(probabilities, slots);
  p.noalias() = as_matrix(keys, slots, head_dim) * as_vector(query, head_dim);
  p = ((p.array() - p.maxCoeff()) * scale).exp();
  p *= 1.0f / p.sum();
  as_vector(out, head_dim).noalias() = as_matrix(values, slots, head_dim).transpose() * p;
}

/// gate[size] = silu(gate) * up[size].
inline void swiglu(float* gate, const float* up, std::size_t size) noexcept {
  auto g = as_vector(gate, size);
  g.array() *= as_vector(up, size).array() / (1.0f + (-g.array()).exp());
}

}  // namespace mini
