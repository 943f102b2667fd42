// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "command_line.hpp"
#include "passage.hpp"

namespace eval {

/// The options of a command line that say where passages come from, for arguments with a member
/// `passages`.
template <class Arguments>
inline constexpr std::array passage_option_lines{
    option_line<Arguments>{"--seed", "N", "number of the first drawn problem",
                           [](std::string_view v, Arguments& a) {
                             return read_number<std::uint64_t>(v, 0, ~std::uint64_t{0} / 2,
                                                               a.passages.first_seed);
                           }},
    option_line<Arguments>{"--steps", "N", "steps of a reasoning problem, 1 to 20 (default 12)",
                           [](std::string_view v, Arguments& a) {
                             return read_number<std::size_t>(v, 1, 20, a.passages.steps);
                           }},
    option_line<Arguments>{
        "--text", "FILE", "a text to take passages from, instead of the model's own answers",
        [](std::string_view v, Arguments& a) { return read_text(v, a.passages.text); }},
    option_line<Arguments>{
        "--prompts", "FILE", "prompts to answer: JSON lines in *.jsonl, else one a line",
        [](std::string_view v, Arguments& a) { return read_text(v, a.passages.prompts); }},
    option_line<Arguments>{
        "--chat", "NAME", "form of a prompt: none, chatml, llama-2, llama-3 (default: the file's)",
        [](std::string_view v, Arguments& a) { return read_text(v, a.passages.chat); }},
    option_line<Arguments>{
        "--prompt-tokens", "N", "tokens of a text before what is measured (default 32)",
        [](std::string_view v, Arguments& a) {
          return read_number<std::size_t>(v, 1, 1'000'000, a.passages.prompt_tokens);
        }},
    option_line<Arguments>{"--text-tokens", "N", "tokens of a text that are measured (default 480)",
                           [](std::string_view v, Arguments& a) {
                             return read_number<std::size_t>(v, 1, 1'000'000,
                                                             a.passages.text_tokens);
                           }},
    option_line<Arguments>{
        "--answer-tokens", "N", "tokens after which an answer is cut (default 256)",
        [](std::string_view v, Arguments& a) {
          return read_number<std::size_t>(v, 1, 1'000'000, a.passages.answer_tokens);
        }},
};

}  // namespace eval
