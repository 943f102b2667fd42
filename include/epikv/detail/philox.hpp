// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

#include "epikv/detail/config.hpp"
#include "epikv/index.hpp"

namespace epikv::inline v0::detail {

/// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random
/// numbers: as easy as 1, 2, 3" (SC 2011). Pure: a draw depends on its counter and key alone.
EPIKV_HOST_DEVICE inline std::array<std::uint32_t, 4> philox4x32(
    std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) noexcept {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t left = std::uint64_t{0xD2511F53U} * counter[0];
    const std::uint64_t right = std::uint64_t{0xCD9E8D57U} * counter[2];
    counter = {static_cast<std::uint32_t>(right >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(right),
               static_cast<std::uint32_t>(left >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(left)};
    key[0] += 0x9E3779B9U;
    key[1] += 0xBB67AE85U;
  }
  return counter;
}

/// Uniform number in [0, 1) with 24 bits for one token of one keep-set in one eviction round. The
/// token is named by its position, so the draw does not depend on the slot it happens to sit in.
EPIKV_HOST_DEVICE inline float uniform_draw(std::uint64_t seed, sequence_id sequence,
                                            std::uint32_t round, group_key group,
                                            std::int32_t position) noexcept {
  const auto id = static_cast<std::uint64_t>(to_int(sequence));
  const std::uint32_t place = (static_cast<std::uint32_t>(group.layer + 1) << 12) ^
                              static_cast<std::uint32_t>(group.kv_head + 1);
  const std::array<std::uint32_t, 4> bits = philox4x32(
      {static_cast<std::uint32_t>(position), round, place, static_cast<std::uint32_t>(id)},
      {static_cast<std::uint32_t>(seed),
       static_cast<std::uint32_t>(seed >> 32) ^ static_cast<std::uint32_t>(id >> 32)});
  return static_cast<float>(bits[0] >> 8) * 0x1p-24F;
}

}  // namespace epikv::inline v0::detail
