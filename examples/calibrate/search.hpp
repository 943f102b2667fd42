// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "eval/arm.hpp"
#include "eval/runner.hpp"
#include "eval/task.hpp"
#include "mini_model/result.hpp"

namespace calibrate {

/// What an outcome is measured by; less is better.
enum class measure {
  kl,       ///< mean KL(full || evicted) per token
  answers,  ///< share of wrong answers, and of wrong characters where that is equal
};

/// An arm with its losses, problem by problem, and their mean.
struct scored_arm {
  eval::arm each;
  double loss = 0;
  std::vector<double> losses;
};

/// The first of `arms` that is as good as the best of them: its mean excess over the best, problem
/// by problem, is at most `tolerance` or one standard error. So whoever lists the simplest first
/// gets it. Precondition: arms is not empty, and all have the same problems.
[[nodiscard]] std::size_t simplest_of_the_best(const std::vector<scored_arm>& arms,
                                               double tolerance);

/// A pair of bands with the loss of its last, longest trial.
struct scored_pair {
  std::int32_t a = 0;
  std::int32_t b = 0;
  double loss = 0;
  std::size_t problems = 0;
};

struct search_options {
  std::int32_t budget = 200;
  std::string settings;  ///< of every arm that understands them
  measure by = measure::kl;
  std::size_t problems = 8;            ///< of the task, from the first on, to choose by
  std::size_t first_rung = 2;          ///< problems of the first trial of a pair
  std::int32_t most_layers_whole = 8;  ///< models with more layers are searched on a grid first
  std::size_t jobs = 1;
};

/// What was found.
struct findings {
  std::vector<scored_pair> pairs;     ///< all pairs tried, by a, then b
  std::vector<scored_arm> finalists;  ///< simplest first
  std::size_t winner = 0;             ///< among the finalists
  std::vector<scored_arm> held_out;   ///< the winner and others on problems not chosen by
};

/// Finds by outcome what of EpiKV fits a model: bands for the epiphany score (any two layers, a
/// above b included), the sign of the segment statistic and the layer whose queries give the
/// relevance. On models of many layers pairs are tried on a grid, the better third again on twice
/// the problems, and so on; then the neighbours of the best.
class search {
 public:
  /// Everything must outlive the search. Runs that the store has are not run again.
  search(eval::task& what, const mini::loaded_model& model, eval::record_store& store,
         const search_options& options, std::function<void(const std::string&)> say);

  /// Chooses on the first options.problems of the task, and compares on the rest.
  [[nodiscard]] mini::expected<findings> run();

 private:
  using arms = std::vector<eval::arm>;

  mini::expected<std::vector<scored_arm>> losses_of(const arms& tried, std::size_t first,
                                                    std::size_t count, const std::string& label);
  mini::expected<std::vector<scored_pair>> try_pairs(const std::vector<scored_pair>& pairs,
                                                     std::size_t count, const std::string& label);
  mini::expected<scored_pair> find_pair(std::vector<scored_pair>& seen);
  arms finalists_of(const scored_pair& best) const;
  eval::arm arm_of(std::string name, const std::string& preset, const std::string& settings) const;

  eval::task* what_;
  const mini::loaded_model* model_;
  eval::record_store* store_;
  search_options options_;
  std::function<void(const std::string&)> say_;
  std::int32_t layers_;
};

}  // namespace calibrate
