// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "gguf.hpp"
#include "result.hpp"

namespace mini {

/// How a conversation is written for a model. A file brings its own form as a program in a template
/// language; here the common forms are built in and chosen by the marks in that program.
enum class chat_format : std::uint8_t {
  none,    ///< no marks: the contents, one per line
  chatml,  ///< <|im_start|>role ... <|im_end|>, as SmolLM2 and Qwen do
  llama2,  ///< [INST] ... [/INST] with <<SYS>>
  llama3   ///< <|start_header_id|>role<|end_header_id|> ... <|eot_id|>
};

/// One turn: the role is "system", "user" or "assistant".
struct chat_message {
  std::string role;
  std::string content;
};

struct chat_format_entry {
  std::string_view name;
  chat_format format;
  std::array<std::string_view, 2> marks;  ///< both are in the template of a model of this form
};

/// All forms, with the names by which a user asks for them.
inline constexpr std::array<chat_format_entry, 4> chat_formats{{
    {"none", chat_format::none, {}},
    {"chatml", chat_format::chatml, {"<|im_start|>", "<|im_end|>"}},
    {"llama-2", chat_format::llama2, {"[INST]", "<<SYS>>"}},
    {"llama-3", chat_format::llama3, {"<|start_header_id|>", "<|eot_id|>"}},
}};

/// The names of all forms for a message.
inline std::string chat_format_names() {
  std::string names;
  for (const chat_format_entry& each : chat_formats) {
    names += names.empty() ? "" : ", ";
    names += each.name;
  }
  return names;
}

/// The form of a name; an unknown name is an error that lists the known ones.
inline expected<chat_format> chat_format_named(std::string_view name) {
  for (const chat_format_entry& each : chat_formats) {
    if (each.name == name) return each.format;
  }
  return fail("the chat format ", in_quotes(name), " is not known, only ", chat_format_names());
}

/// The form that a file's `tokenizer.chat_template` shows by its marks; `none` without the key. A
/// template with the marks of no form is an error that lists the known forms: to take one of them
/// anyhow is for the user to say.
inline expected<chat_format> chat_format_of(const gguf_file& file) {
  constexpr std::string_view key = "tokenizer.chat_template";
  if (!file.contains(key)) return chat_format::none;
  const auto text = file.get<std::string_view>(key);
  if (!text) return text.reason();
  for (const chat_format_entry& each : chat_formats) {
    if (each.format == chat_format::none) continue;
    const bool first = text->find(each.marks[0]) != std::string_view::npos;
    if (first && text->find(each.marks[1]) != std::string_view::npos) return each.format;
  }
  return fail(key, " is of no known chat format; ask for one by name: ", chat_format_names());
}

namespace chat_detail {

// The Llama templates cut white space off both ends of what a turn holds.
inline std::string_view trimmed(std::string_view text) noexcept {
  constexpr std::string_view space = " \t\n\r\v\f";
  const std::size_t begin = text.find_first_not_of(space);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

inline std::string llama2_prompt(std::span<const chat_message> messages) {
  std::string prompt;
  std::string system;
  bool later = false;
  for (const chat_message& message : messages) {
    if (message.role == "system") {
      system = "<<SYS>>\n" + message.content + "\n<</SYS>>\n\n";
    } else if (message.role == "user") {
      const std::string content = std::exchange(system, {}) + message.content;
      if (later) prompt += "<s>";  // the first one is the caller's, as for every text
      prompt += "[INST] ";
      prompt += trimmed(content);
      prompt += " [/INST]";
      later = true;
    } else {
      prompt += " ";
      prompt += trimmed(message.content);
      prompt += " </s>";
    }
  }
  return prompt;
}

}  // namespace chat_detail

/// The prompt after which a model writes the assistant's next message, to be encoded with
/// special::parse: marks of the form in a content take effect. The token that begins a text is not
/// in it. A system message may come first; then user and assistant take turns, and the last turn
/// is the user's. Anything else is an error. No message is added, also where a model's own template
/// has a system message by default. Linear.
inline expected<std::string> chat_prompt(chat_format format,
                                         std::span<const chat_message> messages) {
  bool user_is_next = true;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::string& role = messages[i].role;
    if (role == "system" && i == 0) continue;
    const std::string_view wanted = user_is_next ? "user" : "assistant";
    if (role != wanted) {
      return fail("message ", i, " is of the role ", in_quotes(role), ", not ", wanted);
    }
    user_is_next = !user_is_next;
  }
  if (user_is_next) return fail("the last message must be the user's");

  if (format == chat_format::llama2) return chat_detail::llama2_prompt(messages);
  std::string prompt;
  for (const chat_message& message : messages) {
    if (format == chat_format::chatml) {
      prompt += "<|im_start|>" + message.role + "\n" + message.content + "<|im_end|>\n";
    } else if (format == chat_format::llama3) {
      prompt += "<|start_header_id|>" + message.role + "<|end_header_id|>\n\n";
      prompt += chat_detail::trimmed(message.content);
      prompt += "<|eot_id|>";
    } else {
      prompt += (prompt.empty() ? "" : "\n") + message.content;
    }
  }
  if (format == chat_format::chatml) prompt += "<|im_start|>assistant\n";
  if (format == chat_format::llama3) prompt += "<|start_header_id|>assistant<|end_header_id|>\n\n";
  return prompt;
}

}  // namespace mini
