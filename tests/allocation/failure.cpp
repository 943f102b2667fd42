// SPDX-License-Identifier: MIT

// If any one allocation fails: does the call say out_of_memory, does everything that was there
// stay as it was, does the same call succeed later, and does the run go on like that of a twin
// whose memory never failed? The host may hold an open step or a selection at that moment.

#include <doctest/doctest.h>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "allocation/counting_new.hpp"
#include "allocation/settings.hpp"
#include "epikv/cpu.hpp"
#include "unit/driver.hpp"

using allocation::shape;
using epikv::step_sequence;

namespace {

// More than any of the calls here makes; reaching it would be a loop without end.
constexpr std::int64_t most_calls = 200;

constexpr std::array<epikv::sequence_id, 2> ids{epikv::sequence_id{4}, epikv::sequence_id{1}};

// An evictor in the middle of a run of two sequences, and a hash of all that it selected.
class runner {
 public:
  explicit runner(const allocation::setting& each) : source_{shape, 320, 2}, room_(1024) {
    auto made = epikv::make_evictor(each.preset, shape, allocation::text(each));
    REQUIRE(made.ok());
    ev_.emplace(std::move(*made));
    REQUIRE(ev_->add(ids[0], 6).ok());
    REQUIRE(ev_->add(ids[1], 9).ok());
    step(6, 9);
    for (int s = 0; s < 26; ++s) step(1, 1);
  }

  epikv::any_evictor& evictor() { return *ev_; }

  void step(std::int32_t first, std::int32_t second) {
    show(first, second);
    select();
    commit();
  }
  void show(std::int32_t first, std::int32_t second) {
    const std::array<step_sequence, 2> batch{step_sequence{ids[0], first},
                                             step_sequence{ids[1], second}};
    REQUIRE(epikv_test::show_step(*ev_, source_, batch, tokens_).ok());
  }
  // Returns true when the selection evicts.
  bool select() {
    const auto chosen = ev_->select();
    REQUIRE(chosen.ok());
    held_.emplace(*chosen);
    return !held_->empty();
  }
  // Reads the selection that is held before it is committed.
  void commit() {
    epikv_test::add_selection(seen_, *held_);
    for (const epikv::sequence_selection& part : *held_) {
      for (const epikv::group_selection& group : part.groups()) {
        group.for_each_evicted_range([&](epikv::position_range range) {
          seen_.add(static_cast<std::uint64_t>(epikv::to_int(range.first)));
          seen_.add(static_cast<std::uint64_t>(epikv::to_int(range.last)));
        });
      }
    }
    REQUIRE(ev_->commit(*held_).ok());
    held_.reset();
  }

  std::uint64_t state() {
    epikv_test::hash all = seen_;
    for (const epikv::sequence_id id : ids) {
      epikv_test::add_state(all, *ev_, id, allocation::groups(*ev_), room_);
      const auto seen = ev_->statistics(id);
      REQUIRE(seen.ok());
      all.add(static_cast<std::uint64_t>(seen->tokens_seen));
      all.add(static_cast<std::uint64_t>(seen->cached_tokens));
      all.add(static_cast<std::uint64_t>(seen->evicted));
    }
    all.add(static_cast<std::uint64_t>(ev_->statistics().sequences));
    all.add(ev_->statistics().steps);
    return all.value();
  }

 private:
  std::optional<epikv::any_evictor> ev_;
  epikv_test::feed source_;
  std::array<std::int32_t, 2> tokens_{};
  std::vector<float> room_;
  std::optional<epikv::selection> held_;
  epikv_test::hash seen_;
};

// What the host is in the middle of when the call comes.
enum class moment { between_steps, step_open, selection_held };
constexpr moment moments[] = {moment::between_steps, moment::step_open, moment::selection_held};

void reach(runner& run, moment when, bool evicts) {
  if (when == moment::between_steps) return;
  run.show(2, 1);
  if (when == moment::step_open) return;
  for (int s = 0; !run.select() && evicts; ++s) {
    REQUIRE(s < 50);
    run.commit();
    run.show(1, 1);
  }
}
// Goes on from there as if the call had never been made.
void go_on(runner& run, moment when) {
  if (when == moment::step_open) run.select();
  if (when != moment::between_steps) run.commit();
}

// `call(evictor)` with each of its allocations refused in turn.
template <class Call>
void check_every_failure(const allocation::setting& each, Call&& call) {
  CAPTURE(each.preset);
  CAPTURE(each.options);
  const bool evicts = allocation::evicts(each);
  for (const moment when : moments) {
    CAPTURE(static_cast<int>(when));
    bool done = false;
    for (std::int64_t n = 1; !done; ++n) {
      CAPTURE(n);
      REQUIRE(n < most_calls);
      const counting::holdings before;
      {
        runner subject{each};
        runner twin{each};
        reach(subject, when, evicts);
        reach(twin, when, evicts);

        const std::int64_t calls = counting::calls();
        counting::fail_at(n);
        const epikv::status outcome = call(subject.evictor());
        const std::int64_t made = counting::calls() - calls;
        done = counting::failure_pending();
        counting::fail_at(0);
        if (done) {
          CHECK(outcome.ok());
          CHECK(n > 4);  // else the call did not need what this test takes away
        } else {
          CHECK(epikv::to_string(outcome.code()) == "out_of_memory");
          CHECK(made == n);  // it gives up at once
          go_on(subject, when);
          go_on(twin, when);
          CHECK(subject.state() == twin.state());
          CHECK(call(subject.evictor()).ok());
        }
        CHECK(call(twin.evictor()).ok());
        // The steps that follow end the step the call may have begun.
        for (int s = 0; s < 12; ++s) {
          subject.step(1, s % 3);
          twin.step(1, s % 3);
        }
        CHECK(subject.state() == twin.state());
      }
      CHECK(before == counting::holdings{});
    }
  }
}

}  // namespace

TEST_CASE("make_evictor() survives the failure of any allocation") {
  for (const allocation::setting& each : allocation::settings) {
    CAPTURE(each.preset);
    const std::string options = allocation::text(each);
    const counting::holdings before;
    bool done = false;
    for (std::int64_t n = 1; !done; ++n) {
      CAPTURE(n);
      REQUIRE(n < most_calls);
      epikv::errc code = epikv::errc::ok;
      {
        counting::fail_at(n);
        const auto made = epikv::make_evictor(each.preset, shape, options);
        done = counting::failure_pending();
        counting::fail_at(0);
        code = made.ok() ? epikv::errc::ok : made.status().code();
      }
      CHECK(epikv::to_string(code) == (done ? "ok" : "out_of_memory"));
      CHECK((!done || n > 1));
      CHECK(before == counting::holdings{});
    }
  }
}

TEST_CASE("the typed evictor keeps a failed construction as its health") {
  const counting::holdings before;
  {
    counting::fail_at(1);
    epikv::evictor ev{shape, epikv::epiphany{}, epikv::top_k{}, epikv::cpu_backend{}, {}};
    REQUIRE(!counting::failure_pending());
    CHECK(ev.check().code() == epikv::errc::out_of_memory);
    CHECK(ev.add(ids[0], 1).code() == epikv::errc::out_of_memory);
    CHECK(ev.begin_step(ids[0]).code() == epikv::errc::out_of_memory);
    CHECK(ev.select().status().code() == epikv::errc::out_of_memory);
    CHECK(ev.wants(0).empty());
  }
  CHECK(before == counting::holdings{});
}

TEST_CASE("add() survives the failure of any allocation") {
  for (const allocation::setting& each : allocation::settings) {
    check_every_failure(each, [](auto& ev) noexcept { return ev.add(epikv::sequence_id{2}, 500); });
  }
}

TEST_CASE("a large begin_step() that was not announced survives the failure of any allocation") {
  for (const allocation::setting& each : allocation::settings) {
    check_every_failure(each, [](auto& ev) noexcept {
      return ev.begin_step({step_sequence{ids[0], 90}, step_sequence{ids[1], 130}});
    });
  }
}
