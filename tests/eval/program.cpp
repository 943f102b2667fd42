// SPDX-License-Identifier: MIT

// Do the programs print the same table each time, go on where they were stopped, and say what they
// cannot do?

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "model/program.hpp"

namespace {

using mini_test::program_result;
using mini_test::run_program;
using mini_test::scratch_folder;

// Sanitizers make a problem take seconds.
#if defined(NDEBUG)
const std::vector<std::string> small{"--problems", "3", "--steps", "4", "--budgets", "80,60"};
#else
const std::vector<std::string> small{"--problems", "1", "--steps", "2", "--budgets", "50"};
#endif

program_result evaluate(std::vector<std::string> more) {
  more.insert(more.begin(), small.begin(), small.end());
  return run_program(EPIKV_EVAL_EXECUTABLE, more);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a seeded run repeats, on any number of threads and after an interruption") {
  const scratch_folder folder{"eval"};
  const std::string file = folder.file("results.jsonl");
  const program_result once = evaluate({"--jobs", "1"});
  REQUIRE_MESSAGE(once.exit_status == 0, once.err);
  CHECK(contains(once.out, "calibrated"));
  CHECK(contains(once.out, "random-head"));
  CHECK(evaluate({"--jobs", "3", "--out", file}).out == once.out);

  // Half of the file, cut within a line.
  const std::string whole = mini_test::text_of(file);
  folder.write("results.jsonl", whole.data(), whole.size() / 2);
  const program_result again = evaluate({"--jobs", "2", "--out", file});
  REQUIRE_MESSAGE(again.exit_status == 0, again.err);
  CHECK(again.out == once.out);

  // Another configuration must not go on from it.
  const program_result other = evaluate({"--seed", "5", "--out", file});
  CHECK(other.exit_status == 2);
  CHECK(contains(other.err, "first_seed"));
}

TEST_CASE("every report is written") {
  const scratch_folder folder{"reports"};
  const program_result r = evaluate({"--json", folder.file("s.json"), "--csv", folder.file("r.csv"),
                                     "--svg", folder.file("c.svg"), "--view", folder.file("v.html"),
                                     "--task", "reasoning,agreement"});
  REQUIRE_MESSAGE(r.exit_status == 0, r.err);
  CHECK(contains(r.out, "kl"));
  CHECK(contains(r.out, "same_top"));
  CHECK(contains(mini_test::text_of(folder.file("s.json")), "\"epikv-summary\""));
  CHECK(contains(mini_test::text_of(folder.file("r.csv")), "calibrated"));
  CHECK(contains(mini_test::text_of(folder.file("c.svg")), "</svg>"));
  CHECK(contains(mini_test::text_of(folder.file("v.html")), "</html>"));
}

TEST_CASE("a preset that keeps what matters agrees with the full cache, chance does not") {
  const scratch_folder folder{"agreement"};
  const std::string text = "a3;b7;c1;d9;e=a+c;f=e-b;?f#";
  std::string passages;
  for (int i = 0; i < 30; ++i) passages += text;
  const std::string path = folder.write("text", passages.data(), passages.size());
  const program_result r =
      evaluate({"--task", "perplexity,agreement", "--text", path, "--prompt-tokens", "16",
                "--text-tokens", "120", "--presets", "random", "--calibrated", "none"});
  REQUIRE_MESSAGE(r.exit_status == 0, r.err);
  CHECK(contains(r.out, "nll"));
  CHECK_FALSE(contains(r.out, "accuracy"));  // nothing is right or wrong here
}

TEST_CASE("what epikv-eval is asked and cannot do is one line and status 2") {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong{
      {{"--problem", "3"}, "unknown option '--problem'"},
      {{"--problems"}, "--problems needs a value"},
      {{"--problems", "0"}, "--problems cannot be '0'"},
      {{"--problems", "3x"}, "--problems cannot be '3x'"},
      {{"--budgets", "80,,60"}, "--budgets cannot be '80,,60'"},
      {{"--budgets", "80,80"}, "--budgets cannot be '80,80'"},
      {{"--steps", "99"}, "--steps cannot be '99'"},
      {{"--task", "dancing"}, "no task 'dancing'"},
      {{"--task", "reasoning,reasoning"}, "given twice"},
      {{"--task", "needle"}, "cannot read a text with a needle"},
      {{"--task", "gsm8k"}, "needs a file of problems"},
      {{"--task", "agreement", "--prompts", "/no/such.txt"}, "/no/such.txt"},
      {{"--task", "agreement", "--chat", "morse", "--prompts", EPIKV_SOURCE_DIR "/LICENSE"},
       "'morse' is not known"},
      {{"--presets", "epikv-x"}, "'epikv-x' is no preset"},
      {{"--arm", "random tau=0"}, "tau"},
      {{"--arm", "random", "--arm", "random seed=2"}, "two arms are called 'random'"},
      {{"--settings", "tao=3"}, "no preset has the setting 'tao'"},
      {{"--calibrated", "/no/such.preset"}, "/no/such.preset"},
      {{"--model", "/no/such.gguf"}, "/no/such.gguf"},
      {{"--text", "/no/such.txt", "--task", "perplexity"}, "/no/such.txt"},
      {{"--json", "/no/such/folder/s.json"}, "cannot be written"},
  };
  for (const auto& each : wrong) {
    CAPTURE(each.second);
    const program_result r = evaluate(each.first);
    CHECK(r.exit_status == 2);
    CHECK_MESSAGE(contains(r.err, "epikv-eval: "), r.err);
    CHECK_MESSAGE(contains(r.err, each.second), r.err);
  }
  const program_result help = evaluate({"--help"});
  CHECK(help.exit_status == 0);
  CHECK(contains(help.out, "--calibrated FILE"));
}

#if defined(NDEBUG)
TEST_CASE("epikv-calibrate finds the shipped model's bands and stores what epikv-eval reads") {
  const scratch_folder folder{"calibrate"};
  const std::string preset = folder.file("found.preset");
  const std::vector<std::string> asked{
      "--problems", "2",     "--held-out",         "1",     "--preset-file",
      preset,       "--svg", folder.file("h.svg"), "--out", folder.file("c.jsonl")};
  const program_result r = run_program(EPIKV_CALIBRATE_EXECUTABLE, asked);
  REQUIRE_MESSAGE(r.exit_status == 0, r.err);
  const std::string text = mini_test::text_of(preset);
  CHECK_MESSAGE(contains(text, "band_a=4 band_b=3"), text);
  CHECK(contains(text, "layers=6"));
  CHECK(contains(mini_test::text_of(folder.file("h.svg")), "</svg>"));
  // Again, from its results alone.
  CHECK(run_program(EPIKV_CALIBRATE_EXECUTABLE, asked).out == r.out);

  const program_result used = evaluate({"--calibrated", preset, "--presets", "random"});
  REQUIRE_MESSAGE(used.exit_status == 0, used.err);
  CHECK(contains(used.out, "band_a=4 band_b=3"));

  const program_result wrong = run_program(EPIKV_CALIBRATE_EXECUTABLE, {"--by", "luck"});
  CHECK(wrong.exit_status == 2);
  CHECK(contains(wrong.err, "--by cannot be 'luck'"));
}
#endif
