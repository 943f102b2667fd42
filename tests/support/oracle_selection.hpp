// SPDX-License-Identifier: MIT
#pragma once

// The selection of one keep-set by its definition: sorted lists, no partial sorts, no key tricks.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "support/oracle_numbers.hpp"

namespace oracle {

// One keep-set to decide. Slots are indices into the vectors, in ascending position order.
struct keep_set {
  std::vector<int> positions;
  std::vector<float> scores;  // what the library reported; selection is judged on its own numbers
  std::vector<bool> scored;
  std::vector<bool> is_protected;
  std::vector<number> segment_statistic;
  std::vector<number> value;
  int prompt_slots = 0;
  int recent_begin = 0;
  int budget = 0;
  // The statistics are the same in f32 and in double, so that ties among them are real.
  bool exact_statistics = false;
};

struct decision {
  std::vector<bool> kept;
  int nan = 0;
  int unscored = 0;
  // Two statistics on either side of a cut are closer than f32 can tell: no single right answer.
  bool ambiguous = false;
};

// The total order: NaN lowest, -0 equal to +0, the newer position wins a tie. "a before b" = worse.
template <class Number>
bool worse(Number score_a, int position_a, Number score_b, int position_b) {
  const bool nan_a = std::isnan(score_a);
  const bool nan_b = std::isnan(score_b);
  if (nan_a != nan_b) return nan_a;
  if (!nan_a && score_a != score_b) return score_a < score_b;
  return position_a < position_b;
}

// Too close to call: different in double, or only by chance the same, but not told apart by f32.
inline bool too_close(double a, double b, bool exact) {
  if (std::isnan(a) || std::isnan(b) || std::isinf(a) || std::isinf(b)) return false;
  if (a == b) return !exact && a != 0.0;
  return std::abs(a - b) <= 1e-9 + 4e-6 * std::max(std::abs(a), std::abs(b));
}

class selector {
 public:
  explicit selector(const method& m, const keep_set& k) : m_{m}, k_{k}, scores_{k.scores} {
    out_.kept.assign(k.positions.size(), false);
    for (std::size_t i = 0; i < out_.kept.size(); ++i) out_.kept[i] = k.is_protected[i];
  }

  [[nodiscard]] decision decide() {
    const int length = count_of(k_.positions);
    if (length <= k_.budget || m_.keeps == policy::keep_all) {
      out_.kept.assign(out_.kept.size(), true);
      return out_;
    }
    resolve_unscored();
    int room = k_.budget;
    for (const bool p : k_.is_protected) room -= p ? 1 : 0;
    room = std::max(room, 0);
    if (m_.keeps == policy::flat) {
      flat(room);
    } else {
      segmented(room);
      if (m_.value_reserve > 0) exchange();
    }
    return out_;
  }

 private:
  [[nodiscard]] int begin_of_decode() const { return std::min(k_.prompt_slots, k_.recent_begin); }

  // Unprotected slots of [begin, end) that are kept or not, best first by `of`.
  template <class F>
  [[nodiscard]] std::vector<int> ranked(int begin, int end, bool kept, F of) const {
    std::vector<int> slots;
    for (int s = begin; s < end; ++s) {
      if (!at(k_.is_protected, s) && at(out_.kept, s) == kept) slots.push_back(s);
    }
    std::stable_sort(slots.begin(), slots.end(), [&](int a, int b) {
      return worse(of(b), at(k_.positions, b), of(a), at(k_.positions, a));
    });
    return slots;
  }
  [[nodiscard]] auto by_score() const {
    return [this](int s) { return at(scores_, s); };
  }
  [[nodiscard]] auto by_value() const {
    return [this](int s) {
      const number& n = at(k_.value, s);
      return n.scored ? n.value : std::numeric_limits<double>::quiet_NaN();
    };
  }

  // Candidates without a score rank as the median (the lower middle one) of those with one.
  void resolve_unscored() {
    std::vector<int> scored;
    std::vector<int> missing;
    for (int s = 0; s < count_of(k_.positions); ++s) {
      if (at(k_.is_protected, s)) continue;
      (at(k_.scored, s) ? scored : missing).push_back(s);
      if (at(k_.scored, s) && std::isnan(at(scores_, s))) ++out_.nan;
    }
    out_.unscored = count_of(missing);
    std::sort(scored.begin(), scored.end(), [&](int a, int b) {
      return worse(at(scores_, a), at(k_.positions, a), at(scores_, b), at(k_.positions, b));
    });
    const float median = scored.empty() ? 0.0F : at(scores_, at(scored, (scored.size() - 1) / 2));
    for (const int s : missing) at(scores_, s) = median;
  }

  int keep_best(int begin, int end, int count) {
    const std::vector<int> best = ranked(begin, end, false, by_score());
    const int taken = std::min(std::max(count, 0), count_of(best));
    for (int i = 0; i < taken; ++i) at(out_.kept, at(best, i)) = true;
    return taken;
  }

  // Is the cut of a list ranked by value after `count` entries one that f32 can find?
  void note_value_cut(const std::vector<int>& list, int count) {
    if (count < 1 || count >= count_of(list)) return;
    out_.ambiguous = out_.ambiguous || too_close(by_value()(at(list, count - 1)),
                                                 by_value()(at(list, count)), k_.exact_statistics);
  }

  // The reserve first: the decode tokens with the largest values are above every score.
  void flat(int room) {
    const int length = count_of(k_.positions);
    if (m_.value_reserve > 0) {
      const std::vector<int> largest = ranked(k_.prompt_slots, length, false, by_value());
      const int lifted = std::min({m_.value_reserve, room, count_of(largest)});
      note_value_cut(largest, lifted);
      for (int i = 0; i < lifted; ++i) at(out_.kept, at(largest, i)) = true;
      room -= lifted;
    }
    keep_best(0, length, room);
  }

  // Mean statistic of each segment of slots [0, recent_begin); one without any is the median.
  [[nodiscard]] row segment_means() const {
    std::vector<number> means;
    for (int begin = 0; begin < k_.recent_begin; begin += m_.segment) {
      row known;
      for (int s = begin; s < std::min(begin + m_.segment, k_.recent_begin); ++s) {
        if (at(k_.segment_statistic, s).scored) {
          known.push_back(at(k_.segment_statistic, s).value);
        }
      }
      means.push_back(known.empty() ? unscored() : number{mean_of(known)});
    }
    row known;
    for (number& n : means) {
      if (!m_.high_is_reasoning) n.value = -n.value;
      if (n.scored) known.push_back(n.value);
    }
    sort_numbers(known);
    row out;
    for (const number& n : means) {
      const double median = known.empty() ? 0.0 : known[(known.size() - 1) / 2];
      out.push_back(n.scored ? n.value : median);
    }
    return out;
  }
  static void sort_numbers(row& x) {
    std::sort(x.begin(), x.end(), [](double a, double b) { return worse(a, 0, b, 0); });
  }

  void segmented(int room) {
    const row means = segment_means();
    row sorted = means;
    sort_numbers(sorted);
    const std::size_t m = means.size();
    for (const std::size_t cut : {m / 3, 2 * m / 3}) {
      for (std::size_t j = 0; j < m; ++j) {
        const bool close = j != cut && too_close(sorted[j], sorted[cut], k_.exact_statistics);
        out_.ambiguous = out_.ambiguous || close;
      }
    }
    for (std::size_t i = 0; i < m; ++i) {
      int tier = 2;
      if (m == 1 || !worse(means[i], 0, sorted[2 * m / 3], 0)) {
        tier = 0;
      } else if (!worse(means[i], 0, sorted[m / 3], 0)) {
        tier = 1;
      }
      const int begin = static_cast<int>(i) * m_.segment;
      const int end = std::min(begin + m_.segment, k_.recent_begin);
      room -= keep_best(begin, end, std::min(m_.tiers[tier], room));
    }
    if (m_.fill) keep_best(0, k_.recent_begin, room);
  }

  // The evicted decode tokens with the largest values for the lowest-scored kept ones, both outside
  // the recent window.
  void exchange() {
    const int begin = begin_of_decode();
    const std::vector<int> largest = ranked(begin, k_.recent_begin, false, by_value());
    std::vector<int> lowest = ranked(begin, k_.recent_begin, true, by_score());
    std::reverse(lowest.begin(), lowest.end());
    const int count = std::min({m_.value_reserve, count_of(largest), count_of(lowest)});
    note_value_cut(largest, count);
    for (int i = 0; i < count; ++i) {
      at(out_.kept, at(largest, i)) = true;
      at(out_.kept, at(lowest, i)) = false;
    }
  }

  const method& m_;
  const keep_set& k_;
  std::vector<float> scores_;
  decision out_;
};

}  // namespace oracle
