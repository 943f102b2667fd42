// SPDX-License-Identifier: MIT

// The same bits whatever the compiler's flags: hashes of the scores and keep-sets of seeded runs,
// compared with the numbers in the table below. CMake builds this file several times, with and
// without optimisation, contraction and this machine's instructions; each build must agree.
//
// A number in the table may change only when the documented arithmetic changes: the canonical
// reductions, the formula of a score, the total order of a selection, a preset's defaults. A new
// compiler, flag, library or processor that wants other numbers has found a mistake. `--print`
// writes the table as this build computes it.
//
// Nothing here comes from a library that the standard leaves free, and no input is computed in
// floating point: inputs are bit patterns made of integers.

#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "epikv/cpu.hpp"

namespace {

struct setting {
  const char* name;
  const char* options;
  std::uint64_t expected;
};

constexpr setting settings[] = {
    {"epikv-q", "", 0x9CBDD1CE42039098},
    {"epikv-q", "query_mode=add query_weight=0.7 query_window=5 window=7 value_reserve=3",
     0x83EF18AEA9FE17E0},
    {"epikv-q", "track_epiphany=true change=block fill=false cadence=aligned", 0x340A50C2D219878A},
    {"epikv-seg", "value_reserve=3 value_stat=variance keep_sets=layer", 0xB9A90CF18D7C04A6},
    {"epikv-seg", "form=raw weight_a=0.3 weight_b=1.7 segment_order=low fill=true",
     0xF0C3F65A9CA21C54},
    {"epikv-flat", "value_reserve=4 value_stat=norm keep_sets=kv_head", 0x3105DDB8E7BC12B6},
    {"epikv-flat", "band_a=0,1 band_b=1,2 window=5 value_reserve=2", 0x861DD9E2A3B42F09},
    {"epikv-flat", "form=a_only weight_a=1.1 change=block protect_prompt=false",
     0x79064A35AC64A068},
    {"epikv-flat", "form=b_only window=1", 0xF5AC77C4A932D595},
    // One band twice: nothing is left but the rounding of a product, so that a change of the last
    // bit of a double shows, which the final f32 would hide.
    {"epikv-flat", "band_a=1 band_b=1 weight_a=0.3 weight_b=0.3", 0x23B5A4E994D0E070},
    {"epikv-flat", "band_a=1 band_b=1 weight_a=0.3 weight_b=0.3 form=raw", 0x2C9AC28A54121F54},
    {"key-variance", "window=6 keep_sets=kv_head", 0x0605CADB024EAD50},
    {"value-variance", "tau=5 recent=3", 0x1B8741481C25F530},
    {"streaming", "", 0x2404629E0479E325},
    {"random", "seed=77 keep_sets=layer", 0x2F38188C73E613C0},
    {"random-head", "seed=5", 0xD7FA96A11BA1FFC1},
    {"none", "", 0x13A71FE02F7D83A5},
    // Statistics that presets know as reserves alone, where their numbers are not to be seen: here
    // as the score of an evictor by type.
    {"norm", "", 0x6AE7EFA0696F0EAF},
    {"range", "", 0x3B43116E3973CD0E},
};
constexpr std::string_view common = "budget=21 recent=8 tau=3 ";
constexpr std::string_view tiered = "segment=5 tiers=4,2,1 ";
constexpr std::uint64_t depth_expected = 0x7A2142A3ADFD6498;

// Extents below, at, just above and over twice the 128 lanes of the canonical reduction. A lane
// that gets one element alone adds it to 0, and no fma can be told from a product.
constexpr epikv::model_shape shapes[] = {
    {.layers = 5, .query_heads = 4, .kv_heads = 2, .head_dim = 24, .hidden = 130},
    {.layers = 3, .query_heads = 2, .kv_heads = 1, .head_dim = 128, .hidden = 8},
    {.layers = 4, .query_heads = 6, .kv_heads = 3, .head_dim = 6, .hidden = 257},
    {.layers = 3, .query_heads = 2, .kv_heads = 1, .head_dim = 300, .hidden = 33},
};
constexpr epikv::dtype types[] = {epikv::dtype::f32, epikv::dtype::f16, epikv::dtype::bf16};
constexpr std::array<epikv::sequence_id, 2> ids{epikv::sequence_id{3}, epikv::sequence_id{1}};
constexpr std::array<std::int32_t, 2> prompts{11, 6};
constexpr int steps = 48;
constexpr std::int32_t most_rows = 17;

// FNV-1a over 64 bits.
class hash {
 public:
  void add(std::uint64_t value) noexcept {
    for (int i = 0; i < 8; ++i) state_ = (state_ ^ ((value >> (8 * i)) & 0xFFU)) * 0x100000001B3U;
  }
  void add(std::int32_t value) noexcept { add(static_cast<std::uint64_t>(value)); }
  void add(float value) noexcept { add(std::uint64_t{std::bit_cast<std::uint32_t>(value)}); }
  [[nodiscard]] std::uint64_t value() const noexcept { return state_; }

 private:
  std::uint64_t state_ = 0xCBF29CE484222325U;
};

// splitmix64.
std::uint64_t next(std::uint64_t& state) noexcept {
  std::uint64_t z = state += 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

// The layout of a dtype: a sign, an exponent, a mantissa.
struct layout {
  int exponent_bits;
  int mantissa_bits;
};
constexpr layout layout_of(epikv::dtype type) noexcept {
  if (type == epikv::dtype::f16) return {5, 10};
  return type == epikv::dtype::bf16 ? layout{8, 7} : layout{8, 23};
}

// The bits of a number of magnitude 2^(top - 7) to 2^(top + 1), each mantissa equally likely; now
// and then a zero or a subnormal number.
std::uint32_t number(layout of, std::int32_t top, std::uint64_t random) noexcept {
  const auto mantissa = static_cast<std::uint32_t>(random & ((1U << of.mantissa_bits) - 1U));
  const auto below = static_cast<std::int32_t>((random >> 32) & 7U);
  const std::int32_t bias = (1 << (of.exponent_bits - 1)) - 1;
  const std::uint32_t sign = static_cast<std::uint32_t>(random >> 63)
                             << (of.exponent_bits + of.mantissa_bits);
  const std::uint64_t rare = (random >> 40) & 63U;
  if (rare == 0) return sign;
  const auto exponent = rare == 1 ? 0U : static_cast<std::uint32_t>(bias + top - below);
  return sign | (exponent << of.mantissa_bits) | mantissa;
}

// Rows of one signal, each followed by a few elements that belong to nobody, elements `stride`
// apart.
class rows_of_signal {
 public:
  // `rank` is 2 for [rows, width] and 3 for [rows, heads, width].
  rows_of_signal(epikv::dtype type, int rank, std::int32_t heads, std::int32_t width,
                 std::int64_t stride, std::int32_t top)
      : type_{type}, rank_{rank}, heads_{heads}, width_{width}, stride_{stride}, top_{top} {
    bytes_.resize(static_cast<std::size_t>(most_rows * pitch() * epikv::size_of(type)));
  }

  // `bad`: one element is not finite.
  void write(std::int64_t row, std::uint64_t seed, bool bad) noexcept {
    const layout of = layout_of(type_);
    for (std::int32_t i = 0; i < heads_ * width_; ++i) put(row, i, number(of, top_, next(seed)));
    if (!bad) return;
    const std::uint32_t infinity = ((1U << of.exponent_bits) - 1U) << of.mantissa_bits;
    const std::uint32_t quiet = (seed & 1U) != 0 ? 1U << (of.mantissa_bits - 1) : 0U;
    put(row, heads_ * width_ / 2, infinity | quiet);
  }

  [[nodiscard]] epikv::tensor_view view(std::int64_t rows) const noexcept {
    if (rank_ == 2) return {bytes_.data(), type_, {rows, width_}, {pitch(), stride_}};
    return {bytes_.data(), type_, {rows, heads_, width_}, {pitch(), width_ * stride_, stride_}};
  }

 private:
  [[nodiscard]] std::int64_t pitch() const noexcept { return heads_ * width_ * stride_ + 3; }
  void put(std::int64_t row, std::int32_t i, std::uint32_t bits) noexcept {
    const auto size = static_cast<std::size_t>(epikv::size_of(type_));
    const auto at = static_cast<std::size_t>(row * pitch() + i * stride_) * size;
    const auto half = static_cast<std::uint16_t>(bits);
    std::memcpy(bytes_.data() + at, size == 2 ? static_cast<const void*>(&half) : &bits, size);
  }

  epikv::dtype type_;
  int rank_;
  std::int32_t heads_;
  std::int32_t width_;
  std::int64_t stride_;
  std::int32_t top_;
  std::vector<std::byte> bytes_;
};

// What a made-up model shows of one layer at a time.
class model {
 public:
  model(const epikv::model_shape& shape, epikv::dtype type, std::int64_t stride)
      : signals_{{{type, 2, 1, shape.hidden, stride, 1},
                  {type, 2, 1, shape.hidden, stride, 1},
                  {type, 3, shape.kv_heads, shape.head_dim, stride, 1},
                  {type, 3, shape.kv_heads, shape.head_dim, stride, 1},
                  // Small, or each softmax would be a single 1 and no exponential would matter.
                  {type, 3, shape.query_heads, shape.head_dim, stride, -2}}} {}

  void write(epikv::signal_set wanted, std::int64_t row, std::size_t sequence,
             std::int32_t position, std::int32_t layer) noexcept {
    for (std::size_t s = 0; s < signals_.size(); ++s) {
      if (!wanted.contains(static_cast<epikv::signal_id>(s))) continue;
      std::uint64_t seed = (std::uint64_t{sequence} << 48) ^ (std::uint64_t{s} << 40) ^
                           (static_cast<std::uint64_t>(layer) << 32) ^
                           static_cast<std::uint64_t>(position);
      seed = next(seed);
      // Few enough that most windows are finite.
      const bool bad = seed % 211 == 0;
      signals_[s].write(row, seed, bad);
    }
  }
  [[nodiscard]] epikv::layer_signals show(std::int64_t rows) const noexcept {
    return {.hidden_in = signals_[0].view(rows),
            .hidden_out = signals_[1].view(rows),
            .keys = signals_[2].view(rows),
            .values = signals_[3].view(rows),
            .queries = signals_[4].view(rows)};
  }

 private:
  std::array<rows_of_signal, 5> signals_;
};

[[nodiscard]] bool failed(const epikv::status& outcome) {
  if (outcome.ok()) return false;
  const std::string text = outcome.message();
  std::fprintf(stderr, "%s\n", text.c_str());
  return true;
}

// Positions and scores of all groups; the parts of a score where it has some.
template <class Evictor>
void add_state(hash& into, Evictor& ev, std::span<float> room) {
  for (const epikv::sequence_id id : ids) {
    for (std::int32_t g = 0; g < ev.shape().groups(ev.options().keep_sets); ++g) {
      const auto positions = ev.positions(id, g);
      if (positions.ok()) {
        for (const epikv::position p : *positions) into.add(epikv::to_int(p));
      }
      for (const char* part : {"score", "epiphany", "relevance"}) {
        const auto count = ev.scores(id, g, part, room);
        if (!count.ok()) continue;
        for (const float x : room.first(static_cast<std::size_t>(*count))) into.add(x);
      }
    }
  }
}

void add_selection(hash& into, const epikv::selection& chosen) {
  for (const epikv::sequence_selection& part : chosen) {
    into.add(part.over_budget());
    for (const epikv::group_selection& group : part.groups()) {
      for (const epikv::slot s : group.kept()) into.add(epikv::to_int(s));
      into.add(std::int32_t{-1});
      for (const epikv::slot s : group.evicted()) into.add(epikv::to_int(s));
    }
  }
}

// One run; false if a call failed.
template <class Evictor>
[[nodiscard]] bool drive(Evictor& ev, epikv::dtype type, std::int64_t stride,
                         std::int64_t least_evictions, hash& into) {
  const epikv::model_shape shape = ev.shape();
  model shown{shape, type, stride};
  std::vector<float> room(256);
  std::array<std::int32_t, 2> tokens{};
  std::array<epikv::step_sequence, 2> batch{};
  std::int64_t evictions = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (failed(ev.add(ids[i], prompts[i]))) return false;
    batch[i] = {ids[i], prompts[i]};
  }
  for (int step = 0; step < steps; ++step) {
    if (failed(ev.begin_step(batch))) return false;
    const std::int64_t rows = std::int64_t{batch[0].new_tokens} + batch[1].new_tokens;
    for (std::int32_t layer = 0; layer < shape.layers; ++layer) {
      std::int64_t row = 0;
      for (std::size_t b = 0; b < batch.size(); ++b) {
        for (std::int32_t i = 0; i < batch[b].new_tokens; ++i) {
          shown.write(ev.wants(layer), row++, b, tokens[b] + i, layer);
        }
      }
      if (failed(ev.observe(layer, shown.show(rows)))) return false;
    }
    const auto chosen = ev.select();
    if (failed(chosen.status())) return false;
    for (std::size_t b = 0; b < batch.size(); ++b) tokens[b] += batch[b].new_tokens;
    if (step % 4 == 3) add_state(into, ev, room);
    add_selection(into, *chosen);
    evictions += static_cast<std::int64_t>(chosen->size());
    if (failed(ev.commit(*chosen))) return false;
    batch[0].new_tokens = 1 + step % 3 / 2;
    batch[1].new_tokens = step % 5 == 0 ? 3 : 1;
  }
  // A run that evicts next to nothing would compare next to nothing.
  if (evictions >= least_evictions) return true;
  std::fprintf(stderr, "only %d evictions\n", static_cast<int>(evictions));
  return false;
}

[[nodiscard]] bool run(const setting& each, const epikv::model_shape& shape, epikv::dtype type,
                       std::int64_t stride, hash& into) {
  const std::string_view name{each.name};
  if (name == "norm" || name == "range") {
    const auto kind = name == "norm" ? epikv::row_statistic::norm : epikv::row_statistic::range;
    epikv::evictor ev{shape,
                      epikv::value_statistic{.statistic = kind},
                      epikv::top_k{},
                      epikv::cpu_backend{},
                      {.budget = 21, .tau = 3, .recent = 8}};
    return !failed(ev.check()) && drive(ev, type, stride, 10, into);
  }
  std::string options{common};
  if (name == "epikv-q" || name == "epikv-seg") options.append(tiered);
  options.append(each.options);
  auto made = epikv::make_evictor(name, shape, options);
  return !failed(made.status()) && drive(*made, type, stride, name == "none" ? 0 : 10, into);
}

// The depth rule in floating point: at which layer a band sits.
[[nodiscard]] std::uint64_t depths() noexcept {
  hash all;
  for (const double fraction : {0.31, 0.66, 0.1, 0.5, 0.95}) {
    for (std::int32_t layers = 1; layers <= 400; ++layers) {
      const epikv::model_shape shape{
          .layers = layers, .query_heads = 1, .kv_heads = 1, .head_dim = 1, .hidden = 1};
      all.add(epikv::layer_at_depth(shape, fraction));
    }
  }
  return all.value();
}

[[nodiscard]] bool matches(const char* what, const char* options, std::uint64_t got,
                           std::uint64_t expected, bool print) {
  const auto number = static_cast<unsigned long long>(got);
  if (print) {
    std::printf("    {\"%s\", \"%s\", 0x%016llX},\n", what, options, number);
    return true;
  }
  if (got == expected) return true;
  std::fprintf(stderr, "%s %s: got 0x%016llX, expected 0x%016llX\n", what, options, number,
               static_cast<unsigned long long>(expected));
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const bool print = argc > 1 && std::string_view{argv[1]} == "--print";
  bool all = matches("depths", "", depths(), depth_expected, print);
  for (const setting& each : settings) {
    hash seen;
    for (std::size_t s = 0; s < std::size(shapes); ++s) {
      for (const epikv::dtype type : types) {
        const std::int64_t stride = s == 2 ? 2 : 1;
        if (run(each, shapes[s], type, stride, seen)) continue;
        std::fprintf(stderr, "in %s %s, shape %d, %s\n", each.name, each.options,
                     static_cast<int>(s), epikv::to_string(type));
        return 2;
      }
    }
    all = matches(each.name, each.options, seen.value(), each.expected, print) && all;
  }
  return all ? 0 : 1;
}
