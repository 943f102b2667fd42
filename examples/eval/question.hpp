// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mini_model/result.hpp"
#include "mini_model/types.hpp"
#include "report/record.hpp"
#include "task.hpp"

namespace eval {

/// What an answer is worth.
struct mark {
  bool right = false;
  std::vector<report::named_number> numbers;
};

/// A prompt to answer freely, and how the answer is graded.
struct question {
  std::vector<mini::token> prompt;
  std::size_t kept = 0;  ///< first tokens of it that count as prompt; the rest may be evicted
  std::size_t most = 0;  ///< tokens of an answer
  std::function<mark(std::string_view answer)> grade;
};

/// Questions by number. Any thread may draw.
class question_set {
 public:
  question_set() = default;
  question_set(const question_set&) = delete;
  question_set& operator=(const question_set&) = delete;
  virtual ~question_set() = default;

  [[nodiscard]] virtual std::size_t count() const = 0;
  [[nodiscard]] virtual report::configuration configuration() const = 0;
  [[nodiscard]] virtual mini::expected<question> draw(const mini::loaded_model& model,
                                                      std::size_t i) = 0;
};

/// The task of answering all of a set greedily.
[[nodiscard]] std::unique_ptr<task> make_question_task(std::string name,
                                                       std::unique_ptr<question_set> questions);

}  // namespace eval
