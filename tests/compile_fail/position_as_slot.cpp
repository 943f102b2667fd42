// SPDX-License-Identifier: MIT
// The two types that must not be mixed up, each named by both compilers.
// expect: cannot
// expect: position'
// expect: slot'
#include "epikv/selection.hpp"

// Not slot{...}: between such braces clang 14 takes a value of any enumeration.
epikv::slot first_freed(const epikv::group_selection& group) {
#ifdef EPIKV_EXPECT_FAIL
  return group.positions()[0];
#else
  return group.evicted()[0];
#endif
}
