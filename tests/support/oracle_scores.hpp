// SPDX-License-Identifier: MIT
#pragma once

// Each method's number for the cached tokens of a sequence, recomputed from everything that was
// ever shown of it.

#include <cmath>
#include <limits>
#include <vector>

#include "support/oracle_numbers.hpp"

namespace oracle {

// All that was shown of one token, per layer; a layer that was not shown has empty rows.
struct token {
  struct layer {
    bool shown = false;
    row hidden_in;
    row hidden_out;
    row keys;     // [kv_heads * head_dim]
    row values;   // [kv_heads * head_dim]
    row queries;  // [query_heads * head_dim]
  };
  std::vector<layer> layers;
};
using history = std::vector<token>;

// The change of the residual stream in one layer at token t; unscored if it cannot be known.
inline number change_of(const history& tokens, const method& m, int prompt, int layer, int t) {
  const auto shown = [&](int i) { return at(at(tokens, i).layers, layer).shown; };
  const auto out = [&](int i) -> const row& { return at(at(tokens, i).layers, layer).hidden_out; };
  if (!shown(t)) return unscored();
  if (m.block_change) return {distance(out(t), at(at(tokens, t).layers, layer).hidden_in)};
  if (t > 0 && shown(t - 1)) return {distance(out(t), out(t - 1))};
  // Of the prompt only the last state counts, so an earlier one is no predecessor that was missed.
  for (int i = std::max(prompt - 1, 0); i < t; ++i) {
    if (shown(i)) return unscored();
  }
  // No state before it: the change is 0, unless the state itself is not a number.
  return {distance(out(t), out(t))};
}

// Mean over the band's layers that could be told; unscored if none could.
inline number band_change(const history& tokens, const method& m, int prompt,
                          const std::vector<int>& band, int t) {
  row changes;
  for (const int layer : band) {
    const number n = change_of(tokens, m, prompt, layer, t);
    if (n.scored) changes.push_back(n.value);
  }
  return changes.empty() ? unscored() : number{mean_of(changes)};
}

// One band's part of the score; a value that is not finite never enters the window.
inline number roll(row& values, double value, const method& m) {
  if (!std::isfinite(value)) return {std::numeric_limits<double>::quiet_NaN()};
  values.push_back(value);
  return m.form == epiphany_form::raw ? rolling_mean(values, m.window)
                                      : rolling_z(values, m.window);
}

// The epiphany score of every token; the prompt has none.
inline std::vector<number> epiphany(const history& tokens, const method& m, const shape& s,
                                    int prompt) {
  const std::vector<int> a = layers_a(m, s);
  const std::vector<int> b = layers_b(m, s);
  std::vector<number> out(tokens.size(), unscored());
  row window_a;
  row window_b;
  for (int t = prompt; t < count_of(tokens); ++t) {
    const number change_a = m.uses_a() ? band_change(tokens, m, prompt, a, t) : number{};
    const number change_b = m.uses_b() ? band_change(tokens, m, prompt, b, t) : number{};
    if (!change_a.scored || !change_b.scored) continue;
    number e;
    if (m.uses_a()) {
      const number part = roll(window_a, change_a.value, m);
      e = {m.weight_a * part.value, std::abs(m.weight_a) * part.slack};
    }
    if (m.uses_b()) {
      const number part = roll(window_b, change_b.value, m);
      e = {e.value - m.weight_b * part.value, e.slack + std::abs(m.weight_b) * part.slack};
    }
    at(out, t) = e;
  }
  return out;
}

// Mean over the layers shown and the KV heads of a statistic of the token's own key or value.
inline number channel_statistic(const token& t, bool of_keys, statistic kind, const shape& s) {
  row found;
  for (const token::layer& l : t.layers) {
    if (!l.shown) continue;
    const row& all = of_keys ? l.keys : l.values;
    for (int h = 0; h < s.kv_heads; ++h) {
      const auto begin = all.begin() + h * s.head_dim;
      found.push_back(statistic_of(kind, row(begin, begin + s.head_dim)));
    }
  }
  return found.empty() ? unscored() : number{mean_of(found), 1e-9};
}

inline std::vector<number> channel_statistics(const history& tokens, bool of_keys, statistic kind,
                                              const shape& s) {
  std::vector<number> out;
  for (const token& t : tokens) out.push_back(channel_statistic(t, of_keys, kind, s));
  return out;
}

// Rolling mean over the decode tokens' variances; the prompt has none.
inline std::vector<number> rolling_variance(const history& tokens, bool of_keys, const method& m,
                                            const shape& s, int prompt) {
  std::vector<number> out(tokens.size(), unscored());
  row window;
  for (int t = prompt; t < count_of(tokens); ++t) {
    const number n = channel_statistic(at(tokens, t), of_keys, statistic::variance, s);
    if (!n.scored) continue;
    if (std::isfinite(n.value)) {
      window.push_back(n.value);
      at(out, t) = rolling_mean(window, m.window);
      at(out, t).slack += 1e-9;
    } else {
      at(out, t) = {std::numeric_limits<double>::quiet_NaN()};
    }
  }
  return out;
}

// q.K of the last tokens' queries against the cached keys, per cached token.
inline std::vector<number> relevance(const history& tokens, const method& m, const shape& s,
                                     const std::vector<int>& cached) {
  const int layer = layer_of_queries(m, s);
  const auto of = [&](int t) -> const token::layer& { return at(at(tokens, t).layers, layer); };
  row sum(cached.size(), 0.0);
  int queries = 0;
  for (int t = std::max(0, count_of(tokens) - m.query_window); t < count_of(tokens); ++t) {
    if (!of(t).shown) continue;
    for (int head = 0; head < s.query_heads; ++head) {
      const int kv_head = head / (s.query_heads / s.kv_heads);
      row logits(cached.size(), 0.0);
      std::vector<bool> visible(cached.size());
      for (std::size_t i = 0; i < cached.size(); ++i) {
        visible[i] = cached[i] <= t && of(cached[i]).shown;
        if (!visible[i]) continue;
        logits[i] = dot(of(t).queries, of(cached[i]).keys, head, kv_head, s.head_dim) /
                    std::sqrt(static_cast<double>(s.head_dim));
      }
      const row share = softmax(logits, visible);
      for (std::size_t i = 0; i < cached.size(); ++i) sum[i] += share[i];
      ++queries;
    }
  }
  std::vector<number> out;
  for (std::size_t i = 0; i < cached.size(); ++i) {
    const bool known = queries > 0 && of(cached[i]).shown;
    out.push_back(known ? number{sum[i] / queries, 1e-12} : unscored());
  }
  return out;
}

inline std::vector<number> of_cached(const std::vector<number>& all,
                                     const std::vector<int>& cached) {
  std::vector<number> out;
  for (const int p : cached) out.push_back(at(all, p));
  return out;
}

// Standardised relevance over the decode tokens, alone or on top of the epiphany score.
inline std::vector<number> blend(const history& tokens, const method& m, const shape& s, int prompt,
                                 const std::vector<int>& cached) {
  int first = 0;
  while (first < count_of(cached) && at(cached, first) < prompt) ++first;
  std::vector<number> out = standardised(relevance(tokens, m, s, cached), first);
  if (!m.add_relevance) return out;
  const std::vector<number> base =
      standardised(of_cached(epiphany(tokens, m, s, prompt), cached), first);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!out[i].scored || !base[i].scored) {
      out[i] = unscored();
      continue;
    }
    out[i].value = base[i].value + m.query_weight * out[i].value;
    out[i].slack = base[i].slack + std::abs(m.query_weight) * (out[i].slack + 1e-6);
  }
  return out;
}

}  // namespace oracle
