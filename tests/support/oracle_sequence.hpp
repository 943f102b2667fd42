// SPDX-License-Identifier: MIT
#pragma once

// One sequence by the book: keeps every token's inputs for ever and decides each eviction afresh.

#include <algorithm>
#include <utility>
#include <vector>

#include "support/oracle_scores.hpp"
#include "support/oracle_selection.hpp"

namespace oracle {

class sequence {
 public:
  sequence(const shape& s, const method& m, std::int64_t id, int prompt, int budget = -1)
      : shape_{s}, method_{m}, id_{id}, prompt_{prompt} {
    if (budget >= 0) method_.budget = budget;
    cached_.resize(static_cast<std::size_t>(groups_of(m, s)));
  }

  void protect(int first, int last) { host_ranges_.emplace_back(first, last); }
  void clear_protection() { host_ranges_.clear(); }
  void statistics_are_exact(bool exact) { exact_ = exact; }

  // One step's tokens arrive and are cached in every group.
  void append(std::vector<token> step) {
    decoded_before_ = decoded();
    for (token& t : step) {
      for (std::vector<int>& group : cached_) group.push_back(count_of(tokens_));
      tokens_.push_back(std::move(t));
    }
  }

  [[nodiscard]] int tokens() const { return count_of(tokens_); }
  [[nodiscard]] int decoded() const { return std::max(0, tokens() - prompt_); }
  [[nodiscard]] int prompt() const { return prompt_; }
  [[nodiscard]] int budget() const { return method_.budget; }
  [[nodiscard]] int rounds() const { return rounds_; }
  [[nodiscard]] int recent() const {
    return method_.recent >= 0 ? method_.recent : std::min(128, method_.budget / 4);
  }
  [[nodiscard]] int groups() const { return count_of(cached_); }
  [[nodiscard]] const std::vector<int>& cached(int group) const { return at(cached_, group); }
  [[nodiscard]] int longest() const {
    int most = 0;
    for (const std::vector<int>& group : cached_) most = std::max(most, count_of(group));
    return most;
  }

  // Is an eviction to be decided after the latest step?
  [[nodiscard]] bool due() const {
    if (method_.keeps == policy::keep_all || decoded() == 0 || longest() <= budget()) return false;
    if (!method_.aligned) return decoded() - decoded_at_eviction_ >= method_.tau;
    for (int d = decoded_before_ + 1; d <= decoded(); ++d) {
      if (d % method_.tau == 0) return true;
    }
    return false;
  }

  // May this position never leave?
  [[nodiscard]] bool is_protected(int position) const {
    if (method_.protect_prompt && position < prompt_) return true;
    if (position < method_.sinks || position >= tokens() - recent()) return true;
    return std::any_of(host_ranges_.begin(), host_ranges_.end(), [&](const auto& range) {
      return position >= range.first && position < range.second;
    });
  }

  // The number of every cached token of a group that ranks it.
  [[nodiscard]] std::vector<number> scores(int group) const {
    const std::vector<int>& positions = cached(group);
    switch (method_.score) {
      case ranks_by::nothing: return std::vector<number>(positions.size());
      case ranks_by::draw: return draws(group);
      case ranks_by::epiphany: return epiphany_scores(group);
      case ranks_by::key_variance:
        return of_cached(rolling_variance(tokens_, true, method_, shape_, prompt_), positions);
      case ranks_by::value_variance:
        return of_cached(rolling_variance(tokens_, false, method_, shape_, prompt_), positions);
      case ranks_by::relevance: return blend(tokens_, method_, shape_, prompt_, positions);
    }
    return {};
  }
  [[nodiscard]] std::vector<number> epiphany_scores(int group) const {
    return of_cached(epiphany(tokens_, method_, shape_, prompt_), cached(group));
  }
  [[nodiscard]] std::vector<number> relevance_scores(int group) const {
    return relevance(tokens_, method_, shape_, cached(group));
  }

  // What leaves one group, judged on the numbers the library says it saw.
  [[nodiscard]] decision decide(int group, const std::vector<float>& reported) const {
    const std::vector<int>& positions = cached(group);
    keep_set k;
    k.positions = positions;
    k.scores = reported;
    for (const number& n : scores(group)) k.scored.push_back(n.scored);
    for (const int p : positions) k.is_protected.push_back(is_protected(p));
    if (method_.keeps == policy::segmented) {
      k.segment_statistic =
          of_cached(channel_statistics(tokens_, true, statistic::variance, shape_), positions);
    }
    if (method_.value_reserve > 0) {
      k.value =
          of_cached(channel_statistics(tokens_, false, method_.value_statistic, shape_), positions);
    }
    k.prompt_slots = slots_before(group, prompt_);
    k.recent_begin = slots_before(group, tokens() - recent());
    k.budget = budget();
    k.exact_statistics = exact_;
    return selector{method_, k}.decide();
  }

  // The host has applied a decision: kept[group][slot].
  void commit(const std::vector<std::vector<bool>>& kept) {
    for (std::size_t g = 0; g < cached_.size(); ++g) {
      std::vector<int> left;
      for (std::size_t s = 0; s < cached_[g].size(); ++s) {
        if (kept[g][s]) left.push_back(cached_[g][s]);
      }
      cached_[g] = std::move(left);
    }
    decoded_at_eviction_ = decoded();
    ++rounds_;
  }

  // As just added.
  void reset() {
    tokens_.clear();
    for (std::vector<int>& group : cached_) group.clear();
    host_ranges_.clear();
    decoded_before_ = decoded_at_eviction_ = rounds_ = 0;
  }

 private:
  [[nodiscard]] int slots_before(int group, int position) const {
    const std::vector<int>& positions = cached(group);
    return static_cast<int>(
        std::count_if(positions.begin(), positions.end(), [&](int p) { return p < position; }));
  }

  [[nodiscard]] std::vector<number> draws(int group) const {
    int layer = -1;
    int kv_head = -1;
    if (method_.sets == keep_sets::layer) layer = group;
    if (method_.sets == keep_sets::kv_head) {
      layer = group / shape_.kv_heads;
      kv_head = group % shape_.kv_heads;
    }
    std::vector<number> out;
    for (const int p : cached(group)) {
      out.push_back({static_cast<double>(draw(method_.seed, id_, rounds_, layer, kv_head, p))});
    }
    return out;
  }

  shape shape_;
  method method_;
  std::int64_t id_;
  int prompt_;
  bool exact_ = false;
  history tokens_;
  std::vector<std::vector<int>> cached_;  // positions of each group, ascending
  std::vector<std::pair<int, int>> host_ranges_;
  int decoded_before_ = 0;       // decode tokens before the latest step
  int decoded_at_eviction_ = 0;  // decode tokens at the latest eviction
  int rounds_ = 0;
};

}  // namespace oracle
