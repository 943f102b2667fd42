// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "epikv/detail/config.hpp"
#include "epikv/detail/text.hpp"

namespace epikv::inline v0 {

/// What kind of mistake a call made. The text of a `status` says which one exactly.
enum class errc : std::uint8_t {
  ok,
  invalid_argument,    ///< a value outside its documented range
  wrong_shape,         ///< a tensor's rank or extents do not fit
  wrong_dtype,         ///< a dtype that the backend cannot read
  wrong_stride,        ///< a stride or alignment that cannot be addressed
  wrong_device,        ///< memory of another device than the backend's
  wrong_order,         ///< a verb or a layer out of its order
  missing_signal,      ///< a signal that a score wants was not given
  unknown_sequence,    ///< no such sequence
  duplicate_sequence,  ///< the sequence is there already, or twice in one batch
  unknown_name,        ///< no preset of that name
  unknown_option,      ///< the preset has no such option
  over_budget,         ///< the protected tokens alone exceed the budget
  stale_selection,     ///< the selection is not the evictor's latest
  out_of_memory,       ///< an allocation failed
  unsupported,         ///< the backend or the combination cannot do this
};

/// The stable lower-case name of a code, e.g. "wrong_shape".
constexpr std::string_view to_string(errc code) noexcept {
  switch (code) {
    case errc::ok: return "ok";
    case errc::invalid_argument: return "invalid_argument";
    case errc::wrong_shape: return "wrong_shape";
    case errc::wrong_dtype: return "wrong_dtype";
    case errc::wrong_stride: return "wrong_stride";
    case errc::wrong_device: return "wrong_device";
    case errc::wrong_order: return "wrong_order";
    case errc::missing_signal: return "missing_signal";
    case errc::unknown_sequence: return "unknown_sequence";
    case errc::duplicate_sequence: return "duplicate_sequence";
    case errc::unknown_name: return "unknown_name";
    case errc::unknown_option: return "unknown_option";
    case errc::over_budget: return "over_budget";
    case errc::stale_selection: return "stale_selection";
    case errc::out_of_memory: return "out_of_memory";
    case errc::unsupported: return "unsupported";
  }
  return "unknown";
}

/// The outcome of a call: success, or the argument that was wrong, what was got and what was
/// expected. Holds its text inline; never allocates, never throws. A call that returns an error
/// has changed no state.
class [[nodiscard]] status {
 public:
  /// Success.
  constexpr status() noexcept {}

  /// An error. `argument` and a `std::string_view` passed as `expected` must outlive the status
  /// (string literals do).
  template <class Got>
  status(errc code, const char* argument, const Got& got, std::string_view expected) noexcept
      : code_{code}, argument_{argument}, got_{got}, static_expected_{expected}, expected_{""} {}

  /// An error whose expectation is composed at run time.
  template <class Got>
  status(errc code, const char* argument, const Got& got,
         const detail::short_text& expected) noexcept
      : code_{code}, argument_{argument}, got_{got}, expected_{expected} {}

  status(const status& other) noexcept { assign(other); }
  status& operator=(const status& other) noexcept {
    if (this != &other) assign(other);
    return *this;
  }
  ~status() = default;

  [[nodiscard]] bool ok() const noexcept { return code_ == errc::ok; }
  explicit operator bool() const noexcept { return ok(); }

  [[nodiscard]] errc code() const noexcept { return code_; }
  /// The argument at fault, e.g. "hidden_out"; empty on success.
  [[nodiscard]] std::string_view argument() const noexcept {
    return ok() ? std::string_view{} : argument_;
  }
  [[nodiscard]] std::string_view got() const noexcept {
    return ok() ? std::string_view{} : got_.text.view();
  }
  [[nodiscard]] std::string_view expected() const noexcept {
    if (ok()) return {};
    return static_expected_.empty() ? expected_.text.view() : static_expected_;
  }

  /// One sentence: "wrong_shape: hidden_out: got [3, 8], expected [3, 16]".
  [[nodiscard]] std::string message() const {
    if (ok()) return "ok";
    std::string sentence{to_string(code_)};
    sentence.append(": ").append(argument()).append(": got ").append(got());
    sentence.append(", expected ").append(expected());
    return sentence;
  }

 private:
  // A union-like holder that leaves its text unset on the success path: an ok status is returned
  // for every layer of every step and must cost one store.
  struct lazy_text {
    constexpr lazy_text() noexcept : empty{} {}
    lazy_text(const detail::short_text& value) noexcept : text{value} {}  // NOLINT
    lazy_text(const char* value) noexcept : text{value} {}                // NOLINT
    lazy_text(std::string_view value) noexcept : text{value} {}           // NOLINT
    union {
      char empty;
      detail::short_text text;
    };
  };

  void assign(const status& other) noexcept {
    code_ = other.code_;
    if (code_ == errc::ok) return;
    argument_ = other.argument_;
    got_.text = other.got_.text;
    static_expected_ = other.static_expected_;
    if (static_expected_.empty()) expected_.text = other.expected_.text;
  }

  errc code_ = errc::ok;
  const char* argument_ = "";
  lazy_text got_;
  std::string_view static_expected_;
  lazy_text expected_;
};

/// A value or the status that explains its absence. `*r` and `r->` need `r.ok()`.
template <class T>
class [[nodiscard]] result {
 public:
  result(T value) noexcept : value_{std::move(value)} {}  // NOLINT(google-explicit-constructor)
  result(const epikv::status& error) noexcept
      : status_{error} {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const noexcept { return value_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }
  [[nodiscard]] const epikv::status& status() const noexcept { return status_; }

  T& operator*() & noexcept { return *value_; }
  const T& operator*() const& noexcept { return *value_; }
  /// By value, so that a loop over `*f()` does not outlive what it runs over.
  T operator*() && noexcept { return std::move(*value_); }
  T* operator->() noexcept { return &*value_; }
  const T* operator->() const noexcept { return &*value_; }

 private:
  std::optional<T> value_;
  epikv::status status_;
};

}  // namespace epikv::inline v0

/// Returns the status of `expression` from the calling function when it is an error.
#define EPIKV_RETURN_IF_ERROR(expression)                                                   \
  do {                                                                                      \
    if (::epikv::status epikv_status_ = (expression); !epikv_status_) return epikv_status_; \
  } while (false)
