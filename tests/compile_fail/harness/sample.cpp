// SPDX-License-Identifier: MIT
// Not a test of EpiKV: the smallest case, from which check_harness.cmake makes broken ones.
// expect: a sample's size() must be noexcept; [see the docs], please
template <class T>
constexpr bool check(const T& sample) {
  static_assert(noexcept(sample.size()),
                "a sample's size() must be noexcept; [see the docs], please");
  return true;
}

struct sample {
#ifdef EPIKV_EXPECT_FAIL
  int size() const;
#else
  int size() const noexcept;
#endif
};

bool checked(const sample& s) { return check(s); }
