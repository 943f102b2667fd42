// SPDX-License-Identifier: MIT
#include "session.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <utility>

namespace eval {
namespace {

using mini::expected;
using mini::fail;
using mini::position;
using mini::token;

constexpr std::int32_t no_limit = 1 << 24;  // tokens
constexpr std::size_t pass = 256;           // tokens in one pass: bounds the scratch memory

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// evicting_host with a look at what it selects.
class watched_host {
 public:
  watched_host(epikv::any_evictor& evictor, epikv::sequence_id sequence,
               const selection_watcher& watch) noexcept
      : evictor_{&evictor}, sequence_{sequence}, host_{evictor, sequence}, watch_{&watch} {}

  bool before(std::span<const token> tokens, position first, mini::kv_cache& cache) {
    return host_.before(tokens, first, cache);
  }
  std::size_t most_tokens() const noexcept { return host_.most_tokens(); }
  void observe(std::size_t layer, const mini::layer_tap& tap) noexcept {
    host_.observe(layer, tap);
  }
  bool after(mini::kv_cache& cache) {
    if (*watch_ && host_.status().ok()) (*watch_)(*evictor_, sequence_);
    return host_.after(cache);
  }
  const epikv::status& status() const noexcept { return host_.status(); }

 private:
  epikv::any_evictor* evictor_;
  epikv::sequence_id sequence_;
  mini::evicting_host host_;
  const selection_watcher* watch_;
};

run_cost cost_of(const mini::kv_cache& cache, double seconds) {
  return {cache.peak_tokens(), cache.peak_bytes(), seconds};
}

std::int32_t budget_of(const arm& each, std::int32_t budget) {
  return each.is_full() ? no_limit : budget;
}

}  // namespace

expected<generated> session::generate(const arm& each, std::int32_t budget, const request& asked,
                                      const selection_watcher& watch) {
  auto evictor = make_evictor(each, shape(), budget_of(each, budget));
  if (!evictor) return evictor.reason();
  const std::size_t kept = std::min(asked.kept, asked.prompt.size());
  const epikv::status added = evictor->add(sequence_, static_cast<std::int32_t>(kept));
  if (!added) return fail(each.name, ": ", added.message());

  mini::kv_cache cache{model_->model.shape, kept + 1};
  watched_host host{*evictor, sequence_, watch};
  engine_.show_probabilities(mini::wants_attention(*evictor));
  const auto begin = std::chrono::steady_clock::now();
  auto tokens = mini::generate(
      engine_, cache, asked.prompt,
      {.most_tokens = asked.most, .ends = model_->words.ends(), .prompt_chunk = pass}, host);
  const double seconds = seconds_since(begin);
  if (!host.status().ok()) return fail(each.name, ": ", host.status().message());
  if (!tokens) return tokens.reason();

  generated out;
  out.tokens = *std::move(tokens);
  out.capped = out.tokens.empty() || !model_->words.ends(out.tokens.back());
  out.cost = cost_of(cache, seconds);
  return out;
}

expected<run_cost> session::force(
    const arm& each, std::int32_t budget, std::span<const token> prompt,
    std::span<const token> text,
    const std::function<void(std::size_t, std::span<const float>)>& see) {
  if (prompt.empty() || text.empty()) return fail("a prompt and a text need a token each");
  auto evictor =
      make_evictor(with_settings(each, "cadence=aligned"), shape(), budget_of(each, budget));
  if (!evictor) return evictor.reason();
  const epikv::status added = evictor->add(sequence_, static_cast<std::int32_t>(prompt.size()));
  if (!added) return fail(each.name, ": ", added.message());

  mini::kv_cache cache{model_->model.shape, prompt.size() + 1};
  const selection_watcher nobody;
  watched_host host{*evictor, sequence_, nobody};
  engine_.show_probabilities(mini::wants_attention(*evictor));
  const auto observer = [&host](std::size_t layer, const mini::layer_tap& tap) {
    host.observe(layer, tap);
  };
  const std::size_t vocabulary = model_->model.shape.vocab;
  const auto begin = std::chrono::steady_clock::now();

  // Step by step: the prompt in chunks, then the text up to its last token but one, whose logits
  // predict the last.
  std::size_t shown = 0;
  position next = 0;
  const auto feed = [&](std::span<const token> chunk, bool is_text) -> expected<void> {
    if (!host.before(chunk, next, cache)) return fail(each.name, ": ", host.status().message());
    const auto logits =
        engine_.forward(chunk, next, cache, observer,
                        is_text ? mini::logits_of::every_token : mini::logits_of::last_token);
    if (!logits) return logits.reason();
    for (std::size_t i = 0; is_text && i < chunk.size(); ++i) {
      see(++shown, logits->subspan(i * vocabulary, vocabulary));
    }
    if (!is_text && static_cast<std::size_t>(next) + chunk.size() == prompt.size()) {
      see(0, *logits);
    }
    if (!host.after(cache)) return fail(each.name, ": ", host.status().message());
    next += static_cast<position>(chunk.size());
    return {};
  };
  // Passes of as many tokens as cannot delay an eviction.
  const auto feed_all = [&](std::span<const token> tokens, bool is_text) -> expected<void> {
    while (!tokens.empty()) {
      const std::size_t count = std::min(mini::step_size(host, pass), tokens.size());
      if (const auto fed = feed(tokens.first(count), is_text); !fed) return fed.reason();
      tokens = tokens.subspan(count);
    }
    return {};
  };
  if (const auto fed = feed_all(prompt, false); !fed) return fed.reason();
  if (const auto fed = feed_all(text.first(text.size() - 1), true); !fed) return fed.reason();
  return cost_of(cache, seconds_since(begin));
}

}  // namespace eval
