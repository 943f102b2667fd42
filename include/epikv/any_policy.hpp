// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <tuple>
#include <type_traits>

#include "epikv/any_score.hpp"
#include "epikv/policy.hpp"

namespace epikv::inline v0 {

/// Any policy of backend B behind one type; see any_score. Makes the same selections as the policy
/// it holds. An empty one keeps every token.
template <Backend B>
class any_policy {
 public:
  using epikv_policy = void;
  static constexpr std::size_t max_auxiliary = 3;
  static constexpr std::size_t max_bytes = 256;

  any_policy() noexcept = default;
  template <class P>
    requires(PolicyOn<P, B> && !std::is_same_v<P, any_policy>)
  any_policy(const P& policy) noexcept  // NOLINT(google-explicit-constructor)
      : evicts{policy.evicts}, budgeted{detail::is_budgeted(policy)}, verbs_{&verbs_of<P>} {
    static_assert(std::is_trivially_copyable_v<P> && sizeof(P) <= max_bytes &&
                      alignof(P) <= alignof(std::max_align_t),
                  "a policy held by any_policy is a trivially copyable bundle of parameters");
    ::new (static_cast<void*>(held_.data())) P{policy};
    std::apply(
        [this](const auto&... scores) noexcept {
          static_assert(sizeof...(scores) <= max_auxiliary,
                        "a policy held by any_policy reads few further scores");
          std::size_t i = 0;
          ((auxiliary_[i++] = any_score<B>{scores}), ...);
          static_cast<void>(i);
        },
        policy.auxiliary());
  }

  /// False for a policy that never evicts.
  bool evicts = false;
  /// False for a policy that decides itself how much stays.
  bool budgeted = true;

  [[nodiscard]] std::tuple<any_score<B>, any_score<B>, any_score<B>> auxiliary() const noexcept {
    return {auxiliary_[0], auxiliary_[1], auxiliary_[2]};
  }
  [[nodiscard]] epikv::status check(const cache_shape& shape) const noexcept {
    return verbs_ == nullptr ? epikv::status{} : verbs_->check(held_.data(), shape);
  }
  [[nodiscard]] bool due(std::int32_t tokens_at_last, std::int32_t tokens) const noexcept {
    return verbs_ != nullptr && verbs_->due(held_.data(), tokens_at_last, tokens);
  }
  void select(B& backend, const selection_row& row) const noexcept {
    if (verbs_ != nullptr) verbs_->select(held_.data(), backend, row);
  }

 private:
  struct verbs {
    epikv::status (*check)(const void*, const cache_shape&) noexcept;
    bool (*due)(const void*, std::int32_t, std::int32_t) noexcept;
    void (*select)(const void*, B&, const selection_row&) noexcept;
  };

  template <class P>
  static constexpr verbs verbs_of{
      .check = [](const void* p, const cache_shape& shape) noexcept -> epikv::status {
        return static_cast<const P*>(p)->check(shape);
      },
      .due =
          [](const void* p, std::int32_t tokens_at_last, std::int32_t tokens) noexcept {
            return detail::acts(*static_cast<const P*>(p), tokens_at_last, tokens);
          },
      .select =
          [](const void* p, B& backend, const selection_row& row) noexcept {
            static_cast<const P*>(p)->select(backend, row);
          },
  };

  const verbs* verbs_ = nullptr;
  alignas(std::max_align_t) std::array<std::byte, max_bytes> held_{};
  std::array<any_score<B>, max_auxiliary> auxiliary_{};
};

}  // namespace epikv::inline v0
