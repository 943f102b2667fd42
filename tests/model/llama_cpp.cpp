// SPDX-License-Identifier: MIT

// Does llama.cpp compute the same logits, read the same tokens out of a prompt and write the same
// greedy text with the same file? Its answers are in fixtures/llama_cpp_*.json, made by
// fixtures/make_llama_cpp.py and make_llama_cpp_logits.py.
//
// Unquantised weights: every token is the same. Quantised ones: llama.cpp rounds the activations to
// 8 bits too, this engine does not, so its text is forced and a token may differ where the two
// likeliest are close. The quantised model is no part of the project: EPIKV_SMOLLM2 names its file.
// Without it that case checks nothing.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mini_model/generate.hpp"
#include "program.hpp"
#include "shipped.hpp"
#include "tiny_llama.hpp"

namespace {

using mini::token;

nlohmann::json read_fixture(const std::string& name) {
  const std::string path = EPIKV_SOURCE_DIR "/tests/model/fixtures/" + name;
  auto file = nlohmann::json::parse(mini_test::text_of(path), nullptr, false);
  REQUIRE_MESSAGE(file.is_object(), path);
  return file;
}

struct answered_prompt {
  std::string prompt;
  std::vector<token> tokens;
  std::vector<token> answer;
};

std::vector<answered_prompt> read_cases(const std::string& name) {
  const auto file = read_fixture(name);
  std::vector<answered_prompt> out;
  for (const auto& each : file["cases"]) {
    out.push_back({each["prompt"].get<std::string>(), each["tokens"].get<std::vector<token>>(),
                   each["answer"].get<std::vector<token>>()});
  }
  REQUIRE_FALSE(out.empty());
  return out;
}

// A model of sizes that llama.cpp takes, with random weights.
mini_test::gguf_builder tiny_model(const std::string& architecture) {
  const mini_test::llama_sizes sizes{.architecture = architecture,
                                     .hidden = 64,
                                     .query_heads = 4,
                                     .kv_heads = 2,
                                     .head_dim = 16,
                                     .feed_forward = 96,
                                     .vocab = 24,
                                     .context = 256,
                                     .rope_base = 10000.0F,
                                     .rms_eps = 1e-5F};
  auto file = mini_test::llama_file(sizes, 5);
  file.set_text("tokenizer.ggml.model", "llama");
  file.set_array("tokenizer.ggml.scores", std::vector<float>(sizes.vocab));
  file.set("tokenizer.ggml.add_bos_token", false);
  return file;
}

}  // namespace

TEST_CASE("tiny models of all architectures have the logits of llama.cpp") {
  const auto fixture = read_fixture("llama_cpp_logits.json");
  const auto tokens = fixture["tokens"].get<std::vector<token>>();
  const auto rows = fixture["rows"].get<std::vector<std::size_t>>();
  for (const std::string architecture : mini_test::architectures) {
    CAPTURE(architecture);
    const auto bytes = tiny_model(architecture).build();
    if (const char* const folder = std::getenv("EPIKV_TINY_MODELS"); folder != nullptr) {
      std::ofstream out{folder + ("/" + architecture) + ".gguf", std::ios::binary};
      out.write(reinterpret_cast<const char*>(bytes.data()),
                static_cast<std::streamsize>(bytes.size()));
    }
    const auto file = mini::gguf_file::parse(bytes);
    REQUIRE_MESSAGE(bool(file), file.error());
    const auto model = mini::weights::load(*file);
    REQUIRE_MESSAGE(bool(model), model.error());
    mini::decoder engine{*model};
    mini::kv_cache cache{model->shape, tokens.size()};
    const auto logits = engine.forward(
        tokens, 0, cache, [](std::size_t, const mini::layer_tap&) {}, mini::logits_of::every_token);
    REQUIRE_MESSAGE(bool(logits), logits.error());
    const auto& theirs = fixture["logits"][architecture];
    REQUIRE(theirs.size() == rows.size());
    double worst = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const auto want = theirs[r].get<std::vector<double>>();
      const auto row = logits->subspan(rows[r] * want.size(), want.size());
      for (std::size_t i = 0; i < want.size(); ++i) {
        worst = std::max(worst, std::abs(static_cast<double>(row[i]) - want[i]));
      }
    }
    // Logits reach 11; sums of floats are taken in another order.
    CHECK(worst < 1e-4);
    MESSAGE(architecture, ": logits differ by at most ", worst);
  }
}

TEST_CASE("the shipped model writes what it writes in llama.cpp, token by token") {
  const mini::loaded_model& model = mini_test::shipped();
  mini::decoder engine{model.model};
  for (const answered_prompt& each : read_cases("llama_cpp_ledger.json")) {
    CAPTURE(each.prompt);
    const auto tokens = model.words.encode(each.prompt);
    REQUIRE(bool(tokens));
    CHECK(*tokens == each.tokens);
    REQUIRE(each.answer.size() > 100);
    mini::kv_cache cache{model.model.shape, each.tokens.size() + each.answer.size()};
    const auto answer =
        mini::generate(engine, cache, *tokens,
                       {.most_tokens = each.answer.size() + 10, .ends = model.words.ends()});
    REQUIRE_MESSAGE(bool(answer), answer.error());
    CHECK(*answer == each.answer);
  }
}

TEST_CASE("a quantised public model agrees with llama.cpp but where two tokens are close") {
  const char* const path = std::getenv("EPIKV_SMOLLM2");
  if (path == nullptr) return;
  const auto model = mini::loaded_model::load(path);
  REQUIRE_MESSAGE(bool(model), model.error());
  mini::decoder engine{model->model};
  const std::size_t vocabulary = model->model.shape.vocab;
  std::size_t all = 0;
  std::size_t same = 0;
  float widest = 0;  // logits between our likeliest token and theirs
  for (const answered_prompt& each : read_cases("llama_cpp_smollm2.json")) {
    CAPTURE(each.prompt);
    const auto tokens = model->words.encode(each.prompt, mini::special::parse);
    REQUIRE(bool(tokens));
    CHECK(*tokens == each.tokens);
    std::vector<token> text = each.tokens;
    text.insert(text.end(), each.answer.begin(), each.answer.end() - 1);
    mini::kv_cache cache{model->model.shape, text.size()};
    const auto logits = engine.forward(
        text, 0, cache, [](std::size_t, const mini::layer_tap&) {}, mini::logits_of::every_token);
    REQUIRE_MESSAGE(bool(logits), logits.error());
    for (std::size_t i = 0; i < each.answer.size(); ++i) {
      const auto row = logits->subspan((each.tokens.size() - 1 + i) * vocabulary, vocabulary);
      const token ours = mini::argmax(row);
      const token theirs = each.answer[i];
      ++all;
      same += ours == theirs ? 1 : 0;
      widest = std::max(
          widest, row[static_cast<std::size_t>(ours)] - row[static_cast<std::size_t>(theirs)]);
    }
  }
  MESSAGE(same, " of ", all, " tokens are the same; at most ", widest, " apart in logits");
  CHECK(static_cast<double>(same) > 0.95 * static_cast<double>(all));
  CHECK(widest < 0.5F);
}
