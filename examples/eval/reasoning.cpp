// SPDX-License-Identifier: MIT
#include "reasoning.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "mini_model/ledger.hpp"
#include "question.hpp"

namespace eval {
namespace {

using mini::expected;

class ledger_questions final : public question_set {
 public:
  explicit ledger_questions(const reasoning_options& options) : options_{options} {}

  std::size_t count() const override { return options_.problems; }
  report::configuration configuration() const override {
    return {{"reasoning.first_seed", std::to_string(options_.first_seed)},
            {"reasoning.steps", std::to_string(options_.steps)},
            {"reasoning.slack", std::to_string(options_.slack)}};
  }

  expected<question> draw(const mini::loaded_model& model, std::size_t i) override {
    auto drawn = mini::make_ledger_problem(options_.first_seed + i, 4, options_.steps);
    if (!drawn) return drawn.reason();
    auto prompt = model.words.encode(drawn->prompt);
    if (!prompt) return prompt.reason();
    question out;
    out.prompt = *std::move(prompt);
    out.kept = out.prompt.size();
    out.most = drawn->trace.size() + options_.slack;
    out.grade = [problem = *std::move(drawn)](std::string_view answer) -> mark {
      const mini::ledger_grade given = mini::grade(problem, answer);
      return {given.right, {{"characters", given.characters}}};
    };
    return out;
  }

 private:
  reasoning_options options_;
};

}  // namespace

expected<std::unique_ptr<task>> make_reasoning_task(const reasoning_options& options,
                                                    const mini::loaded_model& model) {
  const auto first = mini::make_ledger_problem(options.first_seed, 4, options.steps);
  if (!first) return first.reason();
  if (const auto prompt = model.words.encode(first->prompt); !prompt) {
    return mini::fail("the model cannot read reasoning problems: ", prompt.error());
  }
  return make_question_task("reasoning", std::make_unique<ledger_questions>(options));
}

}  // namespace eval
