// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "epikv/backend.hpp"
#include "epikv/signal.hpp"

namespace epikv::inline v0 {

/// Where one sequence stands in the step at hand.
struct sequence_progress {
  sequence_id sequence{};
  std::int32_t first_position = 0;  ///< position of the step's first new token
  std::int32_t new_tokens = 0;      ///< new tokens of this step
  std::int32_t prompt_length = 0;   ///< positions below it are the prompt
};

/// The columns a score stores per cached token: column c is [slots, width(c)] floats in backend
/// memory. They follow the cache by themselves: the evictor prunes them on every commit.
class token_columns {
 public:
  token_columns() noexcept = default;
  token_columns(float* const* columns, const std::int32_t* widths) noexcept
      : columns_{columns}, widths_{widths} {}
  /// First float of `slot_index` in column `column`.
  [[nodiscard]] float* at(std::int32_t column, std::int32_t slot_index) const noexcept {
    return columns_[column] + std::int64_t{slot_index} * widths_[column];
  }
  /// The columns from `first` on, for a score that is made of others.
  [[nodiscard]] token_columns from(std::int32_t first) const noexcept {
    return {columns_ + first, widths_ + first};
  }

 private:
  float* const* columns_ = nullptr;
  const std::int32_t* widths_ = nullptr;
};

/// One observe() call as one sequence's score sees it. `Signals` is the score's own list: reading a
/// signal outside it does not compile.
template <class Signals>
class observation {
 public:
  observation(std::int32_t layer, const layer_signals& given,
              std::span<const std::int32_t> row_of_token, const sequence_progress& progress,
              token_columns columns, std::int32_t first_slot) noexcept
      : layer_{layer},
        given_{&given},
        rows_{row_of_token},
        progress_{progress},
        columns_{columns},
        first_slot_{first_slot} {}

  [[nodiscard]] std::int32_t layer() const noexcept { return layer_; }
  [[nodiscard]] const sequence_progress& progress() const noexcept { return progress_; }
  /// Row of new token i in the views, or -1 when this call does not show it.
  [[nodiscard]] std::int32_t row(std::int32_t i) const noexcept {
    return rows_[static_cast<std::size_t>(i)];
  }
  /// The rows of signal S.
  template <Signal S>
  [[nodiscard]] const tensor_view& view() const noexcept {
    static_assert(Signals::template contains<S>, "a score reads only the signals it declares");
    return S::view(*given_);
  }
  /// The same observation for a part of a composed score whose columns begin at `first_column`.
  template <class Part>
  [[nodiscard]] observation<Part> part(std::int32_t first_column) const noexcept {
    return {layer_, *given_, rows_, progress_, columns_.from(first_column), first_slot_};
  }
  /// This score's columns, and the slot that new token 0 will take in them.
  [[nodiscard]] token_columns columns() const noexcept { return columns_; }
  [[nodiscard]] std::int32_t first_slot() const noexcept { return first_slot_; }

 private:
  std::int32_t layer_;
  const layer_signals* given_;
  std::span<const std::int32_t> rows_;
  sequence_progress progress_;
  token_columns columns_;
  std::int32_t first_slot_;
};

/// What a score is asked at a selection: a number for each slot of one group.
struct evaluation {
  sequence_progress progress{};
  group_key group{};
  std::int32_t length = 0;              ///< cached slots of the group
  const position* positions = nullptr;  ///< [length], ascending
  std::int32_t prompt_slots = 0;        ///< slots [0, prompt_slots) hold prompt tokens
  std::uint32_t round = 0;              ///< evictions committed for this sequence so far
  token_columns columns{};
  float* out = nullptr;          ///< [length] for numbers made now
  std::byte* scratch = nullptr;  ///< Backend::scratch_bytes(length)
};

/// @concept Score
/// Purpose: a number per cached token, higher = keep. The part that needs no backend.
///
/// Syntax (equal to the requires clause):
///  (1) tag alias `epikv_score`;
///  (2) `signals`, a `signal_list`: all it may ever read;
///  (3) `finest`, the finest `granularity` of keep-sets its numbers make sense for;
///  (4) `frozen`, true when a token's number is fixed as it arrives, false when made at selection;
///  (5) `column_count`, and `column_width(shape, c)`: floats stored per cached token;
///  (6) `check(shape)`: ok when the parameters fit the model;
///  (7) `wants(shape, layer)`: the signals it reads there, a subset of `signals`;
///  (8) `least_recent()`: the shortest recent window it can work under, in tokens;
///  (9) `cadence(signal)`: which tokens' rows of a signal it reads.
///
/// Semantics: (1) deterministic: the same inputs give the same bits; (2) a sequence's numbers do
/// not depend on other sequences; (3) `check` and `wants` are pure; (4) a token that was not
/// observed gets the unscored mark, never a guess; (5) a NaN may come out only of a NaN, an
/// infinity, or numbers whose squares overflow a float.
/// Complexity: `wants` O(parameters). Threads: a score object is immutable once in an evictor.
/// Not required: that every layer is shown, in one call per step or at all.
/// Smallest model: scores/none.hpp.
template <class S>
concept Score = requires(const S& s, const model_shape& shape, std::int32_t i, signal_id id) {
  typename S::epikv_score;                                              // (1)
  { S::signals::set } -> std::convertible_to<signal_set>;               // (2)
  { S::finest } -> std::convertible_to<granularity>;                    // (3)
  { S::frozen } -> std::convertible_to<bool>;                           // (4)
  { S::column_count } -> std::convertible_to<int>;                      // (5)
  { s.column_width(shape, i) } noexcept -> std::same_as<std::int32_t>;  // (5)
  { s.check(shape) } noexcept -> std::same_as<status>;                  // (6)
  { s.wants(shape, i) } noexcept -> std::same_as<signal_set>;           // (7)
  { s.least_recent() } noexcept -> std::same_as<std::int32_t>;          // (8)
  { s.cadence(id) } noexcept -> std::same_as<row_cadence>;              // (9)
};

/// @concept ScoreOn
/// Purpose: a score on one backend: its state per sequence and what it does with it.
///
/// Syntax: (1) `S::state<B>`, default-constructible and movable;
///  (2) `prepare(backend, shape, state, step_tokens)`: sizes the state for steps of so many tokens;
///  (3) `observe(backend, shape, state, observation<signals>)`: one layer's rows of one sequence;
///  (4) `finish(backend, shape, state, progress, columns, first_slot)`: the step's tokens are
///      complete, their columns are written from `first_slot` on;
///  (5) `evaluate(backend, shape, state, evaluation)`: a pointer to a number per slot, either
///      `evaluation.out` or a column;
///  (6) `state_bytes(state)`: bytes held beside the columns;
///  (7) `reset(backend, state)`: as after `prepare` on a fresh state, storage kept.
///
/// Semantics: (1) only `prepare` allocates, and on failure it changes nothing; (2) `observe` may be
/// called several times for one layer and step with different tokens, never twice with one; layers
/// ascend for every token; (3) numbers do not depend on how tokens were split over steps or calls;
/// (4) `evaluate` changes nothing and gives the same bits when repeated.
/// Complexity: state O(parameters + step tokens); `evaluate` O(length) unless stated otherwise.
/// Stream safety: everything goes through the backend's jobs in call order.
template <class S, class B>
concept ScoreOn =
    Score<S> && Backend<B> && std::default_initializable<typename S::template state<B>> &&
    std::movable<typename S::template state<B>> &&
    requires(const S& s, B& b, const model_shape& shape, typename S::template state<B>& state,
             std::int32_t n, const observation<typename S::signals>& seen,
             const sequence_progress& progress, token_columns columns, const evaluation& asked) {
      { s.prepare(b, shape, state, n) } noexcept -> std::same_as<status>;
      { s.observe(b, shape, state, seen) } noexcept;
      { s.finish(b, shape, state, progress, columns, n) } noexcept;
      { s.evaluate(b, shape, state, asked) } noexcept -> std::same_as<const float*>;
      { s.state_bytes(state) } noexcept -> std::same_as<std::size_t>;
      { s.reset(b, state) } noexcept;
    };

/// @concept ScoreWithParts
/// Purpose: a score made of several numbers that can be shown one by one.
/// Syntax: (1) `part_names`, a range of strings; (2) `evaluate_part(backend, shape, state,
/// evaluation, index)`: as `evaluate`, or null when the part is not tracked.
template <class S, class B>
concept ScoreWithParts = ScoreOn<S, B> && requires(const S& s, B& b, const model_shape& shape,
                                                   typename S::template state<B>& state,
                                                   const evaluation& asked, std::size_t part) {
  { S::part_names[part] } -> std::convertible_to<std::string_view>;
  { s.evaluate_part(b, shape, state, asked, part) } noexcept -> std::same_as<const float*>;
};

/// True when a host that runs `S` may keep an untouched fused attention kernel.
template <Score S>
inline constexpr bool works_with_fused_attention = S::signals::fused_attention;

}  // namespace epikv::inline v0
