// SPDX-License-Identifier: MIT

// Is query relevance the softmax it says it is: over the visible slots, with GQA, for any window,
// layout and dtype? The reference is a softmax written down in double.

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "epikv/cpu.hpp"

namespace {

using namespace epikv;

constexpr double infinity = std::numeric_limits<double>::infinity();

// Sanitizers make a scene take tens of times as long.
#if defined(NDEBUG)
constexpr std::int32_t windows[] = {1, 2, 8, 33};
constexpr std::size_t lengths[] = {1, 2, 65, 128, 129, 400};
#else
constexpr std::int32_t windows[] = {1, 5};
constexpr std::size_t lengths[] = {1, 2, 129};
#endif

// A cache of keys, the last queries and who may see what; numbers are held in double.
struct scene {
  std::int32_t query_heads = 1;
  std::int32_t kv_heads = 1;
  std::int32_t head_dim = 1;
  std::vector<std::int32_t> positions{};        // of the slots, ascending
  std::vector<std::int32_t> query_positions{};  // ascending
  std::vector<double> keys{};                   // [slots, kv_heads, head_dim]
  std::vector<double> queries{};                // [queries, query_heads, head_dim]
  std::vector<bool> missing{};                  // [slots]: the key was never shown

  [[nodiscard]] std::size_t slots() const { return positions.size(); }
  [[nodiscard]] std::size_t key_floats() const {
    return static_cast<std::size_t>(kv_heads) * static_cast<std::size_t>(head_dim);
  }
  [[nodiscard]] std::size_t query_floats() const {
    return static_cast<std::size_t>(query_heads) * static_cast<std::size_t>(head_dim);
  }
  double& key(std::int32_t slot, std::int32_t channel) {
    return keys[static_cast<std::size_t>(slot) * key_floats() + static_cast<std::size_t>(channel)];
  }
};

// What relevance is, and by how much an implementation in f32 may miss it.
struct reference {
  std::vector<double> value;
  std::vector<double> slack;
};

// What one query head pays to one slot: the logit, and how far f32 may take it.
struct logit {
  double value = 0.0;
  double slack = 0.0;
  bool visible = false;
};

std::vector<logit> logits_of(const scene& s, std::size_t q, std::int32_t head) {
  std::vector<logit> out(s.slots());
  const std::int32_t kv_head = head / (s.query_heads / s.kv_heads);
  const double scale = 1.0 / std::sqrt(static_cast<double>(s.head_dim));
  for (std::size_t i = 0; i < s.slots(); ++i) {
    logit& l = out[i];
    l.visible = s.positions[i] <= s.query_positions[q] && !s.missing[i];
    if (!l.visible) continue;
    double magnitude = 0.0;
    for (std::int32_t c = 0; c < s.head_dim; ++c) {
      const double product =
          s.queries[q * s.query_floats() + static_cast<std::size_t>(head * s.head_dim + c)] *
          s.keys[i * s.key_floats() + static_cast<std::size_t>(kv_head * s.head_dim + c)];
      l.value += product * scale;
      magnitude += std::abs(product) * scale;
    }
    // head_dim / 128 additions into each accumulator, seven folds, and the scale's own rounding.
    l.slack = 0x1p-24 * (s.head_dim / 128 + 12) * magnitude;
  }
  return out;
}

reference relevance_of(const scene& s) {
  reference out{std::vector<double>(s.slots()), std::vector<double>(s.slots())};
  const double rows =
      static_cast<double>(s.query_positions.size()) * static_cast<double>(s.query_heads);
  for (std::size_t q = 0; q < s.query_positions.size(); ++q) {
    for (std::int32_t head = 0; head < s.query_heads; ++head) {
      const std::vector<logit> logits = logits_of(s, q, head);
      double highest = -infinity;
      double total = 0.0;
      double slack = 0.0;
      bool nan = false;
      for (const logit& l : logits) {
        if (!l.visible) continue;
        nan = nan || std::isnan(l.value);
        highest = std::max(highest, l.value);
        slack = std::max(slack, l.slack);
      }
      // With infinities the softmax is inf / inf or 0 / 0.
      nan = nan || std::isinf(highest);
      for (const logit& l : logits) {
        if (l.visible) total += std::exp(l.value - highest);
      }
      for (std::size_t i = 0; i < s.slots(); ++i) {
        if (!logits[i].visible) continue;
        const double share = nan ? std::nan("") : std::exp(logits[i].value - highest) / total;
        out.value[i] += share / rows;
        // Each of three logits may be off by the slack; the rest is the rounding of the softmax.
        // The difference to the highest logit is rounded too, in proportion to itself.
        const double distance = highest - logits[i].value;
        const double relative = 4.0 * slack + 4e-6 + 1.2e-7 * (nan ? 0.0 : distance);
        out.slack[i] += share / rows * relative + 1e-37;
      }
    }
  }
  for (std::size_t i = 0; i < s.slots(); ++i) {
    if (s.missing[i] || s.query_positions.empty()) out.value[i] = std::nan("");
  }
  return out;
}

// The job on keys and queries as the library keeps them; the marks of missing keys are put in.
std::vector<float> run(const scene& s, std::vector<float> keys, const std::vector<float>& queries) {
  std::vector<const float*> rows;
  for (std::size_t q = 0; q < s.query_positions.size(); ++q) {
    rows.push_back(queries.data() + q * s.query_floats());
  }
  std::vector<position> positions;
  for (std::size_t i = 0; i < s.slots(); ++i) {
    positions.push_back(position{s.positions[i]});
    if (s.missing[i]) {
      cpu_backend::run(unscored_job{keys.data() + i * s.key_floats(), s.key_floats()});
    }
  }
  const auto length = static_cast<std::int32_t>(s.slots());
  std::vector<float> out(s.slots() + 1, 99.0F);
  std::vector<std::byte> scratch(cpu_backend::scratch_bytes(length));
  cpu_backend::run(relevance_job{.queries = rows,
                                 .query_positions = s.query_positions,
                                 .keys = keys.data(),
                                 .stride = static_cast<std::int64_t>(s.key_floats()),
                                 .positions = positions.data(),
                                 .length = length,
                                 .limit = length,
                                 .query_heads = s.query_heads,
                                 .kv_heads = s.kv_heads,
                                 .head_dim = s.head_dim,
                                 .out = out.data(),
                                 .scratch = scratch.data()});
  CHECK(out.back() == 99.0F);
  out.pop_back();
  return out;
}

std::vector<float> as_floats(const std::vector<double>& x) {
  std::vector<float> out(x.size());
  std::transform(x.begin(), x.end(), out.begin(), [](double v) { return static_cast<float>(v); });
  return out;
}

std::vector<float> run(const scene& s) { return run(s, as_floats(s.keys), as_floats(s.queries)); }

// Slots whose number is not the reference's.
int wrong_slots(const scene& s, const std::vector<float>& got) {
  const reference expected = relevance_of(s);
  int wrong = 0;
  for (std::size_t i = 0; i < s.slots(); ++i) {
    const auto x = static_cast<double>(got[i]);
    const bool marked = s.missing[i] || s.query_positions.empty();
    bool right = std::abs(x - expected.value[i]) <= expected.slack[i];
    if (std::isnan(expected.value[i])) right = std::isnan(x);
    wrong += right && detail::is_unscored(got[i]) == marked ? 0 : 1;
  }
  return wrong;
}

struct sizes {
  std::int32_t query_heads;
  std::int32_t kv_heads;
  std::int32_t head_dim;
};

// Values of seven bits, so that every dtype holds them. The last `window` tokens ask.
scene random_scene(std::mt19937& random, const sizes& of, std::size_t slots, std::int32_t window,
                   double sharpness) {
  scene s{.query_heads = of.query_heads, .kv_heads = of.kv_heads, .head_dim = of.head_dim};
  std::int32_t at = -1;
  for (std::size_t i = 0; i < slots; ++i) {
    at += 1 + static_cast<std::int32_t>(random() % 3);  // gaps: tokens that were evicted
    s.positions.push_back(at);
  }
  for (std::int32_t q = 0; q < window; ++q) s.query_positions.push_back(at - (window - 1 - q));
  const auto value = [&] {
    return static_cast<double>(static_cast<std::int32_t>(random() % 255) - 127) / 64.0;
  };
  s.keys.resize(slots * s.key_floats());
  s.queries.resize(static_cast<std::size_t>(window) * s.query_floats());
  for (double& x : s.keys) x = value();
  for (double& x : s.queries) x = value() * sharpness;
  s.missing.assign(slots, false);
  return s;
}

// A scene in which relevance can be told by hand: one channel, so logits are products.
scene by_hand(std::vector<double> keys, std::vector<double> queries) {
  scene s;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    s.positions.push_back(static_cast<std::int32_t>(i));
  }
  s.query_positions.assign(queries.size(), static_cast<std::int32_t>(keys.size()));
  s.missing.assign(keys.size(), false);
  s.keys = std::move(keys);
  s.queries = std::move(queries);
  return s;
}

constexpr sizes all_sizes[] = {{1, 1, 1},  {1, 1, 64}, {4, 4, 8},   {8, 2, 16},
                               {6, 3, 40}, {7, 1, 96}, {4, 2, 128}, {3, 1, 300}};

// The bits of a short value in a dtype, and memory laid out with strides and poisoned gaps.
struct laid_out {
  std::vector<std::byte> bytes;
  tensor_view view;

  laid_out(dtype type, const std::vector<double>& values, std::int64_t rows, std::int64_t heads,
           std::int64_t width) {
    // [heads, rows, width] with room between channels and rows, rows backwards.
    const std::int64_t channel = 2;
    const std::int64_t row = width * channel + 3;
    const std::int64_t head = rows * row + 5;
    bytes.assign(static_cast<std::size_t>(heads * head * size_of(type)), std::byte{0xff});
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t c = 0; c < width; ++c) {
          put(type, h * head + (rows - 1 - r) * row + c * channel,
              values[static_cast<std::size_t>((r * heads + h) * width + c)]);
        }
      }
    }
    view = tensor_view{bytes.data(),          type, {rows, heads, width},
                       {-row, head, channel}, {},   (rows - 1) * row * size_of(type)};
  }
  laid_out(const laid_out&) = delete;
  laid_out& operator=(const laid_out&) = delete;

 private:
  void put(dtype type, std::int64_t element, double value) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    std::uint32_t stored = bits >> 16;  // bf16: the upper half
    if (type == dtype::f32) stored = bits;
    if (type == dtype::f16) {
      // Zero or a normal number of ten bits: the exponent moves from bias 127 to bias 15.
      const std::uint32_t rest = bits & 0x7fffffffU;
      stored = (bits >> 16 & 0x8000U) | (rest == 0 ? 0 : (rest >> 13) - ((127U - 15U) << 10));
    }
    std::byte* const at = bytes.data() + element * size_of(type);
    std::memcpy(at, &stored, static_cast<std::size_t>(size_of(type)));
  }
};

}  // namespace

TEST_CASE("relevance is the mean softmax, for any heads, window and length") {
  std::mt19937 random{1};
  for (const sizes& of : all_sizes) {
    for (const std::int32_t window : windows) {
      for (const std::size_t slots : lengths) {
        for (const double sharpness : {0.0, 0.25, 1.0, 8.0}) {
          const scene s = random_scene(random, of, slots, window, sharpness);
          CAPTURE(of.query_heads);
          CAPTURE(of.kv_heads);
          CAPTURE(of.head_dim);
          CAPTURE(window);
          CAPTURE(slots);
          CAPTURE(sharpness);
          CHECK(wrong_slots(s, run(s)) == 0);
        }
      }
    }
  }
}

TEST_CASE("every query that sees a slot hands out one whole") {
  std::mt19937 random{2};
  for (const std::int32_t window : {1, 8}) {
    scene s = random_scene(random, {4, 2, 32}, 300, window, 1.0);
    double sum = 0.0;
    for (const float x : run(s)) sum += static_cast<double>(x);
    CHECK(sum == doctest::Approx(1.0).epsilon(1e-5));
    // Half of the queries are older than every slot: they see nothing and hand out nothing.
    for (std::int32_t& p : s.positions) p += 1000;
    for (std::size_t q = 0; q < s.query_positions.size(); ++q) {
      s.query_positions[q] = q % 2 == 0 ? 5 : s.positions.back();
    }
    sum = 0.0;
    for (const float x : run(s)) sum += static_cast<double>(x);
    CHECK(sum == doctest::Approx(window == 1 ? 0.0 : 0.5).epsilon(1e-5));
  }
}

TEST_CASE("known answers") {
  // Equal keys: everyone the same.
  for (const float x : run(by_hand({0.5, 0.5, 0.5, 0.5}, {3.0}))) CHECK(x == 0.25F);
  // Logits 0 and log 3: shares 1/4 and 3/4. Two queries, the second the other way round.
  const double log3 = std::log(3.0);
  const std::vector<float> one = run(by_hand({0.0, 1.0}, {log3}));
  CHECK(one[0] == doctest::Approx(0.25).epsilon(1e-6));
  CHECK(one[1] == doctest::Approx(0.75).epsilon(1e-6));
  const std::vector<float> two = run(by_hand({0.0, 1.0}, {log3, -log3}));
  CHECK(two[0] == doctest::Approx(0.5).epsilon(1e-6));
  CHECK(two[1] == doctest::Approx(0.5).epsilon(1e-6));
  // Too far below the highest for f32.
  const std::vector<float> far = run(by_hand({0.0, -1000.0, 0.0}, {1.0}));
  CHECK(far[0] == 0.5F);
  CHECK(far[1] == 0.0F);
  CHECK(far[2] == 0.5F);
  // Large logits do not overflow.
  CHECK(run(by_hand({300.0, 300.0}, {1000.0}))[1] == 0.5F);
}

TEST_CASE("each query head reads the keys of its own KV head") {
  // Heads 0 and 1 share KV head 0, heads 2 and 3 share KV head 1; every head likes one slot.
  scene s{.query_heads = 4, .kv_heads = 2, .head_dim = 4};
  const std::int32_t liked[] = {2, 0, 1, 2};
  s.positions = {0, 1, 2};
  s.query_positions = {2};
  s.missing.assign(3, false);
  s.keys.assign(3 * 8, 0.0);
  s.queries.assign(16, 0.0);
  for (std::int32_t head = 0; head < 4; ++head) {
    s.queries[static_cast<std::size_t>(head * 4 + head)] = 100.0;
    s.key(liked[head], (head / 2) * 4 + head) = 1.0;
  }
  const std::vector<float> got = run(s);
  CHECK(got[0] == 0.25F);
  CHECK(got[1] == 0.25F);
  CHECK(got[2] == 0.5F);
}

TEST_CASE("slots after a query and keys that were never shown are invisible") {
  std::mt19937 random{3};
  for (int round = 0; round < 60; ++round) {
    const sizes& of = all_sizes[static_cast<std::size_t>(round) % std::size(all_sizes)];
    const auto window = static_cast<std::int32_t>(1 + random() % 9);
    scene s = random_scene(random, of, 20 + random() % 150, window, 1.0);
    for (std::size_t i = 0; i < s.slots(); ++i) s.missing[i] = random() % 4 == 0;
    // Queries anywhere, before the first slot and after the last too, still ascending.
    for (std::int32_t& p : s.query_positions) {
      p = static_cast<std::int32_t>(random() % static_cast<unsigned>(s.positions.back() + 5)) - 1;
    }
    std::sort(s.query_positions.begin(), s.query_positions.end());
    CAPTURE(round);
    const std::vector<float> got = run(s);
    CHECK(wrong_slots(s, got) == 0);
    // What is invisible to all may hold anything: nobody else's number changes.
    std::vector<float> keys = as_floats(s.keys);
    for (std::size_t i = 0; i < s.slots(); ++i) {
      const bool after_all = s.positions[i] > s.query_positions.back();
      if (!after_all && !s.missing[i]) continue;
      for (std::size_t c = 0; c < s.key_floats(); ++c) {
        keys[i * s.key_floats() + c] = std::numeric_limits<float>::quiet_NaN();
      }
    }
    const std::vector<float> poisoned = run(s, keys, as_floats(s.queries));
    CHECK(std::memcmp(poisoned.data(), got.data(), got.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("without queries nobody has a number; with all keys missing neither") {
  std::mt19937 random{4};
  scene s = random_scene(random, {4, 2, 8}, 30, 0, 1.0);
  for (const float x : run(s)) CHECK(detail::is_unscored(x));
  s = random_scene(random, {4, 2, 8}, 30, 3, 1.0);
  s.missing.assign(30, true);
  for (const float x : run(s)) CHECK(detail::is_unscored(x));
  CHECK(run(random_scene(random, {4, 2, 8}, 0, 0, 1.0)).empty());
}

TEST_CASE("a bad number makes its whole row NaN, as in any softmax, and no mark") {
  std::mt19937 random{5};
  for (const double bad : {std::nan(""), infinity, -infinity}) {
    for (const std::int32_t slot : {0, 7, 139}) {
      scene s = random_scene(random, {4, 2, 16}, 140, 4, 1.0);
      s.key(slot, 3) = bad;
      const std::vector<float> got = run(s);
      CAPTURE(bad);
      CAPTURE(slot);
      CHECK(wrong_slots(s, got) == 0);
      for (const float x : got) CHECK_FALSE(detail::is_unscored(x));
    }
    // In a query: its head alone is lost, which is enough for the mean.
    scene s = random_scene(random, {4, 2, 16}, 140, 4, 1.0);
    s.queries[5] = bad;
    CHECK(wrong_slots(s, run(s)) == 0);
  }
}

TEST_CASE("keys and queries stored from any dtype and stride give the same bits as from f32") {
  std::mt19937 random{6};
  for (const sizes& of : all_sizes) {
    const std::int32_t window = 5;
    const std::int64_t slots = 150;
    const scene s = random_scene(random, of, static_cast<std::size_t>(slots), window, 0.5);
    const std::vector<float> plain = run(s);
    CHECK(wrong_slots(s, plain) == 0);
    for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16}) {
      const laid_out keys{type, s.keys, slots, of.kv_heads, of.head_dim};
      const laid_out queries{type, s.queries, window, of.query_heads, of.head_dim};
      const auto stored = [&](const laid_out& from, std::int64_t rows, std::int32_t heads) {
        std::vector<float> out(static_cast<std::size_t>(rows * heads * of.head_dim));
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t h = 0; h < heads; ++h) {
            cpu_backend::run(store_job{row_of(from.view, r, h), of.head_dim,
                                       out.data() + (r * heads + h) * of.head_dim});
          }
        }
        return out;
      };
      CAPTURE(to_string(type));
      const std::vector<float> got =
          run(s, stored(keys, slots, of.kv_heads), stored(queries, window, of.query_heads));
      CHECK(std::memcmp(got.data(), plain.data(), plain.size() * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("the score shows the job what it was shown, whatever the layout") {
  // From rows to numbers: an evictor by type, prompt in chunks, then single tokens.
  const model_shape shape{
      .layers = 3, .query_heads = 4, .kv_heads = 2, .head_dim = 8, .hidden = 16};
  std::mt19937 random{7};
  for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16}) {
    for (const std::int32_t window : {1, 3, 8}) {
      CAPTURE(to_string(type));
      CAPTURE(window);
      const relevance score{.layer = 1, .window = window};
      evictor<relevance, top_k, cpu_backend> ev{
          shape, score, {}, {}, {.budget = 1000, .recent = window}};
      const sequence_id id{3};
      REQUIRE(ev.add(id, 12).ok());
      // Of all 40 tokens the last `window` ask; the rest of the queries must not matter.
      const scene all = random_scene(random, {4, 2, 8}, 40, 40, 1.0);
      for (std::int32_t first = 0; first < 40;) {
        const std::int32_t n = first < 12 ? 6 : first < 36 ? 4 : 1;
        REQUIRE(ev.begin_step(id, n).ok());
        const auto part = [&](const std::vector<double>& of, std::size_t width) {
          const auto from = of.begin() + static_cast<std::ptrdiff_t>(width) * first;
          return std::vector<double>(from, from + static_cast<std::ptrdiff_t>(width) * n);
        };
        const laid_out keys{type, part(all.keys, all.key_floats()), n, 2, 8};
        const laid_out queries{type, part(all.queries, all.query_floats()), n, 4, 8};
        REQUIRE(ev.observe(1, {.keys = keys.view, .queries = queries.view}).ok());
        REQUIRE(ev.select().ok());
        first += n;
      }
      scene seen = all;
      for (std::int32_t i = 0; i < 40; ++i) seen.positions[static_cast<std::size_t>(i)] = i;
      seen.query_positions.clear();
      for (std::int32_t i = 40 - window; i < 40; ++i) seen.query_positions.push_back(i);
      seen.queries.erase(
          seen.queries.begin(),
          seen.queries.end() - static_cast<std::ptrdiff_t>(all.query_floats()) * window);
      std::vector<float> got(40);
      const auto written = ev.scores(id, 0, "score", got);
      REQUIRE(written.ok());
      CHECK(*written == 40);
      CHECK(wrong_slots(seen, got) == 0);
    }
  }
}

TEST_CASE("a blend standardises each number over its decode slots") {
  std::mt19937 random{8};
  for (int round = 0; round < 200; ++round) {
    const std::size_t length = 1 + random() % 300;
    const std::size_t first = random() % (length + 1);
    std::vector<float> a(length);
    std::vector<float> b(length);
    for (std::vector<float>* x : {&a, &b}) {
      for (float& v : *x) {
        v = static_cast<float>(random() % 20000) / 1000.0F - 5.0F;
        if (random() % 8 == 0) v = detail::unscored();
        if (random() % 16 == 0) v = std::numeric_limits<float>::quiet_NaN();
        if (random() % 16 == 0) v = std::numeric_limits<float>::infinity();
      }
    }
    const bool both = round % 3 != 0;
    const float weight = round % 2 == 0 ? 1.0F : -0.75F;
    std::vector<float> out(length, 99.0F);
    cpu_backend::run(blend_job{.a = both ? a.data() : nullptr,
                               .b = b.data(),
                               .weight_b = weight,
                               .first = static_cast<std::int32_t>(first),
                               .length = static_cast<std::int32_t>(length),
                               .out = out.data()});
    const auto standardised = [&](const std::vector<float>& x) {
      std::vector<long double> finite;
      for (std::size_t i = first; i < length; ++i) {
        if (std::isfinite(x[i])) finite.push_back(x[i]);
      }
      const auto n = static_cast<long double>(finite.size());
      long double mean = 0.0L;
      long double squares = 0.0L;
      for (const long double v : finite) mean += v / n;
      for (const long double v : finite) squares += (v - mean) * (v - mean);
      std::vector<long double> z(length);
      for (std::size_t i = 0; i < length; ++i) {
        const bool alone = finite.size() < 2;
        const long double deviation = alone ? 0.0L : std::sqrt(squares / (n - 1.0L));
        z[i] = (x[i] - (alone ? 0.0L : mean)) / (deviation + 1e-6L);
        if (alone && std::isfinite(x[i])) z[i] = 0.0L;
      }
      return z;
    };
    const std::vector<long double> z_a = standardised(a);
    const std::vector<long double> z_b = standardised(b);
    int wrong = 0;
    for (std::size_t i = 0; i < length; ++i) {
      const bool mark =
          i < first || detail::is_unscored(b[i]) || (both && detail::is_unscored(a[i]));
      const auto expected = static_cast<double>(weight * z_b[i] + (both ? z_a[i] : 0.0L));
      const auto got = static_cast<double>(out[i]);
      bool right = got == expected || std::abs(got - expected) <= 1e-6 * (1.0 + std::abs(expected));
      if (std::isnan(expected) || mark) right = std::isnan(got);
      wrong += right && detail::is_unscored(out[i]) == mark ? 0 : 1;
    }
    CAPTURE(round);
    CHECK(wrong == 0);
  }
}
