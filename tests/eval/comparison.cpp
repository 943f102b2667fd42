// SPDX-License-Identifier: MIT

// Does epikv-mini do what it is asked, and say in a sentence what it cannot do?

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "comparison/arguments.hpp"
#include "mini_model/ledger.hpp"
#include "model/program.hpp"
#include "model/shipped.hpp"
#include "model/tiny_llama.hpp"

namespace {

using mini_test::program_result;
using mini_test::shipped_path;

program_result run_mini(const std::vector<std::string>& arguments) {
  return mini_test::run_program(EPIKV_MINI_EXECUTABLE, arguments);
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Exit status 2, one sentence with `parts` on stderr, nothing on stdout.
void check_complains(const std::vector<std::string>& arguments,
                     const std::vector<std::string>& parts) {
  const program_result result = run_mini(arguments);
  CAPTURE(result.err);
  CHECK(result.exit_status == 2);
  CHECK(result.out == "");
  CHECK(result.err.rfind("epikv-mini: ", 0) == 0);
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  for (const std::string& part : parts) {
    CHECK_MESSAGE(contains(result.err, part), part);
    // A path is named once.
    if (part[0] == '/') CHECK(result.err.find(part) == result.err.rfind(part));
  }
}

}  // namespace

TEST_CASE("the command line is read word by word") {
  const auto read = [](const std::vector<std::string_view>& words) {
    return comparison::parse_arguments(words);
  };
  const auto plain = read({});
  REQUIRE(bool(plain));
  CHECK(plain->weights.empty());
  CHECK(plain->budgets == std::vector<std::int32_t>{200, 140});
  CHECK(plain->problems == 40);
  CHECK(plain->steps == 12);
  CHECK(plain->seed == 1'000'000);
  CHECK(plain->preset.empty());
  CHECK(!plain->help);
  const auto all =
      read({"--problems", "3", "--budgets", "7,1048576,1", "--steps", "20", "--seed",
            "9223372036854775807", "--preset", "p", "--settings", "a=1 b=2", "--weights", "w"});
  REQUIRE_MESSAGE(bool(all), all.error());
  CHECK(all->problems == 3);
  CHECK(all->budgets == std::vector<std::int32_t>{7, 1048576, 1});
  CHECK(all->steps == 20);
  CHECK(all->seed == 9223372036854775807u);
  CHECK(all->preset == "p");
  CHECK(all->settings == "a=1 b=2");
  CHECK(all->weights == "w");
  CHECK(read({"--problems", "3", "--problems", "4"})->problems == 4);
  CHECK(read({"-h", "--nonsense"})->help);

  const std::map<std::string, std::vector<std::string>> bad{
      {"--problems",
       {"0", "-1", "x", "1x", "", " 1", "+1", "1.5", "1000001", "99999999999999999999"}},
      {"--steps", {"0", "21", "-3", "x", ""}},
      {"--seed", {"-1", "x", "", "9223372036854775808", "18446744073709551616"}},
      {"--budgets",
       {"0", "-5", "", "x", "200,", ",200", "200,,140", "200, 140", "16777217", "200;140",
        "200,140,200", "4294967496"}}};
  for (const auto& each : bad) {
    const std::string& name = each.first;
    for (const std::string& value : each.second) {
      const auto refused = read({name, value});
      CAPTURE(name);
      CAPTURE(value);
      REQUIRE(!refused);
      CHECK(refused.error() == name + " cannot be '" + value + "'; --help says what it takes");
    }
  }
  for (const char* name :
       {"--problems", "--budgets", "--steps", "--seed", "--preset", "--settings", "--weights"}) {
    CHECK(contains(read({name}).error(), std::string{name} + " needs a value"));
    CHECK(contains(comparison::usage(), name));
  }
  for (const char* word : {"--problem", "problems", "-p", "", "--", "--problems=3"}) {
    CHECK(contains(read({word}).error(), "unknown option '" + std::string{word} + "'"));
  }
  CHECK(read({"--settings", "a=1"}).error() == "--settings needs --preset");
}

TEST_CASE("epikv-mini prints a line for the full cache and one for each preset") {
  const program_result result = run_mini({"--problems", "1", "--budgets", "200"});
  REQUIRE_MESSAGE(result.exit_status == 0, result.err);
  CHECK(result.err == "");
  const std::vector<std::string> labels{"none (full cache)",
                                        "streaming, prompt kept",
                                        "random",
                                        "random-head",
                                        "epikv-q",
                                        "epikv-seg, default bands",
                                        "epikv-flat, default bands",
                                        "epikv-q add, fitted bands",
                                        "epikv-seg, fitted bands",
                                        "calibrated"};
  std::size_t found = 0;
  std::istringstream in{result.out};
  for (std::string line; std::getline(in, line);) {
    if (found == labels.size() || line.rfind(labels[found] + "  ", 0) != 0) continue;
    CAPTURE(line);
    std::istringstream columns{line.substr(labels[found].size())};
    std::string budget, accuracy, characters, ratio;
    std::size_t tokens = 0;
    double kib = 0;
    double speed = 0;
    columns >> budget >> tokens >> kib >> accuracy >> characters >> speed >> ratio;
    REQUIRE(!columns.fail());
    CHECK(speed > 0);
    CHECK(accuracy.back() == '%');
    CHECK(characters.back() == '%');
    CHECK(ratio.back() == 'x');
    CHECK(kib == doctest::Approx(static_cast<double>(tokens) * 1.5).epsilon(0.001));
    if (found == 0) {
      CHECK(budget == "-");
      CHECK(tokens == 546);
      CHECK(accuracy == "100.0%");
      CHECK(characters == "100.0%");
      CHECK(ratio == "1.00x");
    } else {
      CHECK(budget == "200");
      CHECK(tokens <= 216);
      CHECK((accuracy == "0.0%" || accuracy == "100.0%"));
    }
    ++found;
  }
  CHECK(found == labels.size());
  // The problem and the full cache's answer to it are shown.
  const auto problem = mini::make_ledger_problem(1'000'000);
  REQUIRE(bool(problem));
  CHECK(contains(result.out, problem->prompt));
  CHECK(contains(result.out, problem->trace));
}

TEST_CASE("epikv-mini compares a single preset at every budget asked for") {
  const program_result result =
      run_mini({"--problems", "2", "--steps", "2", "--seed", "77", "--budgets", "60,50,40",
                "--preset", "epikv-flat", "--settings", "tau=4 recent=8"});
  REQUIRE_MESSAGE(result.exit_status == 0, result.err);
  std::vector<std::string> budgets;
  std::istringstream in{result.out};
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("epikv-flat ", 0) != 0) continue;
    std::istringstream columns{line.substr(10)};
    std::string budget;
    std::size_t tokens = 0;
    columns >> budget >> tokens;
    CHECK(tokens <= static_cast<std::size_t>(std::stoi(budget)) + 4);
    budgets.push_back(budget);
  }
  CHECK(budgets == std::vector<std::string>{"60", "50", "40"});
  CHECK(!contains(result.out, "streaming"));
}

TEST_CASE("epikv-mini --help prints how to use it and nothing else") {
  for (const char* word : {"--help", "-h"}) {
    const program_result result = run_mini({word});
    CHECK(result.exit_status == 0);
    CHECK(result.err == "");
    CHECK(result.out == comparison::usage());
  }
}

TEST_CASE("epikv-mini complains of a command line it does not understand") {
  check_complains({"--nonsense"}, {"unknown option '--nonsense'", "--help"});
  check_complains({"budgets"}, {"unknown option 'budgets'"});
  check_complains({"--problems"}, {"--problems needs a value"});
  check_complains({"--problems", "none"}, {"--problems cannot be 'none'"});
  check_complains({"--problems", "1", "--budgets", "200,0"}, {"--budgets cannot be '200,0'"});
  check_complains({"--steps", "21"}, {"--steps cannot be '21'"});
  check_complains({"--seed", "-1"}, {"--seed cannot be '-1'"});
  check_complains({"--settings", "tau=4"}, {"--settings needs --preset"});
}

TEST_CASE("epikv-mini complains of a preset or a setting it does not know before it computes") {
  check_complains({"--preset", "no-such-preset"}, {"no-such-preset"});
  check_complains({"--preset", "epikv-flat", "--settings", "speed=9"}, {"epikv-flat", "speed"});
  check_complains({"--preset", "epikv-flat", "--settings", "tau=much"}, {"tau", "much"});
  check_complains({"--preset", "none", "--settings", "speed=9"}, {"none", "speed"});
}

TEST_CASE("epikv-mini complains of weights that are missing, damaged or of another task") {
  const mini_test::scratch_folder folder{"generation"};
  check_complains({"--weights", folder.file("absent.gguf")},
                  {folder.file("absent.gguf"), "is not a file"});
  check_complains({"--weights", folder.path()}, {"is not a file"});
  const std::string text = folder.write("text.gguf", "hello, world", 12);
  check_complains({"--weights", text}, {text, "not a GGUF file"});

  const std::string whole = mini_test::text_of(shipped_path);
  REQUIRE(whole.size() > 1000);
  for (const std::size_t size : {std::size_t{0}, std::size_t{700}, whole.size() - 1}) {
    const std::string cut = folder.write("cut.gguf", whole.data(), size);
    check_complains({"--weights", cut}, {cut});
  }
  std::string other = whole;
  const std::size_t at = other.find("llama");  // the architecture's value comes first
  REQUIRE(at != std::string::npos);
  other.replace(at, 5, "mamba");
  const std::string renamed = folder.write("mamba.gguf", other.data(), other.size());
  check_complains({"--weights", renamed}, {renamed, "'mamba'", "only llama, qwen2 and qwen3"});

  // A model that works and cannot read a ledger.
  const auto tiny = mini_test::llama_file().build();
  const std::string letters = folder.write("letters.gguf", tiny.data(), tiny.size());
  check_complains({"--weights", letters, "--problems", "1"},
                  {letters, "cannot read reasoning problems", "the vocabulary has no character"});
}
