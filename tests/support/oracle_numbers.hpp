// SPDX-License-Identifier: MIT
#pragma once

// The formulas of the methods, each by its definition in plain double: no canonical reductions, no
// rings, no running sums.

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/oracle_method.hpp"

namespace oracle {

// What a method says of one token. `slack` is how far f32 inputs to an ill-conditioned formula may
// take a correct implementation from `value`, beyond 1e-5 of it.
struct number {
  double value = 0.0;
  double slack = 0.0;
  bool scored = true;
};
inline number unscored() { return {0.0, 0.0, false}; }

// Does the library's number agree? A token without a number is reported as NaN.
inline bool agrees(float reported, const number& expected) {
  if (!expected.scored || std::isnan(expected.value)) return std::isnan(reported);
  if (std::isinf(expected.value)) return static_cast<double>(reported) == expected.value;
  const double error = std::abs(static_cast<double>(reported) - expected.value);
  return error <= 1e-5 * std::abs(expected.value) + expected.slack;
}

using row = std::vector<double>;

inline double distance(const row& a, const row& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

inline double mean_of(const row& x) {
  double sum = 0.0;
  for (const double v : x) sum += v;
  return x.empty() ? 0.0 : sum / static_cast<double>(x.size());
}

inline double squares_about_mean(const row& x) {
  const double mean = mean_of(x);
  double sum = 0.0;
  for (const double v : x) sum += (v - mean) * (v - mean);
  return sum;
}

inline double sample_deviation(const row& x) {
  return x.size() < 2 ? 0.0 : std::sqrt(squares_about_mean(x) / static_cast<double>(x.size() - 1));
}

inline double statistic_of(statistic kind, const row& x) {
  switch (kind) {
    case statistic::variance:
      return x.size() < 2 ? 0.0 : squares_about_mean(x) / static_cast<double>(x.size() - 1);
    case statistic::range: {
      double low = x.front();
      double high = x.front();
      for (const double v : x) {
        if (std::isnan(v)) return v;
        low = v < low ? v : low;
        high = v > high ? v : high;
      }
      return high - low;
    }
    case statistic::norm: return distance(x, row(x.size(), 0.0));
  }
  return 0.0;
}

inline double largest_magnitude(const row& x) {
  double most = 0.0;
  for (const double v : x) most = std::max(most, std::abs(v));
  return most;
}

// z of the last of the last `window` values, population deviation.
inline number rolling_z(const row& values, int window) {
  const auto count = std::min(values.size(), static_cast<std::size_t>(window));
  if (count < 2) return {};
  const row recent(values.end() - static_cast<std::ptrdiff_t>(count), values.end());
  const double deviation = std::sqrt(squares_about_mean(recent) / static_cast<double>(count));
  const double z = (recent.back() - mean_of(recent)) / (deviation + 1e-6);
  // Each value is an f32 distance: off by some 1e-7 of itself.
  const double slack =
      1e-6 + 2e-7 * (1.0 + std::abs(z)) * largest_magnitude(recent) / (deviation + 1e-6);
  return {z, slack};
}

inline number rolling_mean(const row& values, int window) {
  const auto count = std::min(values.size(), static_cast<std::size_t>(window));
  const row recent(values.end() - static_cast<std::ptrdiff_t>(count), values.end());
  return {mean_of(recent), 1e-12 + 2e-7 * largest_magnitude(recent)};
}

// (x - mean) / (sample deviation + 1e-6) of the numbers [first, ...), unscored ones and those that
// are not finite left out of both; 0 with fewer than two.
inline std::vector<number> standardised(const std::vector<number>& x, int first) {
  row finite;
  double slack = 0.0;
  for (int i = first; i < count_of(x); ++i) {
    if (!at(x, i).scored || !std::isfinite(at(x, i).value)) continue;
    finite.push_back(at(x, i).value);
    slack = std::max(slack, at(x, i).slack + 2e-6 * std::abs(at(x, i).value));
  }
  const double mean = finite.size() < 2 ? 0.0 : mean_of(finite);
  const double scale = sample_deviation(finite) + 1e-6;
  std::vector<number> out = x;
  for (int i = 0; i < count_of(x); ++i) {
    number& n = at(out, i);
    if (i < first) n = unscored();
    if (!n.scored) continue;
    const bool alone = finite.size() < 2 && std::isfinite(n.value);
    n.value = alone ? 0.0 : (n.value - mean) / scale;
    n.slack = 1e-6 + 2.0 * slack * (1.0 + std::abs(n.value)) / scale;
  }
  return out;
}

inline double dot(const row& q, const row& k, int query_head, int kv_head, int head_dim) {
  double sum = 0.0;
  for (int c = 0; c < head_dim; ++c) {
    sum += at(q, query_head * head_dim + c) * at(k, kv_head * head_dim + c);
  }
  return sum;
}

// The softmax of `logits` over those that are visible; NaN or +Inf anywhere makes all of it NaN.
inline row softmax(const row& logits, const std::vector<bool>& visible) {
  double highest = -std::numeric_limits<double>::infinity();
  bool poisoned = false;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (!visible[i]) continue;
    poisoned = poisoned || std::isnan(logits[i]);
    highest = std::max(highest, logits[i]);
  }
  poisoned = poisoned || std::isinf(highest);
  double total = 0.0;
  row out(logits.size(), 0.0);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (visible[i]) total += out[i] = std::exp(logits[i] - highest);
  }
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (visible[i]) out[i] = poisoned ? std::numeric_limits<double>::quiet_NaN() : out[i] / total;
  }
  return out;
}

// Philox4x32-10 written from the paper (Salmon, Moraes, Dror and Shaw, SC 2011): ten rounds of two
// 32x32-bit products, the key bumped by the Weyl constants between rounds.
inline std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> x, std::uint32_t k0,
                                           std::uint32_t k1) {
  const auto high = [](std::uint64_t p) { return static_cast<std::uint32_t>(p >> 32); };
  const auto low = [](std::uint64_t p) { return static_cast<std::uint32_t>(p & 0xffffffffU); };
  for (int i = 0; i < 10; ++i) {
    if (i > 0) {
      k0 += 0x9E3779B9U;
      k1 += 0xBB67AE85U;
    }
    const std::uint64_t p0 = std::uint64_t{x[0]} * 0xD2511F53U;
    const std::uint64_t p1 = std::uint64_t{x[2]} * 0xCD9E8D57U;
    x = {high(p1) ^ x[1] ^ k0, low(p1), high(p0) ^ x[3] ^ k1, low(p0)};
  }
  return x;
}

// The draw of one token: keyed by seed, sequence, round, layer, KV head (-1 for "all") and
// position.
inline float draw(std::uint64_t seed, std::int64_t sequence, int round, int layer, int kv_head,
                  int position) {
  const auto id = static_cast<std::uint64_t>(sequence);
  const auto place = static_cast<std::uint32_t>(((layer + 1) * 4096) ^ (kv_head + 1));
  const auto bits =
      philox({static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(round), place,
              static_cast<std::uint32_t>(id)},
             static_cast<std::uint32_t>(seed),
             static_cast<std::uint32_t>(seed >> 32) ^ static_cast<std::uint32_t>(id >> 32));
  return std::ldexp(static_cast<float>(bits[0] >> 8), -24);
}

}  // namespace oracle
