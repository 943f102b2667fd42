// SPDX-License-Identifier: MIT

// Does it matter how the same tokens reach the evictor? Prompts in any chunks, steps in any
// observe() calls with any row map, decode tokens in any steps between two evictions, steps ended
// by select() or by the next begin_step(): the story must be the same, bit for bit.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/drive_host.hpp"
#include "support/drive_setup.hpp"

namespace {

using drive::dice;
using epikv::any_evictor;

any_evictor make(const drive::setup& s, const std::string& more = {}) {
  auto made = epikv::make_evictor(s.preset, s.shape, s.settings + more);
  REQUIRE_MESSAGE(made.ok(), made.status().message());
  return *std::move(made);
}

std::vector<int> chunks_of(dice& d, int total, int largest) {
  std::vector<int> chunks;
  for (int left = total; left > 0; left -= chunks.back()) {
    chunks.push_back(d.between(1, std::min(left, largest)));
  }
  return chunks;
}

drive::habit random_habit(dice& d) {
  return {.shuffled = d.chance(60),
          .ignored_rows = d.one_of({0, 1, 3}),
          .calls_per_layer = d.between(1, 4),
          .seed = d.next()};
}

}  // namespace

TEST_CASE("a prompt in any chunks gives the same story") {
  std::size_t evictions = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const drive::setup s = drive::random_setup(seed);
    CAPTURE(drive::describe(seed, s));
    dice d{seed};
    const int prompt = d.between(1, 40);
    const auto run = [&](std::vector<int> steps) {
      steps.resize(steps.size() + 40, 1);
      any_evictor ev = make(s);
      return drive::run_alone(ev, s.inputs, {5, prompt, std::move(steps)});
    };
    const drive::story whole = run({prompt});
    const bool same_for_one_by_one =
        run(std::vector<int>(static_cast<std::size_t>(prompt), 1)) == whole;
    CHECK(same_for_one_by_one);
    for (int i = 0; i < 3; ++i) {
      const bool same = run(chunks_of(d, prompt, prompt)) == whole;
      CHECK(same);
    }
    evictions += whole.evictions.size();
  }
  CHECK(evictions > 500);
}

TEST_CASE("a step in any observe() calls with any row map gives the same story") {
  std::size_t evictions = 0;
  for (std::uint64_t seed = 100; seed < 160; ++seed) {
    const drive::setup s = drive::random_setup(seed);
    CAPTURE(drive::describe(seed, s));
    dice d{seed};
    // Two sequences in every step, several tokens each, so that maps have something to map.
    const auto run = [&](const drive::habit& how) {
      any_evictor ev = make(s);
      drive::host<any_evictor> both{ev, s.inputs, how};
      both.join({1, 6, {}});
      both.join({2, 0, {}});
      dice sizes{seed};
      for (int i = 0; i < 30; ++i) {
        both.step({{epikv::sequence_id{1}, i == 0 ? 6 : sizes.between(0, 3)},
                   {epikv::sequence_id{2}, sizes.between(0, 3)}});
      }
      evictions += both.story_of(1).evictions.size();
      return std::vector<drive::story>{both.story_of(1), both.story_of(2)};
    };
    const std::vector<drive::story> plain = run({});
    for (int i = 0; i < 4; ++i) {
      const bool same = run(random_habit(d)) == plain;
      CHECK(same);
    }
  }
  CHECK(evictions > 1000);
}

// Between two evictions nothing is decided, so it cannot matter which steps the tokens came in.
TEST_CASE("decode tokens in any steps that do not cross an aligned eviction give the same story") {
  std::size_t evictions = 0;
  for (std::uint64_t seed = 200; seed < 260; ++seed) {
    drive::setup s = drive::random_setup(seed);
    dice d{seed};
    s.aligned = true;
    s.settings += " cadence=aligned tau=8";
    CAPTURE(drive::describe(seed, s));
    const int prompt = d.between(0, 12);
    const auto run = [&](int largest) {
      drive::plan p{9, prompt, {}};
      if (prompt > 0) p.steps.push_back(prompt);
      for (int round = 0; round < 7; ++round) {
        const std::vector<int> part = chunks_of(d, 8, largest);
        p.steps.insert(p.steps.end(), part.begin(), part.end());
      }
      any_evictor ev = make(s);
      return drive::run_alone(ev, s.inputs, p);
    };
    const drive::story one_by_one = run(1);
    evictions += one_by_one.evictions.size();
    for (const int largest : {2, 5, 8}) {
      const bool same = run(largest) == one_by_one;
      CHECK(same);
    }
  }
  CHECK(evictions > 150);
}

// The host may look at selections only where it can act on them.
TEST_CASE("steps that begin_step() ends count like those that select() ends") {
  std::size_t evictions = 0;
  for (std::uint64_t seed = 300; seed < 360; ++seed) {
    drive::setup s = drive::random_setup(seed);
    dice d{seed};
    s.settings += " tau=4 step_tokens=1";
    CAPTURE(drive::describe(seed, s));
    const int prompt = d.between(1, 30);
    // Selecting after every token with an uncommitted result, or only after every fourth.
    const auto run = [&](bool every_step) {
      any_evictor ev = make(s);
      drive::host<any_evictor> one{ev, s.inputs};
      one.join({4, prompt, {}});
      one.show({{epikv::sequence_id{4}, prompt}});
      for (int t = 1; t <= 48; ++t) {
        one.show({{epikv::sequence_id{4}, 1}});
        if (t % 4 != 0 && !every_step) continue;
        const auto chosen = ev.select();
        REQUIRE(chosen.ok());
        if (t % 4 == 0) one.apply(*chosen);
      }
      return one.story_of(4);
    };
    const drive::story all = run(true);
    const bool same = run(false) == all;
    CHECK(same);
    evictions += all.evictions.size();
  }
  CHECK(evictions > 300);
}
