// SPDX-License-Identifier: MIT

// Does every run happen once, whatever the threads, the interruptions and the order?

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "eval/runner.hpp"
#include "model/program.hpp"
#include "shared_model.hpp"

namespace {

// A task without a model: a run's outcome is a number of its arm, budget and problem.
class counting_task final : public eval::task {
 public:
  explicit counting_task(std::size_t problems, std::int64_t fails_at = -1)
      : problems_{problems}, fails_at_{fails_at} {}

  std::string name() const override { return "counting"; }
  std::size_t problems() const override { return problems_; }
  report::configuration configuration() const override { return {{"counting", "yes"}}; }
  mini::expected<std::unique_ptr<eval::trial>> prepare(eval::session&,
                                                       std::size_t problem) override {
    ++prepared;
    return std::unique_ptr<eval::trial>{std::make_unique<counting_trial>(*this, problem)};
  }

  std::atomic<int> prepared{0};
  std::atomic<int> runs{0};

 private:
  class counting_trial final : public eval::trial {
   public:
    counting_trial(counting_task& of, std::size_t problem) : of_{&of}, problem_{problem} {}
    mini::expected<report::record> run(eval::session&, const eval::arm& each,
                                       std::int32_t budget) override {
      ++of_->runs;
      if (static_cast<std::int64_t>(problem_) == of_->fails_at_) return mini::fail("it failed");
      report::record out;
      out.right = (problem_ + each.name.size() + static_cast<std::size_t>(budget)) % 3 == 0;
      out.generated = static_cast<std::int64_t>(problem_ * 1000) + budget;
      return out;
    }

   private:
    counting_task* of_;
    std::size_t problem_;
  };

  std::size_t problems_;
  std::int64_t fails_at_;
};

eval::run_plan plan_of(std::size_t jobs) {
  return {
      {{"full", "none", ""}, {"a", "random", "seed=1"}, {"b", "random", "seed=2"}}, {30, 20}, jobs};
}

report::progress silent() { return report::progress{report::progress_options{}}; }

std::vector<report::record> sorted(const eval::record_store& store, const eval::run_plan& plan) {
  std::vector<report::record> all = store.records();
  eval::sort_records(all, {"counting"}, plan);
  return all;
}

}  // namespace

TEST_CASE("any number of threads gives the same records, each once") {
  std::vector<report::record> first;
  for (const std::size_t jobs : {1U, 2U, 5U, 40U}) {
    counting_task task{17};
    eval::record_store store;
    auto shown = silent();
    const eval::run_plan plan = plan_of(jobs);
    CHECK(plan.runs() == 5);
    CHECK(eval::missing_runs(task, plan, store) == 17 * 5);
    const auto done = eval::run_task(task, plan, eval_test::shipped(), store, shown);
    REQUIRE_MESSAGE(bool(done), done.error());
    CHECK(task.prepared == 17);
    CHECK(task.runs == 17 * 5);
    CHECK(shown.done() == 17 * 5);
    CHECK(eval::missing_runs(task, plan, store) == 0);
    const std::vector<report::record> all = sorted(store, plan);
    if (first.empty()) first = all;
    CHECK(all == first);
  }
  REQUIRE(first.size() == 17 * 5);
  CHECK(first[0].preset == "full");
  CHECK(first[0].budget == 0);
  CHECK(first[17].preset == "a");
  CHECK(first[17].options == "seed=1");
  CHECK(first[17].budget == 30);
  CHECK(first[34].budget == 20);
  CHECK(first[36].problem == 2);
}

TEST_CASE("a second run does what is missing alone") {
  const mini_test::scratch_folder folder{"runner"};
  const std::string path = folder.file("results.jsonl");
  const eval::run_plan plan = plan_of(2);
  std::vector<report::record> whole;
  {
    counting_task task{9};
    eval::record_store store;
    auto shown = silent();
    REQUIRE(bool(eval::run_task(task, plan, eval_test::shipped(), store, shown)));
    whole = sorted(store, plan);
  }
  // Interrupted twice: part of the problems, then part of the arms.
  int runs = 0;
  for (int round = 0; round < 3; ++round) {
    counting_task task{9};
    auto file = report::results_file::open(path, task.configuration());
    REQUIRE_MESSAGE(bool(file), file.error());
    eval::record_store store;
    store.keep_in(*std::move(file));
    eval::run_plan part = plan;
    if (round == 0) part.first = 2, part.at_most = 3;
    if (round == 1) part.arms.pop_back();
    auto shown = silent();
    const std::size_t missing = eval::missing_runs(task, part, store);
    REQUIRE(bool(eval::run_task(task, part, eval_test::shipped(), store, shown)));
    CHECK(static_cast<std::size_t>(task.runs) == missing);
    runs += task.runs;
    if (round == 0) CHECK(task.prepared == 3);
    if (round == 2) CHECK(sorted(store, plan) == whole);
  }
  CHECK(runs == 9 * 5);
}

TEST_CASE("a failure ends the run and is the run's") {
  counting_task task{1000, 3};
  eval::record_store store;
  auto shown = silent();
  const auto done = eval::run_task(task, plan_of(4), eval_test::shipped(), store, shown);
  REQUIRE_FALSE(bool(done));
  CHECK(done.error() == "it failed");
  CHECK(task.runs < 1000);
}
