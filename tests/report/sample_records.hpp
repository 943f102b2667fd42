// SPDX-License-Identifier: MIT
#pragma once

// Records that look like real ones.

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "report/record.hpp"

namespace report_test {

// std::uniform_real_distribution differs between libraries; this does not.
class dice {
 public:
  explicit dice(std::uint64_t seed) : bits_(seed) {}
  double share() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 bits_;
};

inline std::vector<report::record> sample_records(std::int64_t problems) {
  struct policy {
    std::string preset;
    std::string options;
    double lost;  // accuracy that each halving of the budget costs
  };
  const std::vector<policy> policies{{"epikv-q", "tau=16", 0.03},
                                     {"epikv-seg", "tau=16", 0.06},
                                     {"h2o", "tau=16", 0.13},
                                     {"streaming", "", 0.2},
                                     {"random", "", 0.26}};
  std::vector<report::record> out;
  dice d(7);
  const auto add = [&](const policy& p, std::int32_t budget, double accuracy) {
    for (std::int64_t problem = 0; problem < problems; ++problem) {
      report::record r;
      r.task = "ledger, 12 steps";
      r.preset = p.preset;
      r.options = p.options;
      r.budget = budget;
      r.problem = problem;
      r.right = d.share() < accuracy;
      r.capped = d.share() < (1 - accuracy) / 4;
      r.numbers = {{"nll", 0.2 + (1 - accuracy) * d.share()}, {"kl", (0.95 - accuracy) * 0.01}};
      r.prompt_tokens = 150;
      r.generated = 420;
      r.peak_tokens = budget > 0 ? budget + 16 : 570;
      r.peak_bytes = r.peak_tokens * 2048;
      r.seconds = 0.5 + 0.1 * d.share();
      out.push_back(std::move(r));
    }
  };
  add({"full", "", 0}, 0, 0.93);
  for (const policy& p : policies) {
    for (int halvings = 0; halvings < 5; ++halvings) {
      add(p, 512 >> halvings, std::max(0.02, 0.93 - p.lost * halvings));
    }
  }
  return out;
}

}  // namespace report_test
