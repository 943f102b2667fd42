// SPDX-License-Identifier: MIT

// Are the statistics right? Against enumeration, exact fractions and published values.

#include "report/statistics.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "sample_records.hpp"

namespace {

bool close(double got, double expected, double relative) {
  return std::fabs(got - expected) <= relative * std::fabs(expected);
}

TEST_CASE("mcnemar_p counts all tosses that are at least as uneven") {
  for (int n = 0; n <= 16; ++n) {
    for (int wins = 0; wins <= n; ++wins) {
      CAPTURE(n);
      CAPTURE(wins);
      std::int64_t as_uneven = 0;
      for (std::uint32_t tosses = 0; tosses < (1U << n); ++tosses) {
        const int heads = std::popcount(tosses);
        if (std::abs(2 * heads - n) >= std::abs(2 * wins - n)) ++as_uneven;
      }
      const double expected = std::ldexp(static_cast<double>(as_uneven), -n);
      CHECK(close(report::mcnemar_p(wins, n - wins), expected, 1e-14));
    }
  }
}

TEST_CASE("mcnemar_p is symmetric, known at the ends, and never overflows") {
  CHECK(report::mcnemar_p(0, 0) == 1);
  CHECK(report::mcnemar_p(-3, 0) == 1);
  CHECK(report::mcnemar_p(7, 7) == 1);
  CHECK(close(report::mcnemar_p(0, 10), 2.0 / 1024, 1e-14));
  CHECK(close(report::mcnemar_p(0, 1000), std::ldexp(1.0, -999), 1e-12));
  CHECK(report::mcnemar_p(0, 100'000) == 0);
  for (const std::int64_t n : {99'999, 100'000}) {
    CAPTURE(n);
    double last = 0;
    for (std::int64_t k = n / 2 - 6000; k <= n / 2; k += 100) {
      const double p = report::mcnemar_p(k, n - k);
      CHECK(p == report::mcnemar_p(n - k, k));
      CHECK(p > last);
      CHECK(p <= 1);
      last = p;
    }
  }
}

TEST_CASE("mcnemar_p of many tosses agrees with sums of logarithms and with the normal law") {
  for (const std::int64_t n : {1000, 20'001, 100'000}) {
    for (const double away : {0.5, 2.0, 5.0}) {
      const auto k = static_cast<std::int64_t>(static_cast<double>(n) / 2 -
                                               away * std::sqrt(static_cast<double>(n)) / 2);
      CAPTURE(n);
      CAPTURE(k);
      // Term by term in long double, each from a running sum of logarithms.
      long double tail = 0;
      long double log_term = -static_cast<long double>(n) * std::log(2.0L);
      for (std::int64_t i = 0; i <= k; ++i) {
        tail += std::exp(log_term);
        log_term +=
            std::log(static_cast<long double>(n - i)) - std::log(static_cast<long double>(i + 1));
      }
      const double p = report::mcnemar_p(k, n - k);
      CHECK(close(p, static_cast<double>(2 * tail), 1e-9));
      if (away > 2) continue;  // the normal law's tail is too thin
      // With the correction for continuity.
      const double z = (static_cast<double>(n - 2 * k) - 1) / std::sqrt(static_cast<double>(n));
      CHECK(close(p, std::erfc(z / std::sqrt(2.0)), 0.02));
    }
  }
}

TEST_CASE("compare pairs problems in any order and sets aside what has no partner") {
  const std::vector<report::outcome> a{{5, true}, {1, true}, {3, false}, {2, false}, {9, true}};
  const std::vector<report::outcome> b{{1, false}, {2, true}, {3, false}, {4, true}, {5, true}};
  const report::comparison c = report::compare(a, b);
  CHECK(c.wins == 1);
  CHECK(c.losses == 1);
  CHECK(c.ties == 2);
  CHECK(c.unpaired == 2);
  CHECK(c.pairs() == 4);
  CHECK(c.p == 1);

  const report::comparison back = report::compare(b, a);
  CHECK(back.wins == c.losses);
  CHECK(back.losses == c.wins);
  CHECK(back.unpaired == c.unpaired);
  CHECK(report::compare({}, {}).p == 1);
  CHECK(report::compare(a, {}).unpaired == 5);
}

TEST_CASE("compare agrees with a loop over all pairs") {
  report_test::dice d(11);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<report::outcome> a;
    std::vector<report::outcome> b;
    for (std::int64_t problem = 0; problem < 60; ++problem) {
      if (d.share() < 0.8) a.insert(a.begin(), {problem, d.share() < 0.7});
      if (d.share() < 0.8) b.push_back({problem, d.share() < 0.4});
    }
    std::int64_t wins = 0;
    std::int64_t losses = 0;
    std::int64_t pairs = 0;
    for (const report::outcome& x : a) {
      for (const report::outcome& y : b) {
        if (x.problem != y.problem) continue;
        ++pairs;
        wins += x.right && !y.right ? 1 : 0;
        losses += !x.right && y.right ? 1 : 0;
      }
    }
    const report::comparison c = report::compare(a, b);
    CHECK(c.wins == wins);
    CHECK(c.losses == losses);
    CHECK(c.pairs() == pairs);
    CHECK(c.unpaired == std::ssize(a) + std::ssize(b) - 2 * pairs);
    CHECK(c.p == report::mcnemar_p(wins, losses));
  }
}

TEST_CASE("wilson gives the published values and solves its own equation") {
  // Newcombe 1998, table I, method 3: 81/263, 15/148, 0/20, 1/29.
  const auto is = [](report::interval i, double low, double high) {
    CHECK(std::fabs(i.low - low) < 5e-5);
    CHECK(std::fabs(i.high - high) < 5e-5);
  };
  is(report::wilson(81, 263), 0.2553, 0.3662);
  is(report::wilson(15, 148), 0.0624, 0.1605);
  is(report::wilson(0, 20), 0.0000, 0.1611);
  is(report::wilson(1, 29), 0.0061, 0.1718);

  for (const std::int64_t n : {1, 2, 7, 40, 100'000}) {
    for (std::int64_t right = 0; right <= n; right += n / 7 + 1) {
      const report::interval i = report::wilson(right, n);
      const double share = static_cast<double>(right) / static_cast<double>(n);
      CHECK(i.low <= share);
      CHECK(i.high >= share);
      for (const double end : {i.low, i.high}) {
        if (end == 0 || end == 1) continue;
        const double z = (share - end) / std::sqrt(end * (1 - end) / static_cast<double>(n));
        CHECK(std::fabs(std::fabs(z) - report::z_95) < 1e-6);
      }
      const report::interval other = report::wilson(n - right, n);
      CHECK(std::fabs(other.low - (1 - i.high)) < 1e-12);
    }
  }
  CHECK(report::wilson(0, 0).low == 0);
  CHECK(report::wilson(0, 0).high == 1);
  CHECK(report::wilson(20, 20).high == 1);
}

TEST_CASE("estimate_mean knows what it does not know and does not cancel") {
  CHECK(std::isnan(report::estimate_mean({}).mean));
  const std::vector<double> one{4};
  CHECK(report::estimate_mean(one).mean == 4);
  CHECK(std::isnan(report::estimate_mean(one).standard_error));

  const std::vector<double> few{2, 4, 4, 4, 5, 5, 7, 9};  // sum of squares about the mean: 32
  const report::mean_estimate e = report::estimate_mean(few);
  CHECK(e.count == 8);
  CHECK(close(e.mean, 5, 1e-15));
  CHECK(close(e.standard_error, std::sqrt(32.0 / 7 / 8), 1e-14));

  const std::vector<double> far{1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16};
  CHECK(close(report::estimate_mean(far).mean, 1e9 + 10, 1e-15));
  CHECK(close(report::estimate_mean(far).standard_error, std::sqrt(30.0 / 4), 1e-7));

  const std::vector<double> broken{1, std::numeric_limits<double>::quiet_NaN()};
  CHECK(std::isnan(report::estimate_mean(broken).mean));
}

}  // namespace
