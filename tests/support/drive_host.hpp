// SPDX-License-Identifier: MIT
#pragma once

// A host with habits: it shows the same tokens in many forms, applies what is selected, and keeps
// the story of every sequence, so that two runs can be compared bit for bit.

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "epikv/cpu.hpp"
#include "support/drive_dice.hpp"
#include "support/drive_inputs.hpp"
#include "support/drive_layout.hpp"

namespace drive {

// How a host shows the tokens of a step.
struct habit {
  layout how{};
  bool shuffled = false;    // rows in another order than tokens
  int ignored_rows = 0;     // rows of NaN that stand for no token
  int calls_per_layer = 1;  // a layer's rows in several observe() calls
  std::uint64_t seed = 0;
};

struct shown_token {
  std::int64_t sequence = 0;
  int position = 0;
};

// One observe() call: the tokens `order` of the step, -1 for a row of NaN.
template <class Evictor>
epikv::status show_rows(Evictor& ev, const inputs& in, const std::vector<shown_token>& tokens,
                        int layer, const std::vector<std::int32_t>& order, bool identity,
                        const layout& how) {
  using epikv::signal_id;
  const epikv::model_shape& shape = ev.shape();
  const epikv::signal_set wanted = ev.wants(layer);
  const auto rows_of = [&](signal_id signal, int heads) {
    const int width = width_of(signal, shape);
    std::vector<std::vector<float>> rows;
    for (const std::int32_t t : order) {
      std::vector<float> row(static_cast<std::size_t>(width),
                             std::numeric_limits<float>::quiet_NaN());
      for (int i = 0; t >= 0 && i < width; ++i) {
        const shown_token& token = oracle::at(tokens, t);
        oracle::at(row, i) = in.element(token.sequence, signal, layer, token.position, i);
      }
      rows.push_back(std::move(row));
    }
    return wanted.contains(signal) ? laid_out{rows, heads, width, how} : laid_out{};
  };
  const laid_out hidden_in = rows_of(signal_id::hidden_in, 0);
  const laid_out hidden_out = rows_of(signal_id::hidden_out, 0);
  const laid_out keys = rows_of(signal_id::keys, shape.kv_heads);
  const laid_out values = rows_of(signal_id::values, shape.kv_heads);
  const laid_out queries = rows_of(signal_id::queries, shape.query_heads);
  const auto view = [&](signal_id signal, const laid_out& data) {
    return wanted.contains(signal) ? data.view() : epikv::tensor_view{};
  };
  epikv::layer_signals given{.hidden_in = view(signal_id::hidden_in, hidden_in),
                             .hidden_out = view(signal_id::hidden_out, hidden_out),
                             .keys = view(signal_id::keys, keys),
                             .values = view(signal_id::values, values),
                             .queries = view(signal_id::queries, queries)};
  if (!identity) given.row_to_token = order;
  return ev.observe(layer, given);
}

// All layers of a step whose tokens are `tokens`, in batch order.
template <class Evictor>
epikv::status show_step(Evictor& ev, const inputs& in, const std::vector<shown_token>& tokens,
                        const habit& h) {
  dice d{h.seed + tokens.size()};
  for (int layer = 0; layer < ev.shape().layers; ++layer) {
    if (ev.wants(layer).empty()) continue;
    const int count = oracle::count_of(tokens);
    for (int call = 0; call < h.calls_per_layer; ++call) {
      std::vector<std::int32_t> order;
      for (int t = count * call / h.calls_per_layer; t < count * (call + 1) / h.calls_per_layer;
           ++t) {
        const shown_token& token = oracle::at(tokens, t);
        if (in.shown(token.sequence, layer, token.position)) order.push_back(t);
      }
      if (order.empty()) continue;
      const bool identity = oracle::count_of(order) == count && !h.shuffled && h.ignored_rows == 0;
      order.resize(order.size() + static_cast<std::size_t>(h.ignored_rows), -1);
      for (int i = oracle::count_of(order) - 1; h.shuffled && i > 0; --i) {
        std::swap(oracle::at(order, i), oracle::at(order, d.between(0, i)));
      }
      const epikv::status seen = show_rows(ev, in, tokens, layer, order, identity, h.how);
      if (!seen) return seen;
    }
  }
  return {};
}

// What one sequence went through.
struct story {
  struct eviction {
    int tokens = 0;                                    // seen when it happened
    std::vector<std::vector<std::int32_t>> positions;  // evicted, per group
    friend bool operator==(const eviction&, const eviction&) = default;
  };
  std::vector<eviction> evictions;
  std::vector<std::vector<std::int32_t>> kept;    // positions at the end, per group
  std::vector<std::vector<std::uint32_t>> score;  // the bits of their scores
  std::int64_t nan_scores = 0;
  std::int64_t unscored = 0;
  friend bool operator==(const story&, const story&) = default;
};

// How one sequence arrives: its prompt, then the sizes of its steps.
struct plan {
  std::int64_t id = 0;
  int prompt = 0;
  std::vector<int> steps;
};

inline std::vector<std::int32_t> evicted_positions(const epikv::group_selection& group) {
  std::vector<std::int32_t> out;
  for (const epikv::slot s : group.evicted()) {
    out.push_back(epikv::to_int(group.positions()[static_cast<std::size_t>(epikv::to_int(s))]));
  }
  return out;
}

template <class Evictor>
class host {
 public:
  host(Evictor& ev, const inputs& in, const habit& h = {}) : ev_{ev}, in_{in}, habit_{h} {}

  void join(const plan& p) {
    REQUIRE(ev_.add(epikv::sequence_id{p.id}, p.prompt).ok());
    seen_[p.id] = 0;
    stories_[p.id] = {};
  }
  void leave(std::int64_t id) {
    REQUIRE(ev_.remove(epikv::sequence_id{id}).ok());
    seen_.erase(id);
  }

  // begin_step() and every layer.
  void show(const std::vector<epikv::step_sequence>& batch) {
    const epikv::status begun = ev_.begin_step(batch);
    REQUIRE_MESSAGE(begun.ok(), begun.message());
    std::vector<shown_token> tokens;
    for (const epikv::step_sequence& part : batch) {
      int& seen = seen_[epikv::to_int(part.sequence)];
      for (int i = 0; i < part.new_tokens; ++i) {
        tokens.push_back({epikv::to_int(part.sequence), seen++});
      }
    }
    const epikv::status shown = show_step(ev_, in_, tokens, habit_);
    REQUIRE_MESSAGE(shown.ok(), shown.message());
  }
  // Notes what a selection says and commits it.
  void apply(const epikv::selection& chosen) {
    for (const epikv::sequence_selection& part : chosen) note(part);
    REQUIRE(ev_.commit(chosen).ok());
  }
  void note(const epikv::sequence_selection& part) {
    const std::int64_t id = epikv::to_int(part.sequence());
    story::eviction e{seen_[id], {}};
    for (const epikv::group_selection& g : part.groups()) {
      e.positions.push_back(evicted_positions(g));
    }
    stories_[id].evictions.push_back(std::move(e));
  }
  void step(const std::vector<epikv::step_sequence>& batch) {
    show(batch);
    const auto chosen = ev_.select();
    REQUIRE(chosen.ok());
    apply(*chosen);
  }

  [[nodiscard]] int seen(std::int64_t id) const { return seen_.at(id); }

  // The story so far, with the cache and the scores as they are now.
  [[nodiscard]] story story_of(std::int64_t id) {
    story s = stories_[id];
    const epikv::sequence_id sequence{id};
    for (int g = 0; ev_.length(sequence, g).ok(); ++g) {
      const auto positions = ev_.positions(sequence, g);
      std::vector<float> scores(positions->size());
      REQUIRE(ev_.scores(sequence, g, "score", scores).ok());
      s.kept.emplace_back();
      s.score.emplace_back();
      for (const epikv::position p : *positions) s.kept.back().push_back(epikv::to_int(p));
      for (const float x : scores) s.score.back().push_back(std::bit_cast<std::uint32_t>(x));
    }
    s.nan_scores = ev_.statistics(sequence)->nan_scores;
    s.unscored = ev_.statistics(sequence)->unscored_tokens;
    return s;
  }

 private:
  Evictor& ev_;
  const inputs& in_;
  habit habit_;
  std::map<std::int64_t, int> seen_;
  std::map<std::int64_t, story> stories_;
};

// One sequence alone, its steps as planned.
template <class Evictor>
story run_alone(Evictor& ev, const inputs& in, const plan& p, const habit& h = {}) {
  host<Evictor> one{ev, in, h};
  one.join(p);
  for (const int n : p.steps) one.step({{epikv::sequence_id{p.id}, n}});
  return one.story_of(p.id);
}

// A prompt in random chunks, then decode steps, mostly of one token.
inline plan random_plan(dice& d, std::int64_t id, int decode_steps) {
  plan p{id, d.one_of({0, 1, 4, 9, 17}), {}};
  for (int left = p.prompt; left > 0;) {
    p.steps.push_back(d.between(1, left));
    left -= p.steps.back();
  }
  for (int i = 0; i < decode_steps; ++i) p.steps.push_back(d.one_of({1, 1, 1, 1, 2, 0}));
  return p;
}

}  // namespace drive
