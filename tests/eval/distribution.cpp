// SPDX-License-Identifier: MIT

// Are the numbers of agreement what their definitions give in longer arithmetic?

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include "eval/distribution.hpp"

namespace {

std::vector<long double> probabilities(const std::vector<float>& logits) {
  long double total = 0;
  std::vector<long double> out;
  for (const float x : logits) out.push_back(std::exp(static_cast<long double>(x)));
  for (const long double p : out) total += p;
  for (long double& p : out) p /= total;
  return out;
}

std::vector<float> draw(std::mt19937& random, std::size_t size, float spread) {
  std::normal_distribution<float> noise{0, spread};
  std::vector<float> out(size);
  for (float& x : out) x = noise(random);
  return out;
}

}  // namespace

TEST_CASE("divergence and surprise agree with sums over probabilities") {
  std::mt19937 random{1};
  for (const float spread : {0.1F, 1.0F, 8.0F}) {
    for (int i = 0; i < 50; ++i) {
      const std::vector<float> p = draw(random, 47, spread);
      const std::vector<float> q = draw(random, 47, spread);
      const auto as = probabilities(p);
      const auto bs = probabilities(q);
      long double kl = 0;
      for (std::size_t k = 0; k < as.size(); ++k) kl += as[k] * std::log(as[k] / bs[k]);
      CHECK(eval::divergence(p, q) == doctest::Approx(static_cast<double>(kl)).epsilon(1e-9));
      CHECK(eval::divergence(p, p) == doctest::Approx(0).epsilon(1e-12));
      CHECK(eval::surprise(q, 5) ==
            doctest::Approx(static_cast<double>(-std::log(bs[5]))).epsilon(1e-9));
    }
  }
}

TEST_CASE("a shift of all logits changes nothing, however large") {
  const std::vector<float> p{1, 2, 3};
  const std::vector<float> far{10001, 10002, 10003};
  CHECK(eval::divergence(p, far) == doctest::Approx(0).epsilon(1e-9));
  CHECK(eval::surprise(far, 1) == doctest::Approx(eval::surprise(p, 1)).epsilon(1e-9));
  CHECK(eval::divergence(p, std::vector<float>{3, 2, 1}) > 0.1);
}

TEST_CASE("NaN is not hidden") {
  const std::vector<float> p{1, 2, 3};
  const std::vector<float> bad{1, std::numeric_limits<float>::quiet_NaN(), 3};
  CHECK(std::isnan(eval::surprise(bad, 0)));
  CHECK_FALSE(eval::divergence(p, bad) < 1e300);
}
