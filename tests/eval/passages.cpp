// SPDX-License-Identifier: MIT

// Do prompts come out of files as they are written, and passages from where they are asked for?

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "eval/passage.hpp"
#include "eval/prompts.hpp"
#include "prose_model.hpp"
#include "shared_model.hpp"

namespace {

using eval_test::prose_model;
using eval_test::shipped;

std::string write(const mini_test::scratch_folder& to, const std::string& name,
                  const std::string& text) {
  return to.write(name, text.data(), text.size());
}

eval::passage draw(const eval::passage_options& options, const mini::loaded_model& model,
                   std::size_t i) {
  const auto source = eval::make_passages(options, model);
  REQUIRE_MESSAGE(bool(source), source.error());
  eval::session with{model};
  auto drawn = (*source)->draw(with, i);
  REQUIRE_MESSAGE(bool(drawn), drawn.error());
  return *std::move(drawn);
}

}  // namespace

TEST_CASE("prompts of a text file are its lines, of JSON lines their questions") {
  const mini_test::scratch_folder folder{"prompts"};
  const auto lines = eval::read_prompts(write(folder, "a.txt", "One?\r\n\n  \n Two {}\nThree"));
  REQUIRE_MESSAGE(bool(lines), lines.error());
  REQUIRE(lines->size() == 3);
  CHECK((*lines)[0].text == "One?");
  CHECK((*lines)[1].text == " Two {}");
  CHECK((*lines)[2].answer.empty());

  const auto objects = eval::read_prompts(
      write(folder, "a.jsonl",
            "{\"question\": \"Q\", \"answer\": \"A\", \"level\": 3}\n{\"problem\": \"P \\u00e9\"}\n"
            "{\"prompt\": \"R\", \"answer\": 4}\n"));
  REQUIRE_MESSAGE(bool(objects), objects.error());
  REQUIRE(objects->size() == 3);
  CHECK((*objects)[0].text == "Q");
  CHECK((*objects)[0].answer == "A");
  CHECK((*objects)[1].text == "P \u00e9");
  CHECK((*objects)[2].text == "R");
  CHECK((*objects)[2].answer.empty());

  for (const char* bad :
       {"{\"question\": \"Q\"}\n{\"answer\": \"no\"}", "{\"question\": \"Q\"}\n[1]",
        "{\"question\": \"Q\"}\n{\"question\": ", "{\"question\": \"Q\"}\n{\"question\": 3}"}) {
    CAPTURE(bad);
    const auto refused = eval::read_prompts(write(folder, "bad.jsonl", bad));
    REQUIRE_FALSE(bool(refused));
    CHECK(refused.error().find("bad.jsonl, line 2: ") != std::string::npos);
  }
  CHECK_FALSE(bool(eval::read_prompts(write(folder, "empty.txt", "\n\n"))));
  CHECK_FALSE(bool(eval::read_prompts(folder.file("none.txt"))));
}

TEST_CASE("everyday prompts are sixteen different ones, and a passage is the model's answer") {
  const auto all = eval::everyday_prompts();
  CHECK(std::set<std::string_view>(all.begin(), all.end()).size() == 16);
  const eval::passage drawn = draw({.at_most = 3, .answer_tokens = 12}, prose_model(), 2);
  CHECK(prose_model().words.decode(drawn.prompt) ==
        "<|im_start|>user\n" + std::string{all[2]} + "<|im_end|>\n<|im_start|>assistant\n");
  CHECK(drawn.text.size() > 1);
  CHECK(drawn.text.size() <= 12);
  eval::session with{prose_model()};
  const auto again = with.generate({"full", "none", ""}, 0, {.prompt = drawn.prompt, .most = 12});
  REQUIRE(bool(again));
  CHECK(again->tokens == drawn.text);
  // Another form on request.
  const eval::passage plain =
      draw({.chat = "none", .at_most = 3, .answer_tokens = 2}, prose_model(), 2);
  CHECK(prose_model().words.decode(plain.prompt) == all[2]);
}

TEST_CASE("passages answer the prompts of a file, at most as many as asked for") {
  const mini_test::scratch_folder folder{"passages"};
  const std::string path = write(folder, "p.txt", "a3;b7;e=a+b;?e#\na1;b2;e=a-b;?e#\n");
  const auto source = eval::make_passages({.prompts = path, .chat = "none"}, shipped());
  REQUIRE_MESSAGE(bool(source), source.error());
  CHECK((*source)->count() == 2);
  const eval::passage drawn = draw({.prompts = path, .chat = "none"}, shipped(), 0);
  CHECK(shipped().words.decode(drawn.prompt) == "a3;b7;e=a+b;?e#");
  CHECK(drawn.text.back() == shipped().words.eos());
  const auto one = eval::make_passages({.prompts = path, .at_most = 1}, shipped());
  REQUIRE(bool(one));
  CHECK((*one)->count() == 1);
}

TEST_CASE("a model that cannot spell prose answers ledger problems") {
  const eval::passage drawn = draw({.first_seed = 40, .steps = 3}, shipped(), 2);
  CHECK(drawn.prompt == eval_test::ledger_prompt(42, 3));
  CHECK(drawn.text.size() > 100);
}

TEST_CASE("passages of a text follow each other") {
  const mini_test::scratch_folder folder{"text"};
  std::string text;
  for (int i = 0; i < 100; ++i) text += static_cast<char>('a' + i % 26);
  const std::string path = write(folder, "t.txt", text);
  const eval::passage_options options{
      .text = path, .at_most = 9, .prompt_tokens = 10, .text_tokens = 20};
  const auto source = eval::make_passages(options, prose_model());
  REQUIRE_MESSAGE(bool(source), source.error());
  CHECK((*source)->count() == 3);
  const eval::passage second = draw(options, prose_model(), 1);
  CHECK(prose_model().words.decode(second.prompt) == text.substr(30, 10));
  CHECK(prose_model().words.decode(second.text) == text.substr(40, 20));
  eval::passage_options longer = options;
  longer.text_tokens = 91;
  const auto refused = eval::make_passages(longer, prose_model());
  REQUIRE_FALSE(bool(refused));
  CHECK(refused.error().find("101 tokens") != std::string::npos);
}
