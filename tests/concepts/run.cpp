// SPDX-License-Identifier: MIT

// Does what models the concepts work? An evictor made of nothing but the archetypes selects what
// its score and policy say, and a shipped score selects the same on a host's own backend.

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "concepts/archetypes.hpp"

namespace {

using epikv::position;
using epikv_test::minimal_backend;
using epikv_test::minimal_policy;
using epikv_test::minimal_score;
using epikv_test::minimal_score_with_parts;

constexpr epikv::model_shape shape{
    .layers = 4, .query_heads = 4, .kv_heads = 2, .head_dim = 4, .hidden = 12};
constexpr epikv::sequence_id sequence{3};
constexpr std::int32_t prompt = 9;
constexpr std::int32_t steps = 60;

/// Rows of up to 16 floats per signal; values in eighths, so that scores tie now and then.
class input {
 public:
  void draw(std::int32_t rows) {
    for (std::vector<float>& signal : data_) {
      signal.resize(static_cast<std::size_t>(rows) * 16);
      for (float& x : signal) x = static_cast<float>(random_() % 65) / 8.0F - 4.0F;
    }
    rows_ = rows;
  }
  [[nodiscard]] epikv::layer_signals view() const {
    const auto heads = [&](std::size_t s, std::int64_t count) {
      return epikv::tensor_view{data_[s].data(), {rows_, count, shape.head_dim}};
    };
    return {.hidden_in = {data_[0].data(), {rows_, shape.hidden}},
            .hidden_out = {data_[1].data(), {rows_, shape.hidden}},
            .keys = heads(2, shape.kv_heads),
            .values = heads(3, shape.kv_heads),
            .queries = heads(4, shape.query_heads)};
  }
  /// Channel 0 of hidden_out.
  [[nodiscard]] float channel(std::int32_t row) const {
    return data_[1][static_cast<std::size_t>(row * shape.hidden)];
  }

 private:
  std::mt19937 random_{11};
  std::vector<float> data_[5];
  std::int32_t rows_ = 0;
};

/// Feeds the prompt and `steps` tokens; `see(input, first, rows, layer)` after each layer's draw,
/// `chosen(selection)` before each commit.
template <class Evictor, class See, class Chosen>
void feed(Evictor& evictor, See see, Chosen chosen) {
  REQUIRE_MESSAGE(evictor.check().ok(), evictor.check().message());
  REQUIRE(evictor.add(sequence, prompt).ok());
  input source;
  for (std::int32_t first = 0; first < prompt + steps;) {
    const std::int32_t rows = first < prompt ? prompt : 1;
    REQUIRE(evictor.begin_step(sequence, rows).ok());
    for (std::int32_t layer = 0; layer < shape.layers; ++layer) {
      source.draw(rows);
      see(source, first, rows, layer);
      const epikv::status seen = evictor.observe(layer, source.view());
      REQUIRE_MESSAGE(seen.ok(), seen.message());
    }
    const epikv::result<epikv::selection> selection = evictor.select();
    REQUIRE(selection.ok());
    chosen(*selection);
    REQUIRE(evictor.commit(*selection).ok());
    first += rows;
  }
}

constexpr epikv::evictor_options options{
    .budget = 20, .tau = 5, .recent = 4, .keep_sets = epikv::granularity::sequence};

/// The positions left, by the words of the documentation: the prompt and the recent stay, the room
/// goes to the highest numbers, of equal ones to the newer.
std::vector<std::int32_t> expected(const std::vector<std::int32_t>& cached,
                                   const std::vector<float>& channel) {
  const auto tokens = static_cast<std::int32_t>(channel.size());
  std::vector<std::int32_t> left;
  std::vector<std::int32_t> candidates;
  for (const std::int32_t p : cached) {
    const bool stays = p < prompt || p >= tokens - options.recent;
    (stays ? left : candidates).push_back(p);
  }
  std::sort(candidates.begin(), candidates.end(), [&](std::int32_t a, std::int32_t b) {
    const float x = channel[static_cast<std::size_t>(a)];
    const float y = channel[static_cast<std::size_t>(b)];
    return x != y ? x > y : a > b;
  });
  candidates.resize(static_cast<std::size_t>(options.budget) - left.size());
  left.insert(left.end(), candidates.begin(), candidates.end());
  std::sort(left.begin(), left.end());
  return left;
}

template <class Evictor>
std::vector<std::int32_t> positions_of(Evictor& evictor, std::int32_t group = 0) {
  std::vector<std::int32_t> all;
  const auto positions = evictor.positions(sequence, group);
  REQUIRE(positions.ok());
  for (const position p : *positions) all.push_back(to_int(p));
  return all;
}

template <class Score>
void check_archetype() {
  epikv::evictor<Score, minimal_policy, minimal_backend> evictor{shape, Score{}, minimal_policy{},
                                                                 minimal_backend{}, options};
  std::vector<float> channel;
  std::vector<std::int32_t> cached;
  int evictions = 0;
  feed(
      evictor,
      [&](const input& source, std::int32_t first, std::int32_t rows, std::int32_t layer) {
        if (layer > 0) return;
        for (std::int32_t i = 0; i < rows; ++i) {
          channel.push_back(source.channel(i));
          cached.push_back(first + i);
        }
      },
      [&](const epikv::selection& chosen) {
        if (chosen.empty()) return;
        ++evictions;
        cached = expected(cached, channel);
        const epikv::group_selection& group = chosen[0].groups()[0];
        std::vector<std::int32_t> kept;
        for (const epikv::slot s : group.kept()) {
          kept.push_back(to_int(group.positions()[static_cast<std::size_t>(to_int(s))]));
        }
        CHECK(kept == cached);
      });
  CHECK(evictions >= 8);
  CHECK(positions_of(evictor) == cached);

  // The columns moved with the cache, through the backend's compact_job.
  std::vector<float> numbers(cached.size());
  REQUIRE(evictor.scores(sequence, 0, "score", numbers).ok());
  for (std::size_t i = 0; i < cached.size(); ++i) {
    CHECK(numbers[i] == channel[static_cast<std::size_t>(cached[i])]);
  }

  // The verbs the run did not call.
  CHECK(evictor.wants(0) == epikv::signal_set{epikv::signal_id::hidden_out});
  CHECK(evictor.wants(1).empty());
  CHECK(evictor.cadence(epikv::signal_id::hidden_out) == epikv::row_cadence::every_token);
  CHECK(evictor.statistics(sequence)->evictions == static_cast<std::uint32_t>(evictions));
  CHECK(evictor.statistics().state_bytes > 0);
  CHECK(evictor.reset(sequence).ok());
  CHECK(evictor.remove(sequence).ok());
}

/// Everything two runs must agree on.
template <class Score, class Policy, class Backend>
std::vector<std::int32_t> decisions(Score score, Policy policy, Backend backend,
                                    epikv::granularity keep_sets) {
  epikv::evictor_options wanted = options;
  wanted.keep_sets = keep_sets;
  epikv::evictor<Score, Policy, Backend> evictor{shape, std::move(score), std::move(policy),
                                                 std::move(backend), wanted};
  std::vector<std::int32_t> all;
  feed(
      evictor, [](const input&, std::int32_t, std::int32_t, std::int32_t) {},
      [&](const epikv::selection& chosen) {
        for (const epikv::sequence_selection& part : chosen) {
          for (const epikv::group_selection& group : part.groups()) {
            all.push_back(-1);
            for (const epikv::slot s : group.evicted()) all.push_back(to_int(s));
          }
        }
      });
  for (std::int32_t g = 0; g < shape.groups(keep_sets); ++g) {
    const std::vector<std::int32_t> left = positions_of(evictor, g);
    all.insert(all.end(), left.begin(), left.end());
  }
  return all;
}

template <class Score, class Policy>
void check_same(const char* what, const Score& score, const Policy& policy,
                epikv::granularity keep_sets = epikv::granularity::sequence) {
  CAPTURE(std::string{what});
  const std::vector<std::int32_t> cpu = decisions(score, policy, epikv::cpu_backend{}, keep_sets);
  // A run that evicts nothing would agree with anything.
  CHECK(std::count(cpu.begin(), cpu.end(), -1) >= 8);
  CHECK(decisions(score, policy, minimal_backend{}, keep_sets) == cpu);
}

}  // namespace

TEST_CASE("an evictor made of the archetypes works") { check_archetype<minimal_score>(); }

TEST_CASE("a minimal score with parts works and shows its part") {
  check_archetype<minimal_score_with_parts>();
  epikv::evictor<minimal_score_with_parts, minimal_policy, minimal_backend> evictor{
      shape, {}, {}, {}, options};
  feed(
      evictor, [](const input&, std::int32_t, std::int32_t, std::int32_t) {},
      [](const epikv::selection&) {});
  const auto length = static_cast<std::size_t>(*evictor.length(sequence));
  std::vector<float> score(length);
  std::vector<float> part(length);
  REQUIRE(evictor.scores(sequence, 0, "score", score).ok());
  REQUIRE(evictor.scores(sequence, 0, "channel", part).ok());
  CHECK(part == score);
  CHECK(evictor.score_part(0) == "channel");
  CHECK(evictor.score_part(1).empty());
  CHECK(evictor.scores(sequence, 0, "chanel", part).status().code() ==
        epikv::errc::invalid_argument);
}

TEST_CASE("a shipped score on the minimal backend selects as on the CPU backend") {
  using epikv::granularity;
  const epikv::segmented tiers{.tiers = {.segment = 4, .quota = {3, 2, 1}, .fill = true},
                               .reserve = {.tokens = 2}};
  const epikv::top_k reserve{.reserve = {.tokens = 2}};
  epikv::epiphany_with_relevance added{.mode = epikv::query_mode::add};
  added.query.window = 4;
  check_same("epiphany", epikv::epiphany{.window = 8}, epikv::top_k{});
  check_same("epiphany, reserve", epikv::epiphany{.window = 8}, reserve, granularity::kv_head);
  check_same("epiphany, segments", epikv::epiphany{.window = 8}, tiers);
  check_same("epiphany with relevance", added, tiers);
  check_same("relevance", added.query, epikv::top_k{});
  check_same("key statistic", epikv::key_statistic{.window = 4}, epikv::top_k{});
  check_same("random", epikv::random_score{.seed = 5}, epikv::top_k{}, granularity::kv_head);
  check_same("none", epikv::no_score{}, epikv::top_k{});
}
