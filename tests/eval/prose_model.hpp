// SPDX-License-Identifier: MIT
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "mini_model/loaded_model.hpp"
#include "model/program.hpp"
#include "model/tiny_llama.hpp"

namespace eval_test {

/// A model with random weights that can spell printable ASCII, a character a token, and takes
/// prompts in the form of ChatML.
inline const mini::loaded_model& prose_model() {
  static const mini::loaded_model model = [] {
    std::vector<std::string> pieces{"<unk>", "<|im_start|>", "<|im_end|>", "\n", "\u2581"};
    std::vector<std::int32_t> kinds{2, 3, 3, 1, 1};
    for (char c = '!'; c <= '~'; ++c) pieces.emplace_back(1, c);
    kinds.resize(pieces.size(), 1);
    auto file = mini_test::llama_file({.vocab = pieces.size(), .context = 4096});
    file.set_texts("tokenizer.ggml.tokens", pieces);
    file.set_array("tokenizer.ggml.token_type", kinds);
    file.set("tokenizer.ggml.eos_token_id", std::uint32_t{2});
    file.set_text("tokenizer.chat_template", "{{'<|im_start|>' + role}}...<|im_end|>");
    const auto bytes = file.build();
    const mini_test::scratch_folder folder{"prose"};
    auto loaded = mini::loaded_model::load(folder.write("prose.gguf", bytes.data(), bytes.size()));
    REQUIRE_MESSAGE(bool(loaded), loaded.error());
    return *std::move(loaded);
  }();
  return model;
}

}  // namespace eval_test
