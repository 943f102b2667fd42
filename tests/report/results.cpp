// SPDX-License-Identifier: MIT

// Does a results file give back what was appended, survive every interruption, and refuse what it
// cannot have written?

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "report/json_lines.hpp"
#include "report/results_file.hpp"
#include "sample_records.hpp"
#include "scratch.hpp"

namespace {

using report::record;
using report::results_file;
using report_test::contains;
using report_test::scratch_path;

const report::configuration settings{{"model", "a/b \"c\".gguf"}, {"seed", "7"}, {"steps", "12"}};

record nasty() {
  record r;
  r.task = "line\nbreak, \"quotes\" \\ \xF0\x9F\x90\x99";
  r.preset = "epikv-q";
  r.options = "tau=16\ttab";
  r.budget = std::numeric_limits<std::int32_t>::min();
  r.problem = std::numeric_limits<std::int64_t>::min();
  r.graded = false;
  r.right = true;
  r.capped = true;
  r.numbers = {{"nll", 0.1}, {"tiny", 5e-324}, {"huge", 1.7976931348623157e308}, {"", -0.0}};
  r.prompt_tokens = std::numeric_limits<std::int64_t>::max();
  r.generated = 3;
  r.peak_tokens = 4;
  r.peak_bytes = 5;
  r.seconds = 1.0 / 3;
  return r;
}

results_file opened(const std::string& path, const report::configuration& c = settings) {
  auto file = results_file::open(path, c);
  REQUIRE_MESSAGE(bool(file), file.error());
  return *std::move(file);
}

void append_all(results_file& file, const std::vector<record>& records) {
  for (const record& r : records) {
    const auto done = file.append(r);
    REQUIRE_MESSAGE(bool(done), done.error());
  }
}

TEST_CASE("a record survives its line") {
  for (const record& r : {record{}, nasty()}) {
    const std::string line = report::to_json_line(r);
    CHECK(!contains(line, "\n"));
    const auto back = report::parse_record(line);
    REQUIRE_MESSAGE(bool(back), back.error());
    CHECK(*back == r);
    CHECK(std::signbit(back->numbers.empty() ? -0.0 : back->numbers.back().second));
  }
}

TEST_CASE("numbers that are not finite survive too, and broken text is repaired") {
  record r;
  const double infinity = std::numeric_limits<double>::infinity();
  r.numbers = {{"a", infinity}, {"b", -infinity}, {"c", std::nan("")}};
  r.seconds = infinity;
  r.task = "\xFF";
  const auto back = report::parse_record(report::to_json_line(r));
  REQUIRE_MESSAGE(bool(back), back.error());
  CHECK(back->numbers[0].second == infinity);
  CHECK(back->numbers[1].second == -infinity);
  CHECK(std::isnan(back->numbers[2].second));
  CHECK(back->seconds == infinity);
  CHECK(back->task == "\xEF\xBF\xBD");
}

TEST_CASE("a line that is not a record is refused") {
  const std::string good = report::to_json_line(nasty());
  const auto with = [&good](const std::string& from, const std::string& to) {
    std::string line = good;
    const std::size_t at = line.find(from);
    REQUIRE_MESSAGE(at != std::string::npos, from);
    return report::parse_record(line.replace(at, from.size(), to)).error();
  };
  CHECK(with("\"epikv-q\"", "\"epikv-seg\"").empty());  // the replacement itself is sound
  CHECK(contains(with("\"right\":true", "\"right\":1"), "'right'"));
  CHECK(contains(with("\"budget\":-2147483648", "\"budget\":-2147483649"), "'budget'"));
  CHECK(contains(with("9223372036854775807", "9223372036854775808"), "'prompt_tokens'"));
  CHECK(contains(with("\"generated\":3", "\"generated\":3.5"), "'generated'"));
  CHECK(contains(with("\"generated\":3,", ""), "no 'generated'"));
  CHECK(contains(with("\"generated\":3", "\"generated\":3,\"generated\":3"), "twice"));
  CHECK(contains(with("\"nll\":0.1", "\"nll\":0.1,\"nll\":0.2"), "twice"));
  CHECK(contains(with("\"nll\":0.1", "\"nll\":\"0.1\""), "'numbers'"));
  CHECK(contains(with("\"generated\":3", "\"generated\":3,\"more\":3"), "no record has"));
  CHECK(contains(report::parse_record("").error(), "not JSON"));
  CHECK(contains(report::parse_record("[]").error(), "not a JSON object"));
  CHECK(contains(report::parse_record(good + good).error(), "not JSON"));
}

TEST_CASE("the fingerprint depends on every name and value and not on the order") {
  const std::string own = report::fingerprint(settings);
  CHECK(own.size() == 16);
  CHECK(own == report::fingerprint({settings[2], settings[0], settings[1]}));
  CHECK(own != report::fingerprint({settings[0], settings[1]}));
  CHECK(own != report::fingerprint({settings[0], settings[1], {"steps", "13"}}));
  CHECK(report::fingerprint({{"ab", "c"}}) != report::fingerprint({{"a", "bc"}}));
  const auto back = report::parse_header(report::header_line(settings));
  REQUIRE_MESSAGE(bool(back), back.error());
  CHECK(*back == settings);
}

TEST_CASE("what was appended is there when the file is opened again, and only once") {
  const scratch_path path("append");
  const auto records = report_test::sample_records(3);
  {
    results_file file = opened(path.path());
    append_all(file, records);
    CHECK(file.records() == records);
    const auto again = file.append(records[5]);
    CHECK(!again);
    CHECK(contains(again.error(), "there already"));
  }
  results_file file = opened(path.path());
  CHECK(file.records() == records);
  CHECK(file.notice().empty());
  CHECK(file.contains(report::key_of(records[5])));
  report::record_key other = report::key_of(records[5]);
  other.problem += 1000;
  CHECK(!file.contains(other));

  record twice = nasty();
  twice.numbers = {{"a", 1}, {"a", 2}};
  CHECK(!file.append(twice));
  twice.numbers.pop_back();
  twice.task = "\xFF";
  append_all(file, {twice});
  CHECK(file.contains(report::key_of(twice)));

  const auto loaded = report::load_results(path.path());
  REQUIRE_MESSAGE(bool(loaded), loaded.error());
  CHECK(loaded->settings == settings);
  CHECK(loaded->records.size() == records.size() + 1);
}

TEST_CASE("a run that was cut off anywhere goes on as if nothing had happened") {
  const scratch_path path("cut");
  auto records = report_test::sample_records(1);
  records.resize(3);
  {
    results_file file = opened(path.path());
    append_all(file, records);
  }
  const std::string whole = path.text();
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    CAPTURE(size);
    path.write(whole.substr(0, size));
    const bool half_line = size > 0 && whole[size - 1] != '\n';
    const auto loaded = report::load_results(path.path());
    if (loaded) CHECK(loaded->notice.empty() != half_line);
    CHECK(path.text().size() == size);  // loading changes nothing

    results_file file = opened(path.path());
    CHECK(file.notice().empty() != half_line);
    if (half_line) CHECK(contains(file.notice(), path.path()));
    for (const record& r : records) {
      if (!file.contains(report::key_of(r))) append_all(file, {r});
    }
    CHECK(path.text() == whole);
  }
  // What a crash of the machine may leave.
  path.write(whole + std::string(100, '\0'));
  CHECK(opened(path.path()).records() == records);
  CHECK(path.text() == whole);
}

TEST_CASE("results of another configuration are refused, and the message says what differs") {
  const scratch_path path("foreign");
  {
    results_file file = opened(path.path());
    append_all(file, report_test::sample_records(1));
  }
  const std::string before = path.text();
  report::configuration other{settings[0], {"seed", "8"}, {"threads", "2"}};
  const auto refused = results_file::open(path.path(), other);
  REQUIRE(!refused);
  const std::string message = refused.error();
  CHECK(contains(message, path.path()));
  CHECK(contains(message, "another configuration"));
  CHECK(contains(message, "seed is '7' in the file and '8' now"));
  CHECK(contains(message, "steps is '12' in the file and not set now"));
  CHECK(contains(message, "threads is not set in the file and '2' now"));
  CHECK(!contains(message, "model"));
  CHECK(path.text() == before);
}

TEST_CASE("a damaged file is refused with the line, and left as it is") {
  const scratch_path path("damaged");
  auto records = report_test::sample_records(1);
  records.resize(3);
  {
    results_file file = opened(path.path());
    append_all(file, records);
  }
  const std::string whole = path.text();
  const std::string line = report::to_json_line(records[1]);
  const auto refusal = [&path](const std::string& text) {
    path.write(text);
    const auto file = results_file::open(path.path(), settings);
    const auto loaded = report::load_results(path.path());
    CHECK(file.error() == loaded.error());
    CHECK(path.text() == text);
    return file.error();
  };
  std::string damaged = whole;
  damaged.replace(damaged.find(line), 10, "##########");
  CHECK(contains(refusal(damaged), ":3: the line is not JSON"));
  CHECK(contains(refusal(whole + line + "\n"), ":5: the line repeats line 3"));
  CHECK(contains(refusal(whole + "\n"), ":5: the line is not JSON"));
  CHECK(contains(refusal("{}\n" + whole), ":1: the line is not the header"));
  CHECK(contains(refusal("a,b,c\n"), ":1: the line is not JSON"));
  CHECK(contains(refusal("no line break"), "not a results file"));
  std::string later = whole;
  later.replace(later.find("results\":1"), 10, "results\":2");
  CHECK(contains(refusal(later), "version 2"));
  std::string changed = whole;
  changed.replace(changed.find("\"seed\":\"7\""), 10, "\"seed\":\"8\"");
  CHECK(contains(refusal(changed), "fingerprint"));
  CHECK(contains(report::load_results(path.path() + "-nowhere").error(), "cannot be opened"));
  CHECK(contains(results_file::open("/nonexistent-folder/file", settings).error(), "cannot be"));
}

TEST_CASE("several threads append whole lines") {
  const scratch_path path("threads");
  results_file file = opened(path.path());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&file, t] {
      for (int i = 0; i < 50; ++i) {
        record r;
        r.task = std::string(200, 'x');
        r.problem = 50 * t + i;
        if (!file.append(r)) break;
      }
    });
  }
  for (std::thread& each : threads) each.join();
  const auto loaded = report::load_results(path.path());
  REQUIRE_MESSAGE(bool(loaded), loaded.error());
  CHECK(loaded->records.size() == 200);
}

}  // namespace
