// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <string_view>

namespace epikv::inline v0::detail {

// A fixed-size piece of text for error messages: never allocates, cuts what does not fit.
template <std::size_t Capacity>
class text {
 public:
  constexpr text() noexcept = default;

  template <class... Parts>
    requires(sizeof...(Parts) > 0)
  explicit constexpr text(const Parts&... parts) noexcept {
    (append(parts), ...);
  }

  constexpr std::string_view view() const noexcept { return {buffer_, size_}; }

  constexpr void append(std::string_view part) noexcept {
    const std::size_t count = std::min(part.size(), Capacity - size_);
    std::copy_n(part.data(), count, buffer_ + size_);
    size_ += count;
    if (count < part.size()) std::fill_n(buffer_ + Capacity - 3, 3, '.');
  }
  constexpr void append(const char* part) noexcept { append(std::string_view{part}); }
  constexpr void append(bool part) noexcept { append(part ? "true" : "false"); }

  template <std::integral Integer>
  constexpr void append(Integer value) noexcept {
    // By hand, from the last digit on: GCC 12 warns of std::to_chars with a size it cannot see.
    char digits[20];
    std::size_t at = sizeof digits;
    auto rest = value < 0 ? 0ULL - static_cast<unsigned long long>(value)
                          : static_cast<unsigned long long>(value);
    do {
      digits[--at] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    if (value < 0) append("-");
    append(std::string_view{digits + at, sizeof digits - at});
  }
  void append(double value) noexcept {
    char digits[40];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    append(std::string_view{digits, static_cast<std::size_t>(end - digits)});
  }

 private:
  std::size_t size_ = 0;
  char buffer_[Capacity] = {};
};

using short_text = text<120>;

}  // namespace epikv::inline v0::detail
