// SPDX-License-Identifier: MIT
// expect: a backend must model epikv::Backend: epikv/backend.hpp lists what it needs
#include "../concepts/archetypes.hpp"

struct backend : epikv_test::minimal_backend {
#ifdef EPIKV_EXPECT_FAIL
  using copy = void;
#endif
};

bool build(const epikv::model_shape& shape) {
  const epikv::evictor<epikv::no_score, epikv::top_k, backend> evictor{shape, {}, {}, {}};
  return evictor.check().ok();
}
