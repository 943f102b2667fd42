// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "epikv/detail/array.hpp"
#include "epikv/detail/score_set.hpp"

namespace epikv::inline v0 {

/// Any score of backend B behind one type, so that methods can be composed at run time and one
/// evictor type serves them all. Gives the same numbers as the score it holds; a call costs one
/// indirection per layer and sequence. Holds the score by value, without an allocation; a state is
/// one allocation more. An empty one reads nothing and has no numbers: a place that is not used.
template <Backend B>
class any_score {
 public:
  using epikv_score = void;
  using signals = signal_list<epikv::signals::hidden_in, epikv::signals::hidden_out,
                              epikv::signals::keys, epikv::signals::values, epikv::signals::queries,
                              epikv::signals::attention, epikv::signals::lse>;
  static constexpr granularity finest = granularity::kv_head;  // check() knows the score's own
  static constexpr int column_count = 8;
  static constexpr std::size_t max_bytes = 1408;

  any_score() noexcept = default;
  template <class S>
    requires(ScoreOn<S, B> && !std::is_same_v<S, any_score>)
  any_score(const S& score) noexcept
      : verbs_{&verbs_of<S>} {  // NOLINT(google-explicit-constructor)
    static_assert(std::is_trivially_copyable_v<S> && sizeof(S) <= max_bytes &&
                      alignof(S) <= alignof(std::max_align_t),
                  "a score held by any_score is a trivially copyable bundle of parameters");
    static_assert(detail::column_count_of<S> <= column_count,
                  "a score held by any_score has few columns");
    ::new (static_cast<void*>(held_.data())) S{score};
    if constexpr (requires { score.enabled; }) enabled = score.enabled;
  }

  /// False when the score has no number for any token and so cannot rank.
  bool enabled = true;

  [[nodiscard]] column_form column(const cache_shape& shape, std::int32_t c) const noexcept {
    return verbs_ == nullptr ? column_form{} : verbs_->column(held_.data(), shape, c);
  }
  [[nodiscard]] epikv::status check(const cache_shape& shape) const noexcept {
    return verbs_ == nullptr ? epikv::status{} : verbs_->check(held_.data(), shape);
  }
  [[nodiscard]] signal_set wants(const cache_shape& shape, std::int32_t layer) const noexcept {
    return verbs_ == nullptr ? signal_set{} : verbs_->wants(held_.data(), shape, layer);
  }
  [[nodiscard]] std::int32_t least_recent() const noexcept {
    return verbs_ == nullptr ? 0 : verbs_->least_recent(held_.data());
  }
  [[nodiscard]] row_cadence cadence(signal_id id) const noexcept {
    return verbs_ == nullptr ? row_cadence::last_tokens : verbs_->cadence(held_.data(), id);
  }
  [[nodiscard]] std::string_view part_name(std::size_t i) const noexcept {
    return verbs_ == nullptr ? std::string_view{} : verbs_->part_name(held_.data(), i);
  }

 private:
  struct verbs;

 public:
  /// The held score's state; made by the first prepare().
  template <class>
  class state {
   public:
    state() noexcept = default;
    state(state&& other) noexcept
        : held{std::exchange(other.held, nullptr)}, of{std::exchange(other.of, nullptr)} {}
    state& operator=(state&& other) noexcept {
      std::swap(held, other.held);
      std::swap(of, other.of);
      return *this;
    }
    state(const state&) = delete;
    state& operator=(const state&) = delete;
    ~state() {
      if (held != nullptr) of->destroy_state(held);
    }

   private:
    friend any_score;
    void* held = nullptr;
    const verbs* of = nullptr;
  };

  epikv::status prepare(B& backend, const cache_shape& shape, state<B>& s,
                        const state_sizes& sizes) const noexcept {
    if (verbs_ == nullptr) return {};
    if (s.held == nullptr) {
      s.held = verbs_->make_state();
      if (s.held == nullptr) return detail::out_of_memory("score.state", verbs_->state_size);
      s.of = verbs_;
    }
    return verbs_->prepare(held_.data(), backend, shape, s.held, sizes);
  }
  void observe(B& backend, const cache_shape& shape, state<B>& s,
               const observation<signals>& seen) const noexcept {
    if (verbs_ != nullptr) verbs_->observe(held_.data(), backend, shape, s.held, seen);
  }
  void finish(B& backend, const cache_shape& shape, state<B>& s, const sequence_progress& progress,
              token_columns columns) const noexcept {
    if (verbs_ != nullptr) verbs_->finish(held_.data(), backend, shape, s.held, progress, columns);
  }
  const float* evaluate(B& backend, const cache_shape& shape, state<B>& s,
                        const evaluation& asked) const noexcept {
    return verbs_ == nullptr ? nullptr
                             : verbs_->evaluate(held_.data(), backend, shape, s.held, asked);
  }
  const float* evaluate_part(B& backend, const cache_shape& shape, state<B>& s,
                             const evaluation& asked, std::size_t part) const noexcept {
    return verbs_ == nullptr
               ? nullptr
               : verbs_->evaluate_part(held_.data(), backend, shape, s.held, asked, part);
  }
  [[nodiscard]] std::size_t state_bytes(const state<B>& s) const noexcept {
    return s.held == nullptr ? 0 : verbs_->state_size + verbs_->state_bytes(held_.data(), s.held);
  }
  void reset(B& backend, state<B>& s) const noexcept {
    if (s.held != nullptr) verbs_->reset(held_.data(), backend, s.held);
  }

 private:
  // What a score does, with the score and its state behind untyped pointers.
  struct verbs {
    column_form (*column)(const void*, const cache_shape&, std::int32_t) noexcept;
    epikv::status (*check)(const void*, const cache_shape&) noexcept;
    signal_set (*wants)(const void*, const cache_shape&, std::int32_t) noexcept;
    std::int32_t (*least_recent)(const void*) noexcept;
    row_cadence (*cadence)(const void*, signal_id) noexcept;
    std::string_view (*part_name)(const void*, std::size_t) noexcept;
    std::size_t state_size;
    void* (*make_state)() noexcept;
    void (*destroy_state)(void*) noexcept;
    epikv::status (*prepare)(const void*, B&, const cache_shape&, void*,
                             const state_sizes&) noexcept;
    void (*observe)(const void*, B&, const cache_shape&, void*,
                    const observation<signals>&) noexcept;
    void (*finish)(const void*, B&, const cache_shape&, void*, const sequence_progress&,
                   token_columns) noexcept;
    const float* (*evaluate)(const void*, B&, const cache_shape&, void*,
                             const evaluation&) noexcept;
    const float* (*evaluate_part)(const void*, B&, const cache_shape&, void*, const evaluation&,
                                  std::size_t) noexcept;
    std::size_t (*state_bytes)(const void*, const void*) noexcept;
    void (*reset)(const void*, B&, void*) noexcept;
  };

  template <class S>
  static const S& as(const void* held) noexcept {
    return *static_cast<const S*>(held);
  }
  template <class S>
  using state_of = score_state_t<S, B>;
  template <class S>
  static state_of<S>& as_state(void* held) noexcept {
    return *static_cast<state_of<S>*>(held);
  }

  template <class S>
  static constexpr verbs verbs_of{
      .column =
          [](const void* s, const cache_shape& shape, std::int32_t c) noexcept {
            return c < detail::column_count_of<S> ? detail::column_of(as<S>(s), shape, c)
                                                  : column_form{};
          },
      .check = [](const void* s, const cache_shape& shape) noexcept -> epikv::status {
        return detail::check_of(as<S>(s), shape);
      },
      .wants = [](const void* s, const cache_shape& shape,
                  std::int32_t layer) noexcept { return as<S>(s).wants(shape, layer); },
      .least_recent = [](const void* s) noexcept { return detail::least_recent_of(as<S>(s)); },
      .cadence = [](const void* s,
                    signal_id id) noexcept { return detail::cadence_of(as<S>(s), id); },
      .part_name = [](const void* s, std::size_t i) noexcept -> std::string_view {
        if constexpr (ScoreWithParts<S, B>) return as<S>(s).part_name(i);
        static_cast<void>(s), static_cast<void>(i);
        return {};
      },
      .state_size = sizeof(state_of<S>),
      .make_state = []() noexcept -> void* { return new (std::nothrow) state_of<S>; },
      .destroy_state = [](void* t) noexcept { delete static_cast<state_of<S>*>(t); },
      .prepare = [](const void* s, B& backend, const cache_shape& shape, void* t,
                    const state_sizes& sizes) noexcept -> epikv::status {
        return detail::prepare_score(as<S>(s), backend, shape, as_state<S>(t), sizes);
      },
      .observe =
          [](const void* s, B& backend, const cache_shape& shape, void* t,
             const observation<signals>& seen) noexcept {
            detail::observe_score(as<S>(s), backend, shape, as_state<S>(t),
                                  seen.template part<typename S::signals>(0));
          },
      .finish =
          [](const void* s, B& backend, const cache_shape& shape, void* t,
             const sequence_progress& progress, token_columns columns) noexcept {
            detail::finish_score(as<S>(s), backend, shape, as_state<S>(t), progress, columns);
          },
      .evaluate = [](const void* s, B& backend, const cache_shape& shape, void* t,
                     const evaluation& asked) noexcept -> const float* {
        return as<S>(s).evaluate(backend, shape, as_state<S>(t), asked);
      },
      .evaluate_part = [](const void* s, B& backend, const cache_shape& shape, void* t,
                          const evaluation& asked, std::size_t part) noexcept -> const float* {
        if constexpr (ScoreWithParts<S, B>) {
          return as<S>(s).evaluate_part(backend, shape, as_state<S>(t), asked, part);
        }
        return nullptr;
      },
      .state_bytes =
          [](const void* s, const void* t) noexcept {
            return detail::state_bytes_of<S, B>(as<S>(s), *static_cast<const state_of<S>*>(t));
          },
      .reset = [](const void* s, B& backend,
                  void* t) noexcept { detail::reset_score(as<S>(s), backend, as_state<S>(t)); },
  };

  const verbs* verbs_ = nullptr;
  alignas(std::max_align_t) std::array<std::byte, max_bytes> held_{};
};

}  // namespace epikv::inline v0
