// SPDX-License-Identifier: MIT

// Does the search find the best pair of bands where it is known, on models of few and many layers?

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/search.hpp"
#include "shared_model.hpp"

namespace {

using calibrate::measure;

// A model of some number of layers, of which only that number is ever looked at.
mini::loaded_model model_of(std::size_t layers) {
  mini::loaded_model out = eval_test::shipped();
  out.model.shape.layers = layers;
  return out;
}

// The value of a setting, -1 where it is not set.
int setting(const std::string& settings, const std::string& name) {
  const std::size_t at = (" " + settings).find(" " + name + "=");
  return at == std::string::npos ? -1 : std::atoi(settings.c_str() + at + name.size() + 1);
}

// A task whose loss is known: least at the bands (a, b), more with the distance, with a noise that
// fades over the problems.
class planted_task final : public eval::task {
 public:
  planted_task(int a, int b, std::size_t problems) : a_{a}, b_{b}, problems_{problems} {}
  std::string name() const override { return "planted"; }
  std::size_t problems() const override { return problems_; }
  report::configuration configuration() const override { return {}; }
  mini::expected<std::unique_ptr<eval::trial>> prepare(eval::session&, std::size_t i) override {
    return std::unique_ptr<eval::trial>{std::make_unique<planted_trial>(a_, b_, i)};
  }

 private:
  class planted_trial final : public eval::trial {
   public:
    planted_trial(int a, int b, std::size_t problem) : a_{a}, b_{b}, problem_{problem} {}
    mini::expected<report::record> run(eval::session&, const eval::arm& each,
                                       std::int32_t) override {
      const int a = setting(each.settings, "band_a");
      const int b = setting(each.settings, "band_b");
      double loss = 3;
      if (a >= 0) loss = 0.1 * (std::abs(a - a_) + std::abs(b - b_));
      if (each.settings.find("segment_order=low") != std::string::npos) loss += 0.5;
      if (each.settings.find("segment_order=high") != std::string::npos) loss += 0.0004;
      const auto hash =
          static_cast<double>((a * 31 + b * 17 + static_cast<int>(problem_) * 7) % 10);
      report::record out;
      out.numbers = {{"kl", loss + 0.004 * hash}};
      return out;
    }

   private:
    int a_, b_;
    std::size_t problem_;
  };

  int a_, b_;
  std::size_t problems_;
};

struct outcome {
  calibrate::findings found;
  std::size_t runs = 0;
};

outcome search(int layers, int a, int b, std::size_t problems = 8, std::size_t held_out = 4) {
  planted_task task{a, b, problems + held_out};
  const mini::loaded_model model = model_of(static_cast<std::size_t>(layers));
  eval::record_store store;
  calibrate::search_options options;
  options.problems = problems;
  options.settings = "tau=8 segment=16";
  options.jobs = 2;
  calibrate::search made{task, model, store, options, [](const std::string&) {}};
  auto found = made.run();
  REQUIRE_MESSAGE(bool(found), found.error());
  return {*std::move(found), store.records().size()};
}

}  // namespace

TEST_CASE("a planted pair is found, whichever it is") {
  for (const auto& planted : std::vector<std::pair<int, int>>{{4, 3}, {0, 5}, {5, 0}, {2, 1}}) {
    CAPTURE(planted.first);
    const outcome o = search(6, planted.first, planted.second);
    CHECK(o.found.pairs.size() == 30);
    const auto& winner = o.found.finalists[o.found.winner];
    CHECK(setting(winner.each.settings, "band_a") == planted.first);
    CHECK(setting(winner.each.settings, "band_b") == planted.second);
    // Segments with the right sign cost less than what matters, so the simplest wins.
    CHECK(winner.each.preset == "epikv-flat");
    CHECK(winner.each.settings.find("tau=8") == 0);
    REQUIRE(o.found.held_out.size() == 1 + epikv::presets.size() - 1);
    CHECK(o.found.held_out[0].losses.size() == 4);
    CHECK(o.found.held_out[0].loss < o.found.held_out[1].loss);
  }
}

TEST_CASE("on a deep model it is found with a part of the runs") {
  for (const auto& planted : std::vector<std::pair<int, int>>{{21, 22}, {29, 1}, {9, 17}}) {
    CAPTURE(planted.first);
    const outcome o = search(30, planted.first, planted.second);
    const auto& winner = o.found.finalists[o.found.winner];
    CHECK(setting(winner.each.settings, "band_a") == planted.first);
    CHECK(setting(winner.each.settings, "band_b") == planted.second);
    CHECK(o.runs < 30 * 29);  // one run of every pair
  }
}

TEST_CASE("nothing is chosen by problems that are held out") {
  planted_task task{4, 3, 12};
  const mini::loaded_model model = model_of(6);
  eval::record_store store;
  calibrate::search_options options;
  options.problems = 8;
  calibrate::search made{task, model, store, options, [](const std::string&) {}};
  const auto found = made.run();
  REQUIRE(bool(found));
  std::vector<std::string> late;
  for (const report::record& r : store.records()) {
    if (r.problem >= 8) late.push_back(r.preset);
  }
  CHECK(late.size() == 4 * found->held_out.size());
  CHECK(std::count(late.begin(), late.end(), found->finalists[found->winner].each.name) == 4);
}

TEST_CASE("of arms as good as the best the first wins") {
  const auto arm = [](std::vector<double> losses) {
    calibrate::scored_arm out{{}, 0, std::move(losses)};
    for (const double loss : out.losses) out.loss += loss / static_cast<double>(out.losses.size());
    return out;
  };
  using calibrate::simplest_of_the_best;
  CHECK(simplest_of_the_best({arm({1, 1, 1, 1})}, 0) == 0);
  CHECK(simplest_of_the_best({arm({2, 2, 2, 2}), arm({1, 1, 1, 1})}, 0) == 1);
  CHECK(simplest_of_the_best({arm({2, 2, 2, 2}), arm({1, 1, 1, 1})}, 1) == 0);
  // Worse on average, by less than the differences scatter.
  CHECK(simplest_of_the_best({arm({0, 3, 0, 3}), arm({1, 1, 1, 1})}, 0) == 0);
  CHECK(simplest_of_the_best({arm({1, 1, 1, 1}), arm({1, 1, 1, 1})}, 0) == 0);
}
