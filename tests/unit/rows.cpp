// SPDX-License-Identifier: MIT

// Are rows of every dtype and stride widened exactly, are the numbers made of them those of the
// formula, and does a row map find each token's row?

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "epikv/cpu.hpp"
#include "epikv/detail/step.hpp"

namespace {

using namespace epikv;

constexpr dtype all_types[] = {dtype::f32, dtype::f16, dtype::bf16};
constexpr std::int32_t widths[] = {1,   2,   3,   5,   16,  64,  127, 128,
                                   129, 130, 255, 256, 257, 300, 1000};

// --- the formats, from their definitions

struct format {
  int exponent_bits;
  int mantissa_bits;
};

constexpr format format_of(dtype type) {
  return type == dtype::f32 ? format{8, 23} : type == dtype::f16 ? format{5, 10} : format{8, 7};
}

// The value of a bit pattern; NaN for any NaN.
double decoded(dtype type, std::uint32_t bits) {
  const format f = format_of(type);
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const auto mantissa = static_cast<double>(bits & ((1U << f.mantissa_bits) - 1));
  const int top = (1 << f.exponent_bits) - 1;
  const auto exponent = static_cast<int>(bits >> f.mantissa_bits) & top;
  const bool negative = (bits >> (f.exponent_bits + f.mantissa_bits) & 1U) != 0;
  const double sign = negative ? -1.0 : 1.0;
  if (exponent == top) return mantissa == 0.0 ? sign * HUGE_VAL : std::nan("");
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - f.mantissa_bits);
  return sign *
         std::ldexp(mantissa + std::ldexp(1.0, f.mantissa_bits), exponent - bias - f.mantissa_bits);
}

// The pattern of a value the format holds exactly.
std::uint32_t encoded(dtype type, double value) {
  const format f = format_of(type);
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const std::uint32_t sign = std::signbit(value) ? 1U << (f.exponent_bits + f.mantissa_bits) : 0U;
  if (value == 0.0) return sign;
  int exponent = 0;
  const double fraction = std::frexp(std::abs(value), &exponent);  // in [1/2, 1)
  const auto mantissa = static_cast<std::uint32_t>(std::ldexp(fraction, f.mantissa_bits + 1)) &
                        ((1U << f.mantissa_bits) - 1);
  return sign | static_cast<std::uint32_t>(exponent - 1 + bias) << f.mantissa_bits | mantissa;
}

// Memory of one dtype, first filled with what is no part of any row: NaN, so that reading it shows.
class typed_memory {
 public:
  typed_memory(dtype type, std::int64_t elements) : type_{type} {
    bytes_.assign(static_cast<std::size_t>(elements * size_of(type)), std::byte{0xff});
  }
  void put(std::int64_t element, std::uint32_t bits) {
    std::byte* const at = bytes_.data() + element * size_of(type_);
    const auto half = static_cast<std::uint16_t>(bits);
    if (type_ == dtype::f32) {
      std::memcpy(at, &bits, sizeof bits);
    } else {
      std::memcpy(at, &half, sizeof half);
    }
  }
  [[nodiscard]] row_ref row(std::int64_t first, std::int64_t stride) const {
    return {bytes_.data() + first * size_of(type_), type_, stride};
  }
  [[nodiscard]] const void* data() const { return bytes_.data(); }

 private:
  dtype type_;
  std::vector<std::byte> bytes_;
};

// A row of given values somewhere in memory, with any stride, also backwards.
struct placed_row {
  placed_row(dtype type, const std::vector<double>& values, std::int64_t stride)
      : memory{type, (std::ssize(values) - 1) * std::abs(stride) + 8} {
    const std::int64_t first = 3 + (stride < 0 ? (std::ssize(values) - 1) * -stride : 0);
    for (std::int64_t i = 0; i < std::ssize(values); ++i) {
      memory.put(first + i * stride, encoded(type, values[static_cast<std::size_t>(i)]));
    }
    ref = memory.row(first, stride);
  }
  placed_row(const placed_row&) = delete;
  placed_row& operator=(const placed_row&) = delete;

  typed_memory memory;
  row_ref ref;
};

// Values that bf16, and so every dtype, holds exactly: seven bits over a power of two.
std::vector<double> random_values(std::mt19937& random, std::int32_t width, double centre) {
  std::vector<double> values(static_cast<std::size_t>(width));
  for (double& x : values) {
    const auto small = static_cast<double>(static_cast<std::int32_t>(random() % 255) - 127);
    x = centre == 0.0 ? std::ldexp(small, -static_cast<int>(random() % 9)) : centre + small / 32.0;
  }
  return values;
}

// --- the statistics, by their formulas

long double exact_norm(const std::vector<double>& x) {
  long double squares = 0.0L;
  for (const double v : x) squares += static_cast<long double>(v) * v;
  return std::sqrt(squares);
}

long double exact_variance(const std::vector<double>& x) {
  if (x.size() < 2) return 0.0L;
  const auto n = static_cast<long double>(x.size());
  const long double mean = std::accumulate(x.begin(), x.end(), 0.0L) / n;
  long double squares = 0.0L;
  for (const double v : x) squares += (v - mean) * (v - mean);
  return squares / (n - 1.0L);
}

long double exact_statistic(row_statistic kind, const std::vector<double>& x) {
  switch (kind) {
    case row_statistic::variance: return exact_variance(x);
    case row_statistic::range:
      return *std::max_element(x.begin(), x.end()) - *std::min_element(x.begin(), x.end());
    case row_statistic::norm: return exact_norm(x);
    case row_statistic::l1: {
      long double sum = 0.0L;
      for (const double v : x) sum += std::fabs(v);
      return sum;
    }
  }
  return 0.0L;
}

constexpr row_statistic all_statistics[] = {row_statistic::variance, row_statistic::range,
                                            row_statistic::norm, row_statistic::l1};

double relative_error(double got, long double expected) {
  if (expected == 0.0L) return std::abs(got);
  return static_cast<double>(std::abs((got - expected) / expected));
}

// A 16-bit dtype whose every pattern lies in one row, in order.
typed_memory all_patterns(dtype type) {
  typed_memory memory{type, 65536};
  for (std::uint32_t bits = 0; bits < 65536; ++bits) memory.put(bits, bits);
  return memory;
}

// How many of `loaded` are not what the patterns first, first + step, ... stand for.
int wrongly_widened(dtype type, const std::vector<float>& loaded, std::uint32_t first,
                    std::uint32_t step) {
  int wrong = 0;
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    const double expected = decoded(type, first + static_cast<std::uint32_t>(i) * step);
    const auto got = static_cast<double>(loaded[i]);
    const bool same = std::isnan(expected)
                          ? std::isnan(got)
                          : got == expected && std::signbit(got) == std::signbit(expected);
    wrong += same ? 0 : 1;
  }
  return wrong;
}

}  // namespace

TEST_CASE("every f16 and every bf16 is widened exactly") {
  for (const dtype type : {dtype::f16, dtype::bf16}) {
    CAPTURE(to_string(type));
    const typed_memory memory = all_patterns(type);
    std::vector<float> out(65536);
    cpu_backend::run(store_job{memory.row(0, 1), 65536, out.data()});
    CHECK(wrongly_widened(type, out, 0, 1) == 0);
    // Strided rows take another way through the code; so do the two halves of a pair.
    for (const std::uint32_t first : {0U, 1U}) {
      out.resize(32768);
      cpu_backend::run(store_job{memory.row(first, 2), 32768, out.data()});
      CHECK(wrongly_widened(type, out, first, 2) == 0);
    }
  }
  // By hand, so that a mistake in the conversion above shows too.
  CHECK(decoded(dtype::f16, 0x3c00) == 1.0);
  CHECK(decoded(dtype::f16, 0x7bff) == 65504.0);
  CHECK(decoded(dtype::f16, 0x0001) == 0x1p-24);
  CHECK(decoded(dtype::f16, 0xfc00) == -HUGE_VAL);
  CHECK(decoded(dtype::bf16, 0x3f80) == 1.0);
  CHECK(decoded(dtype::bf16, 0x0001) == 0x1p-133);
  CHECK(decoded(dtype::f32, 0x3f8ccccdU) == static_cast<double>(1.1F));
}

TEST_CASE("f32 comes through bit for bit, NaN payloads included") {
  typed_memory memory{dtype::f32, 3 * 70000};
  std::vector<std::uint32_t> bits(70000);
  std::mt19937 random{1};
  for (std::uint32_t& b : bits) b = static_cast<std::uint32_t>(random());
  // Every sign and exponent, with the ends of the mantissa.
  for (std::uint32_t top = 0; top < 512; ++top) {
    bits[2 * top] = top << 23;
    bits[2 * top + 1] = top << 23 | 0x7fffffU;
  }
  for (const std::int64_t stride : {1, 3}) {
    for (std::size_t i = 0; i < bits.size(); ++i) {
      memory.put(static_cast<std::int64_t>(i) * stride, bits[i]);
    }
    std::vector<float> out(bits.size());
    cpu_backend::run(
        store_job{memory.row(0, stride), static_cast<std::int32_t>(bits.size()), out.data()});
    CHECK(std::memcmp(out.data(), bits.data(), bits.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("a row of any width, start and stride is read from its own elements alone") {
  std::mt19937 random{2};
  for (const dtype type : all_types) {
    for (const std::int32_t width : widths) {
      for (const std::int64_t stride : {1, 2, 7, -1, -3}) {
        const std::vector<double> values = random_values(random, width, 0.0);
        const placed_row row{type, values, stride};
        std::vector<float> out(static_cast<std::size_t>(width) + 2, 99.0F);
        cpu_backend::run(store_job{row.ref, width, out.data() + 1});
        CAPTURE(to_string(type));
        CAPTURE(width);
        CAPTURE(stride);
        CHECK(std::equal(values.begin(), values.end(), out.begin() + 1));
        CHECK(out.front() == 99.0F);
        CHECK(out.back() == 99.0F);
        // A part of the row, as the block loop asks for it.
        const std::int32_t begin = width / 3;
        std::fill(out.begin(), out.end(), 99.0F);
        cpu::load(row.ref, begin, width - begin, out.data());
        CHECK(std::equal(values.begin() + begin, values.end(), out.begin()));
      }
    }
  }
}

TEST_CASE("views name their rows by strides and byte offset") {
  for (const dtype type : all_types) {
    std::vector<std::byte> memory(4096);
    const std::int64_t size = size_of(type);
    const tensor_view flat{memory.data(), type, {5, 7}, {13, 2}, {}, 8};
    const tensor_view heads{memory.data(), type, {5, 3, 7}, {-60, 20, 2}, {}, 300 * size};
    for (std::int64_t row = 0; row < 5; ++row) {
      const row_ref whole = row_of(flat, row);
      CHECK(whole.data == memory.data() + 8 + row * 13 * size);
      CHECK(whole.stride == 2);
      CHECK(whole.type == type);
      for (std::int64_t head = 0; head < 3; ++head) {
        const row_ref one = row_of(heads, row, head);
        CHECK(one.data == memory.data() + (300 - 60 * row + 20 * head) * size);
        CHECK(one.stride == 2);
        CHECK(one.type == type);
      }
    }
    const tensor_view packed{memory.data(), type, {5, 3, 7}};
    CHECK(row_of(packed, 4, 2).data == memory.data() + (4 * 21 + 2 * 7) * size);
    CHECK(row_of(packed, 4, 2).stride == 1);
  }
}

TEST_CASE("distances and statistics are those of the formulas") {
  std::mt19937 random{3};
  for (const dtype type : all_types) {
    for (const std::int32_t width : widths) {
      for (const std::int64_t stride : {1, 3, -2}) {
        for (const double centre : {0.0, 4.0}) {
          CAPTURE(to_string(type));
          CAPTURE(width);
          CAPTURE(stride);
          CAPTURE(centre);
          // Little around a large mean takes more digits than the short types have.
          if (centre != 0.0 && type != dtype::f32) continue;
          const std::vector<double> x = random_values(random, width, centre);
          const std::vector<double> y = random_values(random, width, -centre);
          const placed_row row{type, x, stride};
          const placed_row other{type, y, 1};
          for (const row_statistic kind : all_statistics) {
            CAPTURE(static_cast<int>(kind));
            const float got = cpu::statistic(kind, row.ref, width);
            CHECK(relative_error(got, exact_statistic(kind, x)) < 2e-6);
          }
          std::vector<double> change(x.size());
          for (std::size_t i = 0; i < x.size(); ++i) change[i] = x[i] - y[i];
          double sum = 0.0;
          cpu_backend::run(distance_job{row.ref, other.ref, width, &sum});
          CHECK(relative_error(sum, exact_norm(change)) < 1e-6);
        }
      }
    }
  }
}

TEST_CASE("whole numbers leave nothing to rounding") {
  std::mt19937 random{4};
  for (const dtype type : all_types) {
    for (const std::int32_t width : widths) {
      std::vector<double> x(static_cast<std::size_t>(width));
      std::vector<double> y(x.size());
      std::int64_t squares = 0;
      std::int64_t changes = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const auto a = static_cast<std::int64_t>(random() % 129) - 64;
        const auto b = static_cast<std::int64_t>(random() % 129) - 64;
        x[i] = static_cast<double>(a);
        y[i] = static_cast<double>(b);
        squares += a * a;
        changes += (a - b) * (a - b);
      }
      REQUIRE(changes < 1 << 24);
      const placed_row row{type, x, 1};
      const placed_row other{type, y, 2};
      CAPTURE(to_string(type));
      CAPTURE(width);
      CHECK(cpu::norm(row.ref, width) == std::sqrt(static_cast<float>(squares)));
      CHECK(cpu::distance(row.ref, other.ref, width) == std::sqrt(static_cast<float>(changes)));
      CHECK(cpu::distance(row.ref, row.ref, width) == 0.0F);
      CHECK(cpu::value_range(row.ref, width) ==
            static_cast<float>(exact_statistic(row_statistic::range, x)));
    }
  }
}

TEST_CASE("a constant row varies by nothing, and one channel by definition") {
  for (const std::int32_t width : widths) {
    const std::vector<double> values(static_cast<std::size_t>(width), -2.5);
    const placed_row row{dtype::bf16, values, 1};
    CHECK(cpu::sample_variance(row.ref, width) == 0.0F);
    CHECK(cpu::value_range(row.ref, width) == 0.0F);
  }
  const placed_row one{dtype::f16, {-3.0}, 1};
  CHECK(cpu::sample_variance(one.ref, 1) == 0.0F);
  CHECK(cpu::value_range(one.ref, 1) == 0.0F);
  CHECK(cpu::norm(one.ref, 1) == 3.0F);
  // By hand: the sample variance of {1, 3} is 2, not 1.
  const placed_row two{dtype::f32, {1.0, 3.0}, 1};
  CHECK(cpu::sample_variance(two.ref, 2) == 2.0F);
}

TEST_CASE("one NaN anywhere makes every number of the row NaN, and infinities count as such") {
  for (const std::int32_t width : {2, 128, 129, 300}) {
    for (const std::int32_t at : {0, 1, width / 2, width - 1}) {
      std::vector<float> x(static_cast<std::size_t>(width), 1.5F);
      const std::vector<float> y(x.size(), 0.5F);
      const auto ref = [](const std::vector<float>& row) {
        return row_ref{reinterpret_cast<const std::byte*>(row.data()), dtype::f32, 1};
      };
      CAPTURE(width);
      CAPTURE(at);
      x[static_cast<std::size_t>(at)] = std::numeric_limits<float>::quiet_NaN();
      for (const row_statistic kind : all_statistics) {
        CHECK(std::isnan(cpu::statistic(kind, ref(x), width)));
      }
      CHECK(std::isnan(cpu::distance(ref(x), ref(y), width)));
      CHECK(std::isnan(cpu::distance(ref(y), ref(x), width)));
      x[static_cast<std::size_t>(at)] = -std::numeric_limits<float>::infinity();
      CHECK(cpu::value_range(ref(x), width) == std::numeric_limits<float>::infinity());
      CHECK(cpu::norm(ref(x), width) == std::numeric_limits<float>::infinity());
      CHECK(cpu::distance(ref(x), ref(y), width) == std::numeric_limits<float>::infinity());
    }
  }
}

TEST_CASE("jobs add to the sum that is there: over layers, and over the heads of a row") {
  constexpr std::int64_t rows = 3;
  constexpr std::int64_t heads = 4;
  constexpr std::int32_t width = 40;
  std::mt19937 random{5};
  for (const dtype type : all_types) {
    // [heads, rows, width] in memory, shown as [rows, heads, width].
    typed_memory memory{type, rows * heads * width};
    std::vector<std::vector<double>> values;
    for (std::int64_t i = 0; i < rows * heads; ++i) {
      values.push_back(random_values(random, width, 0.0));
      for (std::int64_t c = 0; c < width; ++c) {
        memory.put(i * width + c, encoded(type, values.back()[static_cast<std::size_t>(c)]));
      }
    }
    const tensor_view view{memory.data(), type, {rows, heads, width}, {width, rows * width, 1}};
    for (const row_statistic kind : all_statistics) {
      for (std::int64_t row = 0; row < rows; ++row) {
        double sum = 1000.0;
        long double expected = 1000.0L;
        for (int layer = 0; layer < 2; ++layer) {
          cpu_backend::run(statistic_job{.view = &view,
                                         .row = row,
                                         .heads = static_cast<std::int32_t>(view.extent(1)),
                                         .statistic = kind,
                                         .sum = &sum});
          for (std::int64_t head = 0; head < heads; ++head) {
            expected += exact_statistic(kind, values[static_cast<std::size_t>(head * rows + row)]);
          }
        }
        CAPTURE(to_string(type));
        CAPTURE(static_cast<int>(kind));
        CHECK(relative_error(sum, expected) < 1e-6);
      }
    }
  }
  double sum = 2.0;
  const placed_row three_four{dtype::f16, {3.0, 4.0}, 1};
  const placed_row origin{dtype::bf16, {0.0, 0.0}, 1};
  cpu_backend::run(distance_job{three_four.ref, origin.ref, 2, &sum});
  CHECK(sum == 7.0);

  float out = 0.0F;
  cpu_backend::run(mean_job{&sum, 4.0, &out});
  CHECK(out == 1.75F);
  sum = -std::nan("");
  cpu_backend::run(mean_job{&sum, 4.0, &out});
  CHECK(std::bit_cast<std::uint32_t>(out) == detail::canonical_nan_bits);

  std::vector<float> column(5, 1.0F);
  cpu_backend::run(unscored_job{column.data() + 1, 3});
  CHECK(column.front() == 1.0F);
  CHECK(column.back() == 1.0F);
  for (std::size_t i = 1; i < 4; ++i) CHECK(detail::is_unscored(column[i]));
}

TEST_CASE("a row map finds the row of every token it names, in any order") {
  std::mt19937 random{6};
  detail::step step;
  REQUIRE(step.reserve(40).ok());
  for (int round = 0; round < 300; ++round) {
    const auto tokens = static_cast<std::int32_t>(random() % 41);
    step.begin(tokens);
    // Some of the tokens, shuffled, with rows to ignore among them.
    std::vector<std::int32_t> map;
    for (std::int32_t t = 0; t < tokens; ++t) {
      if (random() % 3 != 0) map.push_back(t);
      if (random() % 5 == 0) map.push_back(-1);
    }
    if (map.empty()) continue;  // an empty map means one row per token
    std::shuffle(map.begin(), map.end(), random);
    REQUIRE(step.map_rows(0, std::ssize(map), map).ok());
    const auto rows = step.rows(0, tokens);
    int wrong = 0;
    for (std::int32_t t = 0; t < tokens; ++t) {
      const auto at = std::find(map.begin(), map.end(), t);
      const std::int32_t expected =
          at == map.end() ? -1 : static_cast<std::int32_t>(at - map.begin());
      wrong += rows[static_cast<std::size_t>(t)] != expected ? 1 : 0;
    }
    CHECK(wrong == 0);
    step.accept(0);
    // Of the tokens that were not named, those behind the last may still be shown of this layer.
    std::vector<std::int32_t> rest;
    for (std::int32_t t = 0; t < tokens; ++t) {
      if (std::find(map.begin(), map.end(), t) == map.end()) rest.push_back(t);
    }
    const std::int32_t last = *std::max_element(map.begin(), map.end());
    if (!rest.empty() && rest.front() < last) {
      CHECK(step.map_rows(0, std::ssize(rest), rest).code() == errc::wrong_order);
      std::erase_if(rest, [last](std::int32_t t) { return t < last; });
    }
    if (!rest.empty()) {
      CHECK(step.map_rows(0, std::ssize(rest), rest).ok());
      step.accept(0);
      CHECK(step.map_rows(0, std::ssize(rest), rest).code() == errc::wrong_order);
    }
  }
  step.begin(3);
  REQUIRE(step.map_rows(0, 3, {}).ok());
  for (std::int32_t t = 0; t < 3; ++t) CHECK(step.rows(t, 1)[0] == t);
}
