// SPDX-License-Identifier: MIT
// expect: a policy's select() takes (backend, selection_row)
#include "../concepts/archetypes.hpp"

struct policy : epikv_test::minimal_policy {
#ifdef EPIKV_EXPECT_FAIL
  void select(const epikv::selection_row&) const noexcept {}
#endif
};

bool build(const epikv::model_shape& shape) {
  const epikv::evictor<epikv::no_score, policy, epikv::cpu_backend> evictor{shape, {}, {}, {}};
  return evictor.check().ok();
}
