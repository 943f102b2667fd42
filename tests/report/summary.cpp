// SPDX-License-Identifier: MIT

// Does the summary count what is in the records, and do its table and its JSON say the same?

#include "report/summary.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "report/text.hpp"
#include "sample_records.hpp"
#include "scratch.hpp"

namespace {

using report::arm;
using report::record;
using report_test::contains;

record answer(const std::string& preset, std::int32_t budget, std::int64_t problem, bool right) {
  record r;
  r.task = "sums";
  r.preset = preset;
  r.budget = budget;
  r.problem = problem;
  r.right = right;
  r.generated = 10;
  r.seconds = 0.5;
  r.peak_tokens = budget + problem;
  r.peak_bytes = 1024 * (budget + problem);
  return r;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::size_t from = 0;
  for (std::size_t end = 0; (end = text.find('\n', from)) != std::string::npos; from = end + 1) {
    out.push_back(text.substr(from, end - from));
  }
  CHECK(from == text.size());
  return out;
}

TEST_CASE("an arm holds the sums, means and largest values of its records") {
  std::vector<record> records{answer("full", 0, 1, true), answer("full", 0, 2, true),
                              answer("q", 8, 2, false),   answer("full", 0, 3, false),
                              answer("q", 8, 3, true),    answer("q", 8, 4, true)};
  records[2].capped = true;
  records[2].numbers = {{"nll", 2}};
  records[4].numbers = {{"kl", 1}, {"nll", 4}};
  const report::summary s = report::summarize(records);
  REQUIRE(s.arms.size() == 2);
  const arm& full = s.arms[0];
  CHECK(full.is_reference);
  CHECK(!full.against_reference.has_value());
  CHECK(full.problems == 3);
  CHECK(full.right == 2);
  CHECK(full.peak_tokens == 3);

  const arm& q = s.arms[1];
  CHECK(!q.is_reference);
  CHECK(q.problems == 3);
  CHECK(q.right == 2);
  CHECK(q.capped == 1);
  CHECK(q.cap_rate() == doctest::Approx(1.0 / 3));
  CHECK(q.accuracy() == doctest::Approx(2.0 / 3));
  CHECK(q.accuracy_95.low == report::wilson(2, 3).low);
  CHECK(q.tokens_per_second() == doctest::Approx(20));
  CHECK(q.peak_tokens == 12);
  CHECK(q.peak_bytes == 12 * 1024);
  REQUIRE(q.numbers.size() == 2);
  CHECK(q.numbers[0].first == "nll");
  CHECK(q.numbers[0].second.mean == 3);
  CHECK(q.numbers[0].second.count == 2);
  CHECK(q.numbers[1].second.count == 1);
  REQUIRE(q.against_reference.has_value());
  CHECK(q.against_reference->wins == 1);
  CHECK(q.against_reference->losses == 1);
  CHECK(q.against_reference->unpaired == 2);
}

TEST_CASE("arms are those of a plain count, in their order") {
  auto records = report_test::sample_records(7);
  auto second = records;
  for (record& r : second) r.task = "another task";
  records.insert(records.end(), second.begin(), second.end());
  std::rotate(records.begin(), records.begin() + 40, records.end());  // the reference not first

  std::map<std::tuple<std::string, std::string, std::string, int>, std::int64_t> right;
  for (const record& r : records) right[{r.task, r.preset, r.options, r.budget}] += r.right ? 1 : 0;
  const report::summary s = report::summarize(records);
  REQUIRE(s.arms.size() == right.size());
  REQUIRE(s.tasks().size() == 2);
  std::set<std::string> tasks_with_reference;
  for (std::size_t i = 0; i < s.arms.size(); ++i) {
    const arm& a = s.arms[i];
    CHECK(a.right == right.at({a.task, a.preset, a.options, a.budget}));
    CHECK(a.problems == 7);
    CHECK(a.is_reference == (a.preset == "full"));
    CHECK(a.against_reference.has_value() == !a.is_reference);
    if (a.is_reference) CHECK((i == 0 || s.arms[i - 1].task != a.task));
    if (i > 0 && s.arms[i - 1].task == a.task && s.arms[i - 1].preset == a.preset) {
      CHECK(s.arms[i - 1].budget > a.budget);
    }
  }
}

TEST_CASE("without a reference nothing is compared; of several the first one is it") {
  std::vector<record> records{answer("q", 8, 1, true)};
  CHECK(!report::summarize(records).arms[0].against_reference.has_value());
  records.push_back(answer("full", 64, 1, true));
  records.push_back(answer("full", 0, 1, false));
  const report::summary s = report::summarize(records);
  CHECK(s.arms[0].budget == 64);
  CHECK(s.arms[0].is_reference);
  CHECK(!s.arms[1].is_reference);
  CHECK(s.arms[1].against_reference.has_value());
  CHECK(s.arms[2].against_reference.has_value());
  CHECK(report::summarize(records, "q").arms[0].preset == "q");
  CHECK(report::summarize({}).arms.empty());
}

TEST_CASE("the table is aligned, without trailing spaces, and holds the numbers") {
  auto records = report_test::sample_records(40);
  for (record& r : records) {
    if (r.preset == "h2o")
      r.options = "a very long list of options: \xE2\x80\xA6 0123456789 and on";
    if (r.preset == "random") r.options = "two\nlines";
  }
  const report::summary s = report::summarize(records);
  const std::string text = report::table(s);
  const std::vector<std::string> lines = lines_of(text);
  REQUIRE(lines.size() == 2 + s.arms.size());
  CHECK(lines[0] == s.arms[0].task);
  const std::size_t width = report::columns_of(lines[1]);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    CAPTURE(lines[i]);
    CHECK(lines[i].back() != ' ');
    // The last column is right-aligned and only the reference's is empty.
    if (i != 2) CHECK(report::columns_of(lines[i]) == width);
  }
  for (const std::string head :
       {"preset", "options", "budget", "right", "accuracy", "capped", "nll", "kl", "peak tokens",
        "peak bytes", "tokens/s", "wins", "losses", " p"}) {
    CHECK_MESSAGE(contains(lines[1], head), head);
  }
  const arm& last = s.arms.back();
  for (const std::string& part :
       {std::to_string(last.right) + "/40", report::fixed(100 * last.accuracy(), 1) + "%",
        std::to_string(last.peak_tokens), report::fixed(last.tokens_per_second(), 1),
        std::to_string(last.against_reference->losses),
        report::p_value(last.against_reference->p)}) {
    CHECK_MESSAGE(contains(lines.back(), part), part);
  }
  CHECK(contains(lines.back(), "two?lines"));

  CHECK(report::table(report::summarize({})).empty());
  const std::vector<record> one{answer("q", 8, 1, true)};
  const std::vector<std::string> small = lines_of(report::table(report::summarize(one)));
  REQUIRE(small.size() == 3);
  CHECK(!contains(small[1], "options"));
  CHECK(!contains(small[1], "wins"));
}

TEST_CASE("where nothing is graded nothing is said to be right") {
  auto records = report_test::sample_records(10);
  for (record& r : records) r.graded = false;
  const report::summary s = report::summarize(records);
  CHECK_FALSE(s.arms[0].graded);
  const std::vector<std::string> lines = lines_of(report::table(s, {.times = false}));
  for (const std::string head : {"right", "accuracy", "capped", "tokens/s", "wins"}) {
    CHECK_MESSAGE(!contains(lines[1], head), head);
  }
  CHECK(contains(lines[1], "nll"));
  records.back().graded = true;
  CHECK(contains(report::table(report::summarize(records)), "accuracy"));
}

TEST_CASE("the JSON has its schema and the same numbers") {
  const auto records = report_test::sample_records(20);
  const report::summary s = report::summarize(records);
  const report::configuration settings{{"seed", "1"}, {"broken", "\xFF"}};
  const std::string text = report::to_json(s, settings);
  const auto json = nlohmann::json::parse(text, nullptr, false);
  REQUIRE(!json.is_discarded());
  CHECK(json["schema"] == "epikv-summary");
  CHECK(json["version"] == 1);
  CHECK(json["fingerprint"] == report::fingerprint(settings));
  CHECK(json["configuration"]["seed"] == "1");
  REQUIRE(json["arms"].size() == s.arms.size());
  CHECK(json["arms"][0]["against_reference"].is_null());
  for (std::size_t i = 0; i < s.arms.size(); ++i) {
    const auto& got = json["arms"][i];
    const arm& a = s.arms[i];
    CHECK(got["preset"] == a.preset);
    CHECK(got["budget"] == a.budget);
    CHECK(got["right"] == a.right);
    CHECK(got["accuracy"] == a.accuracy());
    CHECK(got["accuracy_95"][1] == a.accuracy_95.high);
    CHECK(got["numbers"]["nll"]["mean"] == a.numbers[0].second.mean);
    CHECK(got["tokens_per_second"] == a.tokens_per_second());
    if (a.against_reference) CHECK(got["against_reference"]["p"] == a.against_reference->p);
  }
  record slow = answer("q", 8, 1, true);
  slow.seconds = 0;
  slow.numbers = {{"nll", std::nan("")}};
  const std::vector<record> one{slow};
  const auto odd =
      nlohmann::json::parse(report::to_json(report::summarize(one), {}), nullptr, false);
  REQUIRE(!odd.is_discarded());
  CHECK(odd["arms"][0]["tokens_per_second"].is_null());
  CHECK(odd["arms"][0]["numbers"]["nll"]["mean"].is_null());
}

}  // namespace
