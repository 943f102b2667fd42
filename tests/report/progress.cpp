// SPDX-License-Identifier: MIT

// Does progress show the right numbers at the right times, on a terminal and in a log?

#include "report/progress.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "report/text.hpp"
#include "scratch.hpp"

namespace {

using report_test::contains;

// What was printed, piece by piece, at a time that the test sets.
struct stage {
  double now = 100;
  std::vector<std::string> printed;

  report::progress_options options(std::int64_t total, bool terminal) {
    report::progress_options out;
    out.label = "ledger";
    out.total = total;
    out.terminal = terminal;
    out.sink = [this](std::string_view text) { printed.emplace_back(text); };
    out.clock = [this] { return now; };
    return out;
  }
};

TEST_CASE("a terminal sees one line that is redrawn, not too often") {
  stage s;
  report::progress p(s.options(80, true));
  REQUIRE(s.printed.size() == 1);
  CHECK(s.printed[0] == "\r\x1b[Kledger [....................] 0/80 0%");
  p.advance();  // at the same moment
  CHECK(s.printed.size() == 1);
  s.now += 10;
  p.advance(19, "epikv-q 200");
  REQUIRE(s.printed.size() == 2);
  CHECK(s.printed[1] ==
        "\r\x1b[Kledger [#####...............] 20/80 25% 2.0/s, 30 s left  epikv-q 200");
  s.now += 0.05;
  p.advance();
  CHECK(s.printed.size() == 2);
  p.message("something\x1b[2J happened\n");
  REQUIRE(s.printed.size() == 4);
  CHECK(s.printed[2] == "\r\x1b[Ksomething [2J happened \n");
  CHECK(contains(s.printed[3], "21/80"));
  s.now += 10;
  p.advance(59);
  p.finish();
  CHECK(contains(s.printed[s.printed.size() - 2], "80/80 100%"));
  CHECK(contains(s.printed[s.printed.size() - 2], ", 20 s"));
  CHECK(s.printed.back() == "\n");
  const std::size_t count = s.printed.size();
  p.advance();
  p.finish();
  CHECK(s.printed.size() == count);
  CHECK(p.done() == 80);
}

TEST_CASE("a line is never wider than the terminal") {
  for (const std::size_t columns : std::vector<std::size_t>{1, 2, 10, 40, 59, 60, 80}) {
    CAPTURE(columns);
    stage s;
    auto options = s.options(1000, true);
    options.columns = columns;
    options.label =
        "a long l\xC3\xA4"
        "bel with a lot to say";
    report::progress p(std::move(options));
    s.now += 1;
    p.advance(5, "and a note that is even longer than the label before it");
    for (const std::string& each : s.printed) {
      REQUIRE(each.substr(0, 4) == "\r\x1b[K");
      const std::string line = each.substr(4);
      CHECK(report::columns_of(line) <= std::max<std::size_t>(columns, 2) - 1);
      CHECK(report::valid_utf8(line) == line);
    }
  }
}

TEST_CASE("a log gets whole lines, now and then, and the last one") {
  stage s;
  {
    report::progress p(s.options(100, false));
    for (int i = 0; i < 100; ++i) {
      s.now += 1;
      p.advance();
    }
    p.message("a word");
  }
  REQUIRE(s.printed.size() == 6);  // start, 30 s, 60 s, 90 s, the message, the end
  for (const std::string& each : s.printed) {
    CHECK(each.back() == '\n');
    CHECK(!contains(each, "\r"));
    CHECK(!contains(each, "\x1b"));
  }
  CHECK(s.printed[1] == "ledger 30/100 30% 1.0/s, 1 m 10 s left\n");
  CHECK(s.printed[4] == "a word\n");
  CHECK(s.printed[5] == "ledger 100/100 100% 1.0/s, 1 m 40 s\n");
}

TEST_CASE("what an earlier run did counts, but not for the rate; slow work shows seconds") {
  stage s;
  auto options = s.options(100, false);
  options.already = 50;
  options.seconds_between_lines = 0;
  report::progress p(std::move(options));
  CHECK(s.printed[0] == "ledger 50/100 50%\n");
  s.now += 8;
  p.advance(2);
  CHECK(s.printed[1] == "ledger 52/100 52% 4.0 s each, 3 m 12 s left\n");
}

TEST_CASE("an unknown total has no bar and no time left") {
  stage s;
  report::progress p(s.options(0, true));
  s.now += 2;
  p.advance(6);
  CHECK(s.printed.back() == "\r\x1b[Kledger 6 3.0/s, 2 s");
}

TEST_CASE("several threads count right") {
  stage s;
  auto options = s.options(4000, true);
  options.seconds_between = 0;
  report::progress p(std::move(options));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&p] {
      for (int i = 0; i < 1000; ++i) p.advance(1, "note");
    });
  }
  for (std::thread& each : threads) each.join();
  CHECK(p.done() == 4000);
  CHECK(s.printed.size() == 4001);
  CHECK(contains(s.printed.back(), "4000/4000 100%"));
}

TEST_CASE("without sink and clock nothing is shown and nothing breaks") {
  report::progress p({});
  p.advance(3, "note");
  p.message("line");
  CHECK(p.done() == 3);
}

}  // namespace
