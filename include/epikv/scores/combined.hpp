// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "epikv/detail/array.hpp"
#include "epikv/detail/canonical.hpp"
#include "epikv/detail/score_access.hpp"

namespace epikv::inline v0 {

/// How two numbers of one token become one.
enum class combination : std::uint8_t {
  sum,      ///< weight_a * f(a) + weight_b * f(b), f by `scale`
  product,  ///< a * b
};

/// A score made of two others: a weighted sum of their numbers, each standardised or brought to
/// [0, 1] over the decode tokens (or over all cached tokens) first, or their product. Sums of more
/// are sums of sums. Parts "first" and "second" are the numbers before. The signals, columns, state
/// and cost are those of both; the keep-sets no finer than both allow.
template <Score A, Score C>
struct combined {
  using epikv_score = void;
  static constexpr granularity finest =
      static_cast<granularity>(A::finest) < static_cast<granularity>(C::finest) ? A::finest
                                                                                : C::finest;
  static constexpr int columns_of_a = detail::column_count_of<A>;
  static constexpr int column_count = columns_of_a + detail::column_count_of<C>;

 private:
  template <class X, class Y>
  struct joined;
  template <class... X, class... Y>
  struct joined<signal_list<X...>, signal_list<Y...>> {
    using type = signal_list<X..., Y...>;
  };

 public:
  using signals = typename joined<typename A::signals, typename C::signals>::type;

  A a{};
  C b{};
  combination how = combination::sum;
  double weight_a = 1.0;
  double weight_b = 1.0;
  scaling scale = scaling::standard;
  double epsilon = 1e-6;
  bool over_prompt = false;  ///< scale over all cached tokens, and rank prompt tokens too

  [[nodiscard]] column_form column(const cache_shape& shape, std::int32_t c) const noexcept {
    return c < columns_of_a ? detail::column_of(a, shape, c)
                            : detail::column_of(b, shape, c - columns_of_a);
  }
  [[nodiscard]] status check(const cache_shape& shape) const noexcept {
    const bool finite = detail::is_finite(weight_a) && detail::is_finite(weight_b);
    if (!finite || !(epsilon > 0.0)) {
      return {errc::invalid_argument, "weights", "not finite, or an epsilon of 0",
              "finite weights and an epsilon above 0"};
    }
    EPIKV_RETURN_IF_ERROR(detail::check_of(a, shape));
    return detail::check_of(b, shape);
  }
  [[nodiscard]] signal_set wants(const cache_shape& shape, std::int32_t layer) const noexcept {
    return a.wants(shape, layer) | b.wants(shape, layer);
  }
  [[nodiscard]] std::int32_t least_recent() const noexcept {
    const std::int32_t of_a = detail::least_recent_of(a);
    const std::int32_t of_b = detail::least_recent_of(b);
    return of_a > of_b ? of_a : of_b;
  }
  [[nodiscard]] row_cadence cadence(signal_id id) const noexcept {
    const bool in_a = A::signals::set.contains(id);
    const bool in_b = C::signals::set.contains(id);
    if (!in_a) return detail::cadence_of(b, id);
    const row_cadence of_a = detail::cadence_of(a, id);
    return in_b && detail::cadence_of(b, id) > of_a ? detail::cadence_of(b, id) : of_a;
  }

  template <class B>
  struct state {
    score_state_t<A, B> a;
    score_state_t<C, B> b;
    detail::buffer<float, B> numbers;  // [slots], of b
  };

  template <Backend B>
  status prepare(B& backend, const cache_shape& shape, state<B>& s,
                 const state_sizes& sizes) const noexcept {
    EPIKV_RETURN_IF_ERROR(detail::prepare_score(a, backend, shape, s.a, sizes));
    EPIKV_RETURN_IF_ERROR(detail::prepare_score(b, backend, shape, s.b, sizes));
    return s.numbers.grow(backend, static_cast<std::size_t>(sizes.slots), "combined.numbers");
  }
  template <Backend B>
  void observe(B& backend, const cache_shape& shape, state<B>& s,
               const observation<signals>& seen) const noexcept {
    if (!a.wants(shape, seen.layer()).empty()) {
      detail::observe_score(a, backend, shape, s.a, seen.template part<typename A::signals>(0));
    }
    if (!b.wants(shape, seen.layer()).empty()) {
      detail::observe_score(b, backend, shape, s.b,
                            seen.template part<typename C::signals>(columns_of_a));
    }
  }
  template <Backend B>
  void finish(B& backend, const cache_shape& shape, state<B>& s, const sequence_progress& progress,
              token_columns columns) const noexcept {
    detail::finish_score(a, backend, shape, s.a, progress, columns);
    detail::finish_score(b, backend, shape, s.b, progress, columns.from(columns_of_a));
  }

  template <Backend B>
  const float* evaluate(B& backend, const cache_shape& shape, state<B>& s,
                        const evaluation& asked) const noexcept {
    const float* const of_b = evaluate_part(backend, shape, s, asked, 1);
    const float* const of_a = evaluate_part(backend, shape, s, asked, 0);
    if (how == combination::product) {
      backend.run(product_job{.a = of_a, .b = of_b, .length = asked.length, .out = asked.out});
    } else {
      backend.run(blend_job{.a = of_a,
                            .b = of_b,
                            .weight_a = weight_a,
                            .weight_b = weight_b,
                            .scale = scale,
                            .epsilon = epsilon,
                            .first = over_prompt ? 0 : asked.prompt_slots,
                            .length = asked.length,
                            .out = asked.out});
    }
    return asked.out;
  }

  static std::string_view part_name(std::size_t i) noexcept {
    return i == 0 ? "first" : i == 1 ? "second" : "";
  }
  template <Backend B>
  const float* evaluate_part(B& backend, const cache_shape& shape, state<B>& s,
                             const evaluation& asked, std::size_t part) const noexcept {
    if (part == 0) return a.evaluate(backend, shape, s.a, asked);
    evaluation own = asked;
    own.columns = asked.columns.from(columns_of_a);
    own.out = s.numbers.data();
    return b.evaluate(backend, shape, s.b, own);
  }

  template <Backend B>
  std::size_t state_bytes(const state<B>& s) const noexcept {
    return detail::state_bytes_of<A, B>(a, s.a) + detail::state_bytes_of<C, B>(b, s.b) +
           s.numbers.bytes();
  }
  template <Backend B>
  void reset(B& backend, state<B>& s) const noexcept {
    detail::reset_score(a, backend, s.a);
    detail::reset_score(b, backend, s.b);
  }
};

}  // namespace epikv::inline v0
