// SPDX-License-Identifier: MIT
// What observe() costs on a layer no score wants (target: under 3 ns, in every form a host may
// write it in), and what the work on a wanted layer and a selection cost beside it.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "epikv/cpu.hpp"

namespace {

using namespace epikv;

constexpr model_shape llama_8b{
    .layers = 32, .query_heads = 32, .kv_heads = 8, .head_dim = 128, .hidden = 4096};
constexpr sequence_id first_sequence{1};

using flat = evictor<epiphany, top_k, cpu_backend>;

// The forms in which a host can show a layer. Views "prebuilt" are made once, before the loop; the
// others are made from pointers at each call, as an engine does whose buffers move.
struct rows {
  std::vector<float> in = std::vector<float>(4096, 0.5F);
  std::vector<float> out = std::vector<float>(4096, 0.25F);
};

template <class Evictor>
void short_form_prebuilt(benchmark::State& state, Evictor& ev, std::int32_t layer) {
  const rows r;
  const tensor_view in{r.in.data(), {1, 4096}};
  const tensor_view out{r.out.data(), {1, 4096}};
  for (auto _ : state) {
    benchmark::DoNotOptimize(layer);
    status outcome = ev.observe(layer, in, out);
    benchmark::DoNotOptimize(outcome.ok());
  }
}

template <class Evictor>
void short_form_at_the_call(benchmark::State& state, Evictor& ev, std::int32_t layer) {
  const rows r;
  const float* in = r.in.data();
  const float* out = r.out.data();
  std::int64_t width = 4096;
  for (auto _ : state) {
    benchmark::DoNotOptimize(layer);
    benchmark::DoNotOptimize(in);
    benchmark::DoNotOptimize(out);
    benchmark::DoNotOptimize(width);
    status outcome = ev.observe(layer, tensor_view{in, {1, width}}, tensor_view{out, {1, width}});
    benchmark::DoNotOptimize(outcome.ok());
  }
}

template <class Evictor>
void struct_form_prebuilt(benchmark::State& state, Evictor& ev, std::int32_t layer) {
  const rows r;
  const layer_signals given{.hidden_in = tensor_view{r.in.data(), {1, 4096}},
                            .hidden_out = tensor_view{r.out.data(), {1, 4096}}};
  for (auto _ : state) {
    benchmark::DoNotOptimize(layer);
    status outcome = ev.observe(layer, given);
    benchmark::DoNotOptimize(outcome.ok());
  }
}

// The form in which most engines will write it: every signal there is, views made on the spot.
template <class Evictor>
void struct_form_at_the_call(benchmark::State& state, Evictor& ev, std::int32_t layer) {
  const rows r;
  const float* data = r.in.data();
  std::int64_t width = 4096;
  std::int64_t heads = 8;
  for (auto _ : state) {
    benchmark::DoNotOptimize(layer);
    benchmark::DoNotOptimize(data);
    benchmark::DoNotOptimize(width);
    benchmark::DoNotOptimize(heads);
    status outcome = ev.observe(layer, {.hidden_in = {data, {1, width}},
                                        .hidden_out = {data, {1, width}},
                                        .keys = {data, {1, heads, 128}},
                                        .values = {data, {1, heads, 128}},
                                        .queries = {data, {1, 32, 128}}});
    benchmark::DoNotOptimize(outcome.ok());
  }
}

enum class form { short_prebuilt, short_at_the_call, struct_prebuilt, struct_at_the_call };

template <class Evictor>
void dispatch(benchmark::State& state, Evictor& ev, form how, std::int32_t layer) {
  switch (how) {
    case form::short_prebuilt: return short_form_prebuilt(state, ev, layer);
    case form::short_at_the_call: return short_form_at_the_call(state, ev, layer);
    case form::struct_prebuilt: return struct_form_prebuilt(state, ev, layer);
    case form::struct_at_the_call: return struct_form_at_the_call(state, ev, layer);
  }
}

void unwanted_typed(benchmark::State& state, form how) {
  flat ev{llama_8b, {}, {}, {}};
  const bool ready = ev.add(first_sequence, 0).ok() && ev.begin_step(first_sequence).ok();
  if (!ready) return state.SkipWithError("the evictor was refused");
  dispatch(state, ev, how, 3);
}
BENCHMARK_CAPTURE(unwanted_typed, short_prebuilt, form::short_prebuilt);
BENCHMARK_CAPTURE(unwanted_typed, short_at_the_call, form::short_at_the_call);
BENCHMARK_CAPTURE(unwanted_typed, struct_prebuilt, form::struct_prebuilt);
BENCHMARK_CAPTURE(unwanted_typed, struct_at_the_call, form::struct_at_the_call);

void unwanted_any(benchmark::State& state, form how) {
  auto ev = make_evictor("epikv-flat", llama_8b);
  const bool ready = ev && ev->add(first_sequence, 0).ok() && ev->begin_step(first_sequence).ok();
  if (!ready) return state.SkipWithError("the evictor was refused");
  dispatch(state, *ev, how, 3);
}
BENCHMARK_CAPTURE(unwanted_any, short_prebuilt, form::short_prebuilt);
BENCHMARK_CAPTURE(unwanted_any, short_at_the_call, form::short_at_the_call);
BENCHMARK_CAPTURE(unwanted_any, struct_prebuilt, form::struct_prebuilt);
BENCHMARK_CAPTURE(unwanted_any, struct_at_the_call, form::struct_at_the_call);

// One decode token at one band layer, d = 4096: begin_step, observe and the step's end. The bytes
// are what the score must touch: h and the previous state read, the previous state written.
void epiphany_one_layer(benchmark::State& state) {
  epiphany score;
  score.band_a = 10;
  score.form = epiphany_form::a_only;
  // A budget that is never exceeded, so that no selection falls into the loop.
  flat ev{llama_8b, score, {}, {}, {.budget = 1 << 20}};
  if (!ev.add(first_sequence, 0).ok()) return state.SkipWithError("add() was refused");
  const rows r;
  const tensor_view in{r.in.data(), {1, 4096}};
  const tensor_view out{r.out.data(), {1, 4096}};
  std::int64_t tokens = 0;
  for (auto _ : state) {
    bool ok = ev.begin_step(first_sequence).ok();
    ok = ev.observe(10, in, out).ok() && ok;
    benchmark::DoNotOptimize(ok);
    if (++tokens == 1 << 19) {  // start over before the cache is full
      state.PauseTiming();
      tokens = 0;
      ok = ev.select().ok() && ev.reset(first_sequence).ok();
      benchmark::DoNotOptimize(ok);
      state.ResumeTiming();
    }
  }
  state.SetBytesProcessed(state.iterations() * 3 * 4096 * 4);
}
BENCHMARK(epiphany_one_layer);

// The floor of the same traffic, in plain C++: reads h and the previous state, writes it.
void read_two_write_one(benchmark::State& state) {
  rows r;
  for (auto _ : state) {
    benchmark::DoNotOptimize(r.out.data());
    float sums[16] = {};
    for (std::size_t i = 0; i < 4096; i += 16) {
      for (std::size_t j = 0; j < 16; ++j) sums[j] += r.out[i + j] - r.in[i + j];
    }
    std::copy(r.out.begin(), r.out.end(), r.in.begin());
    benchmark::DoNotOptimize(sums);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 3 * 4096 * 4);
}
BENCHMARK(read_two_write_one);

// One selection at K = 4096 with 128 tokens to leave; not committed, so it repeats as it was.
void select_4096(benchmark::State& state, const char* preset) {
  auto ev = make_evictor(preset, llama_8b, "budget=4096 tau=128 recent=128");
  if (!ev) return state.SkipWithError("the evictor was refused");
  std::vector<float> row(4096);
  std::uint32_t seed = 1;
  bool ok = ev->add(first_sequence, 0).ok();
  for (std::int32_t token = 0; token < 4096 + 128 && ok; ++token) {
    for (float& x : row) {
      seed = seed * 1664525U + 1013904223U;
      x = static_cast<float>(seed >> 8) * 0x1p-24F;
    }
    ok = ev->begin_step(first_sequence).ok();
    for (std::int32_t layer = 0; layer < llama_8b.layers && ok; ++layer) {
      if (ev->wants(layer).empty()) continue;
      const float* const data = row.data();
      ok = ev->observe(layer, {.hidden_in = {data, {1, 4096}},
                               .hidden_out = {data, {1, 4096}},
                               .keys = {data, {1, 8, 128}},
                               .values = {data, {1, 8, 128}},
                               .queries = {data, {1, 32, 128}}})
               .ok();
    }
  }
  if (!ok) return state.SkipWithError("a step was refused");
  for (auto _ : state) {
    const result<selection> chosen = ev->select();
    benchmark::DoNotOptimize(chosen->size());
  }
}
BENCHMARK_CAPTURE(select_4096, epikv_flat, "epikv-flat")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(select_4096, epikv_seg, "epikv-seg")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(select_4096, epikv_q, "epikv-q")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(select_4096, streaming, "streaming")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(select_4096, random, "random")->Unit(benchmark::kMicrosecond);

}  // namespace
