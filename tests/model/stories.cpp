// SPDX-License-Identifier: MIT

// Does a model that others trained give the logits and the greedy text that others computed? The
// llama2.c model stories260K and the figures are no part of this project: EPIKV_SHARED_DATA names
// the folder above models/, by default ../shared beside the sources. Without it nothing is checked.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mini_model/decoder.hpp"
#include "mini_model/generate.hpp"

namespace {

std::string folder() {
  const char* const named = std::getenv("EPIKV_SHARED_DATA");
  return std::string{named != nullptr ? named : EPIKV_SOURCE_DIR "/../shared"} + "/models/";
}

// llama2.c's first file format: seven integers, then float32 arrays in a fixed order.
mini::weights read_llama2c(std::ifstream& in) {
  const auto integer = [&in] {
    std::int32_t value = 0;
    in.read(reinterpret_cast<char*>(&value), sizeof value);
    return static_cast<std::size_t>(value);
  };
  mini::weights out;
  mini::config& s = out.shape;
  s.hidden = integer();
  s.feed_forward = integer();
  s.layers = integer();
  s.query_heads = integer();
  s.kv_heads = integer();
  s.vocab = integer();
  s.context = integer();
  s.head_dim = s.hidden / s.query_heads;
  s.rope_base = 10000.0;
  s.rms_eps = 1e-5;
  out.layers.resize(s.layers);
  const auto fill = [&in](auto& to, std::size_t rows, std::size_t columns) {
    to.resize(static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns));
    in.read(reinterpret_cast<char*>(to.data()),
            static_cast<std::streamsize>(rows * columns * sizeof(float)));
  };
  using layer = mini::layer_weights;
  const auto matrices = [&](mini::matrix layer::*member, std::size_t rows, std::size_t columns) {
    for (layer& each : out.layers) fill(each.*member, rows, columns);
  };
  const auto vectors = [&](mini::vector layer::*member) {
    for (layer& each : out.layers) fill(each.*member, s.hidden, 1);
  };
  fill(out.token_embd, s.vocab, s.hidden);
  vectors(&layer::attn_norm);
  matrices(&layer::attn_q, s.query_size(), s.hidden);
  matrices(&layer::attn_k, s.kv_size(), s.hidden);
  matrices(&layer::attn_v, s.kv_size(), s.hidden);
  matrices(&layer::attn_output, s.hidden, s.query_size());
  vectors(&layer::ffn_norm);
  matrices(&layer::ffn_gate, s.feed_forward, s.hidden);
  matrices(&layer::ffn_down, s.hidden, s.feed_forward);
  matrices(&layer::ffn_up, s.feed_forward, s.hidden);
  fill(out.output_norm, s.hidden, 1);
  return out;
}

}  // namespace

TEST_CASE("stories260K gives the logits and the greedy text that NumPy gave") {
  std::ifstream file{folder() + "stories260K.bin", std::ios::binary};
  std::ifstream figures{folder() + "golden_greedy.json"};
  if (!file || !figures) {
    MESSAGE("not checked: no stories260K in " << folder());
    return;
  }
  const mini::weights model = read_llama2c(file);
  REQUIRE(static_cast<bool>(file));
  REQUIRE(model.shape.vocab == 512);
  const auto golden = nlohmann::json::parse(figures, nullptr, false);
  REQUIRE(!golden.is_discarded());

  mini::decoder engine{model};
  mini::kv_cache cache{model.shape, 300};
  const std::vector<mini::token> begin{1};
  const auto first = engine.forward(begin, 0, cache);
  REQUIRE_MESSAGE(bool(first), first.error());
  const auto expected = golden["logits_after_bos"].get<std::vector<double>>();
  REQUIRE(expected.size() == first->size());
  double most = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double off = std::abs(expected[i] - static_cast<double>((*first)[i]));
    most = off <= most ? most : off;
  }
  CHECK(most < 1e-4);  // both in float32, sums in other orders

  // The text is the begin-of-text token and what follows it.
  const auto ids = golden["greedy_ids"].get<std::vector<mini::token>>();
  REQUIRE(ids.size() > 100);
  cache.clear();
  REQUIRE(ids.front() == begin.front());
  const std::size_t count = ids.size() - 1;
  const auto text = mini::generate(engine, cache, begin, {.most_tokens = count});
  REQUIRE_MESSAGE(bool(text), text.error());
  CHECK(std::equal(text->begin(), text->end(), ids.begin() + 1));

  // The largest logits that predicted the last token, from one pass over all before it.
  const auto top = golden["final_logits_top5"].get<std::vector<std::pair<mini::token, double>>>();
  cache.clear();
  const auto all_but_last = std::span{ids}.first(ids.size() - 1);
  const auto last = engine.forward(all_but_last, 0, cache);
  REQUIRE_MESSAGE(bool(last), last.error());
  CHECK(mini::argmax(*last) == ids.back());
  REQUIRE(top.size() == 5);
  for (const auto& each : top) {
    CHECK((*last)[static_cast<std::size_t>(each.first)] ==
          doctest::Approx(each.second).epsilon(1e-4));
  }
}
