// SPDX-License-Identifier: MIT
#pragma once

// Llama models of a few hundred parameters, as files.

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gguf_builder.hpp"

namespace mini_test {

/// Sizes that are all different, so that no two can be mixed up unnoticed, and few of which are
/// multiples of a vector register.
struct llama_sizes {
  std::string architecture = "llama";  // or qwen2, qwen3
  std::size_t layers = 2;
  std::size_t hidden = 20;
  std::size_t query_heads = 6;
  std::size_t kv_heads = 2;
  std::size_t head_dim = 6;
  std::size_t feed_forward = 14;
  std::size_t vocab = 11;
  std::size_t context = 64;
  float rope_base = 100.0f;
  float rms_eps = 0.05f;
  bool tied = false;
};

/// Seeded numbers from -scale to scale around a centre, the same with every standard library.
inline std::vector<float> draw(std::mt19937& random, std::size_t count, float scale,
                               float centre = 0.0f) {
  std::vector<float> out(count);
  for (float& x : out) {
    x = centre + scale * (static_cast<float>(random() >> 8) * 0x1p-23f - 1.0f);
  }
  return out;
}

/// The architectures of the engine.
inline constexpr const char* architectures[] = {"llama", "qwen2", "qwen3"};

/// A model file with random weights and a vocabulary of an unknown token and the letters from a.
inline gguf_builder llama_file(const llama_sizes& s = {}, unsigned seed = 1) {
  const auto u32 = [](std::size_t n) { return static_cast<std::uint32_t>(n); };
  gguf_builder file;
  file.set_text("general.architecture", s.architecture);
  const std::string prefix = s.architecture + ".";
  file.set(prefix + "block_count", u32(s.layers));
  file.set(prefix + "embedding_length", u32(s.hidden));
  file.set(prefix + "feed_forward_length", u32(s.feed_forward));
  file.set(prefix + "context_length", u32(s.context));
  file.set(prefix + "attention.head_count", u32(s.query_heads));
  file.set(prefix + "attention.head_count_kv", u32(s.kv_heads));
  file.set(prefix + "attention.key_length", u32(s.head_dim));
  file.set(prefix + "attention.value_length", u32(s.head_dim));
  file.set(prefix + "rope.dimension_count", u32(s.head_dim));
  file.set(prefix + "rope.freq_base", s.rope_base);
  file.set(prefix + "attention.layer_norm_rms_epsilon", s.rms_eps);

  std::vector<std::string> pieces{"<unk>"};
  for (std::size_t i = 1; i < s.vocab; ++i) pieces.emplace_back(1, static_cast<char>('a' + i - 1));
  std::vector<std::int32_t> types(s.vocab, 1);
  types[0] = 2;
  file.set_texts("tokenizer.ggml.tokens", pieces);
  file.set_array("tokenizer.ggml.token_type", types);
  file.set("tokenizer.ggml.eos_token_id", u32(s.vocab - 1));

  std::mt19937 random{seed};
  const auto gains = [&](const std::string& name, std::size_t size) {
    file.add_floats(name + ".weight", {size}, draw(random, size, 0.5f, 1.0f));
  };
  const auto matrix = [&](const std::string& name, std::size_t rows, std::size_t columns) {
    file.add_floats(name + ".weight", {columns, rows}, draw(random, rows * columns, 0.6f));
  };
  matrix("token_embd", s.vocab, s.hidden);
  gains("output_norm", s.hidden);
  if (!s.tied) matrix("output", s.vocab, s.hidden);
  for (std::size_t layer = 0; layer < s.layers; ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    gains(block + "attn_norm", s.hidden);
    gains(block + "ffn_norm", s.hidden);
    matrix(block + "attn_q", s.query_heads * s.head_dim, s.hidden);
    matrix(block + "attn_k", s.kv_heads * s.head_dim, s.hidden);
    matrix(block + "attn_v", s.kv_heads * s.head_dim, s.hidden);
    if (s.architecture == "qwen2") {
      const auto bias = [&](const std::string& name, std::size_t size) {
        file.add_floats(block + name + ".bias", {size}, draw(random, size, 0.7f, 0.1f));
      };
      bias("attn_q", s.query_heads * s.head_dim);
      bias("attn_k", s.kv_heads * s.head_dim);
      bias("attn_v", s.kv_heads * s.head_dim);
    }
    if (s.architecture == "qwen3") {
      gains(block + "attn_q_norm", s.head_dim);
      gains(block + "attn_k_norm", s.head_dim);
    }
    matrix(block + "attn_output", s.hidden, s.query_heads * s.head_dim);
    matrix(block + "ffn_gate", s.feed_forward, s.hidden);
    matrix(block + "ffn_up", s.feed_forward, s.hidden);
    matrix(block + "ffn_down", s.hidden, s.feed_forward);
  }
  return file;
}

}  // namespace mini_test
