// SPDX-License-Identifier: MIT

// epikv-methods: prints docs/methods.md from the presets themselves, so that the page cannot drift.

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "epikv/cpu.hpp"

namespace {

using namespace epikv;

// The model that bytes of state are counted for.
constexpr model_shape reference{
    .layers = 32, .query_heads = 32, .kv_heads = 8, .head_dim = 128, .hidden = 4096};
constexpr const char* small_budget = "budget=256";

template <Signal S>
void name_signal(const any_evictor& evictor, std::string& out) {
  int layers = 0;
  for (std::int32_t l = 0; l < reference.layers; ++l) layers += evictor.wants(l).contains(S::id);
  if (layers == 0) return;
  if (!out.empty()) out += ", ";
  out += S::name;
  if (layers < reference.layers) out += fmt::format(" of {}", layers == 1 ? "a layer" : "layers");
  switch (evictor.cadence(S::id)) {
    case row_cadence::last_tokens: out += " (last tokens)"; break;
    case row_cadence::decode_tokens: out += " (decoding)"; break;
    case row_cadence::every_token: break;
  }
}

std::string signals_of(const any_evictor& evictor) {
  std::string out;
  name_signal<signals::hidden_in>(evictor, out);
  name_signal<signals::hidden_out>(evictor, out);
  name_signal<signals::keys>(evictor, out);
  name_signal<signals::values>(evictor, out);
  name_signal<signals::queries>(evictor, out);
  name_signal<signals::attention>(evictor, out);
  return out.empty() ? "none" : out;
}

std::string protection_of(const evictor_options& options) {
  std::string out = options.protect_prompt ? "prompt" : "";
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  if (options.sinks > 0) add(fmt::format("{} sinks", options.sinks));
  if (options.recent < 0) add("recent");
  if (options.recent > 0) add(fmt::format("last {}", options.recent));
  return out.empty() ? "none" : out;
}

std::string kib_of(any_evictor& evictor) {
  if (!evictor.add(sequence_id{0}, 0)) return "?";
  const auto seen = evictor.statistics(sequence_id{0});
  if (!seen) return "?";
  const std::size_t kib = (seen->state_bytes + 1023) / 1024;
  return kib < 10240 ? fmt::format("{} KiB", kib) : fmt::format("{} MiB", kib / 1024);
}

bool print_row(const preset_info& info) {
  auto evictor = make_evictor(info.name, reference, small_budget);
  if (!evictor) {
    fmt::print(stderr, "epikv-methods: {}: {}\n", info.name, evictor.status().message());
    return false;
  }
  const evictor_options& options = evictor->options();
  std::string cadence = options.tau == 1 ? "every token" : fmt::format("{} tokens", options.tau);
  if (options.buffer > 0) cadence = fmt::format("{} over", options.buffer);
  if (info.name == "lag-kv") cadence = "each chunk";
  if (info.name == "none") cadence = "never";
  fmt::print("| `{}` | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", info.name, info.summary,
             info.formula, signals_of(*evictor), to_string(options.keep_sets), cadence,
             protection_of(options), info.complexity, kib_of(*evictor), info.source);
  return true;
}

}  // namespace

int main() {
  fmt::print(
      "# Methods\n\n"
      "Every preset of `make_evictor`, printed by `epikv-methods` from the code's own table; a "
      "test\n"
      "compares. Signals are what a host shows, with the tokens whose rows are read where not all\n"
      "are; keep-sets, cadence and protection are defaults that options change. State is what the\n"
      "library holds of one sequence at a budget of 256 in a model of {} layers, {} KV heads of "
      "{}\n"
      "and {} channels. n: cached slots, d: head_dim, q, k, v: query, key, value, a: attention.\n\n"
      "| preset | what it is | score | signals | keep-sets | acts | protected | complexity | state "
      "| source |\n|---|---|---|---|---|---|---|---|---|---|\n",
      reference.layers, reference.kv_heads, reference.head_dim, reference.hidden);
  bool ok = true;
  for (const preset_info& info : presets) ok = print_row(info) && ok;
  fmt::print("\n## Where a preset differs from its authors' method\n\n");
  for (const preset_info& info : presets) {
    if (!info.differs.empty()) fmt::print("- `{}`: {}.\n", info.name, info.differs);
  }
  fmt::print("\n## Options\n\n");
  for (const preset_info& info : presets) fmt::print("- `{}`: {}\n", info.name, info.options);
  return ok ? 0 : 1;
}
