// SPDX-License-Identifier: MIT
#pragma once

// Writes small GGUF files in memory, valid ones and damaged ones. It shares nothing with the reader
// under test: the type numbers are those of the file format's document.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace mini_test {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie here");

using byte_string = std::vector<std::byte>;

/// Bytes that grow by little-endian numbers and by texts with their lengths in front.
class byte_writer {
 public:
  template <class T>
  byte_writer& number(T value) {
    static_assert(std::is_arithmetic_v<T>);
    std::byte raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    for (const std::byte each : raw) bytes_.push_back(each);
    return *this;
  }

  byte_writer& text(std::string_view value) {
    number(std::uint64_t{value.size()});
    for (const char c : value) bytes_.push_back(static_cast<std::byte>(c));
    return *this;
  }

  byte_writer& raw(const byte_string& value) {
    bytes_.insert(bytes_.end(), value.begin(), value.end());
    return *this;
  }

  byte_writer& pad_to(std::size_t multiple) {
    while (bytes_.size() % multiple != 0) bytes_.push_back(std::byte{0});
    return *this;
  }

  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  [[nodiscard]] const byte_string& bytes() const noexcept { return bytes_; }

 private:
  byte_string bytes_;
};

/// The number of a metadata type in the format.
template <class T>
constexpr std::uint32_t type_number() {
  if constexpr (std::is_same_v<T, bool>) {
    return 7;
  } else if constexpr (std::is_same_v<T, float>) {
    return 6;
  } else if constexpr (std::is_same_v<T, double>) {
    return 12;
  } else if constexpr (sizeof(T) == 8) {
    return std::is_signed_v<T> ? 11 : 10;
  } else {
    return (sizeof(T) == 1 ? 0u : sizeof(T) == 2 ? 2u : 4u) + (std::is_signed_v<T> ? 1u : 0u);
  }
}
inline constexpr std::uint32_t text_type = 8;
inline constexpr std::uint32_t array_type = 9;

inline constexpr std::uint32_t tensor_f32 = 0;
inline constexpr std::uint32_t tensor_f16 = 1;

/// A type of tensors: its number and name in the format, the elements and bytes of one block.
struct stored_type {
  std::uint32_t number;
  const char* name;
  std::size_t elements;
  std::size_t bytes;
};
/// Those that the reader reads.
inline constexpr stored_type stored_types[] = {
    {0, "F32", 1, 4},      {1, "F16", 1, 2},       {30, "BF16", 1, 2},     {8, "Q8_0", 32, 34},
    {2, "Q4_0", 32, 18},   {3, "Q4_1", 32, 20},    {6, "Q5_0", 32, 22},    {7, "Q5_1", 32, 24},
    {10, "Q2_K", 256, 84}, {11, "Q3_K", 256, 110}, {12, "Q4_K", 256, 144}, {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210}};

/// Where the parts of a built file end.
struct gguf_layout {
  std::size_t header = 0;
  std::size_t metadata = 0;
  std::size_t descriptions = 0;
  std::size_t gap = 0;  // the tensor data begins here
};

/// A GGUF file to be. Nothing is checked: what is set is written.
struct gguf_builder {
  struct entry {
    std::string key;
    std::uint32_t type;
    byte_string value;
  };
  struct tensor {
    std::string name;
    std::vector<std::uint64_t> shape;  // the first dimension is contiguous
    std::uint32_t type;
    byte_string data;
    std::optional<std::uint64_t> offset;  // instead of the right one
  };

  std::uint32_t magic = 0x46554747;  // "GGUF"
  std::uint32_t version = 3;
  std::size_t alignment = 32;
  std::optional<std::uint64_t> tensor_count;    // instead of the right one
  std::optional<std::uint64_t> metadata_count;  // instead of the right one
  std::vector<entry> metadata;
  std::vector<tensor> tensors;

  /// Adds an entry or replaces the one of that key.
  gguf_builder& set_raw(const std::string& key, std::uint32_t type, byte_string value) {
    for (entry& old : metadata) {
      if (old.key != key) continue;
      old.type = type;
      old.value = std::move(value);
      return *this;
    }
    metadata.push_back({key, type, std::move(value)});
    return *this;
  }

  template <class T>
  gguf_builder& set(const std::string& key, T value) {
    return set_raw(key, type_number<T>(), byte_writer{}.number(value).bytes());
  }

  gguf_builder& set_text(const std::string& key, std::string_view value) {
    return set_raw(key, text_type, byte_writer{}.text(value).bytes());
  }

  template <class T>
  gguf_builder& set_array(const std::string& key, const std::vector<T>& values) {
    byte_writer out;
    out.number(type_number<T>()).number(std::uint64_t{values.size()});
    for (const auto& value : values) out.number(static_cast<T>(value));
    return set_raw(key, array_type, out.bytes());
  }

  gguf_builder& set_texts(const std::string& key, const std::vector<std::string>& values) {
    byte_writer out;
    out.number(text_type).number(std::uint64_t{values.size()});
    for (const std::string& value : values) out.text(value);
    return set_raw(key, array_type, out.bytes());
  }

  gguf_builder& erase(const std::string& key) {
    metadata.erase(std::remove_if(metadata.begin(), metadata.end(),
                                  [&](const entry& e) { return e.key == key; }),
                   metadata.end());
    return *this;
  }

  gguf_builder& align(std::uint32_t to) {
    alignment = to;
    return set("general.alignment", to);
  }

  gguf_builder& add_floats(const std::string& name, const std::vector<std::uint64_t>& shape,
                           const std::vector<float>& values) {
    byte_writer out;
    for (const float value : values) out.number(value);
    tensors.push_back({name, shape, tensor_f32, out.bytes(), {}});
    return *this;
  }

  gguf_builder& add_halves(const std::string& name, const std::vector<std::uint64_t>& shape,
                           const std::vector<std::uint16_t>& values) {
    byte_writer out;
    for (const std::uint16_t value : values) out.number(value);
    tensors.push_back({name, shape, tensor_f16, out.bytes(), {}});
    return *this;
  }

  /// Adds a tensor of any type as its bytes.
  gguf_builder& add_stored(const std::string& name, const std::vector<std::uint64_t>& shape,
                           std::uint32_t type, byte_string bytes) {
    tensors.push_back({name, shape, type, std::move(bytes), {}});
    return *this;
  }

  [[nodiscard]] tensor* find(const std::string& name) {
    for (tensor& each : tensors) {
      if (each.name == name) return &each;
    }
    return nullptr;
  }

  /// The bytes of the file; it ends with the last byte of the last tensor.
  [[nodiscard]] byte_string build(gguf_layout* layout = nullptr) const {
    byte_writer out;
    gguf_layout ends;
    out.number(magic).number(version);
    out.number(tensor_count.value_or(tensors.size()));
    out.number(metadata_count.value_or(metadata.size()));
    ends.header = out.size();
    for (const entry& each : metadata) out.text(each.key).number(each.type).raw(each.value);
    ends.metadata = out.size();
    byte_writer data;
    for (const tensor& each : tensors) {
      data.pad_to(alignment);
      out.text(each.name).number(static_cast<std::uint32_t>(each.shape.size()));
      for (const std::uint64_t extent : each.shape) out.number(extent);
      out.number(each.type).number(each.offset.value_or(data.size()));
      data.raw(each.data);
    }
    ends.descriptions = out.size();
    if (!tensors.empty()) out.pad_to(alignment);
    ends.gap = out.size();
    if (layout != nullptr) *layout = ends;
    return out.raw(data.bytes()).bytes();
  }
};

/// The number that float16 bits stand for, from the definition of the format.
inline double value_of_half(std::uint16_t bits) {
  const int sign = bits >> 15;
  const int exponent = bits / 1024 % 32;
  const int fraction = bits % 1024;
  double magnitude = 0;
  if (exponent == 31) {
    magnitude = fraction == 0 ? std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = fraction / 1024.0 * std::pow(2.0, -14);
  } else {
    magnitude = (1.0 + fraction / 1024.0) * std::pow(2.0, exponent - 15);
  }
  return sign == 0 ? magnitude : -magnitude;
}

}  // namespace mini_test
