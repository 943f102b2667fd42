// SPDX-License-Identifier: MIT

// Does a sequence's story depend on the sequence alone? The same sequences run one by one and in
// batches of every composition and order, among sequences that come and go, must evict the same
// tokens at the same time and end with the same bits.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "support/drive_host.hpp"
#include "support/drive_setup.hpp"

namespace {

using drive::dice;
using epikv::any_evictor;

any_evictor make(const drive::setup& s) {
  auto made = epikv::make_evictor(s.preset, s.shape, s.settings);
  REQUIRE_MESSAGE(made.ok(), made.status().message());
  return *std::move(made);
}

// All plans in one evictor. Batches are drawn at random; strangers join and leave on the way.
std::vector<drive::story> run_together(const drive::setup& s, const std::vector<drive::plan>& plans,
                                       std::uint64_t seed) {
  dice d{seed};
  any_evictor ev = make(s);
  drive::host<any_evictor> all{ev, s.inputs};
  std::vector<std::size_t> order(plans.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  // In which order sequences were added must not matter either.
  if (d.chance(50)) std::reverse(order.begin(), order.end());
  for (const std::size_t i : order) all.join(plans[i]);

  std::vector<std::size_t> next(plans.size(), 0);
  std::int64_t stranger = 0;
  for (bool busy = true; busy;) {
    if (stranger == 0 && d.chance(20)) {
      stranger = 1000 + static_cast<std::int64_t>(d.next() % 50);
      all.join({stranger, d.between(0, 6), {}});
    } else if (stranger != 0 && d.chance(10)) {
      all.leave(std::exchange(stranger, 0));
    }
    std::vector<epikv::step_sequence> batch;
    busy = false;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      if (next[i] == plans[i].steps.size()) continue;
      busy = true;
      if (d.chance(30)) continue;
      batch.push_back({epikv::sequence_id{plans[i].id}, plans[i].steps[next[i]++]});
    }
    if (stranger != 0) batch.push_back({epikv::sequence_id{stranger}, d.between(0, 4)});
    for (std::size_t i = batch.size(); i > 1; --i) {
      std::swap(batch[i - 1],
                batch[static_cast<std::size_t>(d.between(0, static_cast<int>(i) - 1))]);
    }
    all.step(batch);
  }
  std::vector<drive::story> stories;
  for (const drive::plan& p : plans) stories.push_back(all.story_of(p.id));
  return stories;
}

}  // namespace

TEST_CASE("a sequence's evictions and scores do not depend on what else is in the batch") {
  std::size_t evictions = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const drive::setup s = drive::random_setup(seed);
    CAPTURE(drive::describe(seed, s));
    dice d{seed};
    std::vector<drive::plan> plans;
    for (const std::int64_t id : {3, -8, 70}) plans.push_back(drive::random_plan(d, id, 45));
    const std::vector<drive::story> together = run_together(s, plans, seed);
    const std::vector<drive::story> otherwise = run_together(s, plans, seed + 1000);
    for (std::size_t i = 0; i < plans.size(); ++i) {
      any_evictor ev = make(s);
      const drive::story alone = drive::run_alone(ev, s.inputs, plans[i]);
      const bool same = alone == together[i] && alone == otherwise[i];
      CHECK(same);
      evictions += alone.evictions.size();
    }
  }
  // The comparison is worth something only if tokens left.
  CHECK(evictions > 1000);
}
