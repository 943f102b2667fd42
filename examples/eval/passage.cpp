// SPDX-License-Identifier: MIT
#include "passage.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <span>
#include <utility>

#include "mini_model/ledger.hpp"
#include "prompts.hpp"

namespace eval {
namespace {

using mini::expected;
using mini::fail;

// A prompt with what the model itself says to it.
expected<passage> answered(session& with, std::vector<mini::token> prompt, std::size_t most) {
  auto answer = with.generate({"full", "none", ""}, 0, {.prompt = prompt, .most = most});
  if (!answer) return answer.reason();
  return passage{std::move(prompt), std::move(answer->tokens)};
}

class ledger_source final : public passage_source {
 public:
  ledger_source(std::uint64_t first_seed, std::size_t count, std::size_t steps)
      : first_seed_{first_seed}, count_{count}, steps_{steps} {}

  std::size_t count() const override { return count_; }
  report::configuration configuration() const override {
    return {{"passages", "ledger"},
            {"passages.first_seed", std::to_string(first_seed_)},
            {"passages.steps", std::to_string(steps_)}};
  }

  expected<std::vector<mini::token>> prompt(const mini::loaded_model& model,
                                            std::size_t i) override {
    const auto problem = problem_at(i);
    if (!problem) return problem.reason();
    return model.words.encode(problem->prompt);
  }

  expected<passage> draw(session& with, std::size_t i) override {
    const auto problem = problem_at(i);
    if (!problem) return problem.reason();
    auto prompt = with.model().words.encode(problem->prompt);
    if (!prompt) return prompt.reason();
    return answered(with, *std::move(prompt), problem->trace.size());
  }

 private:
  expected<mini::ledger_problem> problem_at(std::size_t i) const {
    return mini::make_ledger_problem(first_seed_ + i, 4, steps_);
  }

  std::uint64_t first_seed_;
  std::size_t count_;
  std::size_t steps_;
};

class prompt_source final : public passage_source {
 public:
  prompt_source(const passage_options& options, std::vector<std::string> prompts,
                mini::chat_format format)
      : options_{options}, prompts_{std::move(prompts)}, format_{format} {}

  std::size_t count() const override { return prompts_.size(); }
  report::configuration configuration() const override {
    return {{"passages", options_.prompts.empty() ? "everyday prompts" : options_.prompts},
            {"passages.chat", options_.chat},
            {"passages.answer", std::to_string(options_.answer_tokens)}};
  }

  expected<std::vector<mini::token>> prompt(const mini::loaded_model& model,
                                            std::size_t i) override {
    auto tokens = encode_prompt(prompts_[i], format_, model);
    if (!tokens) return fail("prompt ", i, ": ", tokens.error());
    return tokens;
  }

  expected<passage> draw(session& with, std::size_t i) override {
    auto tokens = prompt(with.model(), i);
    if (!tokens) return tokens.reason();
    return answered(with, *std::move(tokens), options_.answer_tokens);
  }

 private:
  passage_options options_;
  std::vector<std::string> prompts_;
  mini::chat_format format_;
};

class text_source final : public passage_source {
 public:
  text_source(const passage_options& options, std::vector<mini::token> tokens)
      : options_{options}, tokens_{std::move(tokens)} {}

  std::size_t count() const override {
    return std::min(options_.at_most,
                    tokens_.size() / (options_.prompt_tokens + options_.text_tokens));
  }
  report::configuration configuration() const override {
    return {{"passages", options_.text},
            {"passages.tokens", std::to_string(tokens_.size())},
            {"passages.prompt", std::to_string(options_.prompt_tokens)},
            {"passages.text", std::to_string(options_.text_tokens)}};
  }

  expected<std::vector<mini::token>> prompt(const mini::loaded_model&, std::size_t i) override {
    return cut(begin_of(i), options_.prompt_tokens);
  }

  expected<passage> draw(session&, std::size_t i) override {
    return passage{cut(begin_of(i), options_.prompt_tokens),
                   cut(begin_of(i) + options_.prompt_tokens, options_.text_tokens)};
  }

 private:
  std::size_t begin_of(std::size_t i) const noexcept {
    return i * (options_.prompt_tokens + options_.text_tokens);
  }
  std::vector<mini::token> cut(std::size_t begin, std::size_t count) const {
    const auto part = std::span{tokens_}.subspan(begin, count);
    return {part.begin(), part.end()};
  }

  passage_options options_;
  std::vector<mini::token> tokens_;
};

expected<std::unique_ptr<passage_source>> text_passages(const passage_options& options,
                                                        const mini::loaded_model& model) {
  std::ifstream in{options.text, std::ios::binary};
  if (!in) return fail(options.text, " cannot be read");
  const std::string text{std::istreambuf_iterator<char>{in}, {}};
  auto tokens = model.words.encode(text);
  if (!tokens) return fail(options.text, ": ", tokens.error());
  if (options.prompt_tokens == 0 || options.text_tokens == 0) {
    return fail("a passage needs a token of prompt and of text");
  }
  auto out = std::make_unique<text_source>(options, *std::move(tokens));
  if (out->count() == 0) {
    return fail(options.text, " has fewer than the ", options.prompt_tokens + options.text_tokens,
                " tokens of a passage");
  }
  return std::unique_ptr<passage_source>{std::move(out)};
}

}  // namespace

expected<std::unique_ptr<passage_source>> make_passages(const passage_options& options,
                                                        const mini::loaded_model& model) {
  if (!options.text.empty()) return text_passages(options, model);
  std::vector<std::string> prompts;
  if (options.prompts.empty()) {
    for (const std::string_view each : everyday_prompts()) prompts.emplace_back(each);
    if (!model.words.encode(prompts.front())) {
      return std::unique_ptr<passage_source>{
          std::make_unique<ledger_source>(options.first_seed, options.at_most, options.steps)};
    }
  } else {
    auto read = read_prompts(options.prompts);
    if (!read) return read.reason();
    for (user_prompt& each : *read) prompts.push_back(std::move(each.text));
  }
  prompts.resize(std::min(prompts.size(), options.at_most));
  const auto format = chat_format_for(options.chat, model);
  if (!format) return format.reason();
  return std::unique_ptr<passage_source>{
      std::make_unique<prompt_source>(options, std::move(prompts), *format)};
}

}  // namespace eval
