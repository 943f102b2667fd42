// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <tuple>

#include "epikv/cpu.hpp"

// For every concept the least that models it, and near misses, each named after the one thing that
// is wrong with it. The models are move-only, their constants do nothing but convert, and nothing
// is a template that need not be: what the library demands beyond a concept does not compile here.
//
// A near miss is its model with one member replaced, so that nothing else can be why it is refused.
// A member that has to go is hidden by a type of its name, or made private where any type would do.

namespace epikv_test {

/// A constant that converts to T and can do nothing else.
template <class T, T Value>
struct converts_to {
  constexpr operator T() const noexcept { return Value; }  // NOLINT(google-explicit-constructor)
};

/// Copies refused, as no concept asks for them.
struct move_only {
  move_only() = default;
  move_only(move_only&&) = default;
  move_only& operator=(move_only&&) = default;
  move_only(const move_only&) = delete;
  move_only& operator=(const move_only&) = delete;
};

// Signal

/// Hidden states after a block, of which a score sees all channels.
struct minimal_signal {
  using epikv_signal = void;
  static constexpr converts_to<epikv::signal_id, epikv::signal_id::hidden_out> id{};
  static constexpr char name[] = "minimal_signal";
  static constexpr converts_to<bool, false> needs_attention_matrix{};
  static const epikv::tensor_view& view(const epikv::layer_signals& given) noexcept {
    return given.hidden_out;
  }
  static std::array<std::int64_t, 2> extents(const epikv::model_shape& shape) noexcept {
    return {shape.hidden, 0};
  }
};

class signal_without_tag : public minimal_signal {
  using minimal_signal::epikv_signal;
};
struct signal_without_id : minimal_signal {
  using id = void;
};
struct signal_id_is_a_number : minimal_signal {
  static constexpr int id = 1;
};
struct signal_without_name : minimal_signal {
  using name = void;
};
struct signal_without_needs_attention_matrix : minimal_signal {
  using needs_attention_matrix = void;
};
struct signal_without_view : minimal_signal {
  using view = void;
};
struct signal_view_by_value : minimal_signal {
  static epikv::tensor_view view(const epikv::layer_signals& given) noexcept {
    return given.hidden_out;
  }
};
struct signal_view_not_noexcept : minimal_signal {
  static const epikv::tensor_view& view(const epikv::layer_signals& given) {
    return given.hidden_out;
  }
};
struct signal_without_extents : minimal_signal {
  using extents = void;
};
struct signal_extents_of_three_axes : minimal_signal {
  static std::array<std::int64_t, 3> extents(const epikv::model_shape&) noexcept { return {}; }
};
struct signal_extents_not_noexcept : minimal_signal {
  static std::array<std::int64_t, 2> extents(const epikv::model_shape&) { return {}; }
};

// Backend

/// The least a host implements for a device of its own: this list, no more. It works on host
/// memory, and leaves what a job computes to the CPU backend.
struct minimal_backend : move_only {
  using epikv_backend = void;

  [[nodiscard]] epikv::device_kind device() const noexcept { return epikv::device_kind::cpu; }
  [[nodiscard]] epikv::status supports(epikv::dtype type) const noexcept {
    return epikv::cpu_backend::supports(type);
  }

  void* allocate(std::size_t bytes) noexcept {
    return ::operator new(bytes, std::align_val_t{64}, std::nothrow);
  }
  void deallocate(void* data, std::size_t) noexcept {
    ::operator delete(data, std::align_val_t{64});
  }
  void clear(void* data, std::size_t bytes) noexcept { std::memset(data, 0, bytes); }
  void copy(void* to, const void* from, std::size_t bytes) noexcept {
    std::memcpy(to, from, bytes);
  }
  [[nodiscard]] std::size_t scratch_bytes(std::int32_t length) const noexcept {
    return epikv::cpu_backend::scratch_bytes(length);
  }

  template <class Job>
  void run(const Job& job) noexcept {
    epikv::cpu_backend::run(job);
  }
};

class backend_without_tag : public minimal_backend {
  using minimal_backend::epikv_backend;
};
struct backend_without_device : minimal_backend {
  using device = void;
};
struct backend_device_not_const : minimal_backend {
  epikv::device_kind device() noexcept { return epikv::device_kind::cpu; }
};
struct backend_without_supports : minimal_backend {
  using supports = void;
};
struct backend_supports_returns_bool : minimal_backend {
  [[nodiscard]] bool supports(epikv::dtype) const noexcept { return true; }
};
struct backend_without_allocate : minimal_backend {
  using allocate = void;
};
struct backend_allocate_not_noexcept : minimal_backend {
  void* allocate(std::size_t bytes) { return minimal_backend::allocate(bytes); }
};
struct backend_without_deallocate : minimal_backend {
  using deallocate = void;
};
struct backend_deallocate_without_bytes : minimal_backend {
  void deallocate(void* data) noexcept { minimal_backend::deallocate(data, 0); }
};
struct backend_without_clear : minimal_backend {
  using clear = void;
};
struct backend_without_copy : minimal_backend {
  using copy = void;
};
struct backend_without_scratch_bytes : minimal_backend {
  using scratch_bytes = void;
};

/// A backend that does not run `Job`.
template <class Job>
struct backend_without : minimal_backend {
  using minimal_backend::run;
  void run(const Job&) = delete;
};

/// A backend that runs `Job` and may throw.
template <class Job>
struct backend_not_noexcept_on : minimal_backend {
  using minimal_backend::run;
  void run(const Job&) {}
};

// Score

/// A token's number is channel 0 of its hidden state.
struct minimal_score : move_only {
  using epikv_score = void;
  using signals = epikv::signal_list<minimal_signal>;
  static constexpr converts_to<epikv::granularity, epikv::granularity::layer> finest{};
  static constexpr converts_to<int, 1> column_count{};

  [[nodiscard]] epikv::column_form column(const epikv::cache_shape&, std::int32_t) const noexcept {
    return {.width = 1};
  }
  [[nodiscard]] epikv::status check(const epikv::cache_shape&) const noexcept { return {}; }
  [[nodiscard]] epikv::signal_set wants(const epikv::cache_shape&,
                                        std::int32_t layer) const noexcept {
    return layer == 0 ? signals::set : epikv::signal_set{};
  }
  [[nodiscard]] std::int32_t least_recent() const noexcept { return 0; }
  [[nodiscard]] epikv::row_cadence cadence(epikv::signal_id) const noexcept {
    return epikv::row_cadence::every_token;
  }

  template <class B>
  struct state {
    epikv::detail::host_array<std::uint8_t> shown;  // [step tokens]
  };

  template <epikv::Backend B>
  epikv::status prepare(B&, const epikv::cache_shape&, state<B>& s,
                        const epikv::state_sizes& sizes) const noexcept {
    return s.shown.grow(static_cast<std::size_t>(sizes.step_tokens), "minimal_score.step");
  }
  template <epikv::Backend B>
  void observe(B& backend, const epikv::cache_shape&, state<B>& s,
               const epikv::observation<signals>& seen) const noexcept {
    const epikv::tensor_view& hidden = seen.template view<minimal_signal>();
    for (std::int32_t i = 0; i < seen.progress().new_tokens; ++i) {
      if (seen.row(i) < 0) continue;
      backend.run(epikv::store_job{epikv::row_of(hidden, seen.row(i)), 1,
                                   seen.columns().at(0, seen.columns().length() + i)});
      s.shown[static_cast<std::size_t>(i)] = 1;
    }
  }
  template <epikv::Backend B>
  void finish(B& backend, const epikv::cache_shape&, state<B>& s,
              const epikv::sequence_progress& progress,
              epikv::token_columns columns) const noexcept {
    for (std::int32_t i = 0; i < progress.new_tokens; ++i) {
      std::uint8_t& shown = s.shown[static_cast<std::size_t>(i)];
      if (shown == 0) backend.run(epikv::unscored_job{columns.at(0, columns.length() + i), 1});
      shown = 0;
    }
  }
  template <epikv::Backend B>
  const float* evaluate(B&, const epikv::cache_shape&, state<B>&,
                        const epikv::evaluation& asked) const noexcept {
    return asked.columns.at(0, 0);
  }
  template <class B>
  std::size_t state_bytes(const state<B>& s) const noexcept {
    return s.shown.bytes();
  }
  template <epikv::Backend B>
  void reset(B&, state<B>& s) const noexcept {
    for (std::size_t i = 0; i < s.shown.size(); ++i) s.shown[i] = 0;
  }
};

class score_without_tag : public minimal_score {
  using minimal_score::epikv_score;
};
class score_without_signals : public minimal_score {
  using minimal_score::signals;
};
struct score_without_finest : minimal_score {
  using finest = void;
};
struct score_without_column : minimal_score {
  using column = void;
};
struct score_column_is_a_width : minimal_score {
  [[nodiscard]] std::int32_t column(const epikv::cache_shape&, std::int32_t) const noexcept {
    return 1;
  }
};
struct score_check_returns_bool : minimal_score {
  [[nodiscard]] bool check(const epikv::cache_shape&) const noexcept { return true; }
};
struct score_without_wants : minimal_score {
  using wants = void;
};
struct score_wants_not_noexcept : minimal_score {
  [[nodiscard]] epikv::signal_set wants(const epikv::cache_shape&, std::int32_t) const {
    return {};
  }
};
struct score_wants_not_const : minimal_score {
  epikv::signal_set wants(const epikv::cache_shape&, std::int32_t) noexcept { return {}; }
};
struct score_least_recent_of_64_bits : minimal_score {
  [[nodiscard]] std::int64_t least_recent() const noexcept { return 0; }
};
struct score_cadence_without_signal : minimal_score {
  [[nodiscard]] epikv::row_cadence cadence() const noexcept {
    return epikv::row_cadence::every_token;
  }
};

// ScoreOn: the half of a score that needs a backend. These are scores, on no backend.

struct score_state_not_default_constructible : minimal_score {
  template <class B>
  struct state : minimal_score::state<B> {
    explicit state(int) noexcept {}
  };
};
struct score_state_not_movable : minimal_score {
  template <class B>
  struct state : minimal_score::state<B> {
    state() = default;
    state(state&&) = delete;
  };
};
struct score_without_prepare : minimal_score {
  using prepare = void;
};
struct score_prepare_returns_nothing : minimal_score {
  template <class B>
  void prepare(B&, const epikv::cache_shape&, state<B>&, const epikv::state_sizes&) const noexcept {
  }
};
struct score_without_observe : minimal_score {
  using observe = void;
};
struct score_observe_not_noexcept : minimal_score {
  template <class B>
  void observe(B&, const epikv::cache_shape&, state<B>&, const epikv::observation<signals>&) const {
  }
};
struct score_observe_of_other_signals : minimal_score {
  template <class B>
  void observe(B&, const epikv::cache_shape&, state<B>&,
               const epikv::observation<epikv::signal_list<>>&) const noexcept {}
};
struct score_without_finish : minimal_score {
  using finish = void;
};
struct score_finish_not_noexcept : minimal_score {
  template <class B>
  void finish(B&, const epikv::cache_shape&, state<B>&, const epikv::sequence_progress&,
              epikv::token_columns) const {}
};
struct score_without_evaluate : minimal_score {
  using evaluate = void;
};
struct score_evaluate_returns_mutable : minimal_score {
  template <class B>
  float* evaluate(B&, const epikv::cache_shape&, state<B>&,
                  const epikv::evaluation& asked) const noexcept {
    return asked.out;
  }
};
struct score_without_state_bytes : minimal_score {
  using state_bytes = void;
};
struct score_without_reset : minimal_score {
  using reset = void;
};
struct score_reset_not_noexcept : minimal_score {
  template <class B>
  void reset(B&, state<B>&) const {}
};

/// No near miss: it models Score and ScoreOn, but a fused attention kernel cannot serve it.
struct score_of_attention : minimal_score {
  using signals = epikv::signal_list<epikv::signals::hidden_out, epikv::signals::attention>;
  template <class B>
  void observe(B&, const epikv::cache_shape&, state<B>&,
               const epikv::observation<signals>&) const noexcept {}
};

// ScoreWithParts

struct minimal_score_with_parts : minimal_score {
  [[nodiscard]] std::string_view part_name(std::size_t i) const noexcept {
    return i == 0 ? "channel" : "";
  }
  template <class B>
  const float* evaluate_part(B&, const epikv::cache_shape&, state<B>&,
                             const epikv::evaluation& asked, std::size_t) const noexcept {
    return asked.columns.at(0, 0);
  }
};

struct parts_without_names : minimal_score_with_parts {
  using part_name = void;
};
struct parts_named_by_numbers : minimal_score_with_parts {
  [[nodiscard]] int part_name(std::size_t) const noexcept { return 1; }
};
struct parts_without_evaluate_part : minimal_score_with_parts {
  using evaluate_part = void;
};
struct parts_evaluate_part_not_noexcept : minimal_score_with_parts {
  template <class B>
  const float* evaluate_part(B&, const epikv::cache_shape&, state<B>&, const epikv::evaluation&,
                             std::size_t) const {
    return nullptr;
  }
};

// Policy

/// Room goes to the highest scores.
struct minimal_policy : move_only {
  using epikv_policy = void;
  static constexpr converts_to<bool, true> evicts{};

  [[nodiscard]] std::tuple<> auxiliary() const noexcept { return {}; }
  [[nodiscard]] epikv::status check(const epikv::cache_shape&) const noexcept { return {}; }
  template <epikv::Backend B>
  void select(B& backend, const epikv::selection_row& row) const noexcept {
    backend.run(epikv::keep_best_job{&row, row.scores, 0, row.length, row.room});
  }
};

class policy_without_tag : public minimal_policy {
  using minimal_policy::epikv_policy;
};
struct policy_without_evicts : minimal_policy {
  using evicts = void;
};
struct policy_without_auxiliary : minimal_policy {
  using auxiliary = void;
};
struct policy_auxiliary_not_in_a_tuple : minimal_policy {
  [[nodiscard]] epikv::key_statistic auxiliary() const noexcept { return {}; }
};
struct policy_auxiliary_not_a_score : minimal_policy {
  [[nodiscard]] std::tuple<int> auxiliary() const noexcept { return {}; }
};
struct policy_auxiliary_not_noexcept : minimal_policy {
  [[nodiscard]] std::tuple<> auxiliary() const { return {}; }
};
struct policy_without_check : minimal_policy {
  using check = void;
};

// PolicyOn: these are policies, on no backend.

struct policy_without_select : minimal_policy {
  using select = void;
};
struct policy_select_may_throw : minimal_policy {
  template <class B>
  void select(B&, const epikv::selection_row&) const {}
};
struct policy_select_not_const : minimal_policy {
  template <class B>
  void select(B&, const epikv::selection_row&) noexcept {}
};

}  // namespace epikv_test
