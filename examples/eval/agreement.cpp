// SPDX-License-Identifier: MIT
#include "agreement.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "distribution.hpp"

namespace eval {
namespace {

using mini::expected;

report::record record_of(const passage& given, const run_cost& cost) {
  report::record out;
  out.graded = false;
  out.prompt_tokens = static_cast<std::int64_t>(given.prompt.size());
  out.generated = static_cast<std::int64_t>(given.text.size());
  add_cost(out, cost);
  return out;
}

class agreement_trial final : public trial {
 public:
  agreement_trial(passage given, std::vector<float> reference)
      : given_{std::move(given)}, reference_{std::move(reference)} {}

  expected<report::record> run(session& with, const arm& each, std::int32_t budget) override {
    double kl = 0;
    std::size_t same = 0;
    const auto see = [&](std::size_t i, std::span<const float> logits) {
      const auto full = std::span{reference_}.subspan(i * logits.size(), logits.size());
      kl += divergence(full, logits);
      same += mini::argmax(full) == mini::argmax(logits) ? 1 : 0;
    };
    const auto cost = with.force(each, budget, given_.prompt, given_.text, see);
    if (!cost) return cost.reason();
    const auto count = static_cast<double>(given_.text.size());
    report::record out = record_of(given_, *cost);
    out.numbers = {{"kl", kl / count}, {"same_top", static_cast<double>(same) / count}};
    return out;
  }

 private:
  passage given_;
  std::vector<float> reference_;  // logits of the full cache, [text, vocab]
};

class perplexity_trial final : public trial {
 public:
  explicit perplexity_trial(passage given) : given_{std::move(given)} {}

  expected<report::record> run(session& with, const arm& each, std::int32_t budget) override {
    double total = 0;
    const auto see = [&](std::size_t i, std::span<const float> logits) {
      total += surprise(logits, given_.text[i]);
    };
    const auto cost = with.force(each, budget, given_.prompt, given_.text, see);
    if (!cost) return cost.reason();
    report::record out = record_of(given_, *cost);
    out.numbers = {{"nll", total / static_cast<double>(given_.text.size())}};
    return out;
  }

 private:
  passage given_;
};

class passage_task : public task {
 public:
  passage_task(std::string name, std::unique_ptr<passage_source> source)
      : name_{std::move(name)}, source_{std::move(source)} {}

  std::string name() const override { return name_; }
  std::size_t problems() const override { return source_->count(); }
  report::configuration configuration() const override { return source_->configuration(); }

 protected:
  passage_source& source() noexcept { return *source_; }

 private:
  std::string name_;
  std::unique_ptr<passage_source> source_;
};

class agreement_task final : public passage_task {
 public:
  explicit agreement_task(std::unique_ptr<passage_source> source)
      : passage_task{"agreement", std::move(source)} {}

  expected<std::unique_ptr<trial>> prepare(session& with, std::size_t problem) override {
    auto given = source().draw(with, problem);
    if (!given) return given.reason();
    std::vector<float> reference;
    reference.reserve(given->text.size() * with.model().model.shape.vocab);
    const auto cost = with.force({"full", "none", ""}, 0, given->prompt, given->text,
                                 [&](std::size_t, std::span<const float> logits) {
                                   reference.insert(reference.end(), logits.begin(), logits.end());
                                 });
    if (!cost) return cost.reason();
    return std::unique_ptr<trial>{
        std::make_unique<agreement_trial>(*std::move(given), std::move(reference))};
  }
};

class perplexity_task final : public passage_task {
 public:
  explicit perplexity_task(std::unique_ptr<passage_source> source)
      : passage_task{"perplexity", std::move(source)} {}

  expected<std::unique_ptr<trial>> prepare(session& with, std::size_t problem) override {
    auto given = source().draw(with, problem);
    if (!given) return given.reason();
    return std::unique_ptr<trial>{std::make_unique<perplexity_trial>(*std::move(given))};
  }
};

}  // namespace

std::unique_ptr<task> make_agreement_task(std::unique_ptr<passage_source> source) {
  return std::make_unique<agreement_task>(std::move(source));
}

std::unique_ptr<task> make_perplexity_task(std::unique_ptr<passage_source> source) {
  return std::make_unique<perplexity_task>(std::move(source));
}

}  // namespace eval
