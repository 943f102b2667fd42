// SPDX-License-Identifier: MIT
#include "retention.hpp"

#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "session.hpp"

namespace eval {
namespace {

using mini::expected;
using mini::fail;

std::string group_name(epikv::group_key key) {
  if (key.layer < 0) return "whole sequence";
  const std::string layer = "layer " + std::to_string(key.layer);
  return key.kv_head < 0 ? layer : layer + ", KV head " + std::to_string(key.kv_head);
}

// Turns an evictor's state before each eviction into the viewer's steps.
class recorder {
 public:
  explicit recorder(report::retention_trace& out) : out_{&out} {}

  void look(epikv::any_evictor& evictor, epikv::sequence_id sequence) {
    const auto chosen = evictor.select();
    if (!chosen) return;  // the host will meet the same error and report it
    if (out_->groups.empty()) begin(evictor);
    for (const epikv::sequence_selection& each : *chosen) {
      std::size_t index = 0;
      for (const epikv::group_selection& group : each.groups()) {
        add_step(evictor, sequence, group, index++);
      }
    }
  }

 private:
  void begin(const epikv::any_evictor& evictor) {
    for (std::size_t i = 0; !evictor.score_part(i).empty(); ++i) {
      out_->part_names.emplace_back(evictor.score_part(i));
    }
    const auto keep_sets = evictor.options().keep_sets;
    for (std::int32_t g = 0; g < evictor.shape().groups(keep_sets); ++g) {
      out_->groups.push_back({group_name(evictor.shape().key_of(keep_sets, g)), {}});
    }
  }

  void add_step(epikv::any_evictor& evictor, epikv::sequence_id sequence,
                const epikv::group_selection& group, std::size_t index) {
    const auto g = static_cast<std::int32_t>(index);
    const std::span<const epikv::position> positions = group.positions();
    const auto length = static_cast<std::size_t>(group.length_before());
    report::selection_step step;
    step.tokens_seen = to_int(positions[length - 1]) + 1;
    step.step = step.tokens_seen;
    for (std::size_t slot = 0; slot < length; ++slot) {
      step.positions.push_back(to_int(positions[slot]));
      step.slots.push_back(static_cast<std::int32_t>(slot));
    }
    for (const epikv::slot s : group.evicted()) {
      step.evicted.push_back(to_int(positions[static_cast<std::size_t>(to_int(s))]));
    }
    step.scores.resize(length);
    if (!evictor.scores(sequence, g, "score", step.scores)) return;
    const std::size_t parts = out_->part_names.size();
    std::vector<float> numbers(length);
    step.parts.resize(parts * length);
    for (std::size_t i = 0; i < parts; ++i) {
      const bool tracked = evictor.scores(sequence, g, out_->part_names[i], numbers).ok();
      for (std::size_t slot = 0; slot < length; ++slot) {
        step.parts[slot * parts + i] =
            tracked ? numbers[slot] : std::numeric_limits<float>::quiet_NaN();
      }
    }
    out_->groups[index].steps.push_back(std::move(step));
  }

  report::retention_trace* out_;
};

}  // namespace

expected<report::retention_trace> trace_retention(const mini::loaded_model& model, const arm& each,
                                                  std::int32_t budget,
                                                  std::span<const mini::token> prompt,
                                                  std::size_t most_tokens, std::string title) {
  report::retention_trace out;
  out.title = std::move(title);
  out.preset = each.name;
  out.options = each.settings;
  out.budget = each.is_full() ? 0 : budget;

  recorder seen{out};
  session with{model};
  // What a score is made of is worth its memory here.
  const auto answer = with.generate(
      with_settings(each, "track_epiphany=true track_bands=true"), budget,
      {.prompt = prompt, .most = most_tokens},
      [&](epikv::any_evictor& evictor, epikv::sequence_id id) { seen.look(evictor, id); });
  if (!answer) return answer.reason();

  const auto add_token = [&](mini::token id, bool is_generated) {
    out.tokens.push_back({std::string{model.words.decode(id)},
                          static_cast<std::int64_t>(out.tokens.size()), is_generated});
  };
  for (const mini::token id : prompt) add_token(id, false);
  for (const mini::token id : answer->tokens) add_token(id, true);
  return out;
}

}  // namespace eval
