// SPDX-License-Identifier: MIT
// expect: a policy must model epikv::Policy: epikv/policy.hpp lists what it needs
#include "../concepts/archetypes.hpp"

struct policy : epikv_test::minimal_policy {
#ifdef EPIKV_EXPECT_FAIL
  using check = void;
#endif
};

bool build(const epikv::model_shape& shape) {
  const epikv::evictor<epikv::no_score, policy, epikv::cpu_backend> evictor{shape, {}, {}, {}};
  return evictor.check().ok();
}
