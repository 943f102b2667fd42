// SPDX-License-Identifier: MIT
#include "question.hpp"

#include <cstdint>
#include <utility>

namespace eval {
namespace {

using mini::expected;

class question_trial final : public trial {
 public:
  explicit question_trial(question asked) : asked_{std::move(asked)} {}

  expected<report::record> run(session& with, const arm& each, std::int32_t budget) override {
    const auto answer = with.generate(each, budget, {asked_.prompt, asked_.kept, asked_.most});
    if (!answer) return answer.reason();
    mark given = asked_.grade(with.model().words.decode(answer->tokens));
    report::record out;
    out.right = given.right;
    out.capped = answer->capped;
    out.numbers = std::move(given.numbers);
    out.prompt_tokens = static_cast<std::int64_t>(asked_.prompt.size());
    out.generated = static_cast<std::int64_t>(answer->tokens.size());
    add_cost(out, answer->cost);
    return out;
  }

 private:
  question asked_;
};

class question_task final : public task {
 public:
  question_task(std::string name, std::unique_ptr<question_set> questions)
      : name_{std::move(name)}, questions_{std::move(questions)} {}

  std::string name() const override { return name_; }
  std::size_t problems() const override { return questions_->count(); }
  report::configuration configuration() const override { return questions_->configuration(); }

  expected<std::unique_ptr<trial>> prepare(session& with, std::size_t problem) override {
    auto asked = questions_->draw(with.model(), problem);
    if (!asked) return asked.reason();
    return std::unique_ptr<trial>{std::make_unique<question_trial>(*std::move(asked))};
  }

 private:
  std::string name_;
  std::unique_ptr<question_set> questions_;
};

}  // namespace

std::unique_ptr<task> make_question_task(std::string name,
                                         std::unique_ptr<question_set> questions) {
  return std::make_unique<question_task>(std::move(name), std::move(questions));
}

}  // namespace eval
