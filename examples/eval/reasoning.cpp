// SPDX-License-Identifier: MIT
#include "reasoning.hpp"

#include <string>
#include <utility>
#include <vector>

#include "mini_model/ledger.hpp"

namespace eval {
namespace {

using mini::expected;

class reasoning_trial final : public trial {
 public:
  reasoning_trial(mini::ledger_problem problem, std::vector<mini::token> prompt, std::size_t most)
      : problem_{std::move(problem)}, prompt_{std::move(prompt)}, most_{most} {}

  expected<report::record> run(session& with, const arm& each, std::int32_t budget) override {
    const auto answer = with.generate(each, budget, prompt_, most_);
    if (!answer) return answer.reason();
    const mini::ledger_grade mark =
        mini::grade(problem_, with.model().words.decode(answer->tokens));
    report::record out;
    out.right = mark.right;
    out.capped = answer->capped;
    out.numbers = {{"characters", mark.characters}};
    out.prompt_tokens = static_cast<std::int64_t>(prompt_.size());
    out.generated = static_cast<std::int64_t>(answer->tokens.size());
    add_cost(out, answer->cost);
    return out;
  }

 private:
  mini::ledger_problem problem_;
  std::vector<mini::token> prompt_;
  std::size_t most_;
};

class reasoning_task final : public task {
 public:
  explicit reasoning_task(const reasoning_options& options) : options_{options} {}

  std::string name() const override { return "reasoning"; }
  std::size_t problems() const override { return options_.problems; }
  report::configuration configuration() const override {
    return {{"reasoning.first_seed", std::to_string(options_.first_seed)},
            {"reasoning.steps", std::to_string(options_.steps)},
            {"reasoning.slack", std::to_string(options_.slack)}};
  }

  expected<std::unique_ptr<trial>> prepare(session& with, std::size_t problem) override {
    auto drawn = mini::make_ledger_problem(options_.first_seed + problem, 4, options_.steps);
    if (!drawn) return drawn.reason();
    auto prompt = with.model().words.encode(drawn->prompt);
    if (!prompt) return prompt.reason();
    const std::size_t most = drawn->trace.size() + options_.slack;
    return std::unique_ptr<trial>{
        std::make_unique<reasoning_trial>(*std::move(drawn), *std::move(prompt), most)};
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
  return std::unique_ptr<task>{std::make_unique<reasoning_task>(options)};
}

}  // namespace eval
