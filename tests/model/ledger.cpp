// SPDX-License-Identifier: MIT

// Does the generator of the ledger task draw problems that keep its rules, with the trace that a
// reader of the prompt alone would write, and the same ones on every machine?

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ledger_rules.hpp"
#include "mini_model/ledger.hpp"

namespace {

mini::ledger_problem drawn(std::uint64_t seed, std::size_t initial, std::size_t steps) {
  auto problem = mini::make_ledger_problem(seed, initial, steps);
  REQUIRE_MESSAGE(bool(problem), problem.error());
  return *std::move(problem);
}

}  // namespace

TEST_CASE("SplitMix64 gives the published numbers") {
  mini::splitmix64 random{1234567};
  for (const std::uint64_t expected :
       {6457827717110365317u, 3203168211198807973u, 9817491932198370423u, 4593380528125082431u,
        16408922859458223821u}) {
    CHECK(random.next() == expected);
  }
  std::map<std::size_t, int> counts;
  for (int i = 0; i < 7000; ++i) ++counts[random.below(7)];
  CHECK(counts.size() == 7);
  for (const auto& [number, count] : counts) {
    CHECK(number < 7);
    CHECK(count > 850);
    CHECK(count < 1150);
  }
  CHECK(random.below(1) == 0);
}

TEST_CASE("the rules' own example") {
  const auto problem = mini_test::read_ledger("a3;b7;c1;d9;e=a+c;f=e-b;?f#");
  REQUIRE(problem.fault.empty());
  const auto solution = mini_test::solve_ledger(problem);
  CHECK(solution.trace ==
        "e=a+c;f:a3 c1 3+1=4 e4.ok 4-1=3 4-3=1;f=e-b;?:e4 b7 4-7=7 f7.ok 7+7=4 4-7=7;?f7\n");
  CHECK(solution.answer == '7');
  CHECK(mini_test::false_sum(solution.trace).empty());
  CHECK(mini_test::false_sum("3+1=4 9+5=4 1-2=9").empty());
  CHECK(mini_test::false_sum("3+1=4 9+5=5 1-2=9") == "9+5=5");
  for (const char* broken :
       {"a3;b7;?a#", "a3;a7;c=a+a;?c#", "a3;b7;c=a+d;?c#", "a3;b7;c=a*b;?c#", "a3;b7;c=a+b;?d#",
        "a3;b7;c=a+b;c", "o3;b7;c=o+b;?c#", "a3;b7;a=a+b;?a#", "a3;b7;c=a+a;?c#", "a3;b7;c=a+b;?c",
        "a3;b7;c=a+b;?c# ", ""}) {
    CHECK_MESSAGE(!mini_test::read_ledger(broken).fault.empty(), broken);
  }
}

TEST_CASE("a thousand problems keep the rules, and trace and answer follow from the prompt") {
  std::set<std::string> prompts;
  std::map<char, int> names, digits, answers, signs, asked;
  for (std::uint64_t seed = 0; seed < 1200; ++seed) {
    const std::size_t steps = 1 + seed % 20;
    const mini::ledger_problem problem = drawn(seed * 977 + 1'000'000, 4, steps);
    CAPTURE(problem.prompt);
    const auto read = mini_test::read_ledger(problem.prompt);
    REQUIRE_MESSAGE(read.fault.empty(), read.fault);
    CHECK(read.given.size() == 4);
    REQUIRE(read.program.size() == steps);
    const auto solution = mini_test::solve_ledger(read);
    CHECK(problem.trace == solution.trace);
    CHECK(problem.answer == solution.answer);
    CHECK(mini_test::false_sum(problem.trace) == "");
    CHECK(problem.prompt.size() == 12 + 6 * steps + 3);
    CHECK(problem.trace.size() == 38 * steps + 4);
    if (steps >= 3) {
      std::size_t back = 0;
      while (back < 3 && read.program[steps - 1 - back].target != read.question) ++back;
      CHECK(back < 3);  // one of the last three
      ++asked[static_cast<char>('0' + back)];
    }
    prompts.insert(problem.prompt);
    for (const auto& [name, value] : read.given) {
      ++names[name];
      ++digits[static_cast<char>('0' + value)];
    }
    for (const auto& line : read.program) ++signs[line.sign];
    ++answers[problem.answer];
  }
  // Nothing is preferred: shares of what a fair draw gives, over 8 standard deviations wide.
  CHECK(prompts.size() > 1190);
  CHECK(names.size() == 24);
  for (const auto& [name, count] : names) CHECK(count > 100);  // 200
  CHECK(digits.size() == 10);
  for (const auto& [digit, count] : digits) CHECK(count > 300);  // 480
  CHECK(answers.size() == 10);
  for (const auto& [digit, count] : answers) CHECK(count > 40);  // 120
  CHECK(signs['+'] > 5800);                                      // 6300
  CHECK(signs['-'] > 5800);
  CHECK(asked.size() == 3);
  for (const auto& [back, count] : asked) CHECK(count > 220);  // 360
}

TEST_CASE("any number of given values works, and numbers of names that there are not are refused") {
  for (std::size_t initial = 0; initial <= 26; ++initial) {
    for (std::size_t steps = 0; steps <= 26; ++steps) {
      const auto problem = mini::make_ledger_problem(7, initial, steps);
      const bool possible = initial >= 2 && steps >= 1 && initial + steps <= 24;
      CAPTURE(initial);
      CAPTURE(steps);
      REQUIRE(static_cast<bool>(problem) == possible);
      if (possible) {
        const auto read = mini_test::read_ledger(problem->prompt);
        CHECK(read.fault == "");
        CHECK(read.given.size() == initial);
        CHECK(read.program.size() == steps);
        CHECK(problem->trace == mini_test::solve_ledger(read).trace);
      } else {
        CHECK(problem.error() == "no ledger problem has " + std::to_string(initial) +
                                     " values and " + std::to_string(steps) + " steps");
      }
    }
  }
  const std::size_t huge = ~std::size_t{0};
  CHECK(!mini::make_ledger_problem(7, huge, 1));
  CHECK(!mini::make_ledger_problem(7, 4, huge));
  CHECK(!mini::make_ledger_problem(7, huge, huge));
}

TEST_CASE("a seed stands for the same problem everywhere and for ever") {
  // Changing these texts changes every figure that was ever measured on the task.
  const mini::ledger_problem first = drawn(1'000'000, 4, 3);
  CHECK(first.prompt == "j0;v8;r7;c3;z=j-r;u=j+z;m=c+j;?m#");
  CHECK(first.trace ==
        "z=j-r;u:j0 r7 0-7=3 z3.ok 3+7=0 0-3=7;u=j+z;m:j0 z3 0+3=3 u3.ok 3-3=0 3-0=3;"
        "m=c+j;?:c3 j0 3+0=3 m3.ok 3-0=3 3-3=0;?m3\n");
  const mini::ledger_problem other = drawn(0xFFFFFFFFFFFFFFFFu, 2, 1);
  CHECK(other.prompt == "x4;a7;g=a+x;?g#");
  CHECK(other.trace == "g=a+x;?:a7 x4 7+4=1 g1.ok 1-4=7 1-7=4;?g1\n");
  // FNV-1a over the first thousand problems.
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const mini::ledger_problem problem = drawn(seed, 4, 12);
    for (const char c : problem.prompt + problem.trace) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
    }
  }
  CHECK(hash == 0x7ABE3D6FD0802CFBu);
}

TEST_CASE("a text is right that ends with the question and its answer") {
  const mini::ledger_problem problem = drawn(42, 4, 2);
  const std::string trace = problem.trace;
  const auto right = mini::grade(problem, trace);
  CHECK(right.right);
  CHECK(right.characters == 1.0);

  const auto nothing = mini::grade(problem, "");
  CHECK(!nothing.right);
  CHECK(nothing.characters == 0.0);

  for (char digit = '0'; digit <= '9'; ++digit) {
    std::string text = trace;
    text[text.size() - 2] = digit;
    const auto mark = mini::grade(problem, text);
    CHECK(mark.right == (digit == problem.answer));
    const auto size = static_cast<double>(trace.size());
    CHECK(mark.characters ==
          doctest::Approx((size - (digit == problem.answer ? 0.0 : 1.0)) / size));
  }
  const std::string end = trace.substr(trace.size() - 4);
  CHECK(mini::grade(problem, end).right);  // the way there is not asked for
  CHECK(mini::grade(problem, end).characters < 0.2);
  CHECK(!mini::grade(problem, ";" + end.substr(1)).right);
  CHECK(!mini::grade(problem, trace.substr(0, trace.size() - 1)).right);
  CHECK(mini::grade(problem, trace.substr(0, trace.size() / 2)).characters == doctest::Approx(0.5));
  CHECK(!mini::grade(problem, trace + "a").right);
  CHECK(mini::grade(problem, trace + "a").characters == 1.0);
  // Everything moved by one place: right at the end, and hardly a character in its place.
  const auto late = mini::grade(problem, ";" + trace);
  CHECK(late.right);
  CHECK(late.characters < 0.3);

  const mini::ledger_problem none;
  CHECK(!mini::grade(none, "").right);
  CHECK(!mini::grade(none, "x").right);
  CHECK(mini::grade(none, "x").characters == 0.0);
}
