// SPDX-License-Identifier: MIT
#include "config.hpp"

#include <cmath>
#include <optional>
#include <string>
#include <utility>

namespace mini {

expected<config> config::load(const gguf_file& file) {
  const auto named = file.get<std::string_view>("general.architecture");
  if (!named) return named.reason();
  config out;
  if (*named == name_of(architecture::qwen2)) {
    out.kind = architecture::qwen2;
  } else if (*named == name_of(architecture::qwen3)) {
    out.kind = architecture::qwen3;
  } else if (*named != name_of(architecture::llama)) {
    return fail("architecture ", in_quotes(*named),
                " is not supported, only llama, qwen2 and qwen3");
  }
  const auto key_of = [&](std::string_view name) {
    return std::string{*named} + "." + std::string{name};
  };

  // Sizes get multiplied later on; with this bound on each no product overflows.
  constexpr std::uint64_t largest = std::uint64_t{1} << 20;
  std::optional<failure> wrong;  // the first problem
  const auto size = [&](std::string_view name, std::optional<std::size_t> fallback = {}) {
    const std::string key = key_of(name);
    const auto value =
        fallback ? file.get_or<std::uint64_t>(key, *fallback) : file.get<std::uint64_t>(key);
    if (!value && !wrong) wrong = value.reason();
    if (value && (*value == 0 || *value > largest) && !wrong) {
      wrong = fail("metadata key ", in_quotes(key), " is ", *value, ", not 1 to ", largest);
    }
    return wrong ? std::size_t{1} : static_cast<std::size_t>(*value);
  };
  const auto positive = [&](std::string_view name, std::optional<double> fallback = {}) {
    const std::string key = key_of(name);
    const auto value = fallback ? file.get_or<double>(key, *fallback) : file.get<double>(key);
    if (!value && !wrong) wrong = value.reason();
    if (value && !(*value > 0 && std::isfinite(*value)) && !wrong) {
      wrong = fail("metadata key ", in_quotes(key), " is ", *value, ", not a positive number");
    }
    return wrong ? 1.0 : *value;
  };

  out.layers = size("block_count");
  out.hidden = size("embedding_length");
  out.feed_forward = size("feed_forward_length");
  out.context = size("context_length");
  out.query_heads = size("attention.head_count");
  out.kv_heads = size("attention.head_count_kv", out.query_heads);
  out.head_dim = size("attention.key_length", out.hidden / out.query_heads);
  const auto value_dim = size("attention.value_length", out.head_dim);
  const auto rotated = size("rope.dimension_count", out.head_dim);
  out.rope_base = positive("rope.freq_base", 10000.0);
  out.rms_eps = positive("attention.layer_norm_rms_epsilon");
  const auto scaling = file.get_or<std::string_view>(key_of("rope.scaling.type"), "none");
  if (wrong) return *std::move(wrong);
  if (!scaling) return scaling.reason();

  if (*scaling != "none") return fail("rotary scaling ", in_quotes(*scaling), " is not supported");
  for (const std::string& key : {key_of("rope.scaling.factor"), key_of("rope.scale_linear")}) {
    // Without a type a factor means linear scaling; the second key is its older name.
    if (file.contains(key_of("rope.scaling.type"))) break;
    const auto factor = file.get_or<double>(key, 1.0);
    if (!factor) return factor.reason();
    if (*factor != 1.0) return fail("rotary scaling by ", in_quotes(key), " is not supported");
  }
  if (out.query_heads % out.kv_heads != 0) {
    return fail(out.query_heads, " query heads cannot share ", out.kv_heads, " KV heads");
  }
  if (value_dim != out.head_dim) {
    return fail("keys of ", out.head_dim, " with values of ", value_dim, " are not supported");
  }
  if (rotated != out.head_dim || out.head_dim % 2 != 0) {
    return fail("rotating ", rotated, " of ", out.head_dim, " dimensions is not supported");
  }

  const auto embedding = file.tensors().find("token_embd.weight");
  if (embedding == file.tensors().end()) return fail("tensor 'token_embd.weight' is missing");
  if (embedding->second.shape.size() != 2) return fail("tensor 'token_embd.weight' is no matrix");
  out.vocab = static_cast<std::size_t>(embedding->second.shape[1]);
  return out;
}

}  // namespace mini
