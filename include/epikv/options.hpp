// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "epikv/status.hpp"

namespace epikv::inline v0 {

/// One named setting of a preset: a number, a truth value or a text. Names and texts are views:
/// they must live until the call they are passed to returns.
class option {
 public:
  constexpr option() noexcept = default;
  template <std::integral Integer>
  constexpr option(std::string_view name, Integer value) noexcept
      : name_{name}, kind_{kind::integer}, integer_{static_cast<std::int64_t>(value)} {}
  template <std::floating_point Float>
  constexpr option(std::string_view name, Float value) noexcept
      : name_{name}, kind_{kind::real}, real_{static_cast<double>(value)} {}
  constexpr option(std::string_view name, std::string_view value) noexcept
      : name_{name}, kind_{kind::text}, text_{value} {}
  constexpr option(std::string_view name, const char* value) noexcept
      : option{name, std::string_view{value}} {}

  [[nodiscard]] constexpr std::string_view name() const noexcept { return name_; }

  /// The value as it was given, for messages.
  [[nodiscard]] detail::short_text got() const noexcept {
    switch (kind_) {
      case kind::integer: return detail::short_text{integer_};
      case kind::real: return detail::short_text{real_};
      case kind::text: break;
    }
    return detail::short_text{text_};
  }

  /// The value as an integer, from a number without a fraction or its text. False if it is none.
  [[nodiscard]] bool read(std::int64_t& out) const noexcept {
    if (kind_ == kind::integer) out = integer_;
    if (kind_ == kind::integer) return true;
    // 2^53: beyond it not every integer is a double.
    if (kind_ == kind::real && real_ >= -0x1p53 && real_ <= 0x1p53) {
      out = static_cast<std::int64_t>(real_);
      return static_cast<double>(out) == real_;
    }
    return kind_ == kind::text && parse(text_, out);
  }
  /// The value as a finite number.
  [[nodiscard]] bool read(double& out) const noexcept {
    if (kind_ == kind::integer) out = static_cast<double>(integer_);
    if (kind_ == kind::real) out = real_;
    if (kind_ == kind::text && !parse(text_, out)) return false;
    return out - out == 0.0;
  }
  /// The value as a truth value: true, false, 1 or 0.
  [[nodiscard]] bool read(bool& out) const noexcept {
    const bool yes = (kind_ == kind::text && (text_ == "true" || text_ == "1")) ||
                     (kind_ == kind::integer && integer_ == 1);
    const bool no = (kind_ == kind::text && (text_ == "false" || text_ == "0")) ||
                    (kind_ == kind::integer && integer_ == 0);
    if (yes || no) out = yes;
    return yes || no;
  }
  /// The value as a comma-separated list of integers, or one integer. Returns how many there are,
  /// or -1 if it is no such list or longer than `out`.
  [[nodiscard]] std::ptrdiff_t read(std::span<std::int32_t> out) const noexcept {
    if (kind_ == kind::real || out.empty()) return -1;
    if (kind_ == kind::integer) {
      out[0] = static_cast<std::int32_t>(integer_);
      return out[0] == integer_ ? 1 : -1;
    }
    std::string_view rest = text_;
    std::size_t count = 0;
    while (true) {
      const std::size_t comma = rest.find(',');
      if (count == out.size() || !parse(rest.substr(0, comma), out[count++])) return -1;
      if (comma == std::string_view::npos) return static_cast<std::ptrdiff_t>(count);
      rest.remove_prefix(comma + 1);
    }
  }
  /// The value as a word; empty if it is a number.
  [[nodiscard]] std::string_view word() const noexcept {
    return kind_ == kind::text ? text_ : std::string_view{};
  }

 private:
  enum class kind : std::uint8_t { integer, real, text };

  template <class Number>
  static bool parse(std::string_view text, Number& out) noexcept {
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, out);
    return parsed.ec == std::errc{} && parsed.ptr == end;
  }

  std::string_view name_;
  kind kind_ = kind::integer;
  std::int64_t integer_ = 0;
  double real_ = 0.0;
  std::string_view text_;
};

namespace detail {

// Calls take(word, option) for every name=value of a text; blanks and line breaks are between them.
// Ends at the first word of another form and returns it; empty if there is none.
template <class Take>
std::string_view each_setting(std::string_view text, Take take) noexcept {
  constexpr std::string_view blanks = " \t\r\n";
  while (true) {
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return {};
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find_first_of(blanks));
    text.remove_prefix(word.size());
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos || equals == 0) return word;
    take(word, option{word.substr(0, equals), word.substr(equals + 1)});
  }
}

}  // namespace detail

/// The settings of a preset, as a list {{"budget", 1024}, {"tau", 16}} or as one text
/// "budget=1024 tau=16" (blanks between settings). At most 32. A text that does not parse is kept
/// as an error that make_evictor() returns.
class option_list {
 public:
  static constexpr std::size_t capacity = 32;

  option_list() noexcept = default;
  option_list(std::initializer_list<option> list) noexcept
      : option_list{std::span<const option>{list.begin(), list.size()}} {}
  explicit option_list(std::span<const option> list) noexcept {
    for (const option& each : list) append(each);
  }
  template <std::convertible_to<std::string_view> Text>
  option_list(const Text& given) noexcept {  // NOLINT(google-explicit-constructor)
    const std::string_view wrong = detail::each_setting(
        given, [this](std::string_view, const option& each) noexcept { append(each); });
    if (wrong.empty()) return;
    health_ = {errc::invalid_argument, "options", wrong, "settings of the form name=value"};
  }

  [[nodiscard]] status check() const noexcept { return health_; }
  [[nodiscard]] std::span<const option> all() const noexcept { return {options_.data(), count_}; }

 private:
  void append(const option& each) noexcept {
    if (count_ == capacity) {
      health_ = {errc::invalid_argument, "options", "more settings", "at most 32"};
      return;
    }
    options_[count_++] = each;
  }

  std::array<option, capacity> options_{};
  std::size_t count_ = 0;
  status health_;
};

}  // namespace epikv::inline v0
