// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>

#include "types.hpp"

namespace mini {

// What a token's numbers are does not depend on the chunk or the batch it arrives in: every sum has
// one order, whatever is computed beside it.

/// out[size] = x[size] / rms(x) * gain[size]; out may be x.
void rms_norm(const float* x, const vector& gain, double eps, float* out) noexcept;

/// What becomes of the numbers that are there already.
enum class onto { replace, add };

/// y[rows, out] = x[rows, in] * w[out, in]^T, or y += it; rows of x and y follow each other without
/// gaps. Each element is one sum of 16 lanes, joined in one order, so it has the same bits however
/// many rows there are; with more of them each weight is read less often.
void project(const matrix& w, const float* x, std::size_t rows, float* y,
             onto what = onto::replace) noexcept;

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

/// Rotates x[heads, head_dim] in place. `halves`: pairs are dimensions i and i + head_dim / 2; else
/// neighbours, 2i and 2i + 1.
inline void rotate(float* x, std::size_t heads, std::size_t head_dim, const float* cosine,
                   const float* sine, bool halves) noexcept {
  const std::size_t pairs = head_dim / 2;
  const std::size_t step = halves ? 1 : 2;       // from pair to pair
  const std::size_t apart = halves ? pairs : 1;  // from the first of a pair to the second
  for (std::size_t h = 0; h < heads; ++h, x += head_dim) {
    for (std::size_t i = 0; i < pairs; ++i) {
      float& first = x[i * step];
      float& second = x[i * step + apart];
      const float a = first;
      const float b = second;
      first = a * cosine[i] - b * sine[i];
      second = a * sine[i] + b * cosine[i];
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
void swiglu(float* gate, const float* up, std::size_t size) noexcept;

}  // namespace mini
