// SPDX-License-Identifier: MIT
#include "plan.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "agreement.hpp"
#include "gsm8k.hpp"
#include "needle.hpp"
#include "passage.hpp"
#include "reasoning.hpp"

namespace eval {
namespace {

using mini::expected;
using mini::fail;
using mini::in_quotes;

expected<std::unique_ptr<passage_source>> plan_passages(const arguments& asked,
                                                        const mini::loaded_model& model) {
  passage_options options = asked.passages;
  options.at_most = asked.problems;
  return make_passages(options, model);
}

expected<std::unique_ptr<task>> plan_task(const std::string& name, const arguments& asked,
                                          const mini::loaded_model& model) {
  const passage_options& source = asked.passages;
  if (name == "reasoning") {
    return make_reasoning_task(
        {.first_seed = source.first_seed, .problems = asked.problems, .steps = source.steps},
        model);
  }
  if (name == "agreement" || name == "perplexity") {
    auto passages = plan_passages(asked, model);
    if (!passages) return passages.reason();
    return name == "agreement" ? make_agreement_task(*std::move(passages))
                               : make_perplexity_task(*std::move(passages));
  }
  if (name == "needle") {
    return make_needle_task({.problems = asked.problems,
                             .text_tokens = source.text_tokens,
                             .kept_tokens = source.prompt_tokens,
                             .first_seed = source.first_seed,
                             .chat = source.chat},
                            model);
  }
  if (name == "gsm8k") {
    return make_gsm8k_task(
        source.prompts,
        {.problems = asked.problems, .answer_tokens = source.answer_tokens, .chat = source.chat},
        model);
  }
  return fail("there is no task ", in_quotes(name), "; there are ", task_names);
}

}  // namespace

shipped_model shipped() {
  const std::string folder = EPIKV_SOURCE_DIR "/examples/mini_model/weights/";
  // The window and the segments fit the task's lines of 38 characters, as the paper's 128 fit its
  // longer thoughts.
  return {folder + "ledger.gguf", folder + "ledger.preset",
          "tau=16 recent=32 segment=32 tiers=16,8,2"};
}

expected<std::vector<arm>> plan_arms(const arguments& asked, const epikv::model_shape& shape) {
  const bool own = asked.model.empty();
  const std::string common = asked.settings.empty() && own ? shipped().settings : asked.settings;
  std::vector<arm> arms{{"full", "none", ""}};

  const auto all = preset_arms(common);
  if (!all) return all.reason();
  const bool every =
      asked.presets.empty() ? asked.arms.empty() : asked.presets == std::vector<std::string>{"all"};
  if (every) arms.insert(arms.end(), all->begin(), all->end());
  for (const std::string& name : asked.presets) {
    if (every) break;
    auto each = parse_arm(name, common);
    if (!each) return each.reason();
    arms.push_back(*std::move(each));
  }
  for (const std::string& text : asked.arms) {
    auto each = parse_arm(text, common);
    if (!each) return each.reason();
    arms.push_back(*std::move(each));
  }
  std::string file = asked.calibrated;
  if (file.empty() && own && std::filesystem::exists(shipped().preset_file)) {
    file = shipped().preset_file;
  }
  if (!file.empty() && file != "none") {
    auto each = arm_of_file(file, shape, common);
    if (!each) return each.reason();
    arms.push_back(*std::move(each));
  }

  for (std::size_t i = 0; i < arms.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (arms[i].name == arms[j].name) {
        return fail("two arms are called ", in_quotes(arms[i].name),
                    "; name one as \"NAME: ", arms[i].preset, " ...\"");
      }
    }
  }
  // What no evictor takes is said before anything is computed.
  if (auto fit = check_arms(arms, asked.budgets, shape); !fit) return fit.reason();
  return arms;
}

expected<std::vector<std::unique_ptr<task>>> plan_tasks(const arguments& asked,
                                                        const mini::loaded_model& model) {
  std::vector<std::unique_ptr<task>> out;
  for (const std::string& name : asked.tasks) {
    auto made = plan_task(name, asked, model);
    if (!made) return made.reason();
    for (const auto& other : out) {
      if (other->name() == name) return fail("the task ", in_quotes(name), " is given twice");
    }
    out.push_back(*std::move(made));
  }
  return out;
}

expected<std::vector<mini::token>> plan_viewed_prompt(const arguments& asked,
                                                      const mini::loaded_model& model) {
  const auto passages = plan_passages(asked, model);
  if (!passages) return passages.reason();
  return (*passages)->prompt(model, 0);
}

}  // namespace eval
