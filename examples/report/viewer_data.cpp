// SPDX-License-Identifier: MIT

// What viewer.js reads: one object with the tokens and, for each selection, two texts in base 64
// that hold variable-length integers (7 bits to the byte, low ones first):
//
//   e   the evicted tokens: their count, then ascending indices, each as the distance from the one
//       before
//   d   the scored tokens: 1 if they are exactly those that are live before the eviction, else 0,
//       the number of runs and for each run the distance from the end of the one before and its
//       length; 0 or 1 for slots, and with slots, as runs, by how much each differs from the slot
//       before plus one; then for the score and each part the differences of the 24-bit codes from
//       the same token's code one selection earlier (or from the code of 0 after a key selection),
//       where 0 is followed by the number of further 0
//
// Signed numbers are folded: 0, -1, 1, -2 become 0, 1, 2, 3.

#include "viewer_data.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "text.hpp"

namespace report::detail {

namespace {

using nlohmann::ordered_json;

constexpr std::uint32_t code_of_zero = 0x800000;
constexpr std::uint32_t size_of_infinity = 0x7F8000;  // the upper bits of its pattern

class byte_stream {
 public:
  void put(std::uint64_t value) {
    while (value >= 0x80) {
      bytes_.push_back(static_cast<std::uint8_t>(value | 0x80));
      value >>= 7;
    }
    bytes_.push_back(static_cast<std::uint8_t>(value));
  }
  void put_signed(std::int64_t value) {
    put((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  [[nodiscard]] std::string text() const { return base64(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

// What is known of a group's tokens while its selections are encoded in order.
struct group_state {
  std::vector<bool> gone;                         // evicted before
  std::vector<std::vector<std::uint32_t>> codes;  // score and parts, of the selection before
};

class encoder {
 public:
  explicit encoder(const retention_trace& trace) : trace_(trace) {}

  mini::expected<ordered_json> group(const retention_group& g) {
    group_state state;
    state.gone.assign(trace_.tokens.size(), false);
    state.codes.assign(1 + trace_.part_names.size(),
                       std::vector<std::uint32_t>(trace_.tokens.size(), code_of_zero));
    ordered_json steps = ordered_json::array();
    std::int64_t seen = 0;
    for (std::size_t i = 0; i < g.steps.size(); ++i) {
      const selection_step& s = g.steps[i];
      const auto refuse = [&](const auto&... why) {
        return mini::fail("group ", mini::in_quotes(valid_utf8(g.name)), ", step ", s.step, ": ",
                          why...);
      };
      if (i > 0 && s.step <= g.steps[i - 1].step) return refuse("steps must ascend");
      if (s.tokens_seen < seen || std::cmp_greater(s.tokens_seen, trace_.tokens.size())) {
        return refuse(s.tokens_seen, " tokens seen, expected ", seen, " to ", trace_.tokens.size());
      }
      seen = s.tokens_seen;
      const std::size_t n = s.positions.size();
      if (s.scores.size() != n || (!s.slots.empty() && s.slots.size() != n) ||
          s.parts.size() != n * trace_.part_names.size()) {
        return refuse(n, " positions, but ", s.scores.size(), " scores, ", s.slots.size(),
                      " slots and ", s.parts.size(), " parts");
      }
      if (i % key_interval == 0) {
        for (auto& column : state.codes) std::fill(column.begin(), column.end(), code_of_zero);
      }
      auto scored = indices(s.positions, s.tokens_seen, state);
      if (!scored) return refuse("scored ", scored.error());
      auto evicted = indices(s.evicted, s.tokens_seen, state);
      if (!evicted) return refuse("evicted ", evicted.error());
      ordered_json packed;
      packed["n"] = s.step;
      packed["seen"] = s.tokens_seen;
      packed["d"] = scores(s, *scored, state);
      packed["e"] = evictions(*evicted, state);
      steps.push_back(std::move(packed));
    }
    return ordered_json{{"name", valid_utf8(g.name)}, {"steps", std::move(steps)}};
  }

 private:
  // Of an entry of a step: the token's index and the place in the step's vectors.
  struct entry {
    std::size_t token;
    std::size_t place;
  };

  // By ascending token.
  mini::expected<std::vector<entry>> indices(const std::vector<std::int64_t>& positions,
                                             std::int64_t seen, const group_state& state) const {
    std::vector<entry> out;
    out.reserve(positions.size());
    const auto begin = trace_.tokens.begin();
    const auto end = begin + static_cast<std::ptrdiff_t>(seen);
    bool ascending = true;
    for (const std::int64_t position : positions) {
      const auto found = std::lower_bound(
          begin, end, position,
          [](const retention_token& token, std::int64_t p) { return token.position < p; });
      if (found == end || found->position != position) {
        return mini::fail("position ", position, " is not among the tokens seen");
      }
      const auto token = static_cast<std::size_t>(found - begin);
      if (state.gone[token]) return mini::fail("position ", position, " was evicted before");
      ascending = ascending && (out.empty() || out.back().token < token);
      out.push_back({token, out.size()});
    }
    if (ascending) return out;
    std::sort(out.begin(), out.end(),
              [](const entry& a, const entry& b) { return a.token < b.token; });
    const auto twice = std::adjacent_find(
        out.begin(), out.end(), [](const entry& a, const entry& b) { return a.token == b.token; });
    if (twice != out.end()) {
      return mini::fail("position ", trace_.tokens[twice->token].position, " twice");
    }
    return out;
  }

  std::string scores(const selection_step& s, const std::vector<entry>& scored,
                     group_state& state) const {
    byte_stream out;
    put_tokens(out, s, scored, state);
    put_slots(out, s, scored);
    const std::size_t parts = trace_.part_names.size();
    for (std::size_t column = 0; column <= parts; ++column) {
      std::uint64_t zeros = 0;
      const auto flush = [&out, &zeros] {
        if (zeros == 0) return;
        out.put(0);
        out.put(zeros - 1);
        zeros = 0;
      };
      for (const entry& e : scored) {
        const float value = column == 0 ? s.scores[e.place] : s.parts[e.place * parts + column - 1];
        std::uint32_t& before = state.codes[column][e.token];
        const std::uint32_t code = float_code(value);
        if (code == before) {
          ++zeros;
          continue;
        }
        flush();
        out.put_signed(std::int64_t{code} - std::int64_t{before});
        before = code;
      }
      flush();
    }
    return out.text();
  }

  void put_tokens(byte_stream& out, const selection_step& s, const std::vector<entry>& scored,
                  const group_state& state) const {
    const auto live = std::count(state.gone.begin(), state.gone.begin() + s.tokens_seen, false);
    // Scored tokens are live, so equal numbers mean equal sets.
    if (std::cmp_equal(live, scored.size())) {
      out.put(1);
      return;
    }
    std::vector<std::pair<std::size_t, std::size_t>> runs;  // first, length
    for (const entry& e : scored) {
      if (runs.empty() || runs.back().first + runs.back().second != e.token) {
        runs.emplace_back(e.token, 0);
      }
      ++runs.back().second;
    }
    out.put(0);
    out.put(runs.size());
    std::size_t end = 0;
    for (const auto& run : runs) {
      out.put(run.first - end);
      out.put(run.second);
      end = run.first + run.second;
    }
  }

  static void put_slots(byte_stream& out, const selection_step& s,
                        const std::vector<entry>& scored) {
    out.put(s.slots.empty() ? 0 : 1);
    if (s.slots.empty()) return;
    std::vector<std::pair<std::int64_t, std::uint64_t>> runs;  // difference, length
    std::int64_t expected = 0;
    for (const entry& e : scored) {
      const std::int64_t difference = s.slots[e.place] - expected;
      expected = std::int64_t{s.slots[e.place]} + 1;
      if (runs.empty() || runs.back().first != difference) runs.emplace_back(difference, 0);
      ++runs.back().second;
    }
    for (const auto& run : runs) {
      out.put_signed(run.first);
      out.put(run.second);
    }
  }

  std::string evictions(const std::vector<entry>& evicted, group_state& state) const {
    byte_stream out;
    out.put(evicted.size());
    std::size_t before = 0;
    for (const entry& e : evicted) {
      out.put(e.token - before);
      before = e.token;
      state.gone[e.token] = true;
    }
    return out.text();
  }

  const retention_trace& trace_;
};

// Safe inside <script>: these characters occur in strings only, where JSON knows an escape.
std::string without_markup(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    switch (c) {
      case '<': out += "\\u003c"; break;
      case '>': out += "\\u003e"; break;
      case '&': out += "\\u0026"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace

std::uint32_t float_code(float value) noexcept {
  if (std::isnan(value)) return 0;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFU;
  std::uint32_t size = (bits + 0x80U) >> 8;
  if (std::isfinite(value)) size = std::min(size, size_of_infinity - 1);
  return value < 0 ? code_of_zero - size : code_of_zero + size;
}

float float_of(std::uint32_t code) noexcept {
  if (code == 0) return std::numeric_limits<float>::quiet_NaN();
  const std::uint32_t size = code < code_of_zero ? code_of_zero - code : code - code_of_zero;
  const auto value = std::bit_cast<float>(size << 8);
  return code < code_of_zero ? -value : value;
}

std::string base64(const std::vector<std::uint8_t>& bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = std::uint32_t{bytes[i]} << 16;
    if (left > 1) group |= std::uint32_t{bytes[i + 1]} << 8;
    if (left > 2) group |= bytes[i + 2];
    out += digits[group >> 18];
    out += digits[(group >> 12) & 63U];
    out += left > 1 ? digits[(group >> 6) & 63U] : '=';
    out += left > 2 ? digits[group & 63U] : '=';
  }
  return out;
}

mini::expected<std::string> viewer_json(const retention_trace& trace) {
  ordered_json texts = ordered_json::array();
  ordered_json positions = ordered_json::array();
  ordered_json runs = ordered_json::array();  // lengths of prompt, generated, prompt, ...
  bool generated = false;
  std::size_t run = 0;
  for (std::size_t i = 0; i < trace.tokens.size(); ++i) {
    const retention_token& token = trace.tokens[i];
    if (i > 0 && token.position <= trace.tokens[i - 1].position) {
      return mini::fail("token ", i, ": positions must ascend");
    }
    texts.push_back(valid_utf8(token.text));
    positions.push_back(token.position);
    if (token.generated != generated) {
      runs.push_back(std::exchange(run, 0));
      generated = token.generated;
    }
    ++run;
  }
  runs.push_back(run);
  ordered_json parts = ordered_json::array();
  for (const std::string& name : trace.part_names) parts.push_back(valid_utf8(name));

  ordered_json groups = ordered_json::array();
  encoder e(trace);
  for (const retention_group& g : trace.groups) {
    auto encoded = e.group(g);
    if (!encoded) return encoded.reason();
    groups.push_back(*std::move(encoded));
  }
  ordered_json out;
  out["version"] = 1;
  out["budget"] = trace.budget;
  out["key"] = key_interval;
  out["parts"] = std::move(parts);
  out["texts"] = std::move(texts);
  out["positions"] = std::move(positions);
  out["runs"] = std::move(runs);
  out["groups"] = std::move(groups);
  return without_markup(out.dump());
}

}  // namespace report::detail
