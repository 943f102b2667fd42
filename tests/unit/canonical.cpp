// SPDX-License-Identifier: MIT

// Is the shared arithmetic what its header says: the fold of the accumulators, the exponential, the
// order of scores, and the statistics of a ring? Every other test of numbers rests on these.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "epikv/detail/canonical.hpp"

namespace {

using namespace epikv::detail;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan_f = std::numeric_limits<float>::quiet_NaN();

float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }
std::uint32_t to_bits(float x) { return std::bit_cast<std::uint32_t>(x); }

// --- the fold

// The definition, from the last addition back: the sum of the accumulators that meet in `j` when
// `width` of them are left.
template <class Float>
Float folded(const std::array<Float, lanes>& acc, int j, int width) {
  if (width == lanes) return acc[static_cast<std::size_t>(j)];
  return folded(acc, j, 2 * width) + folded(acc, j + width, 2 * width);
}

// Fills the first `used` accumulators; those from `used` on hold +0, as after a reduction.
template <class Float, class Draw>
std::array<Float, lanes> accumulators(int used, Draw draw) {
  std::array<Float, lanes> acc{};
  for (int i = 0; i < used; ++i) acc[static_cast<std::size_t>(i)] = draw();
  return acc;
}

template <class Float>
void check_exact_sums() {
  std::mt19937 random{1};
  for (int used = 1; used <= lanes; ++used) {
    std::int64_t sum = 0;
    // 128 integers below 2^17 sum to less than 2^24: no order of additions rounds.
    auto acc = accumulators<Float>(used, [&] {
      const auto x = static_cast<std::int32_t>(random() % (1U << 18)) - (1 << 17);
      sum += x;
      return static_cast<Float>(x);
    });
    // What lies beyond the next power of two is never looked at: callers need not clear it.
    for (int i = 2 * used; i < lanes; ++i) acc[static_cast<std::size_t>(i)] = Float{nan_f};
    CAPTURE(used);
    CHECK(static_cast<double>(fold_lanes(acc.data(), used)) == static_cast<double>(sum));
  }
}

template <class Float>
void check_order() {
  std::mt19937 random{2};
  int order_matters = 0;
  for (int round = 0; round < 50; ++round) {
    for (int used = 1; used <= lanes; ++used) {
      const auto acc = accumulators<Float>(used, [&] {
        return static_cast<Float>(
            std::ldexp(static_cast<double>(random()) - 0x1p31, -static_cast<int>(random() % 40)));
      });
      const Float expected = folded(acc, 0, 1);
      auto all = acc;
      auto some = acc;
      Float plain{0};
      for (const Float x : acc) plain += x;
      order_matters += plain != expected ? 1 : 0;
      const Float of_all = fold_lanes(all.data());
      const Float of_some = fold_lanes(some.data(), used);
      CHECK(std::memcmp(&of_all, &expected, sizeof(Float)) == 0);
      CHECK(std::memcmp(&of_some, &expected, sizeof(Float)) == 0);
    }
  }
  CHECK(order_matters > 1000);
}

// --- the exponential

// Units in the last place. Over all floats the largest error is 2.74, at -0x1.b61112p+4.
constexpr double exp_bound = 3.0;

#if defined(NDEBUG)
constexpr std::uint32_t exp_stride = 97;
#else
constexpr std::uint32_t exp_stride = 1009;
#endif

double ulps_from_exp(float x, float computed) {
  const long double exact = std::exp(static_cast<long double>(x));
  int exponent = 0;
  std::frexp(exact, &exponent);
  const long double ulp = std::ldexp(1.0L, exponent - 24);
  return static_cast<double>(std::abs(static_cast<long double>(computed) - exact) / ulp);
}

// --- the order of scores

const std::vector<float>& special_values() {
  using limits = std::numeric_limits<float>;
  static const std::vector<float> values{0.0F,
                                         -0.0F,
                                         limits::denorm_min(),
                                         -limits::denorm_min(),
                                         from_bits(0x007fffffU),
                                         from_bits(0x807fffffU),
                                         limits::min(),
                                         -limits::min(),
                                         1.0F,
                                         -1.0F,
                                         std::nextafter(1.0F, 2.0F),
                                         std::nextafter(1.0F, 0.0F),
                                         std::nextafter(-1.0F, 0.0F),
                                         1e-30F,
                                         -1e-30F,
                                         3.5F,
                                         -3.5F,
                                         1e30F,
                                         -1e30F,
                                         limits::max(),
                                         -limits::max(),
                                         infinity,
                                         -infinity,
                                         nan_f,
                                         -nan_f,
                                         from_bits(0x7f800001U),
                                         from_bits(0xff800001U),
                                         from_bits(0xffffffffU),
                                         from_bits(0x7fffffffU),
                                         unscored(),
                                         from_bits(canonical_nan_bits)};
  return values;
}

bool is_nan(float x) { return (to_bits(x) & 0x7fffffffU) > 0x7f800000U; }

// a before b: NaN lowest, all NaN alike, else as numbers compare.
bool ranks_below(float a, float b) {
  if (is_nan(a)) return !is_nan(b);
  return !is_nan(b) && static_cast<double>(a) < static_cast<double>(b);
}

// The number of pairs whose keys are not ordered as their values are.
int misordered(const std::vector<float>& values) {
  int wrong = 0;
  for (const float a : values) {
    for (const float b : values) {
      const bool less = order_key(a) < order_key(b);
      const bool equal = order_key(a) == order_key(b);
      wrong += less != ranks_below(a, b) ? 1 : 0;
      wrong += equal != (!ranks_below(a, b) && !ranks_below(b, a)) ? 1 : 0;
    }
  }
  return wrong;
}

// --- rings

// A ring as the library fills it, beside all values it was ever given.
struct ring_and_history {
  explicit ring_and_history(std::int32_t size)
      : window{size}, ring(static_cast<std::size_t>(size), std::nan("")) {}

  void push(double value) {
    ring[static_cast<std::size_t>(next)] = value;
    next = (next + 1) % window;
    count = std::min(count + 1, window);
    history.push_back(value);
  }
  [[nodiscard]] double mean() const { return ring_mean(ring.data(), window, count, next); }
  [[nodiscard]] double z() const {
    return ring_z(ring.data(), window, count, next, history.back());
  }
  // The same from the last `window` values of the history.
  [[nodiscard]] long double exact_mean() const {
    long double sum = 0.0L;
    for (std::size_t i = 0; i < in_window(); ++i) sum += history[history.size() - 1 - i];
    return sum / static_cast<long double>(in_window());
  }
  [[nodiscard]] long double exact_deviation() const {
    const long double centre = exact_mean();
    long double squares = 0.0L;
    for (std::size_t i = 0; i < in_window(); ++i) {
      const long double centred = history[history.size() - 1 - i] - centre;
      squares += centred * centred;
    }
    return std::sqrt(squares / static_cast<long double>(in_window()));
  }
  [[nodiscard]] std::size_t in_window() const {
    return std::min(history.size(), static_cast<std::size_t>(window));
  }

  std::int32_t window;
  std::int32_t count = 0;
  std::int32_t next = 0;
  std::vector<double> ring;
  std::vector<double> history;
};

}  // namespace

TEST_CASE("the fold sums what it is given, whatever lies beyond the accumulators in use") {
  check_exact_sums<float>();
  check_exact_sums<double>();
}

TEST_CASE("the fold adds the upper half to the lower half, seven times") {
  check_order<float>();
  check_order<double>();

  // By hand: 64 + 0 and 96 + 32 meet first, and what is lost shows which pairs met.
  std::array<float, lanes> apart{};
  apart[0] = 0x1p24F;
  apart[32] = 1.0F;
  apart[64] = 1.0F;
  CHECK(fold_lanes(apart.data()) == 0x1p24F);
  std::array<float, lanes> together{};
  together[0] = 0x1p24F;
  together[32] = 1.0F;
  together[96] = 1.0F;
  CHECK(fold_lanes(together.data()) == 0x1p24F + 2.0F);
}

TEST_CASE("the exponential is exact at 0, 0 far below and NaN for NaN") {
  CHECK(exp_nonpositive(0.0F) == 1.0F);
  CHECK(exp_nonpositive(-0.0F) == 1.0F);
  CHECK(exp_nonpositive(-std::numeric_limits<float>::denorm_min()) == 1.0F);
  CHECK(to_bits(exp_nonpositive(-infinity)) == 0);
  CHECK(to_bits(exp_nonpositive(-std::numeric_limits<float>::max())) == 0);
  CHECK(to_bits(exp_nonpositive(std::nextafter(-87.0F, -88.0F))) == 0);
  CHECK(exp_nonpositive(-87.0F) > 0.0F);
  CHECK(std::isnan(exp_nonpositive(nan_f)));
  CHECK(std::isnan(exp_nonpositive(-nan_f)));
}

TEST_CASE("the exponential keeps its error bound and never falls as its argument rises") {
  double worst = 0.0;
  float worst_at = 0.0F;
  int falls = 0;
  float before = 1.0F;
  const auto look = [&](float x) {
    const float y = exp_nonpositive(x);
    falls += y <= before ? 0 : 1;
    before = y;
    const double error = ulps_from_exp(x, y);
    if (error > worst) {
      worst = error;
      worst_at = x;
    }
  };
  SUBCASE("evenly over the floats from -2^-30 down to -87") {
    for (std::uint32_t bits = to_bits(-0x1p-30F); bits <= to_bits(-87.0F); bits += exp_stride) {
      look(from_bits(bits));
    }
  }
  SUBCASE("evenly over the numbers, down to -800") {
    int not_zero = 0;
    for (int i = 0; i <= 800 * 256; ++i) {
      const float x = static_cast<float>(-i) / 256.0F;
      if (x < -87.0F) {
        not_zero += to_bits(exp_nonpositive(x)) != 0 ? 1 : 0;
      } else {
        look(x);
      }
    }
    CHECK(not_zero == 0);
  }
  SUBCASE("around the joints of the reduction") {
    for (int n = 0; n <= 125; ++n) {
      const auto joint = static_cast<float>(-(n + 0.5) * 0.6931471805599453);
      for (int step = -200; step <= 200; ++step) {
        // A rise by one unit may hide between neighbours, so these are not neighbours.
        const float x = from_bits(to_bits(joint) + static_cast<std::uint32_t>(7 * step));
        if (x >= -87.0F && x <= 0.0F) look(x);
      }
    }
  }
  CAPTURE(worst_at);
  CHECK(worst <= exp_bound);
  CHECK(falls == 0);
}

TEST_CASE("keys order scores: NaN lowest, -0 equal to +0, infinities at the ends") {
  CHECK(misordered(special_values()) == 0);
  CHECK(order_key(-0.0F) == order_key(0.0F));
  CHECK(order_key(nan_f) == 0);
  CHECK(order_key(-nan_f) == 0);
  CHECK(order_key(unscored()) == 0);

  std::mt19937 random{3};
  std::vector<float> any(500);
  for (float& x : any) x = from_bits(static_cast<std::uint32_t>(random()));
  CHECK(misordered(any) == 0);
}

TEST_CASE("a selection's key orders by score first, then the newer position") {
  std::vector<std::int32_t> positions{0, 1, 7, 1 << 20, std::numeric_limits<std::int32_t>::max()};
  int wrong = 0;
  for (const float a : special_values()) {
    for (const float b : special_values()) {
      for (const std::int32_t p : positions) {
        for (const std::int32_t q : positions) {
          const bool tie = !ranks_below(a, b) && !ranks_below(b, a);
          const bool less = ranks_below(a, b) || (tie && p < q);
          wrong += (selection_key(a, p) < selection_key(b, q)) != less ? 1 : 0;
          // The position can be read back from the key.
          wrong += static_cast<std::uint32_t>(selection_key(a, p)) != std::uint32_t(p) ? 1 : 0;
        }
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("a stored number is never taken for a missing one") {
  CHECK(is_unscored(unscored()));
  CHECK(std::isnan(unscored()));
  int taken = 0;
  int changed = 0;
  for (std::uint32_t top = 0; top < 512; ++top) {  // every sign and exponent
    for (std::uint32_t low = 0; low < 0x800000U; low += 997) {
      const float x = from_bits(top << 23 | low);
      const float stored = canonical(x);
      taken += is_unscored(stored) ? 1 : 0;
      const std::uint32_t expected = is_nan(x) ? canonical_nan_bits : to_bits(x);
      changed += to_bits(stored) != expected ? 1 : 0;
    }
  }
  CHECK(taken == 0);
  CHECK(changed == 0);
  CHECK(to_bits(canonical(unscored())) == canonical_nan_bits);
  for (const float x : special_values()) {
    CHECK(is_unscored(x) == (to_bits(x) == to_bits(unscored())));
    CHECK(is_finite(static_cast<double>(x)) == (!is_nan(x) && std::abs(x) < infinity));
  }
}

TEST_CASE("mean and z of a ring are those of its last values") {
  for (const std::int32_t window : {1, 2, 3, 7, 64, 100}) {
    // Values of ordinary size, tiny ones, and a large mean with little around it.
    for (const double offset : {0.0, 1.0, 1e6}) {
      for (const double scale : {1e-9, 1.0, 1e4}) {
        std::mt19937 random{static_cast<std::mt19937::result_type>(window)};
        ring_and_history r{window};
        double worst_mean = 0.0;
        double worst_z = 0.0;
        for (int i = 0; i < 5 * window + 3; ++i) {
          r.push(offset + scale * static_cast<double>(random()) / 0x1p32);
          const double mean = static_cast<double>(r.exact_mean());
          worst_mean = std::max(worst_mean, std::abs(r.mean() - mean) / std::abs(mean));
          if (r.in_window() < 2) {
            CHECK(r.z() == 0.0);
            continue;
          }
          const long double spread = r.exact_deviation() + 1e-6L;
          const auto z = static_cast<double>((r.history.back() - r.exact_mean()) / spread);
          // An error of the mean in its last place is this much of a deviation.
          const double conditioning = 1.0 + mean / static_cast<double>(spread);
          const double error = std::abs(r.z() - z) / (1.0 + std::abs(z));
          worst_z = std::max(worst_z, error / conditioning);
        }
        CAPTURE(window);
        CAPTURE(offset);
        CAPTURE(scale);
        CHECK(worst_mean < 1e-14);
        CHECK(worst_z < 1e-14);
      }
    }
  }
}

TEST_CASE("rings with nothing to compare give 0") {
  ring_and_history r{4};
  CHECK(r.mean() == 0.0);
  CHECK(ring_z(r.ring.data(), 4, 0, 0, 5.0) == 0.0);
  r.push(5.0);
  CHECK(r.mean() == 5.0);
  CHECK(r.z() == 0.0);
  for (int i = 0; i < 9; ++i) {
    r.push(5.0);
    CHECK(r.mean() == 5.0);
    CHECK(r.z() == 0.0);  // no deviation: the epsilon alone divides
  }
  // By hand: population deviation, not the sample's.
  ring_and_history pair{2};
  pair.push(9.0);
  pair.push(1.0);
  pair.push(3.0);
  CHECK(pair.mean() == 2.0);
  CHECK(pair.z() == 1.0 / (1.0 + 1e-6));
}
