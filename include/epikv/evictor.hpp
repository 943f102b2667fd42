// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <tuple>

#include "epikv/detail/requirements.hpp"
#include "epikv/detail/score_set.hpp"
#include "epikv/detail/sequence_map.hpp"
#include "epikv/detail/sequence_record.hpp"
#include "epikv/detail/step.hpp"
#include "epikv/evictor_options.hpp"
#include "epikv/selection.hpp"
#include "epikv/signal.hpp"
#include "epikv/statistics.hpp"

namespace epikv::inline v0 {

/// One sequence's part of a step: how many new tokens it receives. Prompts may arrive in chunks.
struct step_sequence {
  sequence_id sequence{};
  std::int32_t new_tokens = 1;
};

/// Decides which tokens leave the KV cache, for any number of sequences. The host calls, per
/// forward pass, begin_step(), observe() once per layer, select(), moves its rows as the selection
/// says, and commit().
///
/// Never owns the cache, never calls the model. Every verb returns a status, is noexcept, and on an
/// error has changed nothing. Selections depend on a sequence's own inputs alone: not on the batch,
/// the split into steps' calls, or the run. Memory per sequence is bounded by its budget, prompt
/// and tau, however many tokens pass; after add() a step of up to `step_tokens` tokens (or of the
/// prompt) allocates nothing.
///
/// One thread at a time; different evictors are independent. Not movable: its storage refers to its
/// backend.
template <class MainScore, class EvictionPolicy, class B>
class evictor {
  static_assert(detail::require_backend<B>());
  static_assert(detail::require_score<MainScore, B>());
  static_assert(detail::require_policy<EvictionPolicy, B>());

  using set =
      detail::score_set_of<MainScore, decltype(std::declval<const EvictionPolicy&>().auxiliary())>;
  using record = detail::sequence_record<B, set>;

 public:
  /// An evictor for a model. Parameters that do not fit are kept as an error that check() and every
  /// other verb returns.
  evictor(const model_shape& shape, MainScore score, EvictionPolicy policy, B backend,
          const evictor_options& options = {}) noexcept
      : shape_{shape, options.keep_sets},
        scores_{std::tuple_cat(std::tuple{std::move(score)}, policy.auxiliary())},
        policy_{std::move(policy)},
        backend_{std::move(backend)},
        options_{options} {
    health_ = set_up();
  }
  evictor(const evictor&) = delete;
  evictor& operator=(const evictor&) = delete;
  ~evictor() = default;

  /// Ok when the construction was.
  [[nodiscard]] status check() const noexcept { return health_; }
  [[nodiscard]] const model_shape& shape() const noexcept { return shape_; }
  [[nodiscard]] const evictor_options& options() const noexcept { return options_; }

  /// The signals to show of `layer`; empty for most layers and for layers that do not exist. O(1).
  [[nodiscard]] signal_set wants(std::int32_t layer) const noexcept {
    return layer >= 0 && layer < wanted_layers_ ? wants_[static_cast<std::size_t>(layer)]
                                                : signal_set{};
  }

  /// Which tokens' rows of a signal the scores together read, on the layers where it is wanted;
  /// rows of other tokens may hold anything, and be left out where no other wanted signal of the
  /// layer needs the token. O(layers).
  [[nodiscard]] row_cadence cadence(signal_id id) const noexcept;
  /// wants(layer) of every layer; empty in an evictor whose check() fails.
  [[nodiscard]] std::span<const signal_set> wants_table() const noexcept {
    return wants_.first(static_cast<std::size_t>(wanted_layers_));
  }

  /// A sequence joins, with the length of its prompt. Errors: duplicate_sequence; invalid_argument;
  /// over_budget if the options refuse prompts that leave no room; out_of_memory. Allocates.
  [[nodiscard]] status add(sequence_id sequence, std::int32_t prompt_length) noexcept {
    return add(sequence, sequence_options{.prompt_length = prompt_length});
  }
  [[nodiscard]] status add(sequence_id sequence, const sequence_options& wanted) noexcept;

  /// A sequence leaves, also in the middle of a step. Errors: unknown_sequence.
  [[nodiscard]] status remove(sequence_id sequence) noexcept;

  /// A sequence starts over as if just added, its protected ranges included; nothing is allocated.
  /// Errors: unknown_sequence; wrong_order while it is part of an open step.
  [[nodiscard]] status reset(sequence_id sequence) noexcept;

  /// The host protects positions [first, last) of a sequence, at most 16 ranges. Errors:
  /// unknown_sequence; invalid_argument; over_budget if the options refuse it.
  [[nodiscard]] status protect(sequence_id sequence, position_range range) noexcept;
  /// Takes all such ranges back. Errors: unknown_sequence.
  [[nodiscard]] status clear_protection(sequence_id sequence) noexcept;

  /// A step begins: which sequences receive how many new tokens, in the order of the rows to come.
  /// An earlier step that was not ended by select() ends here. Errors: unknown_sequence;
  /// duplicate_sequence; invalid_argument; out_of_memory. O(tokens).
  [[nodiscard]] status begin_step(std::span<const step_sequence> batch) noexcept;
  [[nodiscard]] status begin_step(std::initializer_list<step_sequence> batch) noexcept {
    return begin_step(std::span<const step_sequence>{batch.begin(), batch.size()});
  }
  /// A step of one sequence.
  [[nodiscard]] status begin_step(sequence_id sequence, std::int32_t new_tokens = 1) noexcept {
    return begin_step({step_sequence{sequence, new_tokens}});
  }

  /// Shows one layer of the step. May be called for any subset of layers, in ascending order, and
  /// several times for one layer, with later tokens of each sequence from call to call. Signals
  /// that are not wanted are not looked at. Errors: wrong_order; invalid_argument; missing_signal;
  /// wrong_shape; wrong_dtype; wrong_stride; wrong_device. A layer no score wants returns at once.
  [[nodiscard]] EPIKV_ALWAYS_INLINE status observe(std::int32_t layer,
                                                   const layer_signals& given) noexcept {
    if (skips(layer)) return {};
    return observe_wanted(layer, given);
  }
  /// The same for views made at the call, which cost nothing for a layer no score wants: only the
  /// copy's address is handed on, so the views themselves need not be in memory.
  [[nodiscard]] EPIKV_ALWAYS_INLINE status observe(std::int32_t layer,
                                                   layer_signals&& given) noexcept {
    if (skips(layer)) return {};
    const layer_signals copy = given;
    return observe_wanted(layer, copy);
  }
  /// The short form, for scores that read hidden states alone.
  [[nodiscard]] EPIKV_ALWAYS_INLINE status observe(std::int32_t layer, const tensor_view& hidden_in,
                                                   const tensor_view& hidden_out) noexcept {
    if (skips(layer)) return {};
    return observe_wanted(layer, {.hidden_in = hidden_in, .hidden_out = hidden_out});
  }

  /// Ends the step: its tokens are cached now. Returns what has to leave; empty unless a sequence
  /// of the step is over its budget and due. Repeated before a commit it decides the same again.
  /// Errors: wrong_order before the first step. O(cached tokens) for each keep-set that is due.
  [[nodiscard]] result<selection> select() noexcept;

  /// The host has applied the selection: slots mean the new layout from now on. Errors:
  /// stale_selection for any but this evictor's latest, uncommitted one.
  [[nodiscard]] status commit(const selection& applied) noexcept;
  /// The host has applied one sequence's part and leaves the others as they were.
  [[nodiscard]] status commit(const sequence_selection& applied) noexcept;

  /// New tokens, 1 or more, after which a selection can fall due for the sequence at the earliest:
  /// a host that brings no more in a step evicts where one that brings a token a step does. Counted
  /// from the last step that ended. Errors: unknown_sequence. O(1), or O(answer) for a policy
  /// without a budget.
  [[nodiscard]] result<std::int32_t> tokens_until_due(sequence_id sequence) const noexcept;

  /// Cached tokens of one keep-set. Errors: unknown_sequence; invalid_argument.
  [[nodiscard]] result<std::int32_t> length(sequence_id sequence,
                                            std::int32_t group = 0) const noexcept;
  /// position[slot] of one keep-set, ascending. Valid until the next call that changes the evictor.
  /// Errors: unknown_sequence; invalid_argument.
  [[nodiscard]] result<std::span<const position>> positions(sequence_id sequence,
                                                            std::int32_t group = 0) const noexcept;
  /// The number of every cached slot of one keep-set as a selection would see it now, for reports:
  /// part "score", or one of the score's named parts. Tokens without a number are NaN. Returns how
  /// many were written. The backend's memory must be the host's. Errors: unknown_sequence;
  /// invalid_argument for a group, a part or an `out` that does not fit; unsupported.
  [[nodiscard]] result<std::int32_t> scores(sequence_id sequence, std::int32_t group,
                                            std::string_view part, std::span<float> out) noexcept;

  /// The name of part `i` of the score, for scores(); empty behind the last.
  [[nodiscard]] std::string_view score_part(std::size_t i) const noexcept;

  /// Errors: unknown_sequence.
  [[nodiscard]] result<sequence_statistics> statistics(sequence_id sequence) const noexcept;
  [[nodiscard]] evictor_statistics statistics() const noexcept;

 private:
  // Addresses of slot 0 of every column; one spare so that no score need have columns at all.
  using column_array = std::array<float*, set::columns + 1>;

  [[nodiscard]] bool skips(std::int32_t layer) const noexcept {
    return layer >= 0 && layer < wanted_layers_ && wants_[static_cast<std::size_t>(layer)].empty();
  }
  [[nodiscard]] status set_up() noexcept;
  [[nodiscard]] status check_recent(std::int32_t budget) const noexcept;
  [[nodiscard]] status observe_wanted(std::int32_t layer, const layer_signals& given) noexcept;
  [[nodiscard]] result<std::int64_t> check_signals(std::int32_t layer,
                                                   const layer_signals& given) const noexcept;
  [[nodiscard]] status check_attention(std::int32_t layer,
                                       const layer_signals& given) const noexcept;
  [[nodiscard]] status reserve(record& r, const state_sizes& sizes) noexcept;
  [[nodiscard]] status reserve_scratch(std::int32_t capacity) noexcept;
  // Positions protected from the first on: the prompt's or the sinks'.
  [[nodiscard]] std::int64_t protected_front(std::int32_t prompt_length) const noexcept {
    return std::max<std::int64_t>(options_.protect_prompt ? prompt_length : 0, options_.sinks);
  }
  [[nodiscard]] status check_protected(std::int32_t prompt_length, std::int32_t budget,
                                       std::int64_t extra) const noexcept;
  [[nodiscard]] status reserve_step(std::span<const step_sequence> batch,
                                    std::size_t tokens) noexcept;
  [[nodiscard]] result<record*> find(sequence_id sequence) const noexcept;
  [[nodiscard]] result<const record*> find(sequence_id sequence, std::int32_t group) const noexcept;
  void finish_step() noexcept;
  [[nodiscard]] bool due(const record& r) const noexcept;
  void decide(record& r) noexcept;
  void decide_group(record& r, std::int32_t g) noexcept;
  void commit_record(record& r) noexcept;
  [[nodiscard]] evaluation ask(record& r, std::int32_t g, std::size_t i,
                               column_array& pointers) noexcept;
  // The columns of score `i` as group `g` sees them.
  [[nodiscard]] token_columns columns_of(record& r, std::size_t i, std::int32_t g,
                                         column_array& pointers) const noexcept {
    return r.slots.columns(static_cast<std::size_t>(set::first_column[i]), g, pointers.data());
  }
  [[nodiscard]] status check_issuer(const void* issuer) const noexcept {
    if (issuer == this) return {};
    return {errc::stale_selection, "selection",
            issuer == nullptr ? "no evictor's selection" : "another evictor's selection",
            "the latest one of this evictor"};
  }
  [[nodiscard]] status stale(std::uint64_t epoch) const noexcept {
    return {errc::stale_selection, "selection", detail::short_text{"selection ", epoch},
            detail::short_text{"the latest one, uncommitted; the evictor is at ", epoch_}};
  }
  [[nodiscard]] sequence_progress progress_of(const record& r) const noexcept {
    return {r.id, r.tokens, r.step_tokens, r.prompt_length};
  }

  cache_shape shape_;
  typename set::scores scores_;
  EvictionPolicy policy_;
  B backend_;
  evictor_options options_;
  status health_;

  detail::host_array<signal_set> wants_;  // [layers]
  std::int32_t wanted_layers_ = 0;        // layers once set up, 0 in an evictor that failed to
  std::array<column_form, set::columns + 1> forms_{};

  detail::sequence_map<record> sequences_;
  detail::step step_;
  struct batch_entry {
    record* sequence;    // null once removed in the middle of the step
    std::int32_t first;  // its first token, counted over the batch
    std::int32_t count;
  };
  detail::host_array<batch_entry> batch_;  // of the latest step
  std::size_t batch_size_ = 0;
  std::uint64_t batch_mark_ = 0;  // tells a sequence named twice in one batch
  std::uint64_t steps_ = 0;
  bool step_open_ = false;

  detail::host_array<sequence_selection> selected_;
  std::size_t selected_count_ = 0;
  std::uint64_t epoch_ = 0;

  // Scratch of one keep-set's selection, for up to scratch_length_ slots.
  std::int32_t scratch_length_ = 0;
  detail::buffer<verdict, B> verdicts_;
  detail::buffer<float, B> numbers_;  // a row per score, one of resolved scores, one spare
  detail::buffer<std::byte, B> scratch_;
  detail::buffer<slot, B> spare_;

  std::uint64_t evictions_ = 0;
  std::int64_t evicted_ = 0;
};

}  // namespace epikv::inline v0

#include "epikv/detail/evictor_reports.hpp"
#include "epikv/detail/evictor_selection.hpp"
#include "epikv/detail/evictor_sequences.hpp"
#include "epikv/detail/evictor_step.hpp"
