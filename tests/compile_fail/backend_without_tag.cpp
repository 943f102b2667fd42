// SPDX-License-Identifier: MIT
// expect: a backend opts in with the tag alias epikv_backend
#include "../concepts/archetypes.hpp"

struct backend : epikv_test::minimal_backend {
#ifdef EPIKV_EXPECT_FAIL
 private:
  using minimal_backend::epikv_backend;
#endif
};

bool build(const epikv::model_shape& shape) {
  const epikv::evictor<epikv::no_score, epikv::top_k, backend> evictor{shape, {}, {}, {}};
  return evictor.check().ok();
}
