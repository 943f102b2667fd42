// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "arm.hpp"
#include "mini_model/evicting_host.hpp"
#include "mini_model/generate.hpp"
#include "mini_model/loaded_model.hpp"

namespace eval {

/// What a run cost.
struct run_cost {
  std::size_t peak_tokens = 0;  ///< most slots of a group of the cache
  std::size_t peak_bytes = 0;   ///< and bytes of all groups
  double seconds = 0;           ///< of wall-clock time
};

/// What to continue, and how far.
struct request {
  std::span<const mini::token> prompt{};
  /// First tokens that count as prompt. The rest is read as text that grows the cache: tau tokens
  /// at a time, evicted like the answer.
  std::size_t kept = ~std::size_t{0};
  std::size_t most = 0;  ///< tokens of the answer
};

/// A greedy continuation.
struct generated {
  std::vector<mini::token> tokens;
  bool capped = false;  ///< it ran into its limit
  run_cost cost;
};

/// Sees an evictor before each step's selection is applied: what is about to leave, and why.
using selection_watcher = std::function<void(epikv::any_evictor&, epikv::sequence_id)>;

/// Runs one model under evictors, one sequence at a time. Each thread has a session of its own; the
/// model is shared.
class session {
 public:
  /// The model must outlive the session.
  explicit session(const mini::loaded_model& model) : model_{&model}, engine_{model.model} {}

  [[nodiscard]] const mini::loaded_model& model() const noexcept { return *model_; }
  [[nodiscard]] epikv::model_shape shape() const noexcept {
    return mini::shape_of(model_->model.shape);
  }

  /// The problem that comes next. Seeded draws depend on it, so that they differ between problems
  /// and repeat for each.
  void begin_problem(std::size_t problem) noexcept {
    sequence_ = epikv::sequence_id{static_cast<std::int64_t>(problem)};
  }

  /// Continues a prompt greedily until a token that ends a text, under an arm and a budget.
  [[nodiscard]] mini::expected<generated> generate(const arm& each, std::int32_t budget,
                                                   const request& asked,
                                                   const selection_watcher& watch = {});

  /// Feeds a prompt and then a given text, and shows the logits that predict each token of the
  /// text: see(i, logits) predicts text[i]. The text goes through in one pass per tau tokens, which
  /// gives what one token at a time gives, since evictions fall between them: the arm's cadence is
  /// taken as aligned.
  [[nodiscard]] mini::expected<run_cost> force(
      const arm& each, std::int32_t budget, std::span<const mini::token> prompt,
      std::span<const mini::token> text,
      const std::function<void(std::size_t, std::span<const float>)>& see);

 private:
  const mini::loaded_model* model_;
  mini::decoder engine_;
  epikv::sequence_id sequence_{0};
};

}  // namespace eval
