// SPDX-License-Identifier: MIT

// Is an evictor made by a preset's name the one a host would type by hand, bit for bit, with the
// preset's defaults and with every setting changed? And do the lists of names tell the truth?

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "epikv/cpu.hpp"
#include "unit/driver.hpp"

namespace {

using namespace epikv;

constexpr model_shape shape{
    .layers = 4, .query_heads = 4, .kv_heads = 2, .head_dim = 8, .hidden = 16};
constexpr sequence_id with_prompt{3};
constexpr sequence_id without_prompt{-8};
constexpr std::int32_t prompt = 12;
constexpr int steps = 220;  // enough for two evictions 128 decode tokens apart

// All that one step showed of an evictor: what it selected and what it holds afterwards.
struct step_record {
  std::vector<std::int32_t> selected;   // sequence, over budget, keys, of each selection
  std::vector<std::int32_t> kept;       // slots
  std::vector<std::int32_t> evicted;    // slots
  std::vector<std::int32_t> positions;  // by slot after the commit
  std::vector<std::uint32_t> scores;    // bits of every part, by slot after the commit
};
struct record {
  std::vector<step_record> steps;
  status fault;  // of the first call that failed, which ended the run
};

template <class Evictor>
status add_sequences(Evictor& ev) {
  EPIKV_RETURN_IF_ERROR(ev.add(with_prompt, prompt));
  return ev.add(without_prompt, 0);
}

// Steps [from, to) of a run: chunks of the prompt, then one to three tokens; the other sequence
// joins every second step.
template <class Evictor>
record run(Evictor& ev, int from, int to, std::vector<std::int32_t>& tokens) {
  epikv_test::feed source{shape, 16, 11};
  record out;
  for (int i = from; i < to; ++i) {
    const bool chunk = tokens[0] < prompt;
    std::vector<step_sequence> batch{{with_prompt, chunk ? prompt / 2 : i % 3 == 2 ? 3 : 1}};
    if (i % 2 == 1) batch.push_back({without_prompt, i % 5 == 4 ? 2 : 1});
    out.fault = epikv_test::show_step(ev, source, batch, tokens);
    const auto chosen = ev.select();
    if (!chosen) out.fault = chosen.status();
    if (!out.fault) return out;
    step_record& step = out.steps.emplace_back();
    for (const sequence_selection& part : *chosen) {
      step.selected.push_back(static_cast<std::int32_t>(to_int(part.sequence())));
      step.selected.push_back(part.over_budget());
      for (const group_selection& group : part.groups()) {
        step.selected.push_back(group.key().layer);
        step.selected.push_back(group.key().kv_head);
        for (const slot s : group.kept()) step.kept.push_back(to_int(s));
        for (const slot s : group.evicted()) step.evicted.push_back(to_int(s));
      }
    }
    out.fault = ev.commit(*chosen);
    if (!out.fault) return out;
    for (const sequence_id id : {with_prompt, without_prompt}) {
      for (std::int32_t g = 0; g < shape.groups(ev.options().keep_sets); ++g) {
        const auto positions = ev.positions(id, g);
        if (!positions) out.fault = positions.status();
        if (!positions) return out;
        for (const position p : *positions) step.positions.push_back(to_int(p));
        std::vector<float> numbers(positions->size());
        for (const char* part : {"score", "epiphany", "relevance"}) {
          const auto count = ev.scores(id, g, part, numbers);
          if (!count) continue;  // a score without such a part
          step.scores.push_back(static_cast<std::uint32_t>(*count));
          for (const float x : numbers) step.scores.push_back(std::bit_cast<std::uint32_t>(x));
        }
      }
    }
  }
  return out;
}

void check_same(const record& named, const record& typed) {
  REQUIRE_MESSAGE(named.fault.ok(), named.fault.message());
  REQUIRE_MESSAGE(typed.fault.ok(), typed.fault.message());
  REQUIRE(named.steps.size() == typed.steps.size());
  for (std::size_t i = 0; i < typed.steps.size(); ++i) {
    CAPTURE(i);
    const step_record& a = named.steps[i];
    const step_record& b = typed.steps[i];
    CHECK(a.selected == b.selected);
    CHECK(a.kept == b.kept);
    CHECK(a.evicted == b.evicted);
    CHECK(a.positions == b.positions);
    CHECK(a.scores == b.scores);
  }
}

std::size_t evicted_by(const record& of) {
  std::size_t sum = 0;
  for (const step_record& step : of.steps) sum += step.evicted.size();
  return sum;
}

void check_same(const evictor_options& named, const evictor_options& typed) {
  CHECK(named.budget == typed.budget);
  CHECK(named.tau == typed.tau);
  CHECK(named.when == typed.when);
  CHECK(named.protect_prompt == typed.protect_prompt);
  CHECK(named.sinks == typed.sinks);
  CHECK(named.recent == typed.recent);
  CHECK(named.on_overflow == typed.on_overflow);
  CHECK(named.keep_sets == typed.keep_sets);
  CHECK(named.step_tokens == typed.step_tokens);
}

// What an evictor asks for: cadence and layers of every signal.
template <class Evictor>
std::vector<int> asked_by(const Evictor& ev) {
  std::vector<int> out;
  for (int id = 0; id < 5; ++id) {
    const auto signal = static_cast<signal_id>(id);
    out.push_back(static_cast<int>(ev.cadence(signal)));
    for (std::int32_t layer = -1; layer <= shape.layers; ++layer) {
      out.push_back(ev.wants(layer).contains(signal) ? 1 : 0);
    }
  }
  return out;
}

// Everything seen of an evictor from its making to the end of the run.
struct life {
  model_shape shape;
  evictor_options options;
  std::vector<int> asked;
  record run;
  evictor_statistics statistics;
};
template <class Evictor>
life life_of(Evictor& ev) {
  life out{ev.shape(), ev.options(), asked_by(ev), {}, {}};
  out.run.fault = add_sequences(ev);
  std::vector<std::int32_t> tokens(2);
  if (out.run.fault) out.run = run(ev, 0, steps, tokens);
  out.statistics = ev.statistics();
  return out;
}

void check_same(const life& named, const life& typed, const evictor_options& options) {
  CHECK(named.shape == shape);
  CHECK(typed.shape == shape);
  check_same(named.options, options);
  check_same(typed.options, options);
  CHECK(named.asked == typed.asked);
  check_same(named.run, typed.run);
  CHECK(named.statistics.evictions == typed.statistics.evictions);
  CHECK(named.statistics.evicted == typed.statistics.evicted);
}

// The preset made by name against the same score, policy and options typed by hand.
template <class S, class P>
void check_preset(std::string_view name, const option_list& settings, const S& score,
                  const P& policy, const evictor_options& options) {
  CAPTURE(name);
  auto named = make_evictor(name, shape, settings);
  REQUIRE_MESSAGE(named.ok(), named.status().message());
  evictor typed{shape, score, policy, cpu_backend{}, options};
  const life by_hand = life_of(typed);
  check_same(life_of(*named), by_hand, options);
  if (P::evicts) {
    CHECK(evicted_by(by_hand.run) > 100);
    CHECK(by_hand.statistics.evictions >= 2);
  } else {
    CHECK(evicted_by(by_hand.run) == 0);
  }
}

// A budget that the run exceeds, and at which the default tiers of 64, 32 and 8 leave something.
const option_list only_budget{{"budget", 160}};

// Every setting of a topic changed, as a text and by hand.
const std::string common_text =
    "budget=48 tau=7 cadence=aligned protect_prompt=false sinks=3 recent=10 on_overflow=refuse "
    "step_tokens=5";
const std::string epiphany_text =
    " window=9 band_a=0,1 band_b=3 weight_a=1.5 weight_b=0.25 change=block form=raw";
const std::string reserve_text = " value_reserve=4 value_stat=norm";
const std::string segments_text = " segment=8 tiers=4,2,1 fill=true segment_order=low";

evictor_options common(granularity keep_sets = granularity::sequence) {
  return {.budget = 48,
          .tau = 7,
          .when = cadence::aligned,
          .protect_prompt = false,
          .sinks = 3,
          .recent = 10,
          .on_overflow = overflow::refuse,
          .keep_sets = keep_sets,
          .step_tokens = 5};
}
epiphany changed_epiphany() {
  return {.band_a = {0, 1},
          .band_b = 3,
          .window = 9,
          .change = hidden_change::block,
          .form = epiphany_form::raw,
          .weight_a = 1.5,
          .weight_b = 0.25};
}
constexpr value_reserve reserve{.tokens = 4, .statistic = row_statistic::norm};
segmented changed_segments(bool fill) {
  return {.tiers = {.segment = 8, .quota = {4, 2, 1}, .fill = fill, .high_is_reasoning = false},
          .reserve = reserve};
}

}  // namespace

TEST_CASE("epikv-q is the epiphany score with relevance under filled segments") {
  check_preset("epikv-q", only_budget, epiphany_with_relevance{},
               segmented{.tiers = {.fill = true}}, {.budget = 160});
  epiphany_with_relevance score{.base = changed_epiphany(),
                                .query = {.layer = 2, .window = 5},
                                .mode = query_mode::add,
                                .weight = 2.5,
                                .track_epiphany = true};
  const std::string text = common_text + epiphany_text + reserve_text +
                           " segment=8 tiers=4,2,1 fill=false segment_order=low query_layer=2"
                           " query_window=5 query_weight=2.5 track_epiphany=true query_mode=";
  check_preset("epikv-q", text + "add", score, changed_segments(false), common());
  score.mode = query_mode::replace;
  check_preset("epikv-q", text + "replace", score, changed_segments(false), common());
}

TEST_CASE("epikv-seg is the epiphany score under segments") {
  check_preset("epikv-seg", only_budget, epiphany{}, segmented{}, {.budget = 160});
  check_preset("epikv-seg",
               common_text + epiphany_text + reserve_text + segments_text + " keep_sets=kv_head",
               changed_epiphany(), changed_segments(true), common(granularity::kv_head));
}

TEST_CASE("epikv-flat is the epiphany score, flat, at every token") {
  check_preset("epikv-flat", only_budget, epiphany{}, top_k{}, {.budget = 160, .tau = 1});
  check_preset("epikv-flat", common_text + epiphany_text + reserve_text + " keep_sets=layer",
               changed_epiphany(), top_k{reserve}, common(granularity::layer));
}

TEST_CASE("key-variance and value-variance are rolling means of 64, flat, at every token") {
  check_preset("key-variance", only_budget, key_statistic{.window = 64}, top_k{},
               {.budget = 160, .tau = 1});
  check_preset("key-variance", common_text + " window=9 keep_sets=layer",
               key_statistic{.window = 9}, top_k{}, common(granularity::layer));
  check_preset("value-variance", only_budget, value_statistic{.window = 64}, top_k{},
               {.budget = 160, .tau = 1});
  check_preset("value-variance", common_text + " window=9", value_statistic{.window = 9}, top_k{},
               common());
}

TEST_CASE("streaming keeps four sinks and the newest tokens") {
  check_preset("streaming", only_budget, no_score{}, top_k{},
               {.budget = 160, .tau = 1, .protect_prompt = false, .sinks = 4});
  check_preset("streaming", common_text + " keep_sets=kv_head", no_score{}, top_k{},
               common(granularity::kv_head));
}

TEST_CASE("random draws by its seed, for the sequence or for every head") {
  check_preset("random", only_budget, random_score{}, top_k{}, {.budget = 160});
  check_preset("random", common_text + " seed=41 keep_sets=layer", random_score{.seed = 41},
               top_k{}, common(granularity::layer));
  check_preset("random-head", only_budget, random_score{}, top_k{},
               {.budget = 160, .keep_sets = granularity::kv_head});
  check_preset("random-head", common_text + " seed=41", random_score{.seed = 41}, top_k{},
               common(granularity::kv_head));
}

TEST_CASE("none evicts nothing") {
  check_preset("none", only_budget, no_score{}, keep_all{}, {.budget = 160});
  check_preset("none", common_text, no_score{}, keep_all{}, common());
}

TEST_CASE("the run of these comparisons tells every preset from every other") {
  std::vector<record> all;
  for (const preset_info& each : presets) {
    // Long rounds and chunks would leave this run as it is.
    const bool chunks = each.name == "lag-kv";
    auto made =
        make_evictor(each.name, shape, chunks ? "budget=160 lag=32" : "budget=160 buffer=0");
    REQUIRE(made.ok());
    all.push_back(life_of(*made).run);
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
      bool differs = false;
      for (std::size_t step = 0; step < all[i].steps.size(); ++step) {
        differs = differs || all[i].steps[step].kept != all.back().steps[step].kept;
      }
      CHECK_MESSAGE(differs, presets[i].name << " and " << each.name);
    }
  }
}

TEST_CASE("a handle goes on where it was after a move") {
  const auto make = [] { return make_evictor("epikv-q", shape, "budget=60 tau=8 recent=10"); };
  auto stays = make();
  auto moves = make();
  REQUIRE(stays.ok());
  REQUIRE(moves.ok());
  REQUIRE(add_sequences(*stays).ok());
  REQUIRE(add_sequences(*moves).ok());
  std::vector<std::int32_t> tokens(2);
  const record whole = run(*stays, 0, 100, tokens);
  CHECK(evicted_by(whole) > 50);

  record parts;
  std::vector<std::int32_t> again(2);
  const auto go_on = [&](any_evictor& ev, int from, int to) {
    record part = run(ev, from, to, again);
    CHECK_MESSAGE(part.fault.ok(), part.fault.message());
    std::move(part.steps.begin(), part.steps.end(), std::back_inserter(parts.steps));
  };
  go_on(*moves, 0, 50);
  any_evictor elsewhere = *std::move(moves);
  go_on(elsewhere, 50, 75);
  auto other = make();
  REQUIRE(other.ok());
  *other = std::move(elsewhere);
  go_on(*other, 75, 100);
  check_same(parts, whole);
}

TEST_CASE("settings may be gone once the evictor is made") {
  const auto make = [] {
    const auto name = std::make_unique<std::string>("epikv-flat");
    const auto text = std::make_unique<std::string>("budget=48 band_a=0,1 cadence=aligned");
    return make_evictor(*name, shape, *text);
  };
  const auto made = make();
  REQUIRE(made.ok());
  CHECK(made->options().budget == 48);
  CHECK(made->options().when == cadence::aligned);
  // Nor does an error refer to them.
  const auto fail = [](const char* preset, const char* settings) {
    const auto name = std::make_unique<std::string>(preset);
    const auto text = std::make_unique<std::string>(settings);
    return make_evictor(*name, shape, *text).status();
  };
  CHECK(fail("a preset nobody knows", "").got() == "a preset nobody knows");
  CHECK(fail("random", "an_option_nobody_knows=1").got() == "an_option_nobody_knows");
  CHECK(fail("random", "budget=a_large_number_of_tokens").got() == "a_large_number_of_tokens");
  CHECK(fail("random", "words_without_an_equals_sign").got() == "words_without_an_equals_sign");
}

namespace {

std::vector<std::string> split(std::string_view names) {
  std::vector<std::string> out{""};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names.substr(i, 2) == ", ") {
      out.emplace_back();
      ++i;
    } else {
      out.back() += names[i];
    }
  }
  return out;
}

// A value that every setting takes, in the order they are listed in.
const std::vector<std::pair<std::string, std::string>> common_settings{
    {"budget", "64"},           {"tau", "2"},   {"buffer", "0"}, {"cadence", "elapsed"},
    {"protect_prompt", "true"}, {"sinks", "1"}, {"recent", "9"}, {"on_overflow", "keep"},
    {"step_tokens", "4"}};
const std::vector<std::pair<std::string, std::string>> special_settings{
    {"keep_sets", "layer"},
    {"seed", "5"},
    {"window", "8"},
    {"band_a", "1"},
    {"band_b", "2"},
    {"weight_a", "1"},
    {"weight_b", "1"},
    {"change", "temporal"},
    {"form", "difference"},
    {"track_bands", "1"},
    {"value_reserve", "1"},
    {"value_stat", "norm"},
    {"segment", "8"},
    {"tiers", "4,2,1"},
    {"fill", "true"},
    {"segment_order", "high"},
    {"query_layer", "1"},
    {"query_window", "4"},
    {"query_mode", "replace"},
    {"query_weight", "1"},
    {"track_epiphany", "1"},
    {"attended_by", "decode_queries"},
    {"per_query", "1"},
    {"heads", "sum"},
    {"kernel", "3"},
    {"pool", "max"},
    {"group_queries", "sum"},
    {"lambda", "0.5"},
    {"redundancy", "linear"},
    {"threshold", "0.4"},
    {"chunk", "8"},
    {"with_values", "0"},
    {"lag", "8"},
    {"ratio", "0.5"},
    {"value_weight", "2"},
    {"share", "0.25"},
    {"beta", "2"}};

// Which of the special settings each preset understands.
const std::vector<std::pair<std::string, std::set<std::string>>>& understood() {
  static const std::set<std::string> flat{"keep_sets",     "window",     "band_a",     "band_b",
                                          "weight_a",      "weight_b",   "change",     "form",
                                          "value_reserve", "value_stat", "track_bands"};
  static const std::vector<std::pair<std::string, std::set<std::string>>> all = [] {
    std::set<std::string> seg = flat;
    seg.insert({"segment", "tiers", "fill", "segment_order"});
    std::set<std::string> q = seg;
    // One layer's relevance serves one keep-set.
    q.erase("keep_sets");
    q.insert({"query_layer", "query_window", "query_mode", "query_weight", "track_epiphany"});
    const std::set<std::string> window{"keep_sets", "window"};
    const std::set<std::string> mass{"keep_sets", "attended_by", "per_query", "heads"};
    const std::set<std::string> attended{"keep_sets", "query_window", "kernel", "pool",
                                         "group_queries"};
    std::set<std::string> mixed = attended;
    mixed.insert({"share", "seed"});
    std::set<std::string> redundant = attended;
    redundant.insert({"lambda", "redundancy", "threshold"});
    std::set<std::string> global_redundant = redundant;
    global_redundant.erase("keep_sets");
    std::set<std::string> drawn = attended;
    drawn.insert({"beta", "seed", "value_reserve", "value_stat"});
    std::set<std::string> hidden = flat;
    hidden.erase("value_reserve");
    hidden.erase("value_stat");
    return std::vector<std::pair<std::string, std::set<std::string>>>{
        {"epikv-q", q},
        {"epikv-seg", seg},
        {"epikv-flat", flat},
        {"epikv-mix", mixed},
        {"key-variance", window},
        {"value-variance", window},
        {"streaming", {"keep_sets"}},
        {"h2o", mass},
        {"h2o-global", mass},
        {"tova", attended},
        {"tova-rows", {"keep_sets"}},
        {"snapkv", attended},
        {"keydiff", {"keep_sets"}},
        {"knorm", {"keep_sets"}},
        {"r-kv", redundant},
        {"r-kv-global", global_redundant},
        {"lag-kv", {"keep_sets", "lag", "ratio", "value_weight"}},
        {"lag-kv-global", {"chunk", "with_values"}},
        {"raas", {}},
        {"longflow", {"keep_sets"}},
        {"vase", drawn},
        {"attention-hidden", hidden},
        {"random", {"keep_sets", "seed"}},
        {"random-head", {"seed"}},
        {"none", {}}};
  }();
  return all;
}

}  // namespace

TEST_CASE("the list of presets names what can be made, the default first") {
  std::vector<std::string> expected;
  for (const auto& each : understood()) expected.push_back(each.first);
  std::vector<std::string> listed;
  for (const preset_info& each : presets) {
    listed.emplace_back(each.name);
    CHECK_FALSE(each.summary.empty());
    CHECK(each.summary.find('\n') == std::string_view::npos);
    const auto made = make_evictor(each.name, shape);
    CHECK_MESSAGE(made.ok(), made.status().message());
  }
  CHECK(listed == expected);
  CHECK(listed.front() == "epikv-q");
  CHECK(split(preset_names) == listed);
}

TEST_CASE("an unknown preset is told all there are") {
  for (const std::string_view name :
       {"", " ", "epikv", "epikv-", "epikv-q ", " epikv-q", "EpiKV-Q", "epikv-Q", "epikv_q",
        "epikv-q, epikv-seg", "epikv-qq", "random-", "non", "None"}) {
    CAPTURE(name);
    const auto made = make_evictor(name, shape, "nonsense");
    REQUIRE_FALSE(made.ok());
    CHECK(made.status().code() == errc::unknown_name);
    CHECK(made.status().argument() == "name");
    CHECK(made.status().got() == name);
    CHECK(made.status().expected() == preset_names);
    for (const auto& each : understood()) {
      CHECK(made.status().message().find(each.first) != std::string::npos);
    }
  }
  // A longer text that begins with a name, seen through a shorter view, is that name.
  CHECK(make_evictor(std::string_view{"random-head"}.substr(0, 6), shape).ok());
}

TEST_CASE("each preset takes the settings it lists and no other, which it is told") {
  for (std::size_t i = 0; i < understood().size(); ++i) {
    const std::string& name = understood()[i].first;
    const std::set<std::string>& special = understood()[i].second;
    CAPTURE(name);
    std::vector<std::string> expected;
    std::string all;
    for (const auto& each : common_settings) {
      expected.push_back(each.first);
      all += each.first + "=" + each.second + " ";
    }
    for (const auto& each : special_settings) {
      CAPTURE(each.first);
      const std::string text = each.first + "=" + each.second;
      // A window of queries asks for as many recent tokens.
      const auto made = make_evictor(name, shape, text + " recent=32");
      if (special.count(each.first) == 1) {
        CHECK_MESSAGE(made.ok(), made.status().message());
        expected.push_back(each.first);
        all += text + " ";
        continue;
      }
      REQUIRE_FALSE(made.ok());
      CHECK(made.status().code() == errc::unknown_option);
      CHECK(made.status().argument() == "options");
      CHECK(made.status().got() == each.first);
      CHECK(made.status().expected() == presets[i].options);
    }
    CHECK(presets[i].name == name);
    CHECK(split(presets[i].options) == expected);
    const auto made = make_evictor(name, shape, all);
    CHECK_MESSAGE(made.ok(), made.status().message());
  }
}

TEST_CASE("faults of settings, model and evictor come back, the settings' first") {
  const auto expect = [](const status& s, errc code, std::string_view argument,
                         std::string_view got) {
    CHECK_MESSAGE(s.code() == code, s.message());
    CHECK_MESSAGE(s.argument() == argument, s.message());
    CHECK_MESSAGE(s.got() == got, s.message());
  };
  for (const auto& each : understood()) {
    const std::string& name = each.first;
    CAPTURE(name);
    const auto fault = [&name](const model_shape& model, const option_list& settings) {
      return make_evictor(name, model, settings).status();
    };
    expect(fault(shape, "budget"), errc::invalid_argument, "options", "budget");
    expect(fault(shape, "budget=none"), errc::invalid_argument, "budget", "none");
    expect(fault(shape, "budget=-1"), errc::invalid_argument, "budget", "-1");
    expect(fault(shape, "tau=0"), errc::invalid_argument, "tau", "0");
    expect(fault(model_shape{}, ""), errc::invalid_argument, "shape.layers", "0");
    expect(fault(model_shape{}, "tau=x"), errc::invalid_argument, "tau", "x");
    expect(fault({4, 3, 2, 8, 16}, ""), errc::invalid_argument, "shape.query_heads", "3");
  }
}
