// SPDX-License-Identifier: MIT

// Do the selection jobs choose what sorted lists choose, and do the accessors of a selection say
// the same thing in each of their forms: lists, ranges, moves, freed slots and blocks?

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "epikv/cpu.hpp"

namespace {

using namespace epikv;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan_f = std::numeric_limits<float>::quiet_NaN();

// Sanitizers make a round take tens of times as long.
#if defined(NDEBUG)
constexpr int rounds = 4000;
#else
constexpr int rounds = 400;
#endif

// --- one keep-set to decide, with the memory its description points to

struct keep_set {
  std::vector<position> positions{};
  std::vector<float> scores{};
  std::vector<verdict> verdicts{};
  std::int32_t prompt_slots = 0;
  std::int32_t recent_begin = 0;
  std::int32_t room = 0;
  std::vector<std::byte> scratch{};

  [[nodiscard]] std::int32_t length() const { return static_cast<std::int32_t>(scores.size()); }
  [[nodiscard]] selection_row row() {
    // Exactly what a backend asks for, filled with rubbish: reading it or writing past it shows.
    scratch.assign(cpu_backend::scratch_bytes(length()), std::byte{0xa5});
    return {.length = length(),
            .positions = positions.data(),
            .scores = scores.data(),
            .prompt_slots = prompt_slots,
            .recent_begin = recent_begin,
            .room = room,
            .verdicts = verdicts.data(),
            .scratch = scratch.data()};
  }
};

// Numbers as they come: distinct, with many ties, all the same, or with everything that is none.
enum class spread { distinct, few, equal, strange };

std::vector<float> random_numbers(std::mt19937& random, std::size_t count, spread kind) {
  std::vector<float> out(count);
  const float strange[] = {nan_f, -nan_f, infinity, -infinity, 0.0F, -0.0F, 1.0F, -1.0F};
  for (float& x : out) {
    const auto r = static_cast<std::uint32_t>(random());
    switch (kind) {
      case spread::distinct: x = static_cast<float>(r >> 8) - 0x1p23F; break;
      case spread::few: x = static_cast<float>(r % 4) - 1.5F; break;
      case spread::equal: x = 0.25F; break;
      case spread::strange: x = strange[r % 8]; break;
    }
  }
  return out;
}

spread random_spread(std::mt19937& random) { return static_cast<spread>(random() % 4); }

std::int32_t below(std::mt19937& random, std::int32_t n) {
  return static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(n));
}

keep_set random_keep_set(std::mt19937& random, std::int32_t longest) {
  keep_set k;
  const auto length = static_cast<std::size_t>(below(random, longest + 1));
  k.scores = random_numbers(random, length, random_spread(random));
  std::int32_t at = below(random, 5);
  for (std::size_t s = 0; s < length; ++s) {
    k.positions.push_back(position{at});
    at += 1 + below(random, 4);
    // Protected, taken earlier, or open.
    const std::int32_t r = below(random, 8);
    k.verdicts.push_back(r == 0   ? verdict::protect
                         : r == 1 ? verdict::keep
                         : r == 2 ? verdict::reserve
                                  : verdict::evict);
  }
  k.prompt_slots = below(random, k.length() + 1);
  k.recent_begin = below(random, k.length() + 1);
  k.room = below(random, k.length() + 2);
  return k;
}

std::int32_t count_of(const std::vector<verdict>& verdicts, std::int32_t begin, std::int32_t end,
                      verdict wanted) {
  return static_cast<std::int32_t>(
      std::count(verdicts.begin() + begin, verdicts.begin() + end, wanted));
}

// --- the order of numbers and the choices, by stable sorts

// a before b: numbers upwards, NaN before all of them.
bool lower(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
  return a < b;
}

// Slots of [begin, end) with verdict `from`, best first. Slots ascend with positions, so that a
// stable sort of the reversed list leaves the newer one first among equals.
std::vector<std::int32_t> ranked(const std::vector<verdict>& verdicts,
                                 const std::vector<float>& numbers, std::int32_t begin,
                                 std::int32_t end, verdict from) {
  std::vector<std::int32_t> slots;
  for (std::int32_t s = end - 1; s >= begin; --s) {
    if (verdicts[static_cast<std::size_t>(s)] == from) slots.push_back(s);
  }
  std::stable_sort(slots.begin(), slots.end(), [&](std::int32_t a, std::int32_t b) {
    return lower(numbers[static_cast<std::size_t>(b)], numbers[static_cast<std::size_t>(a)]);
  });
  return slots;
}

void turn(std::vector<verdict>& verdicts, const std::vector<std::int32_t>& slots, verdict to) {
  for (const std::int32_t s : slots) verdicts[static_cast<std::size_t>(s)] = to;
}

std::vector<std::int32_t> first_of(std::vector<std::int32_t> list, std::int32_t count) {
  list.resize(std::min(list.size(), static_cast<std::size_t>(std::max(count, 0))));
  return list;
}

std::vector<verdict> best_kept(const keep_set& k, const std::vector<float>& numbers,
                               std::int32_t begin, std::int32_t end, std::int32_t count,
                               bool counting_kept) {
  std::vector<verdict> out = k.verdicts;
  if (counting_kept) count -= count_of(out, begin, end, verdict::keep);
  turn(out, first_of(ranked(out, numbers, begin, end, verdict::evict), count), verdict::keep);
  return out;
}

std::vector<verdict> keep_best(keep_set& k, const std::vector<float>& numbers, std::int32_t begin,
                               std::int32_t end, std::int32_t count, bool counting_kept) {
  const selection_row row = k.row();
  cpu_backend::run(keep_best_job{&row, numbers.data(), begin, end, count, counting_kept});
  return k.verdicts;
}

// --- a selection, made of which slots of each group are kept

struct made_group {
  std::vector<slot> kept{};
  std::vector<slot> evicted{};
  std::vector<position> positions{};

  [[nodiscard]] group_selection view(group_key key) const {
    return {key, kept, evicted, positions.data()};
  }
};

made_group random_group(std::mt19937& random, std::int32_t length) {
  made_group g;
  // Runs of kept and evicted slots, long and short; now and then all of one kind.
  const std::int32_t mood = below(random, 5);
  bool keep = below(random, 2) == 0;
  std::int32_t at = below(random, 3);
  for (std::int32_t s = 0; s < length; ++s) {
    g.positions.push_back(position{at});
    at += below(random, 3) == 0 ? 1 + below(random, 9) : 1;
    if (mood > 1 && below(random, 1 << mood) == 0) keep = !keep;
    if (mood == 1) keep = below(random, 2) == 0;
    (keep ? g.kept : g.evicted).push_back(slot{s});
  }
  return g;
}

std::vector<std::int32_t> ints(std::span<const slot> slots) {
  std::vector<std::int32_t> out;
  for (const slot s : slots) out.push_back(to_int(s));
  return out;
}

}  // namespace

TEST_CASE("the best are those at the head of a stable sort") {
  std::mt19937 random{1};
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    keep_set k = random_keep_set(random, 200);
    const std::int32_t begin = below(random, k.length() + 1);
    const std::int32_t end = begin + below(random, k.length() - begin + 1);
    const std::int32_t count = below(random, k.length() + 10) - 3;  // from below none to too many
    const bool counting = below(random, 2) == 0;
    // The numbers need not be the row's own scores: a reserve ranks by values.
    const std::vector<float> numbers =
        random_numbers(random, k.scores.size(), random_spread(random));
    const std::vector<verdict> expected = best_kept(k, numbers, begin, end, count, counting);
    wrong += keep_best(k, numbers, begin, end, count, counting) != expected ? 1 : 0;
  }
  CHECK(wrong == 0);
}

TEST_CASE("none, all and more than all") {
  std::mt19937 random{2};
  for (const spread kind : {spread::distinct, spread::few, spread::equal, spread::strange}) {
    for (const std::int32_t count : {-1, 0, 1, 39, 40, 41, 1000}) {
      keep_set k;
      k.scores = random_numbers(random, 40, kind);
      for (std::int32_t s = 0; s < 40; ++s) k.positions.push_back(position{10 * s});
      k.verdicts.assign(40, verdict::evict);
      const std::vector<float> numbers = k.scores;
      const std::vector<verdict> expected = best_kept(k, numbers, 0, 40, count, false);
      CAPTURE(static_cast<int>(kind));
      CAPTURE(count);
      const std::vector<verdict> got = keep_best(k, numbers, 0, 40, count, false);
      CHECK((got == expected));
      CHECK(count_of(got, 0, 40, verdict::keep) == std::clamp(count, 0, 40));
      // Among equals the newest stay.
      if (kind == spread::equal) {
        CHECK(count_of(got, 40 - std::clamp(count, 0, 40), 40, verdict::keep) ==
              std::clamp(count, 0, 40));
      }
    }
  }
  keep_set empty;
  CHECK(keep_best(empty, {}, 0, 0, 5, true).empty());
}

TEST_CASE("NaN ranks lowest, -0 ties with +0, and the newer token wins a tie") {
  keep_set k;
  k.scores = {nan_f, -0.0F, 0.0F, -0.0F, -infinity, -nan_f, infinity, nan_f};
  for (std::int32_t s = 0; s < 8; ++s) k.positions.push_back(position{s});
  k.verdicts.assign(8, verdict::evict);
  const std::vector<float> numbers = k.scores;
  const std::vector<std::int32_t> best_first{6, 3, 2, 1, 4, 7, 5, 0};
  for (std::int32_t count = 0; count <= 8; ++count) {
    k.verdicts.assign(8, verdict::evict);
    keep_best(k, numbers, 0, 8, count, false);
    for (std::int32_t i = 0; i < 8; ++i) {
      const auto at = static_cast<std::size_t>(best_first[static_cast<std::size_t>(i)]);
      CHECK(k.verdicts[at] == (i < count ? verdict::keep : verdict::evict));
    }
  }
}

TEST_CASE("tokens without a score rank as the median of those that have one") {
  std::mt19937 random{3};
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    keep_set k = random_keep_set(random, 60);
    for (float& x : k.scores) {
      if (below(random, 3) == 0) x = detail::unscored();
    }
    std::vector<float> known;  // candidates' numbers, the older first among equals
    score_counts expected{.nan = 100, .unscored = 200};  // counts are added to
    for (std::size_t s = 0; s < k.scores.size(); ++s) {
      if (k.verdicts[s] != verdict::evict) continue;
      if (detail::is_unscored(k.scores[s])) {
        ++expected.unscored;
        continue;
      }
      if (std::isnan(k.scores[s])) ++expected.nan;
      known.push_back(k.scores[s]);
    }
    std::stable_sort(known.begin(), known.end(), lower);
    const float median = known.empty() ? 0.0F : known[(known.size() - 1) / 2];
    std::vector<float> resolved = k.scores;
    for (std::size_t s = 0; s < k.scores.size(); ++s) {
      if (k.verdicts[s] == verdict::evict && detail::is_unscored(k.scores[s])) resolved[s] = median;
    }

    const selection_row row = k.row();
    score_counts counts{.nan = 100, .unscored = 200};
    std::vector<float> out(k.scores.size(), 99.0F);
    resolve_job job{.in = k.scores.data(),
                    .positions = row.positions,
                    .verdicts = row.verdicts,
                    .length = row.length,
                    .out = out.data(),
                    .counts = &counts,
                    .scratch = row.scratch};
    cpu_backend::run(job);
    const auto same = [](float a, float b) {
      return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
    };
    wrong += std::equal(out.begin(), out.end(), resolved.begin(), same) ? 0 : 1;
    wrong += counts.nan != expected.nan || counts.unscored != expected.unscored ? 1 : 0;
    // In place too.
    job.out = k.scores.data();
    cpu_backend::run(job);
    wrong += std::equal(k.scores.begin(), k.scores.end(), resolved.begin(), same) ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a reserve exchanges the most valuable evicted for the lowest kept, both outside") {
  std::mt19937 random{4};
  int wrong = 0;
  int exchanged = 0;
  for (int round = 0; round < rounds; ++round) {
    keep_set k = random_keep_set(random, 120);
    for (verdict& v : k.verdicts) {  // before an exchange nothing is reserved
      if (v == verdict::reserve) v = verdict::keep;
    }
    const std::vector<float> value = random_numbers(random, k.scores.size(), random_spread(random));
    const std::int32_t wanted = below(random, 30) - 2;
    const std::int32_t begin = std::min(k.prompt_slots, k.recent_begin);
    std::vector<verdict> expected = k.verdicts;
    const std::int32_t count =
        std::max(0, std::min({wanted, count_of(expected, begin, k.recent_begin, verdict::evict),
                              count_of(expected, begin, k.recent_begin, verdict::keep)}));
    std::vector<std::int32_t> dropped =
        ranked(expected, k.scores, begin, k.recent_begin, verdict::keep);
    std::reverse(dropped.begin(), dropped.end());
    const std::vector<std::int32_t> newcomers =
        first_of(ranked(expected, value, begin, k.recent_begin, verdict::evict), count);
    turn(expected, first_of(dropped, count), verdict::evict);
    turn(expected, newcomers, verdict::reserve);
    exchanged += count;

    const selection_row row = k.row();
    cpu_backend::run(exchange_job{&row, value.data(), wanted});
    wrong += k.verdicts != expected ? 1 : 0;
  }
  CHECK(wrong == 0);
  CHECK(exchanged > rounds);
}

TEST_CASE("tiers spend the room from the oldest segment on, and fill the rest") {
  std::mt19937 random{5};
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    keep_set k = random_keep_set(random, 150);
    for (verdict& v : k.verdicts) {
      if (v != verdict::evict) v = verdict::protect;
    }
    const segment_tiers tiers{.segment = 1 + below(random, 40),
                              .quota = {below(random, 20), below(random, 10), below(random, 5)},
                              .fill = below(random, 2) == 0,
                              .high_is_reasoning = below(random, 4) != 0};
    // Whole numbers: a mean is rounded once, wherever it is computed.
    std::vector<float> statistic(k.scores.size());
    for (float& x : statistic) {
      x = static_cast<float>(below(random, 9));
      if (below(random, 3) == 0) x = detail::unscored();
    }

    const std::int32_t segments = (k.recent_begin + tiers.segment - 1) / tiers.segment;
    const auto end_of = [&](std::int32_t i) {
      return std::min((i + 1) * tiers.segment, k.recent_begin);
    };
    std::vector<float> means;
    std::vector<float> known;
    for (std::int32_t i = 0; i < segments; ++i) {
      double sum = 0.0;
      int count = 0;
      for (std::int32_t s = i * tiers.segment; s < end_of(i); ++s) {
        const float x = statistic[static_cast<std::size_t>(s)];
        if (detail::is_unscored(x)) continue;
        sum += static_cast<double>(x);
        ++count;
      }
      const double sign = tiers.high_is_reasoning ? 1.0 : -1.0;
      means.push_back(count == 0 ? nan_f : static_cast<float>(sign * sum / count));
      if (count != 0) known.push_back(means.back());
    }
    std::sort(known.begin(), known.end());
    const float median = known.empty() ? 0.0F : known[(known.size() - 1) / 2];
    for (float& m : means) m = std::isnan(m) ? median : m;
    std::vector<float> sorted = means;
    std::sort(sorted.begin(), sorted.end());

    std::vector<verdict> expected = k.verdicts;
    std::int32_t room = k.room;
    for (std::int32_t i = 0; i < segments; ++i) {
      const auto m = static_cast<std::size_t>(segments);
      const float mean = means[static_cast<std::size_t>(i)];
      const int tier = m == 1 || mean >= sorted[2 * m / 3] ? 0 : mean >= sorted[m / 3] ? 1 : 2;
      const std::vector<std::int32_t> best =
          first_of(ranked(expected, k.scores, i * tiers.segment, end_of(i), verdict::evict),
                   std::min(tiers.quota[tier], room));
      turn(expected, best, verdict::keep);
      room -= static_cast<std::int32_t>(best.size());
    }
    if (tiers.fill) {
      turn(expected, first_of(ranked(expected, k.scores, 0, k.recent_begin, verdict::evict), room),
           verdict::keep);
    }

    const selection_row row = k.row();
    cpu_backend::run(tiered_job{&row, statistic.data(), tiers});
    wrong += k.verdicts != expected ? 1 : 0;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a flat selection keeps the reserve first, then the best, and exactly the room") {
  std::mt19937 random{6};
  cpu_backend backend;
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    keep_set k = random_keep_set(random, 150);
    for (verdict& v : k.verdicts) {
      if (v != verdict::evict) v = verdict::protect;
    }
    const std::vector<float> value = random_numbers(random, k.scores.size(), random_spread(random));
    const std::int32_t reserve = below(random, 20);
    std::vector<verdict> expected = k.verdicts;
    const std::int32_t candidates = count_of(expected, 0, k.length(), verdict::evict);
    const std::vector<std::int32_t> reserved =
        first_of(ranked(expected, value, k.prompt_slots, k.length(), verdict::evict),
                 std::min(reserve, k.room));
    turn(expected, reserved, verdict::keep);
    turn(expected,
         first_of(ranked(expected, k.scores, 0, k.length(), verdict::evict),
                  k.room - static_cast<std::int32_t>(reserved.size())),
         verdict::keep);

    selection_row row = k.row();
    const float* const auxiliary[] = {value.data()};
    row.auxiliary = auxiliary;
    top_k{.reserve = {.tokens = reserve}}.select(backend, row);
    wrong += k.verdicts != expected ? 1 : 0;
    wrong += count_of(k.verdicts, 0, k.length(), verdict::keep) != std::min(k.room, candidates);
  }
  CHECK(wrong == 0);
}

TEST_CASE("a split lists every slot once, ascending, by whether it goes") {
  std::mt19937 random{7};
  for (int round = 0; round < 100; ++round) {
    const keep_set k = random_keep_set(random, 100);
    std::vector<slot> kept(k.verdicts.size(), slot{-1});
    std::vector<slot> evicted(k.verdicts.size(), slot{-1});
    std::int32_t kept_count = 77;  // what is there does not count
    cpu_backend::run(split_job{.verdicts = k.verdicts.data(),
                               .length = k.length(),
                               .kept = kept.data(),
                               .evicted = evicted.data(),
                               .kept_count = &kept_count});
    REQUIRE(kept_count >= 0);
    REQUIRE(kept_count <= k.length());
    kept.resize(static_cast<std::size_t>(kept_count));
    evicted.resize(k.verdicts.size() - kept.size());
    std::vector<slot> expected_kept;
    std::vector<slot> expected_evicted;
    for (std::int32_t s = 0; s < k.length(); ++s) {
      const bool goes = k.verdicts[static_cast<std::size_t>(s)] == verdict::evict;
      (goes ? expected_evicted : expected_kept).push_back(slot{s});
    }
    CHECK((kept == expected_kept));
    CHECK((evicted == expected_evicted));
  }
}

TEST_CASE("runs cut an ascending list where neighbours end") {
  static_assert(std::forward_iterator<slot_runs::iterator>);
  const std::vector<slot> list{slot{0}, slot{1}, slot{2}, slot{5}, slot{7}, slot{8}};
  const slot_runs runs{list};
  std::vector<std::vector<std::int32_t>> got;
  for (const slot_run run : runs) got.push_back({to_int(run.first), run.count, run.index});
  CHECK((got == std::vector<std::vector<std::int32_t>>{{0, 3, 0}, {5, 1, 3}, {7, 2, 4}}));
  auto it = runs.begin();
  const auto first = it++;
  CHECK((*first).count == 3);
  CHECK((*it).index == 3);
  CHECK(first != it);
  CHECK(std::distance(runs.begin(), runs.end()) == 3);
  const slot_runs none{std::span<const slot>{}};
  CHECK(none.begin() == none.end());

  std::mt19937 random{8};
  for (int round = 0; round < 200; ++round) {
    const made_group g = random_group(random, below(random, 80));
    std::vector<std::int32_t> together;
    std::int32_t end = -1;
    for (const slot_run run : slot_runs{g.kept}) {
      CHECK(run.count > 0);
      CHECK(run.index == static_cast<std::int32_t>(together.size()));
      CHECK(to_int(run.first) > end);  // else it would be one run with the one before
      end = to_int(run.first) + run.count;
      for (std::int32_t i = 0; i < run.count; ++i) together.push_back(to_int(run.first + i));
    }
    CHECK((together == ints(g.kept)));
  }
}

TEST_CASE("evicted positions come as the fewest ranges without a kept token") {
  std::mt19937 random{9};
  for (int round = 0; round < 1000; ++round) {
    const made_group g = random_group(random, below(random, 80));
    const group_selection group = g.view({});
    std::set<std::int32_t> kept;
    std::set<std::int32_t> evicted;
    for (const slot s : g.kept) kept.insert(to_int(g.positions[static_cast<std::size_t>(s)]));
    for (const slot s : g.evicted) evicted.insert(to_int(g.positions[static_cast<std::size_t>(s)]));
    // Position by position: a range opens at an evicted one, closes before a kept one and ends
    // right after its last evicted one.
    std::vector<position_range> expected;
    bool open = false;
    const std::int32_t end = g.positions.empty() ? 0 : to_int(g.positions.back()) + 1;
    for (std::int32_t p = 0; p < end; ++p) {
      if (kept.contains(p)) open = false;
      if (!evicted.contains(p)) continue;
      if (!open) expected.push_back({position{p}, position{p}});
      expected.back().last = position{p + 1};
      open = true;
    }
    std::vector<position_range> got;
    group.for_each_evicted_range([&](position_range r) { got.push_back(r); });
    CHECK((got == expected));
  }
}

TEST_CASE("the moves leave exactly the kept rows, in order, and never lose one on the way") {
  std::mt19937 random{10};
  for (int round = 0; round < 1000; ++round) {
    const std::int32_t length = below(random, 80);
    const made_group g = random_group(random, length);
    const group_selection group = g.view({});
    std::vector<std::int32_t> rows(static_cast<std::size_t>(length));
    std::iota(rows.begin(), rows.end(), 0);
    std::int32_t next = 0;  // the first destination no move has reached
    int wrong = 0;
    group.for_each_move([&](slot from, slot to, std::int32_t count) {
      wrong += to_int(from) > to_int(to) && to_int(to) >= next && count > 0 ? 0 : 1;
      next = to_int(to) + count;
      for (std::int32_t i = 0; i < count; ++i) {
        const std::int32_t row = rows[static_cast<std::size_t>(to_int(from) + i)];
        // In place: the source must still hold what it held at first.
        wrong += row != to_int(from) + i ? 1 : 0;
        rows[static_cast<std::size_t>(to_int(to) + i)] = row;
      }
    });
    CHECK(wrong == 0);
    rows.resize(g.kept.size());
    CHECK((rows == ints(g.kept)));
    // Nothing moves when nothing goes, or when only the tail does.
    const bool tail = g.kept.empty() || to_int(g.kept.back()) + 1 == std::ssize(g.kept);
    CHECK((next == 0) == tail);

    // compact() of rows of bytes agrees.
    std::vector<std::uint16_t> memory(static_cast<std::size_t>(length));
    std::iota(memory.begin(), memory.end(), std::uint16_t{0});
    cpu_backend::run(compact_job{{memory.data(), 2, 2}, group.kept()});
    for (std::size_t i = 0; i < g.kept.size(); ++i) {
      wrong += memory[i] != to_int(g.kept[i]) ? 1 : 0;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("a group's lists are what it was made of") {
  std::mt19937 random{11};
  const made_group g = random_group(random, 50);
  const group_key key{.layer = 3, .kv_head = 1};
  const group_selection group = g.view(key);
  CHECK(group.key() == key);
  CHECK((ints(group.kept()) == ints(g.kept)));
  CHECK((ints(group.evicted()) == ints(g.evicted)));
  CHECK(group.length_before() == 50);
  CHECK(group.length_after() == std::ssize(g.kept));
  CHECK(group.positions().size() == 50);
  CHECK(group.positions().data() == g.positions.data());
  const group_selection nothing;
  CHECK(nothing.length_before() == 0);
  CHECK(nothing.length_after() == 0);
  CHECK(nothing.key() == group_key{});
  nothing.for_each_evicted_range([](position_range) { FAIL_CHECK("a range of nothing"); });
  nothing.for_each_move([](slot, slot, std::int32_t) { FAIL_CHECK("a move of nothing"); });
}

TEST_CASE("slots and blocks are freed when no group holds them any more") {
  std::mt19937 random{12};
  const model_shape shape{
      .layers = 3, .query_heads = 4, .kv_heads = 2, .head_dim = 8, .hidden = 16};
  for (int round = 0; round < 500; ++round) {
    const auto keep_sets = static_cast<granularity>(below(random, 3));
    std::vector<made_group> groups;
    std::vector<group_selection> views;
    for (std::int32_t g = 0; g < shape.groups(keep_sets); ++g) {
      groups.push_back(random_group(random, below(random, 70)));
    }
    for (std::int32_t g = 0; g < shape.groups(keep_sets); ++g) {
      views.push_back(groups[static_cast<std::size_t>(g)].view(shape.key_of(keep_sets, g)));
    }
    const sequence_selection chosen{sequence_id{-9}, 41, keep_sets, shape, views, 3};
    CHECK(chosen.sequence() == sequence_id{-9});
    CHECK(chosen.epoch() == 41);
    CHECK(chosen.over_budget() == 3);
    CHECK(chosen.keep_sets() == keep_sets);
    CHECK(chosen.shape() == shape);

    // Who decides for a layer and head is told by the keys.
    for (std::int32_t layer = 0; layer < shape.layers; ++layer) {
      for (std::int32_t head = 0; head < shape.kv_heads; ++head) {
        const group_key key = chosen.group(layer, head).key();
        CHECK(key.layer == (keep_sets == granularity::sequence ? -1 : layer));
        CHECK(key.kv_head == (keep_sets == granularity::kv_head ? head : -1));
      }
    }

    // Slot by slot: in use before, and after every group moved its kept rows to the front.
    const auto in_use = [&](std::int32_t block, std::int32_t size, bool after) {
      return std::any_of(groups.begin(), groups.end(), [&](const made_group& g) {
        const auto held = after ? std::ssize(g.kept) : std::ssize(g.positions);
        return held > std::ptrdiff_t{block} * size;
      });
    };
    for (const std::int32_t size : {1, 2, 16, 64, 100}) {
      std::int32_t freed = 0;
      for (std::int32_t block = 0; block < 80; ++block) {
        freed += in_use(block, size, false) && !in_use(block, size, true) ? 1 : 0;
      }
      CHECK(chosen.freed_blocks(size) == freed);
      if (size == 1) CHECK(chosen.freed_slots() == freed);
    }
  }
  const sequence_selection nothing;
  CHECK(nothing.freed_slots() == 0);
  CHECK(nothing.freed_blocks(16) == 0);
}

TEST_CASE("a selection is its sequences, in order") {
  const std::vector<sequence_selection> parts{
      {sequence_id{4}, 7, granularity::sequence, {}, {}, 0},
      {sequence_id{2}, 7, granularity::sequence, {}, {}, 0}};
  const selection chosen{parts, 7};
  CHECK_FALSE(chosen.empty());
  CHECK(chosen.size() == 2);
  CHECK(chosen.epoch() == 7);
  CHECK(chosen[1].sequence() == sequence_id{2});
  std::vector<sequence_id> seen;
  for (const sequence_selection& part : chosen) seen.push_back(part.sequence());
  CHECK((seen == std::vector{sequence_id{4}, sequence_id{2}}));
  const selection none;
  CHECK(none.empty());
  CHECK(none.size() == 0);
  CHECK(none.begin() == none.end());
}
