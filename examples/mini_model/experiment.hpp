// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "epikv/cpu.hpp"
#include "evicting_host.hpp"
#include "ledger.hpp"
#include "loaded_model.hpp"
#include "mini_model.hpp"

namespace mini {

/// One line of the comparison: an EpiKV preset with its settings, by name.
struct arm {
  std::string label;
  std::string preset;
  std::string settings;  // beyond the budget, in EpiKV's text form
};

/// What a run of an arm over many problems found.
struct arm_result {
  std::size_t problems = 0;
  std::size_t right = 0;
  double characters = 0;  // mean share of the trace's characters in their places
  std::size_t peak_tokens = 0;
  std::size_t peak_bytes = 0;
  std::size_t generated = 0;
  double seconds = 0;
  std::string first_text;  // what it made of the first problem

  double accuracy() const noexcept {
    return problems == 0 ? 0 : static_cast<double>(right) / static_cast<double>(problems);
  }
  double tokens_per_second() const noexcept {
    return seconds > 0 ? static_cast<double>(generated) / seconds : 0;
  }
};

/// Held-out problems: the generator of the training script draws from another family of numbers, so
/// no seed gives a problem it has seen but by chance (there are over 10^20).
struct problem_set {
  std::uint64_t first_seed = 1'000'000;
  std::size_t count = 50;
  std::size_t steps = 12;
};

/// The evictor of an arm under a budget; the error says what EpiKV does not know.
inline expected<epikv::any_evictor> make_arm_evictor(const loaded_model& loaded, const arm& each,
                                                     std::int32_t budget) {
  auto evictor = epikv::make_evictor(each.preset, shape_of(loaded.model.shape),
                                     "budget=" + std::to_string(budget) + " " + each.settings);
  if (!evictor) return fail(each.label, ": ", evictor.status().message());
  return *std::move(evictor);
}

/// Generates the answers of one problem set under one arm and a budget (slots a keep-set may hold),
/// in a cache that grows with what the arm keeps.
inline expected<arm_result> run_arm(const loaded_model& loaded, const arm& each,
                                    std::int32_t budget, const problem_set& problems) {
  auto evictor = make_arm_evictor(loaded, each, budget);
  if (!evictor) return evictor.reason();
  decoder engine{loaded.model};

  arm_result out;
  for (std::size_t i = 0; i < problems.count; ++i) {
    const auto problem = make_ledger_problem(problems.first_seed + i, 4, problems.steps);
    if (!problem) return problem.reason();
    const auto prompt = loaded.words.encode(problem->prompt);
    if (!prompt) return prompt.reason();

    const auto prompt_length = static_cast<std::int32_t>(prompt->size());
    const epikv::sequence_id sequence{static_cast<std::int64_t>(i)};
    if (const epikv::status added = evictor->add(sequence, prompt_length); !added) {
      return fail(each.label, ": ", added.message());
    }
    kv_cache cache{loaded.model.shape, prompt->size() + 1};  // grows with what the arm keeps
    evicting_host host{*evictor, sequence};
    const auto begin = std::chrono::steady_clock::now();
    const auto answer =
        generate(engine, cache, *prompt,
                 {.most_tokens = problem->trace.size(), .eos = loaded.words.eos()}, host);
    out.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (!host.status().ok()) return fail(each.label, ": ", host.status().message());
    if (!answer) return answer.reason();
    if (const epikv::status removed = evictor->remove(sequence); !removed) {
      return fail(each.label, ": ", removed.message());
    }

    const std::string text = loaded.words.decode(*answer);
    const ledger_grade mark = grade(*problem, text);
    out.right += mark.right ? 1 : 0;
    out.characters += mark.characters / static_cast<double>(problems.count);
    out.peak_tokens = std::max(out.peak_tokens, cache.peak_tokens());
    out.peak_bytes = std::max(out.peak_bytes, cache.peak_bytes());
    out.generated += answer->size();
    ++out.problems;
    if (i == 0) out.first_text = text;
  }
  return out;
}

}  // namespace mini
