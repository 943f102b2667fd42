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

/// What a new token's cells hold when its step begins.
enum class cell_start : std::uint8_t {
  anything,
  zero,
  unscored,  ///< the mark of a token without a number
};

/// What a score stores per cached token in one of its columns.
struct column_form {
  std::int32_t width = 0;  ///< floats per token
  /// Each keep-set has numbers of its own. Otherwise the score writes those of group 0, which reach
  /// the other groups when the step ends.
  bool per_group = false;
  cell_start start = cell_start::anything;
};

/// The columns a score stores per cached token, as one group's slots see them: column c is [slots,
/// width(c)] floats in backend memory. They follow the cache by themselves: the evictor prunes them
/// on every commit.
class token_columns {
 public:
  /// Where the columns of all groups lie; what it points to outlives the columns.
  struct table {
    float* const* first = nullptr;          ///< slot 0 of each column in group 0
    const column_form* forms = nullptr;     ///< of each column
    const std::int32_t* lengths = nullptr;  ///< [groups]: cached slots
    const position* positions = nullptr;    ///< [groups, capacity]
    std::int32_t capacity = 0;              ///< slots there is room for in each group
  };

  token_columns() noexcept = default;
  token_columns(const table& all, std::int32_t group) noexcept : all_{all}, group_{group} {}

  /// First float of `slot_index` in column `column`.
  [[nodiscard]] float* at(std::int32_t column, std::int32_t slot_index) const noexcept {
    const std::int64_t row = std::int64_t{group_} * all_.capacity + slot_index;
    return all_.first[column] + row * all_.forms[column].width;
  }
  /// The columns from `first` on, for a score that is made of others.
  [[nodiscard]] token_columns from(std::int32_t first) const noexcept {
    table rest = all_;
    rest.first += first;
    rest.forms += first;
    return {rest, group_};
  }
  /// The same columns as another group's slots see them.
  [[nodiscard]] token_columns of(std::int32_t group) const noexcept { return {all_, group}; }

  /// Cached slots of the group. New token i of an open step will take slot length() + i.
  [[nodiscard]] std::int32_t length() const noexcept { return all_.lengths[group_]; }
  /// position[slot] of the group's cached slots, ascending.
  [[nodiscard]] const position* positions() const noexcept {
    return all_.positions + std::int64_t{group_} * all_.capacity;
  }
  /// Slots there is room for.
  [[nodiscard]] std::int32_t capacity() const noexcept { return all_.capacity; }

 private:
  table all_;
  std::int32_t group_ = 0;
};

/// What a sequence's state has to hold for the steps to come.
struct state_sizes {
  std::int32_t step_tokens = 0;    ///< new tokens of a step
  std::int32_t decode_tokens = 0;  ///< those of them behind the prompt
  std::int32_t slots = 0;          ///< cached tokens of a group, a step's own included
};

/// One observe() call as one sequence's score sees it. `Signals` is the score's own list: reading a
/// signal outside it does not compile.
template <class Signals>
class observation {
 public:
  observation(std::int32_t layer, const layer_signals& given,
              std::span<const std::int32_t> row_of_token, const sequence_progress& progress,
              token_columns columns) noexcept
      : layer_{layer},
        given_{&given},
        rows_{row_of_token},
        progress_{progress},
        columns_{columns} {}

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
    return {layer_, *given_, rows_, progress_, columns_.from(first_column)};
  }
  /// This score's columns, as group 0 sees them.
  [[nodiscard]] token_columns columns() const noexcept { return columns_; }

 private:
  std::int32_t layer_;
  const layer_signals* given_;
  std::span<const std::int32_t> rows_;
  sequence_progress progress_;
  token_columns columns_;
};

/// What a score is asked at a selection: a number for each slot of one group.
struct evaluation {
  sequence_progress progress{};
  group_key group{};
  std::int32_t group_index = 0;
  std::int32_t length = 0;              ///< cached slots of the group
  const position* positions = nullptr;  ///< [length], ascending
  std::int32_t prompt_slots = 0;        ///< slots [0, prompt_slots) hold prompt tokens
  std::int32_t recent_begin = 0;        ///< slots from here on are the recent window
  std::uint32_t round = 0;              ///< evictions committed for this sequence so far
  token_columns columns{};              ///< as the group sees them
  float* out = nullptr;                 ///< [length] for numbers made now
  std::byte* scratch = nullptr;         ///< Backend::scratch_bytes(length)
};

/// The state of a score that declares none.
struct no_state {};

namespace detail {
template <class S>
concept has_columns = requires { S::column_count; };
template <class S>
concept has_check = requires { &S::check; };
template <class S>
concept has_least_recent = requires { &S::least_recent; };
template <class S>
concept has_cadence = requires { &S::cadence; };
template <class S, class B>
concept has_state = requires { typename S::template state<B>; };

template <class S, class B>
struct score_state {
  using type = no_state;
};
template <class S, class B>
  requires has_state<S, B>
struct score_state<S, B> {
  using type = typename S::template state<B>;
};
}  // namespace detail

/// A score's state for one sequence on backend B.
template <class S, class B>
using score_state_t = typename detail::score_state<S, B>::type;

/// @concept Score
/// Purpose: a number per cached token, higher = keep. The part that needs no backend.
///
/// Syntax (equal to the requires clause):
///  (1) tag alias `epikv_score`;
///  (2) `signals`, a `signal_list`: all it may ever read;
///  (3) `finest`, the finest `granularity` of keep-sets its numbers make sense for;
///  (4) `wants(shape, layer)`: the signals it reads there, a subset of `signals`.
/// May be left out, but not be there in another form:
///  (5) `column_count` (0), and with it `column(shape, c)`: what it stores per cached token;
///  (6) `check(shape)` (ok): ok when the parameters fit the model;
///  (7) `least_recent()` (0): the shortest recent window it can work under, in tokens;
///  (8) `cadence(signal)` (every_token): which tokens' rows of a signal it reads.
///
/// Semantics: (1) deterministic: the same inputs give the same bits; (2) a sequence's numbers do
/// not depend on other sequences; (3) `check` and `wants` are pure; (4) a token that was not
/// observed gets the unscored mark, never a guess; (5) a NaN may come out only of a NaN, an
/// infinity, or numbers whose squares overflow a float.
/// Complexity: `wants` O(parameters). Threads: a score object is immutable once in an evictor.
/// Not required: that every layer is shown, in one call per step or at all.
/// Smallest model: scores/none.hpp.
template <class S>
concept Score =
    requires(const S& s, const cache_shape& shape, std::int32_t i) {
      typename S::epikv_score;                                     // (1)
      { S::signals::set } -> std::convertible_to<signal_set>;      // (2)
      { S::finest } -> std::convertible_to<granularity>;           // (3)
      { s.wants(shape, i) } noexcept -> std::same_as<signal_set>;  // (4)
    } &&
    (!detail::has_columns<S> ||
     requires(const S& s, const cache_shape& shape, std::int32_t i) {  // (5)
       { S::column_count } -> std::convertible_to<int>;
       { s.column(shape, i) } noexcept -> std::same_as<column_form>;
     }) &&
    (!detail::has_check<S> || requires(const S& s, const cache_shape& shape) {  // (6)
      { s.check(shape) } noexcept -> std::same_as<status>;
    }) && (!detail::has_least_recent<S> || requires(const S& s) {  // (7)
      { s.least_recent() } noexcept -> std::same_as<std::int32_t>;
    }) && (!detail::has_cadence<S> || requires(const S& s, signal_id id) {  // (8)
      { s.cadence(id) } noexcept -> std::same_as<row_cadence>;
    });

/// @concept ScoreOn
/// Purpose: a score on one backend: its state per sequence and what it does with it.
///
/// Syntax:
///  (1) `evaluate(backend, shape, state, evaluation)`: a pointer to a number per slot, either
///      `evaluation.out` or a column.
/// With signals:
///  (2) `observe(backend, shape, state, observation<signals>)`: one layer's rows of one sequence.
/// With columns:
///  (3) `finish(backend, shape, state, progress, columns)`: the step's tokens are complete, their
///      columns are written from slot `columns.length()` on.
/// With a state (without one, `no_state` is handed over):
///  (4) `S::state<B>`, default-constructible and movable;
///  (5) `prepare(backend, shape, state, state_sizes)`: sizes the state for the steps to come; may
///      come between a step's observe and its finish, and then changes no number;
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
    Score<S> && Backend<B> &&
    requires(const S& s, B& b, const cache_shape& shape, score_state_t<S, B>& state,
             const evaluation& asked) {
      { s.evaluate(b, shape, state, asked) } noexcept -> std::same_as<const float*>;  // (1)
    } &&
    (S::signals::set == signal_set{} ||
     requires(const S& s, B& b, const cache_shape& shape, score_state_t<S, B>& state,
              const observation<typename S::signals>& seen) {
       { s.observe(b, shape, state, seen) } noexcept;  // (2)
     }) &&
    (!detail::has_columns<S> ||
     requires(const S& s, B& b, const cache_shape& shape, score_state_t<S, B>& state,
              const sequence_progress& progress, token_columns columns) {
       { s.finish(b, shape, state, progress, columns) } noexcept;  // (3)
     }) &&
    (!detail::has_state<S, B> || (std::default_initializable<score_state_t<S, B>> &&
                                  std::movable<score_state_t<S, B>> &&  // (4)
                                  requires(const S& s, B& b, const cache_shape& shape,
                                           score_state_t<S, B>& state, const state_sizes& sizes) {
                                    {
                                      s.prepare(b, shape, state, sizes)
                                    } noexcept -> std::same_as<status>;  // (5)
                                    {
                                      s.state_bytes(state)
                                    } noexcept -> std::same_as<std::size_t>;  // (6)
                                    { s.reset(b, state) } noexcept;           // (7)
                                  }));

/// @concept ScoreWithParts
/// Purpose: a score made of several numbers that can be shown one by one.
/// Syntax: (1) `part_name(index)`, empty behind the last; (2) `evaluate_part(backend, shape, state,
/// evaluation, index)`: as `evaluate`, or null when the part is not tracked.
template <class S, class B>
concept ScoreWithParts = ScoreOn<S, B> && requires(const S& s, B& b, const cache_shape& shape,
                                                   score_state_t<S, B>& state,
                                                   const evaluation& asked, std::size_t part) {
  { s.part_name(part) } noexcept -> std::same_as<std::string_view>;
  { s.evaluate_part(b, shape, state, asked, part) } noexcept -> std::same_as<const float*>;
};

/// True when a host that runs `S` may keep an untouched fused attention kernel.
template <Score S>
inline constexpr bool works_with_fused_attention = S::signals::fused_attention;

}  // namespace epikv::inline v0
