// SPDX-License-Identifier: MIT

// After add(), does anything allocate that should not: decoding for ever, prompts of the announced
// length, steps of up to step_tokens tokens, calls that are rejected, questions?

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "allocation/counting_new.hpp"
#include "allocation/settings.hpp"
#include "epikv/cpu.hpp"
#include "unit/driver.hpp"

using allocation::shape;
using counting::calls_of;
using epikv::step_sequence;
using epikv_test::feed;
using epikv_test::run_step;

namespace {

constexpr std::array<epikv::sequence_id, 3> ids{epikv::sequence_id{7}, epikv::sequence_id{2},
                                                epikv::sequence_id{1LL << 40}};
constexpr std::array<std::int32_t, 3> prompts{11, 0, 37};
constexpr std::int32_t prompt_tokens = 48;

struct outcome {
  std::int64_t requests = 0;
  std::int64_t evictions = 0;
  bool ok = true;
};

// A fleet of three sequences with their prompts announced.
template <class Evictor>
class fleet {
 public:
  explicit fleet(Evictor& ev) : ev_{ev}, source_{ev.shape(), 512, 5} {
    for (std::size_t i = 0; i < ids.size(); ++i) REQUIRE(ev.add(ids[i], prompts[i]).ok());
  }

  // One step of the sequences with a token count that is not negative.
  outcome step(std::array<std::int32_t, 3> counts) {
    std::array<step_sequence, 3> batch{};
    std::array<std::int32_t, 3> tokens{};
    std::size_t n = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (counts[i] < 0) continue;
      batch[n] = {ids[i], counts[i]};
      tokens[n++] = seen_[i];
    }
    outcome of;
    of.requests = calls_of([&] {
      of.ok = run_step(ev_, source_, std::span{batch}.first(n), tokens,
                       [&](const epikv::selection& chosen) {
                         of.evictions += std::distance(chosen.begin(), chosen.end());
                       })
                  .ok();
    });
    n = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (counts[i] >= 0) seen_[i] = tokens[n++];
    }
    return of;
  }

  // Prompts in steps of at most `chunk` tokens a sequence.
  outcome prompt(std::int32_t chunk) {
    outcome of;
    for (std::int32_t first = 0; first < prompt_tokens; first += chunk) {
      std::array<std::int32_t, 3> counts{};
      for (std::size_t i = 0; i < ids.size(); ++i) {
        counts[i] = std::clamp(prompts[i] - first, 0, chunk);
      }
      add(of, step(counts));
    }
    return of;
  }

  // Steps of 0 to `step_tokens` tokens, of all sequences or some.
  outcome decode(int steps, std::uint64_t seed) {
    outcome of;
    epikv_test::random_source random{seed};
    for (int s = 0; s < steps; ++s) {
      std::array<std::int32_t, 3> counts{};
      for (std::int32_t& c : counts) c = random.below(allocation::step_tokens + 2) - 1;
      add(of, step(counts));
    }
    return of;
  }

 private:
  static void add(outcome& to, const outcome& more) {
    to.requests += more.requests;
    to.evictions += more.evictions;
    to.ok = to.ok && more.ok;
  }

  Evictor& ev_;
  feed source_;
  std::array<std::int32_t, 3> seen_{};
};

template <class Evictor>
void check_steady(Evictor& ev, bool evicts, bool grows = false) {
  for (const std::int32_t chunk : {prompt_tokens, 8, 1}) {
    CAPTURE(chunk);
    {
      fleet run{ev};
      const outcome prompt = run.prompt(chunk);
      CHECK(prompt.ok);
      CHECK(prompt.requests == 0);
      const outcome decoding = run.decode(300, 9);
      CHECK(decoding.ok);
      if (grows && evicts) {
        CHECK(decoding.requests < 60);
        CHECK(decoding.evictions > 0);
      } else if (evicts) {
        CHECK(decoding.requests == 0);
        CHECK(decoding.evictions > 60);
      } else {
        // Nothing leaves, so the storage has to grow; by half each time, so rarely.
        CHECK(decoding.requests > 0);
        CHECK(decoding.requests < 60);
        CHECK(decoding.evictions == 0);
      }
    }
    for (const epikv::sequence_id id : ids) REQUIRE(ev.remove(id).ok());
  }
}

}  // namespace

TEST_CASE("the settings of this folder name every preset") {
  for (const epikv::preset_info& preset : epikv::presets) {
    CAPTURE(preset.name);
    CHECK(std::any_of(std::begin(allocation::settings), std::end(allocation::settings),
                      [&](const auto& each) { return each.preset == preset.name; }));
  }
}

TEST_CASE("prompts and decoding allocate nothing after add()") {
  for (const allocation::setting& each : allocation::settings) {
    CAPTURE(each.preset);
    CAPTURE(each.options);
    auto ev = epikv::make_evictor(each.preset, shape, allocation::text(each));
    REQUIRE_MESSAGE(ev.ok(), ev.status().message());
    check_steady(*ev, allocation::evicts(each), allocation::grows(each));
  }
}

TEST_CASE("the typed evictor allocates as little as the one by name") {
  const epikv::evictor_options options{.budget = 24,
                                       .tau = 4,
                                       .recent = 8,
                                       .keep_sets = epikv::granularity::kv_head,
                                       .step_tokens = allocation::step_tokens};
  epikv::evictor flat{shape, epikv::epiphany{.window = 9}, epikv::top_k{{.tokens = 3}},
                      epikv::cpu_backend{}, options};
  REQUIRE(flat.check().ok());
  check_steady(flat, true);
  epikv::evictor tiered{shape, epikv::random_score{.seed = 3}, epikv::segmented{},
                        epikv::cpu_backend{}, options};
  REQUIRE(tiered.check().ok());
  check_steady(tiered, true);
}

TEST_CASE("a step larger than announced may allocate and works; those after it do not allocate") {
  for (const allocation::setting& each : allocation::settings) {
    if (allocation::grows(each)) continue;
    CAPTURE(each.preset);
    CAPTURE(each.options);
    auto ev = epikv::make_evictor(each.preset, shape, allocation::text(each));
    REQUIRE(ev.ok());
    fleet run{*ev};
    CHECK(run.prompt(prompt_tokens).ok);
    CHECK(run.decode(20, 3).requests == 0);
    const outcome large = run.step({200, 3, 150});
    CHECK(large.ok);
    CHECK(large.requests > 0);
    CHECK(run.step({200, 3, 150}).requests == 0);
    const outcome after = run.decode(40, 4);
    CHECK(after.ok);
    CHECK(after.requests == 0);
    CHECK(after.evictions > 0);
  }
}

TEST_CASE("starting over, protection and questions allocate nothing") {
  for (const allocation::setting& each : allocation::settings) {
    if (!allocation::evicts(each)) continue;
    CAPTURE(each.preset);
    auto made = epikv::make_evictor(each.preset, shape, allocation::text(each));
    REQUIRE(made.ok());
    epikv::any_evictor& ev = *made;
    fleet run{ev};
    CHECK(run.prompt(prompt_tokens).ok);
    CHECK(run.decode(30, 3).ok);
    std::vector<float> room(256);
    bool ok = true;
    CHECK(calls_of([&] {
            for (int i = 0; i < 16; ++i) {
              ok = ok && ev.protect(ids[0], {epikv::position{i}, epikv::position{i + 1}}).ok();
            }
            ok = ok && ev.clear_protection(ids[0]).ok();
            for (std::int32_t g = 0; g < allocation::groups(ev); ++g) {
              ok = ok && ev.length(ids[0], g).ok() && ev.positions(ids[0], g).ok() &&
                   ev.scores(ids[0], g, "score", room).ok();
            }
            ok = ok && ev.statistics(ids[0]).ok() && ev.statistics().sequences == 3;
            for (int i = 0; i < epikv::signal_count; ++i) {
              static_cast<void>(ev.cadence(static_cast<epikv::signal_id>(i)));
            }
            for (const epikv::sequence_id id : ids) ok = ok && ev.reset(id).ok();
          }) == 0);
    CHECK(ok);
    const outcome again = run.decode(60, 5);
    CHECK(again.ok);
    CHECK((again.requests == 0 || allocation::grows(each)));
    CHECK(again.evictions > 0);
  }
}

TEST_CASE("a rejected call allocates nothing") {
  using epikv::errc;
  constexpr epikv::sequence_id a{1};
  constexpr epikv::sequence_id absent{99};
  for (const allocation::setting& each : allocation::settings) {
    if (!allocation::evicts(each)) continue;
    CAPTURE(each.preset);
    CAPTURE(each.options);
    auto made =
        epikv::make_evictor(each.preset, shape, allocation::text(each) + " on_overflow=refuse");
    REQUIRE(made.ok());
    epikv::any_evictor& ev = *made;
    REQUIRE(ev.add(a, 10).ok());
    feed source{shape, 64, 1};
    std::vector<float> room(64);

    const auto rejects = [&](errc code, const char* what, auto&& call) {
      CAPTURE(what);
      errc got = errc::ok;
      CHECK(calls_of([&] { got = call(); }) == 0);
      CHECK(epikv::to_string(got) == epikv::to_string(code));
    };
    const auto code_of = [](const auto& of) {
      if constexpr (requires { of.status(); })
        return of.ok() ? errc::ok : of.status().code();
      else
        return of.code();
    };

    rejects(errc::wrong_order, "select", [&] { return code_of(ev.select()); });
    rejects(errc::duplicate_sequence, "add", [&] { return code_of(ev.add(a, 10)); });
    rejects(errc::invalid_argument, "prompt", [&] { return code_of(ev.add(absent, -1)); });
    rejects(errc::invalid_argument, "budget",
            [&] { return code_of(ev.add(absent, {.prompt_length = 1, .budget = -2})); });
    rejects(errc::over_budget, "room",
            [&] { return code_of(ev.add(absent, {.prompt_length = 40, .budget = 4})); });
    rejects(errc::unknown_sequence, "remove", [&] { return code_of(ev.remove(absent)); });
    rejects(errc::unknown_sequence, "reset", [&] { return code_of(ev.reset(absent)); });
    rejects(errc::over_budget, "protect",
            [&] { return code_of(ev.protect(a, {epikv::position{0}, epikv::position{1000}})); });
    rejects(errc::invalid_argument, "range",
            [&] { return code_of(ev.protect(a, {epikv::position{5}, epikv::position{5}})); });
    // A first part that is in order and too large for the storage does not allocate either.
    rejects(errc::unknown_sequence, "batch", [&] {
      return code_of(ev.begin_step({step_sequence{a, 5000}, step_sequence{absent, 1}}));
    });
    rejects(errc::duplicate_sequence, "batch",
            [&] { return code_of(ev.begin_step({step_sequence{a, 5000}, step_sequence{a, 1}})); });
    rejects(errc::invalid_argument, "tokens", [&] { return code_of(ev.begin_step(a, -1)); });
    rejects(errc::invalid_argument, "tokens",
            [&] { return code_of(ev.begin_step(a, epikv::evictor_options::max_tokens + 1)); });
    rejects(errc::invalid_argument, "layer",
            [&] { return code_of(ev.observe(shape.layers, source.rows(1))); });
    for (std::int32_t layer = 0; layer < shape.layers; ++layer) {
      if (ev.wants(layer).empty()) continue;
      rejects(errc::wrong_order, "observe",
              [&] { return code_of(ev.observe(layer, source.rows(10))); });
      REQUIRE(ev.begin_step(a, 10).ok());
      rejects(errc::missing_signal, "signal",
              [&] { return code_of(ev.observe(layer, epikv::layer_signals{})); });
      rejects(errc::wrong_shape, "rows",
              [&] { return code_of(ev.observe(layer, source.rows(9))); });
      REQUIRE(ev.observe(layer, source.rows(10)).ok());
      rejects(errc::wrong_order, "twice",
              [&] { return code_of(ev.observe(layer, source.rows(10))); });
      break;
    }
    REQUIRE(ev.begin_step(a, 0).ok());
    const auto first = ev.select();
    REQUIRE(first.ok());
    REQUIRE(ev.select().ok());
    rejects(errc::stale_selection, "commit", [&] { return code_of(ev.commit(*first)); });
    rejects(errc::unknown_sequence, "length", [&] { return code_of(ev.length(absent)); });
    rejects(errc::invalid_argument, "group",
            [&] { return code_of(ev.positions(a, allocation::groups(ev))); });
    rejects(errc::invalid_argument, "part",
            [&] { return code_of(ev.scores(a, 0, "no such part", room)); });
    rejects(errc::unknown_sequence, "statistics", [&] { return code_of(ev.statistics(absent)); });
    rejects(errc::unknown_name, "name",
            [&] { return code_of(epikv::make_evictor("no-such", shape)); });
    rejects(errc::unknown_option, "option",
            [&] { return code_of(epikv::make_evictor(each.preset, shape, "no_such=1")); });
    rejects(errc::invalid_argument, "value",
            [&] { return code_of(epikv::make_evictor(each.preset, shape, "tau=soon")); });
  }
}
