// SPDX-License-Identifier: MIT
// expect: a backend must run every job of epikv/primitives.hpp: compact_job is missing
#include "../concepts/archetypes.hpp"

struct backend : epikv_test::minimal_backend {
#ifdef EPIKV_EXPECT_FAIL
  using minimal_backend::run;
  void run(const epikv::compact_job&) = delete;
#endif
};

bool build(const epikv::model_shape& shape) {
  const epikv::evictor<epikv::no_score, epikv::top_k, backend> evictor{shape, {}, {}, {}};
  return evictor.check().ok();
}
