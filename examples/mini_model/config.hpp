// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gguf.hpp"
#include "result.hpp"

namespace mini {

/// The decoders this engine computes. They differ in the pairs that a rotation turns, and in what
/// is done to queries and keys before it.
enum class architecture {
  llama,  ///< pairs are neighbours, 2i and 2i + 1
  qwen2,  ///< biases on queries, keys and values; pairs are i and i + head_dim / 2
  qwen3,  ///< queries and keys normalised head by head; pairs as in qwen2
};

/// The name in general.architecture, and in front of the metadata keys.
[[nodiscard]] constexpr std::string_view name_of(architecture kind) noexcept {
  switch (kind) {
    case architecture::llama: return "llama";
    case architecture::qwen2: return "qwen2";
    case architecture::qwen3: return "qwen3";
  }
  return "";
}

/// The sizes and constants of a model.
struct config {
  architecture kind = architecture::llama;
  std::size_t layers = 0;
  std::size_t hidden = 0;
  std::size_t query_heads = 0;
  std::size_t kv_heads = 0;  // each serves query_heads / kv_heads consecutive query heads
  std::size_t head_dim = 0;  // even
  std::size_t feed_forward = 0;
  std::size_t vocab = 0;
  std::size_t context = 0;  // tokens of the longest sequence the model was made for
  double rope_base = 0;
  double rms_eps = 0;

  /// Elements of all queries of a token, and of all its keys (or values) in one layer.
  std::size_t query_size() const noexcept { return query_heads * head_dim; }
  std::size_t kv_size() const noexcept { return kv_heads * head_dim; }

  /// Which dimensions of a head a rotation turns together.
  bool turns_halves() const noexcept { return kind != architecture::llama; }

  /// Query heads that share one KV head.
  std::size_t group_size() const noexcept { return query_heads / kv_heads; }

  /// Reads the metadata. Another architecture is an error, and so are sizes that contradict each
  /// other and features this engine does not compute (a partial rotation, rotary scaling).
  static expected<config> load(const gguf_file& file);
};

}  // namespace mini
