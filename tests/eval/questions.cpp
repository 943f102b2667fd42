// SPDX-License-Identifier: MIT

// Are needles where they are said to be, are answers graded by what they say, and is a long prompt
// read under the budget?

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "eval/gsm8k.hpp"
#include "eval/needle.hpp"
#include "eval/question.hpp"
#include "eval/session.hpp"
#include "prose_model.hpp"
#include "shared_model.hpp"

namespace {

using eval_test::prose_model;

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

// The sentences of a text, without the one that holds the needle, and where that was.
std::pair<std::vector<std::string>, std::size_t> sentences_of(const eval::needle_text& from) {
  std::vector<std::string> out;
  std::size_t needle = ~std::size_t{0};
  for (std::size_t at = 0; at < from.text.size();) {
    const std::size_t end = from.text.find('.', at) + 1;
    const std::string sentence = from.text.substr(at, end - at);
    if (sentence.find(from.answer) == std::string::npos) {
      out.push_back(sentence);
    } else {
      needle = out.size();
    }
    at = end + 1;  // the space
  }
  return {out, needle};
}

}  // namespace

TEST_CASE("the number an answer comes to") {
  const std::vector<std::pair<std::string, std::string>> table{
      {"She makes 9 * 2 = $<<9*2=18>>18 a day.\n#### 18", "18"},
      {"#### 1,234,567", "1234567"},
      {"#### -5 degrees", "-5"},
      {"#### $3.50.", "3.5"},
      {"#### 7.00", "7"},
      {"First #### 3, no: #### 4 and not 5", "4"},
      {"The answer is 42.", "42"},
      {"12-5=7", "7"},
      {"so 12-5", "5"},
      {"from 3, 4 remain", "4"},
      {"it costs $ -8", "-8"},
      {"0.50", "0.5"},
      {"1.2.3", "3"},
      {"none at all", ""},
      {"10 #### nothing", ""},
      {"", ""},
  };
  for (const auto& row : table) {
    CAPTURE(row.first);
    CHECK(eval::final_number(row.first) == row.second);
  }
}

TEST_CASE("a needle is once in its text, at its depth, among the same sentences") {
  const eval::needle_text reference = eval::make_needle_text(5, 21, 0.0);
  const auto sentences = sentences_of(reference).first;
  CHECK(sentences.size() == 20);
  CHECK(reference.answer.size() == 5);
  for (const double depth : {0.0, 0.25, 0.5, 0.77, 1.0}) {
    CAPTURE(depth);
    const eval::needle_text each = eval::make_needle_text(5, 21, depth);
    CHECK(each.answer == reference.answer);
    CHECK(each.question == reference.question);
    CHECK(each.question.find(each.answer) == std::string::npos);
    CHECK(occurrences(each.text, each.answer) == 1);
    const auto found = sentences_of(each);
    CHECK(found.first == sentences);
    CHECK(static_cast<double>(found.second) == doctest::Approx(depth * 20).epsilon(0.03));
  }
  CHECK(eval::make_needle_text(6, 21, 0.5).text != eval::make_needle_text(5, 21, 0.5).text);
}

TEST_CASE("needle questions are spread over all depths and graded by the number") {
  auto task = eval::make_needle_task(
      {.problems = 4, .text_tokens = 900, .kept_tokens = 24, .answer_tokens = 6}, prose_model());
  REQUIRE_MESSAGE(bool(task), task.error());
  CHECK((*task)->name() == "needle");
  CHECK((*task)->problems() == 4);
  eval::session with{prose_model()};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto trial = (*task)->prepare(with, i);
    REQUIRE_MESSAGE(bool(trial), trial.error());
    const auto record = (*trial)->run(with, {"random", "random", "tau=16 recent=8"}, 200);
    REQUIRE_MESSAGE(bool(record), record.error());
    CHECK(report::number_of(*record, "depth") == (static_cast<double>(i) + 0.5) / 4);
    CHECK(record->graded);
    CHECK_FALSE(record->right);  // the weights are random
    CHECK(record->generated == 6);
    CHECK(record->capped);
    CHECK(record->prompt_tokens > 850);
    CHECK(record->prompt_tokens < 1100);
    // The text went through the cache under the budget.
    CHECK(record->peak_tokens <= 200 + 16);
    CHECK(record->peak_tokens > 190);
  }
  const auto full = (*task)->prepare(with, 0);
  REQUIRE(bool(full));
  const auto record = (*full)->run(with, {"full", "none", ""}, 0);
  REQUIRE(bool(record));
  CHECK(record->peak_tokens >= record->prompt_tokens);
}

TEST_CASE("a prompt read as text goes through the evictions of a forced text") {
  eval::session with{eval_test::shipped()};
  const std::vector<mini::token> prompt = eval_test::ledger_prompt(7, 12);
  constexpr std::size_t kept = 16;
  const auto given = std::span{prompt};
  for (const eval::arm& each : eval_test::short_arms()) {
    CAPTURE(each.name);
    const auto answer = with.generate(each, 40, {.prompt = prompt, .kept = kept, .most = 1});
    REQUIRE_MESSAGE(bool(answer), answer.error());
    REQUIRE(answer->tokens.size() == 1);
    if (each.preset != "lag-kv") CHECK(answer->cost.peak_tokens <= 40 + 8);
    // The same tokens forced, with the answer behind them.
    std::vector<mini::token> text(given.begin() + kept, given.end());
    text.push_back(answer->tokens.front());
    mini::token likeliest = -1;
    const auto cost = with.force(
        each, 40, given.first(kept), text,
        [&](std::size_t, std::span<const float> logits) { likeliest = mini::argmax(logits); });
    REQUIRE_MESSAGE(bool(cost), cost.error());
    CHECK(likeliest == answer->tokens.front());
  }
}

TEST_CASE("a word problem is asked in the model's chat form and graded by its number") {
  const mini_test::scratch_folder folder{"gsm8k"};
  const std::string lines =
      "{\"question\": \"How many?\", \"answer\": \"2+2=4\\n#### 4\"}\n\n"
      "{\"question\": \"And now?\", \"answer\": \"#### 1,000\"}\n"
      "{\"question\": \"Third\", \"answer\": \"#### 1\"}\n";
  const std::string path = folder.write("some.jsonl", lines.data(), lines.size());
  auto task = eval::make_gsm8k_task(path, {.problems = 2, .answer_tokens = 5}, prose_model());
  REQUIRE_MESSAGE(bool(task), task.error());
  CHECK((*task)->problems() == 2);
  eval::session with{prose_model()};
  const auto trial = (*task)->prepare(with, 1);
  REQUIRE(bool(trial));
  const auto record = (*trial)->run(with, {"full", "none", ""}, 0);
  REQUIRE(bool(record));
  CHECK_FALSE(record->right);
  CHECK(record->generated == 5);
  const std::string asked =
      "<|im_start|>user\nAnd now?\n\nSolve the problem step by step. End with a line \"#### \" and "
      "the number.<|im_end|>\n<|im_start|>assistant\n";
  // Each mark is one token.
  CHECK(record->prompt_tokens == static_cast<std::int64_t>(asked.size() - 2 * 11 - 9));

  const std::string wrong = "{\"question\": \"How many?\", \"answer\": \"no idea\"}\n";
  const std::string other = folder.write("wrong.jsonl", wrong.data(), wrong.size());
  const auto refused = eval::make_gsm8k_task(other, {}, prose_model());
  REQUIRE_FALSE(bool(refused));
  CHECK(refused.error().find("problem 0 has no number") != std::string::npos);
  CHECK_FALSE(bool(eval::make_gsm8k_task("", {}, prose_model())));
  CHECK_FALSE(bool(eval::make_gsm8k_task(path, {.chat = "morse"}, prose_model())));
}

TEST_CASE("a model that cannot spell the needle's sentences is refused") {
  const auto refused = eval::make_needle_task({}, eval_test::shipped());
  REQUIRE_FALSE(bool(refused));
  CHECK(refused.error().find("cannot read a text with a needle") != std::string::npos);
  const auto short_text = eval::make_needle_task({.text_tokens = 20}, prose_model());
  REQUIRE_FALSE(bool(short_text));
  CHECK(short_text.error().find("20 tokens") != std::string::npos);
}
