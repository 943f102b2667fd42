// SPDX-License-Identifier: MIT
#pragma once

#include <cassert>
#include <cstddef>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "types.hpp"

namespace mini {

/// Marks a piece of text that is no token.
inline constexpr token no_token = -1;

/// A piece of the text while it is being merged: where it lies and which token it is.
struct merge_symbol {
  std::size_t begin = 0;
  std::size_t size = 0;  // 0: it went into its neighbour
  token id = no_token;
};

/// What two neighbours become, and at what cost; the cheapest pair merges first.
struct merge_result {
  double cost = 0.0;
  token id = no_token;
};

/// Merges neighbours until no pair is known: always the cheapest pair of all, among equals the
/// leftmost. `find(left, right)` gives an optional<merge_result>. What remains are the symbols of
/// a size above 0, in order. For n symbols it calls `find` less than 3 n times and takes
/// O(n log n).
template <class Find>
void merge_cheapest_first(std::vector<merge_symbol>& symbols, const Find& find) {
  struct link {
    std::size_t before;
    std::size_t after;
  };
  struct candidate {
    merge_result result;
    std::size_t left;
    std::size_t right;
    std::size_t size;  // of both when they were seen: symbols only grow, so another size is stale
    bool operator<(const candidate& other) const noexcept {
      return result.cost != other.result.cost ? result.cost > other.result.cost : left > other.left;
    }
  };
  const std::size_t count = symbols.size();
  std::vector<link> links(count);  // the neighbours that are left; `count` stands for none
  std::priority_queue<candidate> queue;
  const auto consider = [&](std::size_t left, std::size_t right) {
    if (left == count || right == count) return;
    const std::optional<merge_result> found = find(symbols[left], symbols[right]);
    if (found) queue.push({*found, left, right, symbols[left].size + symbols[right].size});
  };
  for (std::size_t i = 0; i < count; ++i) {
    links[i] = {i == 0 ? count : i - 1, i + 1};
    consider(links[i].before, i);
  }
  while (!queue.empty()) {
    const candidate best = queue.top();
    queue.pop();
    merge_symbol& left = symbols[best.left];
    merge_symbol& right = symbols[best.right];
    const bool gone = left.size == 0 || right.size == 0;
    if (gone || left.size + right.size != best.size) continue;
    assert(links[best.left].after == best.right);
    left.size += std::exchange(right.size, 0);
    left.id = best.result.id;
    const std::size_t next = links[best.right].after;
    links[best.left].after = next;
    if (next != count) links[next].before = best.left;
    consider(links[best.left].before, best.left);
    consider(best.left, next);
  }
}

}  // namespace mini
