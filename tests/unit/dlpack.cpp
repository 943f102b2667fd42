// SPDX-License-Identifier: MIT

// Does a DLPack tensor become a view of the same elements, by its field names alone? What EpiKV
// cannot read is refused with the field, what it holds and what would do.

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>

#include "epikv/dlpack.hpp"

namespace {

using namespace epikv;

// The declarations of dlpack.h, written out: the header is no dependency.
enum dl_device_type : std::int32_t { dl_cpu = 1, dl_cuda = 2, dl_rocm = 10, dl_cuda_managed = 13 };
struct dl_device {
  dl_device_type device_type;
  std::int32_t device_id;
};
struct dl_data_type {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct dl_tensor {
  void* data;
  dl_device device;
  std::int32_t ndim;
  dl_data_type dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};
struct dl_managed_tensor {
  ::dl_tensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(dl_managed_tensor*);
};

constexpr dl_data_type f32{2, 32, 1};
constexpr dl_data_type f16{2, 16, 1};
constexpr dl_data_type bf16{4, 16, 1};
constexpr dl_device host{dl_cpu, 0};

// Other spellings of the same fields; what lacks one is no tensor.
enum class scoped_device : std::uint32_t { cpu = 1 };
struct read_only_tensor {
  const float* data;
  struct {
    scoped_device device_type;
    std::int64_t device_id;
  } device;
  std::int64_t ndim;
  dl_data_type dtype;
  const std::int64_t* shape;
  const std::int64_t* strides;
  std::size_t byte_offset;
};
struct without_offset {
  void* data;
  dl_device device;
  std::int32_t ndim;
  dl_data_type dtype;
  std::int64_t* shape;
  std::int64_t* strides;
};
static_assert(DlpackTensor<::dl_tensor> && !DlpackManagedTensor<::dl_tensor>);
static_assert(DlpackManagedTensor<dl_managed_tensor> && !DlpackTensor<dl_managed_tensor>);
static_assert(DlpackTensor<read_only_tensor>);
static_assert(!DlpackTensor<without_offset> && !DlpackTensor<tensor_view> && !DlpackTensor<int>);
static_assert(noexcept(from_dlpack(dl_tensor{})) && noexcept(from_dlpack(dl_managed_tensor{})));

// Address of an element by what the view says; the tests compare it with the array's own.
const void* element(const tensor_view& view, std::initializer_list<std::int64_t> index) {
  std::int64_t offset = 0;
  int axis = 0;
  for (const std::int64_t i : index) offset += i * view.stride(axis++);
  return view.origin() + offset * size_of(view.type());
}

void expect(const status& s, errc code, std::string_view argument, std::string_view got,
            std::string_view expected) {
  CHECK_MESSAGE(s.code() == code, s.message());
  CHECK_MESSAGE(s.argument() == argument, s.message());
  CHECK_MESSAGE(s.got() == got, s.message());
  CHECK_MESSAGE(s.expected().find(expected) != std::string_view::npos, s.message());
}

TEST_CASE("null strides are compact row-major, at every rank") {
  float data[3][4][5][6] = {};
  std::int64_t shape[4] = {3, 4, 5, 6};
  for (std::int32_t rank = 1; rank <= 4; ++rank) {
    CAPTURE(rank);
    // The last `rank` axes of the array.
    const dl_tensor given{data, host, rank, f32, shape + (4 - rank), nullptr, 0};
    const auto view = from_dlpack(given);
    REQUIRE_MESSAGE(view.ok(), view.status().message());
    REQUIRE(view->rank() == rank);
    CHECK(view->given());
    CHECK(view->data() == data);
    CHECK(view->origin() == reinterpret_cast<const std::byte*>(data));
    CHECK(view->type() == dtype::f32);
    CHECK(view->device() == device{device_kind::cpu, 0});
    for (int axis = 0; axis < rank; ++axis) CHECK(view->extent(axis) == shape[4 - rank + axis]);
    if (rank == 1) CHECK(element(*view, {5}) == &data[0][0][0][5]);
    if (rank == 2) CHECK(element(*view, {4, 5}) == &data[0][0][4][5]);
    if (rank == 3) CHECK(element(*view, {3, 1, 5}) == &data[0][3][1][5]);
    if (rank == 4) CHECK(element(*view, {2, 3, 1, 4}) == &data[2][3][1][4]);
  }
}

TEST_CASE("a scalar has no axes to read") {
  float data = 0.0F;
  const auto view = from_dlpack(dl_tensor{&data, host, 0, f32, nullptr, nullptr, 0});
  REQUIRE(view.ok());
  CHECK(view->rank() == 0);
  CHECK(view->given());
}

TEST_CASE("given strides count elements and may be any") {
  float data[6][8] = {};
  std::int64_t shape[2] = {8, 6};
  std::int64_t transposed[2] = {1, 8};
  const auto columns = from_dlpack(dl_tensor{data, host, 2, f32, shape, transposed, 0});
  REQUIRE(columns.ok());
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 6; ++j) CHECK(element(*columns, {i, j}) == &data[j][i]);
  }
  std::int64_t part[2] = {3, 4};
  std::int64_t every_other[2] = {16, 2};
  const auto rows = from_dlpack(dl_tensor{data, host, 2, f32, part, every_other, 0});
  REQUIRE(rows.ok());
  CHECK(element(*rows, {2, 3}) == &data[4][6]);
  // Last row first: a negative stride, from the last row's address.
  std::int64_t backwards[2] = {-8, 1};
  std::int64_t whole[2] = {6, 8};
  const auto reversed = from_dlpack(dl_tensor{data[5], host, 2, f32, whole, backwards, 0});
  REQUIRE(reversed.ok());
  CHECK(element(*reversed, {0, 0}) == &data[5][0]);
  CHECK(element(*reversed, {5, 7}) == &data[0][7]);
}

TEST_CASE("the byte offset counts bytes, whatever the elements and strides are") {
  std::uint16_t data[5][4] = {};
  std::int64_t shape[2] = {3, 4};
  std::int64_t strides[2] = {4, 1};
  for (std::int64_t* const given : {strides, static_cast<std::int64_t*>(nullptr)}) {
    const std::uint64_t two_rows = 2 * sizeof data[0];
    const auto view = from_dlpack(dl_tensor{data, host, 2, f16, shape, given, two_rows});
    REQUIRE(view.ok());
    CHECK(view->data() == data);
    CHECK(view->byte_offset() == 16);
    CHECK(element(*view, {0, 0}) == &data[2][0]);
    CHECK(element(*view, {2, 3}) == &data[4][3]);
  }
  // An offset beyond 63 bits is kept as one that every use refuses, not as an address.
  const auto beyond = from_dlpack(
      dl_tensor{data, host, 2, f16, shape, nullptr, std::numeric_limits<std::uint64_t>::max() - 1});
  REQUIRE(beyond.ok());
  expect(detail::check_addressing("keys", *beyond), errc::wrong_stride, "keys", "byte offset -2",
         "0 or more");
}

TEST_CASE("three dtypes are read and every other is refused with its numbers") {
  std::uint64_t data[4] = {};
  std::int64_t shape[1] = {1};
  int accepted = 0;
  for (int code = 0; code < 20; ++code) {
    for (const int bits : {1, 4, 8, 16, 32, 64, 128}) {
      for (const int lanes : {0, 1, 2, 4, 65535}) {
        const dl_data_type type{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits),
                                static_cast<std::uint16_t>(lanes)};
        const auto view = from_dlpack(dl_tensor{data, host, 1, type, shape, nullptr, 0});
        if (view.ok()) {
          ++accepted;
          const dtype expected = code == 4 ? dtype::bf16 : bits == 16 ? dtype::f16 : dtype::f32;
          CHECK(lanes == 1);
          CHECK(view->type() == expected);
          continue;
        }
        const std::string got = "code " + std::to_string(code) + ", " + std::to_string(bits) +
                                " bits, " + std::to_string(lanes) + " lanes";
        expect(view.status(), errc::wrong_dtype, "dtype", got, "bf16 (4, 16, 1)");
      }
    }
  }
  CHECK(accepted == 3);
  for (const dl_data_type type : {f32, f16, bf16}) {
    CHECK(from_dlpack(dl_tensor{data, host, 1, type, shape, nullptr, 0}).ok());
  }
}

TEST_CASE("devices keep their kind and index; those without a name are refused") {
  float data[2] = {};
  std::int64_t shape[1] = {2};
  const auto named = [](int kind) { return kind == 1 || kind == 2 || kind == 3 || kind == 13; };
  for (int kind = -1; kind < 20; ++kind) {
    CAPTURE(kind);
    const dl_device where{static_cast<dl_device_type>(kind), 5};
    const auto view = from_dlpack(dl_tensor{data, where, 1, f32, shape, nullptr, 0});
    REQUIRE(view.ok() == named(kind));
    if (!view.ok()) {
      expect(view.status(), errc::wrong_device, "device.device_type", std::to_string(kind),
             "1 (CPU), 2 (CUDA), 3 (CUDA host) or 13 (CUDA managed)");
      continue;
    }
    CHECK(static_cast<int>(view->device().kind) == kind);
    CHECK(view->device().index == 5);
  }
  // The names of EpiKV stand for the numbers of DLPack.
  CHECK(static_cast<int>(device_kind::cpu) == dl_cpu);
  CHECK(static_cast<int>(device_kind::cuda) == dl_cuda);
  CHECK(static_cast<int>(device_kind::cuda_host) == 3);
  CHECK(static_cast<int>(device_kind::cuda_managed) == dl_cuda_managed);
}

TEST_CASE("a rank that no view has is refused before its extents are read") {
  float data[1] = {};
  for (const std::int32_t rank : {5, 6, 1000, std::numeric_limits<std::int32_t>::max(), -1,
                                  std::numeric_limits<std::int32_t>::min()}) {
    const auto view = from_dlpack(dl_tensor{data, host, rank, f32, nullptr, nullptr, 0});
    REQUIRE_FALSE(view.ok());
    expect(view.status(), errc::wrong_shape, "ndim", std::to_string(rank), "0 to 4");
  }
}

TEST_CASE("null data is refused") {
  std::int64_t shape[2] = {2, 3};
  const auto view = from_dlpack(dl_tensor{nullptr, host, 2, f32, shape, nullptr, 0});
  REQUIRE_FALSE(view.ok());
  expect(view.status(), errc::invalid_argument, "data", "null", "address of the first element");
}

TEST_CASE("null extents are refused") {
  float data[1] = {};
  for (const std::int32_t rank : {1, 4}) {
    const auto view = from_dlpack(dl_tensor{data, host, rank, f32, nullptr, nullptr, 0});
    REQUIRE_FALSE(view.ok());
    expect(view.status(), errc::invalid_argument, "shape", "null", "extents of all axes");
  }
}

TEST_CASE("a managed tensor is its tensor, and stays its owner's") {
  float data[2][3] = {};
  std::int64_t shape[2] = {2, 3};
  dl_managed_tensor managed{{data, host, 2, f32, shape, nullptr, 4},
                            nullptr,
                            [](dl_managed_tensor* self) { self->manager_ctx = self; }};
  {
    const auto view = from_dlpack(managed);
    REQUIRE(view.ok());
    CHECK(view->rank() == 2);
    CHECK(view->byte_offset() == 4);
    CHECK(element(*view, {1, 1}) == &data[1][2]);
  }
  CHECK(managed.manager_ctx == nullptr);
  managed.dl_tensor.ndim = 7;
  expect(from_dlpack(managed).status(), errc::wrong_shape, "ndim", "7", "0 to 4");
}

TEST_CASE("fields of other types are converted") {
  const float data[2][3] = {};
  const std::int64_t shape[2] = {2, 3};
  const read_only_tensor given{&data[0][0], {scoped_device::cpu, 3}, 2, f32, shape, nullptr, 0};
  const auto view = from_dlpack(given);
  REQUIRE(view.ok());
  CHECK(view->device() == device{device_kind::cpu, 3});
  CHECK(element(*view, {1, 2}) == &data[1][2]);
}

TEST_CASE("a view copies extents and strides: only the elements must outlive it") {
  float data[4][3] = {};
  std::int64_t shape[2] = {2, 3};
  std::int64_t strides[2] = {6, 1};
  const auto view = from_dlpack(dl_tensor{data, host, 2, f32, shape, strides, 0});
  REQUIRE(view.ok());
  shape[0] = 99;
  strides[0] = 99;
  CHECK(view->extent(0) == 2);
  CHECK(element(*view, {1, 2}) == &data[2][2]);
}

}  // namespace
