// SPDX-License-Identifier: MIT
#include "weights.hpp"

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <utility>

namespace mini {
namespace {

// Takes tensors out of a file by name, checks their shapes and remembers which were taken. After
// the first problem it does nothing more, so that a loader reads as a list of tensors.
class tensor_loader {
 public:
  explicit tensor_loader(const gguf_file& file) : file_(&file) {}

  // Reads the matrix [rows, columns].
  void read(const std::string& name, std::size_t rows, std::size_t columns, matrix& to) {
    const auto* tensor = find(name, {columns, rows});
    if (tensor == nullptr) return;
    to.resize(static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns));
    gguf_file::floats(*tensor, {to.data(), static_cast<std::size_t>(to.size())});
  }

  // Reads the vector [size].
  void read(const std::string& name, std::size_t size, vector& to) {
    const auto* tensor = find(name, {size});
    if (tensor == nullptr) return;
    to.resize(static_cast<Eigen::Index>(size));
    gguf_file::floats(*tensor, {to.data(), static_cast<std::size_t>(to.size())});
  }

  bool failed() const noexcept { return !state_; }

  // Success if nothing went wrong and every tensor of the file was taken.
  expected<void> finish(architecture kind) const {
    if (!state_) return state_;
    for (const auto& entry : file_->tensors()) {
      if (!taken_.contains(entry.first)) {
        return fail("tensor ", in_quotes(entry.first), " is not part of a plain ", name_of(kind),
                    " model");
      }
    }
    return {};
  }

 private:
  const gguf_tensor* find(const std::string& name, const std::vector<std::uint64_t>& shape) {
    if (!state_) return nullptr;
    const auto found = file_->tensors().find(name);
    if (found == file_->tensors().end()) {
      state_ = fail("tensor ", in_quotes(name), " is missing");
    } else if (found->second.shape != shape) {
      state_ = fail("tensor ", in_quotes(name), " has the shape ", text(found->second.shape),
                    ", not ", text(shape));
    } else {
      taken_.insert(name);
      return &found->second;
    }
    return nullptr;
  }

  static std::string text(const std::vector<std::uint64_t>& shape) {
    std::string out;
    for (const auto extent : shape) out += (out.empty() ? "" : " x ") + std::to_string(extent);
    return out;
  }

  const gguf_file* file_;
  expected<void> state_;
  std::set<std::string, std::less<>> taken_;
};

}  // namespace

expected<weights> weights::load(const gguf_file& file) {
  const auto shape = config::load(file);
  if (!shape) return shape.reason();
  const auto hidden = shape->hidden;

  weights out;
  out.shape = *shape;
  tensor_loader in(file);
  in.read("token_embd.weight", shape->vocab, hidden, out.token_embd);
  in.read("output_norm.weight", hidden, out.output_norm);
  if (file.tensors().contains("output.weight")) {
    in.read("output.weight", shape->vocab, hidden, out.output);
  }
  for (std::size_t l = 0; l < shape->layers && !in.failed(); ++l) {
    const std::string block = "blk." + std::to_string(l) + ".";
    auto& layer = out.layers.emplace_back();
    in.read(block + "attn_norm.weight", hidden, layer.attn_norm);
    in.read(block + "attn_q.weight", shape->query_size(), hidden, layer.attn_q);
    in.read(block + "attn_k.weight", shape->kv_size(), hidden, layer.attn_k);
    in.read(block + "attn_v.weight", shape->kv_size(), hidden, layer.attn_v);
    if (shape->kind == architecture::qwen2) {
      in.read(block + "attn_q.bias", shape->query_size(), layer.attn_q_bias);
      in.read(block + "attn_k.bias", shape->kv_size(), layer.attn_k_bias);
      in.read(block + "attn_v.bias", shape->kv_size(), layer.attn_v_bias);
    }
    if (shape->kind == architecture::qwen3) {
      in.read(block + "attn_q_norm.weight", shape->head_dim, layer.attn_q_norm);
      in.read(block + "attn_k_norm.weight", shape->head_dim, layer.attn_k_norm);
    }
    in.read(block + "attn_output.weight", hidden, shape->query_size(), layer.attn_output);
    in.read(block + "ffn_norm.weight", hidden, layer.ffn_norm);
    in.read(block + "ffn_gate.weight", shape->feed_forward, hidden, layer.ffn_gate);
    in.read(block + "ffn_up.weight", shape->feed_forward, hidden, layer.ffn_up);
    in.read(block + "ffn_down.weight", hidden, shape->feed_forward, layer.ffn_down);
  }
  if (auto complete = in.finish(shape->kind); !complete) return complete.reason();
  return out;
}

}  // namespace mini
