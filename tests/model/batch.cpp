// SPDX-License-Identifier: MIT

// Does it matter who else is in a step? Sequences that decode together, joining and leaving, must
// get the bits, the evictions and the answers that each gets alone.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "decoder_support.hpp"
#include "mini_model/evicting_batch.hpp"
#include "mini_model/evicting_host.hpp"
#include "mini_model/generate.hpp"

using namespace mini_test;

namespace {

struct sequence {
  std::vector<mini::token> tokens;
  mini::kv_cache cache;
  std::size_t next = 0;
  std::vector<float> logits{};
};

}  // namespace

TEST_CASE("a step of several sequences gives each the bits it gets alone") {
  std::mt19937 random{5};
  for (const char* const architecture : architectures) {
    CAPTURE(std::string{architecture});
    llama_sizes sizes;
    sizes.architecture = architecture;
    sizes.hidden = 34;
    const mini::weights model = tiny(sizes, 3);
    std::vector<sequence> all;
    for (std::size_t i = 0; i < 6; ++i) {
      auto tokens = any_tokens(12 + 5 * i, sizes.vocab);
      for (mini::token& id : tokens) id = static_cast<mini::token>(random() % sizes.vocab);
      const std::size_t length = tokens.size();
      all.push_back({std::move(tokens), mini::kv_cache{model.shape, length + i}});
    }
    mini::decoder engine{model};
    // In each step some of them, in any order, with one to five tokens each.
    std::size_t together = 0;
    while (true) {
      std::vector<sequence*> part;
      for (sequence& each : all) {
        if (each.next < each.tokens.size() && random() % 3 != 0) part.push_back(&each);
      }
      const bool done = std::all_of(all.begin(), all.end(), [](const sequence& each) {
        return each.next == each.tokens.size();
      });
      if (done) break;
      if (part.empty()) continue;
      std::shuffle(part.begin(), part.end(), random);
      std::vector<std::vector<mini::position>> positions;
      std::vector<std::size_t> counts;
      for (const sequence* each : part) {
        const std::size_t count =
            std::min<std::size_t>(1 + random() % 5, each->tokens.size() - each->next);
        counts.push_back(count);
        positions.push_back(counted(count, static_cast<mini::position>(each->next)));
      }
      std::vector<mini::chunk> chunks;
      for (std::size_t i = 0; i < part.size(); ++i) {
        chunks.push_back({std::span{part[i]->tokens}.subspan(part[i]->next, counts[i]),
                          positions[i], &part[i]->cache});
      }
      mini::no_observer nobody;
      const auto logits =
          engine.forward(chunks, mini::observer_ref{nobody}, mini::logits_of::every_token);
      REQUIRE_MESSAGE(bool(logits), logits.error());
      std::size_t row_at = 0;
      for (std::size_t i = 0; i < part.size(); ++i) {
        const auto own = logits->subspan(row_at * sizes.vocab, counts[i] * sizes.vocab);
        part[i]->logits.insert(part[i]->logits.end(), own.begin(), own.end());
        row_at += counts[i];
        part[i]->next += counts[i];
      }
      together += part.size() > 1 ? 1 : 0;
    }
    CHECK(together > 5);
    for (const sequence& each : all) {
      CHECK(each.logits == chunked(model, each.tokens, 0, 1));
    }
  }
}

TEST_CASE("a step that is wrong anywhere changes nothing anywhere") {
  const mini::weights model = tiny();
  mini::decoder engine{model};
  mini::kv_cache first{model.shape, 4};
  mini::kv_cache second{model.shape, 4};
  const std::vector<mini::token> tokens{1, 2};
  const std::vector<mini::position> positions{0, 1};
  mini::no_observer nobody;
  const auto refused = [&](const std::vector<mini::chunk>& chunks, const std::string& part) {
    const auto logits = engine.forward(chunks, mini::observer_ref{nobody});
    REQUIRE(!logits);
    CHECK_MESSAGE(logits.error().find(part) != std::string::npos, logits.error());
    CHECK(first.length() == 0);
    CHECK(second.length() == 0);
  };
  const mini::chunk good{tokens, positions, &first};
  refused({}, "at least one chunk");
  refused({good, {tokens, positions, nullptr}}, "chunk 1 has no cache");
  refused({good, good}, "share a cache");
  refused({good, {{}, {}, &second}}, "at least one token");
  const std::vector<mini::token> unknown{1, 99};
  refused({good, {unknown, positions, &second}}, "token 99");
  mini::kv_cache small{model.shape, 1};
  refused({good, {tokens, positions, &small}}, "the cache is full");
}

TEST_CASE(
    "answers of many prompts together are those of each alone, under every kind of keep-set") {
  const mini::weights& model = shipped().model;
  std::vector<mini::batch_request> requests;
  for (std::uint64_t i = 0; i < 7; ++i) {
    const auto problem = mini::make_ledger_problem(500 + i, 4, 2 + i % 4);
    REQUIRE(bool(problem));
    auto prompt = shipped().words.encode(problem->prompt);
    REQUIRE(bool(prompt));
    requests.push_back({epikv::sequence_id{static_cast<std::int64_t>(100 + i)}, *std::move(prompt),
                        problem->trace.size()});
  }
  const std::string common = " budget=60 tau=8 recent=16";
  for (const auto& arm : std::vector<std::pair<std::string, std::string>>{
           {"epikv-flat", "band_a=4 band_b=3"},
           {"epikv-q", "segment=16 tiers=8,4,2 query_mode=add"},
           {"epikv-flat", "keep_sets=layer band_a=4 band_b=3"},
           {"random-head", ""},
           {"none", ""}}) {
    CAPTURE(arm.first);
    auto evictor = epikv::make_evictor(arm.first, mini::shape_of(model.shape), arm.second + common);
    REQUIRE_MESSAGE(evictor.ok(), evictor.status().message());
    std::vector<mini::batch_answer> alone;
    for (const mini::batch_request& each : requests) {
      REQUIRE(evictor->add(each.sequence, static_cast<std::int32_t>(each.prompt.size())).ok());
      mini::decoder engine{model};
      mini::kv_cache cache{model.shape, each.prompt.size() + each.most_tokens};
      mini::evicting_host host{*evictor, each.sequence};
      auto answer =
          mini::generate(engine, cache, each.prompt,
                         {.most_tokens = each.most_tokens, .ends = shipped().words.ends()}, host);
      REQUIRE_MESSAGE(bool(answer), answer.error());
      alone.push_back({*std::move(answer), cache.peak_tokens(), cache.peak_bytes()});
      REQUIRE(evictor->remove(each.sequence).ok());
    }
    for (const std::size_t together : {1U, 3U, 7U, 50U}) {
      CAPTURE(together);
      mini::decoder engine{model};
      const auto answers =
          mini::generate_all(engine, *evictor, requests, together, shipped().words.ends());
      REQUIRE_MESSAGE(bool(answers), answers.error());
      REQUIRE(answers->size() == alone.size());
      for (std::size_t i = 0; i < alone.size(); ++i) {
        CHECK((*answers)[i].tokens == alone[i].tokens);
        CHECK((*answers)[i].peak_tokens == alone[i].peak_tokens);
        CHECK((*answers)[i].peak_bytes == alone[i].peak_bytes);
      }
    }
    CHECK(evictor->statistics().sequences == 0);
  }
}
