// SPDX-License-Identifier: MIT

// Does every setting reach the field it names and no other, from a text as from a value, and is
// what is not a value of it refused by the name of the setting, what was got and what it takes?

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "epikv/detail/preset_options.hpp"
#include "epikv/options.hpp"

namespace {

using namespace epikv;
using namespace std::string_literals;
using settings = detail::preset_settings;

constexpr unsigned every_topic = ~0U;
constexpr std::int64_t most64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least64 = std::numeric_limits<std::int64_t>::min();

std::string text_of(const layer_band& band) {
  std::string out;
  for (std::int32_t i = 0; i < band.size(); ++i) {
    out += (i == 0 ? "" : ",") + std::to_string(band[i]);
  }
  return out;
}
std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(epiphany_form form) {
  if (form == epiphany_form::difference) return "difference";
  if (form == epiphany_form::a_only) return "a_only";
  return form == epiphany_form::b_only ? "b_only" : "raw";
}
std::string text_of(row_statistic statistic) {
  if (statistic == row_statistic::variance) return "variance";
  if (statistic == row_statistic::l1) return "l1";
  return statistic == row_statistic::range ? "range" : "norm";
}
std::string text_of(head_reduction heads) {
  return heads == head_reduction::mean ? "mean" : heads == head_reduction::sum ? "sum" : "max";
}
std::string text_of(query_reduction queries) {
  if (queries == query_reduction::max_logits) return "max_logits";
  return queries == query_reduction::mean ? "mean" : "sum";
}
std::string text_of(pool_kind pool) {
  return pool == pool_kind::none ? "none" : pool == pool_kind::max ? "max" : "average";
}

// Every field that a setting may reach, by the setting's name.
std::map<std::string, std::string> fields(const settings& s) {
  const epiphany& base = s.scored.base;
  const char* const keep_sets = to_string(s.evictor.keep_sets);
  const auto& quota = s.tiers.quota;
  return {
      {"budget", std::to_string(s.evictor.budget)},
      {"tau", std::to_string(s.evictor.tau)},
      {"buffer", std::to_string(s.evictor.buffer)},
      {"attended_by",
       s.mass.queries == attended_by::every_query ? "every_query" : "decode_queries"},
      {"per_query", text_of(s.mass.per_query)},
      {"heads", text_of(s.mass.heads)},
      {"kernel", std::to_string(s.attended.kernel)},
      {"pool", text_of(s.attended.pool)},
      {"group_queries", text_of(s.attended.reduction)},
      {"lambda", std::to_string(s.importance_share)},
      {"redundancy", s.redundancy.form == redundancy_form::exact ? "exact" : "linear"},
      {"threshold", std::to_string(s.redundancy.threshold)},
      {"chunk", std::to_string(s.lag_slots.chunk)},
      {"with_values", text_of(s.lag_slots.with_values)},
      {"lag", std::to_string(s.lag.lag)},
      {"ratio", std::to_string(s.lag_ratio)},
      {"value_weight", std::to_string(s.lag.value_weight)},
      {"share", std::to_string(s.mix_share)},
      {"beta", std::to_string(s.beta)},
      {"cadence", s.evictor.when == cadence::aligned ? "aligned" : "elapsed"},
      {"protect_prompt", text_of(s.evictor.protect_prompt)},
      {"sinks", std::to_string(s.evictor.sinks)},
      {"recent", std::to_string(s.evictor.recent)},
      {"on_overflow", s.evictor.on_overflow == overflow::refuse ? "refuse" : "keep"},
      {"step_tokens", std::to_string(s.evictor.step_tokens)},
      {"keep_sets", keep_sets},
      {"seed", std::to_string(s.seed)},
      {"window", std::to_string(s.window)},
      {"band_a", text_of(base.band_a)},
      {"band_b", text_of(base.band_b)},
      {"weight_a", std::to_string(base.weight_a)},
      {"weight_b", std::to_string(base.weight_b)},
      {"change", base.change == hidden_change::block ? "block" : "temporal"},
      {"form", text_of(base.form)},
      {"track_bands", text_of(base.track_bands)},
      {"value_reserve", std::to_string(s.reserve.tokens)},
      {"value_stat", text_of(s.reserve.statistic)},
      {"segment", std::to_string(s.tiers.segment)},
      {"tiers",
       std::to_string(quota[0]) + "," + std::to_string(quota[1]) + "," + std::to_string(quota[2])},
      {"fill", text_of(s.tiers.fill)},
      {"segment_order", s.tiers.high_is_reasoning ? "high" : "low"},
      {"query_layer", std::to_string(s.scored.query.layer)},
      {"query_window",
       std::to_string(s.scored.query.window == s.attended.window ? s.attended.window : -1)},
      {"query_mode", s.scored.mode == query_mode::add ? "add" : "replace"},
      {"query_weight", std::to_string(s.scored.weight)},
      {"track_epiphany", text_of(s.scored.track_epiphany)},
  };
}

// A setting as a text and as a value, and what fields() shall say of it. Two values of each, so
// that a setting that does nothing is found out.
struct sample {
  std::string text;
  option value;
  std::string stored;
};
const std::vector<sample>& samples() {
  static const std::vector<sample> all{
      {"budget=77", {"budget", 77}, "77"},
      {"budget=0", {"budget", 0U}, "0"},
      {"tau=5", {"tau", std::int64_t{5}}, "5"},
      {"buffer=16", {"buffer", 16}, "16"},
      {"buffer=3", {"buffer", 3}, "3"},
      {"attended_by=decode_queries", {"attended_by", "decode_queries"}, "decode_queries"},
      {"attended_by=every_query", {"attended_by", "every_query"}, "every_query"},
      {"per_query=true", {"per_query", true}, "true"},
      {"per_query=false", {"per_query", false}, "false"},
      {"heads=sum", {"heads", "sum"}, "sum"},
      {"heads=max", {"heads", "max"}, "max"},
      {"heads=mean", {"heads", "mean"}, "mean"},
      {"kernel=5", {"kernel", 5}, "5"},
      {"kernel=7", {"kernel", 7}, "7"},
      {"pool=average", {"pool", "average"}, "average"},
      {"pool=max", {"pool", "max"}, "max"},
      {"pool=none", {"pool", "none"}, "none"},
      {"group_queries=max_logits", {"group_queries", "max_logits"}, "max_logits"},
      {"group_queries=sum", {"group_queries", "sum"}, "sum"},
      {"group_queries=mean", {"group_queries", "mean"}, "mean"},
      {"lambda=0.5", {"lambda", 0.5}, "0.500000"},
      {"lambda=0", {"lambda", 0}, "0.000000"},
      {"redundancy=linear", {"redundancy", "linear"}, "linear"},
      {"redundancy=exact", {"redundancy", "exact"}, "exact"},
      {"threshold=0.25", {"threshold", 0.25}, "0.250000"},
      {"threshold=-1", {"threshold", -1}, "-1.000000"},
      {"chunk=16", {"chunk", 16}, "16"},
      {"chunk=24", {"chunk", 24}, "24"},
      {"with_values=false", {"with_values", false}, "false"},
      {"with_values=true", {"with_values", true}, "true"},
      {"lag=32", {"lag", 32}, "32"},
      {"lag=64", {"lag", 64}, "64"},
      {"ratio=0.5", {"ratio", 0.5}, "0.500000"},
      {"ratio=0.75", {"ratio", 0.75}, "0.750000"},
      {"value_weight=0.5", {"value_weight", 0.5}, "0.500000"},
      {"value_weight=2", {"value_weight", 2}, "2.000000"},
      {"share=0.25", {"share", 0.25}, "0.250000"},
      {"share=0.75", {"share", 0.75}, "0.750000"},
      {"beta=0.5", {"beta", 0.5}, "0.500000"},
      {"beta=2", {"beta", 2}, "2.000000"},
      {"tau=2147483647", {"tau", 2147483647}, "2147483647"},
      {"cadence=aligned", {"cadence", "aligned"}, "aligned"},
      {"cadence=elapsed", {"cadence", std::string_view{"elapsed"}}, "elapsed"},
      {"protect_prompt=false", {"protect_prompt", false}, "false"},
      {"protect_prompt=1", {"protect_prompt", 1}, "true"},
      {"sinks=4", {"sinks", static_cast<short>(4)}, "4"},
      {"sinks=007", {"sinks", 7}, "7"},
      {"recent=33", {"recent", 33}, "33"},
      {"recent=-1", {"recent", -1}, "-1"},
      {"on_overflow=refuse", {"on_overflow", "refuse"}, "refuse"},
      {"on_overflow=keep", {"on_overflow", "keep"}, "keep"},
      {"step_tokens=3", {"step_tokens", "3"}, "3"},
      {"step_tokens=4", {"step_tokens", 4}, "4"},
      {"keep_sets=layer", {"keep_sets", "layer"}, "layer"},
      {"keep_sets=kv_head", {"keep_sets", "kv_head"}, "kv_head"},
      {"keep_sets=sequence", {"keep_sets", "sequence"}, "sequence"},
      {"seed=9223372036854775807", {"seed", most64}, "9223372036854775807"},
      {"seed=0", {"seed", 0}, "0"},
      {"window=1", {"window", 1}, "1"},
      {"window=48", {"window", 48}, "48"},
      {"band_a=7", {"band_a", 7}, "7"},
      {"band_a=7,8,13", {"band_a", "7,8,13"}, "7,8,13"},
      {"band_b=0", {"band_b", 0}, "0"},
      {"band_b=18,25", {"band_b", "18,25"}, "18,25"},
      {"weight_a=1.25", {"weight_a", 1.25}, "1.250000"},
      {"weight_a=-3", {"weight_a", -3}, "-3.000000"},
      {"weight_b=.5", {"weight_b", 0.5F}, "0.500000"},
      {"weight_b=25e-2", {"weight_b", "25e-2"}, "0.250000"},
      {"change=block", {"change", "block"}, "block"},
      {"change=temporal", {"change", "temporal"}, "temporal"},
      {"form=a_only", {"form", "a_only"}, "a_only"},
      {"form=b_only", {"form", "b_only"}, "b_only"},
      {"form=raw", {"form", "raw"}, "raw"},
      {"form=difference", {"form", "difference"}, "difference"},
      {"value_reserve=16", {"value_reserve", 16}, "16"},
      {"value_reserve=2", {"value_reserve", 2}, "2"},
      {"value_stat=norm", {"value_stat", "norm"}, "norm"},
      {"value_stat=variance", {"value_stat", "variance"}, "variance"},
      {"value_stat=l1", {"value_stat", "l1"}, "l1"},
      {"value_stat=range", {"value_stat", "range"}, "range"},
      {"segment=32", {"segment", 32}, "32"},
      {"segment=31", {"segment", 31}, "31"},
      {"tiers=16,8,2", {"tiers", "16,8,2"}, "16,8,2"},
      {"tiers=3,2,1", {"tiers", "3,2,1"}, "3,2,1"},
      {"fill=true", {"fill", true}, "true"},
      {"fill=0", {"fill", "false"}, "false"},
      {"segment_order=low", {"segment_order", "low"}, "low"},
      {"segment_order=high", {"segment_order", "high"}, "high"},
      {"query_layer=9", {"query_layer", 9}, "9"},
      {"query_layer=-1", {"query_layer", -1}, "-1"},
      {"query_window=16", {"query_window", 16}, "16"},
      {"query_window=64", {"query_window", 64}, "64"},
      {"query_mode=add", {"query_mode", "add"}, "add"},
      {"query_mode=replace", {"query_mode", "replace"}, "replace"},
      {"query_weight=2", {"query_weight", 2}, "2.000000"},
      {"query_weight=1e-3", {"query_weight", 1e-3}, "0.001000"},
      {"track_bands=true", {"track_bands", true}, "true"},
      {"track_bands=false", {"track_bands", 0}, "false"},
      {"track_epiphany=true", {"track_epiphany", true}, "true"},
      {"track_epiphany=false", {"track_epiphany", 0}, "false"},
  };
  return all;
}

status read_settings(const option_list& given, settings& s) {
  return detail::apply_options(given, every_topic, "all of them", s);
}

void expect(const status& s, errc code, std::string_view argument, std::string_view got,
            std::string_view expected) {
  CHECK_MESSAGE(s.code() == code, s.message());
  CHECK_MESSAGE(s.argument() == argument, s.message());
  CHECK_MESSAGE(s.got() == got, s.message());
  CHECK_MESSAGE(s.expected().find(expected) != std::string_view::npos, s.message());
}

// What kind of value a setting takes, and a part of what its error says of it.
enum class kind { integer, unsigned64, list, real, truth, word };
struct rule {
  const char* name;
  kind takes;
  const char* expected;
};
constexpr rule rules[] = {
    {"budget", kind::integer, "tokens a keep-set may hold"},
    {"tau", kind::integer, "decode tokens between evictions"},
    {"buffer", kind::integer, "tokens over the budget"},
    {"attended_by", kind::word, "every_query or decode_queries"},
    {"per_query", kind::truth, "true or false"},
    {"heads", kind::word, "mean, sum or max"},
    {"kernel", kind::integer, "odd, 1 to 65"},
    {"pool", kind::word, "none, average or max"},
    {"group_queries", kind::word, "mean, sum or max_logits"},
    {"lambda", kind::real, "the share of importance"},
    {"redundancy", kind::word, "exact or linear"},
    {"threshold", kind::real, "the cosine from which keys are near"},
    {"chunk", kind::integer, "slots per chunk"},
    {"with_values", kind::truth, "true or false"},
    {"lag", kind::integer, "tokens per chunk"},
    {"ratio", kind::real, "the share of a chunk that stays"},
    {"value_weight", kind::real, "a finite number"},
    {"share", kind::real, "the share of the room"},
    {"beta", kind::real, "a finite number"},
    {"cadence", kind::word, "elapsed or aligned"},
    {"protect_prompt", kind::truth, "true or false"},
    {"sinks", kind::integer, "first positions to protect"},
    {"recent", kind::integer, "last positions to protect"},
    {"on_overflow", kind::word, "keep or refuse"},
    {"step_tokens", kind::integer, "tokens a step may bring"},
    {"keep_sets", kind::word, "sequence, layer or kv_head"},
    {"seed", kind::unsigned64, "an integer of 0 or more"},
    {"window", kind::integer, "1 or more"},
    {"band_a", kind::list, "up to 64 ascending layers"},
    {"band_b", kind::list, "up to 64 ascending layers"},
    {"weight_a", kind::real, "a finite number"},
    {"weight_b", kind::real, "a finite number"},
    {"change", kind::word, "temporal or block"},
    {"form", kind::word, "difference, a_only, b_only or raw"},
    {"track_bands", kind::truth, "true or false"},
    {"value_reserve", kind::integer, "tokens kept for their values"},
    {"value_stat", kind::word, "range, variance, norm or l1"},
    {"segment", kind::integer, "slots per segment"},
    {"tiers", kind::list, "three quotas as 64,32,8"},
    {"fill", kind::truth, "true or false"},
    {"segment_order", kind::word, "high or low"},
    {"query_layer", kind::integer, "a layer, or -1"},
    {"query_window", kind::integer, "1 to 64"},
    {"query_mode", kind::word, "replace or add"},
    {"query_weight", kind::real, "a finite number"},
    {"track_epiphany", kind::truth, "true or false"},
};

std::vector<std::string> split(std::string_view names) {
  std::vector<std::string> out{""};
  for (const char c : names) {
    if (c == ',') out.emplace_back();
    if (c != ',' && c != ' ') out.back() += c;
  }
  return out;
}

TEST_CASE("the tables of this file name every setting there is, each once") {
  const std::vector<std::string> known = split(detail::known_options<every_topic>());
  const std::set<std::string> names{known.begin(), known.end()};
  CHECK(names.size() == known.size());
  std::set<std::string> ruled;
  for (const rule& each : rules) ruled.insert(each.name);
  CHECK(ruled == names);
  std::map<std::string, std::set<std::string>> stored;
  for (const sample& each : samples()) {
    stored[std::string{each.value.name()}].insert(each.stored);
  }
  CHECK(stored.size() == names.size());
  for (const auto& each : stored) CHECK_MESSAGE(each.second.size() >= 2, each.first);
  for (const auto& each : fields({})) CHECK_MESSAGE(names.count(each.first) == 1, each.first);
}

TEST_CASE("every setting reaches its field and no other, from a text and from a value") {
  // From the defaults, and from settings that differ from them everywhere.
  settings changed;
  for (const sample& each : samples()) {
    const std::string name{each.value.name()};
    if (fields(changed)[name] == fields({})[name]) REQUIRE(read_settings(each.text, changed).ok());
  }
  for (const auto& each : fields(changed)) CHECK(each.second != fields({})[each.first]);

  for (const settings& start : {settings{}, changed}) {
    for (const sample& each : samples()) {
      CAPTURE(each.text);
      std::map<std::string, std::string> expected = fields(start);
      expected[std::string{each.value.name()}] = each.stored;
      settings from_text = start;
      settings from_value = start;
      const status text_outcome = read_settings(each.text, from_text);
      const status value_outcome = read_settings({each.value}, from_value);
      CHECK_MESSAGE(text_outcome.ok(), text_outcome.message());
      CHECK_MESSAGE(value_outcome.ok(), value_outcome.message());
      CHECK(fields(from_text) == expected);
      CHECK(fields(from_value) == expected);
    }
  }
}

TEST_CASE("settings that say nothing leave everything") {
  for (const char* nothing : {"", " ", "\n\t  \n"}) {
    settings s;
    CHECK(read_settings(nothing, s).ok());
    CHECK(fields(s) == fields({}));
  }
  settings s;
  CHECK(read_settings({}, s).ok());
  CHECK(fields(s) == fields({}));
}

TEST_CASE("every setting refuses what is not a value of it, by its name") {
  const std::vector<std::string> never{
      "",         "x",     "-",    "+1",  "--1",  "1x",       "1,",        ",1",
      "1,,2",     "nan",   "-nan", "inf", "-inf", "infinity", "1e999",     "-1e999",
      "0x10",     "1_000", "'1'",  "=1",  "1=",   "TRUE",     "truefalse", "99999999999999999999",
      "1\xC2\xA0"};
  const std::map<kind, std::vector<std::string>> more{
      {kind::integer, {"2147483648", "-2147483649", "1.5", "1.0", "1e3", "true", "1,2"}},
      {kind::unsigned64, {"-1", "9223372036854775808", "1.0", "1e3", "true", "1,2"}},
      {kind::list, {"2147483648", "1,2147483648", "1.5,2,3", "1;2;3", "1,2,3,", "true"}},
      {kind::real, {"1,5", "1.5.5", "1e", "e3", "1.5f", "true"}},
      {kind::truth, {"2", "-1", "01", "yes", "no", "on", "True", "true,", "1.0", "0.0"}},
      {kind::word,
       {"0", "1", "true", "keeps", "kee", "Keep", "Layer", "laye", "a_onl", "rang", "replaced",
        "hig", "bloc", "elapse"}}};
  for (const rule& each : rules) {
    std::vector<std::string> bad = never;
    // The one text of `never` that is a number beyond integers alone.
    if (each.takes == kind::real) std::erase(bad, "99999999999999999999");
    bad.insert(bad.end(), more.at(each.takes).begin(), more.at(each.takes).end());
    for (const std::string& text : bad) {
      CAPTURE(text);
      settings s;
      expect(read_settings(std::string{each.name} + "=" + text, s), errc::invalid_argument,
             each.name, text, each.expected);
      expect(read_settings({{each.name, std::string_view{text}}}, s), errc::invalid_argument,
             each.name, text, each.expected);
    }
    // Blanks are no part of a value; a text of settings ends there, a value must not have them.
    for (const std::string& text : {" 1"s, "1 "s, " true"s, "keep "s, "1, 2"s, "1\r"s, "\t"s}) {
      settings s;
      expect(read_settings({{each.name, std::string_view{text}}}, s), errc::invalid_argument,
             each.name, text, each.expected);
    }
  }
}

TEST_CASE("values of another type are refused as they were given") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  for (const rule& each : rules) {
    const auto refuse = [&](const option& bad, std::string_view got) {
      settings s;
      expect(read_settings({bad}, s), errc::invalid_argument, each.name, got, each.expected);
    };
    refuse({each.name, nan}, "nan");
    refuse({each.name, inf}, "inf");
    refuse({each.name, -inf}, "-inf");
    refuse({each.name, static_cast<float>(inf)}, "inf");
    if (each.takes != kind::real) refuse({each.name, 0.5}, "0.5");
    if (each.takes != kind::real && each.takes != kind::unsigned64) {
      refuse({each.name, most64}, "9223372036854775807");
      refuse({each.name, std::int64_t{1} << 32}, "4294967296");  // 0 in 32 bits
    }
    if (each.takes != kind::real) refuse({each.name, least64}, "-9223372036854775808");
    if (each.takes == kind::word) refuse({each.name, true}, "1");
  }
}

TEST_CASE("settings with a range of their own") {
  settings s;
  expect(read_settings("window=0", s), errc::invalid_argument, "window", "0", "1 or more");
  expect(read_settings("window=-64", s), errc::invalid_argument, "window", "-64", "1 or more");
  expect(read_settings({{"seed", -1}}, s), errc::invalid_argument, "seed", "-1", "0 or more");
  for (const char* quotas : {"64", "64,32", "64,32,8,4", "1,2,3,4,5"}) {
    expect(read_settings({{"tiers", quotas}}, s), errc::invalid_argument, "tiers", quotas,
           "three quotas");
  }
  expect(read_settings({{"tiers", 64}}, s), errc::invalid_argument, "tiers", "64", "three quotas");
  // 64 layers fit a band, 65 do not.
  std::string layers = "0";
  for (int i = 1; i < 64; ++i) layers += "," + std::to_string(i);
  REQUIRE(read_settings("band_a=" + layers, s).ok());
  CHECK(s.scored.base.band_a.size() == 64);
  CHECK(text_of(s.scored.base.band_a) == layers);
  const std::string more = layers + ",64";
  const status refused = read_settings("band_a=" + more, s);
  CHECK(refused.code() == errc::invalid_argument);
  CHECK(refused.argument() == "band_a");
  CHECK(refused.got() == more.substr(0, 117) + "...");
}

TEST_CASE("names are exact; an unknown one is told the known ones") {
  for (const std::string_view name : {"Budget", "budge", "budgets", "k", "window ", "band"}) {
    settings s;
    expect(detail::apply_options({{name, 8}}, every_topic, "budget, tau", s), errc::unknown_option,
           "options", name, "budget, tau");
    CHECK(fields(s) == fields({}));
  }
  // A setting outside the topics asked for is as unknown as one that does not exist.
  for (const detail::option_entry& entry : detail::option_table) {
    settings s;
    const unsigned others = every_topic & ~unsigned{entry.topic};
    expect(detail::apply_options({{entry.name, 8}}, others, "others", s), errc::unknown_option,
           "options", entry.name, "others");
  }
  const std::vector<std::string> queries = split(detail::known_options<detail::topic_query>());
  CHECK(queries == std::vector<std::string>{"query_layer", "query_window", "query_mode",
                                            "query_weight", "track_epiphany"});
}

TEST_CASE("a text of settings: any blanks between, none inside") {
  const auto same = [](const option_list& text, const option_list& list) {
    REQUIRE(text.check().ok());
    REQUIRE(text.all().size() == list.all().size());
    for (std::size_t i = 0; i < list.all().size(); ++i) {
      CHECK(text.all()[i].name() == list.all()[i].name());
      CHECK(text.all()[i].word() == list.all()[i].word());
    }
  };
  const option_list two{{"budget", "64"}, {"tiers", "3,2,1"}};
  same("budget=64 tiers=3,2,1", two);
  same("  budget=64   tiers=3,2,1  ", two);
  same("budget=64\ntiers=3,2,1\n", two);
  same("\tbudget=64 \t\n tiers=3,2,1", two);
  same(std::string{"budget=64 tiers=3,2,1"}, two);
  same(std::string_view{"budget=64 tiers=3,2,1 tau=5"}.substr(0, 21), two);
  same("budget=", {{"budget", ""}});
  same("a==b", {{"a", "=b"}});
  same("a=b=c", {{"a", "b=c"}});

  const auto refuse = [](std::string_view text, std::string_view got) {
    const option_list list{text};
    expect(list.check(), errc::invalid_argument, "options", got, "settings of the form name=value");
    settings s;
    expect(read_settings(list, s), errc::invalid_argument, "options", got, "name=value");
    CHECK(fields(s) == fields({}));  // also what stood before the fault is not applied
  };
  refuse("budget", "budget");
  refuse("=64", "=64");
  refuse("=", "=");
  refuse("budget = 64", "budget");
  refuse("budget=64 = tau=2", "=");
  refuse("budget=64,tau=2 sinks", "sinks");
  refuse("budget=64;\n\v\ntau=2", "\v");
  CHECK(option_list{"budget=64\r\ntau=2"}.all().size() == 2);
  refuse("budget=64 --tau", "--tau");
}

TEST_CASE("32 settings are taken, the 33rd is refused, in every form") {
  std::vector<option> many(33, option{"sinks", 4});
  const std::span<const option> all{many};
  CHECK(option_list{all.first(32)}.check().ok());
  CHECK(option_list{all.first(32)}.all().size() == 32);
  std::string text;
  for (int i = 0; i < 32; ++i) text += "sinks=4 ";
  CHECK(option_list{text}.check().ok());
  for (const option_list& list : {option_list{all}, option_list{text + "sinks=4"}}) {
    expect(list.check(), errc::invalid_argument, "options", "more settings", "at most 32");
    settings s;
    expect(read_settings(list, s), errc::invalid_argument, "options", "more settings",
           "at most 32");
  }
}

TEST_CASE("of several faults the first setting's is reported") {
  settings s;
  expect(read_settings("tau=2 sinks=x budget=y", s), errc::invalid_argument, "sinks", "x", "first");
  expect(read_settings("tau=2 nonsense=1 budget=y", s), errc::unknown_option, "options", "nonsense",
         "all");
  expect(read_settings("budget=y nonsense=1", s), errc::invalid_argument, "budget", "y", "tokens");
}

TEST_CASE("of a setting given twice the last counts") {
  settings s;
  REQUIRE(read_settings("budget=64 tau=2 budget=128", s).ok());
  CHECK(s.evictor.budget == 128);
  REQUIRE(read_settings({{"budget", 32}, {"budget", "16"}}, s).ok());
  CHECK(s.evictor.budget == 16);
  // But an earlier one still has to be a value.
  expect(read_settings("budget=x budget=128", s), errc::invalid_argument, "budget", "x", "tokens");
}

TEST_CASE("a number written out is read back to the bit") {
  std::mt19937_64 random{2};
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t bits = random();
    const auto integer = static_cast<std::int64_t>(bits) >> (random() % 64);
    const std::string text = std::to_string(integer);
    std::int64_t whole = 1;
    CHECK(option{"x", std::string_view{text}}.read(whole));
    CHECK(whole == integer);
    // Any finite double: a mantissa of 53 bits at any exponent.
    const double real =
        std::ldexp(static_cast<double>(integer >> 11), static_cast<int>(random() % 1900) - 1000);
    std::array<char, 64> digits{};
    std::snprintf(digits.data(), digits.size(), "%.17g", real);
    double found = -1.0;
    CHECK(option{"x", digits.data()}.read(found));
    CHECK(found == real);
    CHECK(option{"x", real}.read(found));
    CHECK(found == real);
  }
  for (const std::int64_t each : {most64, least64, std::int64_t{0}, std::int64_t{-1}}) {
    std::int64_t whole = 1;
    const std::string text = std::to_string(each);
    CHECK(option{"x", std::string_view{text}}.read(whole));
    CHECK(whole == each);
    CHECK(option{"x", each}.read(whole));
    CHECK(whole == each);
  }
  double found = 1.0;
  CHECK(option{"x", "-0"}.read(found));
  CHECK(std::signbit(found));
  CHECK(option{"x", 3}.read(found));
  CHECK(found == 3.0);
}

TEST_CASE("a list is read whole or not at all") {
  std::array<std::int32_t, 4> out{};
  const auto count = [&](std::string_view text) { return option{"x", text}.read(out); };
  CHECK(count("5") == 1);
  CHECK(out[0] == 5);
  CHECK(count("-5,0,2147483647,-2147483648") == 4);
  CHECK(out == std::array<std::int32_t, 4>{-5, 0, 2147483647, -2147483648});
  for (const char* bad : {"", ",", "1,", ",1", "1,,2", "1,2,3,4,5", "1,2,3,4,", "1 ,2", "a,b"}) {
    CHECK_MESSAGE(count(bad) == -1, bad);
  }
  CHECK(option{"x", -7}.read(out) == 1);
  CHECK(out[0] == -7);
  CHECK(option{"x", std::int64_t{1} << 32}.read(out) == -1);
  CHECK(option{"x", 1.0}.read(out) == -1);
  CHECK(option{"x", "1"}.read(std::span<std::int32_t>{}) == -1);
}

TEST_CASE("an option shows its name, its word and what was given") {
  CHECK(option{"budget", 64}.name() == "budget");
  CHECK(option{"budget", 64}.got().view() == "64");
  CHECK(option{"budget", 64}.word().empty());
  CHECK(option{"budget", 0.25}.got().view() == "0.25");
  CHECK(option{"budget", "6 4"}.got().view() == "6 4");
  CHECK(option{"budget", "6 4"}.word() == "6 4");
  CHECK(option{"fill", true}.got().view() == "1");
  CHECK(option{}.name().empty());
}

}  // namespace
