// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <initializer_list>

namespace drive {

// The finaliser of splitmix64: one well-mixed number out of another.
inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

// Seeded choices that are the same with every compiler and standard library.
class dice {
 public:
  explicit dice(std::uint64_t seed) : state_{mix(seed)} {}

  std::uint64_t next() { return state_ = mix(state_); }
  // Uniform in [low, high].
  int between(int low, int high) {
    return low + static_cast<int>(next() % static_cast<std::uint64_t>(high - low + 1));
  }
  // True in `percent` of the throws.
  bool chance(int percent) { return between(1, 100) <= percent; }
  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return choices.begin()[between(0, static_cast<int>(choices.size()) - 1)];
  }

 private:
  std::uint64_t state_;
};

}  // namespace drive
