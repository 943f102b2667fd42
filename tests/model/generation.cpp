// SPDX-License-Identifier: MIT

// Does greedy decoding solve the task, does a host stand where it should around the steps, and does
// epikv-mini, run as a program, do what it is asked and say in a sentence what it cannot do?

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "mini_model/arguments.hpp"
#include "mini_model/decoder.hpp"
#include "mini_model/generate.hpp"
#include "mini_model/ledger.hpp"
#include "program.hpp"
#include "shipped.hpp"
#include "tiny_llama.hpp"

namespace {

using mini_test::program_result;
using mini_test::shipped;
using mini_test::shipped_path;

// Sanitizers make a problem take seconds.
#if defined(NDEBUG)
constexpr std::size_t problems = 20;
#else
constexpr std::size_t problems = 3;
#endif

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

std::vector<mini::token> prompt_of(std::uint64_t seed, std::size_t steps, std::string* trace) {
  const auto problem = mini::make_ledger_problem(seed, 4, steps);
  REQUIRE(bool(problem));
  const auto tokens = shipped().words.encode(problem->prompt);
  REQUIRE(bool(tokens));
  *trace = problem->trace;
  return *tokens;
}

// Writes down what happens to it.
struct noting_host {
  struct step {
    std::vector<mini::token> tokens;
    mini::position first;
    std::size_t length_before;
    std::size_t length_after;
    std::size_t layers;
  };
  std::vector<step> steps;
  std::size_t stop_before = ~std::size_t{0};
  std::size_t stop_after = ~std::size_t{0};

  bool before(std::span<const mini::token> tokens, mini::position first, mini::kv_cache& cache) {
    if (steps.size() == stop_before) return false;
    steps.push_back({{tokens.begin(), tokens.end()}, first, cache.length(), 0, 0});
    return true;
  }
  void observe(std::size_t layer, const mini::layer_tap& tap) {
    CHECK(layer == steps.back().layers);
    CHECK(tap.tokens == steps.back().tokens.size());
    ++steps.back().layers;
  }
  bool after(mini::kv_cache& cache) {
    steps.back().length_after = cache.length();
    return steps.size() - 1 != stop_after;
  }
};

}  // namespace

TEST_CASE("with its full cache the shipped model solves held-out problems of 12 steps") {
  mini::decoder engine{shipped().model};
  std::size_t right = 0;
  for (std::size_t i = 0; i < problems; ++i) {
    std::string trace;
    const auto prompt = prompt_of(1'000'000 + i, 12, &trace);
    mini::kv_cache cache{shipped().model.shape, prompt.size() + trace.size()};
    const auto answer = mini::generate(
        engine, cache, prompt,
        {.most_tokens = trace.size(), .eos = shipped().words.eos(), .prompt_chunk = 32});
    REQUIRE_MESSAGE(bool(answer), answer.error());
    const std::string text = shipped().words.decode(*answer);
    right += text == trace ? 1 : 0;  // not the answer alone: every character
    CHECK(text == trace);
    // The last token is returned and not fed to the model.
    CHECK(cache.length() == prompt.size() + answer->size() - 1);
  }
  CHECK(right == problems);
}

TEST_CASE("the prompt may come in chunks, and the answer is the same") {
  std::string trace;
  const auto prompt = prompt_of(11, 2, &trace);
  for (const std::size_t chunk : {0u, 1u, 7u, 26u, 27u, 1000u}) {
    CAPTURE(chunk);
    mini::decoder engine{shipped().model};
    mini::kv_cache cache{shipped().model.shape, prompt.size() + trace.size()};
    noting_host host;
    const auto answer = mini::generate(
        engine, cache, prompt,
        {.most_tokens = trace.size(), .eos = shipped().words.eos(), .prompt_chunk = chunk}, host);
    REQUIRE_MESSAGE(bool(answer), answer.error());
    CHECK(shipped().words.decode(*answer) == trace);

    // The steps are the prompt's chunks and then each token but the last, in order.
    std::vector<mini::token> fed;
    for (const auto& step : host.steps) {
      CHECK(step.first == static_cast<mini::position>(fed.size()));
      CHECK(step.length_before == fed.size());
      fed.insert(fed.end(), step.tokens.begin(), step.tokens.end());
      CHECK(step.length_after == fed.size());
      CHECK(step.layers == 6);
      const std::size_t most = chunk == 0 ? prompt.size() : chunk;
      CHECK(step.tokens.size() <= (fed.size() <= prompt.size() ? most : 1));
    }
    std::vector<mini::token> expected = prompt;
    expected.insert(expected.end(), answer->begin(), answer->end() - 1);
    CHECK(fed == expected);
    const std::size_t chunks = chunk == 0 ? 1 : (prompt.size() + chunk - 1) / chunk;
    CHECK(host.steps.size() == chunks + answer->size() - 1);
  }
}

TEST_CASE("generation ends with the end token, the number asked for, or the host's word") {
  std::string trace;
  const auto prompt = prompt_of(12, 1, &trace);
  mini::decoder engine{shipped().model};
  const auto generated = [&](const mini::generate_options& options, noting_host& host) {
    mini::kv_cache cache{shipped().model.shape, 200};
    const auto answer = mini::generate(engine, cache, prompt, options, host);
    REQUIRE_MESSAGE(bool(answer), answer.error());
    return shipped().words.decode(*answer);
  };
  const auto eos = shipped().words.eos();
  noting_host plain;
  CHECK(generated({.most_tokens = 100, .eos = eos}, plain) == trace);
  plain = {};
  CHECK(generated({.most_tokens = 5, .eos = eos}, plain) == trace.substr(0, 5));
  CHECK(plain.steps.size() == 5);
  plain = {};
  CHECK(generated({.most_tokens = 0, .eos = eos}, plain).empty());
  CHECK(plain.steps.empty());
  plain = {};
  CHECK(generated({.most_tokens = trace.size() + 3}, plain).size() == trace.size() + 3);
  // Any token can be the end; it is part of what is returned.
  const auto colon = shipped().words.encode(":");
  REQUIRE(bool(colon));
  plain = {};
  CHECK(generated({.most_tokens = 100, .eos = colon->front()}, plain) ==
        trace.substr(0, trace.find(':') + 1));

  noting_host stops;
  stops.stop_before = 3;
  CHECK(generated({.most_tokens = 100, .eos = eos}, stops) == trace.substr(0, 3));
  CHECK(stops.steps.size() == 3);
  stops = {};
  stops.stop_after = 3;  // what this step computed is not used
  CHECK(generated({.most_tokens = 100, .eos = eos}, stops) == trace.substr(0, 3));
  CHECK(stops.steps.size() == 4);
}

TEST_CASE("generation hands on the decoder's errors") {
  std::string trace;
  const auto prompt = prompt_of(13, 1, &trace);
  mini::decoder engine{shipped().model};
  mini::kv_cache cache{shipped().model.shape, prompt.size() + 4};
  const auto full = mini::generate(engine, cache, prompt, {.most_tokens = 100});
  REQUIRE(!full);
  CHECK(contains(full.error(), "the cache is full"));
  CHECK(cache.length() == cache.capacity());
  cache.clear();
  CHECK(mini::generate(engine, cache, prompt, {.most_tokens = 5}));
  cache.clear();
  CHECK(!mini::generate(engine, cache, {}, {.most_tokens = 5}));
  const std::vector<mini::token> unknown{47};
  CHECK(!mini::generate(engine, cache, unknown, {.most_tokens = 5}));
}

TEST_CASE("of equal logits the first wins") {
  CHECK(mini::argmax(std::vector<float>{1, 3, 2, 3}) == 1);
  CHECK(mini::argmax(std::vector<float>{-1}) == 0);
  CHECK(mini::argmax(std::vector<float>{-2, -2, -1}) == 2);
}

TEST_CASE("the command line is read word by word") {
  const auto read = [](const std::vector<std::string_view>& words) {
    return mini::parse_arguments(words, "shipped");
  };
  const auto plain = read({});
  REQUIRE(bool(plain));
  CHECK(plain->weights == "shipped");
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
       {"0", "-5", "", "x", "200,", ",200", "200,,140", "200, 140", "1048577", "200;140",
        "4294967496"}}};
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
    CHECK(read({name}).error() == std::string{name} + " needs a value");
    CHECK(contains(mini::usage, name));
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
    CHECK(result.out == mini::usage);
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

  // A model that works and cannot write a ledger.
  const auto tiny = mini_test::llama_file().build();
  const std::string letters = folder.write("letters.gguf", tiny.data(), tiny.size());
  check_complains({"--weights", letters, "--problems", "1"},
                  {letters, "the vocabulary has no character"});
}
