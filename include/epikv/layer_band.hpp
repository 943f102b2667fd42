// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "epikv/model_shape.hpp"

namespace epikv::inline v0 {

/// An ascending set of layers that a score averages over; usually one. Empty means "by depth": the
/// score picks its default for the model.
class layer_band {
 public:
  static constexpr std::int32_t max_layers = 64;

  constexpr layer_band() noexcept = default;
  /// One layer.
  constexpr layer_band(std::int32_t layer) noexcept
      : count_{1} {  // NOLINT(google-explicit-constructor)
    layers_[0] = layer;
  }
  /// The layers listed; more than `max_layers` are refused by check().
  constexpr layer_band(std::initializer_list<std::int32_t> layers) noexcept
      : layer_band{std::span<const std::int32_t>{layers.begin(), layers.size()}} {}
  explicit constexpr layer_band(std::span<const std::int32_t> layers) noexcept
      : count_{static_cast<std::int32_t>(layers.size())} {
    for (std::size_t i = 0; i < layers.size() && i < layers_.size(); ++i) layers_[i] = layers[i];
  }

  [[nodiscard]] constexpr bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] constexpr std::int32_t size() const noexcept { return count_; }
  [[nodiscard]] constexpr std::int32_t operator[](std::int32_t i) const noexcept {
    return layers_[static_cast<std::size_t>(i)];
  }
  /// Index of `layer` in the band, or -1.
  [[nodiscard]] constexpr std::int32_t index_of(std::int32_t layer) const noexcept {
    for (std::int32_t i = 0; i < count_ && i < max_layers; ++i) {
      if (layers_[static_cast<std::size_t>(i)] == layer) return i;
    }
    return -1;
  }

  /// Ok when the layers ascend and exist in the model. `name` is what the status calls the band.
  [[nodiscard]] status check(const char* name, const model_shape& shape) const noexcept {
    if (count_ > max_layers) {
      return {errc::invalid_argument, name, detail::short_text{count_, " layers"},
              "at most 64 layers"};
    }
    for (std::int32_t i = 0; i < count_; ++i) {
      const std::int32_t layer = (*this)[i];
      if (layer < 0 || layer >= shape.layers) {
        return {errc::invalid_argument, name, detail::short_text{"layer ", layer},
                detail::short_text{"layers 0 to ", shape.layers - 1}};
      }
      if (i > 0 && layer <= (*this)[i - 1]) {
        return {errc::invalid_argument, name,
                detail::short_text{"layer ", layer, " after ", (*this)[i - 1]},
                "ascending layers, each once"};
      }
    }
    return {};
  }

 private:
  std::array<std::int32_t, max_layers> layers_{};
  std::int32_t count_ = 0;
};

/// round(fraction * layers), the depth rule of arXiv 2606.26472 for models without fitted bands,
/// kept inside the model. Halves round up.
constexpr std::int32_t layer_at_depth(const model_shape& shape, double fraction) noexcept {
  const auto layer = static_cast<std::int32_t>(fraction * shape.layers + 0.5);
  return layer >= shape.layers ? shape.layers - 1 : layer;
}

}  // namespace epikv::inline v0
