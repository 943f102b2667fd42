// SPDX-License-Identifier: MIT
#pragma once

#include <cassert>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace mini {

/// Why something could not be done: one sentence for the person who runs the program.
struct failure {
  std::string message;
};

/// Joins strings and numbers to a failure: `fail("tensor ", name, " has ", n, " dimensions")`.
template <class... Parts>
[[nodiscard]] failure fail(const Parts&... parts) {
  std::string message;
  const auto append = [&message](const auto& part) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(part)>>) {
      message += std::to_string(part);
    } else {
      message += std::string_view(part);
    }
  };
  (append(parts), ...);
  return failure{std::move(message)};
}

/// A name out of a file in quotes, fit for a message: one line, cut when long.
[[nodiscard]] inline std::string in_quotes(std::string_view name) {
  constexpr std::size_t longest = 64;
  std::string text(name.substr(0, longest));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return "'" + text + (name.size() > longest ? "...'" : "'");
}

/// A value, or the reason why there is none. The example must compile without exceptions, and C++20
/// has no std::expected yet, so this is the small part of it that the example needs.
template <class T>
class [[nodiscard]] expected {
 public:
  expected(T value) : value_(std::move(value)) {}
  expected(failure why) : error_(std::move(why.message)) {}

  explicit operator bool() const noexcept { return value_.has_value(); }

  /// The value. Precondition: there is one.
  T& operator*() & noexcept {
    assert(value_.has_value());
    return *value_;
  }
  const T& operator*() const& noexcept {
    assert(value_.has_value());
    return *value_;
  }
  T&& operator*() && noexcept {
    assert(value_.has_value());
    return *std::move(value_);
  }
  T* operator->() noexcept { return &**this; }
  const T* operator->() const noexcept { return &**this; }

  /// The reason; empty when there is a value.
  const std::string& error() const noexcept { return error_; }

  /// The reason in the form in which a caller hands it on: `if (!x) return x.reason();`.
  failure reason() const { return failure{error_}; }

 private:
  std::optional<T> value_;
  std::string error_;
};

/// Success without a value, or the reason why not.
template <>
class [[nodiscard]] expected<void> {
 public:
  expected() = default;
  expected(failure why) : error_(std::move(why.message)) {}

  explicit operator bool() const noexcept { return !error_.has_value(); }
  std::string error() const { return error_.value_or(std::string{}); }
  failure reason() const { return failure{error()}; }

 private:
  std::optional<std::string> error_;
};

}  // namespace mini
