// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "kv_cache.hpp"
#include "numerics.hpp"
#include "result.hpp"
#include "types.hpp"
#include "weights.hpp"

namespace mini {

/// What one layer did with a chunk of `tokens` tokens. All views are row-major float32, point into
/// the decoder and are valid during the call of the observer only.
struct layer_tap {
  std::size_t tokens;
  std::span<const position> positions;   // [tokens]
  std::span<const float> hidden_in;      // [tokens, hidden]
  std::span<const float> hidden_out;     // [tokens, hidden]
  std::span<const float> keys;           // [tokens, kv_heads, head_dim], rotated
  std::span<const float> values;         // [tokens, kv_heads, head_dim]
  std::span<const float> queries;        // [tokens, query_heads, head_dim], rotated
  std::span<const float> probabilities;  // [tokens, query_heads, slots], 0 for unseen slots
  std::size_t slots;                     // at least the length of the layer's longest group
};

/// The observer of a host that does not look.
struct no_observer {
  void operator()(std::size_t, const layer_tap&) const noexcept {}
};

/// Which tokens of a chunk get logits.
enum class logits_of { last_token, every_token };

/// The forward pass of a llama model: RMSNorm, rotary positions, grouped-query attention and
/// SwiGLU. It holds scratch memory and no sequence: one decoder may serve many caches in turn.
/// Memory is allocated when a chunk or a cache is larger than all before, so decoding allocates
/// nothing.
class decoder {
 public:
  /// The weights must outlive the decoder.
  explicit decoder(const weights& model) : model_(&model) {}

  const config& shape() const noexcept { return model_->shape; }

  /// Makes room for chunks of `tokens` tokens with caches of `capacity` slots.
  void reserve(std::size_t tokens, std::size_t capacity);

  /// Computes a chunk of one or more tokens at the given positions, [n] each.
  ///
  /// The chunk's keys and values are appended to every group of the cache; a token attends to the
  /// slots that were live before, whatever they hold, and to the chunk up to itself. Positions
  /// rotate queries and keys and mean nothing else. The observer is called once per layer, in
  /// order, as observer(layer, tap), after the layer and before the next.
  ///
  /// Returns the logits of the last token [vocab] or of every token [n, vocab], valid until the
  /// next call. On an error (empty chunk, unknown token, full or foreign cache) nothing changed.
  template <class Observer = no_observer>
  expected<std::span<const float>> forward(std::span<const token> tokens,
                                           std::span<const position> positions, kv_cache& cache,
                                           Observer&& observer = {},
                                           logits_of wanted = logits_of::last_token);

  /// The same for tokens at consecutive positions from `first`.
  template <class Observer = no_observer>
  expected<std::span<const float>> forward(std::span<const token> tokens, position first,
                                           kv_cache& cache, Observer&& observer = {},
                                           logits_of wanted = logits_of::last_token) {
    reserve(tokens.size(), 0);
    positions_.resize(tokens.size());
    std::iota(positions_.begin(), positions_.end(), first);
    return forward(tokens, positions_, cache, observer, wanted);
  }

 private:
  expected<void> check(std::span<const token> tokens, std::span<const position> positions,
                       const kv_cache& cache) const;
  void attention(std::size_t layer, std::size_t n, kv_cache& cache);
  void feed_forward(std::size_t layer, std::size_t n);

  // Rows of probabilities start at multiples of 64 bytes: a sum in vectors starts at an aligned
  // address, and so takes its terms in an order that does not depend on the row.
  static std::size_t padded(std::size_t slots) noexcept { return (slots + 15) / 16 * 16; }

  // Row t of a scratch matrix.
  static float* row(matrix& m, std::size_t t) noexcept {
    return m.data() + static_cast<Eigen::Index>(t) * m.cols();
  }
  static std::span<const float> rows(const matrix& m, std::size_t n) noexcept {
    return {m.data(), n * static_cast<std::size_t>(m.cols())};
  }

  const weights* model_;
  std::size_t tokens_ = 0;    // room in the scratch memory
  std::size_t capacity_ = 0;  // room in the scratch memory
  std::size_t slots_ = 0;     // row length of the probabilities in this layer
  std::vector<position> positions_;
  matrix in_, out_;         // hidden states before and after the layer, [tokens, hidden]
  matrix queries_;          // [tokens, query_heads * head_dim]
  matrix keys_, values_;    // [tokens, kv_heads * head_dim]
  matrix cosines_, sines_;  // [tokens, head_dim / 2]
  vector probabilities_;    // [tokens, query_heads, slots_]
  vector normed_, mixed_;   // one token: normalised hidden state, attention of all heads
  vector gate_, up_;        // one token: [feed_forward]
  matrix logits_;           // [tokens, vocab]
};

inline void decoder::reserve(std::size_t tokens, std::size_t capacity) {
  if (tokens <= tokens_ && capacity <= capacity_) return;
  tokens_ = std::max(tokens, tokens_);
  capacity_ = std::max(capacity, capacity_);
  const auto index = [](std::size_t n) { return static_cast<Eigen::Index>(n); };
  const auto n = index(tokens_);
  const auto& s = shape();
  positions_.reserve(tokens_);
  in_.resize(n, index(s.hidden));
  out_.resize(n, index(s.hidden));
  queries_.resize(n, index(s.query_size()));
  keys_.resize(n, index(s.kv_size()));
  values_.resize(n, index(s.kv_size()));
  cosines_.resize(n, index(s.head_dim / 2));
  sines_.resize(n, index(s.head_dim / 2));
  probabilities_.resize(n * index(s.query_heads * padded(capacity_)));
  normed_.resize(index(s.hidden));
  mixed_.resize(index(s.query_size()));
  gate_.resize(index(s.feed_forward));
  up_.resize(index(s.feed_forward));
  logits_.resize(n, index(s.vocab));
}

inline expected<void> decoder::check(std::span<const token> tokens,
                                     std::span<const position> positions,
                                     const kv_cache& cache) const {
  const auto& s = shape();
  if (tokens.empty()) return fail("a chunk needs at least one token");
  if (positions.size() != tokens.size()) {
    return fail(tokens.size(), " tokens with ", positions.size(), " positions");
  }
  for (const token id : tokens) {
    if (id < 0 || static_cast<std::size_t>(id) >= s.vocab) {
      return fail("token ", id, " is outside of the vocabulary of ", s.vocab);
    }
  }
  if (cache.layers() != s.layers || cache.kv_heads() != s.kv_heads ||
      cache.head_dim() != s.head_dim) {
    return fail("the cache was made for a model of another shape");
  }
  if (tokens.size() > cache.capacity() - cache.length()) {
    return fail("the cache is full: ", cache.length(), " of ", cache.capacity(),
                " slots are live and ", tokens.size(), " tokens arrive");
  }
  return {};
}

template <class Observer>
expected<std::span<const float>> decoder::forward(std::span<const token> tokens,
                                                  std::span<const position> positions,
                                                  kv_cache& cache, Observer&& observer,
                                                  logits_of wanted) {
  if (auto checked = check(tokens, positions, cache); !checked) return checked.reason();
  const std::size_t n = tokens.size();
  const auto& s = shape();
  reserve(n, cache.capacity());

  for (std::size_t t = 0; t < n; ++t) {
    as_vector(row(in_, t), s.hidden) = model_->token_embd.row(tokens[t]).transpose();
    rotary_angles(positions[t], s.rope_base, s.head_dim, row(cosines_, t), row(sines_, t));
  }
  for (std::size_t layer = 0; layer < s.layers; ++layer) {
    attention(layer, n, cache);
    feed_forward(layer, n);
    const std::span<const float> probabilities(probabilities_.data(), n * s.query_heads * slots_);
    observer(layer, layer_tap{n, positions, rows(in_, n), rows(out_, n), rows(keys_, n),
                              rows(values_, n), rows(queries_, n), probabilities, slots_});
    in_.swap(out_);  // pointers, not elements
  }
  const std::size_t first = wanted == logits_of::every_token ? 0 : n - 1;
  for (std::size_t t = first; t < n; ++t) {
    rms_norm(row(in_, t), model_->output_norm, s.rms_eps, normed_.data());
    project(model_->head(), normed_.data(), row(logits_, t));
  }
  return rows(logits_, n).subspan(first * s.vocab);
}

// out = in + the attention of the chunk.
inline void decoder::attention(std::size_t layer, std::size_t n, kv_cache& cache) {
  const auto& s = shape();
  const auto& w = model_->layers[layer];
  for (std::size_t t = 0; t < n; ++t) {
    rms_norm(row(in_, t), w.attn_norm, s.rms_eps, normed_.data());
    project(w.attn_q, normed_.data(), row(queries_, t));
    project(w.attn_k, normed_.data(), row(keys_, t));
    project(w.attn_v, normed_.data(), row(values_, t));
    rotate(row(queries_, t), s.query_heads, s.head_dim, row(cosines_, t), row(sines_, t));
    rotate(row(keys_, t), s.kv_heads, s.head_dim, row(cosines_, t), row(sines_, t));
  }

  // The whole chunk is stored before any of it attends; that a token does not see its successors
  // is a matter of how many slots it reads.
  slots_ = 0;
  for (std::size_t head = 0; head < s.kv_heads; ++head) {
    for (std::size_t t = 0; t < n; ++t) {
      cache.append(layer, head, row(keys_, t) + head * s.head_dim,
                   row(values_, t) + head * s.head_dim);
    }
    slots_ = std::max(slots_, padded(cache.length(layer, head)));
  }

  for (std::size_t t = 0; t < n; ++t) {
    for (std::size_t query = 0; query < s.query_heads; ++query) {
      const std::size_t head = query / s.group_size();
      const std::size_t seen = cache.length(layer, head) - (n - 1 - t);
      float* probabilities = probabilities_.data() + (t * s.query_heads + query) * slots_;
      attend(row(queries_, t) + query * s.head_dim, cache.keys(layer, head),
             cache.values(layer, head), seen, s.head_dim, probabilities,
             mixed_.data() + query * s.head_dim);
      std::fill(probabilities + seen, probabilities + slots_, 0.0f);
    }
    std::copy_n(row(in_, t), s.hidden, row(out_, t));
    project_add(w.attn_output, mixed_.data(), row(out_, t));
  }
}

// out += the feed-forward network of out.
inline void decoder::feed_forward(std::size_t layer, std::size_t n) {
  const auto& s = shape();
  const auto& w = model_->layers[layer];
  for (std::size_t t = 0; t < n; ++t) {
    rms_norm(row(out_, t), w.ffn_norm, s.rms_eps, normed_.data());
    project(w.ffn_gate, normed_.data(), gate_.data());
    project(w.ffn_up, normed_.data(), up_.data());
    swiglu(gate_.data(), up_.data(), s.feed_forward);
    project_add(w.ffn_down, gate_.data(), row(out_, t));
  }
}

}  // namespace mini
