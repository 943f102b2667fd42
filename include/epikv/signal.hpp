// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "epikv/model_shape.hpp"
#include "epikv/tensor_view.hpp"

namespace epikv::inline v0 {

/// What a host can show of one layer's forward pass.
enum class signal_id : std::uint8_t {
  hidden_in,   ///< residual stream before the block
  hidden_out,  ///< residual stream after the block
  keys,        ///< post-RoPE keys of the new tokens
  values,      ///< values of the new tokens
  queries,     ///< post-RoPE queries of the new tokens
  attention,   ///< post-softmax attention rows over the cached slots
  lse,         ///< log-sum-exp of the attention logits
};
inline constexpr int signal_count = 7;

/// A set of signals.
class signal_set {
 public:
  constexpr signal_set() noexcept = default;
  constexpr signal_set(std::initializer_list<signal_id> ids) noexcept {
    for (const signal_id id : ids) insert(id);
  }
  constexpr void insert(signal_id id) noexcept {
    bits_ = static_cast<std::uint8_t>(bits_ | (1U << static_cast<unsigned>(id)));
  }
  [[nodiscard]] constexpr bool contains(signal_id id) const noexcept {
    return ((bits_ >> static_cast<unsigned>(id)) & 1U) != 0;
  }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
  constexpr signal_set& operator|=(signal_set other) noexcept {
    bits_ = static_cast<std::uint8_t>(bits_ | other.bits_);
    return *this;
  }
  friend constexpr signal_set operator|(signal_set a, signal_set b) noexcept { return a |= b; }
  friend constexpr bool operator==(signal_set, signal_set) = default;

 private:
  std::uint8_t bits_ = 0;
};

/// Which tokens' rows of a signal a score reads; the others may hold anything, or be left out where
/// no other wanted signal of the layer needs the token, without a change to any selection. In
/// ascending order of demand.
enum class row_cadence : std::uint8_t {
  last_tokens,    ///< the newest `least_recent()` tokens when an eviction is decided
  decode_tokens,  ///< the prompt's last token and every decode token
  every_token,
};

/// What the host has of one layer in one step. Rows are tokens. Leave out what no score wants:
/// `evictor::wants(layer)` tells. All views given must have the same number of rows.
struct layer_signals {
  tensor_view hidden_in{};   ///< [rows, hidden]
  tensor_view hidden_out{};  ///< [rows, hidden]
  tensor_view keys{};        ///< [rows, kv_heads, head_dim], post-RoPE
  tensor_view values{};      ///< [rows, kv_heads, head_dim]
  tensor_view queries{};     ///< [rows, query_heads, head_dim], post-RoPE
  /// [rows, query_heads, slots], post-softmax: slots of the keep-set of the head's layer and KV
  /// head, then the step's tokens of the sequence, as many as the row's token may see or more.
  tensor_view attention{};
  tensor_view lse{};  ///< [rows, query_heads], natural logarithm
  /// Token of each row, counted over the step's batch in order; -1 for a row to ignore. Empty when
  /// row i is token i. Lets a host give fewer rows than tokens, or rows in another order.
  std::span<const std::int32_t> row_to_token{};
};

/// @concept Signal
/// Purpose: a type that names one input a score may read, so that what a score reads is part of its
/// type and a read of anything else does not compile.
/// Syntax (equal to the requires clause): (1) the tag alias `epikv_signal`; (2) `id`, a
/// `signal_id`; (3) `name`, a string; (4) `needs_attention_matrix`, a bool; (5)
/// `view(layer_signals)`, the tensor of this signal; (6) `extents(model_shape)`, the extents after
/// the row axis, -1 for free, 0 for an axis that is not there. Semantics: (1) `id` is unique; (2)
/// `needs_attention_matrix` is true exactly when a fused attention kernel cannot provide the
/// signal; (3) the functions are pure. Complexity: O(1). Threads: any. Not required: that the host
/// can provide it. Smallest model: `signals::hidden_out`.
template <class S>
concept Signal = requires(const layer_signals& given, const model_shape& shape) {
  typename S::epikv_signal;                                                     // (1)
  { S::id } -> std::convertible_to<signal_id>;                                  // (2)
  { S::name } -> std::convertible_to<const char*>;                              // (3)
  { S::needs_attention_matrix } -> std::convertible_to<bool>;                   // (4)
  { S::view(given) } noexcept -> std::same_as<const tensor_view&>;              // (5)
  { S::extents(shape) } noexcept -> std::same_as<std::array<std::int64_t, 2>>;  // (6)
};

/// The signals a host can give.
namespace signals {

struct hidden_in {
  using epikv_signal = void;
  static constexpr signal_id id = signal_id::hidden_in;
  static constexpr const char* name = "hidden_in";
  static constexpr bool needs_attention_matrix = false;
  static const tensor_view& view(const layer_signals& s) noexcept { return s.hidden_in; }
  static std::array<std::int64_t, 2> extents(const model_shape& m) noexcept {
    return {m.hidden, 0};
  }
};

struct hidden_out {
  using epikv_signal = void;
  static constexpr signal_id id = signal_id::hidden_out;
  static constexpr const char* name = "hidden_out";
  static constexpr bool needs_attention_matrix = false;
  static const tensor_view& view(const layer_signals& s) noexcept { return s.hidden_out; }
  static std::array<std::int64_t, 2> extents(const model_shape& m) noexcept {
    return {m.hidden, 0};
  }
};

struct keys {
  using epikv_signal = void;
  static constexpr signal_id id = signal_id::keys;
  static constexpr const char* name = "keys";
  static constexpr bool needs_attention_matrix = false;
  static const tensor_view& view(const layer_signals& s) noexcept { return s.keys; }
  static std::array<std::int64_t, 2> extents(const model_shape& m) noexcept {
    return {m.kv_heads, m.head_dim};
  }
};

struct values {
  using epikv_signal = void;
  static constexpr signal_id id = signal_id::values;
  static constexpr const char* name = "values";
  static constexpr bool needs_attention_matrix = false;
  static const tensor_view& view(const layer_signals& s) noexcept { return s.values; }
  static std::array<std::int64_t, 2> extents(const model_shape& m) noexcept {
    return {m.kv_heads, m.head_dim};
  }
};

struct queries {
  using epikv_signal = void;
  static constexpr signal_id id = signal_id::queries;
  static constexpr const char* name = "queries";
  static constexpr bool needs_attention_matrix = false;
  static const tensor_view& view(const layer_signals& s) noexcept { return s.queries; }
  static std::array<std::int64_t, 2> extents(const model_shape& m) noexcept {
    return {m.query_heads, m.head_dim};
  }
};

struct attention {
  using epikv_signal = void;
  static constexpr signal_id id = signal_id::attention;
  static constexpr const char* name = "attention";
  static constexpr bool needs_attention_matrix = true;
  static const tensor_view& view(const layer_signals& s) noexcept { return s.attention; }
  static std::array<std::int64_t, 2> extents(const model_shape& m) noexcept {
    return {m.query_heads, -1};
  }
};

struct lse {
  using epikv_signal = void;
  static constexpr signal_id id = signal_id::lse;
  static constexpr const char* name = "lse";
  static constexpr bool needs_attention_matrix = false;
  static const tensor_view& view(const layer_signals& s) noexcept { return s.lse; }
  static std::array<std::int64_t, 2> extents(const model_shape& m) noexcept {
    return {m.query_heads, 0};
  }
};

}  // namespace signals

/// The signals that a score's type says it may read.
template <Signal... Signals>
struct signal_list {
  static constexpr signal_set set{Signals::id...};
  template <Signal S>
  static constexpr bool contains = set.contains(S::id);
  /// True when an untouched fused attention kernel is enough.
  static constexpr bool fused_attention = !(false || ... || Signals::needs_attention_matrix);
};

namespace detail {

// Checks one given view against the model; the row count must equal `rows`.
template <Signal S>
status check_signal(const layer_signals& given, const model_shape& shape, std::int64_t rows,
                    device_kind where) noexcept {
  const tensor_view& view = S::view(given);
  EPIKV_RETURN_IF_ERROR(check_addressing(S::name, view));
  const std::array<std::int64_t, 2> tail = S::extents(shape);
  const int rank = tail[1] == 0 ? 2 : 3;
  const bool fits = view.rank() == rank && view.extent(0) == rows && view.extent(1) == tail[0] &&
                    (rank == 2 || tail[1] < 0 || view.extent(2) == tail[1]);
  if (!fits) {
    short_text expected{"[", rows, ", ", tail[0]};
    if (rank == 3 && tail[1] >= 0) expected.append(", "), expected.append(tail[1]);
    if (rank == 3 && tail[1] < 0) expected.append(", slots");
    expected.append("]");
    return {errc::wrong_shape, S::name, shape_text(view), expected};
  }
  if (view.device().kind != where) {
    return {errc::wrong_device, S::name,
            short_text{"device kind ", static_cast<int>(view.device().kind)},
            short_text{"device kind ", static_cast<int>(where), ", the backend's"}};
  }
  return {};
}

// Calls f.template operator()<Signal>() for every signal until one returns an error.
template <class F>
status for_each_signal(F&& f) noexcept {
  EPIKV_RETURN_IF_ERROR(f.template operator()<signals::hidden_in>());
  EPIKV_RETURN_IF_ERROR(f.template operator()<signals::hidden_out>());
  EPIKV_RETURN_IF_ERROR(f.template operator()<signals::keys>());
  EPIKV_RETURN_IF_ERROR(f.template operator()<signals::values>());
  EPIKV_RETURN_IF_ERROR(f.template operator()<signals::queries>());
  EPIKV_RETURN_IF_ERROR(f.template operator()<signals::attention>());
  return f.template operator()<signals::lse>();
}

}  // namespace detail
}  // namespace epikv::inline v0
