// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "epikv/status.hpp"

namespace epikv::inline v0::detail {

inline status out_of_memory(const char* what, std::size_t bytes) noexcept {
  return {errc::out_of_memory, what, short_text{"no memory for ", bytes, " bytes"},
          "an allocation that succeeds"};
}

// Growable storage of trivial elements in a backend's memory that reports failure instead of
// throwing. New elements are zero. Contents are host-readable only if the backend's memory is.
template <class T, class Backend>
  requires std::is_trivially_copyable_v<T>
class buffer {
 public:
  buffer() noexcept = default;
  buffer(buffer&& other) noexcept
      : data_{std::exchange(other.data_, nullptr)},
        size_{std::exchange(other.size_, 0)},
        backend_{other.backend_} {}
  buffer& operator=(buffer&& other) noexcept {
    if (this != &other) {
      release();
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
      backend_ = other.backend_;
    }
    return *this;
  }
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;
  ~buffer() { release(); }

  // At least `size` elements; existing ones keep their values. Never shrinks. On failure nothing
  // has changed.
  [[nodiscard]] status grow(Backend& backend, std::size_t size, const char* what) noexcept {
    if (size <= size_) return {};
    if (size > std::numeric_limits<std::size_t>::max() / sizeof(T) / 2) {
      return out_of_memory(what, std::numeric_limits<std::size_t>::max());
    }
    auto* fresh = static_cast<T*>(backend.allocate(size * sizeof(T)));
    if (fresh == nullptr) return out_of_memory(what, size * sizeof(T));
    backend.clear(fresh, size * sizeof(T));
    if (size_ > 0) backend.copy(fresh, data_, size_ * sizeof(T));
    release();
    data_ = fresh;
    size_ = size;
    backend_ = &backend;
    return {};
  }

  [[nodiscard]] T* data() noexcept { return data_; }
  [[nodiscard]] const T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return size_ * sizeof(T); }

 private:
  void release() noexcept {
    if (data_ != nullptr) backend_->deallocate(data_, size_ * sizeof(T));
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  Backend* backend_ = nullptr;
};

// The allocator of bookkeeping that only the host reads.
struct host_memory {
  static constexpr std::align_val_t alignment{64};
  [[nodiscard]] void* allocate(std::size_t bytes) noexcept {
    return ::operator new(bytes, alignment, std::nothrow);
  }
  void deallocate(void* data, std::size_t) noexcept { ::operator delete(data, alignment); }
  void clear(void* data, std::size_t bytes) noexcept { std::memset(data, 0, bytes); }
  void copy(void* to, const void* from, std::size_t bytes) noexcept {
    std::memcpy(to, from, bytes);
  }
};

// A host buffer: a `buffer` with indexing, over one shared stateless allocator.
template <class T>
class host_array {
 public:
  [[nodiscard]] status grow(std::size_t size, const char* what) noexcept {
    return storage_.grow(memory(), size, what);
  }
  // Room for at least `size`, growing by half so that repeated calls are amortised.
  [[nodiscard]] status grow_amortised(std::size_t size, const char* what) noexcept {
    if (size <= storage_.size()) return {};
    return grow(std::max(size, storage_.size() + storage_.size() / 2), what);
  }
  T& operator[](std::size_t i) noexcept { return storage_.data()[i]; }
  const T& operator[](std::size_t i) const noexcept { return storage_.data()[i]; }
  [[nodiscard]] T* data() noexcept { return storage_.data(); }
  [[nodiscard]] const T* data() const noexcept { return storage_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return storage_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return storage_.bytes(); }
  [[nodiscard]] std::span<T> first(std::size_t n) noexcept { return {storage_.data(), n}; }
  [[nodiscard]] std::span<const T> first(std::size_t n) const noexcept {
    return {storage_.data(), n};
  }

 private:
  static host_memory& memory() noexcept {
    static host_memory shared;
    return shared;
  }
  buffer<T, host_memory> storage_;
};

}  // namespace epikv::inline v0::detail
