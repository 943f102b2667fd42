// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "byte_reader.hpp"
#include "dequantise.hpp"
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

inline expected<gguf_file> gguf_file::open(const std::string& path) {
  std::error_code problem;
  if (!std::filesystem::is_regular_file(path, problem)) return fail(path, " is not a file");
  const auto size = std::filesystem::file_size(path, problem);
  if (problem) return fail(path, " cannot be read: ", problem.message());
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  std::ifstream in(path, std::ios::binary);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!in) return fail(path, " cannot be read");
  auto file = parse(std::move(bytes));
  if (!file) return fail(path, ": ", file.error());
  return file;
}

inline expected<gguf_file> gguf_file::parse(std::vector<std::byte> bytes) {
  gguf_file file(std::move(bytes));
  if (auto parsed = file.parse_all(); !parsed) return parsed.reason();
  return file;
}

inline expected<void> gguf_file::parse_all() {
  byte_reader in(bytes_);
  std::uint32_t magic = 0;
  std::uint64_t tensor_count = 0;
  std::uint64_t metadata_count = 0;
  if (!in.read(magic) || magic != 0x46554747u) return fail("not a GGUF file");
  if (!in.read(version_)) return fail("truncated in the header");
  if (version_ != 2 && version_ != 3) {
    return fail("GGUF version ", version_, " is not supported, only little-endian 2 and 3");
  }
  if (!in.read(tensor_count) || !in.read(metadata_count)) return fail("truncated in the header");
  if (auto parsed = parse_metadata(in, metadata_count); !parsed) return parsed;
  return parse_tensors(in, tensor_count);
}

inline expected<void> gguf_file::parse_metadata(byte_reader& in, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string_view key;
    std::uint32_t type = 0;
    if (!in.read(key) || !in.read(type)) {
      return fail("truncated at metadata key ", i + 1, " of ", count);
    }
    if (type > static_cast<std::uint32_t>(gguf_type::f64)) {
      return fail("metadata key ", in_quotes(key), " has the unknown type ", type);
    }
    gguf_value value;
    value.type = static_cast<gguf_type>(type);
    const bool complete = value.type == gguf_type::array
                              ? read_array(in, value)
                              : read_scalar(in, value.type, value.scalar);
    if (!complete)
      return fail("metadata key ", in_quotes(key), " has a damaged or truncated value");
    if (!metadata_.emplace(key, value).second) {
      return fail("metadata key ", in_quotes(key), " occurs twice");
    }
  }
  return {};
}

inline expected<void> gguf_file::parse_tensors(byte_reader& in, std::uint64_t count) {
  const auto alignment = get_or<std::uint64_t>("general.alignment", 32);
  if (!alignment) return alignment.reason();
  if (!std::has_single_bit(*alignment)) {
    return fail("general.alignment is ", *alignment, ", not a power of two");
  }

  // The data starts after all descriptions, so offsets can be followed only in a second pass.
  std::vector<std::pair<std::string_view, std::uint64_t>> offsets;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string_view name;
    std::uint32_t dimensions = 0;
    if (!in.read(name) || !in.read(dimensions)) {
      return fail("truncated at tensor ", i + 1, " of ", count);
    }
    if (dimensions < 1 || dimensions > 4) {
      return fail("tensor ", in_quotes(name), " has ", dimensions, " dimensions, not 1 to 4");
    }
    gguf_tensor tensor;
    tensor.shape.resize(dimensions);
    std::uint32_t type = 0;
    std::uint64_t offset = 0;
    for (auto& extent : tensor.shape) {
      if (!in.read(extent)) return fail("truncated in the shape of tensor ", in_quotes(name));
    }
    if (!in.read(type) || !in.read(offset)) return fail("truncated in tensor ", in_quotes(name));
    const auto known = type_of_number(type);
    if (!known) {
      return fail("tensor ", in_quotes(name), " is stored as ", name_of_type(type), "; only ",
                  types_read, " are read");
    }
    tensor.type = *known;
    if (offset % *alignment != 0) return fail("tensor ", in_quotes(name), " is not aligned");
    offsets.emplace_back(name, offset);
    if (!tensors_.emplace(name, std::move(tensor)).second) {
      return fail("tensor ", in_quotes(name), " occurs twice");
    }
  }

  const std::uint64_t gap = (*alignment - in.position() % *alignment) % *alignment;
  std::span<const std::byte> data;
  if (count == 0) return {};
  if (!in.take(gap, data) || !in.take(in.remaining(), data)) {
    return fail("truncated before the tensor data");
  }
  for (const auto& [name, offset] : offsets) {
    auto& tensor = tensors_.find(name)->second;
    const auto stored = stored_size(name, tensor);
    if (!stored) return stored.reason();
    const std::uint64_t size = *stored;
    if (offset > data.size() || size > data.size() - offset) {
      return fail("tensor ", in_quotes(name), " reaches past the end of the file");
    }
    tensor.bytes = data.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
  }
  return {};
}

/// The bytes that a shape takes. They may be more than there are, but the number itself is right.
inline expected<std::uint64_t> gguf_file::stored_size(std::string_view name,
                                                      const gguf_tensor& tensor) {
  for (const auto extent : tensor.shape) {
    if (extent == 0) return fail("tensor ", in_quotes(name), " has a dimension of 0");
  }
  const block_layout block = layout_of(tensor.type);
  const std::uint64_t length = tensor.shape.front();
  if (length % block.elements != 0) {
    return fail("tensor ", in_quotes(name), " has rows of ", length,
                " elements, not a multiple of ", block.elements, " as ", name_of_type(tensor.type),
                " needs");
  }
  std::uint64_t size = block.bytes;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    const std::uint64_t extent = i == 0 ? length / block.elements : tensor.shape[i];
    if (size > std::numeric_limits<std::uint64_t>::max() / extent) {
      return fail("tensor ", in_quotes(name), " has an impossible shape");
    }
    size *= extent;
  }
  return size;
}

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

inline std::vector<float> gguf_file::floats(const gguf_tensor& tensor) {
  std::vector<float> out(tensor.size());
  floats(tensor, out);
  return out;
}

inline void gguf_file::floats(const gguf_tensor& tensor, std::span<float> out) {
  dequantise(tensor.type, tensor.bytes, out);
}

inline void gguf_file::row(const gguf_tensor& tensor, std::size_t row, std::span<float> out) {
  assert(row < tensor.rows());
  const std::size_t size = tensor.bytes.size() / tensor.rows();
  dequantise(tensor.type, tensor.bytes.subspan(row * size, size), out);
}

}  // namespace mini
