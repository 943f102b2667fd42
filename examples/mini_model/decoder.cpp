// SPDX-License-Identifier: MIT
#include "decoder.hpp"

#include "numerics.hpp"

namespace mini {
namespace {

// x[n, size] += bias, row by row.
void add_bias(matrix& x, std::size_t n, const vector& bias) {
  x.topRows(static_cast<Eigen::Index>(n)).rowwise() += bias.transpose();
}

}  // namespace

void decoder::reserve(std::size_t tokens, std::size_t capacity) {
  const std::size_t seen = shows_probabilities_ ? std::max(tokens, tokens_) : 1;
  const auto& s = shape();
  const auto index = [](std::size_t n) { return static_cast<Eigen::Index>(n); };
  const auto room = index(seen * s.query_heads * padded(std::max(capacity, capacity_)));
  if (probabilities_.size() < room) probabilities_.resize(room);
  capacity_ = std::max(capacity, capacity_);
  if (tokens <= tokens_) return;
  tokens_ = tokens;
  const auto n = index(tokens_);
  positions_.reserve(tokens_);
  in_.resize(n, index(s.hidden));
  out_.resize(n, index(s.hidden));
  normed_.resize(n, index(s.hidden));
  queries_.resize(n, index(s.query_size()));
  mixed_.resize(n, index(s.query_size()));
  keys_.resize(n, index(s.kv_size()));
  values_.resize(n, index(s.kv_size()));
  cosines_.resize(n, index(s.head_dim / 2));
  sines_.resize(n, index(s.head_dim / 2));
  gate_.resize(n, index(s.feed_forward));
  up_.resize(n, index(s.feed_forward));
}

expected<void> decoder::check(std::span<const chunk> chunks) const {
  const auto& s = shape();
  if (chunks.empty()) return fail("a step needs at least one chunk");
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    const chunk& each = chunks[c];
    if (each.tokens.empty()) return fail("a chunk needs at least one token");
    if (each.positions.size() != each.tokens.size()) {
      return fail(each.tokens.size(), " tokens with ", each.positions.size(), " positions");
    }
    for (const token id : each.tokens) {
      if (id < 0 || static_cast<std::size_t>(id) >= s.vocab) {
        return fail("token ", id, " is outside of the vocabulary of ", s.vocab);
      }
    }
    if (each.cache == nullptr) return fail("chunk ", c, " has no cache");
    const kv_cache& cache = *each.cache;
    if (cache.layers() != s.layers || cache.kv_heads() != s.kv_heads ||
        cache.head_dim() != s.head_dim) {
      return fail("the cache was made for a model of another shape");
    }
    if (each.tokens.size() > cache.capacity() - cache.length()) {
      return fail("the cache is full: ", cache.length(), " of ", cache.capacity(),
                  " slots are live and ", each.tokens.size(), " tokens arrive");
    }
    for (std::size_t other = 0; other < c; ++other) {
      if (chunks[other].cache == each.cache) return fail("two chunks of a step share a cache");
    }
  }
  return {};
}

expected<std::span<const float>> decoder::forward(std::span<const chunk> chunks,
                                                  observer_ref observer, logits_of wanted) {
  if (auto checked = check(chunks); !checked) return checked.reason();
  const auto& s = shape();
  std::size_t n = 0;
  std::size_t capacity = 0;
  for (const chunk& each : chunks) {
    n += each.tokens.size();
    capacity = std::max(capacity, each.cache->capacity());
  }
  reserve(n, capacity);
  embed(chunks);
  for (std::size_t layer = 0; layer < s.layers; ++layer) {
    project_heads(layer, n);
    attend_all(layer, chunks);
    feed_forward(layer, n);
    std::span<const float> probabilities;
    if (shows_probabilities_) probabilities = {probabilities_.data(), n * s.query_heads * slots_};
    observer(layer, layer_tap{n, positions_, rows(in_, n), rows(out_, n), rows(keys_, n),
                              rows(values_, n), rows(queries_, n), probabilities, slots_});
    in_.swap(out_);  // pointers, not elements
  }
  return head(chunks, n, wanted);
}

// in = the embeddings of all tokens; the angles of their positions.
void decoder::embed(std::span<const chunk> chunks) {
  const auto& s = shape();
  positions_.clear();
  for (const chunk& each : chunks) {
    for (std::size_t i = 0; i < each.tokens.size(); ++i) {
      const std::size_t t = positions_.size();
      positions_.push_back(each.positions[i]);
      as_vector(row(in_, t), s.hidden) = model_->token_embd.row(each.tokens[i]).transpose();
      rotary_angles(each.positions[i], s.rope_base, s.head_dim, row(cosines_, t), row(sines_, t));
    }
  }
}

// Queries, keys and values of all tokens, rotated.
void decoder::project_heads(std::size_t layer, std::size_t n) {
  const auto& s = shape();
  const auto& w = model_->layers[layer];
  for (std::size_t t = 0; t < n; ++t) {
    rms_norm(row(in_, t), w.attn_norm, s.rms_eps, row(normed_, t));
  }
  project(w.attn_q, normed_.data(), n, queries_.data());
  project(w.attn_k, normed_.data(), n, keys_.data());
  project(w.attn_v, normed_.data(), n, values_.data());
  if (w.attn_q_bias.size() > 0) {
    add_bias(queries_, n, w.attn_q_bias);
    add_bias(keys_, n, w.attn_k_bias);
    add_bias(values_, n, w.attn_v_bias);
  }
  const auto norm_heads = [&](float* x, std::size_t heads, const vector& gain) {
    for (std::size_t h = 0; h < heads; ++h, x += s.head_dim) rms_norm(x, gain, s.rms_eps, x);
  };
  for (std::size_t t = 0; t < n; ++t) {
    if (w.attn_q_norm.size() > 0) {
      norm_heads(row(queries_, t), s.query_heads, w.attn_q_norm);
      norm_heads(row(keys_, t), s.kv_heads, w.attn_k_norm);
    }
    rotate(row(queries_, t), s.query_heads, s.head_dim, row(cosines_, t), row(sines_, t),
           s.turns_halves());
    rotate(row(keys_, t), s.kv_heads, s.head_dim, row(cosines_, t), row(sines_, t),
           s.turns_halves());
  }
}

// out = in + the attention of all chunks, each over its own cache.
void decoder::attend_all(std::size_t layer, std::span<const chunk> chunks) {
  const auto& s = shape();
  slots_ = 0;
  std::size_t first = 0;  // of the chunk's rows
  // A chunk is stored as a whole before any of it attends; that a token does not see its successors
  // is a matter of how many slots it reads.
  for (const chunk& each : chunks) {
    for (std::size_t head = 0; head < s.kv_heads; ++head) {
      for (std::size_t i = 0; i < each.tokens.size(); ++i) {
        each.cache->append(layer, head, row(keys_, first + i) + head * s.head_dim,
                           row(values_, first + i) + head * s.head_dim);
      }
      slots_ = std::max(slots_, padded(each.cache->length(layer, head)));
    }
    first += each.tokens.size();
  }

  first = 0;
  for (const chunk& each : chunks) {
    const std::size_t n = each.tokens.size();
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t t = first + i;
      const std::size_t shown = shows_probabilities_ ? t : 0;
      for (std::size_t query = 0; query < s.query_heads; ++query) {
        const std::size_t head = query / s.group_size();
        const std::size_t seen = each.cache->length(layer, head) - (n - 1 - i);
        float* probabilities = probabilities_.data() + (shown * s.query_heads + query) * slots_;
        attend(row(queries_, t) + query * s.head_dim, each.cache->keys(layer, head),
               each.cache->values(layer, head), seen, s.head_dim, probabilities,
               row(mixed_, t) + query * s.head_dim);
        if (shows_probabilities_) std::fill(probabilities + seen, probabilities + slots_, 0.0f);
      }
    }
    first += n;
  }
  std::copy_n(in_.data(), first * s.hidden, out_.data());
  project(model_->layers[layer].attn_output, mixed_.data(), first, out_.data(), onto::add);
}

// out += the feed-forward network of out.
void decoder::feed_forward(std::size_t layer, std::size_t n) {
  const auto& s = shape();
  const auto& w = model_->layers[layer];
  for (std::size_t t = 0; t < n; ++t) {
    rms_norm(row(out_, t), w.ffn_norm, s.rms_eps, row(normed_, t));
  }
  project(w.ffn_gate, normed_.data(), n, gate_.data());
  project(w.ffn_up, normed_.data(), n, up_.data());
  for (std::size_t t = 0; t < n; ++t) swiglu(row(gate_, t), row(up_, t), s.feed_forward);
  project(w.ffn_down, gate_.data(), n, out_.data(), onto::add);
}

std::span<const float> decoder::head(std::span<const chunk> chunks, std::size_t n,
                                     logits_of wanted) {
  const auto& s = shape();
  std::size_t count = 0;
  const auto take = [&](std::size_t t) {
    rms_norm(row(in_, t), model_->output_norm, s.rms_eps, row(normed_, count++));
  };
  std::size_t end = 0;
  for (const chunk& each : chunks) {
    end += each.tokens.size();
    if (wanted == logits_of::last_token) take(end - 1);
  }
  for (std::size_t t = 0; wanted == logits_of::every_token && t < n; ++t) take(t);
  const auto rows_needed = static_cast<Eigen::Index>(count);
  if (logits_.rows() < rows_needed) {
    logits_.resize(rows_needed, static_cast<Eigen::Index>(s.vocab));
  }
  project(model_->head(), normed_.data(), count, logits_.data());
  return rows(logits_, count);
}

}  // namespace mini
