// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "epikv/detail/config.hpp"

// The arithmetic that every backend shares to the bit. A product that meets a sum is an explicit
// fma here, so that a compiler's contraction setting cannot change a result.

namespace epikv::inline v0::detail {

// Width of the canonical reduction: element i adds into accumulator i mod lanes, then the halves
// fold. One warp with 4-wide loads on a GPU, eight 16-float vectors on a CPU.
inline constexpr int lanes = 128;

/// Folds the accumulators; `acc` is overwritten. Folds of accumulators from `used` on are skipped:
/// they hold +0, and adding it changes no bit of a sum that began at +0.
template <class Float>
EPIKV_HOST_DEVICE inline Float fold_lanes(Float* acc, std::int64_t used = lanes) noexcept {
  int half = lanes / 2;
  while (half >= used) half /= 2;
  for (; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) acc[j] += acc[j + half];
  }
  return acc[0];
}

// A number a token never got: a quiet NaN with a payload of its own. Numbers computed from data are
// canonicalised on storage, so no computed NaN can be taken for it.
inline constexpr std::uint32_t unscored_bits = 0x7fe0e91cU;
inline constexpr std::uint32_t canonical_nan_bits = 0x7fc00000U;

EPIKV_HOST_DEVICE inline float unscored() noexcept { return std::bit_cast<float>(unscored_bits); }

EPIKV_HOST_DEVICE inline bool is_unscored(float x) noexcept {
  return std::bit_cast<std::uint32_t>(x) == unscored_bits;
}

/// A computed number as it is stored: any NaN becomes the one canonical NaN.
EPIKV_HOST_DEVICE inline float canonical(float x) noexcept {
  return x == x ? x : std::bit_cast<float>(canonical_nan_bits);
}

EPIKV_HOST_DEVICE inline bool is_finite(double x) noexcept { return x - x == 0.0; }

/// Order-preserving key of a score: NaN lowest, then -Inf up to +Inf; -0 equals +0.
EPIKV_HOST_DEVICE inline std::uint32_t order_key(float x) noexcept {
  if (!(x == x)) return 0;
  const auto bits = std::bit_cast<std::uint32_t>(x == 0.0F ? 0.0F : x);
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}

/// The total order of every selection: score, then the newer position. No two tokens share a key.
EPIKV_HOST_DEVICE inline std::uint64_t selection_key(float score, std::int32_t position) noexcept {
  return (std::uint64_t{order_key(score)} << 32) | static_cast<std::uint32_t>(position);
}

/// exp(x) for x <= 0 within 3 units in the last place, 0 below -87; NaN stays NaN. Cody-Waite
/// reduction and a polynomial of degree 6, each step an fma.
EPIKV_HOST_DEVICE inline float exp_nonpositive(float x) noexcept {
  if (!(x >= -87.0F)) return x == x ? 0.0F : x;
  const float n = std::floor(std::fma(x, 1.44269504F, 0.5F));
  float f = std::fma(n, -0.693359375F, x);
  f = std::fma(n, 2.12194440e-4F, f);
  float p = 1.0F / 720.0F;
  p = std::fma(p, f, 1.0F / 120.0F);
  p = std::fma(p, f, 1.0F / 24.0F);
  p = std::fma(p, f, 1.0F / 6.0F);
  p = std::fma(p, f, 0.5F);
  p = std::fma(p, f, 1.0F);
  p = std::fma(p, f, 1.0F);
  return p * std::bit_cast<float>(static_cast<std::uint32_t>(static_cast<int>(n) + 127) << 23);
}

/// ln(x) of a normal x > 0 in double, within 1e-12 of 1 + |ln x|: exponent and the series of
/// atanh((m - 1) / (m + 1)) for a mantissa m in [1/sqrt(2), sqrt(2)). -Inf for 0, NaN below.
EPIKV_HOST_DEVICE inline double log_positive(double x) noexcept {
  if (!(x > 0.0)) return x == 0.0 ? -1.0 / 0x0p0 : x - x;
  if (x - x != 0.0) return x;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  auto exponent = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double f = (m - 1.0) / (m + 1.0);
  const double square = f * f;
  double p = 1.0 / 15.0;
  for (int n = 13; n >= 1; n -= 2) p = std::fma(p, square, 1.0 / n);
  return std::fma(static_cast<double>(exponent), 0.6931471805599453, 2.0 * f * p);
}

/// The key by which the top k are a sample without replacement in proportion to score^beta:
/// beta * ln(score + 1e-9) + Gumbel noise -ln(-ln u) of a draw u in [0, 1), which is moved to the
/// middle of its interval of 2^-24. A negative score counts as 0. NaN and the unscored mark stay.
EPIKV_HOST_DEVICE inline float gumbel_key(float score, double beta, float draw) noexcept {
  if (score != score) return score;
  const double weight = score > 0.0F ? static_cast<double>(score) : 0.0;
  const double u = static_cast<double>(draw) + 0x1p-25;
  const double key = std::fma(beta, log_positive(weight + 1e-9), -log_positive(-log_positive(u)));
  return canonical(static_cast<float>(key));
}

/// Mean of the `count` values of a ring in time order; `next` is where the next value will go.
EPIKV_HOST_DEVICE inline double ring_mean(const double* ring, std::int32_t window,
                                          std::int32_t count, std::int32_t next) noexcept {
  std::int32_t at = count < window ? 0 : next;
  double sum = 0.0;
  for (std::int32_t i = 0; i < count; ++i) {
    sum += ring[at];
    at = at + 1 == window ? 0 : at + 1;
  }
  return count > 0 ? sum / count : 0.0;
}

/// z of `value`, the ring's newest: (value - mean) / (population deviation + 1e-6); 0 with fewer
/// than two values. Recomputed over the ring, so it is exact however many tokens have passed.
EPIKV_HOST_DEVICE inline double ring_z(const double* ring, std::int32_t window, std::int32_t count,
                                       std::int32_t next, double value) noexcept {
  if (count < 2) return 0.0;
  const double mean = ring_mean(ring, window, count, next);
  std::int32_t at = count < window ? 0 : next;
  double squares = 0.0;
  for (std::int32_t i = 0; i < count; ++i) {
    const double centred = ring[at] - mean;
    squares = std::fma(centred, centred, squares);
    at = at + 1 == window ? 0 : at + 1;
  }
  return (value - mean) / (std::sqrt(squares / count) + 1e-6);
}

}  // namespace epikv::inline v0::detail
