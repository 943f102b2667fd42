// SPDX-License-Identifier: MIT

// The shortest complete host: a stand-in engine with a contiguous cache generates for a while, and
// EpiKV keeps the cache within its budget. The marked region is what a real host writes.

#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "epikv/cpu.hpp"

namespace {

constexpr epikv::model_shape shape{
    .layers = 8, .query_heads = 8, .kv_heads = 2, .head_dim = 32, .hidden = 256};

// Stands for an engine: fills its tensors with noise and appends K and V rows to its cache.
class engine {
 public:
  explicit engine(std::int32_t slots)
      : slots_{slots}, keys_(cache_floats()), values_(cache_floats()) {}

  std::int32_t length = 0;  // cached tokens, the same for every layer and head

  // Runs one block over `n` new tokens.
  void forward(std::int32_t layer, std::int32_t n) {
    for (auto* tensor : {&hidden_in, &hidden_out, &keys, &values, &queries}) {
      tensor->resize(static_cast<std::size_t>(n * shape.hidden));
      for (float& x : *tensor) x = noise_(random_);
    }
    for (std::int32_t head = 0; head < shape.kv_heads; ++head) {
      for (std::int32_t i = 0; i < n * shape.head_dim; ++i) {
        const std::size_t at = offset(layer, head, length) + static_cast<std::size_t>(i);
        keys_[at] = values_[at] = noise_(random_);
      }
    }
  }

  // Its K or V cache as opaque rows, [layer][head][slot].
  epikv::contiguous_cache k_cache() { return rows(keys_); }
  epikv::contiguous_cache v_cache() { return rows(values_); }

  std::vector<float> hidden_in, hidden_out, keys, values, queries;  // of the block that ran last

 private:
  [[nodiscard]] std::size_t offset(std::int32_t layer, std::int32_t head, std::int32_t slot) const {
    return static_cast<std::size_t>(((layer * shape.kv_heads + head) * slots_ + slot) *
                                    shape.head_dim);
  }
  [[nodiscard]] std::size_t cache_floats() const { return offset(shape.layers, 0, 0); }
  epikv::contiguous_cache rows(std::vector<float>& data) {
    const std::int64_t row = shape.head_dim * std::int64_t{sizeof(float)};
    return {.data = data.data(),
            .row_bytes = row,
            .slot_stride = row,
            .head_stride = row * slots_,
            .layer_stride = row * slots_ * shape.kv_heads,
            .layers = shape.layers,
            .kv_heads = shape.kv_heads,
            .slots = slots_};
  }

  std::int32_t slots_;
  std::vector<float> keys_;
  std::vector<float> values_;
  std::mt19937 random_{1};
  std::normal_distribution<float> noise_;
};

// snippet: host
epikv::status generate(engine& model, std::int32_t prompt_length, std::int32_t new_tokens) {
  auto evictor = epikv::make_evictor("epikv-q", shape, {{"budget", 512}, {"tau", 64}});
  if (!evictor) return evictor.status();
  constexpr epikv::sequence_id sequence{1};
  EPIKV_RETURN_IF_ERROR(evictor->add(sequence, prompt_length));

  for (std::int32_t step = 0; step <= new_tokens; ++step) {
    const std::int32_t n = step == 0 ? prompt_length : 1;
    EPIKV_RETURN_IF_ERROR(evictor->begin_step(sequence, n));
    for (std::int32_t layer = 0; layer < shape.layers; ++layer) {
      model.forward(layer, n);
      if (evictor->wants(layer).empty()) continue;
      EPIKV_RETURN_IF_ERROR(evictor->observe(
          layer, {.hidden_in = {model.hidden_in.data(), {n, shape.hidden}},
                  .hidden_out = {model.hidden_out.data(), {n, shape.hidden}},
                  .keys = {model.keys.data(), {n, shape.kv_heads, shape.head_dim}},
                  .values = {model.values.data(), {n, shape.kv_heads, shape.head_dim}},
                  .queries = {model.queries.data(), {n, shape.query_heads, shape.head_dim}}}));
    }
    model.length += n;

    const auto selection = evictor->select();  // empty most of the time
    if (!selection) return selection.status();
    for (const epikv::sequence_selection& chosen : *selection) {
      EPIKV_RETURN_IF_ERROR(epikv::compact(model.k_cache(), chosen));
      EPIKV_RETURN_IF_ERROR(epikv::compact(model.v_cache(), chosen));
      model.length -= chosen.freed_slots();
    }
    EPIKV_RETURN_IF_ERROR(evictor->commit(*selection));
  }
  return {};
}
// end snippet

}  // namespace

int main() {
  engine model{512 + 64 + 1};
  const epikv::status done = generate(model, 100, 2000);
  if (!done) {
    std::fprintf(stderr, "quickstart: %s\n", done.message().c_str());
    return 1;
  }
  std::printf("2100 tokens seen, %d in the cache\n", model.length);
  return model.length <= 512 + 64 ? 0 : 1;
}
