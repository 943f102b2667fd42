// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "epikv/detail/score_access.hpp"
#include "epikv/policy.hpp"

namespace epikv::inline v0::detail {

// The main score of an evictor and the policy's auxiliary ones, treated alike: each has its state
// per sequence and a range of the slot table's columns.
template <class MainScore, class Auxiliary>
struct score_set_of;

template <class MainScore, class... Auxiliary>
struct score_set_of<MainScore, std::tuple<Auxiliary...>> {
  using scores = std::tuple<MainScore, Auxiliary...>;
  template <class B>
  using states = std::tuple<score_state_t<MainScore, B>, score_state_t<Auxiliary, B>...>;

  static constexpr std::size_t size = 1 + sizeof...(Auxiliary);
  static constexpr std::size_t columns =
      (static_cast<std::size_t>(column_count_of<MainScore>) + ... +
       static_cast<std::size_t>(column_count_of<Auxiliary>));

  // First column of each score.
  static constexpr std::array<std::int32_t, size> first_column = [] {
    constexpr std::array<int, size> counts{column_count_of<MainScore>,
                                           column_count_of<Auxiliary>...};
    std::array<std::int32_t, size> first{};
    for (std::size_t i = 1; i < size; ++i) first[i] = first[i - 1] + counts[i - 1];
    return first;
  }();
};

// Calls f(std::integral_constant<std::size_t, I>) for I = 0 .. Size - 1.
template <std::size_t Size, class F>
constexpr void for_each_index(F&& f) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (f(std::integral_constant<std::size_t, I>{}), ...);
  }(std::make_index_sequence<Size>{});
}

// The same for functions that return a status; stops at the first error.
template <std::size_t Size, class F>
[[nodiscard]] status first_error(F&& f) noexcept {
  status outcome;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    static_cast<void>(((outcome = f(std::integral_constant<std::size_t, I>{})).ok() && ...));
  }(std::make_index_sequence<Size>{});
  return outcome;
}

}  // namespace epikv::inline v0::detail
