// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "epikv/scores/epiphany.hpp"
#include "epikv/scores/relevance.hpp"

namespace epikv::inline v0 {

/// How query relevance meets the score it accompanies.
enum class query_mode : std::uint8_t {
  replace,  ///< relevance alone ranks; the other score is kept for reports
  add,      ///< standardised score plus weight times standardised relevance
};

/// EpiKV-Q's score: epiphany and query relevance, each standardised over the cached decode tokens
/// (sample deviation + 1e-6), replaced or added. One keep-set per sequence. In `replace` mode the
/// epiphany score cannot change a selection, so its band layers are read only if `track_epiphany`
/// asks for the number to be reported. Complexity: relevance's. Source: arXiv 2606.26472.
struct epiphany_with_relevance {
  using epikv_score = void;
  using signals =
      signal_list<signals::hidden_in, signals::hidden_out, signals::keys, signals::queries>;
  static constexpr granularity finest = granularity::sequence;
  static constexpr int column_count = epiphany::column_count + relevance::column_count;

  epiphany base{};
  relevance query{};  ///< layer -1: the block after the last layer of band a
  query_mode mode = query_mode::replace;
  double weight = 1.0;
  bool track_epiphany = false;

  [[nodiscard]] bool uses_epiphany() const noexcept {
    return track_epiphany || mode == query_mode::add;
  }
  [[nodiscard]] relevance resolved_query(const model_shape& shape) const noexcept {
    relevance placed = query;
    if (placed.layer < 0) {
      const layer_band a = base.resolved_a(shape);
      const std::int32_t after = a[a.size() - 1] + 1;
      placed.layer = after < shape.layers ? after : shape.layers - 1;
    }
    return placed;
  }

  [[nodiscard]] column_form column(const model_shape& shape, std::int32_t c) const noexcept {
    if (c == epiphany::column_count) return relevance::column(shape, 0);
    return uses_epiphany() ? base.column(shape, c) : column_form{};
  }
  [[nodiscard]] status check(const model_shape& shape) const noexcept {
    if (!detail::is_finite(weight)) {
      return {errc::invalid_argument, "query_weight", detail::short_text{weight},
              "a finite number"};
    }
    EPIKV_RETURN_IF_ERROR(base.check(shape));
    return query.check(shape);
  }
  [[nodiscard]] signal_set wants(const model_shape& shape, std::int32_t layer) const noexcept {
    const signal_set queried = resolved_query(shape).wants(shape, layer);
    return uses_epiphany() ? queried | base.wants(shape, layer) : queried;
  }

  [[nodiscard]] std::int32_t least_recent() const noexcept { return query.least_recent(); }
  static row_cadence cadence(signal_id id) noexcept {
    const bool hidden = id == signal_id::hidden_in || id == signal_id::hidden_out;
    return hidden ? epiphany::cadence(id) : relevance::cadence(id);
  }

  template <class B>
  struct state {
    epiphany::state<B> base;
    relevance::state<B> query;
  };

  template <Backend B>
  status prepare(B& backend, const model_shape& shape, state<B>& s,
                 const state_sizes& sizes) const noexcept {
    if (uses_epiphany()) {
      EPIKV_RETURN_IF_ERROR(base.prepare(backend, shape, s.base, sizes));
    }
    return query.prepare(backend, shape, s.query, sizes);
  }

  template <Backend B>
  void observe(B& backend, const model_shape& shape, state<B>& s,
               const observation<signals>& seen) const noexcept {
    if (uses_epiphany()) {
      base.observe(backend, shape, s.base, seen.template part<epiphany::signals>(0));
    }
    resolved_query(shape).observe(backend, shape, s.query,
                                  seen.template part<relevance::signals>(epiphany::column_count));
  }

  template <Backend B>
  void finish(B& backend, const model_shape& shape, state<B>& s, const sequence_progress& progress,
              token_columns columns) const noexcept {
    if (uses_epiphany()) base.finish(backend, shape, s.base, progress, columns);
    query.finish(backend, shape, s.query, progress, columns.from(epiphany::column_count));
  }

  template <Backend B>
  const float* evaluate(B& backend, const model_shape& shape, state<B>& s,
                        const evaluation& asked) const noexcept {
    evaluation queried = asked;
    queried.columns = asked.columns.from(epiphany::column_count);
    query.evaluate(backend, shape, s.query, queried);
    backend.run(blend_job{.a = mode == query_mode::add ? asked.columns.at(0, 0) : nullptr,
                          .b = asked.out,
                          .weight_b = mode == query_mode::add ? weight : 1.0,
                          .first = asked.prompt_slots,
                          .length = asked.length,
                          .out = asked.out});
    return asked.out;
  }

  template <Backend B>
  static std::size_t state_bytes(const state<B>& s) noexcept {
    return epiphany::state_bytes(s.base) + relevance::state_bytes(s.query);
  }

  template <Backend B>
  static void reset(B& backend, state<B>& s) noexcept {
    epiphany::reset(backend, s.base);
    relevance::reset(backend, s.query);
  }

  static std::string_view part_name(std::size_t i) noexcept {
    return i == 0 ? "epiphany" : i == 1 ? "relevance" : epiphany::part_name(i - 2);
  }

  /// The raw parts: the epiphany score (absent unless tracked), the relevance before
  /// standardisation, a share of attention that sums to 1 over the visible slots, and the bands of
  /// the epiphany score (absent unless those are tracked too).
  template <Backend B>
  const float* evaluate_part(B& backend, const model_shape& shape, state<B>& s,
                             const evaluation& asked, std::size_t part) const noexcept {
    if (part != 1 && !uses_epiphany()) return nullptr;
    if (part == 0) return asked.columns.at(0, 0);
    if (part > 1) return base.evaluate_part(backend, shape, s.base, asked, part - 2);
    evaluation queried = asked;
    queried.columns = asked.columns.from(epiphany::column_count);
    return query.evaluate(backend, shape, s.query, queried);
  }
};

}  // namespace epikv::inline v0
