// SPDX-License-Identifier: MIT

// Does every preset decide what a naive oracle decides? Random methods, models, prompts, chunks and
// inputs (varied, with many ties, all equal, with NaN and infinities, with rows that are not shown)
// run through the public API beside an oracle that keeps everything and recomputes it each time.
// The same runs check the budget, what is protected, and that lists partition the cache.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "epikv/cpu.hpp"
#include "support/drive_dice.hpp"
#include "support/drive_inputs.hpp"
#include "support/oracle_sequence.hpp"

namespace {

using drive::dice;
using drive::input_kind;
using oracle::at;
using oracle::ranks_by;

struct setup {
  std::string preset;
  std::string settings;
  epikv::model_shape shape;
  oracle::method method;
  drive::inputs inputs;
};

std::vector<int> random_band(dice& d, int layers) {
  std::vector<int> band;
  for (int layer = 0; layer < layers; ++layer) {
    if (d.chance(30)) band.push_back(layer);
  }
  if (band.empty()) band.push_back(d.between(0, layers - 1));
  return band;
}

void choose_common(dice& d, setup& s, int least_recent) {
  oracle::method& m = s.method;
  m.budget = d.chance(5) ? d.between(0, 4) : d.between(8, 40);
  m.tau = d.one_of({1, 1, 2, 5, 16});
  m.aligned = d.chance(30);
  m.protect_prompt = d.chance(80);
  m.sinks = d.one_of({0, 0, 2, 4, 60});
  m.recent = d.chance(20) ? -1 : d.between(0, m.budget);
  if (least_recent > 0) m.recent = d.between(least_recent, least_recent + 10);
  s.settings +=
      fmt::format("budget={} tau={} cadence={} protect_prompt={} sinks={} recent={}", m.budget,
                  m.tau, m.aligned ? "aligned" : "elapsed", m.protect_prompt, m.sinks, m.recent);
}

void choose_sets(dice& d, setup& s) {
  s.method.sets =
      d.one_of({oracle::keep_sets::sequence, oracle::keep_sets::layer, oracle::keep_sets::kv_head});
  constexpr const char* names[] = {"sequence", "layer", "kv_head"};
  s.settings += fmt::format(" keep_sets={}", names[static_cast<int>(s.method.sets)]);
}

void choose_epiphany(dice& d, setup& s) {
  oracle::method& m = s.method;
  m.window = d.one_of({1, 2, 7, 64});
  m.block_change = d.chance(25);
  m.form = d.one_of({oracle::epiphany_form::difference, oracle::epiphany_form::difference,
                     oracle::epiphany_form::a_only, oracle::epiphany_form::b_only,
                     oracle::epiphany_form::raw});
  constexpr const char* forms[] = {"difference", "a_only", "b_only", "raw"};
  m.weight_a = d.one_of({1.0, 1.29, -0.5});
  m.weight_b = d.one_of({1.0, 0.5});
  s.settings += fmt::format(" window={} change={} form={} weight_a={} weight_b={}", m.window,
                            m.block_change ? "block" : "temporal", forms[static_cast<int>(m.form)],
                            m.weight_a, m.weight_b);
  if (d.chance(70)) {
    m.band_a = random_band(d, s.shape.layers);
    m.band_b = random_band(d, s.shape.layers);
    s.settings +=
        fmt::format(" band_a={} band_b={}", fmt::join(m.band_a, ","), fmt::join(m.band_b, ","));
  }
}

void choose_reserve(dice& d, setup& s) {
  s.method.value_reserve = d.one_of({0, 0, 1, 3, 50});
  s.method.value_statistic =
      d.one_of({oracle::statistic::variance, oracle::statistic::range, oracle::statistic::norm});
  constexpr const char* names[] = {"variance", "range", "norm"};
  s.settings += fmt::format(" value_reserve={} value_stat={}", s.method.value_reserve,
                            names[static_cast<int>(s.method.value_statistic)]);
}

void choose_segments(dice& d, setup& s) {
  oracle::method& m = s.method;
  m.keeps = oracle::policy::segmented;
  m.segment = d.one_of({1, 3, 8, 200});
  for (int& quota : m.tiers) quota = d.between(0, 5);
  m.fill = d.chance(50);
  m.high_is_reasoning = d.chance(70);
  s.settings += fmt::format(" segment={} tiers={} fill={} segment_order={}", m.segment,
                            fmt::join(m.tiers, ","), m.fill, m.high_is_reasoning ? "high" : "low");
}

setup random_setup(std::uint64_t seed) {
  dice d{seed};
  setup s;
  const int kv_heads = d.one_of({1, 2, 3});
  s.shape = {.layers = d.between(1, 4),
             .query_heads = kv_heads * d.between(1, 2),
             .kv_heads = kv_heads,
             .head_dim = d.one_of({1, 2, 4, 6}),
             .hidden = d.one_of({1, 8, 16, 130})};
  s.inputs.seed = d.next();
  s.inputs.kind =
      d.one_of({input_kind::varied, input_kind::varied, input_kind::grid, input_kind::constant});
  s.inputs.bad_per_mille = d.one_of({0, 0, 0, 30});
  s.inputs.hidden_per_mille = d.one_of({0, 0, 100, 700});
  s.preset =
      d.one_of({"epikv-q", "epikv-q", "epikv-seg", "epikv-flat", "epikv-flat", "key-variance",
                "value-variance", "streaming", "random", "random-head", "none"});
  oracle::method& m = s.method;
  if (s.preset == "epikv-q") {
    m.score = ranks_by::relevance;
    m.query_window = d.between(1, 8);
    m.query_layer = d.between(0, s.shape.layers - 1);
    m.add_relevance = d.chance(50);
    m.query_weight = d.one_of({1.0, 0.25});
    choose_common(d, s, m.query_window);
    choose_epiphany(d, s);
    choose_reserve(d, s);
    choose_segments(d, s);
    s.settings +=
        fmt::format(" query_layer={} query_window={} query_mode={} query_weight={}", m.query_layer,
                    m.query_window, m.add_relevance ? "add" : "replace", m.query_weight);
    if (!m.add_relevance) m.query_weight = 1.0;
  } else if (s.preset == "epikv-seg" || s.preset == "epikv-flat") {
    m.score = ranks_by::epiphany;
    choose_common(d, s, 0);
    choose_sets(d, s);
    choose_epiphany(d, s);
    choose_reserve(d, s);
    if (s.preset == "epikv-seg") choose_segments(d, s);
  } else if (s.preset == "key-variance" || s.preset == "value-variance") {
    m.score = s.preset == "key-variance" ? ranks_by::key_variance : ranks_by::value_variance;
    choose_common(d, s, 0);
    choose_sets(d, s);
    m.window = d.one_of({1, 2, 7, 64});
    s.settings += fmt::format(" window={}", m.window);
  } else if (s.preset == "none") {
    m.keeps = oracle::policy::keep_all;
    choose_common(d, s, 0);
  } else {
    choose_common(d, s, 0);
    if (s.preset == "streaming") {
      choose_sets(d, s);
    } else {
      m.score = ranks_by::draw;
      m.seed = d.next() >> 1;
      s.settings += fmt::format(" seed={}", m.seed);
      if (s.preset == "random") choose_sets(d, s);
      if (s.preset == "random-head") m.sets = oracle::keep_sets::kv_head;
    }
  }
  return s;
}

// Shows the batch layer by layer, rows of hidden tokens left out, the rest in shuffled order.
void observe(epikv::any_evictor& evictor, const setup& s,
             const std::vector<std::pair<std::int64_t, int>>& tokens, dice& d) {
  for (int layer = 0; layer < s.shape.layers; ++layer) {
    std::vector<std::int32_t> order;
    for (int t = 0; t < oracle::count_of(tokens); ++t) {
      if (s.inputs.shown(at(tokens, t).first, layer, at(tokens, t).second)) order.push_back(t);
    }
    if (order.empty()) continue;
    for (int i = oracle::count_of(order) - 1; i > 0; --i) {
      std::swap(at(order, i), at(order, d.between(0, i)));
    }
    const auto rows = static_cast<std::int64_t>(order.size());
    const auto fill = [&](epikv::signal_id signal) {
      std::vector<float> data;
      for (const std::int32_t t : order) {
        for (int i = 0; i < drive::width_of(signal, s.shape); ++i) {
          data.push_back(
              s.inputs.element(at(tokens, t).first, signal, layer, at(tokens, t).second, i));
        }
      }
      return data;
    };
    const std::vector<float> in = fill(epikv::signal_id::hidden_in);
    const std::vector<float> out = fill(epikv::signal_id::hidden_out);
    const std::vector<float> keys = fill(epikv::signal_id::keys);
    const std::vector<float> values = fill(epikv::signal_id::values);
    const std::vector<float> queries = fill(epikv::signal_id::queries);
    const epikv::status seen = evictor.observe(
        layer, {.hidden_in = {in.data(), {rows, s.shape.hidden}},
                .hidden_out = {out.data(), {rows, s.shape.hidden}},
                .keys = {keys.data(), {rows, s.shape.kv_heads, s.shape.head_dim}},
                .values = {values.data(), {rows, s.shape.kv_heads, s.shape.head_dim}},
                .queries = {queries.data(), {rows, s.shape.query_heads, s.shape.head_dim}},
                .row_to_token = order});
    REQUIRE_MESSAGE(seen.ok(), seen.message());
  }
}

struct tally {
  int decisions = 0;
  int ambiguous = 0;
  int numbers = 0;
};

// One group before the commit: numbers, lists and the decision against the oracle.
std::vector<bool> check_group(epikv::any_evictor& evictor, const oracle::sequence& expected,
                              epikv::sequence_id id, int g, const epikv::group_selection* found,
                              bool compare_numbers, tally& seen) {
  const std::vector<int>& cached = expected.cached(g);
  std::vector<float> reported(cached.size() + 1);
  const auto count = evictor.scores(id, g, "score", reported);
  REQUIRE_MESSAGE(count.ok(), count.status().message());
  REQUIRE(*count == oracle::count_of(cached));
  reported.pop_back();
  const std::vector<oracle::number> numbers = expected.scores(g);
  for (std::size_t i = 0; compare_numbers && i < cached.size(); ++i) {
    ++seen.numbers;
    const bool agree = oracle::agrees(reported[i], numbers[i]);
    CHECK_MESSAGE(agree, "group ", g, " position ", cached[i], ": ", reported[i], " for ",
                  numbers[i].value, " scored ", numbers[i].scored);
  }

  const oracle::decision decision = expected.decide(g, reported);
  std::vector<bool> kept(cached.size(), true);
  if (found != nullptr) {
    // Ascending, and together every slot once.
    REQUIRE(found->length_before() == oracle::count_of(cached));
    CHECK(std::is_sorted(found->kept().begin(), found->kept().end()));
    CHECK(std::is_sorted(found->evicted().begin(), found->evicted().end()));
    for (const epikv::slot slot : found->evicted()) {
      REQUIRE(at(kept, epikv::to_int(slot)));
      at(kept, epikv::to_int(slot)) = false;
    }
    for (const epikv::slot slot : found->kept()) CHECK(at(kept, epikv::to_int(slot)));
  }
  ++seen.decisions;
  if (decision.ambiguous) {
    ++seen.ambiguous;
  } else {
    CHECK(kept == decision.kept);
  }
  int left = 0;
  int protected_tokens = 0;
  for (std::size_t i = 0; i < cached.size(); ++i) {
    left += kept[i] ? 1 : 0;
    protected_tokens += expected.is_protected(cached[i]) ? 1 : 0;
    if (expected.is_protected(cached[i])) CHECK(kept[i]);
  }
  CHECK(left <= std::max(expected.budget(), protected_tokens));
  return kept;
}

void run(std::uint64_t seed, tally& seen) {
  const setup s = random_setup(seed);
  CAPTURE(seed);
  CAPTURE(s.preset);
  CAPTURE(s.settings);
  dice d{seed + 77};
  auto made = epikv::make_evictor(s.preset, s.shape, s.settings);
  REQUIRE_MESSAGE(made.ok(), made.status().message());
  epikv::any_evictor& evictor = *made;

  std::vector<oracle::sequence> sequences;
  std::vector<std::int64_t> ids;
  const int count = d.between(1, 3);
  for (int i = 0; i < count; ++i) {
    ids.push_back(static_cast<std::int64_t>(d.next() >> 1));
    const int prompt = d.one_of({0, 1, 6, 20, 50});
    sequences.emplace_back(drive::oracle_shape(s.shape), s.method, ids.back(), prompt);
    sequences.back().statistics_are_exact(s.inputs.kind != input_kind::varied);
    REQUIRE(evictor.add(epikv::sequence_id{ids.back()}, prompt).ok());
    if (d.chance(30)) {
      REQUIRE(
          evictor
              .protect(epikv::sequence_id{ids.back()}, {epikv::position{24}, epikv::position{27}})
              .ok());
      sequences.back().protect(24, 27);
    }
  }
  // Infinities leave a naive softmax or variance undefined; there the decision alone is compared.
  const bool compare_numbers = s.inputs.bad_per_mille == 0;

  for (int step = 0; step < 45; ++step) {
    std::vector<epikv::step_sequence> batch;
    std::vector<std::pair<std::int64_t, int>> tokens;
    std::vector<int> in_batch;
    for (int i = 0; i < count; ++i) {
      if (d.chance(15)) continue;  // not every sequence is in every step
      oracle::sequence& one = at(sequences, i);
      const int missing = one.prompt() - one.tokens();
      const int n = missing > 0 ? d.between(1, missing + (d.chance(20) ? 2 : 0))
                                : d.one_of({1, 1, 1, 1, 3, 0});
      batch.push_back({epikv::sequence_id{at(ids, i)}, n});
      in_batch.push_back(i);
      for (int k = 0; k < n; ++k) tokens.emplace_back(at(ids, i), one.tokens() + k);
    }
    REQUIRE(evictor.begin_step(batch).ok());
    observe(evictor, s, tokens, d);
    for (std::size_t b = 0; b < batch.size(); ++b) {
      oracle::sequence& one = at(sequences, in_batch[b]);
      std::vector<oracle::token> arrived;
      for (int k = 0; k < batch[b].new_tokens; ++k) {
        arrived.push_back(
            drive::oracle_token(s.inputs, s.shape, at(ids, in_batch[b]), one.tokens() + k));
      }
      one.append(std::move(arrived));
    }
    const auto selection = evictor.select();
    REQUIRE(selection.ok());
    std::vector<std::pair<int, std::vector<std::vector<bool>>>> decided;
    for (const int i : in_batch) {
      oracle::sequence& one = at(sequences, i);
      const epikv::sequence_id id{at(ids, i)};
      const epikv::sequence_selection* found = nullptr;
      for (const epikv::sequence_selection& each : *selection) {
        if (each.sequence() == id) found = &each;
      }
      if (!one.due()) {
        CHECK(found == nullptr);
        continue;
      }
      std::vector<std::vector<bool>> kept;
      for (int g = 0; g < one.groups(); ++g) {
        kept.push_back(
            check_group(evictor, one, id, g,
                        found == nullptr ? nullptr : &found->groups()[static_cast<std::size_t>(g)],
                        compare_numbers, seen));
      }
      if (found != nullptr) decided.emplace_back(i, std::move(kept));
    }
    if (d.chance(10)) continue;  // the host does not apply it: nothing may have changed
    REQUIRE(evictor.commit(*selection).ok());
    for (const auto& [i, kept] : decided) {
      at(sequences, i).commit(kept);
      for (int g = 0; g < at(sequences, i).groups(); ++g) {
        const auto positions = evictor.positions(epikv::sequence_id{at(ids, i)}, g);
        REQUIRE(positions.ok());
        const bool same =
            std::equal(positions->begin(), positions->end(), at(sequences, i).cached(g).begin(),
                       at(sequences, i).cached(g).end(),
                       [](epikv::position p, int q) { return epikv::to_int(p) == q; });
        CHECK(same);
      }
    }
  }
}

#if defined(NDEBUG)
constexpr int runs = 600;
#else
constexpr int runs = 150;
#endif

}  // namespace

TEST_CASE("every preset decides what a naive oracle decides, over random methods and inputs") {
  tally seen;
  for (int i = 0; i < runs; ++i) run(static_cast<std::uint64_t>(i), seen);
  MESSAGE(seen.decisions, " decisions, ", seen.ambiguous, " beyond f32, ", seen.numbers,
          " numbers");
  CHECK(seen.decisions > 10 * runs);
  CHECK(seen.numbers > 100 * runs);
  CHECK(seen.ambiguous * 5 < seen.decisions);
}
