// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

// The counters of this executable's own operator new (counting_new.cpp).
namespace counting {

/// Calls of any operator new so far, and blocks that were not given back yet.
std::int64_t calls() noexcept;
std::int64_t live() noexcept;
/// The bytes of those blocks as the heap rounds them, and how many of them came from an aligned
/// form: a block given back by the wrong kind of delete shows here.
std::int64_t live_bytes() noexcept;
std::int64_t live_aligned() noexcept;

/// Lets the nothrow forms fail once, at the `n`-th call from now on; 0 fails none.
void fail_at(std::int64_t n) noexcept;
/// True while the failure asked for has not come.
bool failure_pending() noexcept;

/// What is held, to compare with what is held later.
struct holdings {
  std::int64_t blocks = live();
  std::int64_t bytes = live_bytes();
  std::int64_t aligned = live_aligned();
  friend bool operator==(const holdings&, const holdings&) = default;
};

/// Calls of any operator new that `f` makes.
template <class F>
[[nodiscard]] std::int64_t calls_of(F&& f) {
  const std::int64_t before = calls();
  f();
  return calls() - before;
}

}  // namespace counting
