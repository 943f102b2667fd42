// SPDX-License-Identifier: MIT

// Does a rejected call name the argument, what was got and what was expected, and change nothing?
// Every bad call is made on one of two evictors that are driven alike; afterwards both must go on
// with the same selections and the same numbers, bit for bit.

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "epikv/cpu.hpp"
#include "support/drive_dice.hpp"

namespace {

using namespace epikv;

constexpr model_shape shape{
    .layers = 3, .query_heads = 4, .kv_heads = 2, .head_dim = 4, .hidden = 16};
constexpr sequence_id first{7};
constexpr sequence_id second{9};
const std::string settings =
    "budget=24 tau=3 recent=8 segment=6 tiers=3,2,1 query_mode=add band_a=0 band_b=1 "
    "query_layer=1 value_reserve=2";

// Rows of one layer for a step of `tokens` tokens, all signals.
struct rows {
  std::vector<float> hidden, keys, queries;
  layer_signals signals;

  rows(std::uint64_t seed, std::int64_t tokens) {
    drive::dice d{seed};
    const auto fill = [&](std::vector<float>& data, std::int64_t width) {
      data.resize(static_cast<std::size_t>(tokens * width));
      for (float& x : data) x = static_cast<float>(d.between(-64, 64)) / 16.0F;
    };
    fill(hidden, 16);
    fill(keys, 8);
    fill(queries, 16);
    signals = {.hidden_in = {hidden.data(), {tokens, 16}},
               .hidden_out = {hidden.data(), {tokens, 16}},
               .keys = {keys.data(), {tokens, 2, 4}},
               .values = {keys.data(), {tokens, 2, 4}},
               .queries = {queries.data(), {tokens, 4, 4}}};
  }
};

// Two evictors that see the same; bad calls go to one of them.
class twins {
 public:
  twins() : mistreated{make()}, untouched{make()} {
    for (any_evictor* e : {&mistreated, &untouched}) {
      REQUIRE(e->add(first, 5).ok());
      REQUIRE(e->add(second, 0).ok());
    }
    for (int i = 0; i < 20; ++i) step();
  }

  // A whole step of both sequences; `between` runs at each stage on the mistreated one.
  void step(const std::function<void(int stage)>& between = {}) {
    const std::int32_t n = steps_ == 0 ? 5 : 1;
    for (any_evictor* e : {&mistreated, &untouched}) {
      REQUIRE(e->begin_step({{first, n}, {second, 1}}).ok());
    }
    if (between) between(0);
    for (std::int32_t layer = 0; layer < shape.layers; ++layer) {
      const rows in{static_cast<std::uint64_t>(steps_ * 10 + layer), n + 1};
      for (any_evictor* e : {&mistreated, &untouched}) REQUIRE(e->observe(layer, in.signals).ok());
      if (between) between(layer + 1);
    }
    const auto a = mistreated.select();
    const auto b = untouched.select();
    REQUIRE(a.ok());
    REQUIRE(b.ok());
    compare(*a, *b);
    if (between) between(100);
    REQUIRE(mistreated.commit(*a).ok());
    REQUIRE(untouched.commit(*b).ok());
    ++steps_;
  }

  // Goes on long enough for several evictions and compares everything there is to see.
  void go_on() {
    for (int i = 0; i < 25; ++i) step();
    for (const sequence_id id : {first, second}) {
      const auto length = mistreated.length(id);
      REQUIRE(length.ok());
      REQUIRE(*length == *untouched.length(id));
      std::vector<float> a(static_cast<std::size_t>(*length));
      std::vector<float> b = a;
      for (const char* part : {"score", "epiphany", "relevance"}) {
        REQUIRE(mistreated.scores(id, 0, part, a).ok());
        REQUIRE(untouched.scores(id, 0, part, b).ok());
        CHECK(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
      }
      CHECK(mistreated.statistics(id)->evicted == untouched.statistics(id)->evicted);
      CHECK(mistreated.statistics(id)->evictions > 3);
    }
  }

  any_evictor mistreated;
  any_evictor untouched;

 private:
  static any_evictor make() {
    auto made = make_evictor("epikv-q", shape, settings);
    REQUIRE_MESSAGE(made.ok(), made.status().message());
    return *std::move(made);
  }
  static void compare(const selection& a, const selection& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      CHECK(a[i].sequence() == b[i].sequence());
      const auto x = a[i].groups()[0].kept();
      const auto y = b[i].groups()[0].kept();
      CHECK(std::equal(x.begin(), x.end(), y.begin(), y.end()));
    }
  }
  int steps_ = 0;
};

void expect(const status& s, errc code, const char* argument, const char* got,
            const char* expected) {
  CHECK_MESSAGE(s.code() == code, s.message());
  CHECK_MESSAGE(s.argument() == argument, s.message());
  CHECK_MESSAGE(s.got().find(got) != std::string_view::npos, s.message());
  CHECK_MESSAGE(s.expected().find(expected) != std::string_view::npos, s.message());
}

}  // namespace

TEST_CASE("observe: wrong shapes, dtypes, strides, devices, signals, rows and layers") {
  twins t;
  any_evictor& e = t.mistreated;
  t.step([&](int stage) {
    if (stage != 1) return;  // layer 0 was shown; layer 1 wants everything
    const rows good{1, 2};
    const auto refuse = [&](const std::function<void(layer_signals&)>& change, errc code,
                            const char* argument, const char* got, const char* expected) {
      layer_signals bad = good.signals;
      change(bad);
      expect(e.observe(1, bad), code, argument, got, expected);
    };
    const float* const data = good.hidden.data();
    refuse([&](auto& s) { s.hidden_out = {data, {2, 15}}; }, errc::wrong_shape, "hidden_out",
           "[2, 15]", "[2, 16]");
    refuse([&](auto& s) { s.hidden_out = {data, {2, 4, 4}}; }, errc::wrong_shape, "hidden_out",
           "[2, 4, 4]", "[2, 16]");
    refuse([&](auto& s) { s.keys = {data, {1, 2, 4}}; }, errc::wrong_shape, "keys", "[1, 2, 4]",
           "[2, 2, 4]");
    refuse([&](auto& s) { s.queries = {data, {2, 2, 4}}; }, errc::wrong_shape, "queries",
           "[2, 2, 4]", "[2, 4, 4]");
    refuse([&](auto& s) { s.keys = {data, dtype::f32, {2, 2, 4}, {8, 4}}; }, errc::wrong_shape,
           "keys", "rank", "1 to 4");
    refuse([&](auto& s) { s.keys = {data, static_cast<dtype>(9), {2, 2, 4}}; }, errc::wrong_dtype,
           "keys", "9", "f32, f16 or bf16");
    refuse([&](auto& s) { s.values = {data, dtype::f32, {2, 2, 4}, {0, 4, 1}}; },
           errc::wrong_stride, "values", "stride 0", "distinct");
    refuse(
        [&](auto& s) {
          s.values = {
              data, dtype::f32, {2, 2, 4}, {8, 4, std::numeric_limits<std::int64_t>::max()}};
        },
        errc::wrong_stride, "values", "stride", "64 bits");
    refuse([&](auto& s) { s.values = {data, dtype::f32, {2, 2, 4}, {}, {}, 2}; },
           errc::wrong_stride, "values", "misaligned", "4 bytes");
    refuse([&](auto& s) { s.values = {data, dtype::f32, {2, 2, 4}, {}, {}, -4}; },
           errc::wrong_stride, "values", "-4", "0 or more");
    refuse(
        [&](auto& s) { s.queries = {data, dtype::f32, {2, 4, 4}, device{device_kind::cuda, 0}}; },
        errc::wrong_device, "queries", "2", "1");
    refuse([&](auto& s) { s.hidden_out = {}; }, errc::missing_signal, "hidden_out", "nothing",
           "layer 1");
    refuse([&](auto& s) { s.queries = {}; }, errc::missing_signal, "queries", "nothing", "layer 1");
    refuse([&](auto& s) { s.keys = {static_cast<const float*>(nullptr), {2, 2, 4}}; },
           errc::invalid_argument, "keys", "null", "address");

    const std::vector<std::int32_t> too_far{0, 2};
    const std::vector<std::int32_t> negative{-2, 1};
    const std::vector<std::int32_t> twice{1, 1};
    const std::vector<std::int32_t> short_map{0};
    refuse([&](auto& s) { s.row_to_token = too_far; }, errc::invalid_argument, "row_to_token",
           "token 2 for row 1", "0 to 1");
    refuse([&](auto& s) { s.row_to_token = negative; }, errc::invalid_argument, "row_to_token",
           "token -2", "0 to 1");
    refuse([&](auto& s) { s.row_to_token = twice; }, errc::invalid_argument, "row_to_token",
           "rows 0 and 1", "once");
    refuse([&](auto& s) { s.row_to_token = short_map; }, errc::wrong_shape, "row_to_token",
           "1 entries", "2");
    const rows three{2, 3};
    expect(e.observe(1, three.signals), errc::wrong_shape, "rows", "3", "2 rows");
    expect(e.observe(0, good.signals), errc::wrong_order, "layer", "layer 0 after layer 0",
           "ascending");
    expect(e.observe(-1, good.signals), errc::invalid_argument, "layer", "-1", "0 to 2");
    expect(e.observe(3, good.signals), errc::invalid_argument, "layer", "3", "0 to 2");
  });
  t.go_on();
}

TEST_CASE("layers of one token may not go back, in one call or by a row map") {
  twins t;
  t.step([&](int stage) {
    if (stage != 3) return;  // layers 0, 1 and 2 were shown
    const rows good{1, 1};
    layer_signals one = good.signals;
    const std::vector<std::int32_t> last{1};
    one.row_to_token = last;
    expect(t.mistreated.observe(1, one), errc::wrong_order, "layer", "layer 1 after layer 2",
           "ascending");
  });
  t.go_on();
}

TEST_CASE("sequences: unknown, duplicate, out of range") {
  twins t;
  any_evictor& e = t.mistreated;
  constexpr sequence_id nobody{1234};
  t.step([&](int stage) {
    if (stage != 2) return;
    expect(e.add(first, 3), errc::duplicate_sequence, "sequence", "7", "not added");
    expect(e.add(nobody, -1), errc::invalid_argument, "prompt_length", "-1", "0 to");
    expect(e.add(nobody, {.prompt_length = 3, .budget = -5}), errc::invalid_argument, "budget",
           "-5", "-1 for");
    expect(e.remove(nobody), errc::unknown_sequence, "sequence", "1234", "2 sequences");
    expect(e.reset(nobody), errc::unknown_sequence, "sequence", "1234", "sequences");
    expect(e.reset(first), errc::wrong_order, "reset", "open step", "select");
    expect(e.begin_step(nobody), errc::unknown_sequence, "sequence", "1234", "sequences");
    expect(e.begin_step({{first, 1}, {nobody, 1}}), errc::unknown_sequence, "sequence", "1234",
           "sequences");
    expect(e.begin_step({{first, 1}, {first, 1}}), errc::duplicate_sequence, "batch", "7 twice",
           "once");
    // A refused batch leaves no mark on the sequences it named.
    expect(e.begin_step({{first, 1}, {nobody, 1}}), errc::unknown_sequence, "sequence", "1234",
           "sequences");
    expect(e.begin_step({{first, -1}}), errc::invalid_argument, "new_tokens", "-1", "0 to");
    expect(e.begin_step({{first, std::numeric_limits<std::int32_t>::max()}}),
           errc::invalid_argument, "new_tokens", "2147483647", "0 to");
    expect(e.protect(nobody, {position{0}, position{1}}), errc::unknown_sequence, "sequence",
           "1234", "sequences");
    expect(e.protect(first, {position{4}, position{4}}), errc::invalid_argument, "range", "[4, 4)",
           "not empty");
    expect(e.protect(first, {position{-1}, position{4}}), errc::invalid_argument, "range",
           "[-1, 4)", "not empty");
    expect(e.clear_protection(nobody), errc::unknown_sequence, "sequence", "1234", "sequences");
    expect(e.length(nobody).status(), errc::unknown_sequence, "sequence", "1234", "sequences");
    expect(e.length(first, 1).status(), errc::invalid_argument, "group", "1", "0 to 0");
    expect(e.positions(first, -1).status(), errc::invalid_argument, "group", "-1", "0 to 0");
    expect(e.statistics(nobody).status(), errc::unknown_sequence, "sequence", "1234", "sequences");
    std::vector<float> small(2);
    expect(e.scores(first, 0, "score", small).status(), errc::invalid_argument, "out", "2 floats",
           "room for");
    std::vector<float> room(500);
    expect(e.scores(first, 0, "beauty", room).status(), errc::invalid_argument, "part", "beauty",
           "score, epiphany, relevance");
  });
  t.go_on();
}

TEST_CASE("a host may protect sixteen ranges, not one more") {
  auto made = make_evictor("random", shape, "budget=40");
  REQUIRE(made.ok());
  REQUIRE(made->add(first, 0).ok());
  for (std::int32_t i = 0; i < 16; ++i) {
    REQUIRE(made->protect(first, {position{2 * i}, position{2 * i + 1}}).ok());
  }
  expect(made->protect(first, {position{90}, position{91}}), errc::invalid_argument, "range",
         "one range more", "16");
  REQUIRE(made->clear_protection(first).ok());
  CHECK(made->protect(first, {position{90}, position{91}}).ok());
}

TEST_CASE("verbs out of order and selections that are not the latest") {
  auto made = make_evictor("random", shape, "budget=4 recent=1 tau=1 protect_prompt=false");
  REQUIRE(made.ok());
  any_evictor& e = *made;
  const rows good{1, 1};
  expect(e.observe(9, good.signals), errc::invalid_argument, "layer", "9", "0 to 2");
  expect(e.select().status(), errc::wrong_order, "select", "no step", "begin_step");
  expect(e.commit(selection{}), errc::stale_selection, "selection", "no evictor's", "latest");

  auto scored = make_evictor("epikv-flat", shape, "band_a=0 band_b=1 recent=2");
  REQUIRE(scored.ok());
  expect(scored->observe(0, good.signals), errc::wrong_order, "observe", "no open step",
         "begin_step");

  REQUIRE(e.add(first, 0).ok());
  REQUIRE(e.begin_step(first, 10).ok());
  const auto old = e.select();
  REQUIRE(old.ok());
  REQUIRE(old->size() == 1);
  const sequence_selection old_part = (*old)[0];
  const auto latest = e.select();
  expect(e.commit(*old), errc::stale_selection, "selection", "selection", "latest");
  expect(e.commit(old_part), errc::stale_selection, "selection", "selection", "latest");
  CHECK(*e.length(first) == 10);
  REQUIRE(e.commit(*latest).ok());
  CHECK(*e.length(first) == 4);
  expect(e.commit(*latest), errc::stale_selection, "selection", "selection", "latest");
  CHECK(*e.length(first) == 4);

  REQUIRE(e.begin_step(first, 3).ok());
  const auto before_step = e.select();
  REQUIRE(before_step->size() == 1);
  REQUIRE(e.begin_step(first, 1).ok());
  expect(e.commit(*before_step), errc::stale_selection, "selection", "selection", "latest");
  const auto before_remove = e.select();
  REQUIRE(before_remove->size() == 1);
  REQUIRE(e.remove(first).ok());
  expect(e.commit(*before_remove), errc::stale_selection, "selection", "selection", "latest");
}

TEST_CASE("a budget below the protected tokens is refused where the host says so") {
  auto made = make_evictor("epikv-flat", shape, "budget=20 recent=5 sinks=2 on_overflow=refuse");
  REQUIRE(made.ok());
  expect(made->add(first, 16), errc::over_budget, "budget", "20", "21 protected");
  CHECK(made->statistics().sequences == 0);
  REQUIRE(made->add(first, 10).ok());
  expect(made->protect(first, {position{100}, position{106}}), errc::over_budget, "budget", "20",
         "21 protected");
  CHECK(made->protect(first, {position{100}, position{105}}).ok());
  expect(made->protect(first, {position{200}, position{201}}), errc::over_budget, "budget", "20",
         "21 protected");
  expect(made->add(second, {.prompt_length = 3, .budget = 4}), errc::over_budget, "budget", "4",
         "8 protected");
  // By default the same is accepted, kept and reported.
  auto keeping = make_evictor("epikv-flat", shape, "budget=20 recent=5 tau=1");
  REQUIRE(keeping.ok());
  REQUIRE(keeping->add(first, 18).ok());
  REQUIRE(keeping->begin_step(first, 30).ok());
  const auto chosen = keeping->select();
  REQUIRE(chosen->size() == 1);
  CHECK((*chosen)[0].over_budget() == 3);
  REQUIRE(keeping->commit(*chosen).ok());
  CHECK(*keeping->length(first) == 23);
  CHECK(keeping->statistics(first)->over_budget == 3);
}

TEST_CASE("settings: every one refuses what is not a value of it, NaN included") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const auto refuse = [](const option& bad, const char* got, const char* expected) {
    const auto made = make_evictor("epikv-q", shape, {bad, {"recent", 8}});
    REQUIRE(!made.ok());
    const std::string name{bad.name()};
    expect(made.status(), errc::invalid_argument, name.c_str(), got, expected);
  };
  refuse({"budget", -1}, "-1", "0 to");
  refuse({"budget", 1.5}, "1.5", "tokens");
  refuse({"budget", "many"}, "many", "tokens");
  refuse({"budget", std::int64_t{1} << 40}, "1099511627776", "tokens");
  refuse({"tau", 0}, "0", "1 to");
  refuse({"sinks", -3}, "-3", "0 to");
  refuse({"cadence", "daily"}, "daily", "elapsed or aligned");
  refuse({"protect_prompt", 2}, "2", "true or false");
  refuse({"on_overflow", "panic"}, "panic", "keep or refuse");
  refuse({"step_tokens", 0}, "0", "1 to");
  refuse({"window", 0}, "0", "1 or more");
  refuse({"band_a", "1,x"}, "1,x", "layer");
  refuse({"band_a", 3}, "layer 3", "layers 0 to 2");
  refuse({"band_b", "2,1"}, "layer 1 after 2", "ascending");
  refuse({"weight_a", nan}, "nan", "finite");
  refuse({"weight_b", inf}, "inf", "finite");
  refuse({"query_weight", nan}, "nan", "finite");
  refuse({"query_weight", "heavy"}, "heavy", "finite");
  refuse({"change", "spatial"}, "spatial", "temporal or block");
  refuse({"form", "c_only"}, "c_only", "a_only");
  refuse({"value_reserve", -1}, "-1", "0 or more");
  refuse({"value_stat", "mode"}, "mode", "range, variance, norm or l1");
  refuse({"segment", 0}, "0", "1 or more");
  refuse({"tiers", "4,2"}, "4,2", "three quotas");
  refuse({"tiers", "4,2,-1"}, "-1", "0 or more");
  refuse({"fill", "maybe"}, "maybe", "true or false");
  refuse({"segment_order", "up"}, "up", "high or low");
  refuse({"query_layer", 3}, "3", "layers 0 to 2");
  refuse({"query_window", 65}, "65", "1 to 64");
  refuse({"query_mode", "mix"}, "mix", "replace or add");
  refuse({"track_epiphany", "yes"}, "yes", "true or false");
  expect(make_evictor("epikv-q", shape, "recent=7").status(), errc::invalid_argument, "recent", "7",
         "at least the 8");
  expect(make_evictor("random", shape, "keep_sets=token").status(), errc::invalid_argument,
         "keep_sets", "token", "kv_head");
  expect(make_evictor("random", shape, "seed=-1").status(), errc::invalid_argument, "seed", "-1",
         "0 or more");
}

TEST_CASE("a model that cannot be is refused with the size that is wrong") {
  const auto refuse = [](model_shape bad, const char* argument) {
    const status s = make_evictor("random", bad).status();
    CHECK(s.code() == errc::invalid_argument);
    CHECK_MESSAGE(s.argument() == argument, s.message());
  };
  refuse({0, 4, 2, 4, 16}, "shape.layers");
  refuse({3, 0, 2, 4, 16}, "shape.query_heads");
  refuse({3, 4, -2, 4, 16}, "shape.kv_heads");
  refuse({3, 4, 2, 0, 16}, "shape.head_dim");
  refuse({3, 4, 2, 4, 1 << 30}, "shape.hidden");
  refuse({3, 4, 3, 4, 16}, "shape.query_heads");
  refuse({1 << 15, 1 << 15, 1 << 15, 4, 16}, "shape");
}

TEST_CASE("an evictor that could not be set up says why on every verb") {
  evictor broken{model_shape{}, no_score{}, top_k{}, cpu_backend{}};
  const auto same = [&](const status& s) { CHECK(s.message() == broken.check().message()); };
  REQUIRE(!broken.check().ok());
  same(broken.add(first, 1));
  same(broken.begin_step(first));
  same(broken.observe(0, layer_signals{}));
  same(broken.select().status());
  same(broken.commit(selection{}));
  same(broken.remove(first));
  same(broken.statistics(first).status());
  CHECK(broken.wants(0).empty());
  evictor too_fine{shape,
                   epiphany_with_relevance{},
                   top_k{},
                   cpu_backend{},
                   {.keep_sets = granularity::kv_head}};
  expect(too_fine.check(), errc::unsupported, "keep_sets", "kv_head", "sequence or coarser");
}
