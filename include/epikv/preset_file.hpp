// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include "epikv/detail/array.hpp"
#include "epikv/make_evictor.hpp"
#include "epikv/model_shape.hpp"
#include "epikv/options.hpp"

namespace epikv::inline v0 {

/// A preset with its settings as text, for what was found for one model to be kept beside it:
///
///     # `#` starts a comment, to the end of its line
///     preset=epikv-flat
///     layers=6 hidden=64         the model it was found for; each size is optional
///     band_a=4 band_b=3
///
/// Everything is of the form name=value, separated by blanks or line breaks, in any order. `preset`
/// must be there; `layers`, `query_heads`, `kv_heads`, `head_dim` and `hidden` are compared with
/// the model when an evictor is made; the rest are settings of the preset, checked then too.
class preset_file {
 public:
  /// The longest text, in bytes.
  static constexpr std::size_t max_size = 16384;

  /// Reads a text. Errors: invalid_argument (a word that is no name=value, no preset, a preset or
  /// a size twice, a size that is no positive number, more than 32 settings, more than max_size
  /// bytes), out_of_memory.
  [[nodiscard]] static result<preset_file> parse(std::string_view text) noexcept {
    if (text.size() > max_size) return too_long();
    preset_file out;
    out.text_.reset(new (std::nothrow) char[max_size]);
    if (out.text_ == nullptr) return detail::out_of_memory("preset file", max_size);
    out.size_ = text.copy(out.text_.get(), text.size());
    EPIKV_RETURN_IF_ERROR(out.read());
    return out;
  }

  /// Reads a file. Errors: those of parse(); invalid_argument if it cannot be read.
  [[nodiscard]] static result<preset_file> open(const char* path) noexcept {
    const auto unreadable = [path]() noexcept {
      return status{errc::invalid_argument, "preset file", std::string_view{path},
                    "a file that can be read"};
    };
    preset_file out;
    out.text_.reset(new (std::nothrow) char[max_size]);
    if (out.text_ == nullptr) return detail::out_of_memory("preset file", max_size);
    std::FILE* const file = std::fopen(path, "rb");
    if (file == nullptr) return unreadable();
    out.size_ = std::fread(out.text_.get(), 1, max_size, file);
    const bool whole = std::feof(file) != 0 || std::fgetc(file) == EOF;
    const bool failed = std::ferror(file) != 0;
    std::fclose(file);
    if (failed) return unreadable();
    if (!whole) return too_long();
    EPIKV_RETURN_IF_ERROR(out.read());
    return out;
  }

  /// The preset's name. Views into this object stay valid when it is moved.
  [[nodiscard]] std::string_view name() const noexcept { return name_; }

  /// The settings, in the order of the text.
  [[nodiscard]] std::span<const option> settings() const noexcept {
    return std::span{settings_}.first(count_);
  }

  /// Ok if the sizes that the text names are those of `shape`.
  [[nodiscard]] status check(const model_shape& shape) const noexcept {
    for (std::size_t i = 0; i < size_names.size(); ++i) {
      const std::int32_t model = extent(shape, i);
      if (sizes_[i] == 0 || sizes_[i] == model) continue;
      return {errc::wrong_shape, size_names[i], detail::short_text{"a model of ", model},
              detail::short_text{"one of ", sizes_[i], ", as the preset file says"}};
    }
    return {};
  }

 private:
  static constexpr std::array<const char*, 5> size_names{"layers", "query_heads", "kv_heads",
                                                         "head_dim", "hidden"};

  static std::int32_t extent(const model_shape& shape, std::size_t i) noexcept {
    const std::array all{shape.layers, shape.query_heads, shape.kv_heads, shape.head_dim,
                         shape.hidden};
    return all[i];
  }

  static status too_long() noexcept {
    return {errc::invalid_argument, "preset file", "a longer text", "at most 16384 bytes"};
  }

  status read() noexcept {
    bool comment = false;
    for (std::size_t i = 0; i < size_; ++i) {
      char& c = text_[i];
      if (c == '\n' || c == '\r') comment = false;
      comment = comment || c == '#';
      if (comment) c = ' ';
    }
    status outcome;  // the first error
    const std::string_view wrong = detail::each_setting(
        {text_.get(), size_}, [&](std::string_view word, const option& given) noexcept {
          if (outcome.ok()) outcome = take(word, given);
        });
    EPIKV_RETURN_IF_ERROR(outcome);
    if (!wrong.empty()) {
      return {errc::invalid_argument, "preset file", wrong, "settings of the form name=value"};
    }
    if (!name_.empty()) return {};
    return {errc::invalid_argument, "preset file", "no preset", "preset=NAME"};
  }

  status take(std::string_view word, const option& given) noexcept {
    if (given.name() == "preset") {
      if (!name_.empty() || given.word().empty()) {
        return {errc::invalid_argument, "preset file", word, "one preset=NAME"};
      }
      name_ = given.word();
      return {};
    }
    for (std::size_t i = 0; i < size_names.size(); ++i) {
      if (given.name() != size_names[i]) continue;
      std::int64_t value = 0;
      if (sizes_[i] != 0 || !given.read(value) || value < 1 || value > model_shape::max_extent) {
        return {errc::invalid_argument, "preset file", word, "one size of 1 to 1048576"};
      }
      sizes_[i] = static_cast<std::int32_t>(value);
      return {};
    }
    if (count_ == settings_.size()) {
      return {errc::invalid_argument, "preset file", "more settings", "at most 32"};
    }
    settings_[count_++] = given;
    return {};
  }

  std::unique_ptr<char[]> text_;
  std::size_t size_ = 0;
  std::string_view name_;
  std::array<std::int32_t, 5> sizes_{};  // 0: not given
  std::array<option, option_list::capacity> settings_{};
  std::size_t count_ = 0;
};

/// make_evictor() with the preset and the settings of a preset file; of settings given twice those
/// in `more` win. Errors: those of preset_file::check() and of make_evictor().
template <Backend B>
[[nodiscard]] result<any_evictor> make_evictor(const preset_file& preset, const model_shape& shape,
                                               const option_list& more, B backend) noexcept {
  EPIKV_RETURN_IF_ERROR(more.check());
  EPIKV_RETURN_IF_ERROR(preset.check(shape));
  std::array<option, 2 * option_list::capacity> all{};
  std::size_t count = 0;
  for (const option& each : preset.settings()) {
    bool replaced = false;
    for (const option& other : more.all()) replaced = replaced || other.name() == each.name();
    if (!replaced) all[count++] = each;
  }
  for (const option& each : more.all()) all[count++] = each;
  return make_evictor(preset.name(), shape, option_list{std::span{all}.first(count)},
                      std::move(backend));
}

}  // namespace epikv::inline v0
