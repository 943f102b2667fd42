// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstdint>

#include "epikv/detail/config.hpp"

namespace epikv::inline v0 {

/// Logical index of a token in its sequence, from 0. It is what RoPE rotates by and never changes.
/// A type of its own, so that it cannot be passed where a `slot` is meant.
enum class position : std::int32_t {};

/// Physical index of a token in the cache of one keep-set group. Changes when the cache is
/// compacted.
enum class slot : std::int32_t {};

/// The host's name for a sequence. Any value; seeded draws are keyed by it.
enum class sequence_id : std::int64_t {};

constexpr std::int32_t to_int(position p) noexcept { return static_cast<std::int32_t>(p); }
constexpr std::int32_t to_int(slot s) noexcept { return static_cast<std::int32_t>(s); }
constexpr std::int64_t to_int(sequence_id s) noexcept { return static_cast<std::int64_t>(s); }

constexpr position operator+(position p, std::int32_t n) noexcept {
  return position{to_int(p) + n};
}
constexpr slot operator+(slot s, std::int32_t n) noexcept { return slot{to_int(s) + n}; }

/// Half-open range of positions [first, last).
struct position_range {
  position first{};
  position last{};
  friend constexpr bool operator==(const position_range&, const position_range&) = default;
};

/// What shares one keep-set.
enum class granularity : std::uint8_t {
  sequence,  ///< one set for the whole model
  layer,     ///< one set per layer
  kv_head,   ///< one set per layer and KV head
};

constexpr const char* to_string(granularity g) noexcept {
  switch (g) {
    case granularity::sequence: return "sequence";
    case granularity::layer: return "layer";
    case granularity::kv_head: return "kv_head";
  }
  return "unknown";
}

/// Which layer and KV head a keep-set group stands for; -1 where the group spans all of them.
struct group_key {
  std::int32_t layer = -1;
  std::int32_t kv_head = -1;
  friend constexpr bool operator==(const group_key&, const group_key&) = default;
};

}  // namespace epikv::inline v0
