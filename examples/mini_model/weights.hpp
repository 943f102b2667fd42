// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "config.hpp"
#include "gguf.hpp"
#include "result.hpp"
#include "types.hpp"

namespace mini {

/// The weights of one layer.
struct layer_weights {
  vector attn_norm;    // [hidden]
  vector attn_q_bias;  // [query_heads * head_dim]; the biases in qwen2 alone
  vector attn_k_bias;  // [kv_heads * head_dim]
  vector attn_v_bias;  // [kv_heads * head_dim]
  vector attn_q_norm;  // [head_dim]; both in qwen3 alone
  vector attn_k_norm;  // [head_dim]
  matrix attn_q;       // [query_heads * head_dim, hidden]
  matrix attn_k;       // [kv_heads * head_dim, hidden]
  matrix attn_v;       // [kv_heads * head_dim, hidden]
  matrix attn_output;  // [hidden, query_heads * head_dim]
  vector ffn_norm;     // [hidden]
  matrix ffn_gate;     // [feed_forward, hidden]
  matrix ffn_up;       // [feed_forward, hidden]
  matrix ffn_down;     // [hidden, feed_forward]
};

/// A model in float32.
struct weights {
  config shape;
  matrix token_embd;  // [vocab, hidden]
  std::vector<layer_weights> layers;
  vector output_norm;  // [hidden]
  matrix output;       // [vocab, hidden]; empty when tied to token_embd

  /// The matrix that turns the last hidden state into logits, [vocab, hidden].
  const matrix& head() const noexcept { return output.size() == 0 ? token_embd : output; }

  /// Reads a model. A missing tensor, one of a shape that contradicts the metadata and one that
  /// the architecture does not have (an expert, rotary factors) are errors.
  static expected<weights> load(const gguf_file& file);
};

}  // namespace mini
