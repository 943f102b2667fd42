// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>

#include "epikv/detail/canonical.hpp"
#include "epikv/primitives.hpp"

namespace epikv::inline v0::cpu {

// Scratch of a selection: one 64-bit key per slot, then one float per segment (at most one a slot).
constexpr std::size_t scratch_bytes(std::int32_t length) noexcept {
  return static_cast<std::size_t>(length) * (sizeof(std::uint64_t) + 2 * sizeof(float));
}

/// Lets `f` see every slot of [begin, end) with verdict `wanted`; returns their keys, unordered.
/// The low half of a key is the position; slots ascend with positions, so the k-th largest key is
/// the cut: a slot is among the k best exactly when its key reaches it.
inline std::span<std::uint64_t> gather_keys(const selection_row& row, const float* scores,
                                            std::int32_t begin, std::int32_t end,
                                            verdict wanted) noexcept {
  auto* const keys = reinterpret_cast<std::uint64_t*>(row.scratch);
  std::size_t count = 0;
  for (std::int32_t s = begin; s < end; ++s) {
    if (row.verdicts[s] == wanted) {
      keys[count++] = detail::selection_key(scores[s], to_int(row.positions[s]));
    }
  }
  return {keys, count};
}

/// Turns the `count` best (or, with `lowest`, the worst) slots of [begin, end) with verdict `from`
/// into `to`.
inline void change_extreme(const selection_row& row, const float* scores, std::int32_t begin,
                           std::int32_t end, std::int32_t count, verdict from, verdict to,
                           bool lowest) noexcept {
  if (count <= 0) return;
  const std::span<std::uint64_t> keys = gather_keys(row, scores, begin, end, from);
  const auto wanted = static_cast<std::size_t>(count);
  std::uint64_t cut = lowest ? ~std::uint64_t{0} : 0;
  if (wanted < keys.size()) {
    const auto nth = keys.begin() + static_cast<std::ptrdiff_t>(wanted - 1);
    if (lowest) {
      std::nth_element(keys.begin(), nth, keys.end());
    } else {
      std::nth_element(keys.begin(), nth, keys.end(), std::greater<>{});
    }
    cut = *nth;
  }
  for (std::int32_t s = begin; s < end; ++s) {
    if (row.verdicts[s] != from) continue;
    const std::uint64_t key = detail::selection_key(scores[s], to_int(row.positions[s]));
    if (lowest ? key <= cut : key >= cut) row.verdicts[s] = to;
  }
}

inline void keep_best(const keep_best_job& job) noexcept {
  const verdict* const verdicts = job.row->verdicts;
  const auto kept =
      job.counting_kept ? std::count(verdicts + job.begin, verdicts + job.end, verdict::keep) : 0;
  change_extreme(*job.row, job.scores, job.begin, job.end,
                 job.count - static_cast<std::int32_t>(kept), verdict::evict, verdict::keep, false);
}

inline void keep_chunks(const chunk_job& job) noexcept {
  const selection_row& row = *job.row;
  const auto chunk_of = [&](std::int32_t s) noexcept {
    return (job.unit == chunk_unit::slots ? s : to_int(row.positions[s])) / job.size;
  };
  // One key per chunk with candidates: its mean, then its first slot.
  auto* const keys = reinterpret_cast<std::uint64_t*>(row.scratch);
  std::size_t chunks = 0;
  for (std::int32_t s = 0; s < row.length;) {
    float sums[detail::lanes] = {};
    std::int32_t count = 0;
    const std::int32_t begin = s;
    for (; s < row.length && chunk_of(s) == chunk_of(begin); ++s) {
      if (row.verdicts[s] != verdict::evict) continue;
      sums[count % detail::lanes] += row.scores[s];
      ++count;
    }
    if (count == 0) continue;
    const float mean = detail::fold_lanes(sums) / static_cast<float>(count);
    keys[chunks++] = detail::selection_key(mean, begin);
  }
  std::sort(keys, keys + chunks, std::greater<>{});
  std::int32_t room = row.room;
  for (std::size_t i = 0; i < chunks && room > 0; ++i) {
    const auto begin = static_cast<std::int32_t>(static_cast<std::uint32_t>(keys[i]));
    std::int32_t end = begin;
    std::int32_t count = 0;
    for (; end < row.length && chunk_of(end) == chunk_of(begin); ++end) {
      count += row.verdicts[end] == verdict::evict ? 1 : 0;
    }
    if (count > room) continue;
    for (std::int32_t t = begin; t < end; ++t) {
      if (row.verdicts[t] == verdict::evict) row.verdicts[t] = verdict::keep;
    }
    room -= count;
  }
}

inline void resolve(const resolve_job& job) noexcept {
  auto* const keys = reinterpret_cast<std::uint64_t*>(job.scratch);
  std::size_t scored = 0;
  std::int64_t missing = 0;
  for (std::int32_t s = 0; s < job.length; ++s) {
    const float x = job.in[s];
    if (job.out != job.in) job.out[s] = x;
    if (job.verdicts[s] != verdict::evict) continue;
    if (detail::is_unscored(x)) {
      ++missing;
    } else {
      if (x != x) ++job.counts->nan;
      keys[scored++] = detail::selection_key(x, s);
    }
  }
  job.counts->unscored += missing;
  if (missing == 0) return;
  float median = 0.0F;
  if (scored > 0) {
    auto* const middle = keys + (scored - 1) / 2;
    std::nth_element(keys, middle, keys + scored);
    median = job.in[static_cast<std::uint32_t>(*middle)];
  }
  for (std::int32_t s = 0; s < job.length; ++s) {
    if (job.verdicts[s] == verdict::evict && detail::is_unscored(job.out[s])) job.out[s] = median;
  }
}

/// Mean of the numbers of x[begin, end), unscored ones left out, by the canonical reduction;
/// unscored when there are none.
inline float segment_mean(const float* x, std::int32_t begin, std::int32_t end) noexcept {
  float sums[detail::lanes] = {};
  std::int32_t count = 0;
  for (std::int32_t s = begin; s < end; ++s) {
    if (detail::is_unscored(x[s])) continue;
    sums[(s - begin) % detail::lanes] += x[s];
    ++count;
  }
  if (count == 0) return detail::unscored();
  return detail::canonical(detail::fold_lanes(sums) / static_cast<float>(count));
}

// Order of segment statistics: the selection's order of numbers.
inline bool lower(float a, float b) noexcept { return detail::order_key(a) < detail::order_key(b); }

inline void tiered(const tiered_job& job) noexcept {
  const selection_row& row = *job.row;
  const std::int32_t size = job.tiers.segment;
  const std::int32_t segments = row.recent_begin / size + (row.recent_begin % size != 0 ? 1 : 0);
  auto* const means =
      reinterpret_cast<float*>(row.scratch + static_cast<std::size_t>(row.length) * 8);
  float* const sorted = means + segments;
  std::int32_t known = 0;
  for (std::int32_t i = 0; i < segments; ++i) {
    const std::int32_t end = std::min((i + 1) * size, row.recent_begin);
    const float mean = segment_mean(job.statistic, i * size, end);
    const bool missing = detail::is_unscored(mean);
    means[i] = missing || job.tiers.high_is_reasoning ? mean : -mean;
    if (!missing) sorted[known++] = means[i];
  }
  std::sort(sorted, sorted + known, lower);
  const float median = known > 0 ? sorted[(known - 1) / 2] : 0.0F;
  for (std::int32_t i = 0; i < segments; ++i) {
    if (detail::is_unscored(means[i])) means[i] = median;
  }
  std::copy_n(means, segments, sorted);
  std::sort(sorted, sorted + segments, lower);

  std::int32_t room = row.room;
  for (std::int32_t i = 0; i < segments && room > 0; ++i) {
    const bool reasoning = segments == 1 || !lower(means[i], sorted[2 * segments / 3]);
    const bool execution = !lower(means[i], sorted[segments / 3]);
    const std::int32_t tier = reasoning ? 0 : execution ? 1 : 2;
    const std::int32_t begin = i * size;
    const std::int32_t end = std::min(begin + size, row.recent_begin);
    const auto candidates = static_cast<std::int32_t>(
        std::count(row.verdicts + begin, row.verdicts + end, verdict::evict));
    const std::int32_t count = std::min({job.tiers.quota[tier], candidates, room});
    keep_best({&row, row.scores, begin, end, count, false});
    room -= count;
  }
  if (job.tiers.fill) keep_best({&row, row.scores, 0, row.recent_begin, room, false});
}

inline void exchange(const exchange_job& job) noexcept {
  const selection_row& row = *job.row;
  // The reserve is for decode tokens outside the recent window, on both sides of the exchange.
  const std::int32_t begin = std::min(row.prompt_slots, row.recent_begin);
  const auto count_of = [&](verdict v) noexcept {
    return static_cast<std::int32_t>(
        std::count(row.verdicts + begin, row.verdicts + row.recent_begin, v));
  };
  const std::int32_t count =
      std::min({job.count, count_of(verdict::evict), count_of(verdict::keep)});
  if (count <= 0) return;
  // Find the newcomers' cut before any verdict changes; those dropped must not come back.
  const std::span<std::uint64_t> keys =
      gather_keys(row, job.value, begin, row.recent_begin, verdict::evict);
  const auto nth = keys.begin() + (count - 1);
  std::nth_element(keys.begin(), nth, keys.end(), std::greater<>{});
  const std::uint64_t cut = *nth;
  for (std::int32_t s = begin; s < row.recent_begin; ++s) {
    const bool newcomer = row.verdicts[s] == verdict::evict &&
                          detail::selection_key(job.value[s], to_int(row.positions[s])) >= cut;
    if (newcomer) row.verdicts[s] = verdict::reserve;
  }
  change_extreme(row, row.scores, begin, row.recent_begin, count, verdict::keep, verdict::evict,
                 true);
}

inline void split(const split_job& job) noexcept {
  std::int32_t kept = 0;
  std::int32_t evicted = 0;
  for (std::int32_t s = 0; s < job.length; ++s) {
    if (job.verdicts[s] == verdict::evict) {
      job.evicted[evicted++] = slot{s};
    } else {
      job.kept[kept++] = slot{s};
    }
  }
  *job.kept_count = kept;
}

}  // namespace epikv::inline v0::cpu
