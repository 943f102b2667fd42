// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

#include "decoder.hpp"
#include "kv_cache.hpp"
#include "result.hpp"
#include "types.hpp"

namespace mini {

/// What a host does around the steps of a generation; a step is one call of decoder::forward. This
/// one does nothing. An evicting host replaces it by a type with the same three members, and may
/// have `most_tokens()`: how many tokens the next step may bring.
struct plain_host {
  /// Before a step: these tokens come next, at consecutive positions from `first`. False stops
  /// the generation.
  bool before(std::span<const token>, position, kv_cache&) noexcept { return true; }

  /// After each layer of a step.
  void observe(std::size_t, const layer_tap&) noexcept {}

  /// After a step; the place to remove tokens from the cache. False stops the generation.
  bool after(kv_cache&) noexcept { return true; }
};

/// How to generate.
struct generate_options {
  std::size_t most_tokens = 0;    // stop after this many
  std::span<const token> ends{};  // stop after any of these
  std::size_t prompt_chunk = 0;   // tokens of the prompt in one step; 0 = all
};

/// The index of the largest logit; of equals the first.
[[nodiscard]] inline token argmax(std::span<const float> logits) noexcept {
  return static_cast<token>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

/// Whether a token is among those that end a text.
[[nodiscard]] inline bool is_among(std::span<const token> ends, token id) noexcept {
  return std::find(ends.begin(), ends.end(), id) != ends.end();
}

/// Tokens for a step: `chunk`, or fewer if the host says so.
template <class Host>
[[nodiscard]] std::size_t step_size(const Host& host, std::size_t chunk) {
  if constexpr (requires { host.most_tokens(); }) {
    return std::min(chunk, std::max<std::size_t>(1, host.most_tokens()));
  }
  return chunk;
}

/// Reads the prompt into an empty cache and decodes greedily, with logical positions 0, 1, 2, ...
/// Returns the generated tokens, the one that ends the text included; fewer when the host says
/// stop. The last token is returned but not fed to the model.
template <class Host = plain_host>
expected<std::vector<token>> generate(decoder& model, kv_cache& cache,
                                      std::span<const token> prompt,
                                      const generate_options& options, Host&& host = {}) {
  if (prompt.empty()) return fail("the prompt is empty");
  const std::size_t chunk = options.prompt_chunk == 0 ? prompt.size() : options.prompt_chunk;
  const auto observer = [&host](std::size_t layer, const layer_tap& tap) {
    host.observe(layer, tap);
  };

  std::vector<token> out;
  out.reserve(options.most_tokens);
  std::span<const token> next = prompt.first(std::min(step_size(host, chunk), prompt.size()));
  std::size_t read = 0;  // tokens given to the model
  while (out.size() < options.most_tokens) {
    const auto first = static_cast<position>(read);
    if (!host.before(next, first, cache)) break;
    const auto logits = model.forward(next, first, cache, observer);
    if (!logits) return logits.reason();
    if (!host.after(cache)) break;
    read += next.size();
    if (read < prompt.size()) {
      next = prompt.subspan(read, std::min(step_size(host, chunk), prompt.size() - read));
      continue;
    }
    out.push_back(argmax(*logits));
    if (is_among(options.ends, out.back())) break;
    next = std::span<const token>(&out.back(), 1);
  }
  return out;
}

}  // namespace mini
