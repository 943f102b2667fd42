// SPDX-License-Identifier: MIT
// Gcc calls the deleted copy a function and clang a constructor.
// expect: deleted
// expect: evictor<
#include "epikv/cpu.hpp"

using evictor = epikv::evictor<epikv::no_score, epikv::top_k, epikv::cpu_backend>;

bool look(const evictor& original) {
#ifdef EPIKV_EXPECT_FAIL
  const evictor seen{original};
#else
  const evictor& seen{original};
#endif
  return seen.check().ok();
}
