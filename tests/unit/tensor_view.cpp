// SPDX-License-Identifier: MIT

// Does a view name the elements its owner means: extents, strides in elements, an offset in bytes,
// and "not given" for a view of nothing? Views that cannot be addressed are refused in use.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "epikv/primitives.hpp"
#include "epikv/tensor_view.hpp"

namespace {

using namespace epikv;

constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();

// Handed around by value, once per signal and layer.
static_assert(std::is_trivially_copyable_v<tensor_view>);
static_assert(std::is_nothrow_default_constructible_v<tensor_view>);
static_assert(size_of(dtype::f32) == 4 && size_of(dtype::f16) == 2 && size_of(dtype::bf16) == 2);
// The numbers of DLPack's DLDeviceType.
static_assert(static_cast<int>(device_kind::cpu) == 1 && static_cast<int>(device_kind::cuda) == 2);
static_assert(static_cast<int>(device_kind::cuda_host) == 3 &&
              static_cast<int>(device_kind::cuda_managed) == 13);

// Address of an element by what the view says; the tests compare it with the array's own.
const void* element(const tensor_view& view, std::initializer_list<std::int64_t> index) {
  std::int64_t offset = 0;
  int axis = 0;
  for (const std::int64_t i : index) offset += i * view.stride(axis++);
  return view.origin() + offset * size_of(view.type());
}

bool same(const tensor_view& a, const tensor_view& b) {
  bool equal = a.data() == b.data() && a.byte_offset() == b.byte_offset() && a.type() == b.type() &&
               a.device() == b.device() && a.rank() == b.rank();
  for (int axis = 0; axis < tensor_view::max_rank; ++axis) {
    equal = equal && a.extent(axis) == b.extent(axis) && a.stride(axis) == b.stride(axis);
  }
  return equal;
}

void check_refused(const tensor_view& view, errc code, std::string_view got,
                   std::string_view expected) {
  const status s = detail::check_addressing("keys", view);
  CHECK_MESSAGE(s.code() == code, s.message());
  CHECK_MESSAGE(s.argument() == "keys", s.message());
  CHECK_MESSAGE(s.got() == got, s.message());
  CHECK_MESSAGE(s.expected() == expected, s.message());
}

void check_accepted(const tensor_view& view) {
  const status s = detail::check_addressing("keys", view);
  CHECK_MESSAGE(s.ok(), s.message());
}

TEST_CASE("a default view is not given; any other is") {
  const tensor_view none;
  CHECK_FALSE(none.given());
  CHECK(none.data() == nullptr);
  CHECK(none.origin() == nullptr);
  CHECK(none.rank() == 0);
  CHECK(none.byte_offset() == 0);
  const tensor_view braces{};
  CHECK_FALSE(braces.given());

  const float data[6] = {};
  const float* const null = nullptr;
  CHECK(tensor_view{data, {2, 3}}.given());
  CHECK(tensor_view{data, dtype::f32, {}}.given());  // a scalar
  // A step of no rows may come with a null address: it is shown all the same.
  CHECK(tensor_view{null, {0, 3}}.given());
  CHECK(tensor_view{null, {2, 3}}.given());
  CHECK(tensor_view{null, dtype::f32, {1, 1, 1, 1, 1}}.given());  // refused, not absent
}

TEST_CASE("extents alone mean row-major, at every rank") {
  const float data[3][4][5][6] = {};
  const float* const first = &data[0][0][0][0];
  const tensor_view four{first, {3, 4, 5, 6}};
  CHECK(four.rank() == 4);
  CHECK(element(four, {2, 1, 3, 4}) == &data[2][1][3][4]);
  CHECK(element(four, {2, 3, 4, 5}) == &data[2][3][4][5]);
  const tensor_view three{first, {4, 5, 6}};
  CHECK(three.rank() == 3);
  CHECK(element(three, {3, 1, 5}) == &data[0][3][1][5]);
  const tensor_view two{first, {5, 6}};
  CHECK(two.rank() == 2);
  CHECK(element(two, {4, 5}) == &data[0][0][4][5]);
  const tensor_view one{first, {6}};
  CHECK(one.rank() == 1);
  CHECK(element(one, {5}) == &data[0][0][0][5]);
  for (int axis = 0; axis < 4; ++axis) {
    const std::int64_t expected[4] = {3, 4, 5, 6};
    CHECK(four.extent(axis) == expected[axis]);
    if (axis < 3) CHECK(three.extent(axis) == expected[axis + 1]);
  }
}

TEST_CASE("no rows: the strides of the other axes stay those of a row") {
  const float data[1][4][6] = {};
  const tensor_view view{&data[0][0][0], {0, 4, 6}};
  CHECK(view.extent(0) == 0);
  CHECK(view.stride(0) == 24);
  CHECK(view.stride(1) == 6);
  CHECK(view.stride(2) == 1);
  // An empty inner axis must not fold the rows onto each other.
  const tensor_view narrow{&data[0][0][0], {4, 0, 6}};
  CHECK(narrow.stride(0) == 6);
}

TEST_CASE("strides count elements: padding, transposes, slices, backwards, repeated") {
  const std::uint16_t data[6][8] = {};
  const void* const first = data;
  const tensor_view padded{first, dtype::f16, {6, 5}, {8, 1}};
  const tensor_view transposed{first, dtype::bf16, {8, 6}, {1, 8}};
  const tensor_view slice{first, dtype::f16, {3, 4}, {16, 2}};
  const tensor_view backwards{&data[5][7], dtype::f16, {6, 8}, {-8, -1}};
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 8; ++j) {
      if (j < 5) CHECK(element(padded, {i, j}) == &data[i][j]);
      CHECK(element(transposed, {j, i}) == &data[i][j]);
      if (i < 3 && j < 4) CHECK(element(slice, {i, j}) == &data[2 * i][2 * j]);
      CHECK(element(backwards, {i, j}) == &data[5 - i][7 - j]);
    }
  }
  for (const tensor_view& each : {padded, transposed, slice, backwards}) check_accepted(each);
  // One row has no distance to a next one, so its stride may be anything.
  check_accepted({first, dtype::f16, {1, 8}, {0, 1}});
  check_accepted({first, dtype::f16, {1, 8}, {huge, 1}});
  check_accepted({first, dtype::f16, {0, 8}, {0, 1}});
}

TEST_CASE("the rows that primitives read are the view's") {
  const std::uint16_t data[7][4][16] = {};
  // Rows 1, 3, 5 of the array and every other head, from an offset of one row.
  const tensor_view view{data, dtype::bf16, {3, 2, 16}, {128, 32, 1}, {}, sizeof data[0]};
  for (std::int64_t row = 0; row < 3; ++row) {
    for (std::int64_t head = 0; head < 2; ++head) {
      const row_ref found = row_of(view, row, head);
      CHECK(static_cast<const void*>(found.data) == &data[1 + 2 * row][2 * head][0]);
      CHECK(found.type == dtype::bf16);
      CHECK(found.stride == 1);
    }
  }
  const tensor_view columns{data, dtype::f16, {16, 4}, {1, 16}};
  const row_ref channel = row_of(columns, 5);
  CHECK(static_cast<const void*>(channel.data) == &data[0][0][5]);
  CHECK(channel.stride == 16);
}

TEST_CASE("the offset counts bytes, whatever the element is") {
  const std::uint16_t data[4][3] = {};
  for (const dtype type : {dtype::f16, dtype::bf16}) {
    const tensor_view view{data, type, {3, 3}, {}, {}, 6};
    CHECK(view.byte_offset() == 6);
    CHECK(view.data() == data);
    CHECK(static_cast<const void*>(view.origin()) == &data[1][0]);
    CHECK(element(view, {2, 2}) == &data[3][2]);
  }
  const tensor_view strided{data, dtype::f16, {2, 3}, {6, 1}, {}, 2};
  CHECK(element(strided, {1, 1}) == &data[2][2]);
}

TEST_CASE("the ways to make a view agree") {
  const float data[24] = {};
  const std::int64_t shape[3] = {2, 3, 4};
  const std::int64_t strides[3] = {12, 4, 1};
  const device gpu{device_kind::cuda, 3};
  CHECK(same({data, {2, 3, 4}}, {data, dtype::f32, {2, 3, 4}}));
  CHECK(same({data, {2, 3, 4}}, {data, dtype::f32, {2, 3, 4}, {12, 4, 1}}));
  CHECK(same({data, {2, 3, 4}}, {data, dtype::f32, 3, shape, nullptr}));
  CHECK(same({data, {2, 3, 4}}, {data, dtype::f32, 3, shape, strides}));
  CHECK(same({data, dtype::f16, {2, 3, 4}, gpu, 8}, {data, dtype::f16, 3, shape, strides, gpu, 8}));
  CHECK(same({data, dtype::f16, {2, 3, 4}, {12, 4, 1}, gpu, 8},
             {data, dtype::f16, 3, shape, nullptr, gpu, 8}));
  // The comparison itself sees every part.
  const tensor_view base{data, {2, 3, 4}};
  CHECK_FALSE(same(base, {data + 1, {2, 3, 4}}));
  CHECK_FALSE(same(base, {data, {2, 4, 3}}));
  CHECK_FALSE(same(base, {data, dtype::bf16, {2, 3, 4}}));
  CHECK_FALSE(same(base, {data, dtype::f32, {2, 3, 4}, {12, 4, 2}}));
  CHECK_FALSE(same(base, {data, dtype::f32, {2, 3, 4}, gpu}));
  CHECK_FALSE(same(base, {data, dtype::f32, {2, 3, 4}, {}, {}, 4}));
  CHECK(base.device() == device{device_kind::cpu, 0});
  CHECK(tensor_view{data, dtype::f32, {1}, gpu}.device() == gpu);
}

TEST_CASE("extents and strides are copied") {
  const float data[12] = {};
  std::vector<std::int64_t> shape{3, 4};
  std::vector<std::int64_t> strides{4, 1};
  const tensor_view view{data, dtype::f32, 2, shape.data(), strides.data()};
  shape.assign(2, -1);
  strides.assign(2, -1);
  CHECK(same(view, {data, {3, 4}}));
}

TEST_CASE("a rank that cannot be reads nothing and is refused") {
  const float data[1] = {};
  const std::string_view got = "a rank that does not fit";
  const std::string_view expected = "1 to 4 dimensions, as many strides as extents";
  for (const int rank :
       {-1, 5, 128, 256, 260, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
    CAPTURE(rank);
    // Null extents: reading one would end the test.
    const tensor_view view{data, dtype::f32, rank, nullptr, nullptr};
    CHECK(view.rank() == -1);
    CHECK(view.given());
    check_refused(view, errc::wrong_shape, got, expected);
  }
  check_refused({data, {1, 1, 1, 1, 1}}, errc::wrong_shape, got, expected);
  check_refused({data, dtype::f32, {1, 1}, {1}}, errc::wrong_shape, got, expected);
  check_refused({data, dtype::f32, {1, 1}, {1, 1, 1}}, errc::wrong_shape, got, expected);
}

TEST_CASE("addresses: null only without elements, aligned to the element") {
  alignas(4) const std::byte data[16] = {};
  check_refused({nullptr, dtype::f32, {1, 2}}, errc::invalid_argument, "a null address",
                "the address of the first row");
  check_accepted({nullptr, dtype::f32, {0, 2}});
  check_accepted({nullptr, dtype::f32, {2, 0}});
  for (std::int64_t offset = 0; offset < 8; ++offset) {
    CAPTURE(offset);
    for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16}) {
      const tensor_view by_offset{data, type, {1, 2}, {}, {}, offset};
      const tensor_view by_address{data + offset, type, {1, 2}};
      for (const tensor_view& each : {by_offset, by_address}) {
        if (offset % size_of(type) == 0) {
          check_accepted(each);
        } else {
          check_refused(each, errc::wrong_stride, "a misaligned first element",
                        std::string{"a multiple of "} + std::to_string(size_of(type)) +
                            " bytes for " + to_string(type));
        }
      }
    }
  }
  // An offset that mends a misaligned address is fine; one before the data is not.
  check_accepted({data + 1, dtype::f32, {1, 2}, {}, {}, 3});
  check_refused({data + 8, dtype::f32, {1, 2}, {}, {}, -4}, errc::wrong_stride, "byte offset -4",
                "0 or more");
}

TEST_CASE("dtypes, extents and strides that cannot be addressed") {
  const float data[64] = {};
  check_refused({data, static_cast<dtype>(3), {2, 2}}, errc::wrong_dtype, "dtype code 3",
                "f32, f16 or bf16");
  check_refused({data, {2, -1}}, errc::wrong_shape, "[2, -1]", "extents of 0 or more");
  check_refused({data, dtype::f32, {2, 4}, {0, 1}}, errc::wrong_stride, "stride 0 over extent 2",
                "distinct rows");
  check_refused({data, dtype::f32, {2, 4}, {4, 0}}, errc::wrong_stride, "stride 0 over extent 4",
                "distinct rows");
  const std::string over = " over extent 2";
  for (const std::int64_t stride : {huge, huge / 2, huge / 64, -huge / 64, -huge - 1}) {
    check_refused({data, dtype::f32, {2, 4}, {stride, 1}}, errc::wrong_stride,
                  "stride " + std::to_string(stride) + over, "offsets that fit 64 bits");
  }
  // Row-major strides of extents whose product does not fit must not wrap into small ones.
  const tensor_view large{data, {std::int64_t{1} << 40, std::int64_t{1} << 40, 2}};
  CHECK_FALSE(detail::check_addressing("keys", large).ok());
  const std::int64_t far = huge / 64 / 2;  // the last stride over two rows that is taken
  check_accepted({data, dtype::f32, {2, 4}, {far, 1}});
  check_accepted({data, dtype::f32, {2, 4}, {-far, 1}});
  check_refused({data, dtype::f32, {2, 4}, {far + 1, 1}}, errc::wrong_stride,
                "stride " + std::to_string(far + 1) + over, "offsets that fit 64 bits");
}

TEST_CASE("what messages call shapes and dtypes") {
  const float data[1] = {};
  CHECK(detail::shape_text({data, {3}}).view() == "[3]");
  CHECK(detail::shape_text({data, {3, 0, 16}}).view() == "[3, 0, 16]");
  CHECK(detail::shape_text({data, {huge, huge, huge, huge}}).view() ==
        "[9223372036854775807, 9223372036854775807, 9223372036854775807, 9223372036854775807]");
  CHECK(detail::shape_text({}).view() == "[]");
  CHECK(std::string_view{to_string(dtype::f32)} == "f32");
  CHECK(std::string_view{to_string(dtype::f16)} == "f16");
  CHECK(std::string_view{to_string(dtype::bf16)} == "bf16");
  CHECK(std::string_view{to_string(static_cast<dtype>(3))} == "unknown");
}

}  // namespace
