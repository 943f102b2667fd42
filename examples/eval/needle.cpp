// SPDX-License-Identifier: MIT
#include "needle.hpp"

#include <fmt/format.h>

#include <array>
#include <random>
#include <string_view>
#include <utility>

#include "prompts.hpp"
#include "question.hpp"

namespace eval {
namespace {

using mini::expected;
using mini::fail;

using words = std::array<std::string_view, 12>;
constexpr words names{"Ada",   "Boris", "Clara", "Daniel", "Emma",  "Felix",
                      "Grace", "Henry", "Irene", "Jonas",  "Katya", "Leo"};
constexpr words persons{"The baker",  "A sailor",   "The teacher",  "A young girl",
                        "The doctor", "An old man", "The gardener", "A painter",
                        "The farmer", "A musician", "The postman",  "A carpenter"};
constexpr words deeds{"walked slowly",       "sang a song",           "was reading a book",
                      "waited for a friend", "was looking for a key", "ate an apple",
                      "fed the birds",       "told a story",          "took a picture",
                      "had a cup of tea",    "mended a coat",         "wrote a letter"};
constexpr words places{"near the river", "in the old town", "behind the church", "under a tree",
                       "at the station", "by the window",   "on the bridge",     "in the garden",
                       "at the market",  "beside the mill", "in the library",    "on the hill"};
constexpr words times{"in the morning", "after the rain",   "at noon",       "before sunset",
                      "on Sunday",      "in early spring",  "late at night", "every day",
                      "last winter",    "during the feast", "after dinner",  "when the bells rang"};

// Uniform enough, and the same on every platform, which std distributions are not.
std::string_view pick(const words& from, std::mt19937_64& random) {
  return from[random() % from.size()];
}

class needles final : public question_set {
 public:
  needles(const needle_options& options, mini::chat_format format, std::size_t sentences)
      : options_{options}, format_{format}, sentences_{sentences} {}

  std::size_t count() const override { return options_.problems; }
  report::configuration configuration() const override {
    return {{"needle.first_seed", std::to_string(options_.first_seed)},
            {"needle.problems", std::to_string(options_.problems)},
            {"needle.sentences", std::to_string(sentences_)},
            {"needle.kept_tokens", std::to_string(options_.kept_tokens)},
            {"needle.answer_tokens", std::to_string(options_.answer_tokens)},
            {"needle.chat", options_.chat}};
  }

  expected<question> draw(const mini::loaded_model& model, std::size_t i) override {
    const double depth = (static_cast<double>(i) + 0.5) / static_cast<double>(options_.problems);
    const needle_text drawn = make_needle_text(options_.first_seed + i, sentences_, depth);
    auto prompt = encode_prompt(drawn.text + "\n\n" + drawn.question, format_, model);
    if (!prompt) return prompt.reason();
    question out;
    out.prompt = *std::move(prompt);
    out.kept = options_.kept_tokens;
    out.most = options_.answer_tokens;
    out.grade = [number = drawn.answer, depth](std::string_view answer) -> mark {
      return {answer.find(number) != std::string_view::npos, {{"depth", depth}}};
    };
    return out;
  }

 private:
  needle_options options_;
  mini::chat_format format_;
  std::size_t sentences_;
};

}  // namespace

needle_text make_needle_text(std::uint64_t seed, std::size_t sentences, double depth) {
  std::mt19937_64 random{seed};
  needle_text out;
  const std::string_view name = pick(names, random);
  out.answer = std::to_string(10'000 + random() % 90'000);
  out.question =
      fmt::format("What is the secret number of {}? Answer with the number alone.", name);
  const auto before = static_cast<std::size_t>(depth * static_cast<double>(sentences - 1) + 0.5);
  for (std::size_t i = 0; i < sentences; ++i) {
    if (i > 0) out.text += ' ';
    if (i == before) {
      out.text += fmt::format("The secret number of {} is {}.", name, out.answer);
      continue;
    }
    const std::string_view person = pick(persons, random);
    const std::string_view deed = pick(deeds, random);
    const std::string_view place = pick(places, random);
    out.text += fmt::format("{} {} {} {}.", person, deed, place, pick(times, random));
  }
  return out;
}

expected<std::unique_ptr<task>> make_needle_task(const needle_options& options,
                                                 const mini::loaded_model& model) {
  const auto format = chat_format_for(options.chat, model);
  if (!format) return format.reason();
  // How many sentences are about as long as was asked for.
  constexpr std::size_t sample = 64;
  const auto tokens = model.words.encode(make_needle_text(options.first_seed, sample, 0.5).text);
  if (!tokens) return fail("the model cannot read a text with a needle: ", tokens.error());
  const std::size_t sentences =
      (options.text_tokens * sample + tokens->size() / 2) / tokens->size();
  if (sentences < 3) {
    return fail("a text of ", options.text_tokens, " tokens has no room for a needle");
  }
  return make_question_task("needle", std::make_unique<needles>(options, *format, sentences));
}

}  // namespace eval
