// SPDX-License-Identifier: MIT
// expect: a policy opts in with the tag alias epikv_policy
#include "../concepts/archetypes.hpp"

struct policy : epikv_test::minimal_policy {
#ifdef EPIKV_EXPECT_FAIL
 private:
  using minimal_policy::epikv_policy;
#endif
};

bool build(const epikv::model_shape& shape) {
  const epikv::evictor<epikv::no_score, policy, epikv::cpu_backend> evictor{shape, {}, {}, {}};
  return evictor.check().ok();
}
