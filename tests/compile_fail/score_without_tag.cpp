// SPDX-License-Identifier: MIT
// expect: a score opts in with the tag alias epikv_score
#include "../concepts/archetypes.hpp"

struct score : epikv_test::minimal_score {
#ifdef EPIKV_EXPECT_FAIL
 private:
  using minimal_score::epikv_score;
#endif
};

bool build(const epikv::model_shape& shape) {
  const epikv::evictor<score, epikv::top_k, epikv::cpu_backend> evictor{shape, {}, {}, {}};
  return evictor.check().ok();
}
