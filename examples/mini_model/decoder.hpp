// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include "kv_cache.hpp"
#include "result.hpp"
#include "types.hpp"
#include "weights.hpp"

namespace mini {

/// What one layer did with the `tokens` tokens of a step, those of its chunks one after the other.
/// All views are row-major float32, point into the decoder and are valid during the call of the
/// observer only.
struct layer_tap {
  std::size_t tokens;
  std::span<const position> positions;   // [tokens]
  std::span<const float> hidden_in;      // [tokens, hidden]
  std::span<const float> hidden_out;     // [tokens, hidden]
  std::span<const float> keys;           // [tokens, kv_heads, head_dim], rotated
  std::span<const float> values;         // [tokens, kv_heads, head_dim]
  std::span<const float> queries;        // [tokens, query_heads, head_dim], rotated
  std::span<const float> probabilities;  // [tokens, query_heads, slots], 0 for unseen slots; empty
                                         // unless asked for by show_probabilities()
  std::size_t slots;                     // at least the length of the layer's longest group
};

/// The observer of a host that does not look.
struct no_observer {
  void operator()(std::size_t, const layer_tap&) const noexcept {}
};

/// Some callable observer(layer, tap), which must outlive the reference.
class observer_ref {
 public:
  template <class Observer>
    requires(!std::is_same_v<std::remove_cvref_t<Observer>, observer_ref>)
  observer_ref(Observer& observer) noexcept  // NOLINT(google-explicit-constructor)
      : object_{const_cast<void*>(static_cast<const void*>(std::addressof(observer)))},
        call_{[](void* object, std::size_t layer, const layer_tap& tap) {
          (*static_cast<Observer*>(object))(layer, tap);
        }} {}

  void operator()(std::size_t layer, const layer_tap& tap) const { call_(object_, layer, tap); }

 private:
  void* object_;
  void (*call_)(void*, std::size_t, const layer_tap&);
};

/// Which tokens of a chunk get logits.
enum class logits_of { last_token, every_token };

/// The next tokens of one sequence, at the given positions, [n] each, and its cache.
struct chunk {
  std::span<const token> tokens;
  std::span<const position> positions;
  kv_cache* cache = nullptr;
};

/// The forward pass of a model: RMSNorm, rotary positions, grouped-query attention and SwiGLU. It
/// holds scratch memory and no sequence: one decoder may serve many caches, in turn or in one step.
/// Memory is allocated when a step or a cache is larger than all before, so decoding allocates
/// nothing. A token's numbers have the same bits in any chunk and beside any other sequence.
class decoder {
 public:
  /// The weights must outlive the decoder.
  explicit decoder(const weights& model) : model_(&model) {}

  const config& shape() const noexcept { return model_->shape; }

  /// Makes room for steps of `tokens` tokens with caches of `capacity` slots.
  void reserve(std::size_t tokens, std::size_t capacity);

  /// Whether observers see attention probabilities, which take tokens x query_heads x slots floats.
  void show_probabilities(bool shown) noexcept { shows_probabilities_ = shown; }

  /// Computes one step of one or more sequences, each with one or more tokens.
  ///
  /// A chunk's keys and values are appended to every group of its cache; a token attends to the
  /// slots that were live before, whatever they hold, and to its chunk up to itself. Positions
  /// rotate queries and keys and mean nothing else. The observer is called once per layer, in
  /// order, as observer(layer, tap), after the layer and before the next.
  ///
  /// Returns the logits of each chunk's last token [chunks, vocab] or of every token
  /// [tokens, vocab], valid until the next call. On an error (no or an empty chunk, unknown token,
  /// full, foreign or repeated cache) nothing changed. One step costs one pass over the weights.
  expected<std::span<const float>> forward(std::span<const chunk> chunks, observer_ref observer,
                                           logits_of wanted = logits_of::last_token);

  /// The same for one sequence.
  template <class Observer = no_observer>
  expected<std::span<const float>> forward(std::span<const token> tokens,
                                           std::span<const position> positions, kv_cache& cache,
                                           Observer&& observer = {},
                                           logits_of wanted = logits_of::last_token) {
    const chunk only{tokens, positions, &cache};
    return forward(std::span{&only, 1}, observer_ref{observer}, wanted);
  }

  /// The same for tokens at consecutive positions from `first`.
  template <class Observer = no_observer>
  expected<std::span<const float>> forward(std::span<const token> tokens, position first,
                                           kv_cache& cache, Observer&& observer = {},
                                           logits_of wanted = logits_of::last_token) {
    consecutive_.resize(std::max(consecutive_.size(), tokens.size()));
    const auto positions = std::span{consecutive_}.first(tokens.size());
    std::iota(positions.begin(), positions.end(), first);
    return forward(tokens, positions, cache, observer, wanted);
  }

 private:
  expected<void> check(std::span<const chunk> chunks) const;
  void embed(std::span<const chunk> chunks);
  void project_heads(std::size_t layer, std::size_t n);
  void attend_all(std::size_t layer, std::span<const chunk> chunks);
  void feed_forward(std::size_t layer, std::size_t n);
  std::span<const float> head(std::span<const chunk> chunks, std::size_t n, logits_of wanted);

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
  bool shows_probabilities_ = false;
  std::size_t tokens_ = 0;    // room in the scratch memory
  std::size_t capacity_ = 0;  // room in the scratch memory
  std::size_t slots_ = 0;     // row length of the probabilities in this layer
  std::vector<position> positions_;
  std::vector<position> consecutive_;
  matrix in_, out_;         // hidden states before and after the layer, [tokens, hidden]
  matrix normed_;           // [tokens, hidden]
  matrix queries_, mixed_;  // [tokens, query_heads * head_dim]; mixed: the attention of all heads
  matrix keys_, values_;    // [tokens, kv_heads * head_dim]
  matrix cosines_, sines_;  // [tokens, head_dim / 2]
  vector probabilities_;    // [tokens or 1, query_heads, slots_]
  matrix gate_, up_;        // [tokens, feed_forward]
  matrix logits_;           // [tokens, vocab]
};

}  // namespace mini
