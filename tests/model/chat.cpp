// SPDX-License-Identifier: MIT

// Is a conversation written the way in which each family's template writes it?

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "gguf_builder.hpp"
#include "mini_model/chat.hpp"

namespace {

using mini::chat_format;
using mini_test::gguf_builder;
using messages = std::vector<mini::chat_message>;

constexpr const char* template_key = "tokenizer.chat_template";

mini::expected<chat_format> chosen(const gguf_builder& builder) {
  const auto file = mini::gguf_file::parse(builder.build());
  REQUIRE_MESSAGE(bool(file), file.error());
  return mini::chat_format_of(*file);
}

void check_chosen(const std::string& text, chat_format wanted) {
  const auto format = chosen(gguf_builder{}.set_text(template_key, text));
  REQUIRE_MESSAGE(bool(format), format.error());
  CHECK(*format == wanted);
}

std::string written(chat_format format, const messages& turns) {
  const auto prompt = mini::chat_prompt(format, turns);
  REQUIRE_MESSAGE(bool(prompt), prompt.error());
  return *prompt;
}

const messages whole{
    {"system", " Be brief.\n"}, {"user", " Hi "}, {"assistant", " Hello.\n"}, {"user", "1+1?"}};
const messages short_one{{"user", "Hi"}};

}  // namespace

TEST_CASE("the form is chosen by the marks in the template") {
  check_chosen("{% for m in messages %}{{'<|im_start|>' + m.role}}<|im_end|>", chat_format::chatml);
  check_chosen("{{bos_token}}[INST] <<SYS>>\\n{{s}}\\n<</SYS>> [/INST]", chat_format::llama2);
  check_chosen("<|start_header_id|>{{r}}<|end_header_id|>\\n\\n{{c}}<|eot_id|>",
               chat_format::llama3);
  const auto absent = chosen(gguf_builder{});
  REQUIRE_MESSAGE(bool(absent), absent.error());
  CHECK(*absent == chat_format::none);
}

TEST_CASE("a template without the marks of a known form is refused with the known ones") {
  // The third has the brackets of Llama 2, but no system message: another family.
  for (const std::string text :
       {"", "<|user|>{{c}}<|end|>", "{{bos}}[INST] {{c}} [/INST]", "<|im_start|>"}) {
    const auto format = chosen(gguf_builder{}.set_text(template_key, text));
    CHECK(!format);
    for (const char* part : {template_key, "none, chatml, llama-2, llama-3"}) {
      CHECK_MESSAGE(format.error().find(part) != std::string::npos, format.error());
    }
  }
  CHECK(!chosen(gguf_builder{}.set(template_key, std::uint32_t{1})));
}

TEST_CASE("the form is chosen by name on request") {
  CHECK(*mini::chat_format_named("none") == chat_format::none);
  CHECK(*mini::chat_format_named("chatml") == chat_format::chatml);
  CHECK(*mini::chat_format_named("llama-2") == chat_format::llama2);
  CHECK(*mini::chat_format_named("llama-3") == chat_format::llama3);
  CHECK(mini::chat_format_named("vicuna").error() ==
        "the chat format 'vicuna' is not known, only none, chatml, llama-2, llama-3");
  CHECK(!mini::chat_format_named(""));
}

TEST_CASE("conversations are written as the models' templates write them") {
  CHECK(written(chat_format::chatml, short_one) ==
        "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
  CHECK(written(chat_format::chatml, whole) ==
        "<|im_start|>system\n Be brief.\n<|im_end|>\n<|im_start|>user\n Hi <|im_end|>\n"
        "<|im_start|>assistant\n Hello.\n<|im_end|>\n<|im_start|>user\n1+1?<|im_end|>\n"
        "<|im_start|>assistant\n");
  CHECK(written(chat_format::llama2, short_one) == "[INST] Hi [/INST]");
  CHECK(written(chat_format::llama2, whole) ==
        "[INST] <<SYS>>\n Be brief.\n\n<</SYS>>\n\n Hi [/INST] Hello. </s><s>[INST] 1+1? [/INST]");
  CHECK(written(chat_format::llama3, short_one) ==
        "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n");
  CHECK(written(chat_format::llama3, whole) ==
        "<|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
        "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\nHello.<|eot_id|>"
        "<|start_header_id|>user<|end_header_id|>\n\n1+1?<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n");
  CHECK(written(chat_format::none, short_one) == "Hi");
  CHECK(written(chat_format::none, whole) == " Be brief.\n\n Hi \n Hello.\n\n1+1?");
  CHECK(written(chat_format::llama3, {{"user", " \n"}}).find("\n\n<|eot_id|>") !=
        std::string::npos);
}

TEST_CASE("turns out of order are refused by number") {
  const auto error = [](const messages& turns) {
    return mini::chat_prompt(chat_format::chatml, turns).error();
  };
  const std::string last = "the last message must be the user's";
  CHECK(error({}) == last);
  CHECK(error({{"system", "a"}}) == last);
  CHECK(error({{"user", "a"}, {"assistant", "b"}}) == last);
  CHECK(error({{"assistant", "a"}}) == "message 0 is of the role 'assistant', not user");
  CHECK(error({{"user", "a"}, {"user", "b"}}) == "message 1 is of the role 'user', not assistant");
  CHECK(error({{"user", "a"}, {"system", "b"}}) ==
        "message 1 is of the role 'system', not assistant");
  CHECK(error({{"tool", "a"}}) == "message 0 is of the role 'tool', not user");
  CHECK(error({{"system", "a"}, {"system", "b"}}) == "message 1 is of the role 'system', not user");
}
