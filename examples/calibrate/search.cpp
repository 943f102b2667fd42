// SPDX-License-Identifier: MIT
#include "search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "eval/session.hpp"
#include "report/statistics.hpp"

namespace calibrate {
namespace {

using mini::expected;

// Nats per token. A next-token distribution that moves by less than this is the same for any use.
constexpr double immaterial_kl = 1e-3;

std::string pair_settings(const scored_pair& p) {
  return "band_a=" + std::to_string(p.a) + " band_b=" + std::to_string(p.b);
}

// Less is better; a record without its number counts as the worst.
double loss_of(const report::record& r, measure by) {
  constexpr double worst = std::numeric_limits<double>::infinity();
  if (by == measure::kl) {
    const double kl = report::number_of(r, "kl").value_or(worst);
    return std::isnan(kl) ? worst : kl;
  }
  // Answers come first: all characters together weigh less than one of a thousand answers.
  const double characters = report::number_of(r, "characters").value_or(0);
  return (r.right ? 0.0 : 1.0) + (1 - characters) / 1000;
}

bool better(const scored_pair& x, const scored_pair& y) { return x.loss < y.loss; }

bool same_pair(const scored_pair& x, const scored_pair& y) { return x.a == y.a && x.b == y.b; }

// Takes the newer losses of pairs that were tried again.
void update(std::vector<scored_pair>& all, const std::vector<scored_pair>& fresh) {
  for (const scored_pair& each : fresh) {
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const scored_pair& old) { return same_pair(old, each); });
    if (found == all.end()) {
      all.push_back(each);
    } else {
      *found = each;
    }
  }
}

std::vector<scored_pair> pairs_of(const std::vector<std::int32_t>& layers) {
  std::vector<scored_pair> out;
  for (const std::int32_t a : layers) {
    for (const std::int32_t b : layers) {
      if (a != b) out.push_back({a, b});
    }
  }
  return out;
}

}  // namespace

std::size_t simplest_of_the_best(const std::vector<scored_arm>& arms, double tolerance) {
  const auto best =
      std::min_element(arms.begin(), arms.end(),
                       [](const scored_arm& x, const scored_arm& y) { return x.loss < y.loss; });
  for (std::size_t i = 0; i < arms.size(); ++i) {
    std::vector<double> excess;
    for (std::size_t p = 0; p < best->losses.size(); ++p) {
      excess.push_back(arms[i].losses[p] - best->losses[p]);
    }
    const report::mean_estimate seen = report::estimate_mean(excess);
    if (seen.mean <= tolerance || seen.mean <= seen.standard_error) return i;
  }
  return static_cast<std::size_t>(best - arms.begin());
}

search::search(eval::task& what, const mini::loaded_model& model, eval::record_store& store,
               const search_options& options, std::function<void(const std::string&)> say)
    : what_{&what},
      model_{&model},
      store_{&store},
      options_{options},
      say_{std::move(say)},
      layers_{static_cast<std::int32_t>(model.model.shape.layers)} {}

eval::arm search::arm_of(std::string name, const std::string& preset,
                         const std::string& settings) const {
  std::string all = eval::settings_for(preset, options_.settings);
  if (!all.empty() && !settings.empty()) all += ' ';
  return {std::move(name), preset, all + settings};
}

expected<std::vector<scored_arm>> search::losses_of(const arms& tried, std::size_t first,
                                                    std::size_t count, const std::string& label) {
  const eval::run_plan plan{tried, {options_.budget}, options_.jobs, first, count};
  if (auto done = eval::run_shown(*what_, plan, *model_, *store_, label); !done) {
    return done.reason();
  }
  const std::vector<report::record> records = store_->records();
  std::vector<scored_arm> out;
  for (const eval::arm& each : tried) {
    scored_arm scored{each, 0, std::vector<double>(count)};
    for (const report::record& r : records) {
      const auto problem = static_cast<std::size_t>(r.problem);
      if (r.preset != each.name || r.options != each.settings || problem < first ||
          problem >= first + count || r.budget != options_.budget) {
        continue;
      }
      scored.losses[problem - first] = loss_of(r, options_.by);
    }
    for (const double loss : scored.losses) scored.loss += loss / static_cast<double>(count);
    out.push_back(std::move(scored));
  }
  return out;
}

expected<std::vector<scored_pair>> search::try_pairs(const std::vector<scored_pair>& pairs,
                                                     std::size_t count, const std::string& label) {
  arms tried;
  for (const scored_pair& each : pairs) {
    const std::string name =
        "bands (" + std::to_string(each.a) + ", " + std::to_string(each.b) + ")";
    tried.push_back(arm_of(name, "epikv-flat", pair_settings(each)));
  }
  const auto scored = losses_of(tried, 0, count, label);
  if (!scored) return scored.reason();
  std::vector<scored_pair> out = pairs;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].loss = (*scored)[i].loss;
    out[i].problems = count;
  }
  return out;
}

expected<scored_pair> search::find_pair(std::vector<scored_pair>& seen) {
  const bool whole = layers_ <= options_.most_layers_whole;
  const std::int32_t step =
      whole ? 1 : (layers_ + options_.most_layers_whole - 1) / options_.most_layers_whole;
  std::vector<std::int32_t> grid;
  for (std::int32_t layer = 0; layer < layers_; layer += step) grid.push_back(layer);

  std::vector<scored_pair> left = pairs_of(grid);
  std::size_t count = std::min(whole ? options_.problems : options_.first_rung, options_.problems);
  while (true) {
    say_(std::to_string(left.size()) + " pairs of bands on " + std::to_string(count) + " problems");
    auto scored = try_pairs(left, count, "bands");
    if (!scored) return scored.reason();
    left = *std::move(scored);
    update(seen, left);
    std::stable_sort(left.begin(), left.end(), better);
    if (count == options_.problems) break;
    left.resize(std::max<std::size_t>(std::min<std::size_t>(left.size(), 4), left.size() / 3));
    count = std::min(2 * count, options_.problems);
  }
  if (step == 1) return left.front();

  // Between the lines of the grid, around the best.
  const auto near = [&](std::int32_t around) {
    std::vector<std::int32_t> out;
    for (std::int32_t d = 1 - step; d < step; ++d) {
      if (around + d >= 0 && around + d < layers_) out.push_back(around + d);
    }
    return out;
  };
  std::vector<scored_pair> close;
  for (const std::int32_t a : near(left.front().a)) {
    for (const std::int32_t b : near(left.front().b)) {
      if (a != b) close.push_back({a, b});
    }
  }
  say_(std::to_string(close.size()) + " pairs around (" + std::to_string(left.front().a) + ", " +
       std::to_string(left.front().b) + ")");
  // First on few problems, then the better third on all.
  auto scored = try_pairs(close, std::min(options_.first_rung, options_.problems), "neighbours");
  if (!scored) return scored.reason();
  std::stable_sort(scored->begin(), scored->end(), better);
  scored->resize(std::max<std::size_t>(1, scored->size() / 3));
  scored = try_pairs(*scored, options_.problems, "neighbours");
  if (!scored) return scored.reason();
  update(seen, *scored);
  left.insert(left.end(), scored->begin(), scored->end());
  return *std::min_element(left.begin(), left.end(), better);
}

search::arms search::finalists_of(const scored_pair& best) const {
  const std::string bands = pair_settings(best);
  arms out{arm_of("flat", "epikv-flat", bands)};
  for (const std::string order : {"high", "low"}) {
    out.push_back(arm_of("segments, " + order + " first", "epikv-seg",
                         bands + " fill=true segment_order=" + order));
  }
  const std::int32_t step = std::max(1, layers_ / 10);
  for (std::int32_t layer = 0; layer < layers_; layer += step) {
    const std::string query = "query_layer=" + std::to_string(layer);
    out.push_back(arm_of("relevance of layer " + std::to_string(layer), "epikv-q", query));
    out.push_back(arm_of("bands and relevance of layer " + std::to_string(layer), "epikv-q",
                         bands + " query_mode=add " + query));
  }
  return out;
}

expected<findings> search::run() {
  findings out;
  const auto best_pair = find_pair(out.pairs);
  if (!best_pair) return best_pair.reason();
  std::sort(out.pairs.begin(), out.pairs.end(), [](const scored_pair& x, const scored_pair& y) {
    return std::pair{x.a, x.b} < std::pair{y.a, y.b};
  });

  const arms tried = finalists_of(*best_pair);
  say_(std::to_string(tried.size()) + " ways to use them on " + std::to_string(options_.problems) +
       " problems");
  auto scored = losses_of(tried, 0, options_.problems, "finalists");
  if (!scored) return scored.reason();
  out.finalists = *std::move(scored);
  out.winner = simplest_of_the_best(out.finalists, options_.by == measure::kl ? immaterial_kl : 0);

  if (what_->problems() <= options_.problems) return out;
  arms compared{out.finalists[out.winner].each};
  for (const epikv::preset_info& each : epikv::presets) {
    if (each.name == "none") continue;
    const std::string name{each.name};
    compared.push_back(arm_of(name + ", as it comes", name, ""));
  }
  const std::size_t rest = what_->problems() - options_.problems;
  say_("the best and " + std::to_string(compared.size() - 1) + " presets on " +
       std::to_string(rest) + " problems held out");
  auto held_out = losses_of(compared, options_.problems, rest, "held out");
  if (!held_out) return held_out.reason();
  out.held_out = *std::move(held_out);
  return out;
}

}  // namespace calibrate
