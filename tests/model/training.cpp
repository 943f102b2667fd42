// SPDX-License-Identifier: MIT

// Do the training scripts draw problems of the same rules as the engine is tested with, in the
// vocabulary of the shipped weights, and without PyTorch?

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "ledger_rules.hpp"
#include "program.hpp"
#include "shipped.hpp"

namespace {

const std::string scripts = EPIKV_SOURCE_DIR "/examples/mini_model/training";

// Runs Python with its standard library alone, in which no installed package is visible, and with
// `task` imported.
mini_test::program_result python(const std::string& code) {
  return mini_test::run_program(
      "python3",
      {"-S", "-E", "-B", "-c", "import sys; sys.path.insert(0, sys.argv[1])\n" + code, scripts});
}

bool have_python() {
  static const bool found = [] {
    const auto version = python("assert sys.version_info >= (3, 7)");
    if (version.exit_status != 0) MESSAGE("no python3, so the training scripts go untested");
    return version.exit_status == 0;
  }();
  return found;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in{text};
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

}  // namespace

TEST_CASE("every script is valid Python") {
  if (!have_python()) return;
  const auto result = python(
      "import pathlib\n"
      "for path in sorted(pathlib.Path(sys.argv[1]).glob('*.py')):\n"
      "    compile(path.read_text(encoding='utf-8'), str(path), 'exec')\n"
      "    print(path.name)\n");
  CHECK_MESSAGE(result.exit_status == 0, result.err);
  CHECK(result.out == "export_gguf.py\nmodel.py\nplot_losses.py\ntask.py\ntrain.py\n");
}

TEST_CASE("the task's vocabulary is that of the shipped weights") {
  if (!have_python()) return;
  const auto result = python(
      "import task\n"
      "assert 'torch' not in sys.modules\n"
      "print(task.VOCABULARY, task.PADDING, len(task.NAMES))\n"
      "for character, number in task.TOKEN.items():\n"
      "    print(number, ord(character))\n");
  REQUIRE_MESSAGE(result.exit_status == 0, result.err);
  const mini::tokenizer& words = mini_test::shipped().words;
  std::istringstream in{result.out};
  std::size_t vocabulary = 0;
  std::size_t padding = 1;
  std::size_t names = 0;
  in >> vocabulary >> padding >> names;
  CHECK(vocabulary == words.size());
  CHECK(padding == 0);
  CHECK(names == 24);
  std::size_t characters = 0;
  for (int number = 0, code = 0; in >> number >> code; ++characters) {
    CHECK(words.decode(number) == std::string(1, static_cast<char>(code)));
  }
  CHECK(characters == 46);
}

TEST_CASE("the task's problems keep the rules, with the trace that follows from the prompt") {
  if (!have_python()) return;
  const auto result = python(
      "import random, task\n"
      "rng = random.Random(1)\n"
      "for i in range(600):\n"
      "    problem = task.make_problem(rng, 2 + i % 5, 1 + i % 14)\n"
      "    assert problem.text == problem.prompt + problem.trace\n"
      "    print(problem.prompt, problem.answer, problem.trace, sep='\\t', end='')\n");
  REQUIRE_MESSAGE(result.exit_status == 0, result.err);
  const auto lines = lines_of(result.out);
  REQUIRE(lines.size() == 600);
  std::set<std::string> prompts;
  std::size_t i = 0;
  for (const std::string& line : lines) {
    const std::size_t first = line.find('\t');
    const std::size_t second = line.find('\t', first + 1);
    REQUIRE(second != std::string::npos);
    const std::string prompt = line.substr(0, first);
    CAPTURE(prompt);
    const auto read = mini_test::read_ledger(prompt);
    REQUIRE_MESSAGE(read.fault.empty(), read.fault);
    const std::size_t steps = 1 + i % 14;
    CHECK(read.given.size() == 2 + i % 5);
    CHECK(read.program.size() == steps);
    const auto solution = mini_test::solve_ledger(read);
    CHECK(line.substr(first + 1, second - first - 1) == std::string(1, solution.answer));
    CHECK(line.substr(second + 1) + "\n" == solution.trace);
    if (steps >= 3) {
      bool late = false;
      for (std::size_t back = 1; back <= 3; ++back) {
        late = late || read.program[steps - back].target == read.question;
      }
      CHECK(late);
    }
    prompts.insert(prompt);
    ++i;
  }
  CHECK(prompts.size() == 600);
}

TEST_CASE("recorded results, and nothing else of a trace, are what training never hides") {
  if (!have_python()) return;
  const auto result = python(
      "import random, task\n"
      "text = task.make_problem(random.Random(2), 4, 5).trace\n"
      "print(''.join(c if task.is_recorded(text, at) else '_' for at, c in enumerate(text)), "
      "text)");
  REQUIRE_MESSAGE(result.exit_status == 0, result.err);
  const std::size_t size = 38 * 5 + 4;
  REQUIRE(result.out.size() >= 2 * size + 1);
  const std::string marked = result.out.substr(0, size);
  const std::string text = result.out.substr(size + 1, size);
  for (std::size_t step = 0; step < 5; ++step) {
    // "e=a+c;f:a3 c1 3+1=4 e4.ok": the record has places 20 to 22 of a step.
    const std::string want =
        std::string(20, '_') + text.substr(38 * step + 20, 3) + std::string(15, '_');
    CHECK(marked.substr(38 * step, 38) == want);
  }
  CHECK(marked.substr(190) == "____");
}

TEST_CASE("a seed draws the same problems again") {
  if (!have_python()) return;
  const std::string code =
      "import random, task\n"
      "print(task.make_problem(random.Random(3), 4, 12).text)\n";
  const auto once = python(code);
  CHECK(once.exit_status == 0);
  CHECK(once.out.size() == 87 + 460 + 1);
  CHECK(python(code).out == once.out);
}

TEST_CASE("the picture of the losses has a point for each of them, in the order of the curves") {
  if (!have_python()) return;
  const mini_test::scratch_folder folder{"losses"};
  const auto write = [&](const char* name, const std::string& text) {
    return folder.write(name, text.data(), text.size());
  };
  const std::string first = write("first.csv", "batch,loss\n100,2.5\n200,0.4\n300,0.01\n");
  const std::string second = write("second.csv", "batch,loss\n100,0.02\n200,0.001\n");
  const std::string picture = folder.file("losses.svg");
  const auto drawn = mini_test::run_program(
      "python3", {"-S", "-E", "-B", scripts + "/plot_losses.py", first, second, "--out", picture});
  REQUIRE_MESSAGE(drawn.exit_status == 0, drawn.err);
  const auto read = python(
      "import xml.etree.ElementTree as tree\n"
      "root = tree.parse('" +
      picture +
      "').getroot()\n"
      "x = []\n"
      "for line in root.iter('{http://www.w3.org/2000/svg}polyline'):\n"
      "    points = [tuple(map(float, p.split(','))) for p in line.get('points').split()]\n"
      "    assert [y for _, y in points] == sorted(y for _, y in points), 'losses fall, so y "
      "grows'\n"
      "    x += [x for x, _ in points]\n"
      "    print(len(points))\n"
      "assert x == sorted(x), 'one curve begins where the other ends'\n"
      "print(*(t.text for t in root.iter('{http://www.w3.org/2000/svg}text')))\n");
  REQUIRE_MESSAGE(read.exit_status == 0, read.err);
  const auto lines = lines_of(read.out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == "3");
  CHECK(lines[1] == "2");
  for (const char* word : {"first", "second", "batch", "0.001", "10", "500"}) {
    CHECK_MESSAGE(lines[2].find(word) != std::string::npos, word);
  }
  const auto none = mini_test::run_program(
      "python3", {"-S", "-E", "-B", scripts + "/plot_losses.py", "--out", picture});
  CHECK(none.exit_status != 0);
}
