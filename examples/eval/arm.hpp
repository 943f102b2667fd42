// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "epikv/cpu.hpp"
#include "mini_model/result.hpp"

namespace eval {

/// One way of keeping a cache within a budget: an EpiKV preset with its settings, by name.
struct arm {
  std::string name;      ///< in tables and files; unique among the arms of a run
  std::string preset;    ///< of EpiKV
  std::string settings;  ///< all but the budget, in EpiKV's text form

  /// The full cache: it needs no budget.
  [[nodiscard]] bool is_full() const noexcept { return preset == "none"; }
};

/// The part of `settings` that a preset understands. Settings are names and values as
/// "tau=16 recent=32".
[[nodiscard]] std::string settings_for(std::string_view preset, std::string_view settings);

/// Those of `settings` whose names begin with `prefix`.
[[nodiscard]] std::string settings_named(std::string_view prefix, std::string_view settings);

/// An arm for each preset of EpiKV but the full cache, with the part of `settings` it understands.
/// A setting that no preset understands is an error.
[[nodiscard]] mini::expected<std::vector<arm>> preset_arms(std::string_view settings);

/// Reads "PRESET [SETTINGS]" or "NAME: PRESET [SETTINGS]"; `common` settings are added where the
/// preset understands them and the text does not set them.
[[nodiscard]] mini::expected<arm> parse_arm(std::string_view text, std::string_view common);

/// The arm of a preset file as epikv-calibrate stores it. A file for another model is an error.
[[nodiscard]] mini::expected<arm> arm_of_file(const std::string& path,
                                              const epikv::model_shape& shape,
                                              std::string_view common);

/// The arm with further settings, which win over its own where the preset understands them.
[[nodiscard]] arm with_settings(const arm& each, std::string_view settings);

/// The arm's evictor.
[[nodiscard]] mini::expected<epikv::any_evictor> make_evictor(const arm& each,
                                                              const epikv::model_shape& shape,
                                                              std::int32_t budget);

/// Whether there is an evictor for each arm at each budget.
[[nodiscard]] mini::expected<void> check_arms(std::span<const arm> arms,
                                              std::span<const std::int32_t> budgets,
                                              const epikv::model_shape& shape);

}  // namespace eval
