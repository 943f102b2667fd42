// SPDX-License-Identifier: MIT
#include "gguf.hpp"

#include <bit>
#include <cassert>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>
#include <utility>

#include "dequantise.hpp"

namespace mini {

expected<gguf_file> gguf_file::open(const std::string& path) {
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

expected<gguf_file> gguf_file::parse(std::vector<std::byte> bytes) {
  gguf_file file(std::move(bytes));
  if (auto parsed = file.parse_all(); !parsed) return parsed.reason();
  return file;
}

expected<void> gguf_file::parse_all() {
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

expected<void> gguf_file::parse_metadata(byte_reader& in, std::uint64_t count) {
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

expected<void> gguf_file::parse_tensors(byte_reader& in, std::uint64_t count) {
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
expected<std::uint64_t> gguf_file::stored_size(std::string_view name, const gguf_tensor& tensor) {
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

std::vector<float> gguf_file::floats(const gguf_tensor& tensor) {
  std::vector<float> out(tensor.size());
  floats(tensor, out);
  return out;
}

void gguf_file::floats(const gguf_tensor& tensor, std::span<float> out) {
  dequantise(tensor.type, tensor.bytes, out);
}

void gguf_file::row(const gguf_tensor& tensor, std::size_t row, std::span<float> out) {
  assert(row < tensor.rows());
  const std::size_t size = tensor.bytes.size() / tensor.rows();
  dequantise(tensor.type, tensor.bytes.subspan(row * size, size), out);
}

}  // namespace mini
