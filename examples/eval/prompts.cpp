// SPDX-License-Identifier: MIT
#include "prompts.hpp"

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

namespace eval {
namespace {

using mini::expected;
using mini::fail;

constexpr std::array<std::string_view, 16> everyday{
    "Explain to a child why the sky is blue and why it turns red in the evening.",
    "Write a short story about a lighthouse keeper who finds a letter in a bottle.",
    "List ten things to check before buying a used bicycle, with a reason for each.",
    "How does a refrigerator keep food cold? Go through it part by part.",
    "Plan three days in a small town by the sea for a family with two children.",
    "Describe step by step how to bake a simple loaf of bread.",
    "What are the advantages and disadvantages of working from home?",
    "Tell the life of a drop of water from a cloud to the sea and back.",
    "Write a letter to a neighbour asking him to keep his dog quiet at night.",
    "How do vaccines work, and why do some of them need a second dose?",
    "A train leaves at 9 and rides 60 miles an hour, another follows an hour later at 90 miles an "
    "hour. When does it catch up? Think step by step.",
    "Compare cats and dogs as pets for a person who lives alone in a flat.",
    "Explain what a function is in a programming language, with two examples in Python.",
    "Write a dialogue between a teacher and a pupil about the causes of the seasons.",
    "Give advice to a student who has one week to prepare for an examination in history.",
    "Describe the inside of an old clock and what each of its parts does.",
};

expected<user_prompt> parse_object(const std::string& line) {
  const auto object = nlohmann::json::parse(line, nullptr, false);
  if (!object.is_object()) return fail("not a JSON object");
  const auto text_of = [&](const char* name) -> const std::string* {
    const auto found = object.find(name);
    return found == object.end() ? nullptr : found->get_ptr<const std::string*>();
  };
  user_prompt out;
  for (const char* name : {"question", "problem", "prompt"}) {
    if (const std::string* text = text_of(name); text != nullptr) {
      out.text = *text;
      break;
    }
  }
  if (out.text.empty()) return fail("no text in \"question\", \"problem\" or \"prompt\"");
  if (const std::string* answer = text_of("answer"); answer != nullptr) out.answer = *answer;
  return out;
}

}  // namespace

std::span<const std::string_view> everyday_prompts() noexcept { return everyday; }

expected<std::vector<user_prompt>> read_prompts(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  if (!in) return fail(path, " cannot be read");
  const bool objects = path.ends_with(".jsonl");
  std::vector<user_prompt> out;
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    if (!objects) {
      out.push_back({std::move(line), {}});
      continue;
    }
    auto parsed = parse_object(line);
    if (!parsed) return fail(path, ", line ", number, ": ", parsed.error());
    out.push_back(*std::move(parsed));
  }
  if (out.empty()) return fail(path, " has no prompts");
  return out;
}

expected<mini::chat_format> chat_format_for(std::string_view name,
                                            const mini::loaded_model& model) {
  return name.empty() ? model.chat : mini::chat_format_named(name);
}

expected<std::vector<mini::token>> encode_prompt(std::string_view text, mini::chat_format format,
                                                 const mini::loaded_model& model) {
  const std::array messages{mini::chat_message{"user", std::string{text}}};
  const auto prompt = mini::chat_prompt(format, messages);
  if (!prompt) return prompt.reason();
  auto tokens = model.words.encode(*prompt, mini::special::parse);
  if (!tokens) return tokens.reason();
  if (model.words.add_bos()) tokens->insert(tokens->begin(), *model.words.bos());
  return tokens;
}

}  // namespace eval
