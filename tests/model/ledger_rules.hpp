// SPDX-License-Identifier: MIT
#pragma once

// The rules of the ledger task, read off a prompt: which prompts there are, and what the trace of
// one is. Written from the description of the task, not from a generator.

#include <cstddef>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mini_test {

struct ledger_line {
  char target;
  char left;
  char sign;
  char right;
};

/// What a prompt says. `fault` is empty if it keeps the rules.
struct ledger_reading {
  std::string fault;
  std::map<char, int> given;
  std::vector<ledger_line> program;
  char question = 0;
};

inline ledger_reading read_ledger(std::string_view prompt) {
  ledger_reading out;
  std::string known;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto may_name = [&](char c) {
    return c >= 'a' && c <= 'z' && c != 'o' && c != 'k' && known.find(c) == std::string::npos;
  };
  const auto knows = [&](char c) { return known.find(c) != std::string::npos; };
  const auto fault = [&](const char* what) {
    out.fault = std::string{what} + " at '" + std::string{prompt} + "'";
    return out;
  };

  while (prompt.size() >= 3 && is_digit(prompt[1]) && prompt[2] == ';') {
    if (!may_name(prompt[0])) return fault("a bad name of a given value");
    known += prompt[0];
    out.given[prompt[0]] = prompt[1] - '0';
    prompt.remove_prefix(3);
  }
  while (prompt.size() >= 6 && prompt[1] == '=' && prompt[5] == ';') {
    const ledger_line line{prompt[0], prompt[2], prompt[3], prompt[4]};
    if (!may_name(line.target)) return fault("a bad name of a result");
    if (!knows(line.left) || !knows(line.right)) return fault("an operand nobody defined");
    if (line.left == line.right) return fault("one operand twice");
    if (line.sign != '+' && line.sign != '-') return fault("an unknown operation");
    known += line.target;
    out.program.push_back(line);
    prompt.remove_prefix(6);
  }
  if (prompt.size() != 3 || prompt[0] != '?' || prompt[2] != '#') return fault("no question");
  if (!knows(prompt[1])) return fault("a question about nothing");
  out.question = prompt[1];
  if (out.given.size() < 2 || out.program.empty()) return fault("too short a problem");
  return out;
}

struct ledger_solution {
  std::string trace;
  char answer = 0;
};

/// Works through a prompt that keeps the rules.
inline ledger_solution solve_ledger(const ledger_reading& problem) {
  std::map<char, int> values = problem.given;
  ledger_solution out;
  for (std::size_t i = 0; i < problem.program.size(); ++i) {
    const ledger_line& line = problem.program[i];
    const char next = i + 1 < problem.program.size() ? problem.program[i + 1].target : '?';
    const int a = values.at(line.left);
    const int b = values.at(line.right);
    int r = line.sign == '+' ? a + b : a - b;
    if (r > 9) r -= 10;
    if (r < 0) r += 10;
    values[line.target] = r;
    char text[64];
    std::snprintf(text, sizeof text, "%c=%c%c%c;%c:%c%d %c%d %d%c%d=%d %c%d.ok ", line.target,
                  line.left, line.sign, line.right, next, line.left, a, line.right, b, a, line.sign,
                  b, r, line.target, r);
    out.trace += text;
    // Both operands, each found again from the result and the other one.
    if (line.sign == '+') {
      std::snprintf(text, sizeof text, "%d-%d=%d %d-%d=%d;", r, b, a, r, a, b);
    } else {
      std::snprintf(text, sizeof text, "%d+%d=%d %d-%d=%d;", r, b, a, a, r, b);
    }
    out.trace += text;
  }
  out.answer = static_cast<char>('0' + values.at(problem.question));
  out.trace += std::string{'?', problem.question, out.answer, '\n'};
  return out;
}

/// The first false sum modulo 10 in a text, e.g. "3+1=5"; empty if all are true.
inline std::string false_sum(std::string_view text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  for (std::size_t i = 0; i + 5 <= text.size(); ++i) {
    const std::string_view s = text.substr(i, 5);
    if (!digit(s[0]) || !digit(s[2]) || !digit(s[4]) || s[3] != '=') continue;
    const int a = s[0] - '0';
    const int b = s[2] - '0';
    const int r = s[4] - '0';
    const int off = s[1] == '+' ? a + b - r : s[1] == '-' ? a - b - r : 1;
    if (off % 10 != 0) return std::string{s};
  }
  return {};
}

}  // namespace mini_test
