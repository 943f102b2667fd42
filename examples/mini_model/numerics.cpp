// SPDX-License-Identifier: MIT
#include "numerics.hpp"

#include <algorithm>
#include <cmath>

namespace mini {
namespace {

constexpr std::size_t lanes = 16;
using lane_array = Eigen::Array<float, static_cast<int>(lanes), 1>;
using unaligned = Eigen::Map<const lane_array>;

// Sums of `Weights` rows of w with `Rows` rows of x at once, every one as if it were alone: lane l
// adds the products of elements l, l + 16, ... and the lanes are halved until one is left.
template <std::size_t Weights, std::size_t Rows>
void dots(const float* w, const float* x, std::size_t size, float (&out)[Weights][Rows]) noexcept {
  lane_array sums[Weights][Rows];
  for (auto& of_weight : sums) {
    for (lane_array& sum : of_weight) sum.setZero();
  }
  const std::size_t whole = size / lanes * lanes;
  for (std::size_t i = 0; i < whole; i += lanes) {
    for (std::size_t r = 0; r < Rows; ++r) {
      const lane_array factor = unaligned{x + r * size + i};
      for (std::size_t k = 0; k < Weights; ++k) {
        sums[k][r] += unaligned{w + k * size + i} * factor;
      }
    }
  }
  for (std::size_t k = 0; k < Weights; ++k) {
    for (std::size_t r = 0; r < Rows; ++r) {
      lane_array& sum = sums[k][r];
      for (std::size_t i = whole; i < size; ++i) {
        sum[static_cast<Eigen::Index>(i - whole)] += w[k * size + i] * x[r * size + i];
      }
      const Eigen::Array<float, 8, 1> eight = sum.head<8>() + sum.tail<8>();
      const Eigen::Array<float, 4, 1> four = eight.head<4>() + eight.tail<4>();
      out[k][r] = (four[0] + four[2]) + (four[1] + four[3]);
    }
  }
}

// Outputs first to last - 1 of `Rows` rows of x, `Weights` at a time.
template <std::size_t Weights, std::size_t Rows>
void project_rows(const matrix& w, std::size_t first, std::size_t last, const float* x, float* y,
                  onto what) noexcept {
  const auto outputs = static_cast<std::size_t>(w.rows());
  const auto size = static_cast<std::size_t>(w.cols());
  const auto store = [&](std::size_t k, std::size_t r, float sum) {
    float& to = y[r * outputs + k];
    to = what == onto::add ? to + sum : sum;
  };
  std::size_t k = first;
  for (; k + Weights <= last; k += Weights) {
    float sums[Weights][Rows];
    dots<Weights, Rows>(w.data() + k * size, x, size, sums);
    for (std::size_t i = 0; i < Weights; ++i) {
      for (std::size_t r = 0; r < Rows; ++r) store(k + i, r, sums[i][r]);
    }
  }
  for (; k < last; ++k) {
    float sums[1][Rows];
    dots<1, Rows>(w.data() + k * size, x, size, sums);
    for (std::size_t r = 0; r < Rows; ++r) store(k, r, sums[0][r]);
  }
}

}  // namespace

void rms_norm(const float* x, const vector& gain, double eps, float* out) noexcept {
  const auto size = static_cast<std::size_t>(gain.size());
  float squares[1][1];
  dots<1, 1>(x, x, size, squares);
  const float mean_square = squares[0][0] / static_cast<float>(size);
  const float scale = 1.0f / std::sqrt(mean_square + static_cast<float>(eps));
  as_vector(out, size) = (as_vector(x, size) * scale).cwiseProduct(gain);
}

void swiglu(float* gate, const float* up, std::size_t size) noexcept {
  // Whole lanes throughout, the last ones filled up: Eigen's exponential of a vector and of a
  // single number need not be the same.
  for (std::size_t i = 0; i < size; i += lanes) {
    const std::size_t count = std::min(lanes, size - i);
    lane_array g = lane_array::Zero();
    lane_array u = lane_array::Zero();
    std::copy_n(gate + i, count, g.data());
    std::copy_n(up + i, count, u.data());
    g *= u / (1.0f + (-g).exp());
    std::copy_n(g.data(), count, gate + i);
  }
}

void project(const matrix& w, const float* x, std::size_t rows, float* y, onto what) noexcept {
  const auto outputs = static_cast<std::size_t>(w.rows());
  const auto size = static_cast<std::size_t>(w.cols());
  // Weights that stay in the nearest cache while all rows pass by.
  constexpr std::size_t panel = 32;
  for (std::size_t first = 0; first < outputs; first += panel) {
    const std::size_t last = std::min(first + panel, outputs);
    std::size_t r = 0;
    for (; r + 4 <= rows; r += 4) {
      project_rows<4, 4>(w, first, last, x + r * size, y + r * outputs, what);
    }
    for (; r < rows; ++r) {
      project_rows<8, 1>(w, first, last, x + r * size, y + r * outputs, what);
    }
  }
}

}  // namespace mini
