// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "replay_case.hpp"

// The inputs of a golden case, regenerated from its seed: counter based, exact in f32, the same in
// any language. tests/golden/README.md states the rule.

namespace replay {

inline std::uint64_t splitmix64(std::uint64_t x) noexcept {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

enum class input_kind : std::uint64_t { hidden = 1, key = 2, value = 3, attention = 4, query = 5 };

/// The numbers of one (kind, position, layer) of a case.
class input_stream {
 public:
  input_stream(std::uint64_t seed, input_kind kind, std::int32_t position,
               std::int32_t layer) noexcept {
    const std::uint64_t stream = ((seed * 8 + static_cast<std::uint64_t>(kind)) * (1ULL << 20) +
                                  static_cast<std::uint64_t>(position)) *
                                     64 +
                                 static_cast<std::uint64_t>(layer);
    origin_ = splitmix64(stream);
    gain_ = 0.5F + 0.25F * static_cast<float>(splitmix64(stream ^ 0xA5A5A5A5ULL) % 16);
  }
  /// Uniform in [0, 1).
  [[nodiscard]] float unit(std::uint64_t i) const noexcept {
    return static_cast<float>(splitmix64(origin_ + i) >> 40) * 0x1p-24F;
  }
  /// Uniform around 0, with the stream's own gain.
  [[nodiscard]] float centred(std::uint64_t i) const noexcept {
    return (unit(i) * 2.0F - 1.0F) * gain_;
  }

 private:
  std::uint64_t origin_;
  float gain_;
};

/// Appends one row of `width` numbers times `scale`.
inline void append_row(std::vector<float>& out, const replay_case& c, input_kind kind,
                       std::int32_t position, std::int32_t layer, std::int32_t width,
                       float scale = 1.0F) {
  const input_stream stream{c.seed, kind, position, layer};
  for (std::int32_t i = 0; i < width; ++i) {
    out.push_back(scale * stream.centred(static_cast<std::uint64_t>(i)));
  }
}

/// What one layer shows of positions [first, first + count); rows are positions.
struct layer_inputs {
  std::vector<float> hidden_in, hidden_out, keys, values, queries;

  layer_inputs(const replay_case& c, std::int32_t layer, std::int32_t first, std::int32_t count) {
    const std::int32_t kv = c.heads * c.head_dim;
    for (std::int32_t p = first; p < first + count; ++p) {
      append_row(hidden_in, c, input_kind::hidden, p, layer, c.hidden);
      append_row(hidden_out, c, input_kind::hidden, p, layer + 1, c.hidden);
      append_row(keys, c, input_kind::key, p, layer, kv);
      append_row(values, c, input_kind::value, p, layer, kv);
      append_row(queries, c, input_kind::query, p, layer, c.query_heads * c.head_dim, 0.25F);
    }
  }
};

/// One attention row per KV head of the query at `position` over cached tokens; rows are not
/// normalised. The numbers go by the tokens' positions.
inline std::vector<float> attention_row(const replay_case& c, std::int32_t layer,
                                        std::int32_t position,
                                        const std::vector<std::int32_t>& cached) {
  const input_stream stream{c.seed, input_kind::attention, position, layer};
  std::vector<float> out;
  for (std::int32_t head = 0; head < c.heads; ++head) {
    for (const std::int32_t p : cached) {
      out.push_back(
          stream.unit(static_cast<std::uint64_t>(head) * 65536 + static_cast<std::uint64_t>(p)));
    }
  }
  return out;
}

}  // namespace replay
