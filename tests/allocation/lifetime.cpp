// SPDX-License-Identifier: MIT

// Is everything given back: by removing sequences, and by destroying an evictor in any state?

#include <doctest/doctest.h>

#include <array>
#include <span>
#include <string>
#include <utility>

#include "allocation/counting_new.hpp"
#include "allocation/settings.hpp"
#include "epikv/cpu.hpp"
#include "unit/driver.hpp"

using allocation::shape;
using epikv::step_sequence;

namespace {

enum class leave { removed, committed, selected, observed, begun, nothing_added };

// Lives through an evictor and leaves it in some state when it is destroyed.
void live(const allocation::setting& each, const std::string& options, epikv_test::feed& source,
          leave how) {
  auto made = epikv::make_evictor(each.preset, shape, options);
  REQUIRE(made.ok());
  if (how == leave::nothing_added) return;
  epikv::any_evictor ev{std::move(*made)};
  std::array<step_sequence, 3> batch{};
  std::array<std::int32_t, 3> tokens{};
  for (std::size_t i = 0; i < batch.size(); ++i) {
    batch[i] = {epikv::sequence_id{static_cast<std::int64_t>(i)}, 6};
    REQUIRE(ev.add(batch[i].sequence, 6).ok());
  }
  const auto nothing = [](const epikv::selection&) noexcept {};
  for (int s = 0; s < 40; ++s) {
    REQUIRE(epikv_test::run_step(ev, source, batch, tokens, nothing).ok());
    for (step_sequence& part : batch) part.new_tokens = s % 7 == 6 ? 50 : 1;
  }
  if (how == leave::committed) return;
  if (how == leave::begun) {
    REQUIRE(ev.begin_step(batch).ok());
    return;
  }
  REQUIRE(epikv_test::show_step(ev, source, batch, tokens).ok());
  if (how == leave::observed) return;
  REQUIRE(ev.select().ok());
  if (how == leave::selected) return;
  for (const step_sequence& part : batch) REQUIRE(ev.remove(part.sequence).ok());
}

}  // namespace

TEST_CASE("an evictor gives back all it took, whatever state it is destroyed in") {
  for (const allocation::setting& each : allocation::settings) {
    CAPTURE(each.preset);
    CAPTURE(each.options);
    const std::string options = allocation::text(each);
    epikv_test::feed source{shape, 160, 4};
    for (const leave how : {leave::removed, leave::committed, leave::selected, leave::observed,
                            leave::begun, leave::nothing_added}) {
      CAPTURE(static_cast<int>(how));
      const counting::holdings before;
      CHECK(counting::calls_of([&] { live(each, options, source, how); }) > 0);
      CHECK(before == counting::holdings{});
    }
  }
}

TEST_CASE("an evictor whose construction is refused gives back all it took") {
  const counting::holdings before;
  epikv::model_shape bad = shape;
  bad.kv_heads = 3;  // does not divide the query heads
  CHECK(epikv::make_evictor("epikv-q", bad).status().code() == epikv::errc::invalid_argument);
  CHECK(epikv::make_evictor("epikv-q", shape, "budget=4").status().code() ==
        epikv::errc::invalid_argument);  // recent = 1, but 8 queries are read
  CHECK(before == counting::holdings{});
}

TEST_CASE("sequences that come and go leave nothing behind") {
  for (const allocation::setting& each : allocation::settings) {
    CAPTURE(each.preset);
    CAPTURE(each.options);
    auto ev = epikv::make_evictor(each.preset, shape, allocation::text(each));
    REQUIRE(ev.ok());
    epikv_test::feed source{shape, 64, 4};
    const auto visit = [&](std::int64_t id) {
      const std::array<step_sequence, 1> batch{step_sequence{epikv::sequence_id{id}, 9}};
      std::array<std::int32_t, 1> tokens{};
      REQUIRE(ev->add(batch[0].sequence, 9).ok());
      for (int s = 0; s < 6; ++s) {
        REQUIRE(epikv_test::run_step(*ev, source, batch, tokens, [](const auto&) {}).ok());
      }
      REQUIRE(ev->remove(batch[0].sequence).ok());
    };
    visit(0);
    // What the evictor itself keeps for the next sequence; it must not grow.
    const counting::holdings idle;
    for (std::int64_t id = 1; id < 30; ++id) visit(id);
    CHECK(idle == counting::holdings{});
  }
}
