// SPDX-License-Identifier: MIT
#include "arm.hpp"

#include <algorithm>
#include <utility>

namespace eval {
namespace {

using mini::expected;
using mini::fail;
using mini::in_quotes;

constexpr std::string_view blanks = " \t\n";

// Cuts the first word off a text; empty at its end.
std::string_view next_word(std::string_view& text) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return text = {};
  text.remove_prefix(begin);
  const std::string_view word = text.substr(0, text.find_first_of(blanks));
  text.remove_prefix(word.size());
  return word;
}

std::string_view name_of(std::string_view setting) { return setting.substr(0, setting.find('=')); }

// Whether a list "a, b, c" has a name.
bool lists(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const std::size_t comma = names.find(", ");
    if (names.substr(0, comma) == name) return true;
    if (comma == std::string_view::npos) return false;
    names.remove_prefix(comma + 2);
  }
  return false;
}

const epikv::preset_info* find_preset(std::string_view name) {
  const auto found =
      std::find_if(epikv::presets.begin(), epikv::presets.end(),
                   [&](const epikv::preset_info& each) { return each.name == name; });
  return found == epikv::presets.end() ? nullptr : &*found;
}

bool sets(std::string_view settings, std::string_view name) {
  for (std::string_view word; !(word = next_word(settings)).empty();) {
    if (name_of(word) == name) return true;
  }
  return false;
}

void append(std::string& settings, std::string_view setting) {
  if (!settings.empty()) settings += ' ';
  settings += setting;
}

// `settings`, and of `more` what they do not set.
std::string joined(std::string settings, std::string_view more) {
  for (std::string_view word; !(word = next_word(more)).empty();) {
    if (!sets(settings, name_of(word))) append(settings, word);
  }
  return settings;
}

}  // namespace

std::string settings_for(std::string_view preset, std::string_view settings) {
  const epikv::preset_info* const info = find_preset(preset);
  std::string out;
  for (std::string_view word; !(word = next_word(settings)).empty();) {
    if (info != nullptr && lists(info->options, name_of(word))) append(out, word);
  }
  return out;
}

std::string settings_named(std::string_view prefix, std::string_view settings) {
  std::string out;
  for (std::string_view word; !(word = next_word(settings)).empty();) {
    if (word.starts_with(prefix)) append(out, word);
  }
  return out;
}

expected<std::vector<arm>> preset_arms(std::string_view settings) {
  std::string_view rest = settings;
  for (std::string_view word; !(word = next_word(rest)).empty();) {
    const bool known = std::any_of(
        epikv::presets.begin(), epikv::presets.end(),
        [&](const epikv::preset_info& each) { return lists(each.options, name_of(word)); });
    if (!known) return fail("no preset has the setting ", in_quotes(name_of(word)));
  }
  std::vector<arm> arms;
  for (const epikv::preset_info& each : epikv::presets) {
    if (each.name == "none") continue;
    arms.push_back(
        {std::string{each.name}, std::string{each.name}, settings_for(each.name, settings)});
  }
  return arms;
}

expected<arm> parse_arm(std::string_view text, std::string_view common) {
  arm out;
  const std::size_t colon = text.find(": ");
  std::string_view rest = colon == std::string_view::npos ? text : text.substr(colon + 2);
  const std::string_view preset = next_word(rest);
  if (find_preset(preset) == nullptr) {
    return fail(in_quotes(preset), " is no preset; there are ", epikv::preset_names);
  }
  std::string own;
  for (std::string_view word; !(word = next_word(rest)).empty();) {
    if (word.find('=') == std::string_view::npos) {
      return fail("settings have the form name=value, not ", in_quotes(word));
    }
    append(own, word);
  }
  out.preset = preset;
  out.name = colon == std::string_view::npos ? preset : text.substr(0, colon);
  out.settings = joined(std::move(own), settings_for(preset, common));
  return out;
}

expected<arm> arm_of_file(const std::string& path, const epikv::model_shape& shape,
                          std::string_view common) {
  const auto file = epikv::preset_file::open(path.c_str());
  if (!file) return fail(path, ": ", file.status().message());
  if (const epikv::status fits = file->check(shape); !fits) {
    return fail(path, ": ", fits.message());
  }
  std::string settings;
  for (const epikv::option& each : file->settings()) {
    append(settings, std::string{each.name()} + "=" + std::string{each.word()});
  }
  arm out{"calibrated", std::string{file->name()}, {}};
  out.settings = joined(std::move(settings), settings_for(file->name(), common));
  return out;
}

arm with_settings(const arm& each, std::string_view settings) {
  arm out = each;
  out.settings = joined(settings_for(each.preset, settings), each.settings);
  return out;
}

expected<epikv::any_evictor> make_evictor(const arm& each, const epikv::model_shape& shape,
                                          std::int32_t budget) {
  const std::string settings = each.settings + " budget=" + std::to_string(budget);
  auto evictor = epikv::make_evictor(each.preset, shape, settings);
  if (!evictor) return fail(each.name, ": ", evictor.status().message());
  return *std::move(evictor);
}

expected<void> check_arms(std::span<const arm> arms, std::span<const std::int32_t> budgets,
                          const epikv::model_shape& shape) {
  for (const arm& each : arms) {
    for (const std::int32_t budget : budgets) {
      if (const auto made = make_evictor(each, shape, budget); !made) return made.reason();
    }
  }
  return {};
}

}  // namespace eval
