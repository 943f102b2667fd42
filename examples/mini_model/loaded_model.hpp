// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>

#include "chat.hpp"
#include "gguf.hpp"
#include "result.hpp"
#include "tokenizer.hpp"
#include "weights.hpp"

namespace mini {

/// A model read from a file, ready to generate.
struct loaded_model {
  weights model;
  tokenizer words;
  expected<chat_format> chat = chat_format::none;  ///< an error where the file's is not known

  static expected<loaded_model> load(const std::string& path) {
    auto file = gguf_file::open(path);
    if (!file) return file.reason();
    auto model = weights::load(*file);
    if (!model) return fail(path, ": ", model.error());
    auto words = tokenizer::load(*file);
    if (!words) return fail(path, ": ", words.error());
    return loaded_model{*std::move(model), *std::move(words), chat_format_of(*file)};
  }
};

}  // namespace mini
