// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mini_model/result.hpp"
#include "viewer.hpp"

namespace report::detail {

/// Selections between two that can be decoded without the ones before.
inline constexpr std::size_t key_interval = 16;

/// The order-preserving 24-bit code of a float: the upper bits of its size, rounded, added to or
/// taken from the code of 0. Close values have close codes, so differences are small. 0 is NaN;
/// infinities stay what they are and nothing finite becomes one.
[[nodiscard]] std::uint32_t float_code(float value) noexcept;

/// The value of a code.
[[nodiscard]] float float_of(std::uint32_t code) noexcept;

/// Base 64 with padding.
[[nodiscard]] std::string base64(const std::vector<std::uint8_t>& bytes);

/// The trace as the JSON that viewer.js reads; the encoding is described in viewer_data.cpp. Holds
/// no '<', '>' or '&', so that it may stand inside a <script> element.
[[nodiscard]] mini::expected<std::string> viewer_json(const retention_trace& trace);

}  // namespace report::detail
