// SPDX-License-Identifier: MIT

// Does the loader put every tensor in its place, and refuse by name what this engine would compute
// wrongly or not at all?

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "mini_model/decoder.hpp"
#include "mini_model/weights.hpp"
#include "tiny_llama.hpp"

namespace {

using mini_test::gguf_builder;
using mini_test::llama_file;
using mini_test::llama_sizes;

mini::expected<mini::weights> load(const gguf_builder& file) {
  auto parsed = mini::gguf_file::parse(file.build());
  REQUIRE_MESSAGE(bool(parsed), parsed.error());
  return mini::weights::load(*parsed);
}

mini::weights loaded(const gguf_builder& file) {
  auto model = load(file);
  REQUIRE_MESSAGE(bool(model), model.error());
  return *std::move(model);
}

void check_refused(const gguf_builder& file, const std::vector<std::string>& parts) {
  const auto model = load(file);
  CHECK(!model);
  CAPTURE(model.error());
  for (const std::string& part : parts) {
    CHECK_MESSAGE(model.error().find(part) != std::string::npos, part);
  }
}

std::vector<float> logits_of(const mini::weights& model) {
  mini::decoder engine{model};
  mini::kv_cache cache{model.shape, 4};
  const std::vector<mini::token> tokens{1, 4, 2};
  const auto logits = engine.forward(tokens, 0, cache);
  REQUIRE_MESSAGE(bool(logits), logits.error());
  return {logits->begin(), logits->end()};
}

// The numbers of a tensor as the file has them: row by row.
std::vector<float> stored(gguf_builder& file, const std::string& name) {
  const auto* const tensor = file.find(name);
  REQUIRE(tensor != nullptr);
  std::vector<float> out(tensor->data.size() / sizeof(float));
  std::memcpy(out.data(), tensor->data.data(), tensor->data.size());
  return out;
}

template <class Loaded>
void check_holds(const Loaded& got, std::size_t rows, std::size_t columns,
                 const std::vector<float>& expected) {
  REQUIRE(static_cast<std::size_t>(got.rows()) == rows);
  REQUIRE(static_cast<std::size_t>(got.cols()) == columns);
  REQUIRE(expected.size() == rows * columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      CHECK(got(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) ==
            expected[i * columns + j]);
    }
  }
}

}  // namespace

TEST_CASE("every tensor is loaded whole and into its place") {
  const llama_sizes s;
  gguf_builder file = llama_file(s);
  const mini::weights model = loaded(file);
  CHECK(model.shape.layers == s.layers);
  CHECK(model.shape.hidden == s.hidden);
  CHECK(model.shape.query_heads == s.query_heads);
  CHECK(model.shape.kv_heads == s.kv_heads);
  CHECK(model.shape.head_dim == s.head_dim);
  CHECK(model.shape.feed_forward == s.feed_forward);
  CHECK(model.shape.vocab == s.vocab);
  CHECK(model.shape.context == s.context);
  CHECK(model.shape.group_size() == 3);
  CHECK(model.shape.rope_base == 100.0);
  CHECK(model.shape.rms_eps == doctest::Approx(0.05));
  const std::size_t q = s.query_heads * s.head_dim;
  const std::size_t kv = s.kv_heads * s.head_dim;
  check_holds(model.token_embd, s.vocab, s.hidden, stored(file, "token_embd.weight"));
  check_holds(model.output_norm, s.hidden, 1, stored(file, "output_norm.weight"));
  check_holds(model.output, s.vocab, s.hidden, stored(file, "output.weight"));
  REQUIRE(model.layers.size() == s.layers);
  for (std::size_t layer = 0; layer < s.layers; ++layer) {
    CAPTURE(layer);
    const mini::layer_weights& w = model.layers[layer];
    const auto part = [&](const std::string& name) {
      return stored(file, "blk." + std::to_string(layer) + "." + name + ".weight");
    };
    check_holds(w.attn_norm, s.hidden, 1, part("attn_norm"));
    check_holds(w.attn_q, q, s.hidden, part("attn_q"));
    check_holds(w.attn_k, kv, s.hidden, part("attn_k"));
    check_holds(w.attn_v, kv, s.hidden, part("attn_v"));
    check_holds(w.attn_output, s.hidden, q, part("attn_output"));
    check_holds(w.ffn_norm, s.hidden, 1, part("ffn_norm"));
    check_holds(w.ffn_gate, s.feed_forward, s.hidden, part("ffn_gate"));
    check_holds(w.ffn_up, s.feed_forward, s.hidden, part("ffn_up"));
    check_holds(w.ffn_down, s.hidden, s.feed_forward, part("ffn_down"));
  }
}

TEST_CASE("half-precision weights are the float32 weights of the same values") {
  gguf_builder halves = llama_file();
  gguf_builder floats = llama_file();
  std::mt19937 random{5};
  for (auto& tensor : halves.tensors) {
    const std::size_t count = tensor.data.size() / sizeof(float);
    mini_test::byte_writer as_halves;
    mini_test::byte_writer as_floats;
    for (std::size_t i = 0; i < count; ++i) {
      // Of all signs and fractions, between 2^-16 (subnormal) and 1.
      const auto bits = static_cast<std::uint16_t>((random() & 0x8000u) | (random() % 0x3C00u));
      as_halves.number(bits);
      as_floats.number(static_cast<float>(mini_test::value_of_half(bits)));
    }
    tensor.type = mini_test::tensor_f16;
    tensor.data = as_halves.bytes();
    floats.find(tensor.name)->data = as_floats.bytes();
  }
  CHECK(logits_of(loaded(halves)) == logits_of(loaded(floats)));
}

TEST_CASE("another architecture is refused by its name") {
  for (const char* name : {"gemma2", "LLAMA", "llama2", ""}) {
    check_refused(llama_file().set_text("general.architecture", name),
                  {"architecture", "'" + std::string{name} + "'", "only llama, qwen2 and qwen3"});
  }
  check_refused(llama_file().erase("general.architecture"), {"'general.architecture'", "missing"});
  check_refused(llama_file().set("general.architecture", 1.0f),
                {"'general.architecture'", "another type"});
}

TEST_CASE("a tensor that is missing is refused by its name") {
  const gguf_builder whole = llama_file();
  for (std::size_t i = 0; i < whole.tensors.size(); ++i) {
    if (whole.tensors[i].name == "output.weight") continue;  // then it is tied
    gguf_builder file = whole;
    file.tensors.erase(file.tensors.begin() + static_cast<std::ptrdiff_t>(i));
    check_refused(file, {"tensor '" + whole.tensors[i].name + "'", "missing"});
  }
}

TEST_CASE("a tensor of another shape is refused by its name and both shapes") {
  const gguf_builder whole = llama_file();
  const auto text = [](const std::vector<std::uint64_t>& shape) {
    return shape.size() == 1 ? std::to_string(shape[0])
                             : std::to_string(shape[0]) + " x " + std::to_string(shape[1]);
  };
  const auto check_shape = [&](std::size_t i, const std::vector<std::uint64_t>& shape) {
    gguf_builder file = whole;
    auto& tensor = file.tensors[i];
    const std::vector<std::uint64_t> right = tensor.shape;
    tensor.shape = shape;
    tensor.data.resize(4096);
    CAPTURE(tensor.name);
    if (tensor.name == "token_embd.weight" && shape[0] == right[0]) {
      // It says how many tokens there are, so the head does not fit.
      check_refused(file, {"tensor 'output.weight'", "has the shape"});
    } else {
      check_refused(file, {"tensor '" + tensor.name + "'", "has the shape " + text(shape) + ","});
    }
  };
  for (std::size_t i = 0; i < whole.tensors.size(); ++i) {
    const std::vector<std::uint64_t> right = whole.tensors[i].shape;
    if (right.size() == 1) {
      check_shape(i, {right[0] + 1});
      check_shape(i, {right[0] - 1});
    } else {
      check_shape(i, {right[0], right[1] + 1});
      check_shape(i, {right[0] - 1, right[1]});
      check_shape(i, {right[1], right[0]});  // transposed
    }
  }
  gguf_builder flat = llama_file();
  flat.find("token_embd.weight")->shape = {220};
  check_refused(flat, {"'token_embd.weight'", "no matrix"});
  flat = llama_file();
  flat.find("blk.0.attn_norm.weight")->shape = {20, 1};
  check_refused(flat, {"'blk.0.attn_norm.weight'", "20 x 1", "not 20"});
}

TEST_CASE("a tensor that this engine would not use is refused by its name") {
  for (const char* name :
       {"blk.0.attn_q.bias", "blk.1.attn_v.bias", "blk.0.ffn_gate_exps.weight", "rope_freqs.weight",
        "blk.2.attn_norm.weight", "blk.0.attn_q_norm.weight", "output.bias", "x"}) {
    check_refused(llama_file().add_floats(name, {2}, {1, 2}),
                  {"tensor '" + std::string{name} + "'", "not part of a plain llama model"});
  }
}

TEST_CASE("each architecture has its own tensors, all of them and no others") {
  llama_sizes s;
  for (const std::string kind : {"qwen2", "qwen3"}) {
    CAPTURE(kind);
    s.architecture = kind;
    const bool biased = kind == "qwen2";
    gguf_builder whole = llama_file(s);
    const mini::weights model = loaded(whole);
    CHECK(mini::name_of(model.shape.kind) == kind);
    const std::vector<std::string> own =
        biased ? std::vector<std::string>{"attn_q.bias", "attn_k.bias", "attn_v.bias"}
               : std::vector<std::string>{"attn_q_norm.weight", "attn_k_norm.weight"};
    const mini::layer_weights& w = model.layers[1];
    check_holds(biased ? w.attn_q_bias : w.attn_q_norm, biased ? 36 : 6, 1,
                stored(whole, "blk.1." + own[0]));
    check_holds(biased ? w.attn_k_bias : w.attn_k_norm, biased ? 12 : 6, 1,
                stored(whole, "blk.1." + own[1]));
    if (biased) check_holds(w.attn_v_bias, 12, 1, stored(whole, "blk.1.attn_v.bias"));
    for (const std::string& name : own) {
      gguf_builder file = whole;
      std::erase_if(file.tensors, [&](const auto& t) { return t.name == "blk.0." + name; });
      check_refused(file, {"tensor 'blk.0." + name + "'", "missing"});
    }
    const std::string foreign = biased ? "blk.0.attn_q_norm.weight" : "blk.0.attn_q.bias";
    check_refused(gguf_builder{whole}.add_floats(foreign, {6}, std::vector<float>(6)),
                  {foreign, "not part of a plain " + kind + " model"});
    check_refused(gguf_builder{whole}.set_text(kind + ".rope.scaling.type", "yarn"), {"'yarn'"});
    CHECK(bool(load(gguf_builder{whole}.set_text("llama.rope.scaling.type", "yarn"))));
  }
}

TEST_CASE("a file with fewer layers than it says, or more, is refused") {
  check_refused(llama_file().set("llama.block_count", std::uint32_t{3}), {"'blk.2.", "missing"});
  check_refused(llama_file().set("llama.block_count", std::uint32_t{1}), {"'blk.1.", "not part"});
  check_refused(llama_file().set("llama.block_count", std::uint32_t{1} << 20),
                {"'blk.2.", "missing"});
}

TEST_CASE("rotary scaling is refused by its name, its absence accepted in every form") {
  CHECK(load(llama_file().set_text("llama.rope.scaling.type", "none")));
  for (const char* name : {"linear", "yarn", "longrope", "None"}) {
    check_refused(llama_file().set_text("llama.rope.scaling.type", name),
                  {"rotary scaling", "'" + std::string{name} + "'"});
  }
  check_refused(llama_file().set("llama.rope.scaling.type", true),
                {"'llama.rope.scaling.type'", "another type"});
  // A factor without a type is linear scaling, and an old key says the same.
  for (const char* key : {"llama.rope.scaling.factor", "llama.rope.scale_linear"}) {
    check_refused(llama_file().set(key, 4.0f), {"rotary scaling", key});
    check_refused(llama_file().set_text(key, "4"), {key, "another type"});
    CHECK(load(llama_file().set(key, 1.0f)));
    CHECK(load(llama_file().set(key, 4.0f).set_text("llama.rope.scaling.type", "none")));
  }
}

TEST_CASE("head counts and sizes that contradict each other are refused") {
  check_refused(llama_file().set("llama.attention.head_count_kv", std::uint32_t{4}),
                {"6 query heads", "4 KV heads"});
  check_refused(llama_file().set("llama.attention.head_count_kv", std::uint32_t{12}),
                {"6 query heads", "12 KV heads"});
  check_refused(llama_file().set("llama.attention.value_length", std::uint32_t{4}),
                {"keys of 6", "values of 4"});
  check_refused(llama_file().set("llama.rope.dimension_count", std::uint32_t{4}),
                {"rotating 4 of 6"});
  llama_sizes odd;
  odd.head_dim = 5;
  check_refused(llama_file(odd), {"rotating 5 of 5"});
}

TEST_CASE("sizes and constants out of their range are refused by their key") {
  for (const char* key :
       {"llama.block_count", "llama.embedding_length", "llama.feed_forward_length",
        "llama.context_length", "llama.attention.head_count", "llama.attention.head_count_kv",
        "llama.attention.key_length", "llama.attention.value_length",
        "llama.rope.dimension_count"}) {
    const std::string quoted = "'" + std::string{key} + "'";
    check_refused(llama_file().set(key, std::uint32_t{0}), {quoted, "is 0"});
    check_refused(llama_file().set(key, (std::uint32_t{1} << 20) + 1), {quoted, "1048577"});
    check_refused(llama_file().set(key, std::numeric_limits<std::uint64_t>::max()), {quoted});
    check_refused(llama_file().set(key, std::int32_t{-1}), {quoted, "out of range"});
    check_refused(llama_file().set_text(key, "6"), {quoted, "another type"});
    // A number for each layer, as some models have them, is none of ours.
    check_refused(llama_file().set_array(key, std::vector<std::uint32_t>{2, 2}),
                  {quoted, "is an array"});
  }
  for (const char* key : {"llama.rope.freq_base", "llama.attention.layer_norm_rms_epsilon"}) {
    const std::string quoted = "'" + std::string{key} + "'";
    using limits = std::numeric_limits<float>;
    for (const float value : {0.0f, -1.0f, limits::infinity(), limits::quiet_NaN()}) {
      check_refused(llama_file().set(key, value), {quoted, "not a positive number"});
    }
    check_refused(llama_file().set_text(key, "1"), {quoted, "another type"});
  }
}

TEST_CASE("keys that may be missing have their usual defaults, the others are required") {
  gguf_builder file = llama_file();
  file.erase("llama.rope.freq_base").erase("llama.rope.dimension_count");
  file.erase("llama.attention.value_length");
  CHECK(loaded(file).shape.rope_base == 10000.0);

  llama_sizes plain;  // as many KV heads as query heads, which fill the hidden size
  plain.hidden = 24;
  plain.kv_heads = 6;
  plain.head_dim = 4;
  file = llama_file(plain);
  file.erase("llama.attention.head_count_kv").erase("llama.attention.key_length");
  file.erase("llama.rope.dimension_count").erase("llama.attention.value_length");
  const mini::weights model = loaded(file);
  CHECK(model.shape.kv_heads == 6);
  CHECK(model.shape.head_dim == 4);

  for (const char* key : {"llama.block_count", "llama.embedding_length",
                          "llama.feed_forward_length", "llama.context_length",
                          "llama.attention.head_count", "llama.attention.layer_norm_rms_epsilon"}) {
    check_refused(llama_file().erase(key), {"'" + std::string{key} + "'", "missing"});
  }
}

TEST_CASE("a file without a head uses its embedding as one") {
  llama_sizes s;
  s.tied = true;
  gguf_builder tied = llama_file(s);
  REQUIRE(tied.find("output.weight") == nullptr);
  gguf_builder spelled = tied;
  spelled.add_floats("output.weight", {s.hidden, s.vocab}, stored(tied, "token_embd.weight"));
  const mini::weights model = loaded(tied);
  CHECK(model.output.size() == 0);
  CHECK(&model.head() == &model.token_embd);
  const mini::weights other = loaded(spelled);
  CHECK(&other.head() == &other.output);
  CHECK(logits_of(model) == logits_of(other));
  // And an own head is used: another one gives other logits.
  gguf_builder own = tied;
  std::vector<float> doubled = stored(tied, "token_embd.weight");
  for (float& x : doubled) x *= 2;
  own.add_floats("output.weight", {s.hidden, s.vocab}, doubled);
  const std::vector<float> logits = logits_of(model);
  const std::vector<float> twice = logits_of(loaded(own));
  for (std::size_t i = 0; i < logits.size(); ++i) CHECK(twice[i] == 2 * logits[i]);
}
