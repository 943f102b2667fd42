// SPDX-License-Identifier: MIT

// What a careless host does: rows of a layer that go back over calls, another evictor's selection,
// caches whose rows overlap, a score that is switched off. Each is refused and changes nothing.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "epikv/cpu.hpp"

namespace {

using epikv::errc;
using epikv::sequence_id;

constexpr epikv::model_shape shape{
    .layers = 3, .query_heads = 2, .kv_heads = 2, .head_dim = 2, .hidden = 4};
constexpr sequence_id first{1};
constexpr sequence_id second{2};

epikv::any_evictor make(const char* preset, const char* settings) {
  auto made = epikv::make_evictor(preset, shape, settings);
  REQUIRE_MESSAGE(made.ok(), made.status().message());
  return *std::move(made);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("over the calls of a layer a sequence's tokens ascend") {
  const auto rows_of = [](const std::vector<std::int32_t>& tokens) {
    std::vector<float> rows;
    for (const std::int32_t t : tokens) {
      for (int c = 0; c < 4; ++c) rows.push_back(static_cast<float>((t * t * 7 + c * t) % 11));
    }
    return rows;
  };
  const auto show = [&](epikv::any_evictor& ev, const std::vector<std::int32_t>& tokens) {
    const std::vector<float> rows = rows_of(tokens);
    const epikv::tensor_view view{rows.data(),
                                  {static_cast<std::int64_t>(tokens.size()), shape.hidden}};
    return ev.observe(0, {.hidden_in = view, .hidden_out = view, .row_to_token = tokens});
  };
  const auto scores = [](epikv::any_evictor& ev, sequence_id id) {
    std::vector<float> out(8);
    const auto count = ev.scores(id, 0, "score", out);
    REQUIRE(count.ok());
    out.resize(static_cast<std::size_t>(*count));
    return out;
  };
  const char* const settings = "budget=3 recent=0 tau=1 form=a_only band_a=0 protect_prompt=false";
  // Two sequences of four tokens: 0 to 3 and 4 to 7.
  const auto begin = [&] {
    epikv::any_evictor ev = make("epikv-flat", settings);
    REQUIRE(ev.add(first, 1).ok());
    REQUIRE(ev.add(second, 1).ok());
    REQUIRE(ev.begin_step({{first, 4}, {second, 4}}).ok());
    return ev;
  };
  epikv::any_evictor whole = begin();
  REQUIRE(show(whole, {0, 1, 2, 3, 4, 5, 6, 7}).ok());
  REQUIRE(whole.select().ok());

  // In ranges that follow each other for each sequence, in any order within a call.
  epikv::any_evictor split = begin();
  REQUIRE(show(split, {1, 4, 0}).ok());
  REQUIRE(show(split, {3, 2}).ok());
  for (const std::vector<std::int32_t>& back :
       {std::vector<std::int32_t>{5, 7, 6, 1}, {1, 5}, {0}}) {
    CHECK(show(split, back).code() == errc::wrong_order);
  }
  REQUIRE(show(split, {7, 5, 6}).ok());
  REQUIRE(split.select().ok());
  const auto same_bits = [&](sequence_id id) {
    const std::vector<float> a = scores(whole, id);
    const std::vector<float> b = scores(split, id);
    bool same = a.size() == b.size();
    for (std::size_t i = 0; i < a.size() && same; ++i) same = a[i] == b[i] || a[i] != a[i];
    return same;
  };
  CHECK(same_bits(first));
  CHECK(same_bits(second));

  epikv::any_evictor backward = begin();
  REQUIRE(show(backward, {2, 3}).ok());
  const epikv::status gap = show(backward, {0, 1});
  CHECK(gap.code() == errc::wrong_order);
  CHECK_MESSAGE(contains(gap.message(), "token 1 after token 2 of its sequence"), gap.message());
  // The other sequence is not concerned, and the next layer starts anew.
  CHECK(show(backward, {4, 5}).ok());
  epikv::any_evictor between = begin();
  REQUIRE(show(between, {0, 2}).ok());
  CHECK(show(between, {1, 3}).code() == errc::wrong_order);
}

TEST_CASE("another evictor's selection is refused") {
  epikv::any_evictor mine = make("random", "budget=4 recent=0 tau=1 seed=1");
  epikv::any_evictor other = make("random", "budget=4 recent=0 tau=1 seed=2");
  for (epikv::any_evictor* each : {&mine, &other}) {
    REQUIRE(each->add(first, 0).ok());
    REQUIRE(each->begin_step(first, 10).ok());
  }
  const auto chosen = mine.select();
  const auto foreign = other.select();
  REQUIRE(chosen.ok());
  REQUIRE(foreign.ok());
  REQUIRE(foreign->size() == 1);
  const epikv::status whole = mine.commit(*foreign);
  CHECK(whole.code() == errc::stale_selection);
  CHECK_MESSAGE(contains(whole.message(), "another evictor"), whole.message());
  CHECK(mine.commit((*foreign)[0]).code() == errc::stale_selection);
  CHECK(mine.commit(epikv::selection{}).code() == errc::stale_selection);
  CHECK(*mine.length(first) == 10);
  CHECK(mine.commit(*chosen).ok());
  CHECK(*mine.length(first) == 4);
}

TEST_CASE("a cache whose rows overlap is refused before a row moves") {
  epikv::any_evictor ev = make("streaming", "budget=4 recent=0 sinks=0 tau=1");
  REQUIRE(ev.add(first, 0).ok());
  REQUIRE(ev.begin_step(first, 8).ok());
  const auto chosen = ev.select();
  REQUIRE(chosen.ok());
  REQUIRE(chosen->size() == 1);
  std::vector<std::uint8_t> memory(3 * 2 * 8);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::uint8_t>(i);
  const std::vector<std::uint8_t> before = memory;
  const auto compact = [&](std::int64_t slot, std::int64_t head, std::int64_t layer) {
    return epikv::compact({.data = memory.data(),
                           .row_bytes = 1,
                           .slot_stride = slot,
                           .head_stride = head,
                           .layer_stride = layer,
                           .layers = 3,
                           .kv_heads = 2,
                           .slots = 8},
                          (*chosen)[0]);
  };
  for (const auto& wrong : std::vector<std::vector<std::int64_t>>{
           {1, 8, 0}, {1, 8, 4}, {1, 8, 15}, {1, 0, 16}, {1, 7, 16}, {2, 1, 15}, {-1, 8, 16}}) {
    const epikv::status refused = compact(wrong[0], wrong[1], wrong[2]);
    CHECK_MESSAGE(refused.code() == errc::wrong_stride, refused.message());
    CHECK(memory == before);
  }
  CHECK(compact(1, 8, 16).ok());  // [layer][head][slot]
  CHECK(memory != before);
  CHECK(compact(2, 1, 16).ok());  // [layer][slot][head]
  CHECK(compact(6, 1, 2).ok());   // [slot][layer][head]
  CHECK((*chosen)[0].freed_blocks(0) == 0);
  CHECK((*chosen)[0].freed_blocks(-4) == 0);
  CHECK((*chosen)[0].freed_blocks(4) == 1);
}

TEST_CASE("a score that is switched off can serve a policy, but not rank") {
  epikv::evictor ev{shape,
                    epikv::key_statistic{.enabled = false},
                    epikv::top_k{},
                    epikv::cpu_backend{},
                    {.budget = 2, .tau = 1, .recent = 0}};
  CHECK(ev.check().code() == errc::invalid_argument);
  CHECK(ev.check().argument() == "score.enabled");
  CHECK_FALSE(ev.add(first, 0).ok());
}

TEST_CASE("protected positions are counted once") {
  epikv::any_evictor ev = make("epikv-flat", "budget=20 recent=5 on_overflow=refuse");
  REQUIRE(ev.add(first, 10).ok());
  CHECK(ev.protect(first, {epikv::position{0}, epikv::position{10}}).ok());
  CHECK(ev.protect(first, {epikv::position{10}, epikv::position{13}}).ok());
  CHECK(ev.protect(first, {epikv::position{10}, epikv::position{13}}).ok());
  CHECK(ev.protect(first, {epikv::position{5}, epikv::position{12}}).ok());
  const epikv::status full = ev.protect(first, {epikv::position{12}, epikv::position{16}});
  CHECK(full.code() == errc::over_budget);
  CHECK_MESSAGE(contains(full.message(), "the 21 protected"), full.message());
  CHECK(ev.protect(first, {epikv::position{12}, epikv::position{15}}).ok());
}

TEST_CASE("sizes whose products overflow are no model") {
  constexpr std::int32_t most = epikv::model_shape::max_extent;
  const epikv::model_shape wide{
      .layers = 1, .query_heads = most, .kv_heads = 1, .head_dim = 2, .hidden = 1};
  CHECK(wide.check().code() == errc::invalid_argument);
  CHECK_FALSE(epikv::make_evictor("epikv-q", wide, "budget=64").ok());
}
