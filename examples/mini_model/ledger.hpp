// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "result.hpp"

namespace mini {

/// SplitMix64 as a counter-based generator: number i of a seed is a fixed mixture of seed and i, so
/// that the same seed gives the same problem on every machine.
class splitmix64 {
 public:
  explicit constexpr splitmix64(std::uint64_t seed) noexcept : state_(seed) {}

  /// The next 64 bits.
  constexpr std::uint64_t next() noexcept {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  /// A number from 0 to bound - 1, by scaling the upper 32 bits (bias under bound / 2^32).
  /// Precondition: 0 < bound < 2^32.
  constexpr std::size_t below(std::size_t bound) noexcept {
    return static_cast<std::size_t>(((next() >> 32) * bound) >> 32);
  }

 private:
  std::uint64_t state_;
};

/// The ledger task: four values, a program of additions and subtractions modulo 10, a question.
///
///     prompt   a3;b7;c1;d9;e=a+c;f=e-b;?f#
///     trace    e=a+c;f:a3 c1 3+1=4 e4.ok 4-1=3 4-3=1;f=e-b;?:e4 b7 4-7=7 f7.ok 7+7=4 4-7=7;?f7\n
///     answer   7
///
/// One character is one token. A step of the trace copies a line of the program and the name of the
/// next one, fetches the operands, computes, records the result ("e4.") and checks it twice: 38
/// characters, of which later steps need only the recorded pair.
struct ledger_problem {
  std::string prompt;
  std::string trace;  // all that the model has to generate, the final newline included
  char answer = '0';
};

/// The problem number `seed`. There are names for 24 values, initial ones and steps together (the
/// letters without o and k, which spell "ok"); more, fewer than 2 initial values or no step at all
/// are errors.
inline expected<ledger_problem> make_ledger_problem(std::uint64_t seed, std::size_t initial = 4,
                                                    std::size_t steps = 12) {
  std::string names = "abcdefghijlmnpqrstuvwxyz";
  if (initial < 2 || steps < 1 || initial > names.size() || steps > names.size() - initial) {
    return fail("no ledger problem has ", initial, " values and ", steps, " steps");
  }
  const std::size_t total = initial + steps;
  splitmix64 random(seed);
  for (std::size_t i = 0; i < total; ++i) {  // a shuffle, as far as names are needed
    std::swap(names[i], names[i + random.below(names.size() - i)]);
  }

  std::array<int, 24> values{};  // values[i] belongs to names[i]
  const auto digit = [](int value) { return static_cast<char>('0' + value); };
  const auto pair = [&](std::size_t i) { return std::string{names[i], digit(values[i])}; };

  ledger_problem out;
  for (std::size_t i = 0; i < initial; ++i) {
    values[i] = static_cast<int>(random.below(10));
    out.prompt += pair(i) + ";";
  }
  for (std::size_t z = initial; z < total; ++z) {
    const std::size_t x = random.below(z);
    std::size_t y = random.below(z - 1);
    if (y >= x) ++y;  // any earlier value but x
    const bool plus = random.below(2) == 0;
    const int a = values[x];
    const int b = values[y];
    const int r = (plus ? a + b : a - b + 10) % 10;
    values[z] = r;

    const auto sum = [&](int left, char sign, int right, int result) {
      return std::string{digit(left), sign, digit(right), '=', digit(result)};
    };
    const char sign = plus ? '+' : '-';
    const char after = z + 1 < total ? names[z + 1] : '?';
    const std::string line{names[z], '=', names[x], sign, names[y], ';'};
    out.prompt += line;
    out.trace += line + after + ":" + pair(x) + " " + pair(y) + " " + sum(a, sign, b, r) + " " +
                 pair(z) + ".ok ";
    out.trace += plus ? sum(r, '-', b, a) + " " + sum(r, '-', a, b) + ";"
                      : sum(r, '+', b, a) + " " + sum(a, '-', r, b) + ";";
  }
  // One of the last three names, so that the program matters; any name of a short problem.
  const std::size_t asked = steps >= 3 ? total - 1 - random.below(3) : random.below(total);
  out.prompt += std::string{'?', names[asked], '#'};
  out.trace += "?" + pair(asked) + "\n";
  out.answer = digit(values[asked]);
  return out;
}

/// How well a generated text solves a problem.
struct ledger_grade {
  bool right = false;     // it ends with the right answer, "?f7\n"
  double characters = 0;  // share of the trace's characters that it has in their places
};

/// Grades a generated text.
inline ledger_grade grade(const ledger_problem& problem, std::string_view generated) {
  const std::string_view trace = problem.trace;
  ledger_grade out;
  out.right = trace.size() >= 4 && generated.ends_with(trace.substr(trace.size() - 4));
  const std::size_t both = std::min(trace.size(), generated.size());
  std::size_t same = 0;
  for (std::size_t i = 0; i < both; ++i) same += generated[i] == trace[i] ? 1 : 0;
  out.characters =
      trace.empty() ? 0 : static_cast<double>(same) / static_cast<double>(trace.size());
  return out;
}

}  // namespace mini
