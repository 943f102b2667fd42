// SPDX-License-Identifier: MIT
#include "passage.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "mini_model/ledger.hpp"

namespace eval {
namespace {

using mini::expected;
using mini::fail;

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

  expected<passage> draw(session& with, std::size_t i) override {
    const auto problem = mini::make_ledger_problem(first_seed_ + i, 4, steps_);
    if (!problem) return problem.reason();
    auto prompt = with.model().words.encode(problem->prompt);
    if (!prompt) return prompt.reason();
    auto answer = with.generate({"full", "none", ""}, 0, *prompt, problem->trace.size());
    if (!answer) return answer.reason();
    return passage{*std::move(prompt), std::move(answer->tokens)};
  }

 private:
  std::uint64_t first_seed_;
  std::size_t count_;
  std::size_t steps_;
};

class text_source final : public passage_source {
 public:
  text_source(std::string path, const window_options& options, std::vector<mini::token> tokens)
      : path_{std::move(path)}, options_{options}, tokens_{std::move(tokens)} {}

  std::size_t count() const override {
    return std::min(options_.at_most, tokens_.size() / (options_.prompt + options_.text));
  }
  report::configuration configuration() const override {
    return {{"passages", path_},
            {"passages.tokens", std::to_string(tokens_.size())},
            {"passages.prompt", std::to_string(options_.prompt)},
            {"passages.text", std::to_string(options_.text)}};
  }

  expected<passage> draw(session&, std::size_t i) override {
    const std::size_t begin = i * (options_.prompt + options_.text);
    const auto at = [this](std::size_t n) {
      return tokens_.begin() + static_cast<std::ptrdiff_t>(n);
    };
    const std::size_t middle = begin + options_.prompt;
    return passage{{at(begin), at(middle)}, {at(middle), at(middle + options_.text)}};
  }

 private:
  std::string path_;
  window_options options_;
  std::vector<mini::token> tokens_;
};

}  // namespace

std::unique_ptr<passage_source> ledger_passages(std::uint64_t first_seed, std::size_t count,
                                                std::size_t steps) {
  return std::make_unique<ledger_source>(first_seed, count, steps);
}

expected<std::unique_ptr<passage_source>> text_passages(const std::string& path,
                                                        const window_options& options,
                                                        const mini::loaded_model& model) {
  std::ifstream in{path, std::ios::binary};
  if (!in) return fail(path, " cannot be read");
  const std::string text{std::istreambuf_iterator<char>{in}, {}};
  auto tokens = model.words.encode(text);
  if (!tokens) return fail(path, ": ", tokens.error());
  if (options.prompt == 0 || options.text == 0) {
    return fail("a passage needs a token of prompt and of text");
  }
  auto out = std::make_unique<text_source>(path, options, *std::move(tokens));
  if (out->count() == 0) {
    return fail(path, " has fewer than the ", options.prompt + options.text,
                " tokens of a passage");
  }
  return std::unique_ptr<passage_source>{std::move(out)};
}

}  // namespace eval
