// SPDX-License-Identifier: MIT

// Is a stated cadence true? Rows outside it may be left out or hold anything: a host that shows
// only the rows it must gets the selections of one that shows all.

#include <doctest/doctest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "driver.hpp"
#include "epikv/cpu.hpp"

namespace {

using epikv::row_cadence;
using epikv::signal_id;

constexpr epikv::model_shape shape{
    .layers = 4, .query_heads = 4, .kv_heads = 2, .head_dim = 8, .hidden = 32};
constexpr std::int32_t prompt = 30;
constexpr std::int32_t width = 32;  // of every signal's row in this shape, at most

enum class host { shows_all, shows_what_is_read };

std::vector<std::int32_t> evicted_by(const std::string& preset, const std::string& settings,
                                     host kind) {
  auto evictor = epikv::make_evictor(preset, shape, "budget=50 tau=10 recent=12 " + settings);
  REQUIRE_MESSAGE(evictor.ok(), evictor.status().message());
  const epikv::sequence_id sequence{5};
  REQUIRE(evictor->add(sequence, prompt).ok());
  std::mt19937 random{9};
  std::vector<std::int32_t> evicted;
  for (std::int32_t first = 0; first < 150;) {
    const std::int32_t n = first < prompt ? 15 : 1;
    REQUIRE(evictor->begin_step(sequence, n).ok());
    for (std::int32_t layer = 0; layer < shape.layers; ++layer) {
      const auto rows = [&] {
        std::vector<float> data(static_cast<std::size_t>(n * width));
        for (float& x : data) x = static_cast<float>(random() % 2001) / 1000.0F - 1.0F;
        return data;
      };
      std::vector<float> hidden = rows();
      std::vector<float> keys = rows();
      std::vector<float> values = rows();
      std::vector<float> queries = rows();
      std::int32_t shown = n;
      std::vector<std::int32_t> row_to_token;
      if (kind == host::shows_what_is_read) {
        const bool hidden_only = !evictor->wants(layer).contains(signal_id::keys) &&
                                 !evictor->wants(layer).contains(signal_id::values);
        const signal_id main = hidden_only ? signal_id::hidden_out
                               : evictor->wants(layer).contains(signal_id::keys)
                                   ? signal_id::keys
                                   : signal_id::values;
        // Leave out the prompt's rows where nothing reads them but its last.
        if (first < prompt && evictor->cadence(main) == row_cadence::decode_tokens) {
          const bool last = first + n == prompt;
          shown = last ? 1 : 0;
          if (last) row_to_token = {n - 1};
          std::copy_n(hidden.end() - width, width, hidden.begin());
          std::copy_n(keys.end() - width, width, keys.begin());
          std::copy_n(values.end() - width, width, values.begin());
        }
        // Decode token 20 is the first over the budget, and every tenth after it: the queries of
        // the eight tokens up to each are read, the others never looked at.
        const std::int32_t decoded = first - prompt;
        const bool near = decoded >= 13 && (decoded + 7) % 10 < 8;
        if (evictor->cadence(signal_id::queries) == row_cadence::last_tokens && !near) {
          std::fill(queries.begin(), queries.end(), std::numeric_limits<float>::quiet_NaN());
        }
      }
      if (shown == 0) continue;
      const auto view = [&](const std::vector<float>& data, std::int64_t heads) {
        return heads == 0 ? epikv::tensor_view{data.data(), {shown, shape.hidden}}
                          : epikv::tensor_view{data.data(), {shown, heads, shape.head_dim}};
      };
      const epikv::status seen =
          evictor->observe(layer, {.hidden_in = view(hidden, 0),
                                   .hidden_out = view(hidden, 0),
                                   .keys = view(keys, shape.kv_heads),
                                   .values = view(values, shape.kv_heads),
                                   .queries = view(queries, shape.query_heads),
                                   .row_to_token = row_to_token});
      REQUIRE_MESSAGE(seen.ok(), seen.message());
    }
    const auto selection = evictor->select();
    REQUIRE(selection.ok());
    for (const epikv::sequence_selection& chosen : *selection) {
      for (const epikv::slot s : chosen.groups()[0].evicted()) evicted.push_back(to_int(s));
    }
    REQUIRE(evictor->commit(*selection).ok());
    first += n;
  }
  return evicted;
}

}  // namespace

TEST_CASE("rows outside the cadence change nothing") {
  for (const auto& arm : std::vector<std::pair<std::string, std::string>>{
           {"epikv-flat", ""},
           {"epikv-seg", "segment=10 tiers=4,2,1"},
           {"epikv-q", "segment=10 tiers=4,2,1"},
           {"epikv-q", "segment=10 tiers=4,2,1 query_mode=add"},
           {"key-variance", ""},
           {"value-variance", ""}}) {
    // Names, not bindings: clang 14 cannot capture those.
    const std::string& preset = arm.first;
    const std::string& settings = arm.second;
    CAPTURE(preset);
    CAPTURE(settings);
    const std::vector<std::int32_t> all = evicted_by(preset, settings, host::shows_all);
    CHECK(all.size() > 20);
    CHECK(evicted_by(preset, settings, host::shows_what_is_read) == all);
  }
}

TEST_CASE("how many tokens are left until a selection can be due is told, and reached") {
  for (const auto& arm : std::vector<std::pair<std::string, std::string>>{
           {"streaming", "tau=10"},
           {"streaming", "tau=10 cadence=aligned"},
           {"streaming", "tau=7 buffer=5"},
           {"streaming", "tau=7 buffer=5 cadence=aligned"},
           {"random-head", "tau=1"},
           {"lag-kv", "lag=9 ratio=0.5"},
           {"lag-kv", "lag=16 ratio=0.25"}}) {
    const std::string& preset = arm.first;
    const std::string& settings = arm.second;
    CAPTURE(preset);
    CAPTURE(settings);
    auto ev = epikv::make_evictor(preset, shape, "budget=50 recent=12 sinks=4 " + settings);
    REQUIRE_MESSAGE(ev.ok(), ev.status().message());
    constexpr epikv::sequence_id sequence{5};
    REQUIRE(ev->add(sequence, prompt).ok());
    CHECK_FALSE(ev->tokens_until_due(epikv::sequence_id{6}).ok());
    epikv_test::feed source{shape, 1, 3};
    const epikv::step_sequence one[] = {{sequence, 1}};
    std::int32_t tokens[] = {0};
    std::int32_t promised = 1;  // no eviction before so many tokens
    std::int32_t evictions = 0;
    while (tokens[0] < 200) {
      const std::int32_t left = *ev->tokens_until_due(sequence);
      REQUIRE(left >= 1);
      CHECK(tokens[0] + left >= promised);
      promised = tokens[0] + left;
      bool evicted = false;
      REQUIRE(epikv_test::run_step(*ev, source, one, tokens, [&](const epikv::selection& chosen) {
                evicted = !chosen.empty();
              }).ok());
      // Neither earlier nor later.
      CHECK(evicted == (tokens[0] == promised));
      evictions += evicted ? 1 : 0;
    }
    CHECK(evictions > 5);
  }
  auto none = epikv::make_evictor("none", shape);
  REQUIRE(none.ok());
  REQUIRE(none->add(epikv::sequence_id{1}, 3).ok());
  CHECK(*none->tokens_until_due(epikv::sequence_id{1}) == epikv::evictor_options::max_tokens);
}

TEST_CASE("each score states the cadence it has") {
  const auto cadence = [](const char* preset, const char* settings, signal_id id) {
    const auto evictor = epikv::make_evictor(preset, shape, settings);
    REQUIRE(evictor.ok());
    return evictor->cadence(id);
  };
  CHECK(cadence("epikv-flat", "", signal_id::hidden_out) == row_cadence::decode_tokens);
  CHECK(cadence("epikv-seg", "", signal_id::keys) == row_cadence::every_token);
  CHECK(cadence("key-variance", "", signal_id::keys) == row_cadence::decode_tokens);
  CHECK(cadence("epikv-q", "", signal_id::queries) == row_cadence::last_tokens);
  CHECK(cadence("epikv-q", "", signal_id::keys) == row_cadence::every_token);
  CHECK(cadence("streaming", "", signal_id::keys) == row_cadence::last_tokens);
}
