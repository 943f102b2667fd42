// SPDX-License-Identifier: MIT
#include "evicting_batch.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace mini {
namespace {

// A request that takes part in the steps.
struct running {
  std::size_t request = 0;
  std::unique_ptr<kv_cache> cache;
  position next = 0;  // of the tokens that come next
  batch_answer answer;
};

}  // namespace

expected<std::span<const float>> evicting_batch::step(std::span<const part> parts) {
  announced_.clear();
  positions_.clear();
  chunks_.clear();
  for (const part& each : parts) {
    announced_.push_back({each.sequence, static_cast<std::int32_t>(each.tokens.size())});
    for (std::size_t i = 0; i < each.tokens.size(); ++i) {
      positions_.push_back(each.first + static_cast<position>(i));
    }
  }
  std::size_t first = 0;
  for (const part& each : parts) {
    chunks_.push_back(
        {each.tokens, std::span{positions_}.subspan(first, each.tokens.size()), each.cache});
    first += each.tokens.size();
  }

  model_->show_probabilities(wants_attention(*evictor_));
  epikv::status outcome = evictor_->begin_step(announced_);
  if (!outcome) return fail(outcome.message());
  const auto observe = [&](std::size_t layer, const layer_tap& tap) {
    const auto index = static_cast<std::int32_t>(layer);
    if (!outcome || evictor_->wants(index).empty()) return;
    outcome = evictor_->observe(index, signals_of(tap, evictor_->shape()));
  };
  const auto logits = model_->forward(chunks_, observer_ref{observe});
  if (!logits) return logits.reason();
  if (!outcome) return fail(outcome.message());

  const auto selection = evictor_->select();
  if (!selection) return fail(selection.status().message());
  for (const epikv::sequence_selection& chosen : *selection) {
    const auto of = std::find_if(parts.begin(), parts.end(), [&](const part& each) {
      return each.sequence == chosen.sequence();
    });
    if (of == parts.end()) return fail("a sequence outside of the step was selected from");
    if (outcome = evict(*of->cache, chosen); !outcome) return fail(outcome.message());
  }
  if (outcome = evictor_->commit(*selection); !outcome) return fail(outcome.message());
  return *logits;
}

expected<std::vector<batch_answer>> generate_all(decoder& model, epikv::any_evictor& evictor,
                                                 std::span<const batch_request> requests,
                                                 std::size_t together,
                                                 std::span<const token> ends) {
  if (together == 0) return fail("a step needs at least one sequence");
  std::vector<batch_answer> answers(requests.size());
  std::vector<running> active;
  std::size_t waiting = 0;  // the first request that has not begun
  evicting_batch batch{model, evictor};
  const std::size_t vocabulary = model.shape().vocab;

  while (true) {
    while (active.size() < together && waiting < requests.size()) {
      const batch_request& next = requests[waiting];
      const auto length = static_cast<std::int32_t>(next.prompt.size());
      if (const epikv::status added = evictor.add(next.sequence, length); !added) {
        return fail(added.message());
      }
      auto cache = std::make_unique<kv_cache>(model.shape(), next.prompt.size() + 1);
      active.push_back({waiting++, std::move(cache), 0, {}});
    }
    if (active.empty()) return answers;

    std::vector<evicting_batch::part> parts;
    for (running& each : active) {
      const batch_request& request = requests[each.request];
      std::span<const token> tokens = request.prompt;
      if (each.next > 0) tokens = std::span{each.answer.tokens}.last(1);
      each.cache->make_room(tokens.size());
      parts.push_back({request.sequence, tokens, each.next, each.cache.get()});
    }
    const auto logits = batch.step(parts);
    if (!logits) return logits.reason();

    for (std::size_t i = 0; i < active.size(); ++i) {
      running& each = active[i];
      each.next += static_cast<position>(parts[i].tokens.size());
      each.answer.tokens.push_back(argmax(logits->subspan(i * vocabulary, vocabulary)));
      const batch_request& request = requests[each.request];
      const bool ended = is_among(ends, each.answer.tokens.back());
      if (!ended && each.answer.tokens.size() < request.most_tokens) {
        continue;
      }
      if (const epikv::status removed = evictor.remove(request.sequence); !removed) {
        return fail(removed.message());
      }
      each.answer.peak_tokens = each.cache->peak_tokens();
      each.answer.peak_bytes = each.cache->peak_bytes();
      answers[each.request] = std::move(each.answer);
      each.cache = nullptr;
    }
    std::erase_if(active, [](const running& each) { return each.cache == nullptr; });
  }
}

}  // namespace mini
