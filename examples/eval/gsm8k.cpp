// SPDX-License-Identifier: MIT
#include "gsm8k.hpp"

#include <algorithm>
#include <utility>

#include "question.hpp"

namespace eval {
namespace {

using mini::expected;
using mini::fail;

constexpr std::string_view mark_of_answer = "####";
constexpr std::string_view request_for_mark =
    "\n\nSolve the problem step by step. End with a line \"#### \" and the number.";

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The number that begins at `at`, its separators left out; `at` moves behind it.
std::string read_number_at(std::string_view text, std::size_t& at) {
  std::string out;
  // A sign, unless it takes one number from another.
  const bool minus = at > 0 && text[at - 1] == '-';
  if (minus && (at < 2 || !is_digit(text[at - 2]))) out = "-";
  bool point = false;
  for (; at < text.size(); ++at) {
    const bool digit_follows = at + 1 < text.size() && is_digit(text[at + 1]);
    if (is_digit(text[at])) {
      out += text[at];
    } else if (text[at] == '.' && digit_follows && !point) {
      point = true;
      out += '.';
    } else if (text[at] != ',' || !digit_follows) {
      break;
    }
  }
  if (point) {
    while (out.back() == '0') out.pop_back();
    if (out.back() == '.') out.pop_back();
  }
  return out;
}

class word_problems final : public question_set {
 public:
  word_problems(std::string path, std::vector<user_prompt> problems, mini::chat_format format,
                const gsm8k_options& options)
      : path_{std::move(path)},
        problems_{std::move(problems)},
        format_{format},
        options_{options} {}

  std::size_t count() const override { return problems_.size(); }
  report::configuration configuration() const override {
    return {{"gsm8k", path_},
            {"gsm8k.problems", std::to_string(problems_.size())},
            {"gsm8k.answer_tokens", std::to_string(options_.answer_tokens)},
            {"gsm8k.chat", options_.chat}};
  }

  expected<question> draw(const mini::loaded_model& model, std::size_t i) override {
    const user_prompt& each = problems_[i];
    auto prompt = encode_prompt(each.text + std::string{request_for_mark}, format_, model);
    if (!prompt) return fail(path_, ", problem ", i, ": ", prompt.error());
    question out;
    out.prompt = *std::move(prompt);
    out.kept = out.prompt.size();
    out.most = options_.answer_tokens;
    out.grade = [right = final_number(each.answer)](std::string_view answer) -> mark {
      return {final_number(answer) == right, {}};
    };
    return out;
  }

 private:
  std::string path_;
  std::vector<user_prompt> problems_;
  mini::chat_format format_;
  gsm8k_options options_;
};

}  // namespace

std::string final_number(std::string_view answer) {
  const std::size_t marked = answer.rfind(mark_of_answer);
  const bool first = marked != std::string_view::npos;
  std::string found;
  for (std::size_t at = first ? marked + mark_of_answer.size() : 0; at < answer.size(); ++at) {
    if (!is_digit(answer[at])) continue;
    found = read_number_at(answer, at);
    if (first) break;
  }
  return found;
}

expected<std::unique_ptr<task>> make_gsm8k_task(const std::string& path,
                                                const gsm8k_options& options,
                                                const mini::loaded_model& model) {
  if (path.empty()) return fail("the task gsm8k needs a file of problems");
  const auto format = chat_format_for(options.chat, model);
  if (!format) return format.reason();
  auto problems = read_prompts(path);
  if (!problems) return problems.reason();
  problems->resize(std::min(problems->size(), options.problems));
  for (std::size_t i = 0; i < problems->size(); ++i) {
    if (final_number((*problems)[i].answer).empty()) {
      return fail(path, ": the answer of problem ", i, " has no number");
    }
  }
  return make_question_task(
      "gsm8k", std::make_unique<word_problems>(path, *std::move(problems), *format, options));
}

}  // namespace eval
