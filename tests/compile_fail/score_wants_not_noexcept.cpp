// SPDX-License-Identifier: MIT
// expect: a score must model epikv::Score: epikv/score.hpp lists what it needs
#include "../concepts/archetypes.hpp"

struct score : epikv_test::minimal_score {
#ifdef EPIKV_EXPECT_FAIL
  epikv::signal_set wants(const epikv::cache_shape&, std::int32_t) const { return {}; }
#endif
};

bool build(const epikv::model_shape& shape) {
  const epikv::evictor<score, epikv::top_k, epikv::cpu_backend> evictor{shape, {}, {}, {}};
  return evictor.check().ok();
}
