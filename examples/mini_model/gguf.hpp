// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "byte_reader.hpp"
#include "gguf_value.hpp"
#include "result.hpp"
#include "tensor_type.hpp"

namespace mini {

/// One tensor as it is stored. `shape` is in file order: the first dimension is contiguous, so a
/// matrix [rows, columns] in row-major order has shape {columns, rows}. In a tensor of a gguf_file
/// every row is a whole number of blocks of its type, and `bytes` holds exactly these.
struct gguf_tensor {
  std::vector<std::uint64_t> shape;
  tensor_type type = tensor_type::f32;
  std::span<const std::byte> bytes;

  /// The number of elements.
  std::size_t size() const noexcept {
    const block_layout block = layout_of(type);
    return bytes.size() / block.bytes * block.elements;
  }

  /// The number of elements in a row, the first dimension.
  std::size_t row_length() const noexcept { return static_cast<std::size_t>(shape.front()); }

  /// The number of rows, the product of the other dimensions.
  std::size_t rows() const noexcept { return size() / row_length(); }
};

/// A GGUF file (version 2 or 3, little endian) in memory: metadata by key and tensors by name.
/// Every length and offset is checked, so a damaged file gives an error and nothing else. A file
/// that was parsed can be read completely. Views stay valid while the object (or what it was moved
/// to) lives.
class gguf_file {
 public:
  gguf_file(gguf_file&&) noexcept = default;
  gguf_file& operator=(gguf_file&&) noexcept = default;

  /// Reads and parses a file.
  static expected<gguf_file> open(const std::string& path);

  /// Parses the bytes of a file.
  static expected<gguf_file> parse(std::vector<std::byte> bytes);

  std::uint32_t version() const noexcept { return version_; }
  const std::map<std::string_view, gguf_value>& metadata() const noexcept { return metadata_; }
  const std::map<std::string_view, gguf_tensor>& tensors() const noexcept { return tensors_; }
  bool contains(std::string_view key) const { return metadata_.contains(key); }

  /// The value of a key as T: std::uint64_t, std::int64_t, double (from any number), bool or
  /// std::string_view. A missing key, another kind and a number out of range are errors.
  template <class T>
  expected<T> get(std::string_view key) const;

  /// The same for a key that may be missing.
  template <class T>
  expected<T> get_or(std::string_view key, T fallback) const {
    return contains(key) ? get<T>(key) : expected<T>(std::move(fallback));
  }

  /// The elements of an array, each converted as by get().
  template <class T>
  expected<std::vector<T>> get_array(std::string_view key) const;

  /// The elements of a tensor in file order, as float32.
  static std::vector<float> floats(const gguf_tensor& tensor);

  /// The same into memory of the caller. Precondition: `out` has tensor.size() elements.
  static void floats(const gguf_tensor& tensor, std::span<float> out);

  /// One row as float32 into memory of the caller; no other row is decoded. Preconditions: `row` is
  /// below tensor.rows(), and `out` has tensor.row_length() elements.
  static void row(const gguf_tensor& tensor, std::size_t row, std::span<float> out);

 private:
  explicit gguf_file(std::vector<std::byte> bytes) noexcept : bytes_(std::move(bytes)) {}

  expected<void> parse_all();
  expected<void> parse_metadata(byte_reader& in, std::uint64_t count);
  expected<void> parse_tensors(byte_reader& in, std::uint64_t count);
  static expected<std::uint64_t> stored_size(std::string_view name, const gguf_tensor& tensor);

  std::vector<std::byte> bytes_;
  std::uint32_t version_ = 0;
  std::map<std::string_view, gguf_value> metadata_;
  std::map<std::string_view, gguf_tensor> tensors_;
};

template <class T>
expected<T> gguf_file::get(std::string_view key) const {
  const auto found = metadata_.find(key);
  if (found == metadata_.end()) return fail("metadata key ", in_quotes(key), " is missing");
  if (found->second.type == gguf_type::array)
    return fail("metadata key ", in_quotes(key), " is an array");
  return convert_scalar<T>(key, found->second.scalar);
}

template <class T>
expected<std::vector<T>> gguf_file::get_array(std::string_view key) const {
  const auto found = metadata_.find(key);
  if (found == metadata_.end()) return fail("metadata key ", in_quotes(key), " is missing");
  const auto& value = found->second;
  if (value.type != gguf_type::array || value.element == gguf_type::array) {
    return fail("metadata key ", in_quotes(key), " is not a plain array");
  }
  std::vector<T> out;
  byte_reader in(value.bytes);
  for (std::uint64_t i = 0; i < value.count; ++i) {
    gguf_scalar scalar;
    if (!read_scalar(in, value.element, scalar))
      return fail("metadata key ", in_quotes(key), " is damaged");
    auto element = convert_scalar<T>(key, scalar);
    if (!element) return element.reason();
    // Not before one element fits: the count is real, but may be of elements far smaller than T.
    if (i == 0) out.reserve(static_cast<std::size_t>(value.count));
    out.push_back(*element);
  }
  return out;
}

}  // namespace mini
