// SPDX-License-Identifier: MIT

// Does a rolling score still say after ten million tokens what its window says, and what does a
// push do with weights, missing windows and values that are not finite?

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "epikv/cpu.hpp"

namespace {

using namespace epikv;

// Sanitizers make a push take tens of times as long.
#if defined(NDEBUG)
constexpr std::int64_t pushes = 10'000'000;
constexpr std::int64_t burst_period = 1'000'003;
#else
constexpr std::int64_t pushes = 200'000;
constexpr std::int64_t burst_period = 20'011;
#endif

// Value number `i` of the long stream: in [1, 2), but now and then a few are so large that a sum
// that is updated instead of taken anew would keep a trace of them for ever.
double stream(std::int64_t i) {
  std::uint64_t z = static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z ^= z >> 27;
  const double value = 1.0 + static_cast<double>(z >> 11) * 0x1p-53;
  return i % burst_period < 3 ? value * 1e9 : value;
}

struct moments {
  long double mean = 0.0L;
  long double deviation = 0.0L;  // population
};

moments moments_of(const std::vector<double>& values) {
  moments m;
  const auto count = static_cast<long double>(values.size());
  for (const double x : values) m.mean += x / count;
  for (const double x : values) m.deviation += (x - m.mean) * (x - m.mean) / count;
  m.deviation = std::sqrt(m.deviation);
  return m;
}

long double z_of_last(const std::vector<double>& values) {
  if (values.size() < 2) return 0.0L;
  const moments m = moments_of(values);
  return (values.back() - m.mean) / (m.deviation + 1e-6L);
}

// The last `window` of the values up to number `i`.
std::vector<double> latest(std::int64_t i, std::int32_t window) {
  std::vector<double> values;
  for (std::int64_t j = std::max<std::int64_t>(0, i - window + 1); j <= i; ++j) {
    values.push_back(stream(j));
  }
  return values;
}

double relative_error(double got, long double expected) {
  const auto size = std::max(1.0L, std::abs(expected));
  return static_cast<double>(std::abs(static_cast<long double>(got) - expected) / size);
}

// A window in memory of its own.
struct window_memory {
  explicit window_memory(std::int32_t size) : ring(static_cast<std::size_t>(size)) {}
  [[nodiscard]] rolling_window view() {
    return {ring.data(), header.data(), static_cast<std::int32_t>(ring.size())};
  }
  [[nodiscard]] bool same(const window_memory& other) const {
    return ring == other.ring && header == other.header;
  }

  std::vector<double> ring;
  std::array<std::int32_t, 2> header{};
};

float run(rolling_job job, double sum_a, double sum_b) {
  float out = -1.0F;
  job.sum_a = &sum_a;
  job.sum_b = &sum_b;
  job.out = &out;
  cpu_backend::run(job);
  return out;
}

bool is_canonical_nan(float x) {
  return std::bit_cast<std::uint32_t>(x) == detail::canonical_nan_bits;
}

}  // namespace

TEST_CASE("ten million pushes later a window says what a fresh computation says") {
  const std::int32_t size = 32;
  window_memory memory{size};
  double worst_mean = 0.0;
  double worst_z = 0.0;
  std::int64_t looked = 0;
  for (std::int64_t i = 0; i < pushes; ++i) {
    // At the start, at the end, during and after each burst, and now and then.
    const bool look = i < 200 || i >= pushes - 200 || i % burst_period < 2 * size || i % 4999 == 0;
    const rolling_form form = look && i % 2 == 0 ? rolling_form::z : rolling_form::mean;
    const double got = cpu::roll(memory.view(), stream(i), form);
    if (!look) continue;
    ++looked;
    const std::vector<double> values = latest(i, size);
    if (form == rolling_form::z) {
      worst_z = std::max(worst_z, relative_error(got, z_of_last(values)));
    } else {
      worst_mean = std::max(worst_mean, relative_error(got, moments_of(values).mean));
    }
  }
  CHECK(looked > 1000);
  CHECK(worst_mean < 1e-12);
  CHECK(worst_z < 1e-12);
}

TEST_CASE("windows of every size fill, turn over and answer with the last values") {
  for (const std::int32_t size : {1, 2, 3, 5, 63, 64, 65}) {
    CAPTURE(size);
    window_memory for_z{size};
    window_memory for_mean{size};
    double worst = 0.0;
    for (std::int64_t i = 10; i < 10 + 4 * size; ++i) {
      // Begins at 10: the stream starts with a burst.
      std::vector<double> values = latest(i, size);
      values.erase(values.begin(),
                   values.begin() + std::max<std::ptrdiff_t>(0, std::ssize(values) - (i - 9)));
      const double z = cpu::roll(for_z.view(), stream(i), rolling_form::z);
      const double mean = cpu::roll(for_mean.view(), stream(i), rolling_form::mean);
      worst = std::max(worst, relative_error(z, z_of_last(values)));
      worst = std::max(worst, relative_error(mean, moments_of(values).mean));
    }
    CHECK(worst < 1e-13);
    CHECK(for_z.same(for_mean));
  }
}

TEST_CASE("the score is the weighted difference of the two windows' numbers") {
  for (const rolling_form form : {rolling_form::z, rolling_form::mean}) {
    window_memory a{5};
    window_memory b{8};
    rolling_job job{.a = a.view(),
                    .b = b.view(),
                    .divisor_a = 3.0,
                    .divisor_b = 7.0,
                    .weight_a = 1.29,
                    .weight_b = 0.7,
                    .form = form};
    std::mt19937 random{1};
    std::vector<double> values_a;
    std::vector<double> values_b;
    for (int i = 0; i < 40; ++i) {
      const double sum_a = static_cast<double>(random() % 100000) / 100.0;
      const double sum_b = static_cast<double>(random() % 100000) / 100.0;
      values_a.push_back(sum_a / 3.0);
      values_b.push_back(sum_b / 7.0);
      if (values_a.size() > 5) values_a.erase(values_a.begin());
      if (values_b.size() > 8) values_b.erase(values_b.begin());
      const long double part_a =
          form == rolling_form::z ? z_of_last(values_a) : moments_of(values_a).mean;
      const long double part_b =
          form == rolling_form::z ? z_of_last(values_b) : moments_of(values_b).mean;
      const auto expected = static_cast<double>(1.29L * part_a - 0.7L * part_b);
      CHECK(std::abs(run(job, sum_a, sum_b) - expected) <= 1e-6 * (1.0 + std::abs(expected)));
    }
  }
}

TEST_CASE("a window that is not there counts as 0, and its sum is never read") {
  window_memory only{4};
  float out = -1.0F;
  const double sum = 6.0;
  // By hand: mean of {3} is 3, times the weight.
  rolling_job a{.a = only.view(), .sum_a = &sum, .divisor_a = 2.0, .weight_a = 0.5};
  a.form = rolling_form::mean;
  a.out = &out;
  cpu_backend::run(a);
  CHECK(out == 1.5F);
  rolling_job b{.b = only.view(), .sum_b = &sum, .divisor_b = 1.0, .weight_b = 2.0};
  b.form = rolling_form::mean;
  b.out = &out;
  cpu_backend::run(b);
  CHECK(out == -9.0F);  // mean of {3, 6}
  rolling_job none;
  none.out = &out;
  cpu_backend::run(none);
  CHECK(out == 0.0F);
}

TEST_CASE("a value that is not finite makes the score NaN and never enters its window") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {infinity, -infinity, std::nan("")}) {
    for (const rolling_form form : {rolling_form::z, rolling_form::mean}) {
      window_memory a{3};
      window_memory b{3};
      const rolling_job job{.a = a.view(), .b = b.view(), .form = form};
      for (const double x : {1.0, 2.0, 4.0, 5.0}) run(job, x, -x);
      window_memory clean_a = a;
      window_memory clean_b = b;
      const rolling_job clean{.a = clean_a.view(), .b = clean_b.view(), .form = form};

      CHECK(is_canonical_nan(run(job, bad, bad)));
      CHECK(a.same(clean_a));
      CHECK(b.same(clean_b));

      // The other window goes on: what it was given was good.
      CHECK(is_canonical_nan(run(job, bad, 7.0)));
      CHECK(a.same(clean_a));
      cpu::roll(clean_b.view(), 7.0, form);
      CHECK(b.same(clean_b));
      CHECK(is_canonical_nan(run(job, 9.0, bad)));
      cpu::roll(clean_a.view(), 9.0, form);
      CHECK(a.same(clean_a));
      CHECK(b.same(clean_b));

      // And the next good token is scored as if the bad ones had not been.
      CHECK(run(job, 3.0, 3.5) == run(clean, 3.0, 3.5));
    }
  }
}

TEST_CASE("a score that f32 cannot hold is an infinity") {
  window_memory a{1};
  const rolling_job job{.a = a.view(), .weight_a = 1e300, .form = rolling_form::mean};
  CHECK(run(job, 1e5, 0.0) == std::numeric_limits<float>::infinity());
  CHECK(run(job, -1e5, 0.0) == -std::numeric_limits<float>::infinity());
  CHECK(run(job, 0.0, 0.0) == 0.0F);
}
