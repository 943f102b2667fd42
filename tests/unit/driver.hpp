// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "epikv/epikv.hpp"

// A host in miniature: shows an evictor every signal it wants, with contents that are a pure
// function of (seed, sequence, position, layer, signal), and applies what it selects. Allocates
// nothing after its construction, so that what a test counts is the library's.

namespace epikv_test {

/// splitmix64: one well-mixed word per call.
class random_source {
 public:
  explicit random_source(std::uint64_t seed) noexcept : state_{seed} {}
  std::uint64_t bits() noexcept {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }
  /// Uniform in [-1, 1), exact whatever the compiler contracts.
  float unit() noexcept { return static_cast<float>(bits() >> 40) * 0x1p-23F - 1.0F; }
  /// Uniform in [0, n).
  std::int32_t below(std::int32_t n) noexcept {
    return static_cast<std::int32_t>(bits() % static_cast<std::uint64_t>(n));
  }

 private:
  std::uint64_t state_;
};

/// FNV-1a over 64 bits.
class hash {
 public:
  void add(std::uint64_t value) noexcept {
    for (int i = 0; i < 8; ++i) state_ = (state_ ^ ((value >> (8 * i)) & 0xFFU)) * 0x100000001B3U;
  }
  void add(float value) noexcept { add(std::uint64_t{std::bit_cast<std::uint32_t>(value)}); }
  [[nodiscard]] std::uint64_t value() const noexcept { return state_; }

 private:
  std::uint64_t state_ = 0xCBF29CE484222325U;
};

/// The contents of the signals of one layer at a time.
class feed {
 public:
  feed(const epikv::model_shape& shape, std::int32_t most_rows, std::uint64_t seed)
      : shape_{shape}, seed_{seed} {
    const auto rows = static_cast<std::size_t>(most_rows);
    for (std::size_t s = 0; s < signals; ++s) data_[s].resize(rows * width(s));
  }

  /// Writes row `row` of every signal in `wanted`: token `position` of `sequence` at `layer`.
  void write(epikv::signal_set wanted, std::int64_t row, epikv::sequence_id sequence,
             std::int32_t position, std::int32_t layer) noexcept {
    for (std::size_t s = 0; s < signals; ++s) {
      if (!wanted.contains(static_cast<epikv::signal_id>(s))) continue;
      std::uint64_t key = seed_;
      for (const std::int64_t part : {epikv::to_int(sequence), std::int64_t{position},
                                      std::int64_t{layer}, static_cast<std::int64_t>(s)}) {
        key = random_source{key ^ static_cast<std::uint64_t>(part)}.bits();
      }
      random_source random{key};
      const auto first = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(row) * width(s));
      const auto count = static_cast<std::ptrdiff_t>(width(s));
      // A scale per token, so that tokens differ in norm and variance too.
      const float scale = 1.0F + random.unit() * 0.5F;
      for (std::ptrdiff_t i = 0; i < count; ++i) {
        const float x = random.unit() * scale;
        data_[s][static_cast<std::size_t>(first + i)] = s == 5 ? x * x : x;
      }
    }
  }

  [[nodiscard]] epikv::layer_signals rows(std::int64_t count) const noexcept {
    const std::int64_t kv = shape_.kv_heads;
    const std::int64_t heads = shape_.query_heads;
    const std::int64_t dim = shape_.head_dim;
    return {.hidden_in = {data_[0].data(), {count, shape_.hidden}},
            .hidden_out = {data_[1].data(), {count, shape_.hidden}},
            .keys = {data_[2].data(), {count, kv, dim}},
            .values = {data_[3].data(), {count, kv, dim}},
            .queries = {data_[4].data(), {count, heads, dim}},
            .attention = {data_[5].data(), {count, heads, attention_slots}}};
  }

 private:
  static constexpr std::size_t signals = 6;  // all but the log-sum-exp
  static constexpr std::int64_t attention_slots = 448;

  [[nodiscard]] std::size_t width(std::size_t signal) const noexcept {
    const std::size_t dim =
        signal == 5 ? attention_slots : static_cast<std::size_t>(shape_.head_dim);
    if (signal < 2) return static_cast<std::size_t>(shape_.hidden);
    if (signal == 2 || signal == 3) return static_cast<std::size_t>(shape_.kv_heads) * dim;
    return static_cast<std::size_t>(shape_.query_heads) * dim;
  }

  epikv::model_shape shape_;
  std::uint64_t seed_;
  std::array<std::vector<float>, signals> data_;
};

/// One step of a batch up to its selection: `tokens[i]` is how many tokens sequence i has seen and
/// grows by what the step brings.
template <class Evictor>
epikv::status show_step(Evictor& ev, feed& source, std::span<const epikv::step_sequence> batch,
                        std::span<std::int32_t> tokens) noexcept {
  EPIKV_RETURN_IF_ERROR(ev.begin_step(batch));
  std::int64_t rows = 0;
  for (const epikv::step_sequence& part : batch) rows += part.new_tokens;
  for (std::int32_t layer = 0; layer < ev.shape().layers; ++layer) {
    const epikv::signal_set wanted = ev.wants(layer);
    std::int64_t row = 0;
    for (std::size_t b = 0; b < batch.size(); ++b) {
      for (std::int32_t i = 0; i < batch[b].new_tokens; ++i, ++row) {
        source.write(wanted, row, batch[b].sequence, tokens[b] + i, layer);
      }
    }
    EPIKV_RETURN_IF_ERROR(ev.observe(layer, source.rows(rows)));
  }
  for (std::size_t b = 0; b < batch.size(); ++b) tokens[b] += batch[b].new_tokens;
  return {};
}

/// A whole step. `see(selection)` is called before the commit.
template <class Evictor, class See>
epikv::status run_step(Evictor& ev, feed& source, std::span<const epikv::step_sequence> batch,
                       std::span<std::int32_t> tokens, See&& see) noexcept {
  EPIKV_RETURN_IF_ERROR(show_step(ev, source, batch, tokens));
  const epikv::result<epikv::selection> chosen = ev.select();
  if (!chosen) return chosen.status();
  see(*chosen);
  return ev.commit(*chosen);
}

/// Everything a selection says, into `into`.
inline void add_selection(hash& into, const epikv::selection& chosen) noexcept {
  for (const epikv::sequence_selection& part : chosen) {
    into.add(static_cast<std::uint64_t>(epikv::to_int(part.sequence())));
    into.add(static_cast<std::uint64_t>(part.over_budget()));
    for (const epikv::group_selection& group : part.groups()) {
      for (const epikv::slot s : group.kept()) into.add(static_cast<std::uint64_t>(to_int(s)));
      into.add(~std::uint64_t{0});
      for (const epikv::slot s : group.evicted()) into.add(static_cast<std::uint64_t>(to_int(s)));
    }
  }
}

/// Positions and, in host memory, scores of every group of a sequence, bit for bit.
template <class Evictor>
void add_state(hash& into, Evictor& ev, epikv::sequence_id sequence, std::int32_t groups,
               std::span<float> room) noexcept {
  for (std::int32_t g = 0; g < groups; ++g) {
    const auto positions = ev.positions(sequence, g);
    if (!positions) return into.add(std::uint64_t{0xBAD});
    for (const epikv::position p : *positions) into.add(static_cast<std::uint64_t>(to_int(p)));
    const auto count = ev.scores(sequence, g, "score", room);
    if (!count) return into.add(std::uint64_t{0xBAD});
    for (const float x : room.first(static_cast<std::size_t>(*count))) into.add(x);
  }
}

}  // namespace epikv_test
