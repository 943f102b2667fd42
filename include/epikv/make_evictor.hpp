// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>

#include "epikv/any_evictor.hpp"
#include "epikv/detail/preset_parts.hpp"

namespace epikv::inline v0 {

/// The presets of make_evictor(), the default first.
inline constexpr auto presets = [] {
  std::array<preset_info, detail::preset_table.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = detail::preset_table[i].info;
  return all;
}();

/// The names of all presets, separated by ", ".
inline constexpr std::string_view preset_names{detail::preset_name_text.data(),
                                               detail::preset_name_text.size() - 2};

namespace detail {

template <class B>
using any_holder = evictor_holder<any_score<B>, any_policy<B>, B>;

}  // namespace detail

/// An evictor of any score and policy behind one type-erased handle, for methods that are composed
/// at run time. Errors: what the evictor's check() says; out_of_memory.
template <Backend B>
[[nodiscard]] result<any_evictor> make_evictor(const model_shape& shape, const any_score<B>& score,
                                               const any_policy<B>& policy, B backend,
                                               const evictor_options& options = {}) noexcept {
  using holder = detail::any_holder<B>;
  std::unique_ptr<holder> made{new (std::nothrow)
                                   holder{shape, score, policy, std::move(backend), options}};
  if (made == nullptr) return detail::out_of_memory("evictor", sizeof(holder));
  EPIKV_RETURN_IF_ERROR(made->check());
  return any_evictor{std::move(made)};
}

/// An evictor by the name of its preset, behind one type-erased handle. Errors: unknown_name and
/// unknown_option, which list the known ones; invalid_argument for a value that does not fit; what
/// the evictor's check() says; out_of_memory.
template <Backend B>
[[nodiscard]] result<any_evictor> make_evictor(std::string_view name, const model_shape& shape,
                                               const option_list& options, B backend) noexcept {
  const detail::preset_entry* preset = nullptr;
  for (const detail::preset_entry& each : detail::preset_table) {
    if (each.info.name == name) preset = &each;
  }
  if (preset == nullptr) return status{errc::unknown_name, "name", name, preset_names};

  detail::preset_settings s;
  preset->set_defaults(s);
  EPIKV_RETURN_IF_ERROR(detail::apply_options(options, preset->topics, preset->info.options, s));
  const detail::preset_parts<B> parts = detail::parts_of<B>(preset->kind, s);
  return make_evictor(shape, parts.score, parts.policy, std::move(backend), s.evictor);
}

}  // namespace epikv::inline v0
