// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "epikv/cpu.hpp"

// The evictors that every file of this folder tries: each preset, and those settings that bring
// other storage (columns, windows, keep-sets, reserves).

namespace allocation {

inline constexpr epikv::model_shape shape{
    .layers = 4, .query_heads = 4, .kv_heads = 2, .head_dim = 6, .hidden = 18};

inline constexpr std::int32_t step_tokens = 3;
inline constexpr std::string_view common = "budget=24 recent=8 tau=4 step_tokens=3 ";

struct setting {
  std::string_view preset;
  std::string_view options;
};

inline constexpr setting settings[] = {
    {"epikv-q", ""},
    {"epikv-q", "query_mode=add value_reserve=3 query_window=5 window=7"},
    {"epikv-seg", "segment=5 tiers=3,2,1 value_reserve=2 keep_sets=kv_head"},
    {"epikv-seg", "fill=true change=block keep_sets=layer cadence=aligned"},
    {"epikv-flat", "value_reserve=4 value_stat=norm keep_sets=kv_head"},
    {"epikv-flat", "band_a=0,1 band_b=2,3 window=5"},
    {"key-variance", "keep_sets=kv_head"},
    {"value-variance", "keep_sets=layer"},
    {"streaming", "protect_prompt=false"},
    {"random", "keep_sets=layer"},
    {"random-head", ""},
    {"epikv-mix", "query_window=4"},
    {"h2o", "per_query=true"},
    {"h2o-global", ""},
    {"tova", ""},
    {"tova-rows", ""},
    {"snapkv", "query_window=6 recent=8"},
    {"keydiff", "keep_sets=sequence"},
    {"knorm", "keep_sets=layer"},
    {"r-kv", "buffer=4"},
    {"r-kv-global", "buffer=4"},
    {"lag-kv-global", "chunk=7"},
    {"raas", ""},
    {"longflow", "keep_sets=kv_head"},
    {"vase", "value_reserve=3 query_window=5"},
    {"attention-hidden", ""},
    {"lag-kv", "lag=5 ratio=0.2"},
    {"none", ""},
};

[[nodiscard]] inline std::string text(const setting& each) {
  return std::string{common}.append(each.options);
}

[[nodiscard]] inline bool evicts(const setting& each) noexcept { return each.preset != "none"; }
// lag-kv has no budget: its cache grows, if slower.
[[nodiscard]] inline bool grows(const setting& each) noexcept {
  return each.preset == "none" || each.preset == "lag-kv";
}

template <class Evictor>
[[nodiscard]] std::int32_t groups(const Evictor& ev) noexcept {
  return ev.shape().groups(ev.options().keep_sets);
}

}  // namespace allocation
