// SPDX-License-Identifier: MIT
// expect: a policy's select() must be noexcept
#include "../concepts/archetypes.hpp"

#ifdef EPIKV_EXPECT_FAIL
#define MAYBE_NOEXCEPT
#else
#define MAYBE_NOEXCEPT noexcept
#endif

struct policy : epikv_test::minimal_policy {
  template <epikv::Backend B>
  void select(B&, const epikv::selection_row&) const MAYBE_NOEXCEPT {}
};

bool build(const epikv::model_shape& shape) {
  const epikv::evictor<epikv::no_score, policy, epikv::cpu_backend> evictor{shape, {}, {}, {}};
  return evictor.check().ok();
}
