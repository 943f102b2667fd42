// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "epikv/detail/array.hpp"
#include "epikv/signal.hpp"

namespace epikv::inline v0::detail {

// The tokens of the step at hand, all sequences in batch order, and which layers each has shown.
class step {
 public:
  [[nodiscard]] status reserve(std::size_t tokens) noexcept {
    EPIKV_RETURN_IF_ERROR(row_of_token_.grow_amortised(tokens, "step.rows"));
    EPIKV_RETURN_IF_ERROR(begins_sequence_.grow_amortised(tokens, "step.begins"));
    return last_layer_.grow_amortised(tokens, "step.layers");
  }

  // Begins a step of `tokens` tokens; reserve() came before.
  void begin(std::int32_t tokens) noexcept {
    tokens_ = tokens;
    std::fill_n(last_layer_.data(), tokens, -1);
    std::fill_n(begins_sequence_.data(), tokens, std::uint8_t{0});
  }

  // A sequence's tokens begin at this one.
  void begin_sequence(std::int32_t token) noexcept {
    if (token < tokens_) begins_sequence_[static_cast<std::size_t>(token)] = 1;
  }

  [[nodiscard]] std::int32_t tokens() const noexcept { return tokens_; }

  // Checks the row count, the row map and the layer order of one observe() call and finds the row
  // of every token. Changes nothing that a later call can see: accept() does.
  [[nodiscard]] status map_rows(std::int32_t layer, std::int64_t rows,
                                std::span<const std::int32_t> row_to_token) noexcept {
    if (row_to_token.empty()) {
      if (rows != tokens_) {
        return {errc::wrong_shape, "rows", short_text{rows},
                short_text{tokens_, " rows, one per token of the step, or a row_to_token map"}};
      }
      for (std::int32_t t = 0; t < tokens_; ++t) row_of_token_[static_cast<std::size_t>(t)] = t;
    } else {
      EPIKV_RETURN_IF_ERROR(invert(rows, row_to_token));
    }
    for (std::int32_t t = 0; t < tokens_; ++t) {
      const auto i = static_cast<std::size_t>(t);
      if (row_of_token_[i] >= 0 && last_layer_[i] >= layer) {
        return {errc::wrong_order, "layer",
                short_text{"layer ", layer, " after layer ", last_layer_[i], " for token ", t},
                "layers in ascending order, each once per token and step"};
      }
    }
    // Scores that compare neighbours keep the newest row alone, so what a sequence shows of a layer
    // may be split over calls, but only into ranges that follow each other.
    std::int32_t shown_now = -1;  // of the sequence
    for (std::int32_t t = 0; t < tokens_; ++t) {
      const auto i = static_cast<std::size_t>(t);
      if (begins_sequence_[i] != 0) shown_now = -1;
      if (row_of_token_[i] >= 0) shown_now = t;
      if (row_of_token_[i] < 0 && last_layer_[i] == layer && shown_now >= 0) {
        return {errc::wrong_order, "row_to_token",
                short_text{"token ", shown_now, " after token ", t, " of its sequence"},
                "over the calls of a layer, ascending tokens of each sequence"};
      }
    }
    return {};
  }
  // The call that map_rows() checked is taken: its tokens have shown this layer.
  void accept(std::int32_t layer) noexcept {
    for (std::int32_t t = 0; t < tokens_; ++t) {
      const auto i = static_cast<std::size_t>(t);
      if (row_of_token_[i] >= 0) last_layer_[i] = layer;
    }
  }

  // Rows of the tokens [first, first + count) of the step, -1 for those not shown.
  [[nodiscard]] std::span<const std::int32_t> rows(std::int32_t first,
                                                   std::int32_t count) const noexcept {
    return {row_of_token_.data() + first, static_cast<std::size_t>(count)};
  }

  [[nodiscard]] std::size_t bytes() const noexcept {
    return row_of_token_.bytes() + last_layer_.bytes() + begins_sequence_.bytes();
  }

 private:
  [[nodiscard]] status invert(std::int64_t rows,
                              std::span<const std::int32_t> row_to_token) noexcept {
    if (static_cast<std::int64_t>(row_to_token.size()) != rows) {
      return {errc::wrong_shape, "row_to_token", short_text{row_to_token.size(), " entries"},
              short_text{rows, ", one per row"}};
    }
    std::fill_n(row_of_token_.data(), tokens_, -1);
    for (std::size_t row = 0; row < row_to_token.size(); ++row) {
      const std::int32_t token = row_to_token[row];
      if (token == -1) continue;
      if (token < 0 || token >= tokens_) {
        return {errc::invalid_argument, "row_to_token",
                short_text{"token ", token, " for row ", row},
                short_text{"0 to ", tokens_ - 1, ", or -1"}};
      }
      std::int32_t& mapped = row_of_token_[static_cast<std::size_t>(token)];
      if (mapped >= 0) {
        return {errc::invalid_argument, "row_to_token",
                short_text{"token ", token, " for rows ", mapped, " and ", row},
                "each token at most once"};
      }
      mapped = static_cast<std::int32_t>(row);
    }
    return {};
  }

  std::int32_t tokens_ = 0;
  host_array<std::int32_t> row_of_token_;  // scratch of the latest observe()
  host_array<std::int32_t> last_layer_;    // last layer that showed the token, -1 for none
  host_array<std::uint8_t> begins_sequence_;
};

}  // namespace epikv::inline v0::detail
