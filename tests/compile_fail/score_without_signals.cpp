// SPDX-License-Identifier: MIT
// expect: a score declares the signals it reads as a signal_list named signals
#include "../concepts/archetypes.hpp"

struct score : epikv_test::minimal_score {
#ifdef EPIKV_EXPECT_FAIL
 private:
  using minimal_score::signals;
#endif
};

bool build(const epikv::model_shape& shape) {
  const epikv::evictor<score, epikv::top_k, epikv::cpu_backend> evictor{shape, {}, {}, {}};
  return evictor.check().ok();
}
